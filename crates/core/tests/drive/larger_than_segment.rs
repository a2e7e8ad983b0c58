//! Requests that do not fit in a segment.

use super::tiny::{R, W, check, last, tiny};

#[test]
fn the_media_of_a_large_read_wait_for_the_bus() {
    // Segment of 2, 1.5 ms a sector on the bus; blocks 23 to 26 from 9.0. Two are in at 11.0;
    // the first leaves from 10.0 until 11.5, too late for the third to begin at 11: it comes
    // again at 21. The second has left at 13.0, so the fourth follows: until 23.0. They leave
    // from 22.0 and from 23.5, until 25.0.
    let bus = "[bus]\nread_sector = \"1.5 ms\"\nhold_read = true\n";
    let spec = tiny(&format!("[buffer]\nsegment = \"2 sectors\"\n{bus}"));
    let c = last(&spec, &[(0.0, R, 23, 4)]);
    check(&c, 25.0, [0.0, 0.0, 2.0, 0.0, 7.0, 14.0, 2.0]);
    // A segment of three loses nothing for four sectors: the first has left at 11.5, before
    // the fourth begins at 12: all is in at 13.0, 16.0 on the bus.
    let spec = tiny(&format!("[buffer]\nsegment = \"3 sectors\"\n{bus}"));
    let c = last(&spec, &[(0.0, R, 23, 4)]);
    check(&c, 16.0, [0.0, 0.0, 2.0, 0.0, 7.0, 4.0, 3.0]);
}

#[test]
fn a_large_read_on_a_fast_bus_never_waits() {
    // A sector leaves while the next comes in.
    let bus = "[bus]\nread_sector = \"0.5 ms\"\nhold_read = true\n";
    let spec = tiny(&format!("[buffer]\nsegment = \"2 sectors\"\n{bus}"));
    let c = last(&spec, &[(0.0, R, 23, 7)]);
    check(&c, 16.5, [0.0, 0.0, 2.0, 0.0, 7.0, 7.0, 0.5]);
}

#[test]
fn a_read_that_leaves_the_bus_stalls_the_media_too() {
    // Segment and watermark of 2, nothing for the reselection: both are in at 11.0 and have
    // left at 11.5 and 12.0. The third, wanted at 11, is read at 21, then the fourth, until
    // 23.0; the bus comes back for both: 24.0.
    let buffer = "[buffer]\nsegment = \"2 sectors\"\nread_watermark = \"50 %\"\n";
    let spec = tiny(&format!("{buffer}[bus]\nread_sector = \"0.5 ms\"\n"));
    let c = last(&spec, &[(0.0, R, 23, 4)]);
    check(&c, 24.0, [0.0, 0.0, 2.0, 0.0, 7.0, 14.0, 1.0]);
}

#[test]
fn a_zero_latency_read_that_does_not_fit_is_read_in_order() {
    let buffer = "[buffer]\nread_on_arrival = true\nsegment = \"5 sectors\"\n";
    let c = last(&tiny(buffer), &[(0.5, R, 20, 10)]);
    check(&c, 16.0, [0.0, 0.0, 2.0, 0.0, 3.5, 10.0, 0.0]);
}

#[test]
fn the_bus_of_a_large_write_waits_for_the_media() {
    // Segment of 2, filled at 0.5. On the media from 9.0: a place is free at 10.0, for the third
    // sector, which is in at 10.25, before it is wanted at 11. So the bus keeps up: 13.0.
    let hold = "[buffer]\nsegment = \"2 sectors\"\n[bus]\nhold_write = true\n";
    let spec = tiny(&format!("{hold}write_sector = \"0.25 ms\"\n"));
    let c = last(&spec, &[(0.0, W, 23, 4)]);
    check(&c, 13.0, [0.0, 0.0, 2.0, 0.0, 7.0, 4.0, 0.0]);
    // 1.5 ms a sector: the third is in at 11.5 and waits until 21; the fourth's place is free at
    // 11.0, in at 13.0: until 23.0.
    let spec = tiny(&format!("{hold}write_sector = \"1.5 ms\"\n"));
    let c = last(&spec, &[(0.0, W, 23, 4)]);
    check(&c, 23.0, [0.0, 0.0, 2.0, 0.0, 7.0, 14.0, 0.0]);
}
