//! Finds the sparing scheme that explains the positions without blocks with the fewest exceptions.

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{Geometry, Sparing, TrackOrder, Zone};
use diskarm_core::units::{Bytes, Lbn, SectorCount};
use serde::{Deserialize, Serialize};

use super::zone_map::{Gap, ZoneMap};
use crate::Error;

/// A layout and the assumptions in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredLayout {
    #[serde(with = "crate::serial::geometry")]
    pub geometry: Geometry,
    /// Assumptions about what could not be measured, a sentence each.
    pub assumed: Vec<String>,
}

/// Combines the maps of all zones into a layout.
pub(super) fn geometry(
    maps: &[ZoneMap],
    capacity: u64,
    sector_bytes: Bytes,
) -> Result<MeasuredLayout, Error> {
    let mut best: Option<(u64, Geometry)> = None;
    for scheme in schemes(maps) {
        let Some((cost, geometry)) = explain(maps, scheme, capacity, sector_bytes) else {
            continue;
        };
        let better = best.as_ref().is_none_or(|(min, _)| cost < *min);
        if better && reproduces(&geometry, maps) {
            best = Some((cost, geometry));
        }
    }
    let (_, geometry) = best.ok_or_else(|| {
        Error::Undecided("no sparing scheme explains which positions hold no blocks".into())
    })?;
    let mut assumed = vec![
        "Nothing is known beyond the last block: the disk is assumed to end with its cylinder."
            .to_owned(),
    ];
    if geometry
        .zones
        .iter()
        .any(|zone| zone.reserved_sectors.0 > 0)
    {
        assumed.push(
            "Sectors before the first block of a zone are assumed to be reserved.".to_owned(),
        );
    }
    let lost: Vec<u64> = maps
        .iter()
        .flat_map(|map| map.lost.iter().copied())
        .collect();
    if let Some(first) = lost.first() {
        assumed.push(format!(
            "{} blocks, starting with block {first}, are reallocated to unknown locations.",
            lost.len()
        ));
    }
    Ok(MeasuredLayout { geometry, assumed })
}

/// A sparing scheme and the size of its ranges.
#[derive(Clone, Copy, Debug)]
struct Scheme {
    sparing: Sparing,
    /// Cylinders per range; 0 for other schemes.
    range: u32,
}

/// Returns all schemes that may fit, the simplest first.
fn schemes(maps: &[ZoneMap]) -> Vec<Scheme> {
    let plain = [
        Sparing::None,
        Sparing::SectorsPerTrack,
        Sparing::SectorsPerCylinder,
        Sparing::SectorsPerCylinderFront,
        Sparing::TracksPerZone,
        Sparing::SectorsPerZone,
        Sparing::SectorsPerDisk,
    ];
    let plain = plain
        .into_iter()
        .map(|sparing| Scheme { sparing, range: 0 });
    let mut ranges: Vec<u32> = maps.iter().flat_map(ranges).collect();
    ranges.sort_unstable();
    ranges.dedup();
    let ranges = ranges.into_iter().take(200).map(|range| Scheme {
        sparing: Sparing::SectorsPerRange,
        range,
    });
    plain.chain(ranges).collect()
}

/// Returns the distances between gaps that end with cylinders.
fn ranges(map: &ZoneMap) -> Vec<u32> {
    let cylinder = map.tracks.cylinder();
    let ends: Vec<u64> = map
        .gaps
        .iter()
        .filter(|gap| gap.start > 0 && gap.end() % cylinder == 0)
        .map(|gap| gap.end() / cylinder)
        .take(40)
        .collect();
    let apart = ends.windows(2).map(|pair| (pair[1] - pair[0]) as u32);
    let first = ends.first().map(|&end| end as u32);
    let cylinders = map.end_cylinder() - map.tracks.first_cylinder;
    first
        .into_iter()
        .chain(apart)
        .chain([cylinders])
        .filter(|&range| range > 1)
        .collect()
}

/// Returns the geometry under a scheme and its number of exceptions, or `None` if it does not fit.
fn explain(
    maps: &[ZoneMap],
    scheme: Scheme,
    capacity: u64,
    sector_bytes: Bytes,
) -> Option<(u64, Geometry)> {
    let mut zones = Vec::new();
    let mut cost = 0;
    let mut unused = 0;
    for (n, map) in maps.iter().enumerate() {
        let next = maps.get(n + 1).map(|next| next.tracks.first_cylinder);
        let fit = Fit::new(map, scheme, next)?;
        cost += fit.zone.slips.len() as u64;
        unused = fit.unused;
        zones.push(fit.zone);
    }
    let last = zones.last()?.end_cylinder;
    let turned = maps.iter().any(|map| !map.tracks.rotations.is_empty());
    if scheme.sparing == Sparing::SectorsPerDisk {
        // Reallocated blocks are at the end of the disk.
        cost += u64::from(cost == 0 && maps.iter().all(|map| map.moved.is_empty()));
    }
    let geometry = Geometry {
        sectors: SectorCount(capacity),
        unused_sectors: SectorCount(unused),
        sector_bytes: sector_bytes.0 as u32,
        surfaces: maps[0].tracks.surfaces,
        cylinders: last,
        order: order(maps),
        sparing: scheme.sparing,
        sparing_range: scheme.range,
        slips_turn_tracks: turned,
        zones,
        ..Geometry::default()
    };
    Some((cost, geometry))
}

fn order(maps: &[ZoneMap]) -> TrackOrder {
    if !maps.iter().any(|map| map.tracks.alternates) {
        return TrackOrder::CylinderMajor;
    }
    if maps.iter().any(|map| map.tracks.begins_down) {
        return TrackOrder::Serpentine;
    }
    let odd = maps.iter().any(|map| map.tracks.first_cylinder % 2 == 1);
    if odd || maps.len() == 1 {
        TrackOrder::SerpentinePerZone
    } else {
        TrackOrder::Serpentine
    }
}

/// A zone under a scheme.
struct Fit {
    zone: Zone,
    /// Mapped sectors after the last block, in the last zone.
    unused: u64,
}

impl Fit {
    /// `next` is the first cylinder of the next zone.
    fn new(map: &ZoneMap, scheme: Scheme, next: Option<u32>) -> Option<Self> {
        let tracks = &map.tracks;
        let cylinder = tracks.cylinder();
        let region = match scheme.sparing {
            Sparing::SectorsPerTrack => tracks.sectors,
            Sparing::SectorsPerCylinder | Sparing::SectorsPerCylinderFront => cylinder,
            Sparing::SectorsPerRange => cylinder * u64::from(scheme.range),
            _ => return Self::whole(map, scheme, next),
        };
        let end = map.end_cylinder();
        if end == tracks.first_cylinder || next.is_some_and(|next| next < end) {
            return None;
        }
        let positions = u64::from(end - tracks.first_cylinder) * cylinder;
        let regions = Regions::new(map, region, positions, next.is_none());
        let spares = regions.spares()?;
        let (slips, reserved) = regions.slips(spares, scheme.sparing)?;
        let mapped = positions - regions.count() * spares;
        let unused = mapped.checked_sub(reserved + map.blocks)?;
        if next.is_some() && unused > 0 {
            return None;
        }
        let mut zone = zone(map, end);
        zone.reserved_sectors = SectorCount(reserved);
        zone.spares = spares;
        zone.slips = slips;
        zone.defects = map.moved.clone();
        Some(Self { zone, unused })
    }

    /// Fits a scheme in which the zone is one region, or has none.
    fn whole(map: &ZoneMap, scheme: Scheme, next: Option<u32>) -> Option<Self> {
        let tracks = &map.tracks;
        let (lead, inner) = map.split_lead();
        let by_track = scheme.sparing == Sparing::TracksPerZone;
        let unit = if by_track { tracks.sectors } else { 1 };
        let mut end = map.end_cylinder();
        match next {
            Some(next) if next < end => return None,
            // Whole spare tracks are likelier than empty cylinders.
            Some(next) if by_track => end = next,
            _ => {}
        }
        let mut tail = u64::from(end - tracks.first_cylinder) * tracks.cylinder() - map.end();
        let mut slips = Vec::new();
        for gap in &inner {
            if gap.start % unit != 0 || gap.length % unit != 0 {
                return None;
            }
            slips.extend(gap.start / unit..gap.end() / unit);
        }
        let mut unused = 0;
        if next.is_none() {
            (unused, tail) = (tail, 0);
        }
        let spares = match scheme.sparing {
            Sparing::TracksPerZone | Sparing::SectorsPerZone => {
                if !tail.is_multiple_of(unit) {
                    return None;
                }
                // Reallocated units are at the end of the zone.
                if next.is_none() && !map.moved.is_empty() {
                    (unused, tail) = (unused % unit, unused - unused % unit);
                }
                slips.len() as u64 + tail / unit
            }
            _ => {
                slips.extend(map.end()..map.end() + tail);
                0
            }
        };
        let mut zone = zone(map, end);
        zone.reserved_sectors = SectorCount(lead);
        zone.spares = spares;
        zone.slips = slips;
        zone.defects = map
            .moved
            .iter()
            .map(|&(from, to)| (from / unit, to / unit))
            .collect();
        zone.defects.dedup();
        Some(Self { zone, unused })
    }
}

fn zone(map: &ZoneMap, end_cylinder: u32) -> Zone {
    let tracks = &map.tracks;
    Zone {
        first_cylinder: tracks.first_cylinder,
        end_cylinder,
        sectors_per_track: tracks.sectors as u32,
        first_offset_sectors: tracks.offset,
        reserved_sectors: SectorCount(0),
        track_skew_sectors: tracks.track_skew,
        cylinder_skew_sectors: tracks.cylinder_skew,
        spares: 0,
        slips: Vec::new(),
        defects: Vec::new(),
    }
}

impl ZoneMap {
    /// Splits off the positions before the first block from the gaps after it.
    fn split_lead(&self) -> (u64, Vec<Gap>) {
        match self.gaps.split_first() {
            Some((first, rest)) if first.start == 0 => (first.length, rest.to_vec()),
            _ => (0, self.gaps.clone()),
        }
    }
}

/// Returns true if the geometry is consistent and maps blocks to the positions that were measured.
fn reproduces(geometry: &Geometry, maps: &[ZoneMap]) -> bool {
    let Ok(layout) = Layout::new(geometry) else {
        return false;
    };
    maps.iter().all(|map| {
        let mut block = map.first;
        let mut position = 0;
        let right = |block: u64, position: u64| {
            if map.moved.iter().any(|&(from, _)| from == position) {
                return true;
            }
            let extent = layout.extent(Lbn(block));
            let tracks = &map.tracks;
            let head = tracks.track(extent.cylinder.0, extent.head.0);
            let off = extent.start.as_revolutions() - tracks.angle(position);
            let off = (off - off.round()).abs() * tracks.sectors as f64;
            head == Some(position / tracks.sectors) && off < 0.01
        };
        let end = Gap {
            start: map.end(),
            length: 0,
        };
        map.gaps.iter().chain([&end]).all(|gap| {
            let blocks = gap.start - position;
            let good =
                blocks == 0 || (right(block, position) && right(block + blocks - 1, gap.start - 1));
            block += blocks;
            position = gap.end();
            good
        })
    })
}
/// The regions of a zone.
struct Regions {
    /// The gaps of each region, split at region boundaries; the space after the last block counts.
    gaps: Vec<Vec<Gap>>,
    region: u64,
    positions: u64,
    /// Region of the first block, and the number of positions before it.
    first: usize,
    lead: u64,
    /// Region of the last block, and whether it may have unused blocks.
    last: usize,
    open: bool,
}

impl Regions {
    fn new(map: &ZoneMap, region: u64, positions: u64, open: bool) -> Self {
        let count = positions.div_ceil(region) as usize;
        let mut gaps = vec![Vec::new(); count];
        let tail = Gap {
            start: map.end(),
            length: positions - map.end(),
        };
        for gap in map.gaps.iter().chain([&tail]) {
            let (mut position, end) = (gap.start, gap.end());
            while position < end {
                let n = position / region;
                let to = end.min((n + 1) * region);
                gaps[n as usize].push(Gap {
                    start: position,
                    length: to - position,
                });
                position = to;
            }
        }
        let (lead, _) = map.split_lead();
        Self {
            gaps,
            region,
            positions,
            first: (lead / region) as usize,
            lead,
            last: (map.end().saturating_sub(1) / region) as usize,
            open,
        }
    }

    fn count(&self) -> u64 {
        self.gaps.len() as u64
    }

    fn missing(&self, n: usize) -> u64 {
        self.gaps[n].iter().map(|gap| gap.length).sum()
    }

    /// Returns the number of spares per region if all regions have the same.
    fn spares(&self) -> Option<u64> {
        // Regions that may be partly reserved or unused only give an upper bound.
        let exact = |n: usize| (n > self.first || self.lead == 0) && !(self.open && n >= self.last);
        let mut spares = None;
        let mut max = u64::MAX;
        for n in self.first..=self.last {
            let missing = self.missing(n);
            match spares {
                _ if !exact(n) => max = max.min(missing),
                None => spares = Some(missing),
                Some(known) if known != missing => return None,
                Some(_) => {}
            }
        }
        let spares = spares?;
        (spares > 0 && spares <= max && spares < self.region).then_some(spares)
    }

    /// Returns the slips and the number of reserved sectors.
    fn slips(&self, spares: u64, sparing: Sparing) -> Option<(Vec<u64>, u64)> {
        let front = sparing == Sparing::SectorsPerCylinderFront;
        let mut slips = Vec::new();
        for n in self.first..=self.last {
            let begin = n as u64 * self.region;
            let end = (begin + self.region).min(self.positions);
            let reserved = |gap: &Gap| n == self.first && gap.start < self.lead;
            let is_edge = |gap: &Gap| {
                if front {
                    gap.start == begin
                } else {
                    gap.end() == end
                }
            };
            let inner = self.gaps[n]
                .iter()
                .filter(|gap| !reserved(gap) && !is_edge(gap));
            slips.extend(inner.flat_map(|gap| gap.start..gap.end()));
        }
        let in_first = slips
            .iter()
            .filter(|&&slip| slip / self.region == self.first as u64)
            .count() as u64;
        let whole = self.first as u64 * (self.region - spares);
        let within = self.lead - self.first as u64 * self.region;
        let ahead = if front {
            spares.checked_sub(in_first)?
        } else {
            0
        };
        let reserved = if self.lead == 0 {
            0
        } else {
            whole + within.checked_sub(ahead)?
        };
        Some((slips, reserved))
    }
}
