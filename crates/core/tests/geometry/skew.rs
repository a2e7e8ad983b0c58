//! Angles worked out by hand.

use diskarm_core::geometry::{Extent, Layout};
use diskarm_core::spec::{Sparing, TrackOrder};
use diskarm_core::units::{Angle, Cylinder, Head, Lbn, SectorCount};

use super::{geometry, zone};

/// Asserts an angle to within 2^-40 of a revolution: a thousandth of a nanosecond at 5400 rpm is
/// about 2^-43, and rounding adds up over the tracks.
fn assert_angle(extent: Extent, numerator: u64, denominator: u64) {
    let off = (extent.start - Angle::from_fraction(numerator, denominator)).as_raw() as i64;
    assert!(
        off.unsigned_abs() < 1 << 24,
        "{numerator}/{denominator}: {extent:?}"
    );
}

/// The first zone of the HP C2490A (worthington96 tables 13 and 14): 18 surfaces, 108 sectors on
/// a track, skews of 18 and 36 sectors, 22 reserved tracks. Track 22 is the fifth of cylinder 1,
/// after 17 + 4 track skews and one cylinder skew: 21 * 18 + 36 = 414 = 3 * 108 + 90 sectors. The
/// table gives 90 as the first logical sector.
#[test]
fn the_first_block_of_the_c2490a_is_at_sector_90() {
    let mut z = zone(0..187, 108);
    z.reserved_sectors = SectorCount(22 * 108);
    z.track_skew_sectors = 18.0;
    z.cylinder_skew_sectors = 36.0;
    z.spares = 198;
    let sectors = (187 * 18 - 198 - 22) * 108;
    let layout = Layout::new(&geometry(18, Sparing::TracksPerZone, vec![z], sectors)).unwrap();

    let first = layout.extent(Lbn(0));
    assert_eq!(
        (first.cylinder, first.head, first.sector),
        (Cylinder(1), Head(4), 0)
    );
    assert_eq!(first.sectors, SectorCount(108));
    assert_eq!(first.sector_angle, Angle::from_fraction(1, 108));
    assert_angle(first, 90, 108);
    // Block 100 is on the same track, 90 + 100 = 108 + 82; eight blocks are left there.
    assert_angle(layout.extent(Lbn(100)), 82, 108);
    assert_eq!(layout.extent(Lbn(100)).sectors, SectorCount(8));
    // The next track: 90 + 18 = 108.
    assert_angle(layout.extent(Lbn(108)), 0, 108);
    // Track 36 begins cylinder 2, 13 track skews and a cylinder skew on: 90 + 234 + 36 = 360.
    let next = layout.extent(Lbn(14 * 108));
    assert_eq!((next.cylinder, next.head), (Cylinder(2), Head(0)));
    assert_angle(next, 360 % 108, 108);
}

/// 10 sectors, offset 2.5, skews of 1.25 and 3: tracks in order start at 2.5, 3.75, 6.75, 8. The
/// second cylinder runs downward, so its first track is under head 1.
#[test]
fn fractions_of_sectors_count() {
    let mut z = zone(4..6, 10);
    z.first_offset_sectors = 2.5;
    z.track_skew_sectors = 1.25;
    z.cylinder_skew_sectors = 3.0;
    let mut g = geometry(2, Sparing::None, vec![z], 40);
    g.order = TrackOrder::SerpentinePerZone;
    let layout = Layout::new(&g).unwrap();
    for (block, head, hundredths) in [(0, 0, 250), (10, 1, 375), (20, 1, 675), (30, 0, 800)] {
        let extent = layout.extent(Lbn(block));
        assert_eq!(extent.head, Head(head));
        assert_angle(extent, hundredths, 1000);
    }
    assert_angle(layout.extent(Lbn(39)), 700, 1000);
}
