//! Look-ahead and the bounds, against brute force.

use diskarm_core::device::Device;
use diskarm_core::drive::Drive;
use diskarm_core::request::Request;
use diskarm_core::sched::{Estimate, INFOS, Outlook, Pending, Policy, Rehearse};
use diskarm_core::spec::Spec;
use diskarm_core::units::{Angle, Instant};
use proptest::prelude::*;

use super::policies::{policy_maker, through};
use super::random::{Raw, cases, drive, fitted, rehearsed_drive, requests};
use super::tiny::request;

/// Requests that are all pending at the start.
pub fn waiting(spec: &Spec, raw: &[Raw]) -> Vec<Request> {
    let asked = fitted(raw, spec.geometry.sectors.0);
    let requests = (0..)
        .zip(asked)
        .map(|(id, (_, op, start, n))| request(id, op, start, n));
    requests.collect()
}

fn fresh(spec: &Spec) -> Drive {
    let mut spec = spec.clone();
    spec.queue.depth = 1;
    Drive::new(&spec, Angle::ZERO).expect("a valid layout")
}

/// Serves a request on an idle drive, and returns its completion instant.
fn serve(drive: &mut Drive, now: Instant, request: Request) -> Instant {
    drive.submit(now, request).expect("an idle drive");
    let mut at = now;
    while let Some(event) = drive.next_event() {
        at = event;
        while drive.advance(at).is_some() {}
    }
    at
}

/// Returns the order in which a policy serves a closed batch, by index, and its last completion.
pub fn batch(
    spec: &Spec,
    requests: &[Request],
    policy: impl Fn(&Drive) -> Box<dyn Policy<Drive>>,
) -> (Vec<u64>, Instant) {
    let mut drive = fresh(spec);
    let mut policy = policy(&drive);
    for &request in requests {
        let arrived = Instant::START;
        policy.add(Pending { request, arrived }, &drive);
    }
    let mut now = Instant::START;
    let mut order = Vec::new();
    while let Some(pending) = policy.next(now, &drive) {
        now = serve(&mut drive, now, pending.request);
        order.push(pending.request.id);
    }
    (order, now)
}

/// Returns when the last request of a closed batch in the drive's own queue completes.
fn inside(spec: &Spec, requests: &[Request], policy: &str) -> Instant {
    let mut spec = spec.clone();
    spec.queue.depth = 100;
    spec.queue.policy = policy.parse().expect("a policy");
    let mut drive = Drive::new(&spec, Angle::ZERO).expect("a valid layout");
    for &request in requests {
        drive.submit(Instant::START, request).expect("room");
    }
    let mut last = Instant::START;
    while let Some(event) = drive.next_event() {
        while let Some(completion) = drive.advance(event) {
            last = last.max(completion.at);
        }
    }
    last
}

/// Returns all orders of `rest` after `begun`, in ascending order.
fn orders(begun: &[u64], rest: &[u64]) -> Vec<Vec<u64>> {
    if rest.is_empty() {
        return vec![begun.to_vec()];
    }
    let next = rest.iter().map(|&first| {
        let left: Vec<u64> = rest.iter().copied().filter(|&i| i != first).collect();
        orders(&[begun, &[first]].concat(), &left)
    });
    next.flatten().collect()
}

/// Returns the first of the best orders, each served in full by its own drive.
fn best_order(spec: &Spec, requests: &[Request]) -> (Vec<u64>, Instant) {
    let all: Vec<u64> = (0..requests.len() as u64).collect();
    let served = orders(&[], &all).into_iter().map(|order| {
        let mut drive = fresh(spec);
        let over = order.iter().fold(Instant::START, |now, &i| {
            serve(&mut drive, now, requests[i as usize])
        });
        (order, over)
    });
    served.min_by_key(|(_, over)| *over).expect("an order")
}

/// The requests that look-ahead chooses among, and its parameters.
#[derive(Default)]
struct Brute {
    pending: Vec<Pending>,
    far: usize,
    alpha: f64,
    strict: bool,
    bound: Vec<u64>,
}

impl Brute {
    fn looking(far: usize, alpha: f64, strict: bool) -> Box<Self> {
        Box::new(Self {
            far,
            alpha,
            strict,
            ..Self::default()
        })
    }

    /// Returns the sum of a sequence of indices, computed from its end as the formula is nested.
    fn sum<R: Rehearse>(&self, drive: &R, now: Instant, sequence: &[usize]) -> f64 {
        let Some((&first, rest)) = sequence.split_first() else {
            return 0.0;
        };
        let request = self.pending[first].request;
        let access = drive.outlook(now).access(&request, &drive.locate(&request));
        let mut after = drive.clone();
        let then = after.serve(now, &request);
        access.as_ns() as f64 + self.alpha * self.sum(&after, then, rest)
    }
}

impl<E: Estimate> Policy<E> for Brute {
    fn add(&mut self, pending: Pending, _: &E) {
        self.pending.push(pending);
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        let place = self.pending.iter().position(|p| p.request.id == id)?;
        Some(self.pending.remove(place))
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        if self.bound.is_empty() {
            let all: Vec<u64> = (0..self.pending.len() as u64).collect();
            let far = self.far.min(all.len());
            let mut sequences: Vec<Vec<usize>> = orders(&[], &all)
                .iter()
                .map(|order| order[..far].iter().map(|&i| i as usize).collect())
                .collect();
            sequences.dedup();
            let rehearsal = drive.rehearse();
            let sums = sequences.iter().map(|s| self.sum(&rehearsal, now, s));
            let (_, best) = sums.zip(&sequences).min_by(|a, b| a.0.total_cmp(&b.0))?;
            let served = if self.strict { far } else { 1.min(far) };
            self.bound = best[..served]
                .iter()
                .map(|&i| self.pending[i].request.id)
                .collect();
        }
        if self.bound.is_empty() {
            return None;
        }
        let id = self.bound.remove(0);
        Policy::<E>::take(self, id)
    }
}

/// Serves the shortest access time, found by scanning all requests.
#[derive(Default)]
pub struct Satf {
    pending: Vec<Pending>,
}

impl<E: Estimate> Policy<E> for Satf {
    fn add(&mut self, pending: Pending, _: &E) {
        self.pending.push(pending);
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        let place = self.pending.iter().position(|p| p.request.id == id)?;
        Some(self.pending.remove(place))
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        let outlook = drive.outlook(now);
        let min = (0..self.pending.len()).min_by_key(|&i| {
            let request = &self.pending[i].request;
            outlook.access(request, &drive.locate(request))
        })?;
        Some(self.pending.remove(min))
    }
}

/// Every policy of the table, with the parameters of its example.
fn all() -> impl Iterator<Item = &'static str> {
    INFOS.iter().map(|info| info.name)
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn oat_serves_the_first_of_the_best_orders(spec in rehearsed_drive(), raw in requests(6)) {
        let requests = waiting(&spec, &raw);
        let best = best_order(&spec, &requests);
        prop_assert_eq!(&batch(&spec, &requests, policy_maker("oat")), &best);
        prop_assert_eq!(&batch(&spec, &requests, policy_maker("oat-batch(n=5)")), &best);
        // Recomputed for each decision, the rest of the best order is the best order of the rest.
        prop_assert_eq!(&batch(&spec, &requests, policy_maker("oat-window(n=5)")), &best);
    }

    #[test]
    fn no_policy_beats_oat_on_a_closed_batch(spec in rehearsed_drive(), raw in requests(7)) {
        let requests = waiting(&spec, &raw);
        let (_, bound) = batch(&spec, &requests, policy_maker("oat"));
        for name in all() {
            let (order, over) = batch(&spec, &requests, policy_maker(name));
            prop_assert!(over >= bound, "{}: {:?} {:?} {:?}", name, order, over, bound);
        }
    }

    #[test]
    fn no_policy_beats_oat_in_the_drives_own_queue(spec in rehearsed_drive(), raw in requests(6)) {
        let requests = waiting(&spec, &raw);
        let bound = inside(&spec, &requests, "oat");
        for name in all() {
            let over = inside(&spec, &requests, name);
            prop_assert!(over >= bound, "{}: {:?} {:?}", name, over, bound);
        }
    }

    #[test]
    fn one_request_leaves_no_choice(spec in drive(), raw in requests(2)) {
        let requests = waiting(&spec, &raw);
        let expected = batch(&spec, &requests, policy_maker("fcfs"));
        for name in all() {
            prop_assert_eq!(&batch(&spec, &requests, policy_maker(name)), &expected, "{}", name);
        }
    }

    #[test]
    fn every_policy_serves_each_request_once(spec in drive(), raw in requests(30)) {
        for name in all() {
            let done = through(&spec, &raw, policy_maker(name));
            let mut served: Vec<u64> = done.iter().map(|c| c.request.id).collect();
            served.sort_unstable();
            prop_assert!(served.iter().copied().eq(0..raw.len() as u64), "{}", name);
        }
    }

    #[test]
    fn windows_of_one_are_fcfs(spec in drive(), raw in requests(40)) {
        let expected = through(&spec, &raw, policy_maker("fcfs"));
        prop_assert_eq!(&through(&spec, &raw, policy_maker("oat-batch(n=1)")), &expected);
        prop_assert_eq!(&through(&spec, &raw, policy_maker("oat-window(n=1)")), &expected);
    }

    #[test]
    fn looking_two_ahead_finds_the_best_pair(
        spec in drive(), raw in requests(6), alpha in 1..=4u8,
    ) {
        // Quarters, so that sums are exact in any order. With zero, brute force could not
        // distinguish the requests after the first.
        let requests = waiting(&spec, &raw);
        let alpha = f64::from(alpha) / 4.0;
        for (strict, written) in [(false, "no"), (true, "yes")] {
            for far in 1..=3 {
                let name = format!("satf-la(i={far}, alpha={alpha}, strict={written})");
                let expected = batch(&spec, &requests, |_| Brute::looking(far, alpha, strict));
                prop_assert_eq!(batch(&spec, &requests, policy_maker(&name)), expected, "{}", name);
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn look_ahead_with_zero_weight_is_satf(spec in drive(), raw in requests(40)) {
        let expected = through(&spec, &raw, |_| Box::new(Satf::default()));
        for name in [
            "satf-la(alpha=0)",
            "satf-la(i=1, alpha=1)",
            "satf-la(i=4, alpha=0)",
            "oat(most=1)",
        ] {
            prop_assert_eq!(&through(&spec, &raw, policy_maker(name)), &expected, "{}", name);
        }
    }
}
