//! Replays of a measured trace by a model, and the differences between trace and replay for classes
//! of requests: by type, location and outcome.
//!
//! The differences are those of the replay from angle zero, because initial angles hardly matter.

use std::sync::Arc;

use diskarm_core::device::{Completion, Outcome};
use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, Observer, Replay, ReplayStep, RunError};
use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::Mechanism;
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::Spec;
use diskarm_core::stats::{Moments, SortedSpans, demerit};
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The number of evenly spaced initial angles that a validation replays.
pub const ANGLES: u64 = 16;

/// The seeds of the replays with lengthened pauses, one per replay.
pub const PHASE_SEEDS: [u64; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredRequest {
    /// The request, and the pause after its completion.
    pub step: ReplayStep,
    /// The time from issue to completion; not negative.
    pub response: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The platter starts at this angle; the seed is for the drive's random behaviour.
    From { angle: Angle, seed: u64 },
    /// Every pause is longer by a uniform random part of a revolution; the platter starts at angle
    /// zero. The seed also determines these parts.
    Phases { seed: u64 },
}

/// The results of one replay, in the order of the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayResult {
    pub responses: Vec<Span>,
    pub outcomes: Vec<Outcome>,
}

#[derive(Clone, Debug)]
pub struct Validation<'a> {
    spec: &'a Spec,
    pub(super) mechanism: Mechanism,
    rows: Vec<MeasuredRequest>,
}

impl<'a> Validation<'a> {
    /// Prepares to compare the drive that `spec` describes with `rows`. Panics if `rows` is empty.
    pub fn new(spec: &'a Spec, layout: Arc<Layout>, rows: Vec<MeasuredRequest>) -> Self {
        assert!(!rows.is_empty(), "a validation needs rows");
        Self {
            spec,
            mechanism: Mechanism::new(spec, layout, Angle::ZERO),
            rows,
        }
    }

    /// Returns the replays for [`Figures::of`]: [`ANGLES`] angles from zero, then [`PHASE_SEEDS`].
    pub fn variants() -> impl Iterator<Item = Variant> {
        let angles = (0..ANGLES).map(|i| Variant::From {
            angle: Angle::from_fraction(i, ANGLES),
            seed: i,
        });
        angles.chain(PHASE_SEEDS.map(|seed| Variant::Phases { seed }))
    }

    pub fn rows(&self) -> &[MeasuredRequest] {
        &self.rows
    }

    pub fn measured(&self) -> SortedSpans {
        self.rows.iter().map(|row| row.response).collect()
    }

    /// Runs one replay. Fails if the drive refuses a request, or the run is too long.
    pub fn replay(&self, variant: Variant) -> Result<ReplayResult, RunError> {
        let steps = self.rows.iter().map(|row| row.step);
        match variant {
            Variant::From { angle, seed } => self.run(steps, angle, seed),
            Variant::Phases { seed } => {
                let mut generator = Pcg64Mcg::seed_from_u64(seed);
                let period = self.spec.mechanics.period_ns.round() as u128;
                let longer = move |step: ReplayStep| {
                    // The high half of a product: uniform in `[0, period)`.
                    let part = (u128::from(generator.next_u64()) * period) >> 64;
                    let think = step.think + Span::from_ns(part as i64);
                    ReplayStep { think, ..step }
                };
                self.run(steps.map(longer), Angle::ZERO, seed)
            }
        }
    }

    fn run(
        &self,
        steps: impl Iterator<Item = ReplayStep>,
        origin: Angle,
        seed: u64,
    ) -> Result<ReplayResult, RunError> {
        let mechanism = self.mechanism.at_angle(origin);
        let mut drive = Drive::with_mechanism(self.spec, mechanism).with_seed(seed);
        let mut replayed = ReplayResult::default();
        let mut workload = Replay::new(steps, Instant::START);
        engine::run(&mut drive, &mut workload, &mut replayed)?;
        Ok(replayed)
    }
}

/// Completions arrive in trace order because only one request is outstanding at a time.
impl Observer for ReplayResult {
    fn arrived(&mut self, _: Instant, _: &Request) {}

    fn completed(&mut self, completion: &Completion) {
        self.responses.push(completion.response());
        self.outcomes.push(completion.outcome);
    }
}

/// Requests that begin within this many blocks of the end of the previous one count as near: the
/// local requests of the measured workloads, and few others.
pub const NEAR: SectorCount = SectorCount(30_000);

/// The start of a request relative to the end of the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// At the end of the previous request.
    Sequential,
    /// Elsewhere on the same track.
    SameTrack,
    /// On another track of the same cylinder.
    SameCylinder,
    /// On another cylinder, within [`NEAR`].
    Near,
    /// Farther away, or the first request of a trace.
    Far,
}

impl Relation {
    /// Returns the relation of each row to the previous one, on a drive whose blocks are arranged
    /// as in `layout`. Panics if a request is beyond the end of the drive.
    pub fn of_rows<'r>(
        rows: &'r [MeasuredRequest],
        layout: &'r Layout,
    ) -> impl Iterator<Item = Self> + 'r {
        let mut end: Option<Lbn> = None;
        rows.iter().map(move |row| {
            let request = &row.step.request;
            let before = end.replace(request.end());
            before.map_or(Self::Far, |end| Self::between(layout, end, request.start))
        })
    }

    /// Returns the relation of a request at `start` to one that ended at `end`, on a drive whose
    /// blocks are arranged as in `layout`. Panics if either is beyond the end of the drive.
    pub fn between(layout: &Layout, end: Lbn, start: Lbn) -> Self {
        if start == end {
            return Self::Sequential;
        }
        let (last, first) = (layout.extent(Lbn(end.0 - 1)), layout.extent(start));
        match (last.cylinder == first.cylinder, last.head == first.head) {
            (true, true) => Self::SameTrack,
            (true, false) => Self::SameCylinder,
            _ if end.0.abs_diff(start.0) <= NEAR.0 => Self::Near,
            _ => Self::Far,
        }
    }
}

/// Measured and simulated response times of one class of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Residual {
    pub count: u64,
    pub measured_mean: Span,
    pub simulated_mean: Span,
    /// The demerit between the two distributions of the class.
    pub demerit: Span,
}

/// A half-open range of request sizes; unbounded if `end` is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    pub from: SectorCount,
    pub end: Option<SectorCount>,
}

/// A half-open range of distances in cylinders; unbounded if the end is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distances {
    pub from_cylinders: u32,
    pub end_cylinders: Option<u32>,
}

/// The tables of differences; classes without requests are omitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Residuals {
    /// By direction, relation to the previous request, and outcome in the model's buffer.
    pub by_outcome: Vec<(Op, Relation, Outcome, Residual)>,
    pub by_size: Vec<(Op, Sizes, Residual)>,
    /// Requests that waited for the media, by direction and by distance from the last block of the
    /// previous request to the first block of this one.
    pub by_distance: Vec<(Op, Distances, Residual)>,
}

pub(super) const OPS: [Op; 2] = [Op::Read, Op::Write];
const RELATIONS: [Relation; 5] = [
    Relation::Sequential,
    Relation::SameTrack,
    Relation::SameCylinder,
    Relation::Near,
    Relation::Far,
];
const OUTCOMES: [Outcome; 4] = [
    Outcome::Hit,
    Outcome::PartialHit,
    Outcome::Miss,
    Outcome::Absorbed,
];
/// The lower bounds of the size ranges, in sectors.
const SIZES: [u64; 6] = [1, 5, 9, 17, 33, 65];
/// The lower bounds of the distance ranges, in cylinders.
const CYLINDERS: [u32; 7] = [0, 1, 10, 100, 600, 1200, 2400];

struct Pair {
    op: Op,
    sectors: SectorCount,
    relation: Relation,
    /// The distance in cylinders from the previous request; `None` for the first request.
    distance: Option<u32>,
    outcome: Outcome,
    measured: Span,
    simulated: Span,
}

impl Residuals {
    pub(super) fn of(rows: &[MeasuredRequest], layout: &Layout, replay: &ReplayResult) -> Self {
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
    /// Returns the ranges by which requests are classified, in ascending order.
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
    /// Compares the requests of a class; `None` if it has none.
    fn of(pairs: &[Pair], class: impl Fn(&Pair) -> bool) -> Option<Self> {
        let members = || pairs.iter().filter(|pair| class(pair));
        let measured: SortedSpans = members().map(|pair| pair.measured).collect();
        let simulated: SortedSpans = members().map(|pair| pair.simulated).collect();
        Some(Self {
            count: measured.as_slice().len() as u64,
            measured_mean: mean(members().map(|pair| pair.measured))?,
            simulated_mean: mean(members().map(|pair| pair.simulated))?,
            demerit: demerit(&measured, &simulated)?,
        })
    }
}

/// Pairs the rows with their replay. Panics for a row beyond the end of the disk.
fn pair_up(rows: &[MeasuredRequest], layout: &Layout, replay: &ReplayResult) -> Vec<Pair> {
    let mut end: Option<Lbn> = None;
    let relations = Relation::of_rows(rows, layout);
    let pair = |(i, relation)| {
        let row: &MeasuredRequest = &rows[i];
        let request = row.step.request;
        let before = end.replace(request.end());
        let distance = before.map(|end| {
            let last = layout.extent(Lbn(end.0 - 1)).cylinder;
            last.distance(layout.extent(request.start).cylinder)
        });
        Pair {
            op: request.op,
            sectors: request.sectors,
            relation,
            distance,
            outcome: replay.outcomes[i],
            measured: row.response,
            simulated: replay.responses[i],
        }
    };
    relations.enumerate().map(pair).collect()
}

pub(super) fn mean(spans: impl Iterator<Item = Span>) -> Option<Span> {
    moments(spans).mean()
}

pub(super) fn moments(spans: impl Iterator<Item = Span>) -> Moments {
    let mut moments = Moments::default();
    spans.for_each(|span| moments.record(span));
    moments
}

#[cfg(test)]
mod tests {
    use super::*;
    use diskarm_core::spec::{Geometry, Zone};

    /// Returns a layout of two surfaces with ten sectors per track, and 10,000 cylinders.
    fn layout() -> Layout {
        let zone = Zone {
            first_cylinder: 0,
            end_cylinder: 10_000,
            sectors_per_track: 10,
            ..Zone::default()
        };
        let geometry = Geometry {
            surfaces: 2,
            cylinders: 10_000,
            sector_bytes: 512,
            sectors: SectorCount(200_000),
            zones: vec![zone],
            ..Geometry::default()
        };
        Layout::new(&geometry).expect("a valid geometry")
    }

    #[test]
    fn relations_change_at_tracks_cylinders_and_the_limit() {
        let layout = layout();
        // Block 100,004 is on the first track of cylinder 5,000, which has blocks 100,000 to
        // 100,019.
        for (starts, expected) in [
            (&[100_005][..], Relation::Sequential),
            (&[100_000, 100_009], Relation::SameTrack),
            (&[100_010, 100_019], Relation::SameCylinder),
            (&[100_020, 99_999, 130_005, 70_005], Relation::Near),
            (&[130_006, 70_004], Relation::Far),
        ] {
            for &start in starts {
                let relation = Relation::between(&layout, Lbn(100_005), Lbn(start));
                assert_eq!(relation, expected, "{start}");
            }
        }
    }
}
