//! Writes that complete before they are on the media, and the flush that must follow.

use diskarm_core::device::Outcome;
use diskarm_core::spec::Spec;

use super::tiny::{Arrival, R, W, check, check_at, last, tiny};

fn cached(buffer: &str) -> Spec {
    tiny(&format!(
        r#"
[overheads]
write_hit_after_read = "0.5 ms"
write_hit_after_write = "0.4 ms"
write_miss_after_write = "0.3 ms"
write_completion = "0.1 ms"
data_preparation = "0.05 ms"
[bus]
write_sector = "0.25 ms"
[buffer]
caching = true
segments = 2
segment = "8 sectors"
{buffer}
"#
    ))
}

/// Absorbed at 1.65; on the media from 9.0 until 13.0, head 0 of cylinder 1.
const DIRTY: Arrival = (0.0, W, 23, 4);

#[test]
fn an_absorbed_write_takes_overhead_and_bus() {
    let c = last(&cached("write_cache = \"always\""), &[DIRTY]);
    check(&c, 1.65, [0.0, 0.65, 0.0, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!(c.outcome, Outcome::Absorbed);
    // Without: 9.0 until 13.0, 0.1.
    check_at(&last(&cached(""), &[DIRTY]), 13.1, Outcome::Miss);
}

#[test]
fn dirty_data_are_flushed_before_another_request_is_served() {
    // The read waits until 13.0; cylinder 3 at 16.0, tenth 8 at 18, the bus's preparation 0.05.
    let spec = cached("write_cache = \"always\"");
    let c = last(&spec, &[DIRTY, (2.0, R, 60, 1)]);
    check(&c, 19.05, [11.0, 0.05, 3.0, 0.0, 2.0, 1.0, 0.0]);
    // A write that does not append waits too: 13.0, data 13.05 until 13.3.
    let c = last(&spec, &[DIRTY, (2.0, W, 60, 1)]);
    check(&c, 13.4, [10.6, 0.55, 0.0, 0.0, 0.0, 0.0, 0.25]);
    // Flushed already, no command waits.
    let c = last(&spec, &[DIRTY, (14.0, W, 60, 1)]);
    check(&c, 14.8, [0.0, 0.55, 0.0, 0.0, 0.0, 0.0, 0.25]);
}

#[test]
fn what_appends_to_dirty_data_joins_their_pass() {
    let spec = cached("write_cache = \"always\"\ncombine_writes = true");
    let more = (2.0, W, 27, 2);
    check_at(&last(&spec, &[DIRTY, more]), 3.05, Outcome::Absorbed);
    // Blocks 27 and 28 follow at 13.0 until 15.0: a read waits for them; cylinder 3 at 18.0,
    // tenth 9 at 19.
    let c = last(&spec, &[DIRTY, more, (4.0, R, 61, 1)]);
    check(&c, 20.05, [11.0, 0.05, 3.0, 0.0, 1.0, 1.0, 0.0]);
    // Not combined it waits for the flush: 13.0, data until 13.55.
    let alone = cached("write_cache = \"always\"");
    check_at(&last(&alone, &[DIRTY, more]), 13.65, Outcome::Absorbed);
}

#[test]
fn only_streams_may_be_absorbed() {
    let spec = cached("write_cache = \"streams\"\ncombine_writes = true");
    check_at(&last(&spec, &[DIRTY]), 1.65, Outcome::Absorbed);
    let c = last(&spec, &[DIRTY, (2.0, W, 27, 2)]);
    check_at(&c, 3.05, Outcome::Absorbed);
    // Another place ends the stream: from 13.0 on, cylinder 3 at 16.0, tenth 8 at 18, 0.1.
    let c = last(&spec, &[DIRTY, (2.0, W, 60, 1)]);
    check_at(&c, 19.1, Outcome::Miss);
}

#[test]
fn what_an_append_appends_to_takes_room_too() {
    // Four dirty sectors and six more in a segment of eight: the last two wait for room, the
    // second of them until block 24 is written, at 11.0; it is there at 11.25.
    let spec = cached("write_cache = \"always\"\ncombine_writes = true");
    let c = last(&spec, &[DIRTY, (2.0, W, 27, 6)]);
    check_at(&c, 11.35, Outcome::Absorbed);
}

#[test]
fn waiting_for_a_flush_is_not_waiting_in_a_queue() {
    let spec = cached("write_cache = \"always\"");
    let c = last(&spec, &[DIRTY, (2.0, W, 60, 1)]);
    assert_eq!(c.breakdown.queue, diskarm_core::units::Span::ZERO);
    // The command is processed at 2.4 and the flush over at 13.0.
    assert!((c.breakdown.owed.as_ms() - 10.6).abs() < 1e-4, "{c:?}");
}
