//! Read-ahead that continues with the beginning of its track.

use diskarm_core::device::Outcome;
use diskarm_core::spec::Spec;

use super::tiny::{Arrival, R, W, held, last, tiny, tiny_with};

fn whole(buffer: &str) -> Spec {
    let ahead =
        "caching = true\nread_ahead = \"track-end\"\nread_whole_track = true\nsegments = 3\n";
    tiny(&format!("[buffer]\n{ahead}{buffer}"))
}

/// Blocks 24 and 25, from 10.0 until 12.0; the track is blocks 20 to 29, and ends at 16.0. The
/// revolution ends at 20.0.
const FIRST: Arrival = (0.3, R, 24, 2);

#[test]
fn a_revolution_after_the_read_all_of_the_track_is_there() {
    let spec = whole("segment = \"40 sectors\"\n");
    let blocks: Vec<u64> = (20..30).collect();
    assert_eq!(held(&spec, &[FIRST]), blocks);
    for block in 20..24 {
        let outcome = |at| last(&spec, &[FIRST, (at, R, block, 1)]).outcome;
        assert_eq!(outcome(19.9), Outcome::Miss, "{block}");
        assert_eq!(outcome(20.1), Outcome::Hit, "{block}");
    }
    // A command in between stops it.
    let stopped = [FIRST, (19.0, W, 100, 1), (60.0, R, 20, 1)];
    assert_eq!(last(&spec, &stopped).outcome, Outcome::Miss);
    assert_eq!(
        last(&spec, &[FIRST, (21.0, W, 100, 1), (60.0, R, 20, 1)]).outcome,
        Outcome::Hit
    );
}

/// Block 24 and the following ones take six of eight blocks.
#[test]
fn a_segment_has_room_for_a_part_of_the_beginning() {
    let spec = whole("segment = \"8 sectors\"\n");
    let blocks: Vec<u64> = (22..30).collect();
    assert_eq!(held(&spec, &[FIRST]), blocks);
}

#[test]
fn read_ahead_that_ends_before_the_track_does_not_begin_it() {
    let spec = whole("segment = \"40 sectors\"\nread_ahead_max = \"3 sectors\"\n");
    let blocks: Vec<u64> = (24..29).collect();
    assert_eq!(held(&spec, &[FIRST]), blocks);
}

/// Sector 7 of the track is slipped: blocks 20 to 28, with a gap before block 27. Read-ahead that
/// reaches the gap has not reached the end of the track; when it has, the track begins before it.
#[test]
fn a_slipped_sector_is_not_the_end_of_the_track() {
    let zone = "cylinder_skew_sectors = 4\nspares = 2\nslips = [27]\n";
    let sizes = "sectors = 198\nsparing = \"sectors-per-zone\"";
    let changes = [
        ("sectors = 200", sizes),
        ("cylinder_skew_sectors = 4\n", zone),
    ];
    let of = |max: u32| {
        let ahead = "caching = true\nread_ahead = \"track-end\"\nread_whole_track = true\n";
        let limit = format!("segment = \"40 sectors\"\nread_ahead_max = \"{max} sectors\"\n");
        tiny_with(&changes, &format!("[buffer]\n{ahead}{limit}"))
    };
    let blocks: Vec<u64> = (24..27).collect();
    assert_eq!(held(&of(1), &[FIRST]), blocks);
    let blocks: Vec<u64> = (20..29).collect();
    assert_eq!(held(&of(9), &[FIRST]), blocks);
}

#[test]
fn only_read_ahead_brings_the_beginning() {
    let spec = whole("segment = \"40 sectors\"\n");
    let mut none = spec.clone();
    none.buffer.read_ahead = diskarm_core::spec::ReadAhead::None;
    let to_the_end = (0.3, R, 28, 2);
    assert_eq!(held(&none, &[to_the_end]), [28, 29]);
    let blocks: Vec<u64> = (20..30).collect();
    assert_eq!(held(&spec, &[to_the_end]), blocks);
}
