//! Policies that select by positioning times: identities between them, and each against a slow
//! second implementation that scans a list of pending requests.

use diskarm_core::device::Completion;
use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, OpenLoop};
use diskarm_core::request::{Op, Request};
use diskarm_core::sched::{Estimate, INFOS, Outlook, Pending, Policy, PolicyConfig, Rehearse};
use diskarm_core::spec::{PreSeek, Spec};
use diskarm_core::units::{Angle, Instant, Span};
use proptest::prelude::*;

use super::policies::{policy_maker, through};
use super::random::{Raw, cases, drive, fitted, rehearsed_drive, requests};
use super::tiny::{CompletionLog, R, W, request, serve_all, tiny};

/// Different policies with identical results, to the bit. Those marked `true` only if no two
/// requests arrive at the same instant.
const SAME: [(&str, &str, bool); 20] = [
    ("asptf(w=0)", "sptf", false),
    ("asptf(w=1e12)", "fcfs", true),
    ("asatf(w=0)", "sptf", false),
    ("asatf(w=1e12)", "fcfs", true),
    ("aspctf(w=0)", "spctf", false),
    ("aspctf(w=1e12)", "fcfs", true),
    ("wstf(m=1000000000 s)", "satf", false),
    ("saptf(t=1)", "sptf", false),
    ("sptf-cp(t=1)", "sptf", false),
    ("sptf-cp", "sptf-cp(t=0.6)", false),
    ("sw-sptf(n=1000)", "sptf", false),
    ("sw-sptf(n=1)", "fcfs", false),
    ("wb-sptf(t=3600 s)", "sptf", false),
    ("wb-sptf(t=3600 s, dynamic=yes)", "sptf", false),
    ("wb-sptf(t=0 s)", "fcfs", true),
    ("wb-sptf(t=0 s, dynamic=yes)", "fcfs", true),
    ("gstf(n=1000000000)", "satf", false),
    ("limited", "limited(wait=1 s, policy=sptf)", false),
    ("limited(wait=0 s, policy=satf)", "fcfs", true),
    ("limited(wait=0 s, policy=mq-deadline)", "fcfs", true),
];

/// Spreads the requests so that no two are in the same microsecond.
fn spread_out(raw: &[Raw]) -> Vec<Raw> {
    let mut raw = raw.to_vec();
    raw.iter_mut().for_each(|r| r.pause += Span::from_us(16.0));
    raw
}

/// Returns the number of requests that a policy which tries orders can order thousands of times.
fn affordable<'r>(raw: &'r [Raw], policy: &str) -> &'r [Raw] {
    match policy {
        "oat" | "oat-batch" | "oat-window" | "satf-la" => &raw[..raw.len().min(8)],
        _ => raw,
    }
}

/// Requests through the drive's own queue instead of the host's.
fn inside(spec: &Spec, raw: &[Raw], policy: &str) -> Vec<Completion> {
    let mut spec = spec.clone();
    spec.queue.depth = 100;
    spec.queue.policy = policy.parse().expect("a policy");
    let mut drive = Drive::new(&spec, Angle::from_fraction(2, 7)).expect("a valid layout");
    let mut now = Instant::START;
    let asked = fitted(raw, spec.geometry.sectors.0);
    let arrivals = (0..).zip(asked).map(|(id, (pause, op, start, n))| {
        now += Span::from_ns(pause.as_ns() / 16);
        (now, request(id, op, start, n))
    });
    let mut seen = CompletionLog::default();
    engine::run(&mut drive, &mut OpenLoop::new(arrivals), &mut seen).expect("accepted requests");
    seen.0
}

/// In the host's queue or in the drive's.
fn run(spec: &Spec, raw: &[Raw], policy: &str, is_inside: bool) -> Vec<Completion> {
    if is_inside {
        inside(spec, raw, policy)
    } else {
        through(spec, raw, policy_maker(policy))
    }
}

/// A policy that scans a list: `select` returns an index.
struct Brute<F> {
    list: Vec<Pending>,
    select: F,
}

impl<F: FnMut(&[Pending], Instant, &Drive) -> usize + Send> Policy<Drive> for Brute<F> {
    fn add(&mut self, pending: Pending, _: &Drive) {
        self.list.push(pending);
    }

    fn take(&mut self, _: u64) -> Option<Pending> {
        unreachable!("never called")
    }

    fn next(&mut self, now: Instant, drive: &Drive) -> Option<Pending> {
        if self.list.is_empty() {
            return None;
        }
        let index = (self.select)(&self.list, now, drive);
        Some(self.list.remove(index))
    }
}

/// Returns the first request with the minimum cost.
fn brute<K: PartialOrd + 'static>(
    cost: impl Fn(&[Pending], Instant, &Drive, &Pending) -> K + Copy + Send + 'static,
) -> impl Fn(&Drive) -> Box<dyn Policy<Drive>> {
    move |_| {
        let select = move |list: &[Pending], now: Instant, drive: &Drive| {
            let costs: Vec<K> = list.iter().map(|p| cost(list, now, drive, p)).collect();
            let is_least = |at: &usize| !costs.iter().any(|other| *other < costs[*at]);
            (0..list.len()).find(is_least).expect("a least")
        };
        let list = Vec::new();
        Box::new(Brute { list, select })
    }
}

fn positioning(drive: &Drive, now: Instant, p: &Pending) -> Span {
    let place = drive.locate(&p.request);
    drive.outlook(now).positioning(&p.request, &place)
}

fn access(drive: &Drive, now: Instant, p: &Pending) -> Span {
    let place = drive.locate(&p.request);
    drive.outlook(now).access(&p.request, &place)
}

fn waited_ms(now: Instant, p: &Pending) -> f64 {
    (now - p.arrived).as_ms()
}

proptest! {
    #![proptest_config(cases(24_000))]

    #[test]
    fn policies_keep_their_documented_limits(
        spec in rehearsed_drive(), raw in requests(40), which in 0..SAME.len(),
        is_inside in any::<bool>(),
    ) {
        let (a, b, needs_apart) = SAME[which];
        let raw = if needs_apart { spread_out(&raw) } else { raw };
        prop_assert_eq!(
            run(&spec, &raw, a, is_inside), run(&spec, &raw, b, is_inside), "{} {}", a, b
        );
    }
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn a_limit_that_is_never_reached_changes_nothing(
        spec in drive(), raw in requests(40), which in 0..INFOS.len(), is_inside in any::<bool>(),
    ) {
        // Limits do not nest.
        let inner = Some(INFOS[which].name).filter(|&name| name != "limited").unwrap_or("sptf");
        let raw = affordable(&raw, inner);
        let limited = format!("limited(wait=3600 s, policy={inner})");
        prop_assert_eq!(
            run(&spec, raw, &limited, is_inside), run(&spec, raw, inner, is_inside), "{}", inner
        );
    }

    #[test]
    fn every_request_is_served_exactly_once(
        spec in drive(), raw in requests(40), which in 0..INFOS.len(), is_inside in any::<bool>(),
    ) {
        let raw = affordable(&raw, INFOS[which].name);
        let served = run(&spec, raw, INFOS[which].name, is_inside);
        let mut ids: Vec<u64> = served.iter().map(|c| c.request.id).collect();
        ids.sort_unstable();
        prop_assert!(ids.into_iter().eq(0..raw.len() as u64), "{}", INFOS[which].name);
    }

    #[test]
    fn single_requests_are_served_in_order_of_arrival(
        spec in drive(), raw in requests(20), which in 0..INFOS.len(), is_inside in any::<bool>(),
    ) {
        // Sixteen tenths of a second apart after division: at most two at once, so that there is
        // never a choice.
        let mut alone = raw;
        alone.iter_mut().for_each(|r| r.pause = Span::from_s(160.0));
        let name = INFOS[which].name;
        prop_assert_eq!(
            run(&spec, &alone, name, is_inside), run(&spec, &alone, "fcfs", is_inside), "{}", name
        );
    }

    #[test]
    fn a_single_pending_request_is_chosen(spec in drive(), place in any::<u64>(), ms in 0..90u32) {
        let drive = Drive::new(&spec, Angle::ZERO).expect("a valid layout");
        let arrived = Instant::from_ns(7);
        let request = request(3, R, place % spec.geometry.sectors.0, 1);
        let pending = Pending { request, arrived };
        for info in INFOS {
            let mut policy = policy_maker(info.name)(&drive);
            policy.add(pending, &drive);
            let now = arrived + Span::from_ms(f64::from(ms));
            prop_assert_eq!(policy.next(now, &drive), Some(pending), "{}", info.name);
            prop_assert_eq!(policy.next(now, &drive), None);
            policy.add(pending, &drive);
            prop_assert_eq!(policy.take(3), Some(pending), "{}", info.name);
            prop_assert_eq!(policy.next(now, &drive), None, "{}", info.name);
        }
    }

    #[test]
    fn asatf_is_asptf_in_another_unit(spec in drive(), raw in requests(40), w in 0..3000u32) {
        // w sectors of block 0's zone, in whole ns per second.
        let sector_ns = spec.mechanics.period_ns.round()
            / f64::from(spec.geometry.zones[0].sectors_per_track);
        let weight_ms = (f64::from(w) * sector_ns).round() / 1e6;
        prop_assert_eq!(
            through(&spec, &raw, policy_maker(&format!("asatf(w={w})"))),
            through(&spec, &raw, policy_maker(&format!("asptf(w={weight_ms})")))
        );
    }

    #[test]
    fn satf_serves_the_least_access_time(spec in drive(), raw in requests(40)) {
        let expected = brute(|_, now, drive, p| access(drive, now, p));
        prop_assert_eq!(through(&spec, &raw, policy_maker("satf")), through(&spec, &raw, expected));
    }

    #[test]
    fn asptf_subtracts_w_times_the_wait(spec in drive(), raw in requests(40), w in 0..100u8) {
        // A second of waiting, 10^9 ns, subtracts w ms, w 10^6 ns.
        let expected = brute(move |_, now, drive, p| {
            let credit = i128::from(w) * i128::from((now - p.arrived).as_ns());
            i128::from(positioning(drive, now, p).as_ns()) * 1000 - credit
        });
        let policy = format!("asptf(w={w})");
        let found = through(&spec, &raw, policy_maker(&policy));
        prop_assert_eq!(found, through(&spec, &raw, expected));
    }

    #[test]
    fn spctf_counts_buffered_requests_as_zero(spec in drive(), raw in requests(40)) {
        let expected = brute(|_, now, drive, p| {
            let is_there = drive.outlook(now).is_buffered(&p.request);
            let positioning = positioning(drive, now, p).as_ns();
            if is_there { 0 } else { positioning }
        });
        let found = through(&spec, &raw, policy_maker("spctf"));
        prop_assert_eq!(found, through(&spec, &raw, expected));
    }

    #[test]
    fn wstf_multiplies_by_the_remaining_wait(spec in drive(), raw in requests(40)) {
        let expected = brute(|_, now, drive, p| {
            let left = (100.0 - waited_ms(now, p)).max(0.0) / 100.0;
            // Neither distinguishes products of integers that differ only by rounding.
            (access(drive, now, p).as_ns() as f64 * left * 1e6).round()
        });
        let ours = through(&spec, &raw, policy_maker("wstf(m=100 ms)"));
        prop_assert_eq!(ours, through(&spec, &raw, expected));
    }

    #[test]
    fn saptf_discounts_by_table_6_1(spec in drive(), raw in requests(40)) {
        let expected = brute(|list, now, drive, p| {
            let waits: Vec<f64> = list.iter().map(|p| waited_us(now, p)).collect();
            let mean = waits.iter().sum::<f64>() / waits.len() as f64;
            let squares: f64 = waits.iter().map(|w| (w - mean).powi(2)).sum();
            let deviation = (squares / waits.len() as f64).sqrt();
            let own = waited_us(now, p);
            // Slack for the rounding of equal waits.
            let level = (0..=3).filter(|&i| own > mean + f64::from(i) * deviation + 1e-6).count();
            positioning(drive, now, p).as_ns() as f64 * 0.5f64.powi(level as i32)
        });
        let ours = through(&spec, &raw, policy_maker("saptf(t=0.5)"));
        prop_assert_eq!(ours, through(&spec, &raw, expected));
    }

    #[test]
    fn hol_serves_reads_first(spec in drive(), raw in requests(40)) {
        let expected = brute(|_, now, drive, p| {
            let class = u8::from(!p.request.op.is_read());
            (class, positioning(drive, now, p))
        });
        let hol = through(&spec, &raw, policy_maker("hol(within=sptf)"));
        prop_assert_eq!(&hol, &through(&spec, &raw, expected));
        prop_assert_eq!(&hol, &through(&spec, &raw, policy_maker("sptf-cp(t=0)")));
        let expected = brute(|_, _, _, p| u8::from(!p.request.op.is_read()));
        prop_assert_eq!(through(&spec, &raw, policy_maker("hol")), through(&spec, &raw, expected));
    }

    #[test]
    fn sptf_cp_follows_the_paper(spec in drive(), raw in requests(40)) {
        // Winner first, then the condition, as liu05 words it.
        let expected = |_: &Drive| -> Box<dyn Policy<Drive>> {
            let select = |list: &[Pending], now: Instant, drive: &Drive| {
                let best = |op| (0..list.len()).filter(|&i| list[i].request.op == op)
                    .min_by_key(|&i| positioning(drive, now, &list[i]));
                let ns = |i: usize| positioning(drive, now, &list[i]).as_ns() as f64;
                match (best(Op::Read), best(Op::Write)) {
                    (Some(read), Some(write)) if ns(write) < ns(read) * 0.6 => write,
                    (Some(read), _) => read,
                    (None, write) => write.expect("a request"),
                }
            };
            Box::new(Brute { list: Vec::new(), select })
        };
        let ours = through(&spec, &raw, policy_maker("sptf-cp(t=0.6)"));
        prop_assert_eq!(ours, through(&spec, &raw, expected));
    }

    #[test]
    fn sptf_sw_takes_the_least_seek_of_the_nearly_shortest(
        spec in drive(), raw in requests(40), n in 0..200u8,
    ) {
        let expected = brute(move |list, now, drive, p| {
            let all = list.iter().map(|p| positioning(drive, now, p).as_ns());
            let shortest = all.min().unwrap_or(0);
            let own = positioning(drive, now, p).as_ns();
            let is_out = own * 100 > shortest * (100 + i64::from(n));
            (is_out, drive.outlook(now).seek(&p.request, &drive.locate(&p.request)))
        });
        let ours = through(&spec, &raw, policy_maker(&format!("sptf-sw(n={n}%)")));
        prop_assert_eq!(ours, through(&spec, &raw, expected));
    }

    #[test]
    fn sptf_sw_without_slack_is_sptf_with_ties_by_seek(spec in drive(), raw in requests(40)) {
        let expected = brute(|_, now, drive, p| {
            let seek = drive.outlook(now).seek(&p.request, &drive.locate(&p.request));
            (positioning(drive, now, p), seek)
        });
        let ours = through(&spec, &raw, policy_maker("sptf-sw(n=0%)"));
        prop_assert_eq!(ours, through(&spec, &raw, expected));
    }

    #[test]
    fn windows_exclude_young_requests(
        spec in drive(), raw in requests(40), n in 1..12usize, us in 0..40_000u32,
    ) {
        let window = brute(move |list, now, drive, p| {
            let is_out = list.iter().filter(|q| q.request.id < p.request.id).count() >= n;
            (is_out, positioning(drive, now, p))
        });
        let ours = through(&spec, &raw, policy_maker(&format!("sw-sptf(n={n})")));
        prop_assert_eq!(ours, through(&spec, &raw, window));
        for dynamic in ["no", "yes"] {
            let times = move |list: &[Pending]| if dynamic == "yes" { list.len() } else { 1 };
            let window = brute(move |list, now, drive, p| {
                let after_ns = (p.arrived - list[0].arrived).as_ns();
                let is_out = after_ns > i64::from(us) * 1000 * times(list) as i64;
                (is_out, positioning(drive, now, p))
            });
            let ours = format!("wb-sptf(t={us} us, dynamic={dynamic})");
            let ours = through(&spec, &raw, policy_maker(&ours));
            prop_assert_eq!(ours, through(&spec, &raw, window));
        }
    }

    #[test]
    fn batches_end_before_the_next_begins(spec in drive(), raw in requests(40)) {
        let expected = |_: &Drive| -> Box<dyn Policy<Drive>> {
            let mut batch: Vec<u64> = Vec::new();
            let select = move |list: &[Pending], now: Instant, drive: &Drive| {
                if batch.is_empty() {
                    batch = list.iter().map(|p| p.request.id).collect();
                }
                let mut inside = (0..list.len()).filter(|&i| batch.contains(&list[i].request.id));
                let first = inside.next().expect("a batch");
                let time = |i: usize| access(drive, now, &list[i]);
                let min = inside.fold(first, |a, b| if time(b) < time(a) { b } else { a });
                batch.retain(|&id| id != list[min].request.id);
                min
            };
            Box::new(Brute { list: Vec::new(), select })
        };
        let ours = through(&spec, &raw, policy_maker("bsatf"));
        prop_assert_eq!(ours, through(&spec, &raw, expected));
    }

    #[test]
    fn leaky_batches_admit_requests_that_end_in_time(
        spec in rehearsed_drive(), raw in requests(25),
    ) {
        let mut spec = spec;
        spec.queue.preseek = PreSeek::Acknowledged;
        let ours = through(&spec, &raw, policy_maker("lbsatf"));
        prop_assert_eq!(ours, through(&spec, &raw, |_| Box::new(BruteLeaky::default())));
    }

    #[test]
    fn groups_go_round(spec in drive(), raw in requests(40), n in 1..6u32) {
        let ours = through(&spec, &raw, policy_maker(&format!("gstf(n={n})")));
        let expected = through(&spec, &raw, |_| Box::new(BruteGroups { n, ..Default::default() }));
        prop_assert_eq!(ours, expected);
    }
}

fn waited_us(now: Instant, p: &Pending) -> f64 {
    ((now - p.arrived).as_ns() / 1000) as f64
}

/// GSTF, by walking from group to group.
#[derive(Default)]
struct BruteGroups {
    n: u32,
    group: u32,
    list: Vec<Pending>,
}

impl Policy<Drive> for BruteGroups {
    fn add(&mut self, pending: Pending, _: &Drive) {
        self.list.push(pending);
    }

    fn note_bypass(&mut self, request: &Request, drive: &Drive) {
        self.group = drive.locate(request).cylinder.0 / self.n;
    }

    fn take(&mut self, _: u64) -> Option<Pending> {
        unreachable!("never called")
    }

    fn next(&mut self, now: Instant, drive: &Drive) -> Option<Pending> {
        let last = drive.shape().cylinders / self.n;
        for _ in 0..=last {
            let of = |p: &Pending| drive.locate(&p.request).cylinder.0 / self.n;
            let here = (0..self.list.len()).filter(|&i| of(&self.list[i]) == self.group);
            if let Some(min) = here.min_by_key(|&i| access(drive, now, &self.list[i])) {
                return Some(self.list.remove(min));
            }
            self.group = if self.group == last {
                0
            } else {
                self.group + 1
            };
        }
        None
    }
}

/// LBSATF whose batch is a planned order, recomputed when a request joins.
#[derive(Default)]
struct BruteLeaky {
    plan: Vec<Pending>,
    deadline: Instant,
    fresh: Vec<Pending>,
    later: Vec<Pending>,
}

/// Returns the greedy order of `rest`, and when it ends.
fn plan(mut rest: Vec<Pending>, mut now: Instant, drive: &Drive) -> (Vec<Pending>, Instant) {
    let mut trial = drive.rehearse();
    let mut plan = Vec::new();
    rest.sort_by_key(|p| p.request.id);
    while !rest.is_empty() {
        let min = (0..rest.len()).min_by_key(|&i| {
            let request = &rest[i].request;
            trial.outlook(now).access(request, &trial.locate(request))
        });
        let next = rest.remove(min.expect("some"));
        now = trial.serve(now, &next.request);
        plan.push(next);
    }
    (plan, now)
}

impl Policy<Drive> for BruteLeaky {
    fn add(&mut self, pending: Pending, _: &Drive) {
        self.fresh.push(pending);
    }

    fn take(&mut self, _: u64) -> Option<Pending> {
        unreachable!("never called")
    }

    fn next(&mut self, now: Instant, drive: &Drive) -> Option<Pending> {
        if self.plan.is_empty() {
            let all = self.later.drain(..).chain(self.fresh.drain(..)).collect();
            (self.plan, self.deadline) = plan(all, now, drive);
        }
        for newcomer in std::mem::take(&mut self.fresh) {
            let all = self.plan.iter().copied().chain([newcomer]).collect();
            let (plan, end) = plan(all, now, drive);
            if end <= self.deadline {
                self.plan = plan;
            } else {
                self.later.push(newcomer);
            }
        }
        (!self.plan.is_empty()).then(|| self.plan.remove(0))
    }
}

/// Returns the order in which the tiny drive's queue serves `asked`: ms, direction, block.
fn order(policy: &str, asked: &[(f64, Op, u64)]) -> Vec<u64> {
    let spec = tiny(&format!("[queue]\ndepth = 40\npolicy = \"{policy}\"\n"));
    let requests: Vec<_> = asked.iter().map(|&(at, op, b)| (at, op, b, 1)).collect();
    serve_all(&spec, &requests)
        .iter()
        .map(|c| c.request.start.0)
        .collect()
}

#[test]
fn a_leaky_batch_serves_requests_on_its_way() {
    // Block 0 is under the head at 0 ms and done at 1 ms. The batch then is block 9, which begins
    // at 9 ms. Block 5 arrives meanwhile: it begins at 5 ms and delays nothing. Block 8 on the
    // other surface would also begin at tenth 2 + 8 = 10 ms, but end later: it waits.
    let asked = [
        (0.0, R, 0),
        (0.1, R, 9),
        (0.2, R, 3),
        (1.5, R, 5),
        (1.6, R, 18),
    ];
    // Decisions: at 1 ms (3 before 9), at 4 ms (5 joins, 18 does not), at 6 ms (9), then 18.
    assert_eq!(order("lbsatf", &asked), [0, 3, 5, 9, 18]);
    assert_eq!(order("bsatf", &asked), [0, 3, 9, 5, 18]);
}

#[test]
fn mq_deadline_follows_its_rules() {
    // Service takes at most 21 ms. Blocks ascend in a batch of two; then reads again, from the
    // oldest since nothing lies ahead of 150, or from the next ahead; a write after two batches.
    let asked = [
        (0.0, R, 100),
        (0.1, R, 150),
        (0.2, R, 40),
        (0.3, R, 120),
        (0.4, W, 10),
        (0.5, R, 20),
        (0.6, R, 60),
        (0.7, R, 50),
    ];
    // 100 begins a batch while nothing else waits, and 120 ends it. Among the next, 150 is ahead;
    // after it there is nothing, so that the batch ends and reads have been chosen once over a
    // write; 40 is the oldest and 50 next to it; then they have been chosen twice and the write
    // goes.
    let expected = [100, 120, 150, 40, 50, 10, 60, 20];
    assert_eq!(order("mq-deadline(batch=2)", &asked), expected);
    // With reads that expire at once every batch begins with the oldest.
    let expected = [100, 120, 150, 40, 50, 10, 20, 60];
    assert_eq!(order("mq-deadline(batch=2, reads=0 s)", &asked), expected);
}

#[test]
fn the_count_of_passed_over_writes_restarts_after_each_batch() {
    let reads = [0, 10, 20, 30, 40, 50].map(|block| (R, block));
    let both = reads.into_iter().chain([(W, 100), (W, 110)]);
    let asked: Vec<_> = (0..)
        .zip(both)
        .map(|(i, (op, b))| (f64::from(i) / 10.0, op, b))
        .collect();
    let expected = [0, 10, 20, 100, 30, 40, 110, 50];
    assert_eq!(order("mq-deadline(batch=1)", &asked), expected);
}

#[test]
fn limits_do_not_nest_and_faults_name_the_parameter() {
    let error = |text: &str| {
        text.parse::<PolicyConfig>()
            .expect_err("an error")
            .to_string()
    };
    for inner in ["limited(wait=1 s)", "Limited(policy=LIMITED(policy=sptf))"] {
        let nested = error(&format!("limited(policy={inner})"));
        let expected = "expected a policy without a limit";
        assert_eq!(
            nested,
            format!("limited.policy: found {inner:?}, {expected}")
        );
    }
    let unknown = error("limited(policy=sptff)");
    assert!(unknown.starts_with("limited.policy: found \"sptff\", expected \"sptf\" or"));
    let inner = error("limited(policy=asptf(w=-1))");
    assert_eq!(
        inner,
        "asptf.w: found \"-1\", expected a number from 0 to 1000000000000"
    );
    for text in [
        "sptf-sw(n=1001%)",
        "sptf-sw(n=-1%)",
        "asatf(w=nan)",
        "wstf(m=0 s)",
        "saptf(t=1.1)",
        "sptf-cp(t=-0.1)",
        "gstf(n=0)",
        "sw-sptf(n=0)",
        "wb-sptf(t=-1 ms)",
        "limited(wait=1)",
        "wb-sptf(dynamic=maybe)",
        "mq-deadline(batch=0)",
        "mq-deadline(starved=0)",
    ] {
        let (name, key) = (text.split('(').next(), text.split(['(', '=']).nth(1));
        let field = format!("{}.{}: found", name.expect("one"), key.expect("one"));
        assert!(error(text).starts_with(&field), "{text}: {}", error(text));
    }
    assert!(
        "limited(wait=500 ms, policy=asptf(w=6))"
            .parse::<PolicyConfig>()
            .is_ok()
    );
}

#[test]
fn defaults_match_the_list() {
    for info in INFOS {
        let plain: PolicyConfig = info.name.parse().expect("a policy");
        for (written, _) in info.parameters {
            let full = format!("{}({written})", info.name);
            assert_eq!(full.parse(), Ok(plain.clone()), "{full}");
        }
    }
}
