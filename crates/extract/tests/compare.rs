//! Specifications compared with changed copies of themselves.

use diskarm_core::spec::{self, SeekCurve, Spec};
use diskarm_core::units::{Lbn, SectorCount, Span};
use diskarm_extract::Comparison;

fn catalogued(name: &str) -> Spec {
    spec::parse(diskarm_drives::find(name).unwrap().text, name).unwrap()
}

#[test]
fn a_specification_equals_itself() {
    for name in ["hp-c2247", "seagate-st41601n", "quantum-atlas-10k"] {
        let spec = catalogued(name);
        let compared = Comparison::new(&spec, &spec).unwrap();
        assert!(compared.values.is_empty());
        assert!(compared.layout.is_equal());
        assert_eq!(compared.layout.blocks, spec.geometry.sectors);
        assert_eq!(compared.reads.mean, Span::ZERO);
        assert_eq!(compared.writes.mean, Span::ZERO);
    }
}

#[test]
fn changed_values_are_listed() {
    let spec = catalogued("hp-c2247");
    let mut other = spec.clone();
    other.overheads.read_completion += Span::from_us(1.0);
    other.buffer.segments = 3;
    let compared = Comparison::new(&spec, &other).unwrap();
    let keys: Vec<_> = compared.values.iter().map(|value| value.key.path).collect();
    assert_eq!(keys, ["buffer.segments", "overheads.read_completion"]);
}

#[test]
fn a_wider_skew_rotates_all_later_tracks_of_its_zone() {
    let spec = catalogued("hp-c2247");
    let mut other = spec.clone();
    let zone = &mut other.geometry.zones[0];
    zone.track_skew_sectors += 1.0;
    let compared = Comparison::new(&spec, &other).unwrap().layout;
    assert_eq!(compared.other_track, SectorCount(0));
    // Block 0 follows 17 reserved tracks of 13 per cylinder, so its track is the fifth of its
    // cylinder, and the first block that is rotated against it is on the next one.
    assert_eq!(compared.first_elsewhere, Some(Lbn(96)));
    // Each cylinder rotates by 12 sectors of 96: multiples of 1/8 reach half a revolution.
    assert!((compared.largest_turn - 0.5).abs() < 1e-9, "{compared:?}");
}

#[test]
fn a_slip_moves_all_later_blocks_of_its_zone() {
    let spec = catalogued("hp-c2247");
    let mut other = spec.clone();
    let zone = &mut other.geometry.zones[7];
    // The second slip: before it the first one has already moved the blocks.
    let slip = zone.slips.remove(1);
    let tracks = u64::from((zone.end_cylinder - zone.first_cylinder) * 13) - 65;
    let compared = Comparison::new(&spec, &other).unwrap().layout;
    let blocks = (tracks - (slip - 1)) * 56;
    assert_eq!(compared.other_track, SectorCount(blocks));
}

/// A drive whose first cylinder is empty equals the same drive with higher cylinder numbers. A
/// drive that differs in more ways does not.
#[test]
fn renumbered_cylinders_are_equal() {
    let spec = catalogued("hp-c2247");
    let mut other = spec.clone();
    other.geometry.cylinders += 1;
    for zone in &mut other.geometry.zones {
        zone.first_cylinder += 1;
        zone.end_cylinder += 1;
    }
    let layout = |first: &Spec, second: &Spec| Comparison::new(first, second).unwrap().layout;
    let compared = layout(&spec, &other);
    assert_eq!(compared.other_track, spec.geometry.sectors);
    assert!(!compared.is_equal() && compared.is_equal_up_to_numbering());
    assert_eq!(compared.cylinders_higher, Some(1));
    assert_eq!(layout(&other, &spec).cylinders_higher, Some(-1));
    assert_eq!(layout(&other, &other).cylinders_higher, None);
    other.geometry.zones[7].slips.remove(1);
    assert!(!layout(&spec, &other).is_equal_up_to_numbering());
}

#[test]
fn seek_curves_are_compared_at_every_distance() {
    let spec = catalogued("hp-c2247");
    let mut other = spec.clone();
    let SeekCurve::TwoPieceAndTable(_, first) = &mut other.mechanics.seek else {
        panic!("the seek curve has another form")
    };
    first[4] += Span::from_us(25.0);
    let reads = Comparison::new(&spec, &other).unwrap().reads;
    let times = [Span::from_us(4270.0), Span::from_us(4295.0)];
    assert_eq!(reads.largest, (5, times));
    assert_eq!(reads.largest_relative, (5, times));
    assert_eq!(reads.mean, Span::from_ns(25_000 / 2050));
}
