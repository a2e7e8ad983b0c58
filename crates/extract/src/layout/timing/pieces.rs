//! The first tracks of a zone, where looks only distinguish tracks ([`super::coarse`]).
//!
//! Skews are taken for whole sectors: the farther apart two tracks are, the more exactly the angle
//! between them determines each skew.

use super::Timed;
use super::coarse::{AWAY, READS, SKEW_MIN};
use super::tracks::blocks_in_line;
use crate::Error;
use crate::layout::chart::{Tracks, ZoneChart};
use crate::layout::pattern::{self, Pattern, Run};
use crate::layout::phases::apart;

/// Reads of a block that locate it roughly.
const FEW: u32 = 10;
/// The most reads of a block for one number.
const READS_MAX: f64 = 3_000.0;
/// Numbers that are farther apart than this, in standard deviations, are not the same.
const DIFFERENT: f64 = 4.5;
/// Standard deviation of a number that is whole.
const WHOLE: f64 = 0.12;
/// Cylinders over which a skew is known well enough for any zone.
const CYLINDERS: u64 = 512;

/// Blocks that seem to be on one track.
#[derive(Clone, Copy, Debug)]
struct Piece {
    first: u64,
    blocks: u64,
    /// Angle at which the first block ends, in revolutions.
    angle: f64,
}

impl Piece {
    /// Whether a block that ends at this angle, the next one, is in line.
    fn goes_on(&self, angle: f64, step: f64, noise: f64) -> bool {
        let next = self.angle + self.blocks as f64 * step;
        apart(next, angle).abs() < AWAY / 2.0 * noise
    }
}

/// What is known of a zone's tracks while they are followed.
struct Pieces {
    all: Vec<Piece>,
    /// From block to block, in revolutions.
    step: f64,
    /// Blocks between the two from which the step is known.
    lever: u64,
}

impl Pieces {
    /// The number of blocks that most tracks hold.
    fn usual(&self) -> u64 {
        let blocks = self.all.iter().map(|piece| piece.blocks);
        let count = |usual: u64| blocks.clone().filter(|&blocks| blocks == usual).count();
        blocks
            .clone()
            .max_by_key(|&usual| (count(usual), usual))
            .unwrap_or(0)
    }

    /// The pieces as tracks with this many sectors, whose jumps are whole sectors: jumps that are
    /// alike, except for `scatter` sectors, are the same.
    fn runs(&self, sectors: u64, scatter: f64) -> Vec<Run> {
        let revolution = sectors as f64;
        let begin = |piece: &Piece| piece.angle * revolution - 1.0;
        let jump =
            |pair: &[Piece]| (begin(&pair[1]) - begin(&pair[0]) + 1.0).rem_euclid(revolution) - 1.0;
        let jumps: Vec<f64> = self.all.windows(2).map(jump).collect();
        let groups = grouped(jumps.get(1..).unwrap_or_default(), scatter);
        let whole = |jump: f64| {
            let off = |group: &f64| (group - jump).abs();
            let nearest = groups
                .iter()
                .copied()
                .min_by(|a, b| off(a).total_cmp(&off(b)));
            nearest
                .filter(|group| off(group) < scatter)
                .unwrap_or(jump.round())
        };
        // The first block may be in the middle of its track.
        let within = self.usual().saturating_sub(self.all[0].blocks) as f64;
        let mut starts = vec![begin(&self.all[0]).rem_euclid(revolution)];
        for (n, &jump) in jumps.iter().enumerate() {
            let jump = match n {
                0 => whole((jump + within + 1.0).rem_euclid(revolution) - 1.0) - within,
                _ => whole(jump),
            };
            starts.push(starts[n] + jump);
        }
        // Each was measured as often as the first.
        let off = |(piece, start): (&Piece, &f64)| {
            let off = begin(piece) - start;
            off - (off / revolution).round() * revolution
        };
        let off = self.all.iter().zip(&starts).map(off).sum::<f64>() / starts.len() as f64;
        let run = |(piece, start): (&Piece, f64)| Run {
            start: start + off,
            // No track holds more, whatever it seems.
            blocks: piece.blocks.min(sectors),
            off: 0.0,
        };
        self.all.iter().zip(starts).map(run).collect()
    }
}

/// The means of groups of numbers that are alike, to the next whole number.
fn grouped(numbers: &[f64], scatter: f64) -> Vec<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let groups = sorted.chunk_by(|one, next| next - one < scatter);
    groups
        .map(|group| (group.iter().sum::<f64>() / group.len() as f64).round())
        .collect()
}

impl Timed<'_, '_> {
    /// The tracks of the zone that begins with block `first`, and the place of that block; none if
    /// its tracks are not whole. The angle of a sector is known from so many sectors.
    pub(super) fn coarse_seed(
        &mut self,
        first: u64,
        (step, over): (f64, u64),
        before: Option<&ZoneChart>,
    ) -> Result<Option<(Tracks, u64)>, Error> {
        let about = 1.0 / step;
        // Few skews are longer than a quarter of a revolution.
        let is_hopeless = SKEW_MIN * self.phases.noise() > 0.25;
        if is_hopeless || !self.phases.tells_some_sectors(about as u64) {
            return Err(self.scatters_too_much(about as u64));
        }
        let known = before.map(|zone| zone.tracks.surfaces as usize);
        let mut pieces = Pieces {
            all: Vec::new(),
            step,
            lever: over,
        };
        let mut at = first;
        let mut surfaces = None;
        let scatter = DIFFERENT * self.scatter(about as u64) * (2.0 / f64::from(READS)).sqrt();
        while at < self.phases.capacity() && pieces.all.len() < Self::SEED_TRACKS_MAX {
            at += self.piece(at, &mut pieces)?;
            let all = &pieces.all;
            let is_short = |piece: &&Piece| 2.0 * (piece.blocks as f64) < about;
            if before.is_some() && all.iter().filter(is_short).count() > Self::SHORT {
                return Ok(None);
            }
            surfaces = match known {
                Some(known) => (all.len() > known + 2).then_some(known),
                None => {
                    let sectors = (1.0 / pieces.step).round() as u64;
                    let jumps = pattern::jumps(&pieces.runs(sectors, scatter), sectors);
                    pattern::period(jumps.get(1..).unwrap_or_default())
                }
            };
            if surfaces.is_some() {
                break;
            }
        }
        let sectors = self.whole_sectors(&pieces)?;
        let runs = pieces.runs(sectors, scatter);
        let surfaces = surfaces.or(known).unwrap_or(1) as u32;
        let chosen = self.pattern(&runs, (sectors, surfaces), before)?;
        let tracks = self.exact(&pieces, &chosen)?;
        self.refuse_short_skews(&tracks)?;
        Ok(Some((tracks, chosen.place)))
    }

    /// Follows the track that begins with block `at`; the number of its blocks.
    fn piece(&mut self, at: u64, pieces: &mut Pieces) -> Result<u64, Error> {
        let angle = self.phases.mean(at, READS)?;
        let max = (1.05 / pieces.step) as u64;
        let max = max.min(self.phases.capacity() - at);
        let guess = pieces.all.last().map_or(1, |piece| piece.blocks);
        let step = pieces.step;
        let mut is_in_line =
            |n: u64| self.is_near(at + n, (angle + n as f64 * step).rem_euclid(1.0));
        let mut blocks = blocks_in_line(guess, max, &mut is_in_line)?;
        // One look in many thousands is wrong.
        while blocks < max && is_in_line(blocks)? {
            blocks = blocks_in_line(blocks + 1, max, &mut is_in_line)?;
        }
        if blocks - 1 > pieces.lever {
            let turned = (blocks - 1) as f64 * step;
            let off = self.phases.between(at, at + blocks - 1, READS)? - turned;
            pieces.lever = blocks - 1;
            pieces.step = (turned + apart(0.0, off)) / pieces.lever as f64;
        }
        match pieces.all.last_mut() {
            // The look that ended the last one was wrong.
            Some(last) if last.goes_on(angle, step, self.phases.noise()) => last.blocks += blocks,
            _ => pieces.all.push(Piece {
                first: at,
                blocks,
                angle,
            }),
        }
        Ok(blocks)
    }

    /// Sectors of a track: as many as blocks, unless the angle of a sector is smaller than that. It
    /// is measured in the first zone; others have as many without a block.
    fn whole_sectors(&mut self, pieces: &Pieces) -> Result<u64, Error> {
        let usual = pieces.usual();
        if let Some(spare) = self.spare {
            return Ok(usual + spare);
        }
        let whole = pieces
            .all
            .iter()
            .skip(1)
            .find(|piece| piece.blocks == usual);
        let Some(&Piece { first, blocks, .. }) = whole else {
            self.supposes_no_spares = true;
            return Ok(usual);
        };
        let reads = 2.0 * (self.scatter(usual) / WHOLE).powi(2);
        if reads > READS_MAX {
            self.spare = Some(0);
            self.supposes_no_spares = true;
            return Ok(usual);
        }
        let turned = (blocks - 1) as f64 * pieces.step;
        let off = self
            .phases
            .between(first, first + blocks - 1, reads.ceil() as u32)?
            - turned;
        let step = (turned + apart(0.0, off)) / (blocks - 1) as f64;
        let sectors = (1.0 / step).round() as u64;
        self.spare = Some(sectors.saturating_sub(usual));
        Ok(sectors.max(usual))
    }

    /// The tracks of a pattern, with skews and an angle measured over far tracks.
    fn exact(&mut self, pieces: &Pieces, pattern: &Pattern) -> Result<Tracks, Error> {
        let mut tracks = pattern.tracks.clone();
        let zone = Followed {
            pieces,
            surfaces: tracks.surfaces as usize,
            track: (pattern.place / tracks.sectors) as usize,
            // The first block may be in the middle of its track.
            first: usize::from(!pattern.place.is_multiple_of(tracks.sectors)),
        };
        let switches = f64::from(tracks.surfaces - 1);
        let turn = tracks.cylinder_skew + switches * tracks.track_skew;
        tracks.track_skew = self.track_skew(&zone, &tracks)?;
        let turn = self.cylinder_turn(&zone, tracks.sectors, turn)?;
        let revolution = tracks.sectors as f64;
        tracks.cylinder_skew = (turn - switches * tracks.track_skew).rem_euclid(revolution);
        // Other skews put the first track elsewhere.
        let off = |piece: usize| {
            let begin = pieces.all[piece].angle - 1.0 / revolution;
            let expected = tracks.track_angle((zone.track + piece) as u64) / revolution;
            apart(expected, begin) * revolution
        };
        let mut offs: Vec<f64> = (zone.first..pieces.all.len()).map(off).collect();
        offs.sort_by(f64::total_cmp);
        let off = offs.get(offs.len() / 2).copied().unwrap_or(0.0);
        tracks.offset = (tracks.offset + off).rem_euclid(revolution);
        Ok(tracks)
    }

    /// The skew between the tracks of a cylinder, from the two that are farthest apart.
    fn track_skew(&mut self, zone: &Followed<'_>, tracks: &Tracks) -> Result<f64, Error> {
        let Some((from, to)) = zone.farthest() else {
            return Ok(tracks.track_skew);
        };
        let switches = (to - from) as f64;
        let [first, last] = [from, to].map(|piece| zone.pieces.all[piece].first);
        let reads = self.reads_of_whole(tracks.sectors, switches);
        let turned = self.turned((first, last), tracks.sectors, reads)?;
        let off = turned - switches * tracks.track_skew;
        Ok((tracks.track_skew + wrapped(off, tracks.sectors) / switches).round())
    }

    /// By how many sectors each cylinder is turned against the one before, about `turn`, from
    /// cylinders ever farther ahead, as long as they are where the nearer ones have them.
    fn cylinder_turn(
        &mut self,
        zone: &Followed<'_>,
        sectors: u64,
        mut turn: f64,
    ) -> Result<f64, Error> {
        let Some(piece) = zone.pieces.all.get(zone.first) else {
            return Ok(turn);
        };
        let (first, blocks) = (piece.first, zone.blocks());
        let room = self.phases.capacity().saturating_sub(first + sectors);
        let scatter = self.scatter(sectors) * (2.0 / f64::from(FEW)).sqrt();
        let mut uncertain = self.scatter(sectors);
        let mut cylinders = 1;
        while cylinders <= CYLINDERS && cylinders * blocks < room {
            let to = self.track_begin(first + cylinders * blocks, sectors)?;
            let turned = self.turned((first, to), sectors, FEW)?;
            let off = wrapped(turned - turn * cylinders as f64, sectors);
            let max = DIFFERENT * (uncertain * cylinders as f64).hypot(scatter);
            if off.abs() > max.min(sectors as f64 / 8.0) {
                break;
            }
            turn += off / cylinders as f64;
            uncertain = scatter / cylinders as f64;
            cylinders *= 2;
        }
        let ahead = cylinders / 2;
        if ahead > 0 && uncertain > WHOLE {
            let to = self.track_begin(first + ahead * blocks, sectors)?;
            let reads = self.reads_of_whole(sectors, ahead as f64);
            let turned = self.turned((first, to), sectors, reads)?;
            turn += wrapped(turned - turn * ahead as f64, sectors) / ahead as f64;
        }
        Ok(turn.round())
    }

    /// From one block to another, in sectors, less whole revolutions.
    fn turned(&mut self, (from, to): (u64, u64), sectors: u64, reads: u32) -> Result<f64, Error> {
        Ok(self.phases.between(from, to, reads)? * sectors as f64)
    }

    /// How many reads of two blocks determine a number of whole sectors of which the angle between
    /// them is a multiple.
    fn reads_of_whole(&self, sectors: u64, multiple: f64) -> u32 {
        let reads = 2.0 * (self.scatter(sectors) / multiple / WHOLE).powi(2);
        reads.clamp(f64::from(FEW), READS_MAX).ceil() as u32
    }

    /// The first block of the track that holds block `at`: slipped sectors push blocks on.
    fn track_begin(&mut self, at: u64, sectors: u64) -> Result<u64, Error> {
        let angle = self.phases.mean(at, READS)?;
        let max = sectors.min(at + 1);
        let blocks = super::tracks::blocks_in_line(1, max, |n| {
            let behind = n as f64 / sectors as f64;
            self.is_near(at - n, (angle - behind).rem_euclid(1.0))
        })?;
        Ok(at + 1 - blocks)
    }
}

/// The tracks of a zone that were followed, once it is known where cylinders end.
struct Followed<'a> {
    pieces: &'a Pieces,
    surfaces: usize,
    /// The track of its cylinder that the first piece is on.
    track: usize,
    /// The first piece that begins with its track.
    first: usize,
}

impl Followed<'_> {
    /// The two tracks of one cylinder that are farthest apart.
    fn farthest(&self) -> Option<(usize, usize)> {
        let pieces: Vec<usize> = (self.first..self.pieces.all.len()).collect();
        let cylinder = |&piece: &usize| (self.track + piece) / self.surfaces;
        let cylinders = pieces.chunk_by(|one, next| cylinder(one) == cylinder(next));
        match cylinders.max_by_key(|cylinder| cylinder.len()) {
            Some(&[from, .., to]) => Some((from, to)),
            _ => None,
        }
    }

    /// The blocks of a cylinder without slipped sectors.
    fn blocks(&self) -> u64 {
        let usual = self.pieces.usual();
        let on_head = |head: usize| {
            let all = self.pieces.all.iter().enumerate().skip(self.first);
            let same = all.filter(|(n, _)| (self.track + n) % self.surfaces == head);
            // A block or two fewer are slipped sectors.
            let held = |blocks: u64| if blocks + 2 < usual { blocks } else { usual };
            same.map(|(_, piece)| held(piece.blocks)).max()
        };
        let heads = (0..self.surfaces).map(|head| on_head(head).unwrap_or(usual));
        heads.sum()
    }
}

/// A number of sectors less whole revolutions, at most half of one to either side.
fn wrapped(turned: f64, sectors: u64) -> f64 {
    let revolution = sectors as f64;
    turned - (turned / revolution).round() * revolution
}
