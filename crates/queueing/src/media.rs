//! The time of a uniform request on its track: the rotational wait and the transfer.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use diskarm_core::geometry::{Extent, Layout};
use diskarm_core::mechanics::Mechanism;
use diskarm_core::request::Op;
use diskarm_core::spec::Spec;
use diskarm_core::units::{Angle, Lbn, SectorCount};

use crate::moments::Moments;

/// The rotational wait and the transfer of requests of one size, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Media {
    /// From the head's arrival on the track to the first sector; with zero latency, what the
    /// request takes beyond its transfer.
    pub rotation: Moments,
    /// From the first sector to the end of the last, including the way to another track.
    pub transfer: Moments,
    /// The sum of both.
    pub both: Moments,
}

/// Requests that transfer in the same way: the width of a sector and, where tracks change, the
/// whole transfer, both in raw units of [`Angle`].
type Pass = (u64, u128);

/// The tolerance for a sector whose start has just passed, as in the mechanism
/// ([`diskarm_core::mechanics::Rotation`]): 2^-20 revolutions.
const GRACE: u64 = 1 << 44;

/// Raw units of a revolution.
const REVOLUTION: u128 = 1 << 64;

impl Media {
    /// Requests of `sectors` at the multiples of `sectors`, all equally likely, which the head
    /// finds at any angle. `zero_latency` if a request on one track may begin with any of its
    /// sectors; one that continues to another waits for its first.
    ///
    /// The transfers are those of every request, counted over the runs of the layout: exact where
    /// liu05, equations 4.6 and 4.7, give a request the sectors of its track and no change of
    /// tracks. `None` if no such request fits on the drive, or it has no sectors.
    pub fn new(
        mechanism: &Mechanism,
        op: Op,
        sectors: SectorCount,
        zero_latency: bool,
    ) -> Option<Self> {
        let blocks = Lbn(0)..Lbn(mechanism.layout.sectors().0);
        Self::of_blocks(mechanism, op, sectors, zero_latency, &blocks)
    }

    /// Like [`Self::new`], but for the requests within `blocks` only.
    pub fn of_blocks(
        mechanism: &Mechanism,
        op: Op,
        sectors: SectorCount,
        zero_latency: bool,
        blocks: &Range<Lbn>,
    ) -> Option<Self> {
        let revolution = mechanism.rotation.period().as_ms();
        let ms = |raw: u128| raw as f64 / REVOLUTION as f64 * revolution;
        let passes = passes(mechanism, op, sectors, blocks)?;
        let parts = passes.iter().map(|((sector, all), &count)| {
            let is_whole = *all == width(*sector) * u128::from(sectors.0);
            let rotation = if zero_latency && is_whole {
                zero_latency_wait(revolution, ms(*all), ms(width(*sector)))
            } else {
                rotational_wait(revolution)
            };
            (count as f64, rotation, Moments::constant(ms(*all)))
        });
        let parts: Vec<(f64, Moments, Moments)> = parts.collect();
        let both = parts.iter().map(|(n, wait, pass)| (*n, wait.plus(*pass)));
        Some(Self {
            rotation: Moments::mixture(parts.iter().map(|(n, wait, _)| (*n, *wait))),
            transfer: Moments::mixture(parts.iter().map(|(n, _, pass)| (*n, *pass))),
            both: Moments::mixture(both),
        })
    }
}

/// A sector's width in raw units; an angle of zero is a whole revolution.
fn width(sector: u64) -> u128 {
    match sector {
        0 => REVOLUTION,
        sector => u128::from(sector),
    }
}

/// Counts the requests by the way in which they transfer.
fn passes(
    mechanism: &Mechanism,
    op: Op,
    sectors: SectorCount,
    blocks: &Range<Lbn>,
) -> Option<BTreeMap<Pass, u64>> {
    let layout = &mechanism.layout;
    let end = blocks.end.0.checked_div(sectors.0)? * sectors.0;
    let mut passes = BTreeMap::new();
    let mut at = blocks.start.0;
    while at < end {
        let run = layout.extent(Lbn(at));
        let next = end.min(at + run.sectors.0);
        let sector = run.sector_angle.as_raw();
        let first = at.next_multiple_of(sectors.0);
        let whole = next.saturating_sub(first) / sectors.0;
        let divided = first + whole * sectors.0;
        let pass = (sector, width(sector) * u128::from(sectors.0));
        *passes.entry(pass).or_default() += whole;
        if divided < next && divided < end {
            let pass = (sector, divided_pass(mechanism, op, Lbn(divided), sectors));
            *passes.entry(pass).or_default() += 1;
        }
        at = next;
    }
    passes.retain(|_, count| *count > 0);
    (!passes.is_empty()).then_some(passes)
}

/// Returns the transfer time of a request over several runs: each starts when the head has changed
/// to its track and the first sector arrives.
fn divided_pass(mechanism: &Mechanism, op: Op, start: Lbn, sectors: SectorCount) -> u128 {
    let layout = &mechanism.layout;
    let mut run = layout.extent(start);
    let (mut at, mut left) = (start, sectors.0);
    let (mut angle, mut passed) = (run.start, 0);
    loop {
        let taken = run.sectors.0.min(left);
        let sector = run.sector_angle.as_raw();
        passed += width(sector) * u128::from(taken);
        angle = angle + Angle::from_raw(sector) * taken;
        at = at + SectorCount(taken);
        left -= taken;
        if left == 0 {
            return passed;
        }
        let next = layout.extent(at);
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
    let way = (from.cylinder, to.cylinder);
    let (arm, rest) = mechanism.seek.parts(true, op, way, from.head != to.head);
    let turned = (arm + rest).as_ms() / mechanism.rotation.period().as_ms();
    (turned * REVOLUTION as f64) as u128
}

/// Returns the bytes per second of a drive that reads all of its blocks in order, by the times of
/// media and track changes alone; `None` if the geometry is invalid.
pub fn streaming_bytes_per_s(spec: &Spec) -> Option<f64> {
    let layout = Arc::new(Layout::new(&spec.geometry).ok()?);
    let sectors = layout.sectors();
    let mechanism = Mechanism::new(spec, layout, Angle::ZERO);
    let pass_ms = Media::new(&mechanism, Op::Read, sectors, false)?
        .transfer
        .first;
    let bytes = sectors.0 * u64::from(spec.geometry.sector_bytes);
    Some(bytes as f64 / (pass_ms / 1e3))
}

/// Returns the wait for a first sector anywhere on the track: uniform over a `revolution`, in its
/// unit (liu05, equation 4.5).
pub fn rotational_wait(revolution: f64) -> Moments {
    Moments::uniform(revolution)
}

/// Returns the time of a zero-latency request beyond its `transfer`, all in one unit of time: a
/// head that arrives within the block starts with the rest of the block (liu05, section 4.1.2).
///
/// With probability 1 - q, where q = transfer / revolution, the head arrives outside the block and
/// waits uniformly over the rest of the revolution. Otherwise it waits for all of the rest, plus up
/// to one `sector` because it arrived within one. The mean is
/// q (T - x + s / 2) + (1 - q) (T - x) / 2. A block of at least a revolution waits up to a sector.
pub fn zero_latency_wait(revolution: f64, transfer: f64, sector: f64) -> Moments {
    let rest = (revolution - transfer).max(0.0);
    let within = (transfer / revolution).clamp(0.0, 1.0);
    let lands_within = Moments::constant(rest).plus(Moments::uniform(sector));
    Moments::mixture([
        (1.0 - within, Moments::uniform(rest)),
        (within, lands_within),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::tests::bare;
    use diskarm_core::mechanics::Position;
    use diskarm_core::units::Instant;

    /// Every request of a drive, transferred by its mechanism from its first sector on.
    fn enumerated(mechanism: &Mechanism, op: Op, sectors: SectorCount) -> Moments {
        let each = (0..mechanism.layout.sectors().0 / sectors.0).map(|unit| {
            let (mut at, end) = (Lbn(unit * sectors.0), Lbn((unit + 1) * sectors.0));
            let run = mechanism.layout.extent(at);
            let mut head = Position {
                cylinder: run.cylinder,
                head: run.head,
                since: Instant::START,
            };
            let mut begin = None;
            while at < end {
                let start = Instant::START;
                let (_, piece) = mechanism.piece(begin.is_some(), head, op, (at, end), start);
                begin.get_or_insert(piece.begin);
                (at, head) = (piece.end_lbn(), piece.position_after());
            }
            let begin = begin.expect("a request has a piece");
            (1.0, Moments::constant((head.since - begin).as_ms()))
        });
        Moments::mixture(each)
    }

    #[test]
    fn transfers_are_those_of_every_request() {
        for (drive, sectors) in [("hp-335h", 16), ("hp-c2247", 16), ("hp-c2247", 200)] {
            let mechanism = bare(drive).1;
            for op in [Op::Read, Op::Write] {
                let sectors = SectorCount(sectors);
                let found = Media::new(&mechanism, op, sectors, false).unwrap().transfer;
                let expected = enumerated(&mechanism, op, sectors);
                // Times of the mechanism are in nanoseconds.
                let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-5;
                assert!(
                    near(found.first, expected.first),
                    "{drive} {found:?} {expected:?}"
                );
                assert!(near(found.second, expected.second), "{drive}");
                assert!(near(found.third, expected.third), "{drive}");
            }
        }
    }

    /// Equation 4.7 is exact if no request changes tracks: 4 KiB on the Lightning, whose 96
    /// sectors are twelve requests.
    #[test]
    fn requests_that_divide_the_track_transfer_as_printed() {
        let mechanism = bare("ibm-lightning").1;
        let found = Media::new(&mechanism, Op::Read, SectorCount(8), false).unwrap();
        let revolution = mechanism.rotation.period().as_ms();
        assert!((found.transfer.first - revolution / 12.0).abs() < 1e-5);
        assert!(found.transfer.variance().abs() < 1e-9);
        assert!((found.rotation.first - revolution / 2.0).abs() < 1e-9);
    }

    #[test]
    fn requests_that_do_not_fit_have_no_moments() {
        let mechanism = bare("hp-335h").1;
        let of = |sectors| Media::new(&mechanism, Op::Read, SectorCount(sectors), false);
        assert_eq!(of(0), None);
        assert_eq!(of(mechanism.layout.sectors().0 + 1), None);
        assert!(of(mechanism.layout.sectors().0).is_some());
    }

    /// A revolution of 10 ms for each track, and the skews between tracks: 40 cylinders of 3 tracks
    /// of 40 sectors, and 20 of 30. The first track of the second zone begins anywhere within a
    /// revolution.
    #[test]
    fn the_streaming_rate_follows_from_the_skews() {
        let text = include_str!("../../scan/tests/scan/small.toml");
        let spec = diskarm_core::spec::parse(text, "small.toml").expect("a sound specification");
        let zone = |cylinders: f64, sectors: f64, track: f64, cylinder: f64| {
            10.0 * cylinders * (3.0 + (2.0 * track + cylinder) / sectors)
        };
        let min_ms = zone(40.0, 40.0, 5.0, 9.0) + zone(20.0, 30.0, 4.0, 7.0) - 10.0 * 16.0 / 40.0;
        let ms = 6600.0 * 512.0 / streaming_bytes_per_s(&spec).expect("a sound layout") * 1e3;
        assert!((min_ms..min_ms + 10.0).contains(&ms), "{ms} {min_ms}");
    }

    /// The IBM Lightning of liu05, section 4.1.2: 3.45 ms with zero latency, else 3.47.
    #[test]
    fn the_lightning_waits_as_printed() {
        let revolution = 60_000.0 / 8635.6;
        let with = zero_latency_wait(revolution, revolution / 12.0, revolution / 96.0);
        assert!((with.first - 3.45).abs() < 0.005, "{with:?}");
        assert!((rotational_wait(revolution).first - 3.47).abs() < 0.005);
    }

    /// Lands at every hundredth of each of 20 sectors, the block being the first `k`, and reads
    /// what passes until it has all.
    #[test]
    fn zero_latency_is_what_landing_everywhere_takes() {
        let (sectors, parts) = (20, 100);
        for k in [1, 3, 19, 20] {
            let of = |at: u32| {
                let position = (f64::from(at) + 0.5) / f64::from(parts);
                // Whole sectors from the next one on, until every one of the block has passed.
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
            let landed = Moments::mixture((0..sectors * parts).map(|at| (1.0, of(at))));
            let closed = zero_latency_wait(f64::from(sectors), f64::from(k), 1.0);
            assert!((landed.first / closed.first - 1.0).abs() < 1e-3, "{k}");
            assert!((landed.second / closed.second - 1.0).abs() < 1e-3, "{k}");
            assert!((landed.third / closed.third - 1.0).abs() < 1e-3, "{k}");
        }
    }

    #[test]
    fn a_whole_track_waits_for_a_sector() {
        let whole = zero_latency_wait(10.0, 10.0, 0.5);
        assert!((whole.first - 0.25).abs() < 1e-12);
    }
}
