//! Reads that find some or all of their data in the buffer.

use diskarm_core::device::Outcome;
use diskarm_core::spec::Spec;

use super::tiny::{Arrival, R, W, check, check_at, held, last, tiny};

/// Two segments of 20 sectors unless `buffer` says otherwise.
fn cached(buffer: &str) -> Spec {
    let mut sizes = String::new();
    for (key, line) in [
        ("segments =", "segments = 2\n"),
        ("segment =", "segment = \"20 sectors\"\n"),
    ] {
        if !buffer.contains(key) {
            sizes += line;
        }
    }
    tiny(&format!(
        r#"
[overheads]
read_hit_after_read = "0.5 ms"
read_miss_after_read = "0.2 ms"
read_completion = "0.1 ms"
[bus]
read_sector = "0.25 ms"
hold_read = true
[buffer]
caching = true
{sizes}{buffer}
"#
    ))
}

fn outcome(spec: &Spec, asked: &[Arrival]) -> Outcome {
    last(spec, asked).outcome
}

#[test]
fn a_full_hit_takes_overhead_and_bus() {
    let c = last(&cached(""), &[(0.0, R, 20, 4), (50.0, R, 20, 4)]);
    check(&c, 51.6, [0.0, 0.6, 0.0, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!(c.outcome, Outcome::Hit);
}

#[test]
fn delivered_data_may_be_dropped() {
    let again: [Arrival; 2] = [(0.0, R, 20, 4), (50.0, R, 20, 4)];
    let spec = cached("delivered = \"dropped\"\n");
    assert_eq!(outcome(&spec, &again), Outcome::Miss);
}

#[test]
fn a_hit_delivers_too_so_that_the_next_misses() {
    // Blocks 22 to 25 are read ahead, and delivered after another segment was read into.
    let spec = cached(
        "delivered = \"dropped\"\nread_ahead = \"until-full\"\nread_ahead_max = \"4 sectors\"",
    );
    let mut asked: Vec<Arrival> = vec![(0.0, R, 20, 2), (30.0, R, 60, 1), (60.0, R, 22, 2)];
    assert_eq!(outcome(&spec, &asked), Outcome::Hit);
    asked.push((90.0, R, 22, 2));
    assert_eq!(outcome(&spec, &asked), Outcome::Miss);
}

#[test]
fn buffered_blocks_of_a_partial_hit_go_immediately() {
    // Blocks 22, 23 leave from 50.5; 24 is at tenth 0, at 60, so the bus waits: 61.25, 62.25.
    let asked = [(0.0, R, 20, 4), (50.0, R, 22, 4)];
    let c = last(&cached("partial_hits_at_once = true"), &asked);
    check(&c, 62.35, [0.0, 0.6, 0.0, 0.0, 9.5, 2.0, 0.25]);
    assert_eq!(c.outcome, Outcome::PartialHit);
    // Otherwise with all at 62.0, after the overhead of a miss.
    let c = last(&cached("read_watermark = \"100 %\""), &asked);
    check(&c, 63.1, [0.0, 0.3, 0.0, 0.0, 9.8, 2.0, 1.0]);
    // Unless the watermark has already been reached.
    let c = last(&cached("read_watermark = \"50 %\""), &asked);
    check(&c, 62.35, [0.0, 0.6, 0.0, 0.0, 9.5, 2.0, 0.25]);
}

#[test]
fn a_block_being_read_may_count_as_a_hit() {
    // Read-ahead is within block 26 at 12.4: 26 and 27 are in at 14.0, on the bus 0.25 later.
    let ahead = "read_ahead = \"until-full\"\nread_ahead_stops_mid_sector = true\n";
    let asked = [(0.0, R, 20, 4), (12.4, R, 26, 2)];
    let spec = cached(&format!("{ahead}arriving_hits = true\n"));
    check_at(&last(&spec, &asked), 14.35, Outcome::PartialHit);
    // Otherwise the arm is called at 12.6 and 26, at tenth 2, passes again at 22.
    check_at(&last(&cached(ahead), &asked), 24.35, Outcome::Miss);
}

#[test]
fn blocks_hit_while_read_ahead_continues() {
    // Blocks 24 and 25 were in at 12.0. 13.5 + 0.5 + 2 * 0.25 + 0.1.
    let spec = cached("read_ahead = \"until-full\"");
    let c = last(&spec, &[(0.0, R, 20, 4), (13.5, R, 24, 2)]);
    check_at(&c, 14.6, Outcome::Hit);
    // Of blocks 28 to 31 two are there at 16.0 (tenths 4, 5); the others, at tenth 8 of the
    // next track, until 20.0.
    let spec = cached("read_ahead = \"until-full\"\npartial_hits_at_once = true\n");
    let c = last(&spec, &[(0.0, R, 20, 4), (15.5, R, 28, 4)]);
    check_at(&c, 20.35, Outcome::PartialHit);
}

#[test]
fn blocks_that_pass_before_the_requested_one_may_be_kept() {
    // In place at 2.7, tenths 3 to 9 pass before block 24, the tracks' first four among them.
    let asked = [(0.5, R, 24, 2)];
    let spec = cached("read_before_requested = true");
    assert_eq!(held(&spec, &asked), (20..26).collect::<Vec<_>>());
    assert_eq!(held(&cached(""), &asked), [24, 25]);
}

#[test]
fn a_partial_hit_keeps_only_blocks_that_passed() {
    // Block 25, at tenth 1, with nothing passing before it (in place at 10.5); then the arm goes
    // away. Of 25 and 26 only 26 is read, at 62: in place at 58.7, blocks 23 to 25 pass whole.
    let spec = cached("read_before_requested = true");
    let asked = [(8.3, R, 25, 1), (30.0, R, 61, 1), (55.2, R, 25, 2)];
    assert_eq!(held(&spec, &asked), [23, 24, 25, 26, 60, 61]);
}

#[test]
fn reads_may_hit_written_data() {
    let asked = [(0.0, W, 60, 3)];
    assert_eq!(
        held(&cached("hits_on_written = true"), &asked),
        [60, 61, 62]
    );
    assert!(held(&cached(""), &asked).is_empty());
}

#[test]
fn a_write_drops_the_data_that_it_replaces() {
    let asked = [(0.0, R, 100, 2), (30.0, R, 20, 10), (60.0, W, 24, 1)];
    let spec = |what: &str| cached(&format!("segments = 4\nwrite_invalidates = \"{what}\""));
    // A segment holds one run: the longer part stays.
    assert_eq!(
        held(&spec("overlap"), &asked),
        [25, 26, 27, 28, 29, 100, 101]
    );
    assert_eq!(held(&spec("segment"), &asked), [100, 101]);
    assert!(held(&spec("all"), &asked).is_empty());
}

#[test]
fn a_dedicated_segment_holds_only_writes() {
    let dedicated = cached("dedicated_write_segment = true\nhits_on_written = true\n");
    // The write does not evict the read's data, nor vice versa.
    let asked = [(0.0, R, 20, 2), (30.0, W, 60, 1), (60.0, W, 80, 1)];
    assert_eq!(held(&dedicated, &asked), [20, 21, 80]);
    let asked = [(0.0, W, 60, 1), (30.0, R, 20, 1), (60.0, R, 40, 1)];
    assert_eq!(held(&dedicated, &asked), [40, 60]);
    // Otherwise the least recently used segment is evicted, whatever it holds.
    let shared = cached("hits_on_written = true");
    let asked = [(0.0, R, 20, 2), (30.0, W, 60, 1), (60.0, W, 80, 1)];
    assert_eq!(held(&shared, &asked), [60, 80]);
}

#[test]
fn a_sequential_write_shares_the_previous_segment() {
    let asked = [(0.0, R, 20, 2), (30.0, W, 60, 1), (60.0, W, 61, 1)];
    let shared = cached("combine_writes = true\nhits_on_written = true\n");
    assert_eq!(held(&shared, &asked), [20, 21, 60, 61]);
    assert_eq!(held(&cached("hits_on_written = true"), &asked), [60, 61]);
}

#[test]
fn without_caching_nothing_hits() {
    let spec = tiny("[buffer]\nhits_on_written = true\n");
    assert!(held(&spec, &[(0.0, R, 20, 2), (60.0, W, 60, 1)]).is_empty());
}

#[test]
fn read_ahead_survives_a_night() {
    let spec = cached("read_ahead = \"until-full\"\nread_ahead_max = \"4 sectors\"");
    let night = 8.0 * 3600e3;
    let c = last(&spec, &[(0.0, R, 20, 2), (night, R, 22, 2)]);
    check_at(&c, night + 1.1, Outcome::Hit);
}
