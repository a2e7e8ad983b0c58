//! Seek-reducing policies against slow versions of their rules, against each other where one is a
//! special case of another, and against their bounds on waiting.

use std::cell::Cell;

use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, OpenLoop};
use diskarm_core::request::{Op, Request};
use diskarm_core::sched::{Estimate, Pending, Policy, PolicyConfig, Rehearse};
use diskarm_core::spec::Spec;
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};
use proptest::prelude::*;

use super::policies::{policy_maker, through};
use super::random::{Raw, cases, drive, fitted, requests};
use super::tiny::{CompletionLog, request, tiny};

/// Their names, without the parameter `by`.
const NAMES: [&str; 9] = [
    "sstf", "scan", "look", "cscan", "clook", "vscan", "cvscan", "wscan", "cscan-la",
];

/// The decision of a policy, in the papers' terms.
#[derive(Clone, Copy, Debug)]
enum Choice {
    Sstf,
    Look,
    CLook,
    VScan(f64),
    CvScan(usize, f64),
    WScan(f64),
    CScanLa(usize),
}

impl Choice {
    fn expression(self) -> String {
        match self {
            Self::Sstf => "sstf(".to_owned(),
            Self::Look => "look(".to_owned(),
            Self::CLook => "clook(".to_owned(),
            Self::VScan(r) => format!("vscan(r={r}, "),
            Self::CvScan(n, r) => format!("cvscan(n={n}, r={r}, "),
            // 0.07 * 100 is not 7.
            Self::WScan(f) => format!("wscan(f={} %, ", (f * 1e6).round() / 1e4),
            Self::CScanLa(i) => format!("cscan-la(i={i}, "),
        }
    }
}

/// The three levels, and the position.
#[derive(Clone, Copy, Debug)]
struct Measured {
    /// `Some(0)` by block, `None` by the map.
    fixed: Option<u64>,
    last: bool,
}

impl Measured {
    fn expression(self) -> String {
        let by = match self.fixed {
            Some(0) => "lbn".to_owned(),
            Some(blocks) => blocks.to_string(),
            None => "map".to_owned(),
        };
        format!(
            "by={by}, from={})",
            if self.last { "last" } else { "first" }
        )
    }

    fn place(self, block: u64, drive: &impl Estimate) -> i64 {
        (match self.fixed {
            Some(0) => block,
            Some(blocks) => block / blocks,
            None => u64::from(drive.locate(&request(0, Op::Read, block, 1)).cylinder.0),
        }) as i64
    }

    fn length(self, drive: &impl Estimate) -> u64 {
        let shape = drive.shape();
        match self.fixed {
            Some(0) => shape.sectors.0,
            Some(blocks) => shape.sectors.0.div_ceil(blocks),
            None => u64::from(shape.cylinders),
        }
    }

    /// Place and block of the arm after a request.
    fn after(self, request: &Request, drive: &impl Estimate) -> (i64, u64) {
        let (start, end) = (request.start.0, request.end().0);
        match (self.last, self.fixed) {
            (false, _) => (self.place(start, drive), start),
            (true, Some(0)) => (end as i64, end),
            (true, _) => (self.place(end - 1, drive), end),
        }
    }
}

/// Each rule in its simplest form, over a list in order of arrival.
struct Brute {
    way: Choice,
    by: Measured,
    pending: Vec<Pending>,
    passed_over: Vec<u64>,
    at: Option<(i64, u64)>,
    up: bool,
    window: Option<(f64, f64)>,
}

impl Brute {
    fn new(way: Choice, by: Measured) -> Self {
        Self {
            way,
            by,
            pending: Vec::new(),
            passed_over: Vec::new(),
            at: None,
            up: true,
            window: None,
        }
    }

    fn at(&self, drive: &impl Estimate) -> (i64, u64) {
        self.at.unwrap_or((self.by.place(0, drive), 0))
    }

    /// Distance, positive up the line, and first block of each.
    fn far(&self, drive: &impl Estimate) -> Vec<(i64, u64)> {
        let (place, _) = self.at(drive);
        let far = |p: &Pending| self.by.place(p.request.start.0, drive) - place;
        let pending = self.pending.iter();
        pending.map(|p| (far(p), p.request.start.0)).collect()
    }

    fn window(&self, drive: &impl Estimate) -> (f64, f64) {
        let first = self.by.place(0, drive) as f64;
        self.window.unwrap_or((first, first + self.width(drive)))
    }

    fn width(&self, drive: &impl Estimate) -> f64 {
        match self.way {
            // The first place is in the window, however narrow.
            Choice::WScan(f) => (f * self.by.length(drive) as f64).max(0.5),
            _ => 0.0,
        }
    }

    /// Uses `far`, so it must be called before the arm is there.
    fn go(&mut self, far: i64, drive: &impl Estimate) {
        let to = (self.at(drive).0 + far) as f64;
        let (low, high) = self.window(drive);
        let width = self.width(drive);
        if !matches!(self.way, Choice::WScan(_)) {
            self.up = if far == 0 { self.up } else { far > 0 };
        } else if to >= high {
            (self.up, self.window) = (true, Some((to, to + width)));
        } else if to <= low - 1.0 || to < low {
            // A window below holds the places less than its width away, so it is open there.
            (self.up, self.window) = (false, Some(((to - width).floor() + 1.0, to + 1.0)));
        }
    }

    fn choose(&self, drive: &impl Estimate) -> Option<usize> {
        let far = self.far(drive);
        let (place, block) = self.at(drive);
        let all = || 0..far.len();
        let here = all()
            .filter(|&i| far[i].0 == 0)
            .min_by_key(|&i| (far[i].1 < block, far[i].1));
        let above = all().filter(|&i| far[i].0 > 0).min_by_key(|&i| far[i]);
        let below = all()
            .filter(|&i| far[i].0 < 0)
            .min_by_key(|&i| (-far[i].0, far[i].1));
        let mean = |up: bool, n: usize| {
            let side = far.iter().filter(|f| if up { f.0 > 0 } else { f.0 < 0 });
            let mut side: Vec<i64> = side.map(|f| f.0.abs()).collect();
            side.sort();
            side.truncate(n);
            side.iter().sum::<i64>() as f64 / side.len() as f64
        };
        let by_cost = |n: usize, r: f64| {
            let penalty = |up: bool| {
                if up == self.up {
                    0.0
                } else {
                    r * self.by.length(drive) as f64
                }
            };
            let sides = [(true, above), (false, below)];
            let sides = sides
                .into_iter()
                .filter_map(|(up, i)| Some((mean(up, n) + penalty(up), i?)));
            sides
                .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
                .map(|(_, i)| i)
        };
        let onward = || {
            if self.up {
                above.or(below)
            } else {
                below.or(above)
            }
        };
        match self.way {
            Choice::CScanLa(i) => self.ahead(i, drive),
            Choice::CLook => {
                let lowest = || all().min_by_key(|&i| far[i]);
                here.or(above).or_else(lowest)
            }
            _ if here.is_some() => here,
            Choice::Sstf => by_cost(1, 0.0),
            Choice::VScan(r) => by_cost(1, r),
            Choice::CvScan(n, r) => by_cost(n, r),
            Choice::Look => onward(),
            Choice::WScan(_) => {
                let (low, high) = self.window(drive);
                let inside = |i: &usize| (low..high).contains(&((place + far[*i].0) as f64));
                let inside = above.filter(inside).into_iter().chain(below.filter(inside));
                inside.min_by_key(|&i| (far[i].0.abs(), i)).or_else(onward)
            }
        }
    }

    /// Returns all orders of the next `i`, each from the beginning.
    fn ahead(&self, i: usize, drive: &impl Estimate) -> Option<usize> {
        let far = self.far(drive);
        let (_, block) = self.at(drive);
        let is_passed = |k: &usize| self.passed_over.contains(&self.pending[*k].request.id);
        let position = |id| {
            self.pending
                .iter()
                .position(|p: &Pending| p.request.id == id)
        };
        let passed = self.passed_over.iter().filter_map(|&id| position(id));
        let mut group: Vec<usize> = passed.collect();
        let mut rest: Vec<usize> = (0..far.len()).filter(|k| !is_passed(k)).collect();
        rest.sort_by_key(|&k| {
            (
                far[k].0 < 0,
                far[k].0,
                far[k].0 == 0 && far[k].1 < block,
                far[k].1,
            )
        });
        if far.iter().zip(0..).any(|(f, k)| f.0 >= 0 && !is_passed(&k)) || !group.is_empty() {
            rest.retain(|&k| far[k].0 >= 0);
        }
        rest.truncate(i - group.len());
        group.extend(rest);
        let orders = orders(&group).into_iter();
        let soonest = orders.min_by_key(|order| {
            let mut drive = drive.rehearse();
            let from = Instant::START;
            order
                .iter()
                .fold(from, |now, &k| drive.serve(now, &self.pending[k].request))
        })?;
        soonest.first().copied()
    }

    /// Those of the next `i` that come before `chosen` in the sweep are passed over.
    fn pass_over(&mut self, chosen: usize, drive: &impl Estimate) {
        let id = self.pending[chosen].request.id;
        if self.passed_over.contains(&id) {
            self.passed_over.retain(|&other| other != id);
            return;
        }
        let far = self.far(drive);
        let (_, block) = self.at(drive);
        let key = |k: usize| {
            (
                far[k].0 < 0,
                far[k].0,
                far[k].0 == 0 && far[k].1 < block,
                far[k].1,
                k,
            )
        };
        let mut before: Vec<usize> = (0..far.len()).filter(|&k| key(k) < key(chosen)).collect();
        before.retain(|&k| !self.passed_over.contains(&self.pending[k].request.id));
        before.sort_by_key(|&k| key(k));
        self.passed_over
            .extend(before.iter().map(|&k| self.pending[k].request.id));
        let request = self.pending[chosen].request;
        self.at = Some(self.by.after(&request, drive));
    }
}

/// Returns all permutations of `of`, in lexicographic order.
fn orders(of: &[usize]) -> Vec<Vec<usize>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let begun = of.iter().enumerate().flat_map(|(at, &first)| {
        let rest = [&of[..at], &of[at + 1..]].concat();
        let rest = orders(&rest).into_iter();
        rest.map(move |order| [vec![first], order].concat())
    });
    begun.collect()
}

impl<E: Estimate> Policy<E> for Brute {
    fn add(&mut self, pending: Pending, _: &E) {
        self.pending.push(pending);
    }

    fn note_bypass(&mut self, request: &Request, drive: &E) {
        let far = self.by.place(request.start.0, drive) - self.at(drive).0;
        self.go(far, drive);
        self.at = Some(self.by.after(request, drive));
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        let place = self.pending.iter().position(|p| p.request.id == id)?;
        self.passed_over.retain(|&other| other != id);
        Some(self.pending.remove(place))
    }

    fn next(&mut self, _: Instant, drive: &E) -> Option<Pending> {
        let index = self.choose(drive)?;
        if matches!(self.way, Choice::CScanLa(_)) {
            self.pass_over(index, drive);
            return Some(self.pending.remove(index));
        }
        let next = self.pending.remove(index);
        <Self as Policy<E>>::note_bypass(self, &next.request, drive);
        Some(next)
    }
}

/// An operation on a queue.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A request for a number of blocks from a place.
    Comes(u64, u64),
    /// Serve the next request.
    Next,
    /// Take a request out of turn: the one that arrived this many before the last.
    Out(u64),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        8 => (any::<u64>(), 1..9u64).prop_map(|(place, n)| Event::Comes(place, n)),
        6 => Just(Event::Next),
        1 => (0..12u64).prop_map(Event::Out),
    ];
    proptest::collection::vec(event, 1..80)
}

/// Returns the order of service of a policy.
fn order(drive: &Drive, events: &[Event], mut policy: Box<dyn Policy<Drive>>) -> Vec<u64> {
    let blocks = drive.shape().sectors.0;
    let mut served = Vec::new();
    let mut came = 0;
    for &event in events {
        match event {
            Event::Comes(place, n) => {
                let start = place % blocks;
                let op = if place & 64 == 0 { Op::Read } else { Op::Write };
                let request = request(came, op, start, n.min(blocks - start));
                let arrived = Instant::START;
                policy.add(Pending { request, arrived }, drive);
                came += 1;
            }
            Event::Next => {
                let next = policy.next(Instant::START, drive);
                served.extend(next.map(|p| p.request.id));
            }
            Event::Out(before) => {
                if let Some(out) = policy.take(came.saturating_sub(before)) {
                    // Every other one is removed instead.
                    if before.is_multiple_of(2) {
                        policy.note_bypass(&out.request, drive);
                    }
                    served.push(out.request.id);
                }
            }
        }
    }
    let rest = std::iter::from_fn(|| policy.next(Instant::START, drive));
    served.extend(rest.map(|p| p.request.id));
    assert_eq!(served.len() as u64, came, "lost or doubled: {served:?}");
    served
}

fn ways() -> impl Strategy<Value = Choice> {
    // Quarters produce ties; other values do not.
    let share = || {
        prop_oneof![
            (0..5u32).prop_map(|n| f64::from(n) / 4.0),
            Just(0.2),
            Just(0.07)
        ]
    };
    prop_oneof![
        Just(Choice::Sstf),
        Just(Choice::Look),
        Just(Choice::CLook),
        share().prop_map(Choice::VScan),
        (1..5usize, share()).prop_map(|(n, r)| Choice::CvScan(n, r)),
        share().prop_map(Choice::WScan),
        (1..4usize).prop_map(Choice::CScanLa),
    ]
}

fn measures() -> impl Strategy<Value = Measured> {
    let fixed = prop_oneof![Just(Some(0)), (1..40u64).prop_map(Some), Just(None)];
    (fixed, any::<bool>()).prop_map(|(fixed, last)| Measured { fixed, last })
}

/// Returns the order in which a policy of the table serves open arrivals at the host.
fn run(spec: &Spec, raw: &[Raw], written: &str) -> Vec<diskarm_core::device::Completion> {
    through(spec, raw, policy_maker(written))
}

proptest! {
    #![proptest_config(cases(5000))]

    #[test]
    fn each_rule_matches_its_slow_version(
        spec in drive(), events in events(), way in ways(), by in measures(),
    ) {
        let drive = Drive::new(&spec, Angle::from_fraction(2, 7)).expect("a valid layout");
        let written = way.expression() + &by.expression();
        let found = order(&drive, &events, policy_maker(&written)(&drive));
        let expected = order(&drive, &events, Box::new(Brute::new(way, by)));
        prop_assert_eq!(found, expected, "{}", written);
    }
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn special_cases_match_other_policies(
        spec in drive(), raw in requests(60), by in measures(), r in 0..=100u32,
    ) {
        let by = by.expression();
        let r = f64::from(r) / 100.0;
        let first = by.replace("last", "first");
        let same = [
            ("vscan(r=0, ".to_owned(), "sstf("),
            ("vscan(r=1, ".to_owned(), "look("),
            (format!("cvscan(n=1, r={r}, "), &*format!("vscan(r={r}, ")),
            ("cvscan(n=3, r=1, ".to_owned(), "look("),
            ("wscan(f=0%, ".to_owned(), "look("),
            ("cscan-la(i=1, ".to_owned(), "clook("),
            ("scan(".to_owned(), "look("),
            ("cscan(".to_owned(), "clook("),
        ];
        for (one, other) in same {
            // Windows are measured from the first block, so WSCAN is LOOK only with `from=first`.
            let by = if one.starts_with("wscan") { &first } else { &by };
            let (one, other) = (one + by, other.to_owned() + by);
            prop_assert_eq!(run(&spec, &raw, &one), run(&spec, &raw, &other), "{} {}", one, other);
        }
    }

    #[test]
    fn a_cylinder_of_one_block_is_a_block(spec in drive(), raw in requests(60)) {
        for name in NAMES {
            let by = |by| run(&spec, &raw, &format!("{name}(from=first, by={by})"));
            prop_assert_eq!(by("1"), by("lbn"), "{}", name);
        }
    }

    #[test]
    fn one_at_a_time_goes_in_order_of_arrival(
        spec in drive(), raw in requests(10), by in measures(),
    ) {
        let apart = |raw: &Raw| Raw { pause: Span::from_s(80.0), ..*raw };
        let far_apart: Vec<Raw> = raw.iter().map(apart).collect();
        let expected = run(&spec, &far_apart, "fcfs");
        for name in NAMES {
            let written = format!("{name}({}", by.expression());
            prop_assert_eq!(&run(&spec, &far_apart, &written), &expected, "{}", written);
        }
    }

    #[test]
    fn the_drives_own_queue_serves_every_request_once(
        spec in drive(), raw in requests(40), by in measures(), depth in 2..9u32,
    ) {
        for name in NAMES {
            let mut spec = spec.clone();
            spec.queue.depth = depth;
            spec.queue.policy = format!("{name}({}", by.expression()).parse().expect("a policy");
            let drive = Drive::new(&spec, Angle::from_fraction(2, 7)).expect("a valid layout");
            let mut now = Instant::START;
            let asked = fitted(&raw, spec.geometry.sectors.0);
            let arrivals = (0..).zip(asked).map(|(id, (pause, op, start, n))| {
                now += Span::from_ns(pause.as_ns() / 16);
                (now, request(id, op, start, n))
            });
            let mut host = diskarm_core::host::Host::new(drive, policy_maker("fcfs")(
                &Drive::new(&spec, Angle::ZERO).expect("a valid layout"),
            ));
            let mut seen = CompletionLog::default();
            engine::run(&mut host, &mut OpenLoop::new(arrivals), &mut seen).expect("accepted");
            let mut ids: Vec<u64> = seen.0.iter().map(|c| c.request.id).collect();
            ids.sort();
            prop_assert!(ids.into_iter().eq(0..raw.len() as u64), "{}", name);
        }
    }
}

/// Number of decisions, at most 10,000, that a request for block 190 of 200 waits while eight
/// others are pending: an adversary replaces each that is served by one at the block that `near`
/// returns, given the block served last and the number of earlier arrivals.
fn waits(written: &str, near: impl Fn(u64, u64) -> u64) -> u64 {
    let drive = Drive::new(&tiny(""), Angle::ZERO).expect("a valid layout");
    let choice: PolicyConfig = written.parse().expect("a policy");
    let mut policy = choice.policy(&drive);
    let pending = |id, block| Pending {
        request: request(id, Op::Read, block, 1),
        arrived: Instant::START,
    };
    policy.note_bypass(&request(0, Op::Read, 100, 1), &drive);
    policy.add(pending(u64::MAX, 190), &drive);
    (0..7).for_each(|id| policy.add(pending(id, near(100, id)), &drive));
    let mut at = 100;
    for decision in 0..10_000 {
        policy.add(pending(decision + 7, near(at, decision + 7)), &drive);
        let next = policy.next(Instant::START, &drive).expect("one waits");
        if next.request.id == u64::MAX {
            return decision;
        }
        at = next.request.start.0;
    }
    10_000
}

/// New requests are never for the arm's place, which would hold any policy there, as LOOK's
/// documentation says. So the arm leaves each place after at most eight requests, and a sweep takes
/// at most 8 times 200 decisions.
#[test]
fn only_policies_without_a_bound_starve_requests() {
    let around = |at: u64, id: u64| {
        let down = (id.is_multiple_of(2) && at > 30) || at >= 170;
        if down { at - 1 } else { at + 1 }
    };
    let sweep = 8 * 200;
    for (name, bound) in [
        ("scan", 2 * sweep),
        ("look", 2 * sweep),
        ("vscan(r=1)", 2 * sweep),
        ("cscan", sweep),
        ("clook", sweep),
        ("cscan-la(i=1)", sweep),
    ] {
        let waits = waits(name, around);
        assert!(waits <= bound, "{name}: {waits}");
    }
    let stay = |at: u64, _: u64| if at == 100 { 101 } else { 100 };
    for name in [
        "sstf(from=first)",
        "vscan(r=0.2)",
        "cvscan(n=2, r=0.2)",
        "wscan",
    ] {
        assert_eq!(waits(name, stay), 10_000, "{name}");
    }
}

#[test]
fn requests_passed_over_are_served_within_the_sweep() {
    for i in 2..=4 {
        let front = Cell::new(100);
        let ahead = |at: u64, id: u64| {
            front.set(front.get().max(at));
            (front.get() + 1 + id % 3) % 200
        };
        let waits = waits(&format!("cscan-la(i={i})"), ahead);
        assert!(waits <= 8 * 200, "{i}: {waits}");
    }
}

/// Requests for the blocks, in order of arrival, the arm at block 100 of the tiny drive (20 to a
/// cylinder) that it moved up to; the blocks in order of service.
fn serve_all(written: &str, blocks: &[u64]) -> Vec<u64> {
    let drive = Drive::new(&tiny(""), Angle::ZERO).expect("a valid layout");
    let choice: PolicyConfig = written.parse().expect("a policy");
    let mut policy = choice.policy(&drive);
    policy.note_bypass(&request(0, Op::Read, 100, 1), &drive);
    for (id, &block) in (1..).zip(blocks) {
        let request = Request::new(id, Op::Read, Lbn(block), SectorCount(1));
        let arrived = Instant::START;
        policy.add(Pending { request, arrived }, &drive);
    }
    let next = || Some(policy.next(Instant::START, &drive)?.request.start.0);
    std::iter::from_fn(next).collect()
}

/// Worked out by hand. By block, distances from 100 on; by cylinder, 100 to 119 are cylinder 5.
#[test]
fn orders_worked_out_by_hand() {
    let blocks = [150, 95, 104, 20, 119, 108, 131];
    let up = [104, 108, 119, 131, 150];
    let look = [&up[..], &[95, 20]].concat();
    assert_eq!(serve_all("look", &blocks), look);
    assert_eq!(serve_all("clook", &blocks), [&up[..], &[20, 95]].concat());
    // 104 is 3 from 101, 108 is 3 from 105, 95 is 14 from 109, 119 is 10; then 131 is 11 from
    // 120, 150 is 18 from 132, and 95 is 56 from 151.
    assert_eq!(serve_all("sstf", &blocks), look);
    // With 110 instead of 119: 131 is 20 from 111 and 95 is 16.
    assert_eq!(
        serve_all("sstf", &[150, 95, 104, 20, 110, 108, 131]),
        [104, 108, 110, 95, 131, 150, 20]
    );
    // Reversing counts as 0.2 times 200 blocks: 131 is 21 from 110, 95 is 15 and 40.
    let few = [150, 95, 110, 131, 20];
    assert_eq!(serve_all("vscan(r=0.2)", &few), [110, 131, 150, 95, 20]);
    // Reversing counts as 0.01 times that, 2: at first 95 is 5 and 2, 110 is 10. Then back up.
    assert_eq!(serve_all("vscan(r=0.01)", &few), [95, 110, 131, 150, 20]);
    // 110 and 131 are 10 and 31, on average 20.5; 95 and 20 are 5 and 80, 42.5 and 2; and so on.
    let onward = [110, 131, 150, 95, 20];
    assert_eq!(serve_all("cvscan(n=2, r=0.01)", &few), onward);
    // By cylinders: 5 first (100 to 119), then 4 and 6 are as near, and 95 came before 131.
    assert_eq!(
        serve_all("sstf(by=map)", &blocks),
        [104, 108, 119, 95, 131, 150, 20]
    );
    // A window of 20 blocks from 100 on, that is up to 119; the next opens at 131, up to 150.
    assert_eq!(serve_all("wscan(f=10%)", &blocks), look);
}

#[test]
fn parameters_out_of_range_are_errors() {
    let number = "expected a number from 0 to 1";
    for (written, expected) in [
        (
            "vscan(r=1.01)",
            format!("vscan.r: found \"1.01\", {number}"),
        ),
        ("vscan(r=NaN)", format!("vscan.r: found \"NaN\", {number}")),
        ("cvscan(r=-1)", format!("cvscan.r: found \"-1\", {number}")),
        (
            "cvscan(n=0)",
            "cvscan.n: found \"0\", expected a whole number from 1 to 1000".to_owned(),
        ),
        (
            "cscan-la(i=6)",
            "cscan-la.i: found \"6\", expected a whole number from 1 to 5".to_owned(),
        ),
        (
            "sstf(from=end)",
            "sstf.from: found \"end\", expected first or last".to_owned(),
        ),
    ] {
        let error = written.parse::<PolicyConfig>().unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}
