//! Finds the sparing scheme that explains the places without blocks with the fewest exceptions.

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{Geometry, Sparing, TrackOrder, Zone};
use diskarm_core::units::{Bytes, Lbn, SectorCount};

use super::MeasuredLayout;
use super::chart::{Gap, ZoneChart};
use crate::Error;
use regions::Regions;

mod regions;

/// The geometry of what was found.
///
/// # Errors
/// No scheme explains it.
pub(super) fn geometry(
    charts: &[ZoneChart],
    capacity: u64,
    sector_bytes: Bytes,
) -> Result<MeasuredLayout, Error> {
    let mut best: Option<(u64, Geometry)> = None;
    for scheme in schemes(charts) {
        let Some((cost, geometry)) = explain(charts, scheme, capacity, sector_bytes) else {
            continue;
        };
        let better = best.as_ref().is_none_or(|(min, _)| cost < *min);
        if better && reproduces(&geometry, charts) {
            best = Some((cost, geometry));
        }
    }
    let (_, geometry) = best.ok_or_else(|| {
        Error::Undecided("no sparing scheme explains which places hold no blocks".into())
    })?;
    let mut assumed = vec![
        "What lies after the last block is not known: the disk ends with its cylinder.".to_owned(),
    ];
    if geometry
        .zones
        .iter()
        .any(|zone| zone.reserved_sectors.0 > 0)
    {
        assumed.push(
            "Places before the first block of a zone are taken for reserved ones.".to_owned(),
        );
    }
    let lost: Vec<u64> = charts
        .iter()
        .flat_map(|chart| chart.lost.iter().copied())
        .collect();
    if let Some(first) = lost.first() {
        assumed.push(format!(
            "{} blocks, the first of them {first}, are reallocated to unknown places.",
            lost.len()
        ));
    }
    Ok(MeasuredLayout { geometry, assumed })
}

/// A sparing scheme, and the places in each of its regions; none for whole zones.
#[derive(Clone, Copy, Debug)]
struct Scheme {
    sparing: Sparing,
    /// Cylinders in a range.
    range: u32,
}

/// All schemes worth a try, the simplest first.
fn schemes(charts: &[ZoneChart]) -> Vec<Scheme> {
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
    let mut ranges: Vec<u32> = charts.iter().flat_map(ranges).collect();
    ranges.sort_unstable();
    ranges.dedup();
    let ranges = ranges.into_iter().take(200).map(|range| Scheme {
        sparing: Sparing::SectorsPerRange,
        range,
    });
    plain.chain(ranges).collect()
}

/// Distances between gaps that end with cylinders.
fn ranges(chart: &ZoneChart) -> Vec<u32> {
    let cylinder = chart.tracks.cylinder();
    let gaps = chart.gaps.iter().filter(|gap| gap.place > 0);
    let ends = gaps.map(|gap| gap.end()).filter(|end| end % cylinder == 0);
    let ends: Vec<u64> = ends.map(|end| end / cylinder).take(40).collect();
    let apart = ends.windows(2).map(|pair| (pair[1] - pair[0]) as u32);
    let first = ends.first().map(|&end| end as u32);
    let cylinders = chart.end_cylinder() - chart.tracks.first_cylinder;
    first
        .into_iter()
        .chain(apart)
        .chain([cylinders])
        .filter(|&range| range > 1)
        .collect()
}

/// The geometry under a scheme, and its number of exceptions; none if the scheme does not fit.
fn explain(
    charts: &[ZoneChart],
    scheme: Scheme,
    capacity: u64,
    sector_bytes: Bytes,
) -> Option<(u64, Geometry)> {
    let mut zones = Vec::new();
    let mut cost = 0;
    let mut unused = 0;
    for (n, chart) in charts.iter().enumerate() {
        let next = charts.get(n + 1).map(|next| next.tracks.first_cylinder);
        let fit = Fit::new(chart, scheme, next)?;
        cost += fit.zone.slips.len() as u64;
        unused = fit.unused;
        zones.push(fit.zone);
    }
    let last = zones.last()?.end_cylinder;
    let turned = charts.iter().any(|chart| !chart.tracks.turned.is_empty());
    if scheme.sparing == Sparing::SectorsPerDisk {
        // Reallocated blocks are at the end of the disk.
        cost += u64::from(cost == 0 && charts.iter().all(|chart| chart.moved.is_empty()));
    }
    let geometry = Geometry {
        sectors: SectorCount(capacity),
        unused_sectors: SectorCount(unused),
        sector_bytes: sector_bytes.0 as u32,
        surfaces: charts[0].tracks.surfaces,
        cylinders: last,
        order: order(charts),
        sparing: scheme.sparing,
        sparing_range: scheme.range,
        slips_turn_tracks: turned,
        zones,
        ..Geometry::default()
    };
    Some((cost, geometry))
}

fn order(charts: &[ZoneChart]) -> TrackOrder {
    if !charts.iter().any(|chart| chart.tracks.alternates) {
        return TrackOrder::CylinderMajor;
    }
    if charts.iter().any(|chart| chart.tracks.begins_down) {
        return TrackOrder::Serpentine;
    }
    let odd = charts
        .iter()
        .any(|chart| chart.tracks.first_cylinder % 2 == 1);
    if odd || charts.len() == 1 {
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
    /// `next` is where the next zone begins, if any.
    fn new(chart: &ZoneChart, scheme: Scheme, next: Option<u32>) -> Option<Self> {
        let tracks = &chart.tracks;
        let cylinder = tracks.cylinder();
        let region = match scheme.sparing {
            Sparing::SectorsPerTrack => tracks.sectors,
            Sparing::SectorsPerCylinder | Sparing::SectorsPerCylinderFront => cylinder,
            Sparing::SectorsPerRange => cylinder * u64::from(scheme.range),
            _ => return Self::whole(chart, scheme, next),
        };
        let end = chart.end_cylinder();
        if end == tracks.first_cylinder || next.is_some_and(|next| next < end) {
            return None;
        }
        let places = u64::from(end - tracks.first_cylinder) * cylinder;
        let regions = Regions::new(chart, region, places, next.is_none());
        let spares = regions.spares()?;
        let (slips, reserved) = regions.slips(spares, scheme.sparing)?;
        let mapped = places - regions.count() * spares;
        let unused = mapped.checked_sub(reserved + chart.blocks)?;
        if next.is_some() && unused > 0 {
            return None;
        }
        let mut zone = zone(chart, end);
        zone.reserved_sectors = SectorCount(reserved);
        zone.spares = spares;
        zone.slips = slips;
        zone.defects = chart.moved.clone();
        Some(Self { zone, unused })
    }

    /// The zone is one region, or none.
    fn whole(chart: &ZoneChart, scheme: Scheme, next: Option<u32>) -> Option<Self> {
        let tracks = &chart.tracks;
        let (lead, inner) = chart.inner();
        let by_track = scheme.sparing == Sparing::TracksPerZone;
        let unit = if by_track { tracks.sectors } else { 1 };
        let mut end = chart.end_cylinder();
        match next {
            Some(next) if next < end => return None,
            // Whole spare tracks are likelier than cylinders that hold nothing.
            Some(next) if by_track => end = next,
            _ => {}
        }
        let mut tail = u64::from(end - tracks.first_cylinder) * tracks.cylinder() - chart.end();
        let mut slips = Vec::new();
        for gap in &inner {
            if gap.place % unit != 0 || gap.places % unit != 0 {
                return None;
            }
            slips.extend(gap.place / unit..gap.end() / unit);
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
                if next.is_none() && !chart.moved.is_empty() {
                    (unused, tail) = (unused % unit, unused - unused % unit);
                }
                slips.len() as u64 + tail / unit
            }
            _ => {
                slips.extend(chart.end()..chart.end() + tail);
                0
            }
        };
        let mut zone = zone(chart, end);
        zone.reserved_sectors = SectorCount(lead);
        zone.spares = spares;
        zone.slips = slips;
        zone.defects = chart
            .moved
            .iter()
            .map(|&(from, to)| (from / unit, to / unit))
            .collect();
        zone.defects.dedup();
        Some(Self { zone, unused })
    }
}

fn zone(chart: &ZoneChart, end_cylinder: u32) -> Zone {
    let tracks = &chart.tracks;
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

impl ZoneChart {
    /// Places before the first block, and the gaps after it.
    fn inner(&self) -> (u64, Vec<Gap>) {
        match self.gaps.split_first() {
            Some((first, rest)) if first.place == 0 => (first.places, rest.to_vec()),
            _ => (0, self.gaps.clone()),
        }
    }
}

/// Whether the geometry is one, and maps blocks to the places that were found.
fn reproduces(geometry: &Geometry, charts: &[ZoneChart]) -> bool {
    let Ok(layout) = Layout::new(geometry) else {
        return false;
    };
    charts.iter().all(|chart| {
        let mut block = chart.first;
        let mut place = 0;
        let right = |block: u64, place: u64| {
            if chart.moved.iter().any(|&(from, _)| from == place) {
                return true;
            }
            let extent = layout.extent(Lbn(block));
            let tracks = &chart.tracks;
            let head = tracks.track(extent.cylinder.0, extent.head.0);
            let off = extent.start.as_revolutions() - tracks.angle(place);
            let off = (off - off.round()).abs() * tracks.sectors as f64;
            head == Some(place / tracks.sectors) && off < 0.01
        };
        let end = Gap {
            place: chart.end(),
            places: 0,
        };
        chart.gaps.iter().chain([&end]).all(|gap| {
            let blocks = gap.place - place;
            let good =
                blocks == 0 || (right(block, place) && right(block + blocks - 1, gap.place - 1));
            block += blocks;
            place = gap.end();
            good
        })
    })
}
