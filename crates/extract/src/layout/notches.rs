//! Derives the layout from mode pages and READ CAPACITY, for drives that do not support TRANSLATE
//! ADDRESS (worthington96 section 4.1.3).
//!
//! # Hypothesis
//! The drive reports its zones in the notch page, and READ CAPACITY with PMI returns the last block
//! of a cylinder. Within cylinders, blocks are arranged as in [`super::timing`].
//!
//! # Test vector
//! MODE SELECT activates each notch. Its boundaries in cylinders and in blocks are read from the
//! notch page, and its sectors per track from the format device page. READ CAPACITY with PMI is
//! sent for each cylinder. Read completion times show the angle at which each zone begins, skews,
//! and which positions in a cylinder hold no blocks. Listed defects (READ DEFECT DATA) determine
//! the order of heads, the index mark, and which blocks may be reallocated (`listed_defects`).
//!
//! # Decision
//! Reported values are checked for consistency and against reads. Zone boundaries must be cylinder
//! boundaries, and all tracks of a zone must be like its first ones. Otherwise this method fails.
//! Sectors per track, heads and skews are measured. If pages report other values, the measured ones
//! are used, and a note says so.
//!
//! # Confidence
//! Every block is on the cylinder that READ CAPACITY reports and at the angle that reads show.
//! Without listed defects, the order of heads and the index mark are unknown, as in
//! [`super::timing`]. The order is also unknown if the defects are consistent with several orders.
//!
//! # Cost
//! Four commands per notch and one per cylinder, without media access. Fewer reads than in
//! [`super::timing`], because fewer explanations are possible.

use diskarm_core::units::Lbn;
use diskarm_wire::mode::{FormatDevice, Geometry, Notch};

use super::assemble::{self, MeasuredLayout};
use super::listed_defects;
use super::phases::SectorsPerTrack;
use super::timing::TimingLocator;
use super::walk::{BlockLocator, Walk};
use super::zone_map::{Gap, IN_LINE, Pattern, Tracks, ZoneMap, length};
use crate::{Disk, Error, PhysicalAddress};

/// Finds the layout of a drive that supports the notch page and READ CAPACITY with PMI. `defects`
/// are the defects that the drive lists. Fails if reads contradict what the drive reports.
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
    let mut notes = Vec::new();
    let mut sectors = Vec::new();
    let mut surfaces = 1;
    for zone in &zones {
        let found = match locator.timed.sectors(zone.first)? {
            SectorsPerTrack::Exactly(found) => found,
            SectorsPerTrack::About { step, .. } => {
                return Err(locator.timed.scatters_too_much((1.0 / step) as u64));
            }
        };
        if found != u64::from(zone.reported.sectors) {
            notes.push(format!(
                "The format device page reports {} sectors per track from block {} on; reads show \
                 {found}.",
                zone.reported.sectors, zone.first
            ));
        }
        let largest = zone.sizes().max().expect("every notch has cylinders");
        surfaces = surfaces.max(largest.div_ceil(found) as u32);
        sectors.push(found);
    }
    let mut maps = Vec::new();
    let mut unknowns = Vec::new();
    for (n, (zone, sectors)) in zones.iter().zip(sectors).enumerate() {
        let mut map = locator.zone(zone, sectors, surfaces)?;
        let is_last = n + 1 == zones.len() && n > 0;
        let (front, is_certain) = empty_in_front(zone, &map, defects, is_last);
        if !is_certain {
            let (first, last) = zone.reported.cylinders;
            unknowns.push(format!(
                "Some of the cylinders {first} to {last} hold no blocks, but it is not known which."
            ));
        }
        map.insert_cylinders(front);
        maps.push(map);
    }
    let mut found = assemble::geometry(&maps, capacity, sector_bytes)?;
    if let Some(reported) = heads.filter(|heads| *heads != surfaces) {
        notes.push(format!(
            "The geometry page reports {reported} heads; cylinders hold {surfaces} tracks."
        ));
    }
    found.assumed.extend(notes.into_iter().chain(unknowns));
    listed_defects::apply(&mut found, &mut locator.timed.phases, defects)?;
    Ok(found)
}

/// Returns the number of empty cylinders before the first block of a zone, and true if it is
/// certain. It is the number that puts the most slips on cylinders with listed defects. If defects
/// do not determine it, all empty cylinders except spare tracks are assumed to be in front, or none
/// in the last zone.
fn empty_in_front(
    zone: &NotchZone<'_>,
    map: &ZoneMap,
    defects: &[PhysicalAddress],
    is_last: bool,
) -> (u32, bool) {
    let empty_cylinders = zone.empty_cylinders();
    if empty_cylinders == 0 {
        return (0, true);
    }
    let tracks = &map.tracks;
    let is_short = |gap: &&Gap| gap.start > 0 && length(gap) < tracks.sectors;
    let cylinder = |gap: &Gap| tracks.first_cylinder + (gap.start / tracks.cylinder()) as u32;
    let listed = |cylinder: u32| defects.iter().any(|defect| defect.cylinder == cylinder);
    let slips: Vec<u32> = map.gaps.iter().filter(is_short).map(cylinder).collect();
    let hits = |front: u32| slips.iter().filter(|at| listed(*at + front)).count();
    let max = (0..=empty_cylinders).map(hits).max().unwrap_or(0);
    let mut best = (0..=empty_cylinders).filter(|front| hits(*front) == max);
    if let (1.., Some(front), None) = (max, best.next(), best.next()) {
        return (front, true);
    }
    let is_whole = |gap: &&Gap| gap.start > 0 && length(gap).is_multiple_of(tracks.sectors);
    let slipped: u64 = map.gaps.iter().filter(is_whole).map(length).sum();
    let spares = (zone.reported.spare_tracks).saturating_sub(slipped / tracks.sectors);
    let spare_cylinders = (spares / u64::from(tracks.surfaces)) as u32;
    let after = if is_last {
        empty_cylinders
    } else {
        spare_cylinders
    };
    (empty_cylinders.saturating_sub(after), false)
}

struct NotchLocator<'d, 't> {
    timed: TimingLocator<'d, 't>,
    /// One past the last block of each cylinder with blocks in the current zone.
    ends: Vec<u64>,
}

impl NotchLocator<'_, '_> {
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
        // Most likely, all missing sectors of the cylinder are in front, or the block begins a
        // track.
        let begins_track = |position: &&u64| position.is_multiple_of(sectors);
        let position = positions
            .iter()
            .find(|position| **position == room)
            .or_else(|| positions.iter().find(begins_track))
            .or(positions.first())
            .copied()
            .ok_or_else(|| misplaced(first))?;
        let map = Walk::zone(self, tracks, (first, position), end)?;
        if map.next() < end {
            return Err(misplaced(map.next()));
        }
        Ok(map)
    }

    /// Derives the tracks of a zone, starting with a cylinder of the most common size.
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
        let usual = (sizes.windows(2).position(|pair| pair == [size; 2]))
            .or_else(|| sizes.iter().position(|other| *other == size))
            .unwrap_or(0);
        let before = usual.checked_sub(1);
        let first = before.map_or(zone.first, |before| zone.ends[before]);
        let mut runs = Vec::new();
        let mut at = first;
        while at < zone.end() && runs.len() < 3 * surfaces as usize + 1 {
            let end = self.ends[self.cylinder(at) as usize];
            let run = self.timed.track(at, end, sectors, runs.last())?;
            at += run.blocks;
            runs.push(run);
        }
        // The run that ends the first cylinder is on the last track of that cylinder.
        let mut next = first;
        let ends_cylinder = runs.iter().position(|run| {
            next += run.blocks;
            next >= zone.ends[usual]
        });
        let last = ends_cylinder
            .unwrap_or(runs.len() - 1)
            .min(surfaces as usize - 1);
        let first_cylinder = zone.reported.cylinders.0;
        let mut tracks = Pattern::new(&runs, sectors, surfaces, first_cylinder, last).tracks;
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

fn bad_pages(reason: String) -> Error {
    Error::Undecided(format!("the drive's mode pages are wrong: {reason}"))
}

fn misplaced(block: u64) -> Error {
    bad_pages(format!("block {block} is not on the tracks of its notch"))
}

#[derive(Clone, Copy, Debug)]
struct ReportedZone {
    /// First and last block; `None` if the numbers do not fit into the fields of the page.
    pub blocks: Option<(u64, u64)>,
    pub cylinders: (u32, u32),
    pub sectors: u16,
    pub spare_tracks: u64,
}

/// Maximum number of notches, which is more than any drive has.
const MAX_NOTCHES: u16 = 5_000;

/// Returns all notches in the order of their cylinders.
fn notches(disk: &mut Disk<'_>) -> Result<Vec<ReportedZone>, Error> {
    let before = notch(disk)?;
    let count = before.maximum;
    if count == 0 || count > MAX_NOTCHES {
        return Err(bad_pages(format!("the notch page reports {count} notches")));
    }
    let read: Result<Vec<_>, _> = (1..=count).map(|active| read_notch(disk, active)).collect();
    // Restore the active notch even if reading a notch failed.
    activate(disk, before.active, before.logical)?;
    let mut zones = read?;
    zones.sort_by_key(|zone| zone.cylinders);
    Ok(zones)
}

fn notch(disk: &mut Disk<'_>) -> Result<Notch, Error> {
    let page = disk.mode_page(Notch::CODE)?;
    Notch::parse(&page).map_err(|_| truncated("notch"))
}

fn truncated(page: &str) -> Error {
    bad_pages(format!("the {page} page is truncated"))
}

/// Makes a notch active and returns its page. Other fields are sent as they were read (SPC-4).
fn activate(disk: &mut Disk<'_>, active: u16, logical: bool) -> Result<Notch, Error> {
    let mut wanted = notch(disk)?;
    (wanted.active, wanted.logical) = (active, logical);
    disk.select_mode_page(Notch::CODE, &wanted.emit())?;
    let page = notch(disk)?;
    if (page.active, page.logical) != (active, logical) {
        return Err(bad_pages(format!("notch {active} cannot be made active")));
    }
    Ok(page)
}

fn read_notch(disk: &mut Disk<'_>, active: u16) -> Result<ReportedZone, Error> {
    let blocks = activate(disk, active, true)?;
    let cylinders = activate(disk, active, false)?;
    let (first, last) = (blocks.starting_boundary, blocks.ending_boundary);
    let page = disk.mode_page(FormatDevice::CODE)?;
    let format = FormatDevice::parse(&page).map_err(|_| truncated("format device"))?;
    let all_ones = first == u32::MAX || last == u32::MAX;
    Ok(ReportedZone {
        blocks: (!all_ones).then_some((first.into(), last.into())),
        // Three bytes for the cylinder and one for the head.
        cylinders: (
            cylinders.starting_boundary >> 8,
            cylinders.ending_boundary >> 8,
        ),
        sectors: format.sectors_per_track,
        spare_tracks: format.spare_tracks_per_zone.into(),
    })
}

fn heads(disk: &mut Disk<'_>) -> Option<u32> {
    let page = disk.mode_page(Geometry::CODE).ok()?;
    Some(Geometry::parse(&page).ok()?.heads.into())
}

/// Returns one past the last block of each cylinder with blocks.
fn cylinder_ends(disk: &mut Disk<'_>) -> Result<Vec<u64>, Error> {
    let capacity = disk.sectors().0;
    let mut ends = Vec::new();
    let mut at = 0;
    while at < capacity {
        let (last, _) = disk.capacity(Some(Lbn(at)))?;
        if last < at || last >= capacity {
            return Err(bad_pages(format!(
                "the cylinder of block {at} ends with block {last}"
            )));
        }
        at = last + 1;
        ends.push(at);
    }
    if ends.len() < 2 {
        let reason = "READ CAPACITY with PMI reports no cylinders".to_owned();
        return Err(Error::Undecided(reason));
    }
    Ok(ends)
}

#[derive(Debug)]
struct NotchZone<'a> {
    pub reported: ReportedZone,
    pub first: u64,
    pub ends: &'a [u64],
}

impl NotchZone<'_> {
    pub fn sizes(&self) -> impl Iterator<Item = u64> {
        let begins = std::iter::once(&self.first).chain(self.ends);
        self.ends.iter().zip(begins).map(|(end, begin)| end - begin)
    }

    pub fn end(&self) -> u64 {
        self.ends[self.ends.len() - 1]
    }

    pub fn empty_cylinders(&self) -> u32 {
        let (first, last) = self.reported.cylinders;
        last - first + 1 - self.ends.len() as u32
    }
}

fn notch_zones<'a>(notches: &[ReportedZone], ends: &'a [u64]) -> Result<Vec<NotchZone<'a>>, Error> {
    let mut zones: Vec<NotchZone<'a>> = Vec::new();
    let (mut next, mut cylinder, mut remaining) = (0, 0, ends);
    for reported in notches {
        let (first, last) = reported.cylinders;
        if first < cylinder || last < first {
            return Err(bad_pages(format!(
                "a notch has cylinders {first} to {last}, but should begin at cylinder \
                 {cylinder} or later"
            )));
        }
        let all = (last - first) as usize + 1;
        let count = match reported.blocks {
            Some((_, last)) => remaining.partition_point(|end| *end <= last + 1),
            None => all.min(remaining.len()),
        };
        let (zone_ends, others) = remaining.split_at(count);
        let blocks = zone_ends.last().map(|end| (next, end - 1));
        let describe = |blocks: Option<(u64, u64)>, otherwise: &str| match blocks {
            Some((first, last)) => format!("blocks {first} to {last}"),
            None => format!("{otherwise} blocks"),
        };
        if blocks.is_none() || reported.blocks.is_some() && reported.blocks != blocks || count > all
        {
            return Err(bad_pages(format!(
                "a notch has {} and cylinders {first} to {last}, but READ CAPACITY reports {} on \
                 {count} cylinders",
                describe(reported.blocks, "unknown"),
                describe(blocks, "no")
            )));
        }
        zones.push(NotchZone {
            reported: *reported,
            first: next,
            ends: zone_ends,
        });
        (next, cylinder, remaining) = (zone_ends[count - 1], last + 1, others);
    }
    if !remaining.is_empty() {
        return Err(bad_pages(format!("no notch holds block {next}")));
    }
    Ok(zones)
}
