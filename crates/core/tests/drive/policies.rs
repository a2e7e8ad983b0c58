//! Policies against brute force, and their estimates against the service.

use diskarm_core::device::{Completion, Device, Outcome};
use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, OpenLoop};
use diskarm_core::host::Host;
use diskarm_core::request::{Op, Request};
use diskarm_core::sched::{Estimate, Outlook, Pending, Policy, PolicyConfig, Rehearse};
use diskarm_core::spec::{PreSeek, Spec};
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};
use proptest::prelude::*;

use super::random::{Raw, cases, drive, fitted, rehearsed_drive, requests};
use super::tiny::{CompletionLog, request};

/// Shortest positioning time, scanning all pending requests.
#[derive(Default)]
struct BruteSptf(Vec<Pending>);

impl<E: Estimate> Policy<E> for BruteSptf {
    fn add(&mut self, pending: Pending, _: &E) {
        self.0.push(pending);
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        let place = self.0.iter().position(|p| p.request.id == id)?;
        Some(self.0.remove(place))
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        let outlook = drive.outlook(now);
        // The first of several minima: the earliest arrival.
        let min = (0..self.0.len()).min_by_key(|&i| {
            let request = &self.0[i].request;
            outlook.positioning(request, &drive.locate(request))
        })?;
        Some(self.0.remove(min))
    }
}

/// C-LOOK over a list that is sorted at every decision.
#[derive(Default)]
struct BruteCLook {
    pending: Vec<Pending>,
    last: Lbn,
}

impl<E: Estimate> Policy<E> for BruteCLook {
    fn add(&mut self, pending: Pending, _: &E) {
        self.pending.push(pending);
    }

    fn note_bypass(&mut self, request: &Request, _: &E) {
        self.last = request.start;
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        let place = self.pending.iter().position(|p| p.request.id == id)?;
        Some(self.pending.remove(place))
    }

    fn next(&mut self, _: Instant, _: &E) -> Option<Pending> {
        self.pending.sort_by_key(|p| p.request.start);
        let ahead = self
            .pending
            .iter()
            .position(|p| p.request.start >= self.last);
        if self.pending.is_empty() {
            return None;
        }
        let next = self.pending.remove(ahead.unwrap_or(0));
        self.last = next.request.start;
        Some(next)
    }
}

/// Returns a policy of the table, for any drive.
pub fn policy_maker(name: &str) -> impl Fn(&Drive) -> Box<dyn Policy<Drive>> {
    let choice: PolicyConfig = name.parse().expect("a policy");
    move |drive| choice.policy(drive)
}

pub fn through(
    spec: &Spec,
    raw: &[Raw],
    policy: impl Fn(&Drive) -> Box<dyn Policy<Drive>>,
) -> Vec<Completion> {
    let mut spec = spec.clone();
    spec.queue.depth = 1;
    let drive = Drive::new(&spec, Angle::from_fraction(2, 7)).expect("a valid layout");
    let asked = fitted(raw, spec.geometry.sectors.0);
    let mut now = Instant::START;
    let arrivals = (0..).zip(asked).map(|(id, (pause, op, start, n))| {
        // Close together, so that many are pending.
        now += Span::from_ns(pause.as_ns() / 16);
        (now, request(id, op, start, n))
    });
    let mut seen = CompletionLog::default();
    let policy = policy(&drive);
    let mut host = Host::new(drive, policy);
    engine::run(&mut host, &mut OpenLoop::new(arrivals), &mut seen).expect("accepted requests");
    seen.0
}

/// The estimates of a request that a scheduler gets.
struct Estimated {
    positioning: Span,
    seek: Span,
    is_buffered: bool,
    /// Returns when a rehearsal completes the request.
    done: Instant,
}

/// Returns the breakdown of `op` at `start`, submitted when the drive is idle, and the estimate,
/// measured from the end of the command overhead.
fn estimated(spec: &Spec, before: &[Raw], op: Op, start: u64) -> (Estimated, Completion) {
    let mut drive = Drive::new(spec, Angle::ZERO).expect("a valid layout");
    let mut done = Vec::new();
    let mut now = Instant::START;
    for (pause, op, start, n) in fitted(before, spec.geometry.sectors.0) {
        now += pause;
        drive
            .submit(now, request(0, op, start, n))
            .expect("an idle drive");
        while let Some(event) = drive.next_event() {
            now = event;
            done.extend(std::iter::from_fn(|| drive.advance(now)));
        }
    }
    let asked = request(1, op, start, 1);
    let (outlook, place) = (drive.outlook(now), drive.locate(&asked));
    let mut rehearsal = drive.rehearse();
    let estimated = Estimated {
        positioning: outlook.positioning(&asked, &place),
        seek: outlook.seek(&asked, &place),
        is_buffered: outlook.is_buffered(&asked),
        done: rehearsal.serve(now, &asked),
    };
    drive.submit(now, asked).expect("an idle drive");
    done.extend(std::iter::from_fn(|| {
        drive.advance(now + Span::from_s(100.0))
    }));
    (estimated, *done.last().expect("a completion"))
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn searching_outward_from_the_arm_matches_a_full_scan(
        spec in drive(), raw in requests(60),
    ) {
        let expected = through(&spec, &raw, |_| Box::new(BruteSptf::default()));
        prop_assert_eq!(through(&spec, &raw, policy_maker("sptf")), expected);
    }

    #[test]
    fn forcing_policies_are_sptf_until_they_force(spec in drive(), raw in requests(40)) {
        let expected = through(&spec, &raw, |_| Box::new(BruteSptf::default()));
        for name in ["satfuf", "satfdf", "satfdf(splice=both)", "satfgdf"] {
            let never = match name.strip_suffix(')') {
                Some(open) => format!("{open}, age=3600s)"),
                None => format!("{name}(age=3600s)"),
            };
            prop_assert_eq!(&through(&spec, &raw, policy_maker(&never)), &expected, "{}", never);
        }
    }

    #[test]
    fn clook_serves_a_sorted_list(spec in drive(), raw in requests(60)) {
        let expected = through(&spec, &raw, |_| Box::new(BruteCLook::default()));
        prop_assert_eq!(through(&spec, &raw, policy_maker("clook")), expected);
    }

    #[test]
    fn estimates_match_the_service(
        spec in rehearsed_drive(), before in requests(6), read in any::<bool>(),
        place in any::<u64>(),
    ) {
        let mut spec = spec;
        spec.queue.depth = 1;
        spec.queue.preseek = PreSeek::Acknowledged;
        let start = place % spec.geometry.sectors.0;
        let last = fitted(&before, spec.geometry.sectors.0).last().map(|&(_, _, s, n)| s + n);
        // The estimate is for a request that does not continue the previous one.
        let in_sequence = !read || spec.overheads.read_miss_in_sequence > Span::ZERO;
        prop_assume!(!in_sequence || last != Some(start));
        let op = if read { Op::Read } else { Op::Write };
        let (estimated, c) = estimated(&spec, &before, op, start);
        prop_assert_eq!(estimated.done, c.at);
        if read {
            prop_assert_eq!(estimated.is_buffered, c.outcome != Outcome::Miss, "{:#?}", c);
        }
        if c.outcome != Outcome::Miss {
            return Ok(());
        }
        let b = c.breakdown;
        let hold = if read { Span::ZERO } else { b.bus };
        prop_assert_eq!(estimated.seek, b.seek + b.settle, "{:#?}", c);
        prop_assert_eq!(estimated.positioning, b.seek + b.settle + hold + b.rotation, "{:#?}", c);
        prop_assert_eq!(c.request.sectors, SectorCount(1));
    }
}
