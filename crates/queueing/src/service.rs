//! The service time of independent, uniform requests in order of arrival: the movement of the arm,
//! the rotational wait and the transfer.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use diskarm_core::geometry::{Extent, Layout};
use diskarm_core::mechanics::Mechanism;
use diskarm_core::request::Op;
use diskarm_core::spec::{Buffer, Bus, Mechanics, Overheads, Queue, Spec};
use diskarm_core::units::{Angle, Cylinder, Lbn, SectorCount};

use crate::distance::{Distances, sectors_by_cylinder};
use crate::moments::Moments;

/// The components of the mechanical service time, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Service {
    /// Arm, head switch and settle.
    pub seek: Moments,
    pub rotation: Moments,
    pub transfer: Moments,
    pub total: Moments,
}

impl Service {
    /// Returns the service of `op` requests for `sectors` blocks that start at multiples of
    /// `sectors`, all equally likely, on the drive `spec` with this `mechanism`: liu05 section 4.1.
    ///
    /// Positioning starts from a request with the same distribution, with equal probability from
    /// each surface, and ends at an independent angle. So seek and rotation are independent (see
    /// section 4.1.4). The buffer, overheads and bus are ignored, as in the thesis: see
    /// [`mechanism_alone`]. `None` if no request fits on the drive.
    pub fn new(spec: &Spec, mechanism: &Mechanism, op: Op, sectors: SectorCount) -> Option<Self> {
        let requests = Uniform::new(spec, mechanism, op, sectors);
        requests.service(&requests.part(&all_blocks(&mechanism.layout)))
    }

    /// Returns the service of a mixture of two kinds of requests, given their shares.
    pub fn mixture(parts: [(f64, Self); 2]) -> Self {
        let mixture = |component: fn(&Self) -> Moments| {
            Moments::mixture(parts.iter().map(|(share, part)| (*share, component(part))))
        };
        Self {
            seek: mixture(|service| service.seek),
            rotation: mixture(|service| service.rotation),
            transfer: mixture(|service| service.transfer),
            total: mixture(|service| service.total),
        }
    }
}

/// Uniform requests of one kind and size, which begin at multiples of their size.
#[derive(Clone)]
pub(crate) struct Uniform<'a> {
    spec: &'a Spec,
    pub mechanism: &'a Mechanism,
    op: Op,
    pub sectors: SectorCount,
    /// The time of an arm movement over each distance.
    seeks: Vec<Moments>,
}

impl<'a> Uniform<'a> {
    pub fn new(spec: &'a Spec, mechanism: &'a Mechanism, op: Op, sectors: SectorCount) -> Self {
        Self {
            spec,
            mechanism,
            op,
            sectors,
            seeks: seeks(mechanism, op),
        }
    }

    /// Returns the part with these `blocks`. Visits each of its tracks.
    pub fn part(&self, blocks: &Range<Lbn>) -> Part {
        Part {
            passes: passes(self.mechanism, self.op, self.sectors, blocks),
            cylinders: sectors_by_cylinder(blocks, &self.mechanism.layout),
        }
    }

    /// Returns the service of the requests within a part only, with the distances between them;
    /// `None` if there are none.
    pub fn service(&self, part: &Part) -> Option<Service> {
        let buffer = &self.spec.buffer;
        let has_zero_latency = if self.op.is_read() {
            buffer.read_on_arrival
        } else {
            buffer.write_on_arrival
        };
        let media = Media::new(&part.passes, self.mechanism, self.sectors, has_zero_latency)?;
        let seek = Distances::from_cylinders(&part.cylinders).mixture(&self.seeks);
        Some(Service {
            seek,
            rotation: media.rotation,
            transfer: media.transfer,
            total: seek.plus(media.both),
        })
    }
}

/// Returns the time of an arm movement over each distance in either direction, to any surface, for
/// liu05, equation 4.4.
fn seeks(mechanism: &Mechanism, op: Op) -> Vec<Moments> {
    let surfaces = f64::from(mechanism.layout.surfaces());
    let time = |from, to, head_changes| {
        let movement = (Cylinder(from), Cylinder(to));
        Moments::constant(mechanism.seek.total(op, movement, head_changes).as_ms())
    };
    let movement = |distance| {
        let directions = [(0, distance), (distance, 0)].into_iter();
        let each = directions.flat_map(|(from, to)| {
            let same_head = (1.0, time(from, to, false));
            [same_head, (surfaces - 1.0, time(from, to, true))]
        });
        Moments::mixture(each)
    };
    (0..mechanism.layout.cylinders()).map(movement).collect()
}

/// Returns `spec` reduced to geometry, rotation, arm and zero-latency access. The theory ignores
/// the rest: overheads, bus, caching, read-ahead, the drive's queue and random variation of seeks.
pub fn mechanism_alone(spec: &Spec) -> Spec {
    Spec {
        mechanics: Mechanics {
            seek_scatter: None,
            write_seek_scatter: None,
            ..spec.mechanics.clone()
        },
        buffer: Buffer {
            read_on_arrival: spec.buffer.read_on_arrival,
            write_on_arrival: spec.buffer.write_on_arrival,
            ..Buffer::default()
        },
        overheads: Overheads::default(),
        bus: Bus::default(),
        queue: Queue::default(),
        ..spec.clone()
    }
}

/// The rotational wait and the transfer of requests of one size, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Media {
    /// The time from the head's arrival on the track to the first sector; with zero latency, the
    /// time of the request minus its transfer.
    rotation: Moments,
    /// The time from the first sector to the end of the last, including moves to other tracks.
    transfer: Moments,
    both: Moments,
}

/// Requests with equal transfers: the width of a sector and the whole transfer, including track
/// changes, both in raw units of [`Angle`].
type Pass = (u64, u128);

/// The tolerance for a sector whose start has just passed: 2^-20 revolutions, as in simulations.
const GRACE: u64 = 1 << 44;

const REVOLUTION: u128 = 1 << 64;

impl Media {
    /// Returns the times of requests for `sectors` blocks with these `passes`, all equally likely,
    /// for a head at a random angle. If `has_zero_latency`, a request on one track may begin with
    /// any of its sectors; others wait for their first sector.
    ///
    /// The transfer times are counted over the runs of the layout, request by request. This is
    /// exact, while liu05, equations 4.6 and 4.7, assume that a request stays on one track. Returns
    /// `None` if there is no request.
    fn new(
        passes: &BTreeMap<Pass, u64>,
        mechanism: &Mechanism,
        sectors: SectorCount,
        has_zero_latency: bool,
    ) -> Option<Self> {
        let revolution = mechanism.rotation.period().as_ms();
        let ms = |raw: u128| raw as f64 / REVOLUTION as f64 * revolution;
        if passes.is_empty() {
            return None;
        }
        let part = |((sector, all), count): (&Pass, &u64)| {
            let is_on_one_track = *all == width(*sector) * u128::from(sectors.0);
            let rotation = if has_zero_latency && is_on_one_track {
                zero_latency_wait(revolution, ms(*all), ms(width(*sector)))
            } else {
                // The first sector may be anywhere on the track (liu05, equation 4.5).
                Moments::uniform(revolution)
            };
            (*count as f64, rotation, Moments::constant(ms(*all)))
        };
        let parts: Vec<(f64, Moments, Moments)> = passes.iter().map(part).collect();
        let mixture = |time: fn(Moments, Moments) -> Moments| {
            Moments::mixture(parts.iter().map(|(n, wait, pass)| (*n, time(*wait, *pass))))
        };
        Some(Self {
            rotation: mixture(|wait, _| wait),
            transfer: mixture(|_, pass| pass),
            both: mixture(Moments::plus),
        })
    }
}

fn all_blocks(layout: &Layout) -> Range<Lbn> {
    Lbn(0)..Lbn(layout.sectors().0)
}

/// Returns a sector's width in raw units; an angle of zero means a whole revolution.
fn width(sector: u64) -> u128 {
    match sector {
        0 => REVOLUTION,
        sector => u128::from(sector),
    }
}

/// A part of a drive's blocks, with the requests within it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    /// The number of requests for each transfer.
    passes: BTreeMap<Pass, u64>,
    /// The number of sectors in each cylinder of the drive.
    cylinders: Vec<u64>,
}

impl Part {
    /// Moves a part at an end of this one, which begins or ends between two requests, to `other`.
    pub fn give(&mut self, moved: &Self, other: &mut Self) {
        for (pass, count) in &moved.passes {
            *self.passes.entry(*pass).or_default() -= count;
            *other.passes.entry(*pass).or_default() += count;
        }
        self.passes.retain(|_, count| *count > 0);
        let cylinders = self.cylinders.iter_mut().zip(&mut other.cylinders);
        for ((from, to), moved) in cylinders.zip(&moved.cylinders) {
            (*from, *to) = (*from - moved, *to + moved);
        }
    }
}

/// Returns the number of requests for each transfer.
fn passes(
    mechanism: &Mechanism,
    op: Op,
    sectors: SectorCount,
    blocks: &Range<Lbn>,
) -> BTreeMap<Pass, u64> {
    let layout = &mechanism.layout;
    let mut passes = BTreeMap::new();
    let Some(requests) = blocks.end.0.checked_div(sectors.0) else {
        return passes;
    };
    let end = requests * sectors.0;
    let mut at = blocks.start.0;
    while at < end {
        let run = layout.extent(Lbn(at));
        let next = end.min(at + run.sectors.0);
        let sector = run.sector_angle.as_raw();
        let first = at.next_multiple_of(sectors.0);
        let whole = next.saturating_sub(first) / sectors.0;
        let crossing = first + whole * sectors.0;
        let pass = (sector, width(sector) * u128::from(sectors.0));
        *passes.entry(pass).or_default() += whole;
        if crossing < next && crossing < end {
            let pass = (sector, crossing_pass(mechanism, op, Lbn(crossing), sectors));
            *passes.entry(pass).or_default() += 1;
        }
        at = next;
    }
    passes.retain(|_, count| *count > 0);
    passes
}

/// Returns the transfer of a request over several runs, including moves from run to run and waits.
fn crossing_pass(mechanism: &Mechanism, op: Op, start: Lbn, sectors: SectorCount) -> u128 {
    let mut run = mechanism.layout.extent(start);
    let (mut at, mut left) = (start, sectors.0);
    let (mut angle, mut passed) = (run.start, 0);
    loop {
        let count = run.sectors.0.min(left);
        let sector = run.sector_angle.as_raw();
        passed += width(sector) * u128::from(count);
        angle = angle + Angle::from_raw(sector) * count;
        at = at + SectorCount(count);
        left -= count;
        if left == 0 {
            return passed;
        }
        let next = mechanism.layout.extent(at);
        let moved = change(mechanism, op, &run, &next);
        angle = angle + Angle::from_raw(moved as u64);
        let wait = (next.start - angle).as_raw();
        let wait = if wait > u64::MAX - GRACE { 0 } else { wait };
        passed += moved + u128::from(wait);
        angle = next.start;
        run = next;
    }
}

/// Returns the rotation of the platter during the change from one run to the next, in raw units.
fn change(mechanism: &Mechanism, op: Op, from: &Extent, to: &Extent) -> u128 {
    let movement = (from.cylinder, to.cylinder);
    let seek = &mechanism.seek;
    let (arm, settle) = seek.parts(true, op, movement, from.head != to.head);
    let turned = (arm + settle).as_ms() / mechanism.rotation.period().as_ms();
    (turned * REVOLUTION as f64) as u128
}

/// Returns the bytes per second of a drive that reads all of its blocks in order, counting only
/// media transfers and track changes; `None` if the geometry is invalid.
pub fn streaming_bytes_per_s(spec: &Spec) -> Option<f64> {
    let layout = Arc::new(Layout::new(&spec.geometry).ok()?);
    let sectors = layout.sectors();
    let mechanism = Mechanism::new(spec, layout, Angle::ZERO);
    let blocks = all_blocks(&mechanism.layout);
    let passes = passes(&mechanism, Op::Read, sectors, &blocks);
    let media = Media::new(&passes, &mechanism, sectors, false)?;
    let bytes = sectors.0 * u64::from(spec.geometry.sector_bytes);
    Some(bytes as f64 / (media.transfer.first / 1e3))
}

/// Returns the time of a zero-latency request minus its `transfer`, all in the same unit: a head
/// that arrives within the block starts with the rest of the block (liu05, section 4.1.2).
///
/// With T = `revolution`, x = `transfer`, s = `sector` and q = x / T: with probability 1 - q, the
/// head arrives outside the block and waits uniformly over the remainder of the revolution.
/// Otherwise it waits for the whole of that remainder, plus up to s, because it arrived within a
/// sector. The mean is q (T - x + s / 2) + (1 - q) (T - x) / 2. For a block of at least a
/// revolution, the wait is at most one sector.
fn zero_latency_wait(revolution: f64, transfer: f64, sector: f64) -> Moments {
    let gap = (revolution - transfer).max(0.0);
    let inside_share = (transfer / revolution).clamp(0.0, 1.0);
    let inside_wait = Moments::constant(gap).plus(Moments::uniform(sector));
    Moments::mixture([
        (1.0 - inside_share, Moments::uniform(gap)),
        (inside_share, inside_wait),
    ])
}

#[cfg(test)]
pub(crate) mod tests {
    use diskarm_core::mechanics::Position;
    use diskarm_core::units::Instant;

    use super::*;
    use crate::simulated::{Random, means};

    /// Returns a drive from the catalogue without the features that the theory ignores.
    pub fn plain(name: &str) -> (Spec, Mechanism) {
        plain_spec(diskarm_drives::find(name).expect("a drive").text)
    }

    fn plain_spec(text: &str) -> (Spec, Mechanism) {
        let spec = mechanism_alone(&diskarm_core::spec::parse(text, "drive").unwrap());
        let layout = Arc::new(Layout::new(&spec.geometry).unwrap());
        let mechanism = Mechanism::new(&spec, layout, Angle::ZERO);
        (spec, mechanism)
    }

    fn media(mechanism: &Mechanism, op: Op, sectors: u64) -> Option<Media> {
        let (blocks, sectors) = (all_blocks(&mechanism.layout), SectorCount(sectors));
        let passes = passes(mechanism, op, sectors, &blocks);
        Media::new(&passes, mechanism, sectors, false)
    }

    fn start(mechanism: &Mechanism, at: Lbn) -> Position {
        let run = mechanism.layout.extent(at);
        Position {
            cylinder: run.cylinder,
            head: run.head,
            since: Instant::START,
        }
    }

    /// Transfers the blocks. Returns the start of the first one, and the head's last position.
    fn transferred(
        mechanism: &Mechanism,
        mut head: Position,
        op: Op,
        blocks: Range<Lbn>,
    ) -> (Instant, Position) {
        let (mut at, end, start) = (blocks.start, blocks.end, head.since);
        let mut begin = None;
        while at < end {
            let (_, piece) = mechanism.piece(begin.is_some(), head, op, (at, end), start);
            begin.get_or_insert(piece.begin);
            (at, head) = (piece.end_lbn(), piece.position_after());
        }
        (begin.expect("a request has at least one piece"), head)
    }

    /// All ordered pairs of tracks of a drive with 40 cylinders of 8 surfaces, of equal capacity.
    /// The head switch, in 7 of 8 requests, takes longer than any arm movement.
    #[test]
    fn seek_times_match_an_enumeration_of_track_pairs() {
        let text = diskarm_drives::find("hp-335h")
            .expect("a drive")
            .text
            .replace("cylinders = 1449", "cylinders = 40")
            .replace("[0, 1449]", "[0, 40]")
            .replace("1_309_896", "36_160")
            .replace("head_switch = \"1 ms\"", "head_switch = \"30 ms\"");
        let (_, mechanism) = plain_spec(&text);
        let tracks: Vec<(Cylinder, u32)> = (0..40)
            .flat_map(|cylinder| (0..8).map(move |head| (Cylinder(cylinder), head)))
            .collect();
        let pairs = tracks
            .iter()
            .flat_map(|from| tracks.iter().map(move |to| (from, to)));
        let movements = pairs.map(|(from, to)| {
            let movement = (from.0, to.0);
            let time = mechanism.seek.total(Op::Read, movement, from.1 != to.1);
            (1.0, Moments::constant(time.as_ms()))
        });
        let enumerated = Moments::mixture(movements);
        let found = Distances::new(&mechanism.layout).mixture(&seeks(&mechanism, Op::Read));
        assert!(enumerated.first > 0.8 * 30.0, "{enumerated:?}");
        found.assert_near(enumerated, 1e-9);
    }

    /// Random requests, each starting where the last one ended, timed by the mechanism: 20 means of
    /// 20,000 each. For the significance level, see [`crate::simulated::Mean::assert_near`].
    #[test]
    fn service_times_match_random_requests() {
        for (drive, op) in [("hp-c2247", Op::Read), ("ibm-18es", Op::Write)] {
            let (spec, mechanism) = plain(drive);
            let sectors = SectorCount(8);
            let units = mechanism.layout.sectors().0 / sectors.0;
            let run = |seed| {
                let mut random = Random::new(seed);
                let mut draw = || Lbn((random.uniform() * units as f64) as u64 * sectors.0);
                let mut head = start(&mechanism, Lbn(0));
                let (mut sums, count) = ([0.0; 2], 20_000);
                for _ in 0..count {
                    let (at, begin) = (draw(), head.since);
                    head = transferred(&mechanism, head, op, at..at + sectors).1;
                    let time = (head.since - begin).as_ms();
                    sums[0] += time;
                    sums[1] += time * time;
                }
                sums.map(|sum| sum / f64::from(count))
            };
            let [first, second] = means((1..=20).map(run));
            let service = Service::new(&spec, &mechanism, op, sectors).unwrap();
            first.assert_near(service.total.first);
            second.assert_near(service.total.second);
        }
    }

    /// Table 4.1 gives 11.55 ms for the Ultrastar 18ES, and 16.72 ms for the Lightning.
    #[test]
    fn mean_service_times_match_the_thesis() {
        for (drive, printed) in [("ibm-18es", 11.55), ("ibm-lightning", 16.72)] {
            let (spec, mechanism) = plain(drive);
            let service = Service::new(&spec, &mechanism, Op::Read, SectorCount(8)).unwrap();
            let found = service.total.first;
            assert!((found / printed - 1.0).abs() < 0.01, "{drive} {found}");
        }
    }

    /// Enumerates all requests of a drive, transferred by its mechanism from their first sectors.
    fn enumerated(mechanism: &Mechanism, op: Op, sectors: SectorCount) -> Moments {
        let each = (0..mechanism.layout.sectors().0 / sectors.0).map(|unit| {
            let (at, end) = (Lbn(unit * sectors.0), Lbn((unit + 1) * sectors.0));
            let (begin, head) = transferred(mechanism, start(mechanism, at), op, at..end);
            (1.0, Moments::constant((head.since - begin).as_ms()))
        });
        Moments::mixture(each)
    }

    #[test]
    fn transfer_times_match_an_enumeration_of_requests() {
        for (drive, sectors) in [("hp-335h", 16), ("hp-c2247", 16), ("hp-c2247", 200)] {
            let mechanism = plain(drive).1;
            for op in [Op::Read, Op::Write] {
                let sectors = SectorCount(sectors);
                let found = media(&mechanism, op, sectors.0).unwrap().transfer;
                // Times of the mechanism are in nanoseconds.
                found.assert_near(enumerated(&mechanism, op, sectors), 1e-5);
            }
        }
    }

    /// Equation 4.7 is exact if no request changes tracks: 4 KiB on the Lightning, whose tracks of
    /// 96 sectors hold twelve requests.
    #[test]
    fn requests_that_divide_the_track_match_equation_4_7() {
        let mechanism = plain("ibm-lightning").1;
        let found = media(&mechanism, Op::Read, 8).unwrap();
        let revolution = mechanism.rotation.period().as_ms();
        assert!((found.transfer.first - revolution / 12.0).abs() < 1e-5);
        assert!(found.transfer.variance().abs() < 1e-9);
        assert!((found.rotation.first - revolution / 2.0).abs() < 1e-9);
    }

    #[test]
    fn requests_that_do_not_fit_have_no_moments() {
        let mechanism = plain("hp-335h").1;
        let all = mechanism.layout.sectors().0;
        assert_eq!(media(&mechanism, Op::Read, 0), None);
        assert_eq!(media(&mechanism, Op::Read, all + 1), None);
        assert!(media(&mechanism, Op::Read, all).is_some());
    }

    /// A revolution of 10 ms for each track, and the skews between tracks: 40 cylinders of 3 tracks
    /// of 40 sectors, and 20 of 30. The first track of the second zone begins at any angle.
    #[test]
    fn the_streaming_rate_follows_from_the_skews() {
        let text = include_str!("../../scan/tests/scan/small.toml");
        let spec = diskarm_core::spec::parse(text, "small.toml").expect("a valid specification");
        let zone = |cylinders: f64, sectors: f64, track: f64, cylinder: f64| {
            10.0 * cylinders * (3.0 + (2.0 * track + cylinder) / sectors)
        };
        let min_ms = zone(40.0, 40.0, 5.0, 9.0) + zone(20.0, 30.0, 4.0, 7.0) - 10.0 * 16.0 / 40.0;
        let ms = 6600.0 * 512.0 / streaming_bytes_per_s(&spec).expect("a valid layout") * 1e3;
        assert!((min_ms..min_ms + 10.0).contains(&ms), "{ms} {min_ms}");
    }

    /// The IBM Lightning of liu05, section 4.1.2: 3.45 ms with zero latency, 3.47 ms without. A
    /// request for a whole track waits for one sector.
    #[test]
    fn waits_of_the_lightning_match_the_thesis() {
        let revolution = 60_000.0 / 8635.6;
        let with = zero_latency_wait(revolution, revolution / 12.0, revolution / 96.0);
        assert!((with.first - 3.45).abs() < 0.005, "{with:?}");
        assert!((Moments::uniform(revolution).first - 3.47).abs() < 0.005);
        let whole = zero_latency_wait(10.0, 10.0, 0.5);
        assert!((whole.first - 0.25).abs() < 1e-12);
    }

    /// Arrives at every hundredth of each of 20 sectors, and reads the sectors that pass until it
    /// has the first `k`.
    #[test]
    fn zero_latency_wait_matches_every_landing_position() {
        let (sectors, parts) = (20, 100);
        for k in [1, 3, 19, 20] {
            let wait = |at: u32| {
                let position = (f64::from(at) + 0.5) / f64::from(parts);
                // Reads whole sectors from the next one on, until the whole block has passed.
                let first = position.ceil();
                let mut last = first;
                for sector in 0..k {
                    let mut begins = f64::from(sector);
                    while begins < first {
                        begins += f64::from(sectors);
                    }
                    last = last.max(begins + 1.0);
                }
                Moments::constant(last - position - f64::from(k))
            };
            let landed = Moments::mixture((0..sectors * parts).map(|at| (1.0, wait(at))));
            let expected = zero_latency_wait(f64::from(sectors), f64::from(k), 1.0);
            landed.assert_near(expected, 1e-3);
        }
    }
}
