//! Summary statistics of a run: moments, percentiles, confidence intervals, time averages, and the
//! distance between two distributions.
//!
//! Spans and instants are recorded one at a time in constant memory, except for [`demerit()`],
//! which needs whole samples. Sums are integers, so results are reproducible to the bit.

mod confidence;
mod demerit;
mod histogram;
mod over_time;
mod summary;

pub(crate) use confidence::half_width_95;
pub use confidence::{BatchMeans, t95_factor};
pub use demerit::{SortedSpans, demerit};
pub use histogram::Histogram;
pub use over_time::{DiskMeter, OverTime};
pub use summary::{Moments, ResponseStats, ResponseSummary};
