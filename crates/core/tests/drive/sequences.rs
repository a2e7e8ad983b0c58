//! Requests that continue the previous one, and absorbed writes elsewhere.

use diskarm_core::device::Outcome;
use diskarm_core::spec::Spec;

use super::tiny::{R, W, check, check_at, last, tiny, tiny_with};

/// Block 2 is at tenth 2.
#[test]
fn a_miss_that_continues_a_read_may_take_longer() {
    let longer = "[overheads]\nread_miss_in_sequence = \"1.5 ms\"\n";
    let spec = tiny(longer);
    let c = last(&spec, &[(0.0, R, 0, 2), (50.0, R, 2, 1)]);
    check(&c, 53.0, [0.0, 1.5, 0.0, 0.0, 0.5, 1.0, 0.0]);
    // After a gap, and after a write, it does not.
    let c = last(&spec, &[(0.0, R, 0, 2), (50.0, R, 3, 1)]);
    check(&c, 54.0, [0.0, 0.0, 0.0, 0.0, 3.0, 1.0, 0.0]);
    let c = last(&spec, &[(0.0, W, 0, 2), (50.0, R, 2, 1)]);
    check(&c, 53.0, [0.0, 0.0, 0.0, 0.0, 2.0, 1.0, 0.0]);
    // Nor a hit.
    let ahead = "[buffer]\ncaching = true\nread_ahead = \"track-end\"\n";
    let c = last(
        &tiny(&format!("{longer}{ahead}")),
        &[(0.0, R, 0, 2), (50.0, R, 2, 1)],
    );
    check_at(&c, 50.0, Outcome::Hit);
}

/// Sectors take 1 ms on the bus. Block 4 is at tenth 4.
#[test]
fn a_sequential_write_may_wait_for_another_number_of_sectors() {
    let start = "small = \"1 sector\"\nlarge = \"1 sector\"\nlarge_from = \"1 sector\"\n";
    let spec = tiny(&format!(
        "[overheads.write_start]\n{start}sequential = \"4 sectors\"\n\
         [bus]\nwrite_sector = \"1 ms\"\n"
    ));
    // Four sectors are in at 54.5, too late for 54.0.
    let c = last(&spec, &[(0.0, W, 0, 4), (50.5, W, 4, 4)]);
    check(&c, 68.0, [0.0, 0.0, 0.0, 0.0, 9.5, 4.0, 4.0]);
    // Both of two are in at 52.5.
    let c = last(&spec, &[(0.0, W, 0, 4), (50.5, W, 4, 2)]);
    check(&c, 56.0, [0.0, 0.0, 0.0, 0.0, 1.5, 2.0, 2.0]);
    // After a gap, and after a read, the first is enough; it is in at 51.5.
    let c = last(&spec, &[(0.0, W, 0, 4), (50.5, W, 5, 4)]);
    check(&c, 59.0, [0.0, 0.0, 0.0, 0.0, 3.5, 4.0, 1.0]);
    let c = last(&spec, &[(0.0, R, 0, 4), (50.5, W, 4, 4)]);
    check(&c, 58.0, [0.0, 0.0, 0.0, 0.0, 2.5, 4.0, 1.0]);
}

/// Two zones of five cylinders.
fn absorbing(cache: &str) -> Spec {
    let zone = |cylinders: &str| {
        format!(
            "[[geometry.zones]]\ncylinders = {cylinders}\nsectors_per_track = 10\n\
             track_skew_sectors = 2\ncylinder_skew_sectors = 4\n"
        )
    };
    let zones = zone("[0, 5]") + &zone("[5, 10]");
    tiny_with(
        &[(&zone("[0, 10]"), &zones)],
        &format!(
            "[overheads]\nwrite_hit_after_read = \"0.5 ms\"\nwrite_hit_after_write = \"0.4 ms\"\n\
             write_hit_seek = \"0.16 ms\"\nwrite_hit_zone = \"0.1 ms\"\n\
             [bus]\nwrite_sector = \"0.25 ms\"\n\
             [buffer]\ncaching = true\nwrite_cache = \"{cache}\"\n"
        ),
    )
}

#[test]
fn an_absorbed_write_takes_longer_on_another_cylinder_and_in_another_zone() {
    let spec = absorbing("always");
    // The arm is on cylinder 0: blocks of this one, of cylinder 1, and of cylinder 6.
    for (block, overhead) in [(3, 0.5), (13, 0.5), (23, 0.66), (123, 0.76)] {
        let c = last(&spec, &[(0.0, W, block, 4)]);
        let at = overhead + 1.0;
        check(&c, at, [0.0, overhead, 0.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(c.outcome, Outcome::Absorbed);
        // Once the arm is there, another write takes the usual time.
        let c = last(&spec, &[(0.0, W, block, 4), (100.0, W, block, 4)]);
        check(&c, 101.4, [0.0, 0.4, 0.0, 0.0, 0.0, 0.0, 1.0]);
    }
    // Both, from the last cylinder of the first zone (block 80) to the first of the second.
    let c = last(&spec, &[(0.0, R, 80, 1), (100.0, W, 100, 4)]);
    check(&c, 101.76, [0.0, 0.76, 0.0, 0.0, 0.0, 0.0, 1.0]);
}

/// In place at 2.0, tenth 9 at 9.0.
#[test]
fn a_write_that_goes_to_the_media_takes_no_longer() {
    let c = last(&absorbing("off"), &[(0.0, W, 23, 4)]);
    check(&c, 13.0, [0.0, 0.0, 2.0, 0.0, 7.0, 4.0, 0.0]);
}
