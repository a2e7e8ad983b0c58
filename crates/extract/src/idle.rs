//! The time until the arm is free after a read.
//!
//! # Hypothesis
//! When the next command arrives, a drive that reads ahead either stops immediately or first
//! finishes something: the sector under the head, or a minimum amount of read-ahead. In the second
//! case the service time depends on the position of the head, so seeks after a read can be timed
//! only once read-ahead has ended.
//!
//! # Test vector
//! Pairs of reads, the first in the first zone and the second in the middle or last zone. The
//! second is sent at a random time close to that at which it would just catch its sector. Sector
//! times differ between zones, so an arm that waits for the end of a sector is late by a varying
//! fraction of a sector, unless a sector of the second zone lasts as long as a whole number of
//! sectors of the first. If the arm is not free immediately, or the pairs are inconclusive, the
//! first block of a cylinder is read and, after a long pause, a later block.
//!
//! # Decision
//! The arm is free immediately if, with few exceptions, pairs with longer leads catch their sector
//! and pairs with shorter leads miss it. If completion times are noisy, so are the times at which
//! commands reach the drive. Contradictions then count only if they exceed a sixth of a sector. An
//! arm that waits for the end of a sector causes many of these. If the arm is not free immediately,
//! read-ahead ends at the farthest block that is served from the buffer: a read of that block does
//! not end at the angle of its sector. If completion times are noisy, two reads must show that.
//!
//! # Confidence
//! If the arm waits for the end of a sector, about ten pairs contradict the others. Treating a free
//! arm as busy only costs time.
//!
//! # Cost
//! 500 to 2000 commands, and about 150 with long pauses if the arm is not free immediately.

use diskarm_core::geometry::Layout;
use diskarm_core::units::{Lbn, SectorCount, Span};
use serde::{Deserialize, Serialize};

use crate::clock::Access;
use crate::pairs::{LONG, Pairs};
use crate::rotation::{self, Rotation};
use crate::threshold::{Threshold, span};
use crate::track::{ReadAheadEnd, Track, next_track};
use crate::{Disk, Effort, Error};

const MAX_READ_AHEAD: u64 = 16_384;
/// Maximum number of pairs, and a sufficient number of pairs within a sector of the threshold.
const MAX_PAIRS: u32 = 450;
const ENOUGH_NEAR_PAIRS: u32 = 120;
/// Longest pause in a pair, in revolutions, during which read-ahead stays on the track.
const MAX_PAUSE: f64 = 1.0 / 3.0;
/// Maximum number of contradictory pairs if the arm is free immediately.
const CONTRADICTIONS: usize = 2;
/// If completion times are noisy, a contradiction must exceed a sector divided by this.
const SLACK: f64 = 6.0;

/// Accepted probability of mistaking a buffered block for an unbuffered one.
const MAX_ERROR_PROBABILITY: f64 = 1e-5;

/// The end of the arm's work after a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idle {
    /// Pause after which the arm is always free; zero if it is free immediately.
    pub rest: Span,
    /// Number of blocks read ahead after the first block of a cylinder in the first, middle and
    /// last zone; zero if the arm is free immediately.
    pub ahead: [SectorCount; 3],
}

/// Measures when the arm is free, using only reads.
pub fn measure(
    disk: &mut Disk<'_>,
    layout: &Layout,
    rotation: &Rotation,
    seed: u64,
) -> Result<Idle, Error> {
    let pairs = &mut Pairs::new(disk, layout, rotation, seed)?;
    let places = zones(layout);
    let [outer, inner @ ..] = &places;
    let (mut is_conclusive, mut is_busy) = (false, false);
    for inner in inner.iter().filter(|inner| sector_phases(outer, inner) > 1) {
        is_conclusive = true;
        is_busy = is_busy || overlaps(pairs, outer, inner)?;
    }
    if is_conclusive && !is_busy {
        return Ok(Idle::default());
    }
    let period = pairs.clock.period();
    let mut longest = 0.0f64;
    let mut ahead = [SectorCount(0); 3];
    for (place, ahead) in places.iter().zip(&mut ahead) {
        *ahead = read_ahead(pairs, place)?;
        let is_covered = ahead.0 == 0 || ends_early(pairs, place, ahead.0)?;
        let share = if is_covered { COVERED_SWITCH } else { 1.0 };
        longest = longest.max(period * turns(place, ahead.0, share));
    }
    Ok(Idle {
        rest: span(longest),
        ahead,
    })
}

/// Longest skew between tracks, in revolutions.
const COVERED_SWITCH: f64 = 0.5;

/// Returns the number of revolutions to read ahead `blocks` if each track switch takes `share`.
fn turns(place: &Track, blocks: u64, share: f64) -> f64 {
    let turns = blocks as f64 / place.sectors() as f64;
    turns + share * (turns + 2.0)
}

/// Returns true if read-ahead of `blocks` loses no revolutions at track switches.
fn ends_early(pairs: &mut Pairs<'_, '_>, place: &Track, blocks: u64) -> Result<bool, Error> {
    let pause = pairs.clock.period() * turns(place, blocks, COVERED_SWITCH);
    for _ in 0..4 {
        let random = pairs.uniform() * pairs.clock.period() / 8.0;
        if !hits(pairs, place, blocks, span(pause - random))? {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Idle {
    /// Returns the place where read-ahead leaves the head; `None` if the arm is free immediately.
    pub(crate) fn read_ahead_end(&self, layout: &Layout) -> Option<ReadAheadEnd> {
        if self.rest == Span::ZERO {
            return None;
        }
        let places = zones(layout);
        let ends = [0, 1, 2].map(|k| tracks(layout, &places[k], self.ahead[k]));
        // If read-ahead ends when a segment is full, it may end in the middle of a track.
        Some(match ends {
            [Some(a), Some(b), Some(c)] if a == b && b == c => ReadAheadEnd::Tracks(a),
            _ => ReadAheadEnd::Blocks([0, 1, 2].map(|k| (places[k].sectors(), self.ahead[k]))),
        })
    }
}

/// Returns the number of tracks that read-ahead covers, if it ends at the end of a track.
fn tracks(layout: &Layout, from: &Track, ahead: SectorCount) -> Option<u32> {
    let last = from.first() + ahead;
    let mut first = from.first();
    let mut count = 1;
    loop {
        let next = next_track(layout, first)?;
        if next > last {
            return (next == last + SectorCount(1)).then_some(count);
        }
        first = next;
        count += 1;
    }
}

/// Returns the first tracks of cylinders in the first, middle and last zone.
pub(crate) fn zones(layout: &Layout) -> [Track; 3] {
    let last = layout.sectors().0 - 1;
    [last / 50, last / 2, last - last / 50].map(|at| {
        let cylinder = layout.extent(Lbn(at)).cylinder.0;
        Track::first_in_cylinder(layout, cylinder).expect("the cylinder holds a block")
    })
}

/// Returns the number of different fractions of a sector of `outer` at which sectors of `inner`
/// begin. If there is only one, an arm that waits for the end of a sector only looks slower.
fn sector_phases(outer: &Track, inner: &Track) -> u64 {
    let (mut a, mut b) = (outer.sectors(), inner.sectors());
    while b > 0 {
        (a, b) = (b, a % b);
    }
    inner.sectors() / a
}

/// Returns true if some pairs from `outer` to `inner` miss with longer leads than others need.
fn overlaps(pairs: &mut Pairs<'_, '_>, outer: &Track, inner: &Track) -> Result<bool, Error> {
    let kinds = (Access::Read, Access::Read);
    let route = |_: &mut Pairs<'_, '_>, _| Ok((outer.clone(), inner.clone(), 0.0));
    let search = pairs.search(kinds, (1, 1), Threshold::default(), (4e3, 60), route)?;
    let mut threshold = Threshold::default();
    let sector = pairs.clock.period() / inner.sectors() as f64;
    let mut near = 0;
    // The first reads of the pairs are within an eighth of a track. If tracks are short or almost
    // equally long, their sectors begin at almost the same fraction of a sector of `inner`.
    let difference = outer.sectors().abs_diff(inner.sectors());
    let is_similar = difference > 0 && outer.sectors() / 8 * difference < inner.sectors() / 2;
    for _ in 0..MAX_PAIRS {
        pairs.move_head(Access::Read, outer, 1)?;
        if is_similar {
            let random = pairs.uniform() * pairs.clock.period() * MAX_PAUSE;
            pairs.sleep(span(random));
        }
        let lead = search.found.median + 1.5 * sector * (pairs.uniform() - 0.5);
        let Some(trial) = pairs.catch(Access::Read, inner, 1, lead)? else {
            continue;
        };
        let (missed, caught) = trial.bounds;
        threshold.add(missed, caught);
        let distance = |at: f64| (at - search.found.median).abs();
        near += u32::from(distance(missed).min(distance(caught)) < sector);
        if near >= ENOUGH_NEAR_PAIRS {
            break;
        }
    }
    let min = if pairs.is_noisy { sector / SLACK } else { 0.0 };
    Ok(threshold.contradictions(min) > CONTRADICTIONS)
}

/// Measures how many blocks are read ahead after the first block of cylinders like `place`.
fn read_ahead(pairs: &mut Pairs<'_, '_>, place: &Track) -> Result<SectorCount, Error> {
    if !reads_ahead_to(pairs, place, 1)? {
        return Ok(SectorCount(0));
    }
    let (mut reached, mut beyond) = (1, MAX_READ_AHEAD);
    let mut next = 32;
    while reached + 1 < beyond {
        if reads_ahead_to(pairs, place, next)? {
            reached = next;
        } else {
            beyond = next;
        }
        next = if beyond == MAX_READ_AHEAD {
            (2 * reached).min(MAX_READ_AHEAD - 1)
        } else {
            reached.midpoint(beyond)
        };
        if reached == MAX_READ_AHEAD - 1 {
            break;
        }
    }
    Ok(SectorCount(reached))
}

/// Returns true if a one-block read also buffers the block `far` blocks later. A read of that block
/// is a hit if it does not end at the angle of its sector. A hit may look like a miss by chance, so
/// false is returned only after four misses or, with noise, more. With noise, true is returned only
/// after two hits, because a miss may end late. Each read uses another cylinder.
fn reads_ahead_to(pairs: &mut Pairs<'_, '_>, place: &Track, far: u64) -> Result<bool, Error> {
    let pause = span(pairs.clock.period() * turns(place, far, 1.0)).max(LONG);
    let (mut buffered, mut tied) = (0, 0);
    let enough = enough_tied(2.0 * pairs.clock.tolerance() / pairs.clock.period());
    while tied < enough {
        // The pause is random, so that hits do not all end at the angle at which a miss would.
        let random = pairs.uniform() * pairs.clock.period();
        if hits(pairs, place, far, pause + span(random))? {
            buffered += 1;
        } else {
            tied += 1;
        }
        if buffered > u32::from(pairs.is_noisy) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the number of misses needed if a hit looks like a miss with this probability.
fn enough_tied(chance: f64) -> u32 {
    let chance = chance.min(0.9);
    let by_chance = |reads: u32| f64::from(reads + 1) * chance.powi(reads as i32);
    let enough = (4..).find(|&reads| by_chance(reads) < MAX_ERROR_PROBABILITY);
    enough.unwrap_or(4)
}

/// Returns true if the block `far` blocks after a cylinder's first is buffered after a pause.
fn hits(pairs: &mut Pairs<'_, '_>, place: &Track, far: u64, pause: Span) -> Result<bool, Error> {
    let track = pairs.equivalent.next(pairs.layout, place);
    let first = track.first();
    let at = first + SectorCount(far);
    if at.0 >= pairs.layout.sectors().0 {
        return Ok(false);
    }
    pairs.send(Access::Read, first, 1)?;
    pairs.sleep(pause);
    let read = pairs.send_buffered(Access::Read, at, 1)?;
    let end = read.ended.as_ns() as f64;
    let lateness = pairs.clock.lateness(end, &pairs.layout.extent(at));
    Ok(lateness.abs() > pairs.clock.tolerance())
}

/// Known properties and options for measurements of seeks and overheads.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    pub layout: &'a Layout,
    pub rotation: Rotation,
    pub idle: Idle,
    pub effort: Effort,
    /// Seed of the random decisions of each measurement.
    pub seed: u64,
}

impl<'a> Setup<'a> {
    /// Measures the rotation and the idle time of a drive with a known layout, using only reads.
    pub fn measure(
        disk: &mut Disk<'_>,
        layout: &'a Layout,
        effort: Effort,
        seed: u64,
    ) -> Result<Self, Error> {
        let rotation = rotation::measure(disk, effort, seed)?;
        let idle = measure(disk, layout, &rotation, seed)?;
        Ok(Self {
            layout,
            rotation,
            idle,
            effort,
            seed,
        })
    }

    pub(crate) fn pairs<'d>(&self, disk: &'a mut Disk<'d>) -> Result<Pairs<'a, 'd>, Error> {
        let mut pairs = Pairs::new(disk, self.layout, &self.rotation, self.seed)?;
        pairs.idle = self.idle.rest;
        pairs.read_ahead_end = self.idle.read_ahead_end(self.layout);
        Ok(pairs)
    }
}
