//! The layout, by nothing but the instants at which reads end.
//!
//! # Hypothesis
//! A read of one block from the media ends a constant time after the block has passed. So the
//! difference of two ends, less whole revolutions, is the difference of two angles. Along a track
//! the angle grows by the same step from block to block; at a track's end it jumps by the skew.
//!
//! # Test vector
//! One-block reads with force unit access (worthington96 section 5.2: 20 random ones first, and no
//! two that the buffer could answer). The first tracks of a zone are followed block by block with
//! growing steps and bisections until the jumps repeat with the period of the surfaces; then the
//! last blocks of tracks ever further ahead, and bisections where the angle is not the predicted
//! one. A reference block is read every two seconds, so that errors of the rotation period do not
//! add up.
//!
//! # Decision
//! A block is in line if its angle is the predicted one to within a quarter of a sector. Noise is
//! measured first: if one read does not tell that, reads of the block continue until the predicted
//! angle is much likelier than one that is a sector off, or less likely (Wald's sequential test).
//! Then skews are taken for whole sectors, what decides much is looked at twice, explanations that
//! would take many reads are tried last or not at all, and slips inside tracks that have spare
//! sectors of their own are not looked for. If that would take more than 60 reads, looks only
//! distinguish tracks (`coarse`): a block of a track from one of the next, as skews are much longer
//! than sectors. Of several explanations of a jump (slipped
//! sectors, slipped tracks, spare space) the one that skips the fewest places and predicts the
//! following tracks counts. Where none does, the next zone begins.
//!
//! # Confidence
//! Every track boundary, zone and slip that moves a looked-at block is exact; where looks only
//! distinguish tracks, which sector of a track is slipped is not known, and a zone that is nearly
//! in line with the one before may begin a track off. Angles are relative to the first block. Not
//! observable: whole cylinders without blocks in front of the first zone, the numbers of heads, and
//! the direction in which they follow one another. Zones follow one another without empty cylinders
//! here; seeks tell how many there are ([`super::empty`]). Where skews do not tell which tracks
//! make a cylinder, as with equal ones, the times of head switches and seeks do (`cylinders`).
//!
//! # Cost
//! One command a look, about one revolution each; 50 to 150 looks a zone, one a region of the
//! sparing scheme, and about 20 for each slip. A look takes one read or, if ends scatter by more
//! than a fiftieth of a sector, about 22 times the square of their standard deviation in sectors. A
//! look that only distinguishes tracks takes some three reads, and the first tracks of a zone some
//! 2,000, half of them for skews. If a look that distinguishes sectors would take 2,000 reads,
//! skews would take too many.

use diskarm_core::geometry::Layout;
use diskarm_core::spec::Sparing;
use diskarm_core::units::Lbn;

use super::chart::{Tracks, ZoneChart};
use super::cylinders::{self, Cylinders};
use super::levers::Sectors;
use super::pattern::{self, IN_LINE, Pattern, Run};
use super::phases::Phases;
use super::walk::{Looks, Walk};
use super::{MeasuredLayout, assemble};
use crate::{Disk, Error};

mod coarse;
mod pieces;
mod tracks;

/// Finds the layout of a drive that says nothing about it. The rotation period need only be so
/// exact that the drive's clock is known to a tenth of a sector after two seconds: to 10^-6; to a
/// tenth of that if the ends of reads scatter.
///
/// # Errors
/// A command failed, the ends of reads scatter too much, or the angles of blocks follow no pattern
/// of tracks.
pub fn measure(disk: &mut Disk, period_ns: f64, seed: u64) -> Result<MeasuredLayout, Error> {
    let capacity = disk.sectors().0;
    let sector_bytes = disk.sector_size();
    let mut looks = Timed::new(disk, period_ns, seed)?;
    let mut zones: Vec<ZoneChart> = Vec::new();
    let mut next = 0;
    while next < capacity {
        let found = looks.next_zone(next, &mut zones)?;
        next = found.first + found.blocks;
        if found.blocks == 0 || zones.len() >= ZONES_MAX {
            return Err(Error::Undecided(format!(
                "no pattern of tracks explains the angles of blocks from {next} on"
            )));
        }
        zones.retain(|zone| zone.blocks > 0);
        zones.push(found);
    }
    let mut found = assemble::geometry(&zones, capacity, sector_bytes)?;
    found.assumed.push(ASCENDING.to_owned());
    if zones.len() > 1 {
        found.assumed.push(CLOSED.to_owned());
    }
    let by_track = found.geometry.sparing == Sparing::SectorsPerTrack;
    if by_track && looks.are_costly(&zones[0].tracks) {
        found.assumed.push(
            "Tracks are taken to have no slipped sectors: the ends of reads scatter too much to \
             look for them in each."
                .to_owned(),
        );
    }
    if zones
        .iter()
        .any(|zone| looks.is_coarse(zone.tracks.sectors))
    {
        found.assumed.push(UNPLACED.to_owned());
    }
    if looks.supposes_no_spares {
        found.assumed.push(
            "Tracks are taken to have no spare sectors of their own: the ends of reads scatter \
             too much to tell."
                .to_owned(),
        );
    }
    if zones[0].tracks.surfaces == 1 {
        found.assumed.push(
            "Tracks are all equally far apart: each is taken for a cylinder of its own.".to_owned(),
        );
    }
    Ok(found)
}

/// What is assumed of zones until seeks tell.
pub(crate) const CLOSED: &str =
    "Zones are taken to follow one another without cylinders that hold nothing.";

/// What is assumed of the order of heads.
pub(crate) const ASCENDING: &str = "Heads are assumed to be used in ascending order in every \
     cylinder: the ends of reads do not tell.";

/// What is assumed where looks tell tracks only.
pub(crate) const UNPLACED: &str = "Which sectors are slipped is not known: one or two of a track \
     are placed at its end, and skews are taken for whole sectors, as the ends of reads scatter \
     too much to tell.";

/// More zones than any drive has.
const ZONES_MAX: usize = 5_000;

/// A drive whose reads are timed.
pub(super) struct Timed<'d, 't> {
    pub phases: Phases<'d, 't>,
    /// Sectors of a track that hold no block, once this is known, for looks that only distinguish
    /// tracks.
    spare: Option<u64>,
    /// That there are none is assumed.
    supposes_no_spares: bool,
}

impl Looks for Timed<'_, '_> {
    const MAY_COINCIDE: bool = true;
    const KNOWS_END: bool = false;

    fn are_costly(&self, tracks: &Tracks) -> bool {
        self.uncertain(tracks.sectors) > 0.0
    }

    fn tell_sectors(&self, tracks: &Tracks) -> bool {
        !self.is_coarse(tracks.sectors)
    }

    fn are_apart(
        &mut self,
        tracks: &Tracks,
        blocks: [(u64, u64); 2],
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
        blocks: [(u64, u64); 2],
    ) -> Result<Option<u64>, Error> {
        if self.is_coarse(tracks.sectors) {
            return self.few_slips(tracks, blocks);
        }
        Ok(None)
    }

    fn is_at(&mut self, tracks: &Tracks, at: u64, place: u64) -> Result<bool, Error> {
        let sectors = tracks.sectors;
        let end = tracks.angle(place) + 1.0 / sectors as f64;
        if self.is_coarse(sectors) {
            return self.is_near(at, end.fract());
        }
        self.phases.is_at(at, end, (IN_LINE, sectors))
    }

    fn places(&mut self, tracks: &Tracks, at: u64, min: u64) -> Result<Vec<u64>, Error> {
        if self.is_coarse(tracks.sectors) {
            return self.beginnings(tracks, at, min);
        }
        let angle = self.start(at, tracks.sectors)?;
        let near = self.near(tracks.sectors);
        let first = min / tracks.sectors;
        let ahead = 2 * u64::from(tracks.surfaces) + 2;
        let on_track = |track: u64| {
            let within = (angle - tracks.track_angle(track)).rem_euclid(tracks.sectors as f64);
            let whole = within.round();
            let place = track * tracks.sectors + whole as u64 % tracks.sectors;
            ((within - whole).abs() < near && place >= min).then_some(place)
        };
        Ok((first..first + ahead).filter_map(on_track).collect())
    }
}

impl<'d, 't> Timed<'d, 't> {
    /// Warms the drive up.
    pub fn new(disk: &'d mut Disk<'t>, period_ns: f64, seed: u64) -> Result<Self, Error> {
        Ok(Self {
            phases: Phases::new(disk, period_ns, seed)?,
            spare: None,
            supposes_no_spares: false,
        })
    }

    /// Tracks of which most blocks are missing that tell that none begin here.
    const SHORT: usize = 6;
    /// Tracks after which the jumps between tracks must have repeated.
    const SEED_TRACKS_MAX: usize = 130;

    /// The zone that begins with block `first`, behind the zone `before`; none if its tracks are
    /// not whole.
    fn zone_if_any(
        &mut self,
        first: u64,
        before: Option<&ZoneChart>,
    ) -> Result<Option<ZoneChart>, Error> {
        let capacity = self.phases.capacity();
        let seed = self.seed(first, before)?;
        seed.map(|(tracks, place)| Walk::zone(self, tracks, (first, place), capacity))
            .transpose()
    }

    /// The zone that begins with block `first`, behind the zone `before`.
    fn zone(&mut self, first: u64, before: Option<&ZoneChart>) -> Result<ZoneChart, Error> {
        self.zone_if_any(first, before)?.ok_or_else(|| {
            Error::Undecided(format!("blocks from {first} on are not on whole tracks"))
        })
    }

    /// The zone that begins with block `next`, or with the cylinder in which the last zone seems to
    /// end: the first tracks of both may have much in common.
    fn next_zone(&mut self, next: u64, zones: &mut [ZoneChart]) -> Result<ZoneChart, Error> {
        let Some(last) = zones.last_mut() else {
            return self.zone(next, None);
        };
        if self.is_coarse(last.tracks.sectors) {
            return self.next_coarse_zone(next, last);
        }
        let cylinder = last.tracks.cylinder();
        let begin = (last.end() - 1) / cylinder * cylinder;
        // Tracks of the next zone may lie as if they were the last ones of this cylinder.
        let is_whole = last.end() == begin + cylinder
            && !last
                .gaps
                .iter()
                .any(|gap| gap.end() > begin && gap.places >= last.tracks.sectors);
        if is_whole || begin == 0 {
            return self.zone(next, Some(last));
        }
        let reach = |zone: &ZoneChart| zone.first + zone.blocks;
        let is_sure = |zone: &ZoneChart| reach(zone) > next + 4 * cylinder;
        if self.are_costly(&last.tracks) {
            let late = self.zone(next, Some(last))?;
            let begins = late.gaps.first().is_none_or(|gap| gap.place > 0);
            if begins && is_sure(&late) {
                return Ok(late);
            }
        }
        let mut shortened = last.clone();
        shortened.truncate(begin);
        let first = shortened.first + shortened.blocks;
        let Some(early) = self.zone_if_any(first, Some(&shortened))? else {
            return self.zone(next, Some(last));
        };
        if !is_sure(&early) {
            let late = self.zone(next, Some(last))?;
            if reach(&late) >= reach(&early) {
                return Ok(late);
            }
        }
        *last = shortened;
        Ok(early)
    }

    /// The tracks of the zone that begins with block `first`, and the place of that block.
    fn seed(
        &mut self,
        first: u64,
        before: Option<&ZoneChart>,
    ) -> Result<Option<(Tracks, u64)>, Error> {
        let sectors = match self.sectors(first)? {
            Sectors::Exactly(sectors) => sectors,
            Sectors::About { step, over } => return self.coarse_seed(first, (step, over), before),
        };
        let mut runs = Vec::new();
        let mut at = first;
        let known = before.map(|zone| zone.tracks.surfaces as usize);
        let capacity = self.phases.capacity();
        let mut surfaces = None;
        while at < capacity && runs.len() < Self::SEED_TRACKS_MAX {
            let run = self.track((at, capacity), sectors, runs.last())?;
            at += run.blocks;
            runs.push(run);
            let short = runs.iter().filter(|run| 2 * run.blocks < sectors).count();
            if before.is_some() && self.uncertain(sectors) > 0.0 && short > Self::SHORT {
                return Ok(None);
            }
            surfaces = match known {
                Some(known) => {
                    // One end of a cylinder will do where looks are costly.
                    let enough = if self.uncertain(sectors) > 0.0 {
                        known + 2
                    } else {
                        2 * known + 1
                    };
                    (runs.len() > enough).then_some(known)
                }
                None => {
                    let jumps = pattern::jumps(&runs, sectors);
                    // The first block may be in the middle of a track.
                    let behind = jumps.get(1..).unwrap_or_default();
                    pattern::period(&jumps).or_else(|| pattern::period(behind))
                }
            };
            if surfaces.is_some() {
                break;
            }
        }
        let surfaces = surfaces.or(known).unwrap_or(1) as u32;
        let chosen = self.pattern(&runs, (sectors, surfaces), before)?;
        Ok(Some((chosen.tracks, chosen.place)))
    }

    /// The pattern of the first tracks of the zone behind the zone `before`.
    fn pattern(
        &mut self,
        runs: &[Run],
        (sectors, surfaces): (u64, u32),
        before: Option<&ZoneChart>,
    ) -> Result<Pattern, Error> {
        let cylinder = before.map_or(0, ZoneChart::end_cylinder);
        let mut patterns = pattern::patterns(runs, sectors, surfaces, cylinder);
        if before.is_none() {
            return self.first_pattern(runs, patterns);
        }
        // A zone begins with a cylinder if it may.
        let whole = patterns.iter().position(|pattern| pattern.place < sectors);
        Ok(patterns.swap_remove(whole.unwrap_or(0)))
    }

    /// The pattern of the first zone, of those that explain its tracks equally well: if there are
    /// several, or skews do not tell where cylinders end, by the times of movements.
    fn first_pattern(&mut self, runs: &[Run], patterns: Vec<Pattern>) -> Result<Pattern, Error> {
        let likely = pattern::likeliest(&patterns).clone();
        if patterns.len() == 1 && likely.tracks.surfaces > 1 {
            return Ok(likely);
        }
        let few: &[usize] = match likely.tracks.surfaces {
            1 => &[26, Self::SEED_TRACKS_MAX / 2],
            2 => &[10],
            surfaces => &[4 * surfaces as usize],
        };
        for &few in few {
            let few = &runs[..few.min(runs.len())];
            if let Some(found) = self.cylinders(few, &likely)? {
                let Tracks { sectors, .. } = likely.tracks;
                let surfaces = found.surfaces as u32;
                return Ok(Pattern::new(runs, (sectors, surfaces, 0), found.last));
            }
        }
        Ok(likely)
    }

    /// Where cylinders end among the first tracks of the drive, by the times of movements.
    fn cylinders(&mut self, runs: &[Run], pattern: &Pattern) -> Result<Option<Cylinders>, Error> {
        let end = runs.iter().map(|run| run.blocks).sum();
        let bytes = self.phases.sector_size();
        let start = (0, pattern.place);
        let chart = Walk::zone(self, pattern.tracks.clone(), start, end)?;
        let Ok(found) = assemble::geometry(&[chart], end, bytes) else {
            return Ok(None);
        };
        let layout = Layout::new(&found.geometry).expect("assembled ones are consistent");
        let begins = runs.iter().scan(0, |at, run| {
            *at += run.blocks;
            Some(Lbn(*at - run.blocks))
        });
        let begins: Vec<Lbn> = begins.collect();
        let rotation = self.phases.rotation();
        let found = cylinders::measure(self.phases.disk(), &layout, (&begins, &rotation), 1);
        self.phases.mark()?;
        found
    }
}
