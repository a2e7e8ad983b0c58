//! Finds the sparing scheme that best explains which positions hold no blocks.

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{Geometry, Sparing, TrackOrder, Zone};
use diskarm_core::units::{Bytes, Lbn, SectorCount};
use serde::{Deserialize, Serialize};

use super::zone_map::{Gap, ZoneMap, length};
use crate::Error;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredLayout {
    #[serde(with = "crate::serial::geometry")]
    pub geometry: Geometry,
    /// Assumptions about what could not be measured, each a full sentence.
    pub assumed: Vec<String>,
}

impl MeasuredLayout {
    pub(super) fn assume(&mut self, sentence: impl Into<String>) {
        self.assumed.push(sentence.into());
    }
}

pub(super) fn geometry(
    maps: &[ZoneMap],
    capacity: u64,
    sector_bytes: Bytes,
) -> Result<MeasuredLayout, Error> {
    let mut best: Option<(u64, Geometry)> = None;
    for (sparing, range) in schemes(maps) {
        let Some((cost, mut geometry)) = explain(maps, sparing, range) else {
            continue;
        };
        geometry.sectors = SectorCount(capacity);
        geometry.sector_bytes = sector_bytes.0 as u32;
        let is_better = best.as_ref().is_none_or(|(min, _)| cost < *min);
        if is_better && reproduces(&geometry, maps) {
            best = Some((cost, geometry));
        }
    }
    let (_, geometry) = best.ok_or_else(|| {
        Error::Undecided("no sparing scheme explains which positions hold no blocks".into())
    })?;
    let mut zones = geometry.zones.iter();
    let has_reserved = zones.any(|zone| zone.reserved_sectors.0 > 0);
    let mut found = MeasuredLayout {
        geometry,
        assumed: Vec::new(),
    };
    found.assume(
        "Nothing is known beyond the last block: the disk is assumed to end with its cylinder.",
    );
    if has_reserved {
        found.assume("Sectors before the first block of a zone are assumed to be reserved.");
    }
    let mut lost = maps.iter().flat_map(|map| &map.lost);
    if let Some(first) = lost.next() {
        found.assume(match lost.count() {
            0 => format!("Block {first} is reallocated to an unknown location."),
            others => format!(
                "{} blocks, starting with block {first}, are reallocated to unknown locations.",
                1 + others
            ),
        });
    }
    Ok(found)
}

/// Returns all schemes that may fit, simplest first, each with the number of cylinders per range.
fn schemes(maps: &[ZoneMap]) -> impl Iterator<Item = (Sparing, u32)> {
    let plain = [
        Sparing::None,
        Sparing::SectorsPerTrack,
        Sparing::SectorsPerCylinder,
        Sparing::SectorsPerCylinderFront,
        Sparing::TracksPerZone,
        Sparing::SectorsPerZone,
        Sparing::SectorsPerDisk,
    ];
    let mut ranges: Vec<u32> = maps.iter().flat_map(ranges).collect();
    ranges.sort_unstable();
    ranges.dedup();
    let few = ranges.into_iter().take(200);
    let by_range = few.map(|range| (Sparing::SectorsPerRange, range));
    let without_range = plain.map(|sparing| (sparing, 0));
    without_range.into_iter().chain(by_range)
}

/// Returns the distances, in cylinders, between gaps that end at cylinder boundaries.
fn ranges(map: &ZoneMap) -> Vec<u32> {
    let cylinder = map.tracks.cylinder();
    let is_edge = |gap: &&Gap| gap.start > 0 && gap.end.is_multiple_of(cylinder);
    let gaps = map.gaps.iter().filter(is_edge).take(40);
    let ends: Vec<u32> = gaps.map(|gap| (gap.end / cylinder) as u32).collect();
    let distances = ends.windows(2).map(|pair| pair[1] - pair[0]);
    let cylinders = map.end_cylinder() - map.tracks.first_cylinder;
    let first = ends.first().copied().into_iter();
    let all = first.chain(distances).chain([cylinders]);
    all.filter(|&range| range > 1).collect()
}

/// Returns the number of exceptions to a scheme, and the geometry; `None` if it does not fit.
fn explain(maps: &[ZoneMap], sparing: Sparing, range: u32) -> Option<(u64, Geometry)> {
    let mut zones = Vec::new();
    let mut unused = 0;
    for (n, map) in maps.iter().enumerate() {
        let next = maps.get(n + 1).map(|next| next.tracks.first_cylinder);
        let (zone, unused_here) = fit(map, sparing, range, next)?;
        unused = unused_here;
        zones.push(zone);
    }
    let mut cost: u64 = zones.iter().map(|zone| zone.slips.len() as u64).sum();
    if sparing == Sparing::SectorsPerDisk {
        // This scheme is needed only if there are slips or reallocated blocks.
        cost += u64::from(cost == 0 && maps.iter().all(|map| map.moved.is_empty()));
    }
    let geometry = Geometry {
        unused_sectors: SectorCount(unused),
        surfaces: maps[0].tracks.surfaces,
        cylinders: zones.last()?.end_cylinder,
        order: order(maps),
        sparing,
        sparing_range: range,
        slips_turn_tracks: maps.iter().any(|map| !map.tracks.rotations.is_empty()),
        zones,
        ..Geometry::default()
    };
    Some((cost, geometry))
}

fn order(maps: &[ZoneMap]) -> TrackOrder {
    if !maps.iter().any(|map| map.tracks.alternates) {
        return TrackOrder::CylinderMajor;
    }
    let is_odd = |map: &ZoneMap| map.tracks.first_cylinder % 2 == 1;
    let per_zone = maps.iter().any(is_odd) || maps.len() == 1;
    if per_zone && !maps.iter().any(|map| map.tracks.begins_down) {
        TrackOrder::SerpentinePerZone
    } else {
        TrackOrder::Serpentine
    }
}

/// Returns the zone, and the number of mapped sectors after the last block of the disk.
fn fit(map: &ZoneMap, sparing: Sparing, range: u32, next: Option<u32>) -> Option<(Zone, u64)> {
    let tracks = &map.tracks;
    let cylinder = tracks.cylinder();
    let region = match sparing {
        Sparing::SectorsPerTrack => tracks.sectors,
        Sparing::SectorsPerCylinder | Sparing::SectorsPerCylinderFront => cylinder,
        Sparing::SectorsPerRange => cylinder * u64::from(range),
        _ => return fit_whole(map, sparing, next),
    };
    let end = map.end_cylinder();
    if end == tracks.first_cylinder || next.is_some_and(|next| next < end) {
        return None;
    }
    let positions = u64::from(end - tracks.first_cylinder) * cylinder;
    let regions = Regions::new(map, region, positions, next.is_none());
    let spares = regions.spares()?;
    let (slips, reserved) = regions.slips(spares, sparing == Sparing::SectorsPerCylinderFront)?;
    let mapped = positions - regions.gaps.len() as u64 * spares;
    let unused = mapped.checked_sub(reserved + map.blocks)?;
    let zone = zone(map, end, reserved, spares, slips, map.moved.clone());
    (next.is_none() || unused == 0).then_some((zone, unused))
}

/// Like [`fit`], but for schemes in which a zone is a single region or has no regions.
fn fit_whole(map: &ZoneMap, sparing: Sparing, next: Option<u32>) -> Option<(Zone, u64)> {
    let tracks = &map.tracks;
    let by_track = sparing == Sparing::TracksPerZone;
    let unit = if by_track { tracks.sectors } else { 1 };
    let mut end = map.end_cylinder();
    match next {
        Some(next) if next < end => return None,
        // Spare tracks are likelier than empty cylinders.
        Some(next) if by_track => end = next,
        _ => {}
    }
    let mut tail = u64::from(end - tracks.first_cylinder) * tracks.cylinder() - map.end();
    let mut slips = Vec::new();
    for gap in map.gaps.iter().filter(|gap| gap.start > 0) {
        if gap.start % unit != 0 || gap.end % unit != 0 {
            return None;
        }
        slips.extend(gap.start / unit..gap.end / unit);
    }
    let mut unused = 0;
    if next.is_none() {
        (unused, tail) = (tail, 0);
    }
    let spares = if let Sparing::TracksPerZone | Sparing::SectorsPerZone = sparing {
        if !tail.is_multiple_of(unit) {
            return None;
        }
        // Reallocated blocks are in spare units at the end of the zone.
        if next.is_none() && !map.moved.is_empty() {
            (unused, tail) = (unused % unit, unused - unused % unit);
        }
        slips.len() as u64 + tail / unit
    } else {
        slips.extend(map.end()..map.end() + tail);
        0
    };
    let moved = map.moved.iter().map(|&(from, to)| (from / unit, to / unit));
    let mut moved: Vec<(u64, u64)> = moved.collect();
    moved.dedup();
    Some((zone(map, end, map.lead(), spares, slips, moved), unused))
}

fn zone(
    map: &ZoneMap,
    end_cylinder: u32,
    reserved: u64,
    spares: u64,
    slips: Vec<u64>,
    defects: Vec<(u64, u64)>,
) -> Zone {
    Zone {
        first_cylinder: map.tracks.first_cylinder,
        end_cylinder,
        sectors_per_track: map.tracks.sectors as u32,
        first_offset_sectors: map.tracks.offset,
        reserved_sectors: SectorCount(reserved),
        track_skew_sectors: map.tracks.track_skew,
        cylinder_skew_sectors: map.tracks.cylinder_skew,
        spares,
        slips,
        defects,
    }
}

/// Returns true if the geometry is consistent and maps blocks to the measured positions.
fn reproduces(geometry: &Geometry, maps: &[ZoneMap]) -> bool {
    let Ok(layout) = Layout::new(geometry) else {
        return false;
    };
    maps.iter().all(|map| {
        let tracks = &map.tracks;
        let is_at = |block: u64, position: u64| {
            if map.moved.iter().any(|&(from, _)| from == position) {
                return true;
            }
            let extent = layout.extent(Lbn(block));
            let track = tracks.track(extent.cylinder.0, extent.head.0);
            let deviation = extent.start.as_revolutions() - tracks.angle(position);
            let sectors_off = (deviation - deviation.round()).abs() * tracks.sectors as f64;
            track == Some(position / tracks.sectors) && sectors_off < 0.01
        };
        let (mut block, mut position) = (map.first, 0);
        let end = map.end()..map.end();
        map.gaps.iter().chain([&end]).all(|gap| {
            let (first, begin) = (block, position);
            block += gap.start - begin;
            position = gap.end;
            begin == gap.start || (is_at(first, begin) && is_at(block - 1, gap.start - 1))
        })
    })
}

struct Regions {
    /// The gaps of each region, including the space after the last block.
    gaps: Vec<Vec<Gap>>,
    region: u64,
    positions: u64,
    /// Region of the first block, and the number of positions before that block.
    first: usize,
    lead: u64,
    /// Region of the last block, and whether unused sectors may follow it.
    last: usize,
    is_open: bool,
}

impl Regions {
    fn new(map: &ZoneMap, region: u64, positions: u64, is_open: bool) -> Self {
        let mut gaps = vec![Vec::new(); positions.div_ceil(region) as usize];
        let tail = map.end()..positions;
        for gap in map.gaps.iter().chain([&tail]) {
            let mut remaining = gap.clone();
            while !remaining.is_empty() {
                let n = remaining.start / region;
                let end = remaining.end.min((n + 1) * region);
                gaps[n as usize].push(remaining.start..end);
                remaining.start = end;
            }
        }
        let lead = map.lead();
        Self {
            gaps,
            region,
            positions,
            first: (lead / region) as usize,
            lead,
            last: (map.end().saturating_sub(1) / region) as usize,
            is_open,
        }
    }

    /// Returns the number of spares per region, if it is the same for all regions.
    fn spares(&self) -> Option<u64> {
        let mut spares = None;
        let mut max = u64::MAX;
        for n in self.first..=self.last {
            let missing = self.gaps[n].iter().map(length).sum();
            // A region that may be partly reserved or unused gives only an upper bound.
            let is_whole = (n > self.first || self.lead == 0) && !(self.is_open && n >= self.last);
            if !is_whole {
                max = max.min(missing);
            } else if *spares.get_or_insert(missing) != missing {
                return None;
            }
        }
        spares.filter(|&spares| spares > 0 && spares <= max && spares < self.region)
    }

    /// Returns the slips and the number of reserved sectors, given the spares of each region.
    fn slips(&self, spares: u64, front: bool) -> Option<(Vec<u64>, u64)> {
        let mut slips = Vec::new();
        for n in self.first..=self.last {
            let begin = n as u64 * self.region;
            let end = (begin + self.region).min(self.positions);
            let is_slip = |gap: &&Gap| {
                let is_edge = if front {
                    gap.start == begin
                } else {
                    gap.end == end
                };
                !(is_edge || n == self.first && gap.start < self.lead)
            };
            slips.extend(self.gaps[n].iter().filter(is_slip).cloned().flatten());
        }
        let first = self.first as u64;
        let is_in_first = |slip: &&u64| *slip / self.region == first;
        let in_first = slips.iter().filter(is_in_first).count() as u64;
        let ahead = if front {
            spares.checked_sub(in_first)?
        } else {
            0
        };
        if self.lead == 0 {
            return Some((slips, 0));
        }
        let offset = self.lead - first * self.region;
        let reserved = first * (self.region - spares) + offset.checked_sub(ahead)?;
        Some((slips, reserved))
    }
}
