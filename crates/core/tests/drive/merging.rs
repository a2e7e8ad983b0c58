//! Merging in the host's queue: worked out by hand, against a second implementation, and under
//! every policy of the table.

use std::sync::{Arc, Mutex};

use diskarm_core::device::{Completion, Device, SubmitError};
use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, OpenLoop};
use diskarm_core::host::Host;
use diskarm_core::request::Request;
use diskarm_core::sched::{Estimate, Pending, Policy, PolicyConfig};
use diskarm_core::spec::Spec;
use diskarm_core::units::{Angle, Instant, SectorCount, Span};
use proptest::prelude::*;

use super::random::{Raw, cases, drive, fitted, requests};
use super::ties::policies;
use super::tiny::{Arrival, CompletionLog, R, W, check, request, tiny};

/// A drive that records its commands.
struct RecordingDrive {
    drive: Drive,
    commands: Arc<Mutex<Vec<Request>>>,
}

impl Device for RecordingDrive {
    diskarm_core::forward!(drive: capacity sector_size has_room next_event advance abort);

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        self.commands.lock().unwrap().push(request);
        self.drive.submit(now, request)
    }
}

impl Estimate for RecordingDrive {
    type Outlook<'a> = <Drive as Estimate>::Outlook<'a>;
    type Rehearsal = <Drive as Estimate>::Rehearsal;

    diskarm_core::forward!(drive: shape locate outlook rehearse);
}

/// A second implementation of the merging queue, which scans all pending requests.
struct Brute {
    drive: Drive,
    policy: Box<dyn Policy<Drive>>,
    max: u64,
    /// In order of arrival.
    waiting: Vec<Pending>,
    /// The requests of each command inside the drive.
    inside: Vec<Vec<Pending>>,
    done: Vec<Completion>,
}

impl Brute {
    fn feed(&mut self, now: Instant) {
        while self.drive.has_room() && !self.waiting.is_empty() {
            let chosen = self.policy.next(now, &self.drive).expect("a choice");
            self.waiting.retain(|p| *p != chosen);
            let mut parts = vec![chosen];
            let size = |parts: &[Pending]| parts.iter().map(|p| p.request.sectors.0).sum::<u64>();
            loop {
                let last = parts[parts.len() - 1].request;
                let follows = |p: &&Pending| {
                    p.request.op == last.op && p.request.start.0 == last.start.0 + last.sectors.0
                };
                let Some(next) = self.waiting.iter().find(follows).copied() else {
                    break;
                };
                if size(&parts) + next.request.sectors.0 > self.max {
                    break;
                }
                self.waiting.retain(|p| *p != next);
                assert_eq!(self.policy.take(next.request.id), Some(next));
                self.policy.note_bypass(&next.request, &self.drive);
                parts.push(next);
            }
            let sectors = SectorCount(size(&parts));
            let whole = Request {
                sectors,
                ..chosen.request
            };
            self.drive.submit(now, whole).expect("room for a command");
            self.inside.push(parts);
        }
    }
}

impl Device for Brute {
    diskarm_core::forward!(drive: capacity sector_size);

    fn has_room(&self) -> bool {
        true
    }

    fn abort(&mut self, _: Instant, _: u64) -> bool {
        unreachable!("nothing is aborted here")
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        let arrived = now;
        if self.waiting.is_empty() && self.drive.has_room() {
            self.policy.note_bypass(&request, &self.drive);
            self.inside.push(vec![Pending { request, arrived }]);
            return self.drive.submit(now, request);
        }
        self.waiting.push(Pending { request, arrived });
        self.policy.add(Pending { request, arrived }, &self.drive);
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        let mut next = self.done.iter().map(|c| c.at);
        next.next().or_else(|| self.drive.next_event())
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        if self.done.is_empty() {
            let whole = self.drive.advance(now);
            if let Some(whole) = whole {
                let mut inside = self.inside.iter();
                let id = whole.request.id;
                let index = inside.position(|parts| parts[0].request.id == id);
                let parts = self.inside.remove(index.expect("what was handed over"));
                self.done = parts.iter().map(|part| of_part(&whole, part)).collect();
            }
            self.feed(now);
        }
        (!self.done.is_empty()).then(|| self.done.remove(0))
    }
}

/// A part's response is its wait until submission plus the response of the whole command.
fn of_part(whole: &Completion, part: &Pending) -> Completion {
    let mut own = Completion {
        request: part.request,
        arrived: part.arrived,
        ..*whole
    };
    own.breakdown.queue = own.response() - (whole.response() - whole.breakdown.queue);
    own
}

/// Returns the requests and their arrivals; optionally all reads.
fn arrivals(spec: &Spec, raw: &[Raw], one_way: bool) -> Vec<(Instant, Request)> {
    let mut now = Instant::START;
    let asked = fitted(raw, spec.geometry.sectors.0);
    let requests = (0..).zip(asked).map(|(id, (pause, op, start, n))| {
        // Close together, so that many are pending.
        now += Span::from_ns(pause.as_ns() / 16);
        (now, request(id, if one_way { R } else { op }, start, n))
    });
    requests.collect()
}

fn new_drive(spec: &Spec, depth: u32) -> Drive {
    let mut spec = spec.clone();
    spec.queue.depth = depth;
    Drive::new(&spec, Angle::from_fraction(2, 7)).expect("a valid layout")
}

fn run(device: &mut impl Device, arrivals: &[(Instant, Request)]) -> Vec<Completion> {
    let mut seen = CompletionLog::default();
    let mut load = OpenLoop::new(arrivals.iter().copied());
    engine::run(device, &mut load, &mut seen).expect("accepted requests");
    seen.0
}

/// Runs requests through a host's queue that merges up to a number of sectors, or nothing; returns
/// also the commands that the drive received.
fn through(
    drive: Drive,
    policy: &str,
    max: Option<u64>,
    arrivals: &[(Instant, Request)],
) -> (Vec<Completion>, Vec<Request>) {
    let commands = Arc::new(Mutex::new(Vec::new()));
    let recorded = RecordingDrive {
        drive,
        commands: commands.clone(),
    };
    let choice: PolicyConfig = policy.parse().expect("a policy");
    let policy = choice.policy(&recorded);
    let host = Host::new(recorded, policy);
    let mut host = match max {
        Some(max) => host.merging(SectorCount(max)),
        None => host,
    };
    let done = run(&mut host, arrivals);
    let recorded = commands.lock().unwrap().clone();
    (done, recorded)
}

/// Serves requests, at times in ms, on an idle tiny drive; returns completions and commands.
fn on_tiny(policy: &str, max: Option<u64>, asked: &[Arrival]) -> (Vec<Completion>, Vec<Request>) {
    let asked: Vec<_> = asked
        .iter()
        .enumerate()
        .map(|(id, &(at, op, start, n))| {
            let at = Instant::START + Span::from_ms(at);
            (at, request(id as u64, op, start, n))
        })
        .collect();
    let drive = Drive::new(&tiny(""), Angle::ZERO).expect("a valid layout");
    through(drive, policy, max, &asked)
}

fn ids(done: &[Completion]) -> Vec<u64> {
    done.iter().map(|c| c.request.id).collect()
}

/// While block 9 is read from 9.0 to 10.0, blocks 20 to 25 come in three requests, the middle one
/// first. The arm takes 2 ms, and block 20 lies at tenth 6.
const THREE: [Arrival; 5] = [
    (0.0, R, 9, 1),
    (1.0, R, 22, 2),
    (2.0, R, 20, 2),
    (3.0, R, 100, 1),
    (4.0, R, 24, 2),
];

#[test]
fn sequential_requests_are_one_command() {
    let (done, commands) = on_tiny("clook", Some(128), &THREE);
    assert_eq!(ids(&done), [0, 2, 1, 4, 3]);
    let sizes: Vec<(u64, u64)> = commands.iter().map(|c| (c.start.0, c.sectors.0)).collect();
    assert_eq!(sizes, [(9, 1), (20, 6), (100, 1)]);
    // Block 20 passes at 16.0, and block 25 is done at 22.0. All three complete then, with waits
    // from their own arrivals until 10.0.
    check(&done[1], 22.0, [8.0, 0.0, 2.0, 0.0, 4.0, 6.0, 0.0]);
    check(&done[2], 22.0, [9.0, 0.0, 2.0, 0.0, 4.0, 6.0, 0.0]);
    check(&done[3], 22.0, [6.0, 0.0, 2.0, 0.0, 4.0, 6.0, 0.0]);
    for (c, n) in done.iter().zip([1, 2, 2, 2, 1]) {
        assert_eq!(c.request.sectors, SectorCount(n));
    }
}

#[test]
fn requests_before_the_chosen_one_are_not_merged() {
    // 22 arrived first; 24 continues it, 20 does not.
    let (done, commands) = on_tiny("fcfs", Some(128), &THREE);
    assert_eq!(ids(&done), [0, 1, 4, 2, 3]);
    assert_eq!(commands[1].sectors, SectorCount(4));
    // The arm is there at 12.0, and block 22 at tenth 8 at 18.0.
    check(&done[1], 22.0, [9.0, 0.0, 2.0, 0.0, 6.0, 4.0, 0.0]);
}

#[test]
fn a_command_grows_to_the_limit_and_no_further() {
    let sizes = |max| {
        let (_, commands) = on_tiny("clook", max, &THREE);
        let sizes: Vec<u64> = commands.iter().map(|c| c.sectors.0).collect();
        sizes
    };
    assert_eq!(sizes(None), [1, 2, 2, 2, 1]);
    assert_eq!(sizes(Some(1)), [1, 2, 2, 2, 1]);
    assert_eq!(sizes(Some(3)), [1, 2, 2, 2, 1]);
    assert_eq!(sizes(Some(4)), [1, 4, 2, 1]);
    assert_eq!(sizes(Some(5)), [1, 4, 2, 1]);
    assert_eq!(sizes(Some(6)), [1, 6, 1]);
}

#[test]
fn only_following_requests_of_the_same_direction_are_merged() {
    // After the read of 20 and 21: an identical one, an overlapping one, one after a gap, a write.
    for (op, start, n) in [(R, 20, 2), (R, 21, 2), (R, 23, 1), (W, 22, 2), (R, 19, 1)] {
        let asked = [(0.0, R, 9, 1), (1.0, R, 20, 2), (2.0, op, start, n)];
        let (done, commands) = on_tiny("fcfs", Some(128), &asked);
        assert_eq!((commands.len(), done.len()), (3, 3), "{op:?} {start}");
    }
}

#[test]
fn of_two_following_requests_the_first_to_arrive_is_merged() {
    let asked = [
        (0.0, R, 9, 1),
        (1.0, R, 20, 2),
        (2.0, R, 22, 5),
        (3.0, R, 22, 1),
        (4.0, R, 22, 5),
    ];
    let sizes = |max| {
        let (done, commands) = on_tiny("fcfs", Some(max), &asked);
        let sizes: Vec<u64> = commands.iter().map(|c| c.sectors.0).collect();
        (ids(&done), sizes)
    };
    assert_eq!(sizes(128), (vec![0, 1, 2, 3, 4], vec![1, 7, 1, 5]));
    // The smaller one, which arrived later, does not overtake it.
    assert_eq!(sizes(6), (vec![0, 1, 2, 3, 4], vec![1, 2, 5, 1, 5]));
}

#[test]
#[should_panic(expected = "invalid command size")]
fn a_limit_beyond_the_largest_command_is_rejected() {
    on_tiny("fcfs", Some(Request::MAX_SECTORS.0 + 1), &[]);
}

/// Excludes requests that begin where another of their direction ends.
fn scattered(arrivals: &[(Instant, Request)]) -> Vec<(Instant, Request)> {
    let mut kept: Vec<(Instant, Request)> = Vec::new();
    for &(at, asked) in arrivals {
        let touches = |other: &(Instant, Request)| {
            other.1.op == asked.op && (other.1.end() == asked.start || asked.end() == other.1.start)
        };
        if !kept.iter().any(touches) {
            kept.push((at, asked));
        }
    }
    kept
}

/// Asserts that the completions, in order, are the commands split into the original requests.
fn cut(
    commands: &[Request],
    done: &[Completion],
    max: u64,
    asked: &[(Instant, Request)],
) -> Result<(), TestCaseError> {
    let mut rest = done.iter().peekable();
    for command in commands {
        let mut next = command.start;
        let mut parts = 0;
        let mut at = None;
        while next < command.end() {
            let part = rest.next().expect("a completion");
            prop_assert_eq!(part.request.start, next);
            prop_assert_eq!(part.request.op, command.op);
            prop_assert_eq!(*at.get_or_insert(part.at), part.at);
            next = part.request.end();
            parts += 1;
        }
        prop_assert_eq!(next, command.end());
        prop_assert!(parts == 1 || command.sectors.0 <= max, "{command:?}");
    }
    prop_assert!(rest.next().is_none());
    let mut came: Vec<(Instant, Request)> = done.iter().map(|c| (c.arrived, c.request)).collect();
    came.sort_by_key(|(_, request)| request.id);
    prop_assert_eq!(&came[..], asked);
    for c in done {
        prop_assert_eq!(c.breakdown.total(), c.response());
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(60))]

    // Each case runs under every policy.
    #[test]
    fn each_request_completes_once_with_its_command(
        spec in drive(), raw in requests(40), one_way in any::<bool>(), max in 1..80u64,
    ) {
        let asked = arrivals(&spec, &raw, one_way);
        for policy in policies() {
            let (done, commands) = through(new_drive(&spec, 1), &policy, Some(max), &asked);
            cut(&commands, &done, max, &asked)?;
        }
    }

    #[test]
    fn merging_matches_a_full_scan(
        spec in drive(), raw in requests(40), one_way in any::<bool>(), max in 1..80u64,
        depth in 1..4u32,
    ) {
        let asked = arrivals(&spec, &raw, one_way);
        for policy in policies() {
            let choice: PolicyConfig = policy.parse().expect("a policy");
            let drive = new_drive(&spec, depth);
            let mut brute = Brute {
                policy: choice.policy(&drive),
                drive,
                max,
                waiting: Vec::new(),
                inside: Vec::new(),
                done: Vec::new(),
            };
            let expected = run(&mut brute, &asked);
            let (done, _) = through(new_drive(&spec, depth), &policy, Some(max), &asked);
            prop_assert_eq!(done, expected, "{}", policy);
        }
    }

    #[test]
    fn random_requests_are_served_as_without_merging(
        spec in drive(), raw in requests(60), depth in 1..4u32,
    ) {
        let asked = scattered(&arrivals(&spec, &raw, false));
        for policy in policies() {
            let plain = through(new_drive(&spec, depth), &policy, None, &asked);
            let merging = through(new_drive(&spec, depth), &policy, Some(65_536), &asked);
            prop_assert_eq!(merging, plain, "{}", policy);
        }
    }
}
