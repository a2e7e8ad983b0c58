//! The instant at which a policy's limit on waiting takes effect, to the nanosecond.

use diskarm_core::drive::Drive;
use diskarm_core::sched::{Pending, PolicyConfig};
use diskarm_core::units::{Angle, Instant};

use super::tiny::{R, request, tiny};

/// Returns which of two reads is served first when both have waited this long: 0 is the oldest and
/// far away, 1 is near. On the tiny drive at 100 ms, the heads reach block 8 after 8 ms; block 150
/// is seven cylinders away, at tenth 4, which is reached after a seek of 8 ms and a wait of 6 ms.
fn first(policy: &str, waited_ns: u64) -> u64 {
    let drive = Drive::new(&tiny(""), Angle::ZERO).expect("a valid layout");
    let config = PolicyConfig::parse(policy, "policy").expect("a policy");
    let mut policy = config.policy(&drive);
    // Ends the first batch of mq-deadline, within which nothing expires.
    policy.note_bypass(&request(2, R, 0, 1), &drive);
    for (id, block) in [(0, 150), (1, 8)] {
        let request = request(id, R, block, 1);
        let arrived = Instant::START;
        policy.add(Pending { request, arrived }, &drive);
    }
    let next = policy.next(Instant::from_ns(waited_ns), &drive);
    next.expect("a request").request.id
}

const LIMIT_NS: u64 = 100_000_000;

#[test]
fn a_request_expires_when_its_time_is_over() {
    let policy = "mq-deadline(reads=100 ms, batch=1)";
    assert_eq!(first(policy, LIMIT_NS - 1), 1);
    assert_eq!(first(policy, LIMIT_NS), 0);
}

#[test]
fn a_request_may_wait_as_long_as_the_limit_but_no_longer() {
    let policy = "limited(wait=100 ms, policy=sstf)";
    assert_eq!(first(policy, LIMIT_NS), 1);
    assert_eq!(first(policy, LIMIT_NS + 1), 0);
}

/// Serving block 8 first would end at 109 ms, and the seek after it at 117 ms: too late for block
/// 150 at 114 ms.
#[test]
fn a_request_is_forced_when_it_reaches_the_age() {
    let policy = "satfuf(age=100 ms)";
    assert_eq!(first(policy, LIMIT_NS - 1), 1);
    assert_eq!(first(policy, LIMIT_NS), 0);
}
