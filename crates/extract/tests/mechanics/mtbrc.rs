//! Minimum times between request completions, against the equations of worthington96 section A.2.

use diskarm_core::geometry::Layout;
use diskarm_core::spec::Spec;
use diskarm_core::units::{Lbn, Span};
use diskarm_extract::mtbrc::{self, Kind, Mtbrc, To};
use diskarm_extract::{Access, Disk, SimulatedDrive};

use crate::{HOST, catalogued, set_up};

/// Drives without reconnections, minimum delays or settle times, so that the equations hold.
const PLAIN: [&str; 3] = ["seagate-st41601n", "hp-c2490a", "hp-c3323a"];

fn measure(spec: &Spec, layout: &Layout, kind: Kind) -> Mtbrc {
    let mut drive = SimulatedDrive::new(spec, HOST, 5).unwrap();
    let mut disk = Disk::new(&mut drive).unwrap();
    let setup = set_up(&mut disk, layout, 5);
    let (found, _) = mtbrc::measure(&mut disk, &setup, kind).unwrap();
    assert!(disk.cost().commands < 2000, "{:?}", disk.cost());
    found
}

/// Returns the mean time of a sector in the first, middle and last zone, and the longest time.
fn media(spec: &Spec, layout: &Layout) -> (Span, Span) {
    let last = layout.sectors().0 - 1;
    let sectors = [last / 50, last / 2, last - last / 50].map(|at| {
        let turns = layout.extent(Lbn(at)).sector_angle.as_revolutions();
        turns * spec.mechanics.period_ns
    });
    let span = |ns| Span::from_ns(ns as i64);
    (span(sectors.iter().sum::<f64>() / 3.0), span(sectors[2]))
}

fn assert_near(found: Span, expected: Span, what: &str) {
    let error = (found - expected).as_ms();
    assert!(error.abs() < 0.008, "{what}: {found}, expected {expected}");
}

#[test]
fn pairs_on_one_track_obey_the_equations_of_overheads() {
    use Access::{Read, Write};
    for name in PLAIN {
        let spec = catalogued(name);
        let layout = Layout::new(&spec.geometry).unwrap();
        let o = &spec.overheads;
        let (media, longest) = media(&spec, &layout);
        let bus = spec.bus.read_sector;
        // Equations A.1 to A.8: command overhead, and the times before and after the media.
        let kinds = [
            (Write, Read, o.read_miss_after_write),
            (Write, Write, o.write_miss_after_write + bus),
            (Read, Write, o.write_miss_after_read + bus),
            (Read, Read, o.read_miss_after_read),
        ];
        for (first, second, command) in kinds {
            let ends = |access| match access {
                Read => bus + o.read_completion,
                Write => o.write_completion,
            };
            let kind = Kind::one_sector((first, second), To::SameTrack);
            let found = measure(&spec, &layout, kind);
            let what = format!("{name} {kind:?}");
            let between = found.host + command + media + ends(second);
            assert_near(found.median.value, between, &what);
            // The paper's distance is between the starts; it has the first request's media time.
            let distance = media + ends(first) + found.host + command;
            assert_near(found.distances.0, distance, &what);
            // Only the host is random here: the maximum over the zones has the longest sector, and
            // its own mean delay, of 25 pairs with a deviation of 0.029 ms.
            let upper = (found.upper - (between + longest - media)).as_ms();
            assert!(upper.abs() < 0.02, "{what}: {upper} ms");
            assert!(
                (found.host.as_ms() - 0.1).abs() < 0.02,
                "{what}: {}",
                found.host
            );
        }
    }
}

#[test]
fn another_track_adds_the_head_switch_and_another_cylinder_the_seek() {
    let spec = catalogued("hp-c2490a");
    let layout = Layout::new(&spec.geometry).unwrap();
    let kind = |to| Kind::one_sector((Access::Write, Access::Read), to);
    let [same, other, next] = [To::SameTrack, To::OtherTrack, To::Cylinders(1)].map(|to| {
        let found = measure(&spec, &layout, kind(to));
        found.median.value - found.host
    });
    assert_near(other - same, spec.mechanics.head_switch, "head switch");
    // The table entry for one cylinder.
    assert_near(next - same, Span::from_ms(1.2644218), "one cylinder");
}
