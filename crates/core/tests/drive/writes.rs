//! Writes that complete when they are on the media.

use diskarm_core::device::Outcome;

use super::tiny::{R, W, check, check_at, last, tiny, tiny_with};

const PATH: &str = r#"
[overheads]
write_miss_after_read = "0.5 ms"
write_miss_after_write = "0.4 ms"
write_completion = "0.1 ms"
data_preparation = "0.05 ms"
first_reselect = "0.2 ms"
write_disconnect = "0.3 ms"
"#;

fn with(bus: &str) -> diskarm_core::spec::Spec {
    tiny(&format!("{PATH}[bus]\n{bus}\n"))
}

#[test]
fn a_write_leaves_the_bus_and_comes_back_when_it_is_on_the_media() {
    // 0.5 overhead; the data from 0.55 until 1.55. Seek until 2.5, tenth 9 at 9.0, until 13.0.
    // Reselection 0.2, completion 0.1.
    let spec = with("write_sector = \"0.25 ms\"");
    let c = last(&spec, &[(0.0, W, 23, 4)]);
    check(&c, 13.3, [0.0, 0.8, 2.0, 0.0, 6.5, 4.0, 0.0]);
    assert_eq!(c.outcome, Outcome::Miss);
    // After a write the overhead is 0.4, the first sector in at 50.7, and tenth 3 at 53.
    let c = last(&spec, &[(0.0, W, 23, 4), (50.0, W, 27, 1)]);
    check(&c, 54.3, [0.0, 0.7, 0.0, 0.0, 2.3, 1.0, 0.3]);
}

#[test]
fn a_write_may_stay_on_the_bus() {
    // The data are in at 4.55, when the arm stands since 2.5.
    let slow = "write_sector = \"1 ms\"\n";
    let stays = with(&format!("{slow}write_leaves = \"if-seeking\""));
    check_at(&last(&stays, &[(0.0, W, 23, 4)]), 13.1, Outcome::Miss);
    check_at(&last(&with(slow), &[(0.0, W, 23, 4)]), 13.3, Outcome::Miss);
    // At 1.55 it still moves.
    let leaves = with("write_sector = \"0.25 ms\"\nwrite_leaves = \"if-seeking\"");
    check_at(&last(&leaves, &[(0.0, W, 23, 4)]), 13.3, Outcome::Miss);
    let never = with("write_sector = \"0.25 ms\"\nnever_disconnect = true");
    check_at(&last(&never, &[(0.0, W, 23, 4)]), 13.1, Outcome::Miss);
}

#[test]
fn the_head_waits_for_the_first_sector() {
    // It is in at 3.55; in place since 2.5.
    let c = last(&with("write_sector = \"3 ms\""), &[(0.0, W, 23, 1)]);
    check(&c, 10.3, [0.0, 0.8, 2.0, 0.0, 5.45, 1.0, 1.05]);
}

#[test]
fn a_sector_that_comes_too_late_waits_a_revolution() {
    // Sectors come at 4, 8, 12, 16 and are wanted at 9, 10, 11, 12: the third is written at 21,
    // then the fourth.
    let spec = tiny("[bus]\nwrite_sector = \"4 ms\"\n");
    let c = last(&spec, &[(0.0, W, 23, 4)]);
    check(&c, 23.0, [0.0, 0.0, 2.0, 0.0, 5.0, 14.0, 2.0]);
}

#[test]
fn a_write_may_wait_for_more_sectors() {
    let start = "[overheads]\nwrite_start = { small = \"3 sectors\", large = \"5 sectors\", \
                 large_from = \"6 sectors\" }\n[bus]\nwrite_sector = \"1 ms\"\n";
    // Three are in at 3.0; of six, five at 5.0; of two, two at 2.0, when the arm arrives.
    let c = last(&tiny(start), &[(0.0, W, 23, 4)]);
    check(&c, 13.0, [0.0, 0.0, 2.0, 0.0, 6.0, 4.0, 1.0]);
    let c = last(&tiny(start), &[(0.0, W, 23, 6)]);
    check(&c, 15.0, [0.0, 0.0, 2.0, 0.0, 4.0, 6.0, 3.0]);
    let c = last(&tiny(start), &[(0.0, W, 23, 2)]);
    check(&c, 11.0, [0.0, 0.0, 2.0, 0.0, 7.0, 2.0, 0.0]);
}

#[test]
fn write_settle_is_added_to_what_moves() {
    // Block 20 at tenth 6.
    let settle = |time: &str| {
        let line = format!("head_switch = \"1 ms\"\nwrite_settle = \"{time}\"");
        tiny_with(&[("head_switch = \"1 ms\"", &line)], "")
    };
    let c = last(&settle("0.5 ms"), &[(0.0, W, 20, 1)]);
    check(&c, 7.0, [0.0, 0.0, 2.0, 0.5, 3.5, 1.0, 0.0]);
    let c = last(&settle("-0.5 ms"), &[(0.0, W, 20, 1)]);
    check(&c, 7.0, [0.0, 0.0, 2.0, -0.5, 4.5, 1.0, 0.0]);
    // A head switch alone (block 13 at tenth 5), and nothing at all.
    let c = last(&settle("0.5 ms"), &[(0.0, W, 13, 1)]);
    check(&c, 6.0, [0.0, 0.0, 0.0, 1.5, 3.5, 1.0, 0.0]);
    let c = last(&settle("0.5 ms"), &[(0.0, W, 4, 1)]);
    check(&c, 5.0, [0.0, 0.0, 0.0, 0.0, 4.0, 1.0, 0.0]);
}

#[test]
fn writes_may_have_seeks_of_their_own() {
    let curve = "[mechanics.write_seek]\nform = \"table\"\ncylinders_ms = [[1, 3]]\n";
    let c = last(&tiny(curve), &[(0.0, W, 20, 1)]);
    check(&c, 7.0, [0.0, 0.0, 3.0, 0.0, 3.0, 1.0, 0.0]);
}

#[test]
fn a_zero_latency_write_begins_where_the_head_lands() {
    // In place at 2.5 in the middle of the seventh sector, all data in at 1.5: first the sectors
    // after it, then the seven from 6.0 on.
    let sections = |bus: &str| {
        let arrival = "[buffer]\nwrite_on_arrival = true\n";
        tiny(&format!("{arrival}[bus]\nwrite_sector = \"{bus}\"\n"))
    };
    let c = last(&sections("0.1 ms"), &[(0.5, W, 20, 10)]);
    check(&c, 13.0, [0.0, 0.0, 2.0, 0.0, 3.5, 7.0, 0.0]);
    // With the last data in at 3.5 it writes in order.
    let c = last(&sections("0.3 ms"), &[(0.5, W, 20, 10)]);
    check(&c, 16.0, [0.0, 0.0, 2.0, 0.0, 3.5, 10.0, 0.0]);
}

const EXTRA: &str = r#"
other_reselect = "0.15 ms"
[overheads.extra_write_disconnect]
command = "0.4 ms"
disconnect = "0.1 ms"
duration = "0.5 ms"
second_disconnect = "0.3 ms"
seek_delay = "0.2 ms"
"#;

#[test]
fn a_write_behind_a_non_sequential_write_may_disconnect_twice() {
    let path = PATH.replace("0.4 ms", "0.9 ms");
    let spec = tiny(&format!("{path}{EXTRA}[bus]\nwrite_sector = \"0.25 ms\"\n"));
    // Command 0.4: 50.4. The arm is called at 50.6 and stands over cylinder 2 at 52.6; block 43
    // at tenth 5, 55 until 56. Data from 50.4 + 0.1 + 0.5 + 0.2 + 0.05. Reselection 0.15,
    // completion 0.1.
    let c = last(&spec, &[(0.0, W, 23, 1), (50.0, W, 43, 1)]);
    check(&c, 56.25, [0.0, 0.85, 2.0, 0.0, 2.4, 1.0, 0.0]);
    // A sequential one does not: data from 50.95 until 51.2, block 24 at tenth 0, 60 until 61.
    let c = last(&spec, &[(0.0, W, 23, 1), (50.0, W, 24, 1)]);
    check(&c, 61.3, [0.0, 1.2, 0.0, 0.0, 8.8, 1.0, 0.3]);
    // Nor one after a read: 50.5, cylinder 2 at 52.5.
    let c = last(&spec, &[(0.0, R, 23, 1), (50.0, W, 43, 1)]);
    check(&c, 56.3, [0.0, 0.8, 2.0, 0.0, 2.5, 1.0, 0.0]);
}

#[test]
fn a_non_sequential_write_keeps_off_the_media_for_a_while_after_its_command() {
    let spec = tiny("[overheads]\nwrite_minimum_delay = \"3.5 ms\"\n");
    // In place at 2.0, on the media no earlier than 3.5.
    let c = last(&spec, &[(0.0, W, 23, 1)]);
    check(&c, 10.0, [0.0, 0.0, 2.0, 0.0, 5.5, 1.0, 1.5]);
    // In place at 2.0, tenth 3 at 3.0: too early, so a revolution later.
    let c = last(&spec, &[(0.0, W, 27, 1)]);
    check(&c, 14.0, [0.0, 0.0, 2.0, 0.0, 9.5, 1.0, 1.5]);
}
