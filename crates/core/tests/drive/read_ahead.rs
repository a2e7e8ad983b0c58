//! Read-ahead, and the events that stop it.

use diskarm_core::device::Outcome;
use diskarm_core::spec::Spec;

use super::tiny::{Arrival, R, W, check, held, last, tiny};

fn ahead(buffer: &str) -> Spec {
    let size = "segments = 3\nsegment = \"40 sectors\"\n";
    tiny(&format!("[buffer]\ncaching = true\n{size}{buffer}"))
}

/// Blocks 24 and 25, from 10.0 until 12.0.
const FIRST: Arrival = (0.3, R, 24, 2);

fn blocks(range: std::ops::Range<u64>) -> Vec<u64> {
    range.collect()
}

#[test]
fn the_scheme_limits_read_ahead() {
    let cases = [
        ("read_ahead = \"none\"", 26),
        ("read_ahead = \"track-end\"", 30),
        ("read_ahead = \"cylinder-end\"", 40),
        // Two of the segment's forty are taken.
        ("read_ahead = \"until-full\"", 64),
        (
            "read_ahead = \"until-full\"\nread_ahead_max = \"10 sectors\"",
            36,
        ),
        (
            "read_ahead = \"cylinder-end\"\nread_ahead_max = \"10 sectors\"",
            36,
        ),
        ("read_ahead = \"one-track\"", 30),
    ];
    for (scheme, end) in cases {
        assert_eq!(held(&ahead(scheme), &[FIRST]), blocks(24..end), "{scheme}");
    }
}

/// The second read of a run misses as well; read-ahead follows it, and the third hits.
#[test]
fn read_ahead_may_wait_for_a_run() {
    let spec = ahead("read_ahead = \"track-end\"\nread_ahead_on_run = true");
    assert_eq!(held(&spec, &[FIRST]), blocks(24..26));
    let run = [FIRST, (50.0, R, 26, 1), (100.0, R, 27, 1)];
    assert_eq!(last(&spec, &run[..2]).outcome, Outcome::Miss);
    assert_eq!(held(&spec, &run[..2]), blocks(24..30));
    assert_eq!(last(&spec, &run).outcome, Outcome::Hit);
    // A write in between, or a gap, ends the run.
    for between in [(20.0, W, 100, 1), (20.0, R, 100, 1)] {
        let broken = [FIRST, between, (50.0, R, 26, 1)];
        assert_eq!(last(&spec, &broken).outcome, Outcome::Miss);
        assert!(!held(&spec, &broken).contains(&27), "{between:?}");
    }
}

#[test]
fn dropped_data_leave_the_whole_segment_to_read_ahead() {
    let spec = ahead("read_ahead = \"until-full\"\ndelivered = \"dropped\"");
    assert_eq!(held(&spec, &[FIRST]), blocks(26..66));
}

#[test]
fn one_track_is_read_ahead_after_a_buffered_track() {
    // The end of the track before, blocks 18 and 19, is in the buffer: on to block 40.
    let spec = ahead("read_ahead = \"one-track\"");
    let held = held(&spec, &[(0.0, R, 18, 2), (100.3, R, 24, 2)]);
    assert_eq!(held, [blocks(18..20), blocks(24..40)].concat());
}

/// Blocks 18 and 19 come with the request itself; a lone read within a track gets only its rest.
#[test]
fn one_track_is_read_ahead_after_a_read_that_crosses_tracks() {
    let spec = ahead("read_ahead = \"one-track\"");
    assert_eq!(held(&spec, &[(0.0, R, 18, 4)]), blocks(18..40));
    assert_eq!(held(&spec, &[(0.0, R, 16, 4)]), blocks(16..20));
}

#[test]
fn the_end_of_the_disk_stops_read_ahead() {
    let spec = ahead("read_ahead = \"until-full\"");
    assert_eq!(held(&spec, &[(0.0, R, 190, 2)]), blocks(190..200));
}

#[test]
fn another_request_stops_read_ahead_immediately_or_after_the_sector() {
    let scheme = "read_ahead = \"until-full\"";
    let next = (14.4, R, 101, 1);
    // Block 28 would be in at 15.0. Cylinder 5 at 19.4 or 20.0, block 101 at tenth 1.
    let spec = ahead(&format!("{scheme}\nread_ahead_stops_mid_sector = true"));
    check(
        &last(&spec, &[FIRST, next]),
        22.0,
        [0.0, 0.0, 5.0, 0.0, 1.6, 1.0, 0.0],
    );
    assert_eq!(held(&spec, &[FIRST, next])[..5], [24, 25, 26, 27, 101]);
    let spec = ahead(scheme);
    check(
        &last(&spec, &[FIRST, next]),
        22.0,
        [0.6, 0.0, 5.0, 0.0, 1.0, 1.0, 0.0],
    );
    assert_eq!(held(&spec, &[FIRST, next])[..6], [24, 25, 26, 27, 28, 101]);
}

#[test]
fn required_read_ahead_comes_first_and_stays() {
    // Blocks 26 to 29 are in at 16.0; the arm then goes to cylinder 5, tenth 3.
    let spec = ahead(
        "read_ahead = \"until-full\"\nread_ahead_min = \"4 sectors\"\n\
         read_ahead_max = \"4 sectors\"\n\
         read_ahead_stops_mid_sector = true",
    );
    let next = (13.5, R, 103, 1);
    let c = last(&spec, &[FIRST, next]);
    check(&c, 24.0, [2.5, 0.0, 5.0, 0.0, 2.0, 1.0, 0.0]);
    assert_eq!(held(&spec, &[FIRST, next])[..6], blocks(24..30));
    // The same before a write, and with the rest of the time called waiting.
    let c = last(&spec, &[FIRST, (13.5, W, 103, 1)]);
    check(&c, 24.0, [2.5, 0.0, 5.0, 0.0, 2.0, 1.0, 0.0]);
}

/// A read of 38 blocks leaves room for two in its segment of forty. The four pending ones are still
/// read, and replace the two oldest blocks.
#[test]
fn required_read_ahead_may_exceed_the_room() {
    let large = (0.3, R, 20, 38);
    let spec = ahead("read_ahead = \"until-full\"");
    assert_eq!(held(&spec, &[large]), blocks(20..60));
    let spec = ahead("read_ahead = \"until-full\"\nread_ahead_min = \"4 sectors\"");
    assert_eq!(held(&spec, &[large]), blocks(22..62));
}

#[test]
fn required_read_ahead_may_lie_behind() {
    // Four sectors were pending; at 25.5 read-ahead is on the next track.
    let spec = ahead("read_ahead = \"until-full\"\nread_ahead_min = \"4 sectors\"");
    let c = last(&spec, &[FIRST, (25.5, R, 103, 1)]);
    assert_eq!(c.outcome, Outcome::Miss);
}

#[test]
fn an_absorbed_write_may_stop_read_ahead_at_once() {
    // The write's overhead ends at 15.1; block 28 is in at 15.0.
    let cache = "read_ahead = \"until-full\"\nwrite_cache = \"always\"\n\
                 read_ahead_stops_mid_sector = true\n";
    let hit = "[overheads]\nwrite_hit_after_read = \"0.5 ms\"\n";
    let asked = [FIRST, (14.6, W, 100, 1)];
    let spec = ahead(&format!("{cache}write_stops_read_ahead = true\n{hit}"));
    assert_eq!(held(&spec, &asked), blocks(24..28));
    let spec = ahead(&format!("{cache}{hit}"));
    assert_eq!(held(&spec, &asked), blocks(24..29));
}

#[test]
fn a_hit_may_start_read_ahead_again() {
    let scheme = "read_ahead = \"until-full\"\nread_ahead_max = \"4 sectors\"\n";
    let asked = [FIRST, (100.0, R, 26, 2)];
    let spec = ahead(&format!("{scheme}read_ahead_on_hit = true"));
    assert_eq!(held(&spec, &asked), blocks(24..32));
    assert_eq!(held(&ahead(scheme), &asked), blocks(24..30));
}

#[test]
fn a_hit_extends_read_ahead_under_way() {
    // At 13.4 block 26 is in: four more than block 27 are wanted without a stop.
    let scheme = "read_ahead = \"until-full\"\nread_ahead_max = \"4 sectors\"\n";
    let asked = [FIRST, (13.4, R, 26, 1)];
    assert_eq!(held(&ahead(scheme), &asked), blocks(24..31));
}
