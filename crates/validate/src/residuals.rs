//! Where a model and its drive differ: classes of requests by type, location and outcome.
//!
//! Everything comes from one replay, the one from angle zero, because initial angles hardly matter.

use super::figures::mean;
use super::{Measured, Replayed};
use diskarm_core::device::Outcome;
use diskarm_core::geometry::Layout;
use diskarm_core::request::Op;
use diskarm_core::stats::{Sorted, demerit};
use diskarm_core::units::{Lbn, SectorCount, Span};

/// Requests that begin within this many blocks of the end of the previous one are near. The local
/// requests of the measured workloads do, and few others.
pub const NEAR: SectorCount = SectorCount(30_000);

/// Where a request begins, relative to the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// At the end of the previous one.
    Sequential,
    /// Elsewhere within [`NEAR`].
    Near,
    /// Farther away; also the first request of a trace.
    Far,
}

/// Measured and simulated response times of one class of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Residual {
    /// The number of requests.
    pub count: u64,
    /// Mean response of the real drive.
    pub measured_mean: Span,
    /// Mean response of the model.
    pub simulated_mean: Span,
    /// Demerit between the class's two distributions.
    pub demerit: Span,
}

/// A half-open range of request sizes; unbounded if `end` is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The smallest.
    pub from: SectorCount,
    /// The first size beyond the range.
    pub end: Option<SectorCount>,
}

/// A half-open range of distances in cylinders; unbounded if the end is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distances {
    /// The shortest, in cylinders.
    pub from_cylinders: u32,
    /// The first distance beyond the range, in cylinders.
    pub end_cylinders: Option<u32>,
}

/// The tables; classes without requests are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Residuals {
    /// By direction, relation to the previous request, and outcome in the model's buffer.
    pub by_outcome: Vec<(Op, Relation, Outcome, Residual)>,
    /// By direction and size.
    pub by_size: Vec<(Op, Sizes, Residual)>,
    /// The requests that waited for the media, by direction and distance from the last block
    /// of the previous request to the first block of this one.
    pub by_distance: Vec<(Op, Distances, Residual)>,
}

pub(super) const OPS: [Op; 2] = [Op::Read, Op::Write];
const RELATIONS: [Relation; 3] = [Relation::Sequential, Relation::Near, Relation::Far];
const OUTCOMES: [Outcome; 4] = [
    Outcome::Hit,
    Outcome::PartialHit,
    Outcome::Miss,
    Outcome::Absorbed,
];
/// Where ranges of sizes begin, in sectors.
const SIZES: [u64; 6] = [1, 5, 9, 17, 33, 65];
/// Where ranges of distances begin, in cylinders.
const CYLINDERS: [u32; 7] = [0, 1, 10, 100, 600, 1200, 2400];

/// One request, measured and simulated.
struct Pair {
    op: Op,
    sectors: SectorCount,
    relation: Relation,
    /// Distance in cylinders from the previous request; `None` for the first.
    distance: Option<u32>,
    outcome: Outcome,
    measured: Span,
    simulated: Span,
}

impl Residuals {
    pub(super) fn of(rows: &[Measured], layout: &Layout, replay: &Replayed) -> Self {
        let pairs = pair_up(rows, layout, replay);
        let (mut by_outcome, mut by_size, mut by_distance) = (vec![], vec![], vec![]);
        for op in OPS {
            for relation in RELATIONS {
                for outcome in OUTCOMES {
                    let class = |p: &Pair| (p.op, p.relation, p.outcome) == (op, relation, outcome);
                    let residual = Residual::of(&pairs, class);
                    by_outcome.extend(residual.map(|found| (op, relation, outcome, found)));
                }
            }
            for sizes in Sizes::classes() {
                let class = |p: &Pair| p.op == op && sizes.contain(p.sectors);
                by_size.extend(Residual::of(&pairs, class).map(|found| (op, sizes, found)));
            }
            for (i, &from_cylinders) in CYLINDERS.iter().enumerate() {
                let distances = Distances {
                    from_cylinders,
                    end_cylinders: CYLINDERS.get(i + 1).copied(),
                };
                let class = |p: &Pair| p.op == op && p.on_media() && distances.contain(p);
                by_distance.extend(Residual::of(&pairs, class).map(|found| (op, distances, found)));
            }
        }
        Self {
            by_outcome,
            by_size,
            by_distance,
        }
    }
}

impl Sizes {
    /// The ranges by which requests are classified, in ascending order.
    pub(super) fn classes() -> impl Iterator<Item = Self> {
        SIZES.iter().enumerate().map(|(i, &from)| Self {
            from: SectorCount(from),
            end: SIZES.get(i + 1).copied().map(SectorCount),
        })
    }

    pub(super) fn contain(&self, sectors: SectorCount) -> bool {
        sectors >= self.from && self.end.is_none_or(|end| sectors < end)
    }
}

impl Distances {
    fn contain(&self, pair: &Pair) -> bool {
        pair.distance.is_some_and(|cylinders| {
            cylinders >= self.from_cylinders && self.end_cylinders.is_none_or(|end| cylinders < end)
        })
    }
}

impl Pair {
    fn on_media(&self) -> bool {
        matches!(self.outcome, Outcome::Miss | Outcome::PartialHit)
    }
}

impl Residual {
    /// `None` for a class without requests.
    fn of(pairs: &[Pair], class: impl Fn(&Pair) -> bool) -> Option<Self> {
        let kept = || pairs.iter().filter(|pair| class(pair));
        let measured: Sorted = kept().map(|pair| pair.measured).collect();
        let simulated: Sorted = kept().map(|pair| pair.simulated).collect();
        Some(Self {
            count: measured.as_slice().len() as u64,
            measured_mean: mean(kept().map(|pair| pair.measured))?,
            simulated_mean: mean(kept().map(|pair| pair.simulated))?,
            demerit: demerit(&measured, &simulated)?,
        })
    }
}

/// Panics if a row lies beyond the end of the disk, which the replay has already refused.
fn pair_up(rows: &[Measured], layout: &Layout, replay: &Replayed) -> Vec<Pair> {
    let mut end: Option<Lbn> = None;
    let answers = replay.responses.iter().zip(&replay.outcomes);
    let pair = |(row, (&simulated, &outcome)): (&Measured, (&Span, &Outcome))| {
        let request = row.step.request;
        let before = end.replace(request.end());
        let distance = before.map(|end| {
            let last = layout.extent(Lbn(end.0 - 1)).cylinder;
            last.distance(layout.extent(request.start).cylinder)
        });
        Pair {
            op: request.op,
            sectors: request.sectors,
            relation: before.map_or(Relation::Far, |end| relation(end, request.start)),
            distance,
            outcome,
            measured: row.response,
            simulated,
        }
    };
    rows.iter().zip(answers).map(pair).collect()
}

/// The relation of a request at `start` to one that ended at `end`.
fn relation(end: Lbn, start: Lbn) -> Relation {
    match end.0.abs_diff(start.0) {
        0 => Relation::Sequential,
        blocks if blocks <= NEAR.0 => Relation::Near,
        _ => Relation::Far,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_turn_at_the_end_of_the_request_before_and_at_the_limit() {
        let end = Lbn(100_000);
        assert_eq!(relation(end, Lbn(100_000)), Relation::Sequential);
        assert_eq!(relation(end, Lbn(99_999)), Relation::Near);
        assert_eq!(relation(end, Lbn(130_000)), Relation::Near);
        assert_eq!(relation(end, Lbn(70_000)), Relation::Near);
        assert_eq!(relation(end, Lbn(130_001)), Relation::Far);
    }
}
