//! The host path: when the bus is held, and when the drive reconnects.

use diskarm_core::device::Outcome;
use diskarm_core::spec::Spec;

use super::tiny::{R, W, check_at, last, tiny};

fn path(bus: &str, buffer: &str) -> Spec {
    tiny(&format!(
        r#"
[overheads]
read_miss_after_read = "0.5 ms"
read_hit_after_read = "0.5 ms"
read_completion = "0.1 ms"
first_reselect = "0.2 ms"
other_reselect = "0.3 ms"
read_disconnect_after_read = "0.05 ms"
[buffer]
{buffer}
[bus]
read_sector = "0.25 ms"
{bus}
"#
    ))
}

#[test]
fn a_read_that_holds_the_bus_waits_for_sectors_on_it() {
    // Half of block 23 to 26 is in at 11.0; the bus starts at 11.2, and waits for the third, at
    // 12, and the fourth, at 13: 13.25 and 0.1.
    let spec = path("hold_read = true", "read_watermark = \"50 %\"");
    check_at(&last(&spec, &[(0.0, R, 23, 4)]), 13.35, Outcome::Miss);
}

#[test]
fn a_read_that_does_not_hold_the_bus_reconnects_with_enough_data() {
    // Two are sent at 11.7. The next two are in at 13.0: 13.3, 13.55, 13.8 and 0.1.
    let spec = path("", "read_watermark = \"50 %\"");
    check_at(&last(&spec, &[(0.0, R, 23, 4)]), 13.9, Outcome::Miss);
}

#[test]
fn a_drive_that_never_disconnects_never_reselects() {
    // Two are in at 11.0; the bus continues after the media, 13.25 and 0.1.
    let spec = path("never_disconnect = true", "read_watermark = \"50 %\"");
    check_at(&last(&spec, &[(0.0, R, 23, 4)]), 13.35, Outcome::Miss);
    // With all of them: 13.0 + 1.0 + 0.1.
    let spec = path("never_disconnect = true", "read_watermark = \"100 %\"");
    check_at(&last(&spec, &[(0.0, R, 23, 4)]), 14.1, Outcome::Miss);
}

#[test]
fn a_slow_bus_never_runs_dry() {
    // The first is in at 10.0; 10.2 and four of 3 ms, 0.1.
    let spec = path("", "").clone();
    let slow = Spec {
        bus: diskarm_core::spec::Bus {
            read_sector: diskarm_core::units::Span::from_ms(3.0),
            ..spec.bus.clone()
        },
        ..spec
    };
    check_at(&last(&slow, &[(0.0, R, 23, 4)]), 22.3, Outcome::Miss);
}

#[test]
fn a_partial_hit_that_left_the_bus_comes_back_for_the_first_time() {
    // Blocks 22 and 23 are sent at 51.0. Of 24 and 25, at tenth 0, the first two, all that is
    // left, are in at 62.0: 62.2, 62.7 and 0.1.
    let spec = path(
        "",
        "caching = true\npartial_hits_at_once = true\nread_watermark = \"50 %\"",
    );
    let c = last(&spec, &[(0.0, R, 20, 4), (50.0, R, 22, 4)]);
    check_at(&c, 62.8, Outcome::PartialHit);
}

#[test]
fn the_slower_of_media_and_bus_sets_the_speed() {
    // n sectors from tenth 9 at 9.0: the media have the last at 9 + n, the bus it one later; or
    // the bus starts with the first at 10 and needs n of its own.
    for (per_sector, n, at) in [
        (0.5, 1, 10.5),
        (0.5, 7, 16.5),
        (1.0, 7, 17.0),
        (2.0, 7, 24.0),
        (0.0, 7, 16.0),
    ] {
        let bus = format!("[bus]\nhold_read = true\nread_sector = \"{per_sector} ms\"\n");
        check_at(&last(&tiny(&bus), &[(0.0, R, 23, n)]), at, Outcome::Miss);
    }
    // A write has its first sector at 2.0 or before; the media set the end unless it comes late.
    for (per_sector, n, at) in [
        (0.5, 7, 16.0),
        (1.0, 7, 16.0),
        (1.5, 7, 16.0),
        (2.0, 7, 16.0),
    ] {
        let bus = format!("[bus]\nwrite_sector = \"{per_sector} ms\"\n");
        check_at(&last(&tiny(&bus), &[(0.0, W, 23, n)]), at, Outcome::Miss);
    }
}
