//! Derives the layout from mode pages and READ CAPACITY, for drives that do not translate addresses
//! (worthington96 section 4.1.3).
//!
//! # Hypothesis
//! The drive reports its zones in the notch page and, with PMI, the last block of each cylinder.
//! Within cylinders blocks follow one another as in [`super::timing`].
//!
//! # Test vector
//! MODE SELECT of each active notch; its boundaries as cylinders and as blocks, and its tracks in
//! the format device page. READ CAPACITY with PMI for each cylinder. The rest is derived from read
//! completion times: the angle at which each zone begins, skews in fractions of sectors, and where
//! in a cylinder blocks are missing. Listed defects (READ DEFECT DATA) determine the order of
//! heads, the index mark, and which blocks may be reallocated (`listed_defects`).
//!
//! # Decision
//! Reported values are checked for consistency and against reads. Zone boundaries must be cylinder
//! boundaries, and all blocks of a zone must be on tracks like its first ones; otherwise no layout
//! is derived from them. Sectors per track, heads and skews are measured; where pages report other
//! values, these are nominal, which is noted.
//!
//! # Confidence
//! Every block is on the cylinder that READ CAPACITY reports and at the angle that reads show.
//! Without defects the order of heads and the index mark remain open, as in [`super::timing`], and
//! so does the order if defects are consistent with several.
//!
//! # Cost
//! Four commands per notch and one per cylinder without media access; fewer reads than in
//! [`super::timing`], as fewer explanations are possible.

use super::assemble::{self, MeasuredLayout};
use super::listed_defects;
use super::mode_pages::{NotchZone, cylinder_ends, heads, nominal, notch_zones, notches};
use super::pattern::{IN_LINE, Pattern};
use super::phases::SectorsPerTrack;
use super::timing::TimingLocator;
use super::walk::{BlockLocator, Walk};
use super::zone_map::{Gap, Tracks, ZoneMap};
use crate::{Disk, Error, PhysicalAddress};

/// Finds the layout of a drive that supports the notch page and READ CAPACITY with PMI. `defects`
/// are the defects that it lists.
///
/// # Errors
/// A command failed, the drive does not report its cylinders, or reads contradict its reports.
pub fn measure(
    disk: &mut Disk<'_>,
    period_ns: f64,
    defects: &[PhysicalAddress],
    seed: u64,
) -> Result<MeasuredLayout, Error> {
    let notches = notches(disk)?;
    let heads = heads(disk);
    let ends = cylinder_ends(disk)?;
    let zones = notch_zones(&notches, &ends)?;
    let capacity = disk.sectors().0;
    let sector_bytes = disk.sector_size();
    let mut locator = NotchLocator {
        timed: TimingLocator::new(disk, period_ns, seed)?,
        ends: Vec::new(),
    };
    let (mut sectors, mut doubts) = (Vec::new(), Vec::new());
    let mut surfaces = 1;
    for zone in &zones {
        let found = match locator.timed.sectors(zone.first)? {
            SectorsPerTrack::Exactly(found) => found,
            SectorsPerTrack::About { step, .. } => {
                return Err(locator.timed.scatters_too_much((1.0 / step) as u64));
            }
        };
        if found != u64::from(zone.reported.sectors) {
            doubts.push(format!(
                "The format device page reports {} sectors per track from block {} on; reads show \
                 {found}.",
                zone.reported.sectors, zone.first
            ));
        }
        let largest = zone.sizes().max().expect("a notch has cylinders");
        surfaces = surfaces.max(largest.div_ceil(found) as u32);
        sectors.push(found);
    }
    let mut maps = Vec::new();
    let mut doubtful = Vec::new();
    for (n, (zone, sectors)) in zones.iter().zip(sectors).enumerate() {
        let mut map = locator.zone(zone, sectors, surfaces)?;
        let is_last = n + 1 == zones.len() && n > 0;
        let (front, is_sure) = empty_in_front(zone, &map, defects, is_last);
        if !is_sure {
            doubtful.push(zone.reported.cylinders);
        }
        map.insert_cylinders(front);
        maps.push(map);
    }
    let mut found = assemble::geometry(&maps, capacity, sector_bytes)?;
    if let Some(reported) = heads.filter(|heads| *heads != surfaces) {
        doubts.push(format!(
            "The geometry page reports {reported} heads; cylinders hold {surfaces} tracks."
        ));
    }
    found.assumed.append(&mut doubts);
    for (first, last) in doubtful {
        found.assumed.push(format!(
            "Some of cylinders {first} to {last} hold no blocks; it is not known which."
        ));
    }
    listed_defects::apply(&mut found, &mut locator.timed.phases, defects)?;
    Ok(found)
}

/// Returns the number of empty cylinders before a zone's first block, and whether it is certain.
/// With that number most slips are on cylinders for which defects are listed. If no defects decide,
/// it is all cylinders that are not spare tracks, but 0 in the last zone.
fn empty_in_front(
    zone: &NotchZone<'_>,
    map: &ZoneMap,
    defects: &[PhysicalAddress],
    is_last: bool,
) -> (u32, bool) {
    let empty = zone.empty();
    if empty == 0 {
        return (0, true);
    }
    let tracks = &map.tracks;
    let few = |gap: &&Gap| gap.start > 0 && gap.length < tracks.sectors;
    let on = |gap: &Gap| tracks.first_cylinder + (gap.start / tracks.cylinder()) as u32;
    let listed = |cylinder: u32| defects.iter().any(|defect| defect.cylinder == cylinder);
    let slips: Vec<u32> = map.gaps.iter().filter(few).map(on).collect();
    let hits = |front: u32| slips.iter().filter(|at| listed(*at + front)).count();
    let max = (0..=empty).map(hits).max().unwrap_or(0);
    let mut best = (0..=empty).filter(|front| hits(*front) == max);
    if let (1.., Some(front), None) = (max, best.next(), best.next()) {
        return (front, true);
    }
    let whole = |gap: &&Gap| gap.start > 0 && gap.length.is_multiple_of(tracks.sectors);
    let slipped: u64 = map.gaps.iter().filter(whole).map(|gap| gap.length).sum();
    let spares = zone
        .reported
        .spare_tracks
        .saturating_sub(slipped / tracks.sectors);
    let behind = (spares / u64::from(tracks.surfaces)) as u32;
    let front = if is_last {
        0
    } else {
        empty.saturating_sub(behind)
    };
    (front, false)
}

/// Locates blocks by timed reads within known cylinders.
struct NotchLocator<'d, 't> {
    timed: TimingLocator<'d, 't>,
    /// One past the last block of each cylinder of the zone.
    ends: Vec<u64>,
}

impl NotchLocator<'_, '_> {
    /// Returns the cylinder of the zone that holds a block.
    fn cylinder(&self, at: u64) -> u64 {
        self.ends.partition_point(|end| *end <= at) as u64
    }

    fn zone(
        &mut self,
        zone: &NotchZone<'_>,
        sectors: u64,
        surfaces: u32,
    ) -> Result<ZoneMap, Error> {
        let (first, end) = (zone.first, zone.end());
        self.ends = zone.ends.to_vec();
        let tracks = self.tracks(zone, sectors, surfaces)?;
        let room = tracks.cylinder().saturating_sub(self.ends[0] - first);
        let mut positions = self.positions(&tracks, first, 0)?;
        positions.retain(|position| *position <= room);
        // Most likely all that its cylinder lacks is in front of it, or it begins a track.
        let whole = |position: &&u64| position.is_multiple_of(sectors);
        let position = positions
            .iter()
            .find(|position| **position == room)
            .or_else(|| positions.iter().find(whole))
            .or(positions.first())
            .copied()
            .ok_or_else(|| nominal(format!("block {first} is not on the tracks of its notch")))?;
        let map = Walk::zone(self, tracks, (first, position), end)?;
        if map.first + map.blocks < end {
            return Err(nominal(format!(
                "block {} is not on the tracks of its notch",
                map.first + map.blocks
            )));
        }
        Ok(map)
    }
    /// Derives the tracks of a zone, starting at a cylinder with the most common number of blocks.
    fn tracks(
        &mut self,
        zone: &NotchZone<'_>,
        sectors: u64,
        surfaces: u32,
    ) -> Result<Tracks, Error> {
        let sizes: Vec<u64> = zone.sizes().collect();
        let mut sorted = sizes.clone();
        sorted.sort_unstable();
        let max = sorted.chunk_by(|a, b| a == b).max_by_key(|same| same.len());
        let size = max.map_or(0, |same| same[0]);
        let usual = sizes
            .windows(2)
            .position(|pair| pair == [size; 2])
            .or_else(|| sizes.iter().position(|other| *other == size))
            .unwrap_or(0);
        let first = if usual == 0 {
            zone.first
        } else {
            zone.ends[usual - 1]
        };
        let mut runs = Vec::new();
        let mut at = first;
        while at < zone.end() && runs.len() < 3 * surfaces as usize + 1 {
            let end = self.ends[self.cylinder(at) as usize];
            let run = self.timed.track(at, end, sectors, runs.last())?;
            at += run.blocks;
            runs.push(run);
        }
        // The run that ends the cylinder is on its last track with blocks.
        let mut sum = first;
        let last = runs
            .iter()
            .position(|run| {
                sum += run.blocks;
                sum >= zone.ends[usual]
            })
            .unwrap_or(runs.len() - 1)
            .min(surfaces as usize - 1);
        let pattern = Pattern::new(&runs, sectors, surfaces, zone.reported.cylinders.0, last);
        let mut tracks = pattern.tracks;
        tracks.insert_cylinders(usual as u32);
        Ok(tracks)
    }
}

impl BlockLocator for NotchLocator<'_, '_> {
    const MAY_COINCIDE: bool = true;
    const KNOWS_END: bool = true;

    fn is_at(&mut self, tracks: &Tracks, at: u64, position: u64) -> Result<bool, Error> {
        if position / tracks.cylinder() != self.cylinder(at) {
            return Ok(false);
        }
        self.timed.is_at(tracks, at, position)
    }

    fn positions(&mut self, tracks: &Tracks, at: u64, min: u64) -> Result<Vec<u64>, Error> {
        let angle = self.timed.start(at, tracks.sectors)?;
        let surfaces = u64::from(tracks.surfaces);
        let first = self.cylinder(at) * surfaces;
        Ok(tracks.aligned_positions(first..first + surfaces, angle, IN_LINE, min))
    }
}
