//! Reads from the media.

use super::tiny::{R, W, check, last, tiny, tiny_with};

/// Command overheads, all of them different.
const PATH: &str = r#"
[overheads]
read_miss_after_read = "0.5 ms"
read_miss_after_write = "0.7 ms"
read_completion = "0.1 ms"
data_preparation = "0.05 ms"
first_reselect = "0.2 ms"
read_disconnect_after_read = "0.3 ms"
[bus]
read_sector = "0.25 ms"
hold_read = true
"#;

#[test]
fn a_read_takes_overhead_seek_rotation_transfer_and_the_last_sector_on_the_bus() {
    // 0.5 overhead, 2 seek; tenth 9 comes at 9.0; four sectors until 13.0. The bus is back at
    // 10.25, a sector after the media: 13.25. Completion 0.1.
    let c = last(&tiny(PATH), &[(0.0, R, 23, 4)]);
    check(&c, 13.35, [0.0, 0.6, 2.0, 0.0, 6.5, 4.0, 0.25]);
}

#[test]
fn the_overhead_depends_on_the_previous_command() {
    // The write ends before 20. From cylinder 1 at 50.7, head 0; tenth 9 at 59.0.
    let c = last(&tiny(PATH), &[(0.0, W, 23, 1), (50.0, R, 23, 4)]);
    check(&c, 63.35, [0.0, 0.8, 0.0, 0.0, 8.3, 4.0, 0.25]);
}

#[test]
fn with_a_full_watermark_the_bus_waits_for_all() {
    // All is in at 13.0; reconnection 0.25 and four sectors of 0.25 come on top.
    let spec = tiny(&format!("{PATH}[buffer]\nread_watermark = \"100 %\"\n"));
    let c = last(&spec, &[(0.0, R, 23, 4)]);
    check(&c, 14.35, [0.0, 0.85, 2.0, 0.0, 6.5, 4.0, 1.0]);
}

#[test]
fn a_watermark_is_rounded_down() {
    // 75 % of 5 are 3 sectors: at 12.0, so the slow bus starts at 12.25 and ends at 22.25.
    let path = PATH.replace("0.25 ms", "2 ms");
    let spec = tiny(&format!("{path}[buffer]\nread_watermark = \"75 %\"\n"));
    let c = last(&spec, &[(0.0, R, 23, 5)]);
    check(&c, 22.35, [0.0, 0.6, 2.0, 0.0, 6.5, 5.0, 8.25]);
}

#[test]
fn a_watermark_may_be_of_the_segment() {
    // 50 % of 8 are 4 sectors, at 13.0; of the request, 3.
    let path = PATH.replace("0.25 ms", "2 ms");
    let buffer = "[buffer]\nsegment = \"8 sectors\"\nread_watermark = \"50 %\"\n";
    let of = "watermark_of = \"segment\"\n";
    let c = last(&tiny(&format!("{path}{buffer}{of}")), &[(0.0, R, 23, 6)]);
    check(&c, 25.35, [0.0, 0.6, 2.0, 0.0, 6.5, 6.0, 10.25]);
    let c = last(&tiny(&format!("{path}{buffer}")), &[(0.0, R, 23, 6)]);
    check(&c, 24.35, [0.0, 0.6, 2.0, 0.0, 6.5, 6.0, 9.25]);
}

#[test]
fn across_tracks_the_skew_hides_the_head_switch() {
    // Seek until 2; blocks 28, 29 at tenth 4, until 6; head switch until 7, tenth 8 at 8, until 10.
    let c = last(&tiny(""), &[(0.0, R, 28, 4)]);
    check(&c, 10.0, [0.0, 0.0, 2.0, 0.0, 2.0, 6.0, 0.0]);
}

#[test]
fn across_cylinders_the_skew_hides_the_seek() {
    // Head switch until 1; blocks 18, 19 at tenth 0: 10 until 12; seek until 14, tenth 6 at 16.
    let c = last(&tiny(""), &[(0.0, R, 18, 4)]);
    check(&c, 18.0, [0.0, 0.0, 0.0, 1.0, 9.0, 8.0, 0.0]);
}

#[test]
fn too_little_skew_costs_a_revolution() {
    // A head switch of 2.5 ms ends at 8.5: tenth 8 comes again at 18.
    let spec = tiny_with(
        &[("head_switch = \"1 ms\"", "head_switch = \"2.5 ms\"")],
        "",
    );
    let c = last(&spec, &[(0.0, R, 28, 4)]);
    check(&c, 20.0, [0.0, 0.0, 2.0, 0.0, 2.0, 16.0, 0.0]);
}

#[test]
fn a_head_switch_overlaps_a_seek() {
    // Block 30 is at tenth 8. The longer of seek (2) and head switch counts.
    let c = last(&tiny(""), &[(0.0, R, 30, 1)]);
    check(&c, 9.0, [0.0, 0.0, 2.0, 0.0, 6.0, 1.0, 0.0]);
    let slow = tiny_with(&[("head_switch = \"1 ms\"", "head_switch = \"3 ms\"")], "");
    let c = last(&slow, &[(0.0, R, 30, 1)]);
    check(&c, 9.0, [0.0, 0.0, 2.0, 1.0, 5.0, 1.0, 0.0]);
}

#[test]
fn across_zones_sectors_grow() {
    // Block 99 is at tenth 5 of cylinder 4: from 0.5, seek until 5.5, at 15 until 16. Block 100 is
    // the first of a zone of five sectors a track, at tenth 0: seek until 18, at 20, 2 ms.
    let zones = "cylinders = [0, 5]\nsectors_per_track = 10\n\
                 track_skew_sectors = 2\ncylinder_skew_sectors = 4\n\
                 [[geometry.zones]]\ncylinders = [5, 10]\nsectors_per_track = 5\n";
    let spec = tiny_with(
        &[
            ("cylinders = [0, 10]\nsectors_per_track = 10\n", zones),
            ("sectors = 200", "sectors = 150"),
        ],
        "",
    );
    let c = last(&spec, &[(0.5, R, 99, 2)]);
    check(&c, 22.0, [0.0, 0.0, 5.0, 0.0, 9.5, 7.0, 0.0]);
}

fn spared(line: &str) -> diskarm_core::spec::Spec {
    let zone = format!("cylinder_skew_sectors = 4\nspares = 2\n{line}\n");
    tiny_with(
        &[
            (
                "sectors = 200",
                "sectors = 198\nsparing = \"sectors-per-zone\"",
            ),
            ("cylinder_skew_sectors = 4\n", &zone),
        ],
        "",
    )
}

#[test]
fn a_slipped_sector_passes_unread() {
    // Blocks 0 and 1 until 2; sector 2 slipped; blocks 2 and 3 from 3 until 5.
    let c = last(&spared("slips = [2]"), &[(0.0, R, 0, 4)]);
    check(&c, 5.0, [0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 0.0]);
}

#[test]
fn a_reallocated_sector_costs_two_seeks() {
    // Block 1 from 1 until 2; block 2 is in cylinder 9, head 1, sector 8, at tenth 4: seek
    // until 12, at 14 until 15; back at 25, block 3 at tenth 3: 33 until 34.
    let c = last(&spared("defects = [[2, 198]]"), &[(0.0, R, 1, 3)]);
    check(&c, 34.0, [0.0, 0.0, 0.0, 0.0, 1.0, 33.0, 0.0]);
}

#[test]
fn a_zero_latency_read_begins_where_the_head_lands() {
    let spec = tiny("[buffer]\nread_on_arrival = true\n");
    // In place at 2.5, in the middle of sector 6 of the track: 7 to 9 first, then 0 to 6 from
    // 6.0 until 13.0, which in order would have taken until 16.0.
    let c = last(&spec, &[(0.5, R, 20, 10)]);
    check(&c, 13.0, [0.0, 0.0, 2.0, 0.0, 3.5, 7.0, 0.0]);
    // Of sectors 2 to 9 (tenth 8 on) the head lands in the fifth: 8.0 until 13.0.
    let c = last(&spec, &[(0.5, R, 22, 8)]);
    check(&c, 13.0, [0.0, 0.0, 2.0, 0.0, 5.5, 5.0, 0.0]);
    // Sectors 0 to 3 do not pass before their first.
    let c = last(&spec, &[(0.5, R, 20, 4)]);
    check(&c, 10.0, [0.0, 0.0, 2.0, 0.0, 3.5, 4.0, 0.0]);
}

#[test]
fn a_zero_latency_read_takes_the_sector_that_just_begins() {
    // In place at 2.0, where sector 6 begins: 6 to 9 first, then 0 to 5 from 6.0 until 12.0.
    let spec = tiny("[buffer]\nread_on_arrival = true\n");
    let c = last(&spec, &[(0.0, R, 20, 10)]);
    check(&c, 12.0, [0.0, 0.0, 2.0, 0.0, 4.0, 6.0, 0.0]);
}

#[test]
fn in_step_with_the_media_the_last_sector_of_a_zero_latency_read_is_the_last_to_pass() {
    // Sector 6, the seventh, passes last, until 13.0; with it in, the next three follow.
    let bus = "[bus]\nread_sector = \"0.25 ms\"\nhold_read = true\n";
    let spec = tiny(&format!("[buffer]\nread_on_arrival = true\n{bus}"));
    let c = last(&spec, &[(0.5, R, 20, 10)]);
    check(&c, 14.0, [0.0, 0.0, 2.0, 0.0, 3.5, 7.0, 1.0]);
}
