//! The order of heads and the index mark, which reads do not tell: from the places of slips that a
//! drive has listed.

use diskarm_core::geometry::{Layout, Unit};
use diskarm_core::spec::{Geometry, Sparing, TrackOrder};

use super::Found;
use crate::Place;
use crate::defects::WHOLE_TRACK;

/// A slipped unit of the layout that must be a listed defect: no other is on the cylinder.
struct Pair {
    unit: Unit,
    listed: Place,
}

/// Chooses the order of heads with which most slips are where defects are listed, and rotates the
/// layout to the index mark that they are counted from.
pub(super) fn by_defects(found: &mut Found, defects: &[Place]) {
    let pairs = pairs(&found.geometry, defects);
    let orders = [
        TrackOrder::CylinderMajor,
        TrackOrder::SerpentinePerZone,
        TrackOrder::Serpentine,
    ];
    let agree = |order: TrackOrder| {
        let geometry = Geometry {
            order,
            ..found.geometry.clone()
        };
        let Ok(layout) = Layout::new(&geometry) else {
            return 0;
        };
        let same = |pair: &&Pair| layout.address(pair.unit).head.0 == u32::from(pair.listed.head);
        pairs.iter().filter(same).count()
    };
    // Of equally good ones the first.
    let mut best = (orders[0], agree(orders[0]));
    for order in &orders[1..] {
        let count = agree(*order);
        if count > best.1 {
            best = (*order, count);
        }
    }
    if best.1 == 0 || 10 * best.1 < 9 * pairs.len() {
        found.assumed.push(
            "Listed defects do not tell the order of heads: they are taken to ascend.".to_owned(),
        );
        return;
    }
    found.geometry.order = best.0;
    match turn(&found.geometry, &pairs) {
        Some(turn) => rotate(&mut found.geometry, turn),
        None => found
            .assumed
            .push("Angles count from the first block: no listed sector tells more.".to_owned()),
    }
}

/// Slips and listed defects that are alone on a cylinder.
fn pairs(geometry: &Geometry, defects: &[Place]) -> Vec<Pair> {
    let Ok(layout) = Layout::new(geometry) else {
        return Vec::new();
    };
    let slips: Vec<Unit> = layout.slipped().collect();
    let cylinder = |unit: &Unit| layout.address(*unit).cylinder.0;
    let mut listed = defects.to_vec();
    listed.sort_unstable();
    let mut pairs = Vec::new();
    for group in slips.chunk_by(|a, b| cylinder(a) == cylinder(b)) {
        let at = cylinder(&group[0]);
        let begin = listed.partition_point(|place| place.cylinder < at);
        let end = listed.partition_point(|place| place.cylinder <= at);
        if let ([unit], [place]) = (group, &listed[begin..end]) {
            pairs.push(Pair {
                unit: *unit,
                listed: *place,
            });
        }
    }
    pairs
}

/// By how many revolutions the layout must turn so that slips begin at the sectors that are listed.
fn turn(geometry: &Geometry, pairs: &[Pair]) -> Option<f64> {
    if geometry.sparing == Sparing::TracksPerZone {
        return None;
    }
    let layout = Layout::new(geometry).ok()?;
    let turns = pairs.iter().filter_map(|pair| {
        if pair.listed.sector == WHOLE_TRACK {
            return None;
        }
        let at = layout.address(pair.unit);
        let (start, width) = layout
            .angle(at)
            .filter(|_| at.head.0 == u32::from(pair.listed.head))?;
        let listed = f64::from(pair.listed.sector) * width.as_revolutions();
        let turn = listed - start.as_revolutions();
        Some(turn - turn.floor())
    });
    let turns: Vec<f64> = turns.collect();
    // The first that most others are close to, half a sector of the shortest tracks.
    let near = |turn: f64| {
        let offs = turns.iter().map(move |other| {
            let off = other - turn;
            off - off.round()
        });
        offs.filter(|off| off.abs() < 1e-3)
    };
    let best = turns
        .iter()
        .copied()
        .max_by_key(|turn| near(*turn).count())?;
    let close: Vec<f64> = near(best).collect();
    Some(best + close.iter().sum::<f64>() / close.len() as f64)
}

/// Turns all zones.
fn rotate(geometry: &mut Geometry, turn: f64) {
    for zone in &mut geometry.zones {
        let sectors = f64::from(zone.sectors_per_track);
        let offset = (zone.first_offset_sectors + turn * sectors).rem_euclid(sectors);
        let whole = offset.round();
        // Most drives begin tracks with whole sectors.
        zone.first_offset_sectors = if (offset - whole).abs() < 0.05 {
            whole.rem_euclid(sectors)
        } else {
            offset
        };
    }
}
