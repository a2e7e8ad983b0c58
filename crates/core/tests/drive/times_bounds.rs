//! A stream of near requests and one far away: which policies starve it, and which keep which
//! bound.

use diskarm_core::device::Completion;
use diskarm_core::request::Op;
use diskarm_core::sched::INFOS;
use diskarm_core::units::{Instant, Span};
use proptest::prelude::*;

use super::policies::{policy_maker, through};
use super::random::{cases, requests};
use super::tiny::{Arrival, R, W, serve_all, tiny};

/// The far request, which arrives when this many near ones are pending.
const FAR: u64 = 40;
const NEAR: u64 = 1000;

/// Forty reads of cylinder 0 at once, and another every 2 ms; at 1 ms a request of the innermost
/// cylinder. The fewer near ones are pending, the longer the heads wait for one of them, and the
/// more arrive meanwhile: there is always one nearer than the 10 ms of the long seek.
fn stream(policy: &str, op: Op) -> Vec<Completion> {
    let at = |i: u64| i.saturating_sub(FAR - 1) as f64 * 2.0;
    let near = (0..NEAR).map(|i| (at(i), R, i * 7 % 20, 1));
    let mut asked: Vec<Arrival> = near.collect();
    asked.insert(FAR as usize, (1.0, op, 185, 1));
    let depth = asked.len();
    let spec = tiny(&format!(
        "[queue]\ndepth = {depth}\npolicy = \"{policy}\"\n"
    ));
    let served = serve_all(&spec, &asked);
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

/// The bound that a policy's documentation gives for the far request.
#[derive(Clone, Copy)]
enum Bound {
    /// No bound: at least nine tenths of the near ones go first.
    None,
    /// Only requests that arrive within this many ms after it may go first.
    Arrived(f64),
    /// This many later arrivals may go first.
    Later(usize),
    /// This many are chosen before it once it has waited for this many ms.
    Chosen(f64, usize),
    /// The arm reverses this many times before it gets there.
    Returns(usize),
    /// It completes this many ms after it has waited for 100 ms and no earlier one is left.
    Forced(f64),
}

/// The bound of each policy of the table. No positioning takes above 10 ms of seek, 1 of head
/// switch and 10 of rotation: with 60 ms subtracted per second of waiting, that is 350 ms of
/// arrivals; a sector takes 1 ms. A forced request takes 22 ms, and so does the one in service when
/// it becomes too old; a revolution of slack takes 10 ms.
const BOUNDS: &[(&str, Op, Bound)] = &[
    ("fcfs", R, Bound::Later(0)),
    ("sstf", R, Bound::None),
    ("scan", R, Bound::Returns(1)),
    ("look", R, Bound::Returns(1)),
    ("cscan", R, Bound::Returns(1)),
    ("clook", R, Bound::Returns(1)),
    ("vscan", R, Bound::None),
    ("vscan(r=1)", R, Bound::Returns(1)),
    ("cvscan", R, Bound::None),
    ("cvscan(r=1)", R, Bound::Returns(1)),
    ("wscan", R, Bound::None),
    ("wscan(f=0%)", R, Bound::Returns(1)),
    ("cscan-la(i=1)", R, Bound::Returns(1)),
    ("sptf", R, Bound::None),
    ("satf", R, Bound::None),
    ("sptf-sw", R, Bound::None),
    ("asptf(w=60)", R, Bound::Arrived(350.0)),
    ("asptf(w=0)", R, Bound::None),
    ("asatf(w=60)", R, Bound::Arrived(350.0)),
    ("wstf(m=100 ms)", R, Bound::Chosen(100.0, 0)),
    ("saptf", R, Bound::None),
    ("spctf", R, Bound::None),
    ("aspctf(w=60)", R, Bound::Arrived(350.0)),
    ("aspctf-seq(w=60)", R, Bound::Arrived(350.0)),
    ("satfuf(age=100 ms)", R, Bound::Forced(44.0)),
    ("satfdf(age=100 ms, revolutions=5)", R, Bound::Forced(94.0)),
    (
        "satfdf(age=100 ms, revolutions=5, splice=both)",
        R,
        Bound::Forced(94.0),
    ),
    ("satfgdf(age=100 ms, revolutions=5)", R, Bound::Forced(94.0)),
    ("gstf(n=2)", R, Bound::None),
    // The result is below.
    ("bsatf", R, Bound::Arrived(350.0)),
    ("lbsatf", R, Bound::Arrived(350.0)),
    ("sw-sptf(n=30)", R, Bound::None),
    ("sw-sptf(n=1)", R, Bound::Later(0)),
    ("wb-sptf(t=50 ms)", R, Bound::Arrived(50.0)),
    // The queue never holds more than all requests.
    (
        "wb-sptf(t=0.1 ms, dynamic=yes)",
        R,
        Bound::Arrived(0.1 * (NEAR + 1) as f64),
    ),
    ("satf-la", R, Bound::None),
    ("hol", R, Bound::Later(0)),
    ("hol", W, Bound::None),
    ("hol(within=sptf)", R, Bound::None),
    ("sptf-cp", R, Bound::None),
    ("oat(most=1)", R, Bound::None),
    ("oat-batch(n=5)", R, Bound::Later(4)),
    ("oat-window(n=5)", R, Bound::None),
    ("limited(wait=100 ms)", R, Bound::Chosen(100.0, 0)),
    (
        "mq-deadline(writes=100 ms)",
        W,
        Bound::Chosen(100.0, 16 * 3),
    ),
    (
        "mq-deadline(writes=100 ms, batch=4, starved=30)",
        W,
        Bound::Chosen(100.0, 4 * 31),
    ),
];

/// Returns true if the far request kept the bound.
fn keeps(served: &[Completion], bound: Bound) -> bool {
    let before = &served[..far(served)];
    let later = before.iter().filter(|c| c.request.id > FAR);
    match bound {
        Bound::None => before.len() as u64 >= NEAR * 9 / 10,
        Bound::Arrived(after) => later.map(|c| c.arrived).max() <= Some(ms(1.0 + after)),
        Bound::Later(max) => later.count() <= max,
        Bound::Chosen(wait, max) => chosen_after(served, ms(1.0 + wait)) <= max,
        Bound::Returns(max) => {
            let waited = before.iter().filter(|c| c.at > ms(1.0));
            let blocks: Vec<u64> = waited.map(|c| c.request.start.0).collect();
            // Under LOOK the arm also moves back over many blocks, one by one.
            let is_return = |pair: &&[u64]| pair[1] < pair[0];
            let runs = blocks.windows(2).collect::<Vec<_>>();
            let begins = |at: usize| is_return(&runs[at]) && (at == 0 || !is_return(&runs[at - 1]));
            (0..runs.len()).filter(|&at| begins(at)).count() <= max
        }
        Bound::Forced(within) => {
            let older = before.iter().filter(|c| c.request.id < FAR).map(|c| c.at);
            let from = older.max().unwrap_or(ms(0.0)).max(ms(101.0));
            served[before.len()].at <= from + Span::from_ms(within)
        }
    }
}

#[test]
fn every_policy_of_the_table_keeps_its_bound_or_starves() {
    for &(written, op, bound) in BOUNDS {
        let served = stream(written, op);
        assert!(keeps(&served, bound), "{written} {}", far(&served));
    }
    for info in INFOS {
        let name = |written: &str| written.split('(').next() == Some(info.name);
        assert!(
            BOUNDS.iter().any(|(written, ..)| name(written)),
            "{}",
            info.name
        );
    }
}

/// A policy without a bound breaks each of the bounds here.
#[test]
fn shortest_positioning_time_breaks_every_bound() {
    let served = stream("sptf", R);
    for &(written, _, bound) in BOUNDS {
        let is_none = matches!(bound, Bound::None);
        assert_eq!(keeps(&served, bound), is_none, "{written}");
    }
}

#[test]
fn batches_bound_overtaking() {
    let batched = stream("bsatf", R);
    // The first batch is the requests of 0 ms; the far one's batch is taken when that is done.
    let first = batched.iter().filter(|c| c.arrived == Instant::START);
    let taken = first.map(|c| c.at).max().expect("a first batch");
    let overtook = batched[..far(&batched)].iter().map(|c| c.arrived).max();
    assert!((Some(ms(30.0))..=Some(taken)).contains(&overtook));
    let is_of_batch = |c: &&Completion| c.arrived <= taken;
    let deadline = batched.iter().filter(is_of_batch).map(|c| c.at).max();
    let leaky = stream("lbsatf", R);
    assert!(Some(leaky[far(&leaky)].at) <= deadline);
}

/// Number of requests chosen after `from` and before the far one. A request is chosen when the
/// previous one is done.
fn chosen_after(served: &[Completion], from: Instant) -> usize {
    let before = &served[..far(served)];
    before
        .iter()
        .filter(|c| c.at > from)
        .count()
        .saturating_sub(1)
}

/// Returns a request, the later ones that were served before it, and when each of these was chosen.
fn overtakings(served: &[Completion]) -> impl Iterator<Item = (Completion, Completion, Instant)> {
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
        let run = |policy: &str| through(&tiny(""), &raw, policy_maker(policy));
        // 21 ms of positioning at most, by 600 ms a second.
        for (policy, bound_ms) in [
            ("asptf(w=600)", 35.0), ("asatf(w=600)", 35.0), ("aspctf(w=600)", 35.0),
            ("wb-sptf(t=20 ms)", 20.0), ("wb-sptf(t=1 ms, dynamic=yes)", 60.0),
        ] {
            for (own, other, _) in overtakings(&run(policy)) {
                let after = other.arrived - own.arrived;
                prop_assert!(after <= Span::from_ms(bound_ms), "{} {:?}", policy, after);
            }
        }
        for policy in ["wstf(m=50 ms)", "limited(wait=50 ms, policy=satf)"] {
            for (own, _, chosen) in overtakings(&run(policy)) {
                let waited = chosen.since_or_zero(own.arrived);
                prop_assert!(waited <= Span::from_ms(50.0), "{} {:?}", policy, waited);
            }
        }
    }
}
