//! The quality of the predictions of a followed trace.

use std::f64::consts::TAU;
use std::ops::Range;

use super::{Followed, Locked};
use crate::validate::Sizes;
use crate::validate::residuals::OPS;
use diskarm_core::device::Outcome;
use diskarm_core::drive::Core;
use diskarm_core::request::Op;
use diskarm_core::stats::Sorted;
use diskarm_core::units::Span;

/// Errors up to this are small.
const SMALL: Span = Span::from_ns(250_000);

/// The phase concentration from which a trace's clock counts as unbroken. Random angles have one
/// near `1 / sqrt(n)` over `n` requests; those of a followed drive scatter by a few hundredths of a
/// revolution, which gives 0.9 and more.
pub const UNBROKEN_RATIO: f64 = 0.5;

/// How the model predicted that a request would be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// From the buffer or into it: [`Outcome::Hit`], [`Outcome::Absorbed`].
    Hit,
    /// By the media, at least in part: [`Outcome::Miss`], [`Outcome::PartialHit`].
    Miss,
}

/// The accuracy of a predictor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// The fraction of requests whose error is less than half a revolution (of the nominal period).
    pub same_revolution_fraction: f64,
    /// The median absolute error of those. This and the next are exact, by nearest rank, and
    /// `None` if there are none.
    pub median_abs_error: Option<Span>,
    /// The 95th percentile of those.
    pub p95_abs_error: Option<Span>,
    /// The fraction of all requests whose error is at most 0.25 ms.
    pub within_0_25ms_fraction: f64,
}

/// A non-empty set of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// The number of requests.
    pub count: u64,
    /// The model that follows the drive.
    pub model: Accuracy,
    /// The mean response of earlier requests of the same type and size ([`Followed::trivial`]).
    pub trivial: Accuracy,
}

/// All figures of a followed trace; classes without requests are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct LockedFigures {
    /// All requests.
    pub all: Judged,
    /// By type.
    pub by_op: Vec<(Op, Judged)>,
    /// By type and by how the model predicted that they would be served.
    pub by_served: Vec<(Op, Served, Judged)>,
    /// By type and size.
    pub by_size: Vec<(Op, Sizes, Judged)>,
    /// The number of requests predicted without knowing the platter's angle: those before
    /// the first completions that determine it, and those after it was lost.
    pub unlocked: u64,
    /// How concentrated the platter's angles are about the predicted ones: the mean resultant
    /// length of `TAU * error / period` over the requests that the model predicted to be timed by
    /// the media (Mardia & Jupp, Directional Statistics, section 2.3.1), from 0 to 1. `None`
    /// if there are none.
    pub phase_concentration_ratio: Option<f64>,
}

impl Served {
    fn of(row: &Followed) -> Self {
        match row.predicted.outcome {
            Outcome::Hit | Outcome::Absorbed => Self::Hit,
            Outcome::Miss | Outcome::PartialHit => Self::Miss,
        }
    }
}

impl Accuracy {
    fn of(errors: impl Iterator<Item = Span> + Clone, count: u64, period_ns: f64) -> Self {
        let sizes = errors.map(|error| Span::from_ns(error.as_ns().abs()));
        let small = sizes.clone().filter(|&size| size <= SMALL).count();
        let same: Sorted = sizes
            .filter(|size| 2.0 * (size.as_ns() as f64) < period_ns)
            .collect();
        let same = same.as_slice();
        // Nearest rank: the smallest value that this percentage of the errors do not exceed.
        let percentile = |percent: usize| {
            let rank = (same.len() * percent).div_ceil(100);
            same.get(rank.checked_sub(1)?).copied()
        };
        Self {
            same_revolution_fraction: same.len() as f64 / count as f64,
            median_abs_error: percentile(50),
            p95_abs_error: percentile(95),
            within_0_25ms_fraction: small as f64 / count as f64,
        }
    }
}

impl Judged {
    /// `None` for a class without requests.
    fn of(locked: &Locked, rows: &[Followed], class: impl Fn(&Followed) -> bool) -> Option<Self> {
        let kept: Vec<Followed> = rows.iter().filter(|row| class(row)).copied().collect();
        let count = kept.len() as u64;
        (count > 0).then(|| Self {
            count,
            model: Accuracy::of(kept.iter().map(Followed::error), count, locked.period_ns),
            trivial: Accuracy::of(
                kept.iter().map(Followed::trivial_error),
                count,
                locked.period_ns,
            ),
        })
    }
}

impl LockedFigures {
    /// Judges the predictions of the rows in `range`; those before it are the history from which
    /// the predictors learned. `None` for an empty range.
    ///
    /// # Panics
    /// If the trace has no such rows.
    pub fn of(locked: &Locked, range: Range<usize>) -> Option<Self> {
        let rows = &locked.rows[range];
        let (mut by_op, mut by_served, mut by_size) = (vec![], vec![], vec![]);
        for op in OPS {
            let judge = |class: &dyn Fn(&Followed) -> bool| {
                Judged::of(locked, rows, |row| {
                    row.predicted.request.op == op && class(row)
                })
            };
            by_op.extend(judge(&|_| true).map(|judged| (op, judged)));
            for served in [Served::Hit, Served::Miss] {
                let judged = judge(&|row| Served::of(row) == served);
                by_served.extend(judged.map(|judged| (op, served, judged)));
            }
            for sizes in Sizes::classes() {
                let judged = judge(&|row| sizes.contain(row.predicted.request.sectors));
                by_size.extend(judged.map(|judged| (op, sizes, judged)));
            }
        }
        Some(Self {
            all: Judged::of(locked, rows, |_| true)?,
            by_op,
            by_served,
            by_size,
            unlocked: rows.iter().filter(|row| !row.locked).count() as u64,
            phase_concentration_ratio: concentration(rows, locked.period_ns),
        })
    }

    /// Whether the trace's clock looks unbroken: the phase concentration reaches
    /// [`UNBROKEN_RATIO`]. `None` if no request shows it.
    pub fn clock_is_unbroken(&self) -> Option<bool> {
        self.phase_concentration_ratio
            .map(|found| found >= UNBROKEN_RATIO)
    }
}

fn concentration(rows: &[Followed], period_ns: f64) -> Option<f64> {
    let on_media = rows
        .iter()
        .filter(|row| Core::tells_the_angle(&row.predicted));
    let (mut count, mut cosines, mut sines) = (0u64, 0.0, 0.0);
    for row in on_media {
        let (sine, cosine) = (TAU * row.error().as_ns() as f64 / period_ns).sin_cos();
        count += 1;
        cosines += cosine;
        sines += sine;
    }
    (count > 0).then(|| f64::hypot(cosines, sines) / count as f64)
}
