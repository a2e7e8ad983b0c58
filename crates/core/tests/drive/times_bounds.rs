//! A stream of near requests before one far away: who starves it, and who keeps which bound.

use diskarm_core::drive::Completion;
use diskarm_core::request::Op;
use diskarm_core::units::{Instant, Span};
use proptest::prelude::*;

use super::policies::{known, through};
use super::random::{cases, requests};
use super::tiny::{Asked, R, W, served, tiny};

/// The far request, which arrives when so many near ones wait.
const FAR: u64 = 40;
const NEAR: u64 = 1000;

/// Forty reads of cylinder 0 at once, and another every 2 ms; at 1 ms a request of the innermost
/// cylinder. The fewer near ones wait, the longer the heads wait for one of them, and the more
/// arrive meanwhile: there is always one nearer than the 10 ms of the long seek.
fn stream(policy: &str, op: Op) -> Vec<Completion> {
    let at = |i: u64| i.saturating_sub(FAR - 1) as f64 * 2.0;
    let near = (0..NEAR).map(|i| (at(i), R, i * 7 % 20, 1));
    let mut asked: Vec<Asked> = near.collect();
    asked.insert(FAR as usize, (1.0, op, 185, 1));
    let depth = asked.len();
    let spec = tiny(&format!(
        "[queue]\ndepth = {depth}\npolicy = \"{policy}\"\n"
    ));
    let served = served(&spec, &asked);
    assert_eq!(served.len(), depth, "{policy}");
    served
}

fn far(served: &[Completion]) -> usize {
    let place = served.iter().position(|c| c.request.id == FAR);
    place.expect("it is served")
}

fn ms(ms: f64) -> Instant {
    Instant::START + Span::from_ms(ms)
}

#[test]
fn those_without_a_bound_starve_it() {
    for policy in [
        "sptf",
        "satf",
        "spctf",
        "sptf-sw",
        "sptf-cp",
        "hol",
        "saptf",
        "gstf(n=2)",
        "sw-sptf(n=30)",
        "asptf(w=0)",
    ] {
        let served = stream(policy, R);
        assert_eq!(far(&served), served.len() - 1, "{policy}");
    }
    let served = stream("hol", W);
    assert_eq!(far(&served), served.len() - 1);
}

/// The last arrival among those that were served before the far one.
fn last_to_overtake(served: &[Completion]) -> Instant {
    let before = served[..far(served)].iter();
    before.map(|c| c.arrived).max().expect("one was")
}

#[test]
fn aging_bounds_the_age_of_those_that_overtake() {
    // No positioning takes above 10 ms of seek, 1 of head switch and 10 of rotation. With 60 ms
    // a second, those that arrive 350 ms later are behind. A sector takes 1 ms.
    for policy in ["asptf(w=60)", "asatf(w=60)", "aspctf(w=60)"] {
        let last = last_to_overtake(&stream(policy, R));
        assert!(last <= ms(1.0 + 350.0), "{policy} {last:?}");
    }
}

#[test]
fn windows_bound_the_age_of_those_that_overtake() {
    let last = last_to_overtake(&stream("wb-sptf(t=50 ms)", R));
    assert!(last <= ms(1.0 + 50.0), "{last:?}");
    // The queue never holds more than all.
    let last = last_to_overtake(&stream("wb-sptf(t=0.1 ms, dynamic=yes)", R));
    assert!(last <= ms(1.0 + 0.1 * (NEAR + 1) as f64), "{last:?}");
}

/// How many were chosen after `from` and before the far one. A request is chosen when the one
/// before it is done.
fn chosen_after(served: &[Completion], from: Instant) -> usize {
    let before = &served[..far(served)];
    before
        .iter()
        .filter(|c| c.at > from)
        .count()
        .saturating_sub(1)
}

#[test]
fn longest_waits_bound_the_choice() {
    for policy in ["wstf(m=100 ms)", "limited(wait=100 ms)"] {
        let served = stream(policy, R);
        // The one older request is gone by then, so that none is chosen.
        assert_eq!(chosen_after(&served, ms(1.0 + 100.0)), 0, "{policy}");
        assert!(far(&served) > 10, "{policy}: the limit was not needed");
    }
}

#[test]
fn batches_bound_who_overtakes() {
    let batched = stream("bsatf", R);
    // The first batch is what came at 0 ms; its own is taken when that is done.
    let first = batched.iter().filter(|c| c.arrived == Instant::START);
    let taken = first.map(|c| c.at).max().expect("a first batch");
    assert!((ms(30.0)..=taken).contains(&last_to_overtake(&batched)));
    let is_of_batch = |c: &&Completion| c.arrived <= taken;
    let deadline = batched.iter().filter(is_of_batch).map(|c| c.at).max();
    let leaky = stream("lbsatf", R);
    assert!(Some(leaky[far(&leaky)].at) <= deadline);
}

#[test]
fn mq_deadline_serves_an_expired_write_within_three_batches() {
    let served = stream("mq-deadline(writes=100 ms)", W);
    let chosen = chosen_after(&served, ms(1.0 + 100.0));
    assert!(chosen < 16 * 3, "{chosen}");
    // A smaller batch keeps a smaller bound.
    let served = stream("mq-deadline(writes=100 ms, batch=4, starved=30)", W);
    let chosen = chosen_after(&served, ms(1.0 + 100.0));
    assert!(0 < chosen && chosen < 4 * 31, "{chosen}");
}

/// A request, the later ones that were served before it, and when each of these was chosen.
fn overtaken(served: &[Completion]) -> impl Iterator<Item = (Completion, Completion, Instant)> {
    (1..served.len()).flat_map(move |at| {
        let own = served[at];
        let later = (1..at).filter(move |&i| served[i].arrived > own.arrived);
        later.map(move |i| (own, served[i], served[i - 1].at))
    })
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn bounds_hold_on_random_requests(raw in requests(60)) {
        let run = |policy: &str| through(&tiny(""), &raw, known(policy));
        // 21 ms of positioning at most, by 600 ms a second.
        for (policy, bound_ms) in [
            ("asptf(w=600)", 35.0), ("asatf(w=600)", 35.0), ("aspctf(w=600)", 35.0),
            ("wb-sptf(t=20 ms)", 20.0), ("wb-sptf(t=1 ms, dynamic=yes)", 60.0),
        ] {
            for (own, other, _) in overtaken(&run(policy)) {
                let after = other.arrived - own.arrived;
                prop_assert!(after <= Span::from_ms(bound_ms), "{} {:?}", policy, after);
            }
        }
        for policy in ["wstf(m=50 ms)", "limited(wait=50 ms, policy=satf)"] {
            for (own, _, chosen) in overtaken(&run(policy)) {
                let waited = chosen.since_or_zero(own.arrived);
                prop_assert!(waited <= Span::from_ms(50.0), "{} {:?}", policy, waited);
            }
        }
    }
}
