//! Derives the layout from nothing but read completion times.
//!
//! # Hypothesis
//! A read of one block from the media completes a constant time after the block has passed. The
//! difference between two completion times, ignoring whole revolutions, is therefore the difference
//! between two angles. Along a track the angle grows by the same step from block to block; at the
//! end of a track it jumps by the skew.
//!
//! # Test vector
//! One-block reads with force unit access, after 20 random ones (worthington96 section 5.2). The
//! first tracks of a zone are followed with growing steps and bisections until the jumps between
//! tracks repeat once per cylinder. Then the last blocks of tracks farther and farther ahead are
//! read, with bisections where angles differ from the prediction. A reference block is read every
//! two seconds, so that the error of the rotation period does not accumulate.
//!
//! # Decision
//! A block is in line if its angle is within a quarter of a sector of the prediction. Noise is
//! measured first. If it is too large for one read, a block is read until the predicted angle is
//! much more or much less likely than one that is a sector off (Wald's sequential test). In that
//! case skews are assumed to be whole sectors, important decisions are repeated, unlikely
//! explanations may be ignored, and slips inside tracks with their own spare sectors are not
//! searched for. If a check would take more than 60 reads, checks distinguish only tracks
//! (`coarse`), because skews are much longer than sectors. A jump may be due to slipped sectors,
//! slipped tracks or spare space. The explanation that predicts the following tracks and skips the
//! fewest positions is chosen. If nothing explains it, the next zone begins.
//!
//! # Confidence
//! Track boundaries, zones, and slips that move a checked block are exact. Where checks distinguish
//! only tracks, it is not known which sectors of a track are slipped, and a zone that is nearly in
//! line with the previous one may begin one track too early or too late. Angles are relative to the
//! first block. Empty cylinders before the first zone and the order of heads cannot be observed.
//! Zones are assumed to be adjacent until seeks show how many empty cylinders are between them
//! ([`super::empty`]). If skews do not reveal which tracks form a cylinder, for example because all
//! are equal, head switch and seek times are used instead (`cylinders`).
//!
//! # Cost
//! One command per check, which takes about one revolution. 50 to 150 checks per zone, one per
//! region of the sparing scheme, and about 20 for each slip. A check takes one read or, if
//! completions scatter by more than a fiftieth of a sector, about 22 s² reads, where s is their
//! standard deviation in sectors. A check that distinguishes only tracks takes about three reads,
//! and the first tracks of a zone take about 2,000, half of them for skews. If a check that
//! distinguishes sectors would take more than 2,000 reads, no layout is derived, because skews
//! would take even more.

use diskarm_core::geometry::Layout;
use diskarm_core::spec::Sparing;
use diskarm_core::units::Lbn;

use super::assemble::{self, MeasuredLayout};
use super::cylinders::{self, Cylinders};
use super::phases::{Phases, SectorsPerTrack};
use super::walk::{BlockLocator, Placement, Walk, ZONES_MAX, first_misaligned};
use super::zone_map::{self, IN_LINE, Pattern, Run, Tracks, ZoneMap, length};
use crate::{Disk, Error};

mod coarse;

/// Finds the layout of a drive that reports nothing about it. The rotation period must be accurate
/// to one part in a million, or in ten million if read completions scatter, so that angles can be
/// predicted to a tenth of a sector after two seconds.
pub fn measure(disk: &mut Disk, period_ns: f64, seed: u64) -> Result<MeasuredLayout, Error> {
    let capacity = disk.sectors().0;
    let sector_bytes = disk.sector_size();
    let mut locator = TimingLocator::new(disk, period_ns, seed)?;
    let mut zones: Vec<ZoneMap> = Vec::new();
    let mut next = 0;
    while next < capacity {
        let found = locator.next_zone(next, &mut zones)?;
        next = found.next();
        if found.blocks == 0 || zones.len() >= ZONES_MAX {
            return Err(Error::Undecided(format!(
                "no pattern of tracks explains the angles of blocks from {next} on"
            )));
        }
        zones.retain(|zone| zone.blocks > 0);
        zones.push(found);
    }
    let mut found = assemble::geometry(&zones, capacity, sector_bytes)?;
    let by_track = found.geometry.sparing == Sparing::SectorsPerTrack;
    let mut zone_sectors = zones.iter().map(|zone| zone.tracks.sectors);
    let is_coarse = zone_sectors.any(|sectors| locator.is_coarse(sectors));
    let assumptions = [
        (true, ASSUMED_ASCENDING),
        (zones.len() > 1, ASSUMED_ADJACENT),
        (
            by_track && locator.is_costly(&zones[0].tracks),
            ASSUMED_UNSLIPPED,
        ),
        (is_coarse, UNKNOWN_SLIPS),
        (locator.assumes_no_spares, ASSUMED_NO_SPARES),
        (zones[0].tracks.surfaces == 1, ASSUMED_EQUIDISTANT),
    ];
    for (is_made, sentence) in assumptions {
        if is_made {
            found.assume(sentence);
        }
    }
    Ok(found)
}

const ASSUMED_UNSLIPPED: &str = "Tracks are assumed to have no slipped sectors: read completion \
     times scatter too much to look for them in each track.";

const ASSUMED_NO_SPARES: &str = "Tracks are assumed to have no spare sectors of their own: read \
     completion times scatter too much to show them.";

const ASSUMED_EQUIDISTANT: &str =
    "All tracks are equally far apart, so each is assumed to be a separate cylinder.";

pub(crate) const ASSUMED_ADJACENT: &str =
    "Zones are assumed to be adjacent, without empty cylinders between them.";

pub(crate) const ASSUMED_ASCENDING: &str = "Heads are assumed to be used in ascending order in \
     every cylinder: read completion times do not show the order.";

/// The assumption if checks distinguish only tracks.
pub(crate) const UNKNOWN_SLIPS: &str = "It is not known which sectors are slipped: one or two \
     slips of a track are assumed to be at its end, and skews are assumed to be whole sectors, \
     because read completion times scatter too much.";

pub(super) struct TimingLocator<'d, 't> {
    pub phases: Phases<'d, 't>,
    /// Sectors per track that hold no block, if known; used if checks distinguish only tracks.
    spare: Option<u64>,
    /// True if `spare` is assumed to be zero.
    assumes_no_spares: bool,
}

impl BlockLocator for TimingLocator<'_, '_> {
    const MAY_COINCIDE: bool = true;
    const KNOWS_END: bool = false;

    fn is_costly(&self, tracks: &Tracks) -> bool {
        self.start_deviation(tracks.sectors) > 0.0
    }

    fn resolves_sectors(&self, tracks: &Tracks) -> bool {
        !self.is_coarse(tracks.sectors)
    }

    fn are_apart(
        &mut self,
        tracks: &Tracks,
        blocks: [Placement; 2],
        away: u64,
    ) -> Result<bool, Error> {
        if self.is_coarse(tracks.sectors) {
            return self.are_exactly_apart(tracks, blocks, away);
        }
        Ok(true)
    }

    fn slips_between(
        &mut self,
        tracks: &Tracks,
        blocks: [Placement; 2],
    ) -> Result<Option<u64>, Error> {
        if self.is_coarse(tracks.sectors) {
            return self.slips_on_track(tracks, blocks);
        }
        Ok(None)
    }

    fn is_at(&mut self, tracks: &Tracks, at: u64, position: u64) -> Result<bool, Error> {
        let sectors = tracks.sectors;
        let end = tracks.angle(position) + 1.0 / sectors as f64;
        if self.is_coarse(sectors) {
            return self.is_near(at, end.fract());
        }
        self.phases.is_at(at, end, IN_LINE, sectors)
    }

    fn positions(&mut self, tracks: &Tracks, at: u64, min: u64) -> Result<Vec<u64>, Error> {
        if self.is_coarse(tracks.sectors) {
            return self.track_starts(tracks, at, min);
        }
        let angle = self.start(at, tracks.sectors)?;
        let slack = self.slack(tracks.sectors);
        let first = min / tracks.sectors;
        let ahead = 2 * u64::from(tracks.surfaces) + 2;
        Ok(tracks.aligned_positions(first..first + ahead, angle, slack, min))
    }
}

impl<'d, 't> TimingLocator<'d, 't> {
    /// Warms up the drive.
    pub fn new(disk: &'d mut Disk<'t>, period_ns: f64, seed: u64) -> Result<Self, Error> {
        Ok(Self {
            phases: Phases::new(disk, period_ns, seed)?,
            spare: None,
            assumes_no_spares: false,
        })
    }

    /// Maximum number of mostly empty tracks at the beginning of a zone.
    const SHORT: usize = 6;
    /// Maximum number of tracks until the jumps between them repeat.
    const SEED_TRACKS_MAX: usize = 130;

    /// Maps the zone that begins with block `first`; `None` if most tracks are not full.
    fn zone_if_any(
        &mut self,
        first: u64,
        before: Option<&ZoneMap>,
    ) -> Result<Option<ZoneMap>, Error> {
        let capacity = self.phases.capacity();
        let seed = self.seed(first, before)?;
        seed.map(|(tracks, position)| Walk::zone(self, tracks, (first, position), capacity))
            .transpose()
    }

    /// Like [`Self::zone_if_any`], but fails if most tracks are not full.
    fn zone(&mut self, first: u64, before: Option<&ZoneMap>) -> Result<ZoneMap, Error> {
        self.zone_if_any(first, before)?
            .ok_or_else(|| Error::Undecided(format!("tracks from block {first} on are not full")))
    }

    /// Maps the zone that begins with block `next` or with the cylinder in which the last zone
    /// appears to end, because the first tracks of a zone may look like those of the previous one.
    fn next_zone(&mut self, next: u64, zones: &mut [ZoneMap]) -> Result<ZoneMap, Error> {
        let Some(last) = zones.last_mut() else {
            return self.zone(next, None);
        };
        if self.is_coarse(last.tracks.sectors) {
            return self.next_coarse_zone(next, last);
        }
        let cylinder = last.tracks.cylinder();
        let begin = (last.end() - 1) / cylinder * cylinder;
        let mut gaps = last.gaps.iter().filter(|gap| gap.end > begin);
        let is_whole =
            last.end() == begin + cylinder && gaps.all(|gap| length(gap) < last.tracks.sectors);
        if is_whole || begin == 0 {
            return self.zone(next, Some(last));
        }
        let is_certain = |zone: &ZoneMap| zone.next() > next + 4 * cylinder;
        if self.is_costly(&last.tracks) {
            let late = self.zone(next, Some(last))?;
            if late.gaps.first().is_none_or(|gap| gap.start > 0) && is_certain(&late) {
                return Ok(late);
            }
        }
        let mut shortened = last.clone();
        shortened.truncate(begin);
        let Some(early) = self.zone_if_any(shortened.next(), Some(&shortened))? else {
            return self.zone(next, Some(last));
        };
        if !is_certain(&early) {
            let late = self.zone(next, Some(last))?;
            if late.next() >= early.next() {
                return Ok(late);
            }
        }
        *last = shortened;
        Ok(early)
    }

    /// Returns the tracks of the zone that begins with block `first`, and that block's position.
    fn seed(
        &mut self,
        first: u64,
        before: Option<&ZoneMap>,
    ) -> Result<Option<(Tracks, u64)>, Error> {
        let sectors = match self.sectors(first)? {
            SectorsPerTrack::Exactly(sectors) => sectors,
            SectorsPerTrack::About { step, over } => {
                return self.coarse_seed(first, step, over, before);
            }
        };
        let mut runs = Vec::new();
        let mut at = first;
        let known = before.map(|zone| zone.tracks.surfaces as usize);
        let capacity = self.phases.capacity();
        let mut surfaces = None;
        while at < capacity && runs.len() < Self::SEED_TRACKS_MAX {
            let run = self.track(at, capacity, sectors, runs.last())?;
            at += run.blocks;
            runs.push(run);
            let short = runs.iter().filter(|run| 2 * run.blocks < sectors).count();
            let is_costly = self.start_deviation(sectors) > 0.0;
            if before.is_some() && is_costly && short > Self::SHORT {
                return Ok(None);
            }
            surfaces = if let Some(known) = known {
                // One end of a cylinder is enough if checks are costly.
                let enough = if is_costly { known + 2 } else { 2 * known + 1 };
                (runs.len() > enough).then_some(known)
            } else {
                let jumps = zone_map::jumps(&runs, sectors);
                // The first block may be in the middle of a track.
                let later = jumps.get(1..).unwrap_or_default();
                zone_map::period(&jumps).or_else(|| zone_map::period(later))
            };
            if surfaces.is_some() {
                break;
            }
        }
        let count = surfaces.or(known).unwrap_or(1) as u32;
        let chosen = self.pattern(&runs, sectors, count, before)?;
        Ok(Some((chosen.tracks, chosen.position)))
    }

    fn pattern(
        &mut self,
        runs: &[Run],
        sectors: u64,
        surfaces: u32,
        before: Option<&ZoneMap>,
    ) -> Result<Pattern, Error> {
        let cylinder = before.map_or(0, ZoneMap::end_cylinder);
        let mut patterns = zone_map::patterns(runs, sectors, surfaces, cylinder);
        if before.is_none() {
            return self.first_pattern(runs, patterns);
        }
        // If possible, choose a pattern in which the zone begins at the start of a cylinder.
        let mut positions = patterns.iter().map(|pattern| pattern.position);
        let whole = positions.position(|position| position < sectors);
        Ok(patterns.swap_remove(whole.unwrap_or(0)))
    }

    /// Chooses the pattern of the first zone. If skews do not determine it, movement times do.
    fn first_pattern(&mut self, runs: &[Run], patterns: Vec<Pattern>) -> Result<Pattern, Error> {
        let is_only = patterns.len() == 1;
        let skew = |pattern: &Pattern| pattern.tracks.cylinder_skew;
        let all = patterns.into_iter();
        let widest = all.max_by(|a, b| skew(a).total_cmp(&skew(b)));
        let likely = widest.expect("at least one pattern");
        if is_only && likely.tracks.surfaces > 1 {
            return Ok(likely);
        }
        let counts: &[usize] = match likely.tracks.surfaces {
            1 => &[26, Self::SEED_TRACKS_MAX / 2],
            2 => &[10],
            surfaces => &[4 * surfaces as usize],
        };
        for &count in counts {
            let first_runs = &runs[..count.min(runs.len())];
            if let Some(found) = self.measure_cylinders(first_runs, &likely)? {
                let (sectors, surfaces) = (likely.tracks.sectors, found.surfaces as u32);
                return Ok(Pattern::new(runs, sectors, surfaces, 0, found.last));
            }
        }
        Ok(likely)
    }

    /// Times movements between the first tracks of the drive to find where cylinders end.
    fn measure_cylinders(
        &mut self,
        runs: &[Run],
        pattern: &Pattern,
    ) -> Result<Option<Cylinders>, Error> {
        let end = runs.iter().map(|run| run.blocks).sum();
        let bytes = self.phases.disk.sector_size();
        let start = (0, pattern.position);
        let map = Walk::zone(self, pattern.tracks.clone(), start, end)?;
        let Ok(found) = assemble::geometry(&[map], end, bytes) else {
            return Ok(None);
        };
        let layout = Layout::new(&found.geometry).expect("an assembled geometry is consistent");
        let firsts = runs.iter().scan(0, |next, run| {
            let at = *next;
            *next += run.blocks;
            Some(Lbn(at))
        });
        let begins: Vec<Lbn> = firsts.collect();
        let rotation = self.phases.rotation();
        let found = cylinders::measure(self.phases.disk, &layout, &begins, &rotation, 1);
        self.phases.mark()?;
        found
    }

    /// Returns the angle at which a track begins, in sectors, and the error from rounding its skew.
    fn track_start(
        &mut self,
        at: u64,
        sectors: u64,
        before: Option<&Run>,
    ) -> Result<(f64, f64), Error> {
        let start_deviation = self.start_deviation(sectors);
        match before {
            _ if start_deviation == 0.0 => Ok((self.start(at, sectors)?, 0.0)),
            None => Ok((self.start_within(at, sectors, start_deviation)?, 0.0)),
            Some(before) => {
                let off = self.start(at, sectors)? - before.start;
                Ok((before.start + off.round(), off - off.round()))
            }
        }
    }

    /// Returns the angle at which a block begins, in sectors.
    pub fn start(&mut self, at: u64, sectors: u64) -> Result<f64, Error> {
        let tolerance = IN_LINE.max(3.0 * self.start_deviation(sectors));
        self.start_within(at, sectors, tolerance)
    }

    fn start_within(&mut self, at: u64, sectors: u64, tolerance: f64) -> Result<f64, Error> {
        let angle = self.phases.angle(at, tolerance / sectors as f64)?;
        Ok((angle * sectors as f64 - 1.0).rem_euclid(sectors as f64))
    }

    /// Standard deviation of [`Self::start`], in sectors; 0 if one read is enough.
    pub(super) fn start_deviation(&self, sectors: u64) -> f64 {
        let resolves = self.phases.resolves(IN_LINE / sectors as f64);
        if resolves { 0.0 } else { 0.1 }
    }

    /// Maximum deviation of the angle of a block in line from a whole sector, in sectors.
    pub(super) fn slack(&self, sectors: u64) -> f64 {
        IN_LINE.max(4.5 * self.start_deviation(sectors))
    }

    /// Measures the sectors per track on the track that holds block `first` or one soon after it.
    pub fn sectors(&mut self, first: u64) -> Result<SectorsPerTrack, Error> {
        let tolerance = 1e-4;
        if !self.phases.resolves(tolerance) {
            return self.phases.sectors_per_track(first);
        }
        let few = 12.min(self.phases.capacity() - first);
        let mut steps = Vec::new();
        let mut last = self.phases.angle(first, tolerance)?;
        for at in first + 1..first + few {
            let angle = self.phases.angle(at, tolerance)?;
            steps.push((angle - last).rem_euclid(1.0));
            last = angle;
        }
        steps.sort_by(f64::total_cmp);
        let step = steps.get(steps.len() / 2).copied().unwrap_or(1.0);
        if step <= 0.0 {
            let reason = format!("all blocks from {first} on end at the same angle");
            return Err(Error::Undecided(reason));
        }
        Ok(SectorsPerTrack::Exactly((1.0 / step).round() as u64))
    }

    /// Follows the track that begins with block `at`, including slipped sectors, up to block `end`.
    pub fn track(
        &mut self,
        at: u64,
        end: u64,
        sectors: u64,
        before: Option<&Run>,
    ) -> Result<Run, Error> {
        let (start, off) = self.track_start(at, sectors, before)?;
        let mut blocks = 0;
        let mut slipped = 0;
        loop {
            let begin = start + (blocks + slipped) as f64;
            let max = (sectors - blocks - slipped).min(end - at - blocks);
            let guess = before.map_or(max, |run| run.blocks.saturating_sub(blocks).min(max));
            let first = at + blocks;
            blocks += blocks_in_line(guess.max(1), max, |n| {
                let angle = end_angle(begin + n as f64, sectors);
                self.phases.is_at(first + n, angle, IN_LINE, sectors)
            })?;
            let left = sectors - blocks - slipped;
            if left == 0 || at + blocks >= end {
                break;
            }
            let next = self.start(at + blocks, sectors)?;
            let off = (next - start - (blocks + slipped) as f64).rem_euclid(sectors as f64);
            let whole = off.round();
            let is_slip = (off - whole).abs() < self.slack(sectors) && (whole as u64) < left.min(4);
            if !is_slip || whole < 0.5 {
                break;
            }
            // Blocks after slipped sectors are on this track; those after spare sectors are not.
            let remaining = left - whole as u64;
            let ahead = (at + blocks + remaining - remaining / 8).min(end) - 1;
            let angle = end_angle(start + (ahead - at + slipped) as f64 + whole, sectors);
            if !self.phases.is_at(ahead, angle, IN_LINE, sectors)? {
                break;
            }
            slipped += whole as u64;
        }
        Ok(Run { start, blocks, off })
    }
}

/// Returns the number of blocks in line: at least 1, at most `max`, and probably `guess`.
fn blocks_in_line(
    guess: u64,
    max: u64,
    mut is_in_line: impl FnMut(u64) -> Result<bool, Error>,
) -> Result<u64, Error> {
    let likely = guess.min(max);
    if !is_in_line(likely - 1)? {
        return first_misaligned(1, likely - 1, is_in_line);
    }
    if likely < max && !is_in_line(likely)? {
        return Ok(likely);
    }
    first_misaligned(likely, max, is_in_line)
}

/// Returns the end angle of a block that begins at `sector`, in revolutions.
fn end_angle(sector: f64, sectors: u64) -> f64 {
    ((sector + 1.0) / sectors as f64).rem_euclid(1.0)
}
