//! The settle time of a request without a seek.

use diskarm_core::device::Outcome;
use diskarm_core::spec::Spec;

use super::tiny::{R, W, check, check_at, last, tiny_with};

/// 0.5 ms on the same track, 1.5 ms on the same cylinder.
fn settling(sections: &str) -> Spec {
    let line = "head_switch = \"1 ms\"";
    let settle = "track_settle = \"0.5 ms\"\ncylinder_settle = \"1.5 ms\"";
    tiny_with(&[(line, &format!("{line}\n{settle}"))], sections)
}

/// Block 1 is at tenth 1. The head is on its track since 0 ms.
#[test]
fn a_request_on_the_track_settles_first() {
    for op in [R, W] {
        let asked = [(0.0, R, 0, 1), (100.2, op, 1, 1)];
        let c = last(&settling(""), &asked);
        check(&c, 102.0, [0.0, 0.0, 0.0, 0.5, 0.3, 1.0, 0.0]);
        // In place at 101.2, too late.
        let asked = [(0.0, R, 0, 1), (100.7, op, 1, 1)];
        let c = last(&settling(""), &asked);
        check(&c, 112.0, [0.0, 0.0, 0.0, 0.5, 9.8, 1.0, 0.0]);
    }
}

/// Block 10 is at tenth 2; 1 ms for the switch and 1.5 ms to settle.
#[test]
fn a_request_on_the_cylinder_settles_after_the_head_switch() {
    for op in [R, W] {
        let asked = [(0.0, R, 0, 1), (99.0, op, 10, 1)];
        let c = last(&settling(""), &asked);
        check(&c, 103.0, [0.0, 0.0, 0.0, 2.5, 0.5, 1.0, 0.0]);
    }
}

/// Block 20 is at tenth 6 of the next cylinder.
#[test]
fn a_seek_needs_no_other_settle() {
    for op in [R, W] {
        let asked = [(0.0, R, 0, 1), (100.0, op, 20, 1)];
        let c = last(&settling(""), &asked);
        check(&c, 107.0, [0.0, 0.0, 2.0, 0.0, 4.0, 1.0, 0.0]);
    }
}

/// Blocks 8 and 9 from 8.0 until 10.0; block 10 at 12.0, which a settle until 12.5 would miss.
#[test]
fn a_transfer_that_continues_pays_only_the_head_switch() {
    for op in [R, W] {
        let c = last(&settling(""), &[(0.0, op, 8, 4)]);
        check(&c, 14.0, [0.0, 0.0, 0.0, 0.5, 7.5, 6.0, 0.0]);
    }
}

/// Read-ahead after block 8 settles likewise: it has block 10 at 13.0.
#[test]
fn read_ahead_pays_only_the_head_switch() {
    let spec = settling(
        "[buffer]\ncaching = true\nsegment = \"40 sectors\"\nread_ahead = \"until-full\"\n",
    );
    let c = last(&spec, &[(0.0, R, 8, 1), (13.5, R, 10, 1)]);
    check_at(&c, 13.5, Outcome::Hit);
}
