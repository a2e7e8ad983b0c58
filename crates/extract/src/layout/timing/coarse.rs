//! Locates blocks if read completions scatter so much that they distinguish tracks but not sectors.
//!
//! From one track to the next the angle jumps by a skew, which is much longer than a sector, so the
//! first block of each track is found exactly. The slipped sectors of a track are not found, but
//! recorded at its end. Skews are assumed to be whole sectors, and are measured between tracks as
//! far apart as possible. Important decisions take many reads.

use super::{TimingLocator, blocks_in_line};
use crate::Error;
use crate::layout::phases::angle_to;
use crate::layout::walk::{MAX_SLIPS, MIN_ZONE_OFFSET, Placement};
use crate::layout::zone_map::{self, Pattern, Run, Tracks, ZoneMap};

/// Minimum difference of angles that a check distinguishes, in standard deviations of one read.
const MIN_SEPARATION: f64 = 3.0;
/// Minimum skew for these checks, in standard deviations of one read.
const SKEW_MIN: f64 = 4.5;
/// Number of reads of a block that determine with which track it is in line.
const READS: u32 = 32;
/// Maximum number of reads per check for the most important decisions.
const READS_PER_DECISION_MAX: f64 = 2_000.0;
/// Target standard deviation of a measured number of slipped sectors.
const SLIPS_DEVIATION: f64 = 0.3;
/// Number of reads of a block that locate it roughly.
const FEW_READS: u32 = 10;
/// Maximum number of reads of a block for one measurement.
const READS_MAX: f64 = 3_000.0;
/// Minimum difference between values that count as different, in standard deviations.
const MIN_DIFFERENCE: f64 = 4.5;
/// Target standard deviation of a measured whole number.
const WHOLE_DEVIATION: f64 = 0.12;
/// Maximum number of cylinders over which skews are measured. It suffices for any zone.
const MAX_CYLINDERS: u64 = 512;

impl TimingLocator<'_, '_> {
    /// Returns true if checks only distinguish tracks.
    pub(super) fn is_coarse(&self, sectors: u64) -> bool {
        !self.phases.resolves_sectors(sectors)
    }

    /// Returns true if a block ends close to an angle. This check distinguishes only tracks.
    pub(super) fn is_near(&mut self, at: u64, angle: f64) -> Result<bool, Error> {
        let away = MIN_SEPARATION * self.phases.noise;
        self.phases.is_likelier_at(at, angle, away)
    }

    /// Maps the zone that begins with block `next`. Its first tracks may be nearly in line with the
    /// last zone, and mapped as part of it. So the new zone is extended backwards for as long as
    /// its tracks predict the angles of the preceding blocks.
    pub(super) fn next_coarse_zone(
        &mut self,
        next: u64,
        last: &mut ZoneMap,
    ) -> Result<ZoneMap, Error> {
        let mut zone = self.zone(next, Some(last))?;
        while zone.blocks > 0 {
            let begins_cylinder = zone.lead() == 0;
            let mut longer = zone.clone();
            if begins_cylinder {
                longer.insert_cylinders(1);
            }
            let blocks = longer.lead();
            if blocks >= zone.tracks.cylinder().min(last.blocks) + u64::from(begins_cylinder) {
                break;
            }
            longer.gaps.remove(0);
            longer.first -= blocks;
            longer.blocks += blocks;
            let at = |position: u64| (longer.first + position, position);
            let (whole, half) = ([at(0), at(blocks)], [at(blocks / 2), at(blocks)]);
            if !self.are_exactly_apart(&longer.tracks, whole, MIN_ZONE_OFFSET)?
                || !self.are_exactly_apart(&longer.tracks, half, MIN_ZONE_OFFSET)?
            {
                break;
            }
            last.drop_last(blocks);
            longer.tracks.first_cylinder = last.end_cylinder();
            zone = longer;
        }
        Ok(zone)
    }

    /// Returns the starts of tracks where block `at` may be, from `min` on, in ascending order.
    pub(super) fn track_starts(
        &mut self,
        tracks: &Tracks,
        at: u64,
        min: u64,
    ) -> Result<Vec<u64>, Error> {
        let sectors = tracks.sectors;
        let revolution = sectors as f64;
        let begin = self.phases.mean(at, READS)? * revolution - 1.0;
        let near = MIN_SEPARATION / 2.0 * self.scatter(sectors);
        let first = min.div_ceil(sectors);
        let ahead = 2 * u64::from(tracks.surfaces) + 2;
        let is_here = |&track: &u64| {
            let off = angle_to(tracks.track_angle(track) / revolution, begin / revolution);
            (off * revolution).abs() < near
        };
        let starts = (first..first + ahead).filter(is_here);
        Ok(starts.map(|track| track * sectors).collect())
    }

    /// Returns a lower bound on the number of sectors slipped between two blocks of a track.
    pub(super) fn slips_on_track(
        &mut self,
        tracks: &Tracks,
        [from, to]: [Placement; 2],
    ) -> Result<Option<u64>, Error> {
        let revolution = tracks.sectors as f64;
        let reads = 2.0 * (self.scatter(tracks.sectors) / SLIPS_DEVIATION).powi(2);
        let turned = self.phases.between(from.0, to.0, reads.ceil() as u32)? * revolution;
        let slipped = (turned - (to.1 - from.1) as f64).rem_euclid(revolution);
        let min = (slipped - 1.5 * SLIPS_DEVIATION).round().max(1.0);
        Ok((min < MAX_SLIPS as f64).then_some(min as u64))
    }

    /// Returns true if blocks are as far apart as their positions, rather than `away` sectors off.
    pub(super) fn are_exactly_apart(
        &mut self,
        tracks: &Tracks,
        [from, to]: [Placement; 2],
        away: u64,
    ) -> Result<bool, Error> {
        let angle = tracks.angle(to.1) - tracks.angle(from.1);
        let away = away as f64 / tracks.sectors as f64;
        self.phases.is_likelier_between(from.0, to.0, angle, away)
    }

    /// Standard deviation of one read, in sectors.
    pub(super) fn scatter(&self, sectors: u64) -> f64 {
        self.phases.noise * sectors as f64
    }

    pub(super) fn refuse_short_skews(&self, tracks: &Tracks) -> Result<(), Error> {
        let revolution = tracks.sectors as f64;
        let min = SKEW_MIN * self.scatter(tracks.sectors);
        let is_short = |skew: f64| {
            let turn = skew.rem_euclid(revolution);
            turn.min(revolution - turn) < min
        };
        let switches = tracks.surfaces > 1 && is_short(tracks.track_skew);
        if switches || is_short(tracks.cylinder_skew) {
            return Err(Error::Undecided(format!(
                "read completion times scatter by {:.3} ms, and skews of {:.0} and {:.0} sectors \
                 are too short to distinguish one track from the next",
                self.phases.noise_ms(),
                tracks.track_skew,
                tracks.cylinder_skew
            )));
        }
        Ok(())
    }

    pub(in crate::layout) fn scatters_too_much(&self, sectors: u64) -> Error {
        Error::Undecided(format!(
            "read completion times scatter by {:.3} ms: it takes {:.0} reads to distinguish one of \
             about {sectors} sectors per track from the next, and a layout takes many such checks",
            self.phases.noise_ms(),
            self.phases.reads_per_check(sectors)
        ))
    }
}

/// Blocks that appear to be on one track.
#[derive(Clone, Copy, Debug)]
struct TrackPiece {
    first: u64,
    blocks: u64,
    /// Angle at which the first block ends, in revolutions.
    angle: f64,
}

impl TrackPiece {
    /// Returns true if the next block, which ends at this angle, is in line.
    fn continues(&self, angle: f64, step: f64, noise: f64) -> bool {
        let next = self.angle + self.blocks as f64 * step;
        angle_to(next, angle).abs() < MIN_SEPARATION / 2.0 * noise
    }
}

/// The first tracks of a zone.
struct TrackPieces {
    all: Vec<TrackPiece>,
    /// Angle from block to block, in revolutions.
    step: f64,
    /// Distance in blocks over which the step was measured.
    baseline: u64,
}

impl TrackPieces {
    /// Returns the most common number of blocks of a piece.
    fn usual(&self) -> u64 {
        let blocks = self.all.iter().map(|piece| piece.blocks);
        let count = |usual: u64| blocks.clone().filter(|&blocks| blocks == usual).count();
        let usual = blocks.clone().max_by_key(|&usual| (count(usual), usual));
        usual.unwrap_or(0)
    }

    /// Converts the pieces to tracks. Averages and rounds jumps that differ by less than `scatter`.
    fn runs(&self, sectors: u64, scatter: f64) -> Vec<Run> {
        let revolution = sectors as f64;
        let begin = |piece: &TrackPiece| piece.angle * revolution - 1.0;
        let jump = |pair: &[TrackPiece]| {
            (begin(&pair[1]) - begin(&pair[0]) + 1.0).rem_euclid(revolution) - 1.0
        };
        let jumps: Vec<f64> = self.all.windows(2).map(jump).collect();
        let groups = cluster_means(jumps.get(1..).unwrap_or_default(), scatter);
        let whole = |jump: f64| {
            let off = |group: &&f64| (**group - jump).abs();
            let nearest = groups.iter().min_by(|a, b| off(a).total_cmp(&off(b)));
            let near = nearest.filter(|group| off(group) < scatter);
            near.copied().unwrap_or(jump.round())
        };
        // The first block may be in the middle of its track.
        let offset = self.usual().saturating_sub(self.all[0].blocks) as f64;
        let mut starts = vec![begin(&self.all[0]).rem_euclid(revolution)];
        for (n, &jump) in jumps.iter().enumerate() {
            let jump = match n {
                0 => whole((jump + offset + 1.0).rem_euclid(revolution) - 1.0) - offset,
                _ => whole(jump),
            };
            starts.push(starts[n] + jump);
        }
        // The mean deviation of all starts corrects the first one.
        let off = |(piece, start): (&TrackPiece, &f64)| wrap(begin(piece) - start, sectors);
        let off = self.all.iter().zip(&starts).map(off).sum::<f64>() / starts.len() as f64;
        let run = |(piece, start): (&TrackPiece, f64)| Run {
            start: start + off,
            // No track holds more blocks than this, even if it appears to.
            blocks: piece.blocks.min(sectors),
            off: 0.0,
        };
        self.all.iter().zip(starts).map(run).collect()
    }
}

/// Returns the means of clusters of numbers, rounded to whole numbers.
fn cluster_means(numbers: &[f64], scatter: f64) -> Vec<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let groups = sorted.chunk_by(|one, next| next - one < scatter);
    let mean = |group: &[f64]| group.iter().sum::<f64>() / group.len() as f64;
    groups.map(|group| mean(group).round()).collect()
}

impl TimingLocator<'_, '_> {
    /// Like [`Self::seed`], given the angle of a sector, `step`, measured over `over` sectors.
    pub(super) fn coarse_seed(
        &mut self,
        first: u64,
        step: f64,
        over: u64,
        before: Option<&ZoneMap>,
    ) -> Result<Option<(Tracks, u64)>, Error> {
        let about = 1.0 / step;
        let is_hopeless = SKEW_MIN * self.phases.noise > 0.25;
        let reads = self.phases.reads_per_check(about as u64);
        if is_hopeless || reads > READS_PER_DECISION_MAX {
            return Err(self.scatters_too_much(about as u64));
        }
        let known = before.map(|zone| zone.tracks.surfaces as usize);
        let mut pieces = TrackPieces {
            all: Vec::new(),
            step,
            baseline: over,
        };
        let mut at = first;
        let mut surfaces = None;
        let scatter = MIN_DIFFERENCE * self.scatter(about as u64) * (2.0 / f64::from(READS)).sqrt();
        while at < self.phases.capacity() && pieces.all.len() < Self::SEED_TRACKS_MAX {
            at += self.follow_piece(at, &mut pieces)?;
            let all = &pieces.all;
            let is_short = |piece: &&TrackPiece| 2.0 * (piece.blocks as f64) < about;
            if before.is_some() && all.iter().filter(is_short).count() > Self::SHORT {
                return Ok(None);
            }
            surfaces = if let Some(known) = known {
                (all.len() > known + 2).then_some(known)
            } else {
                let sectors = (1.0 / pieces.step).round() as u64;
                let jumps = zone_map::jumps(&pieces.runs(sectors, scatter), sectors);
                zone_map::period(jumps.get(1..).unwrap_or_default())
            };
            if surfaces.is_some() {
                break;
            }
        }
        let sectors = self.whole_sectors(&pieces)?;
        let runs = pieces.runs(sectors, scatter);
        let count = surfaces.or(known).unwrap_or(1) as u32;
        let chosen = self.pattern(&runs, sectors, count, before)?;
        let tracks = self.refine(&pieces, &chosen)?;
        self.refuse_short_skews(&tracks)?;
        Ok(Some((tracks, chosen.position)))
    }

    /// Follows the track that begins with block `at` and returns the number of its blocks.
    fn follow_piece(&mut self, at: u64, pieces: &mut TrackPieces) -> Result<u64, Error> {
        let angle = self.phases.mean(at, READS)?;
        let max = ((1.05 / pieces.step) as u64).min(self.phases.capacity() - at);
        let guess = pieces.all.last().map_or(1, |piece| piece.blocks);
        let step = pieces.step;
        let mut is_in_line =
            |n: u64| self.is_near(at + n, (angle + n as f64 * step).rem_euclid(1.0));
        let mut blocks = blocks_in_line(guess, max, &mut is_in_line)?;
        // A check may be wrong, though rarely.
        while blocks < max && is_in_line(blocks)? {
            blocks = blocks_in_line(blocks + 1, max, &mut is_in_line)?;
        }
        if blocks - 1 > pieces.baseline {
            pieces.baseline = blocks - 1;
            pieces.step = self.measure_step(at, blocks - 1, step, READS)?;
        }
        match pieces.all.last_mut() {
            // The check that ended the last piece was wrong.
            Some(last) if last.continues(angle, step, self.phases.noise) => last.blocks += blocks,
            _ => pieces.all.push(TrackPiece {
                first: at,
                blocks,
                angle,
            }),
        }
        Ok(blocks)
    }

    /// Returns the sectors per track: the usual number of blocks plus the spare sectors that the
    /// angle of a sector shows. The number of spares is measured only in the first zone.
    fn whole_sectors(&mut self, pieces: &TrackPieces) -> Result<u64, Error> {
        let usual = pieces.usual();
        if let Some(spare) = self.spare {
            return Ok(usual + spare);
        }
        let mut others = pieces.all.iter().skip(1);
        let Some(whole) = others.find(|piece| piece.blocks == usual) else {
            self.assumes_no_spares = true;
            return Ok(usual);
        };
        let reads = 2.0 * (self.scatter(usual) / WHOLE_DEVIATION).powi(2);
        if reads > READS_MAX {
            self.spare = Some(0);
            self.assumes_no_spares = true;
            return Ok(usual);
        }
        let (length, reads) = (usual - 1, reads.ceil() as u32);
        let step = self.measure_step(whole.first, length, pieces.step, reads)?;
        let sectors = (1.0 / step).round() as u64;
        self.spare = Some(sectors.saturating_sub(usual));
        Ok(sectors.max(usual))
    }

    /// Measures the angle from block to block, about `step`, over `length` blocks from `at` on.
    fn measure_step(&mut self, at: u64, length: u64, step: f64, reads: u32) -> Result<f64, Error> {
        let turned = length as f64 * step;
        let off = self.phases.between(at, at + length, reads)? - turned;
        Ok((turned + angle_to(0.0, off)) / length as f64)
    }

    /// Measures the skews of a pattern between distant tracks, and adjusts its offset.
    fn refine(&mut self, pieces: &TrackPieces, pattern: &Pattern) -> Result<Tracks, Error> {
        let mut tracks = pattern.tracks.clone();
        let zone = TrackSequence {
            pieces,
            surfaces: tracks.surfaces as usize,
            track: (pattern.position / tracks.sectors) as usize,
            // The first block may be in the middle of its track.
            first: usize::from(!pattern.position.is_multiple_of(tracks.sectors)),
        };
        let switches = f64::from(tracks.surfaces - 1);
        let turn = tracks.cylinder_skew + switches * tracks.track_skew;
        tracks.track_skew = self.track_skew(&zone, &tracks)?;
        let turn = self.cylinder_turn(&zone, tracks.sectors, turn)?;
        let revolution = tracks.sectors as f64;
        tracks.cylinder_skew = (turn - switches * tracks.track_skew).rem_euclid(revolution);
        // The new skews change the angle of the first track.
        let off = |piece: usize| {
            let begin = pieces.all[piece].angle - 1.0 / revolution;
            let expected = tracks.track_angle((zone.track + piece) as u64) / revolution;
            angle_to(expected, begin) * revolution
        };
        let mut offs: Vec<f64> = (zone.first..pieces.all.len()).map(off).collect();
        offs.sort_by(f64::total_cmp);
        let off = offs.get(offs.len() / 2).copied().unwrap_or(0.0);
        tracks.offset = (tracks.offset + off).rem_euclid(revolution);
        Ok(tracks)
    }

    /// Measures the skew between the tracks of a cylinder, from the two that are farthest apart.
    fn track_skew(&mut self, zone: &TrackSequence<'_>, tracks: &Tracks) -> Result<f64, Error> {
        let Some((from, to)) = zone.farthest() else {
            return Ok(tracks.track_skew);
        };
        let switches = (to - from) as f64;
        let [first, last] = [from, to].map(|piece| zone.pieces.all[piece].first);
        let reads = self.reads_of_whole(tracks.sectors, switches);
        let turned = self.turned(first, last, tracks.sectors, reads)?;
        let off = turned - switches * tracks.track_skew;
        Ok((tracks.track_skew + wrap(off, tracks.sectors) / switches).round())
    }

    /// Measures the rotation of each cylinder, about `turn` sectors, over increasing distances.
    fn cylinder_turn(
        &mut self,
        zone: &TrackSequence<'_>,
        sectors: u64,
        mut turn: f64,
    ) -> Result<f64, Error> {
        let Some(piece) = zone.pieces.all.get(zone.first) else {
            return Ok(turn);
        };
        let (first, blocks) = (piece.first, zone.blocks());
        let room = self.phases.capacity().saturating_sub(first + sectors);
        let scatter = self.scatter(sectors) * (2.0 / f64::from(FEW_READS)).sqrt();
        let mut uncertainty = self.scatter(sectors);
        let mut cylinders = 1;
        while cylinders <= MAX_CYLINDERS && cylinders * blocks < room {
            let to = self.track_begin(first + cylinders * blocks, sectors)?;
            let turned = self.turned(first, to, sectors, FEW_READS)?;
            let off = wrap(turned - turn * cylinders as f64, sectors);
            let max = MIN_DIFFERENCE * (uncertainty * cylinders as f64).hypot(scatter);
            if off.abs() > max.min(sectors as f64 / 8.0) {
                break;
            }
            turn += off / cylinders as f64;
            uncertainty = scatter / cylinders as f64;
            cylinders *= 2;
        }
        let ahead = cylinders / 2;
        if ahead > 0 && uncertainty > WHOLE_DEVIATION {
            let to = self.track_begin(first + ahead * blocks, sectors)?;
            let reads = self.reads_of_whole(sectors, ahead as f64);
            let turned = self.turned(first, to, sectors, reads)?;
            turn += wrap(turned - turn * ahead as f64, sectors) / ahead as f64;
        }
        Ok(turn.round())
    }

    /// Measures the angle between two blocks in sectors, ignoring whole revolutions.
    fn turned(&mut self, from: u64, to: u64, sectors: u64, reads: u32) -> Result<f64, Error> {
        Ok(self.phases.between(from, to, reads)? * sectors as f64)
    }

    /// Returns the number of reads that determine a whole number if a multiple of it is measured.
    fn reads_of_whole(&self, sectors: u64, multiple: f64) -> u32 {
        let reads = 2.0 * (self.scatter(sectors) / multiple / WHOLE_DEVIATION).powi(2);
        reads.clamp(f64::from(FEW_READS), READS_MAX).ceil() as u32
    }

    /// Returns the first block of the track that holds block `at`.
    fn track_begin(&mut self, at: u64, sectors: u64) -> Result<u64, Error> {
        let angle = self.phases.mean(at, READS)?;
        let max = sectors.min(at + 1);
        let blocks = blocks_in_line(1, max, |n| {
            let offset = n as f64 / sectors as f64;
            self.is_near(at - n, (angle - offset).rem_euclid(1.0))
        })?;
        Ok(at + 1 - blocks)
    }
}

/// The first tracks of a zone, once it is known where cylinders end.
struct TrackSequence<'a> {
    pieces: &'a TrackPieces,
    surfaces: usize,
    /// Index of the first piece's track within its cylinder.
    track: usize,
    /// Index of the first piece that begins at the start of its track.
    first: usize,
}

impl TrackSequence<'_> {
    /// Returns the two tracks of one cylinder that are farthest apart.
    fn farthest(&self) -> Option<(usize, usize)> {
        let pieces: Vec<usize> = (self.first..self.pieces.all.len()).collect();
        let cylinder = |&piece: &usize| (self.track + piece) / self.surfaces;
        let cylinders = pieces.chunk_by(|one, next| cylinder(one) == cylinder(next));
        let longest = cylinders.max_by_key(|cylinder| cylinder.len())?;
        let (from, to) = (longest[0], longest[longest.len() - 1]);
        (from < to).then_some((from, to))
    }

    /// Returns the number of blocks of a cylinder without slipped sectors.
    fn blocks(&self) -> u64 {
        let usual = self.pieces.usual();
        let on_head = |head: usize| {
            let all = self.pieces.all.iter().enumerate().skip(self.first);
            let same = all.filter(|(n, _)| (self.track + n) % self.surfaces == head);
            // If one or two blocks are missing, their sectors are assumed to be slipped.
            let whole = |blocks: u64| if blocks + 2 < usual { blocks } else { usual };
            same.map(|(_, piece)| whole(piece.blocks)).max()
        };
        let heads = (0..self.surfaces).map(|head| on_head(head).unwrap_or(usual));
        heads.sum()
    }
}

/// Subtracts whole revolutions from a number of sectors. At most half a revolution remains.
fn wrap(turned: f64, sectors: u64) -> f64 {
    let revolution = sectors as f64;
    turned - (turned / revolution).round() * revolution
}
