//! Summary statistics of a run: moments, percentiles, confidence intervals, time averages, and the
//! distance between two distributions.
//!
//! Spans and instants are recorded one at a time in constant memory, except for [`demerit()`],
//! which needs whole samples. Sums are integers, so results are reproducible to the bit.

pub mod batch;
pub mod demerit;
pub mod disk_meter;
pub mod histogram;
pub mod moments;
pub mod over_time;
pub mod student;
pub mod summary;

pub use batch::BatchMeans;
pub use demerit::{SortedSpans, demerit};
pub use disk_meter::DiskMeter;
pub use histogram::Histogram;
pub use moments::Moments;
pub use over_time::OverTime;
pub use summary::{ResponseStats, ResponseSummary};

use crate::units::Span;

/// A duration in nanoseconds; panics when negative.
#[inline]
fn elapsed_ns(span: Span) -> u64 {
    if span < Span::ZERO {
        took_negative_time(span);
    }
    span.as_ns() as u64
}

/// Separate, so that the message costs the hot path nothing.
#[cold]
#[inline(never)]
fn took_negative_time(span: Span) -> ! {
    panic!("took a negative time: {span:?}")
}
