//! What a run is summed up by: moments, percentiles, confidence intervals, time averages, and
//! the distance between two distributions.
//!
//! Takes spans and instants one at a time and keeps flat memory, except for [`demerit()`], which
//! wants whole samples. Sums are integers, so results repeat to the bit.

pub mod batch;
pub mod demerit;
pub mod histogram;
pub mod moments;
pub mod over_time;
pub mod student;
pub mod summary;

pub use batch::BatchMeans;
pub use demerit::{Sorted, demerit};
pub use histogram::Histogram;
pub use moments::Moments;
pub use over_time::OverTime;
pub use summary::{ResponseFigures, ResponseSummary};

use crate::units::Span;

/// The nanoseconds of a time that something took; panics when negative, which nothing can take.
#[inline]
fn elapsed_ns(span: Span) -> u64 {
    if span < Span::ZERO {
        took_negative_time(span);
    }
    span.as_ns() as u64
}

/// Apart, so that the message costs the hot path nothing.
#[cold]
#[inline(never)]
fn took_negative_time(span: Span) -> ! {
    panic!("took a negative time: {span:?}")
}
