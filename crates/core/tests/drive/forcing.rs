//! The forcing policies keep their promises to old requests, and make no others.

use std::sync::{Arc, Mutex};

use diskarm_core::drive::Drive;
use diskarm_core::request::Request;
use diskarm_core::sched::{Estimate, Outlook, Pending, Policy, Rehearse};
use diskarm_core::spec::Spec;
use diskarm_core::units::{Instant, Span};
use proptest::prelude::*;

use super::bounds::batch;
use super::policies::{policy_maker, through};
use super::random::{Raw, cases, rehearsed_drive, requests};
use super::tiny::{R, request, tiny};

/// A promise: the request and its deadline.
type Promises = Arc<Mutex<Vec<(u64, Instant)>>>;

/// Observes a policy's decisions from outside, and checks them against figure 6 of jacobson91.
struct Spy {
    inner: Box<dyn Policy<Drive>>,
    n: usize,
    age: Span,
    slack: Span,
    /// Selects the shortest positioning time among requests that fit.
    greedy: bool,
    pending: Vec<Pending>,
    /// Open promises, in order.
    open: Vec<(Request, Instant)>,
    all: Promises,
}

impl Spy {
    /// Promises the oldest requests the instants they would get if served now, plus the slack.
    fn promise(&mut self, mut now: Instant, drive: &Drive) {
        let mut oldest: Vec<Request> = self
            .pending
            .iter()
            .take(self.n)
            .map(|p| p.request)
            .collect();
        let mut rehearsal = drive.rehearse();
        while !oldest.is_empty() {
            let (nearest, _) = (0..oldest.len())
                .map(|i| (i, positioning(&rehearsal, now, &oldest[i])))
                .min_by_key(|&(_, positioning)| positioning)
                .expect("one at least");
            let request = oldest.remove(nearest);
            now = rehearsal.serve(now, &request);
            self.open.push((request, now + self.slack));
            self.all
                .lock()
                .unwrap()
                .push((request.id, now + self.slack));
        }
    }

    /// Returns true if serving `request` first breaks no promise.
    fn fits(&self, now: Instant, drive: &Drive, request: &Request) -> bool {
        let mut rehearsal = drive.rehearse();
        let mut at = rehearsal.serve(now, request);
        self.open.iter().all(|(promised, due)| {
            at = rehearsal.serve(at, promised);
            at <= *due
        })
    }

    fn check(&mut self, now: Instant, drive: &Drive, chosen: &Request) {
        // Neither promised nor identical to a promised one: the older of two goes first.
        let repeats = |r: &Request, promised: &Request| {
            *r == Request {
                id: r.id,
                ..*promised
            }
        };
        let is_free = |r: &Request| !self.open.iter().any(|(open, _)| repeats(r, open));
        let free = self.pending.iter().map(|p| p.request).filter(is_free);
        let fitting: Vec<Request> = free.filter(|r| self.fits(now, drive, r)).collect();
        if fitting.is_empty() {
            assert_eq!(
                *chosen, self.open[0].0,
                "nothing fits: the promise is served"
            );
            self.open.remove(0);
            return;
        }
        assert!(
            fitting.contains(chosen),
            "{chosen:?} breaks a promise: {:?}",
            self.open
        );
        if self.greedy {
            let min = fitting.iter().min_by_key(|r| positioning(drive, now, r));
            assert_eq!(Some(chosen), min);
        }
    }
}

/// jacobson91's access time (section 4).
fn positioning<E: Estimate>(drive: &E, now: Instant, request: &Request) -> Span {
    drive
        .outlook(now)
        .positioning(request, &drive.locate(request))
}

impl Policy<Drive> for Spy {
    fn add(&mut self, pending: Pending, drive: &Drive) {
        self.pending.push(pending);
        self.inner.add(pending, drive);
    }

    fn note_bypass(&mut self, request: &Request, drive: &Drive) {
        self.inner.note_bypass(request, drive);
    }

    fn next(&mut self, now: Instant, drive: &Drive) -> Option<Pending> {
        let chosen = self.inner.next(now, drive)?;
        if self.open.is_empty() && now - self.pending[0].arrived >= self.age {
            self.promise(now, drive);
        }
        if self.open.is_empty() {
            let all = self.pending.iter();
            let min = all.min_by_key(|p| positioning(drive, now, &p.request));
            assert_eq!(
                Some(&chosen),
                min,
                "no request is too old: shortest positioning time"
            );
        } else {
            self.check(now, drive, &chosen.request);
        }
        self.pending.retain(|p| p.request.id != chosen.request.id);
        Some(chosen)
    }

    fn take(&mut self, _: u64) -> Option<Pending> {
        unreachable!("never called")
    }
}

/// Runs a policy under observation, and asserts that it keeps its promises.
fn watch(spec: &Spec, raw: &[Raw], name: &str, n: usize, age: Span, revolutions: u64) {
    let all = Promises::default();
    let done = through(spec, raw, |drive| {
        Box::new(Spy {
            inner: policy_maker(name)(drive),
            n,
            age,
            slack: drive.shape().revolution * revolutions,
            greedy: !name.contains("both") && !name.contains("gdf"),
            pending: Vec::new(),
            open: Vec::new(),
            all: all.clone(),
        })
    });
    for &(id, due) in all.lock().unwrap().iter() {
        let completion = done
            .iter()
            .find(|c| c.request.id == id)
            .expect("it was served");
        assert!(completion.at <= due, "{name}: {completion:?} after {due:?}");
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn promises_are_kept_and_the_slack_is_used(
        spec in rehearsed_drive(), raw in requests(40),
        n in 1..4usize, age in 0..60u64, revolutions in 0..4u64,
    ) {
        let written = format!("age={age}ms");
        let age = Span::from_ms(age as f64);
        let uf = format!("satfuf(n={n}, {written})");
        watch(&spec, &raw, &uf, n, age, 0);
        for splice in ["forward", "both"] {
            let df =
                format!("satfdf(n={n}, revolutions={revolutions}, {written}, splice={splice})");
            watch(&spec, &raw, &df, n, age, revolutions);
        }
        let gdf = format!("satfgdf(revolutions={}, {written})", revolutions + 1);
        watch(&spec, &raw, &gdf, 1, age, revolutions + 1);
    }
}

/// Block 100 is reached at 10 ms and done at 11. Block 27 is done at 4 ms, and block 100 can still
/// be reached at 9. Block 20 is done at 7 ms at the earliest, and then block 100 cannot be reached
/// before 12: it waits until 20.
#[test]
fn only_requests_that_do_not_delay_the_oldest_go_first() {
    let spec = tiny("");
    let requests = [100, 27, 20].map(|start| request(start, R, start, 1));
    let order = |name: &str| batch(&spec, &requests, policy_maker(name)).0;
    assert_eq!(order("satf-la(i=1)"), [27, 20, 100]);
    assert_eq!(order("satfuf(age=0s)"), [27, 100, 20]);
    assert_eq!(
        order("satfdf(revolutions=0, age=0s, splice=both)"),
        [27, 100, 20]
    );
    for name in [
        "satfdf(revolutions=1, age=0s)",
        "satfgdf(revolutions=1, age=0s)",
    ] {
        assert_eq!(order(name), [27, 20, 100], "{name}");
    }
}
