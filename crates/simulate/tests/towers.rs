//! Towers: devices in front of a drive.

use diskarm_core::device::{DiskWork, Work};
use diskarm_core::report::Report;
use diskarm_core::request::Op;
use diskarm_core::sched::PolicyConfig;
use diskarm_core::units::Span;
use diskarm_simulate::{
    Error, GeneratedRequests, Input, Model, Run, Simulation, System, TraceReplay, never_stop,
};

const OPEN: &str = "poisson(rate=60/s) uniform size=8KiB reads=67%";
const CLOSED: &str = "closed(clients=16) uniform size=8KiB reads=67%";

fn simulated(drive: &str, policy: &str, workload: &str) -> Result<Run, Error> {
    let system = System::parse(drive)?;
    let generated = GeneratedRequests {
        requests: Some(5_000),
        ..GeneratedRequests::new(system.workload(workload)?)
    };
    let input = Input::Generated(generated);
    let policy: PolicyConfig = policy.parse()?;
    Simulation::new(&system, &policy, &input).run(&never_stop, None)
}

fn run(drive: &str, policy: &str, workload: &str) -> Run {
    simulated(drive, policy, workload).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(drive: &str, policy: &str) -> String {
    let error = simulated(drive, policy, OPEN).map(|run| run.seed);
    error.expect_err("a refusal").to_string()
}

/// A report as text, to the bit.
fn report(run: &Run) -> String {
    format!("{:?}", run.report)
}

#[test]
fn a_queue_in_the_stack_serves_like_the_queue_in_front() {
    for (policy, workload) in [
        ("fcfs", OPEN),
        ("sptf", CLOSED),
        ("limited(wait=200ms, policy=clook(by=map))", CLOSED),
        ("satfdf", CLOSED),
        ("aspctf", OPEN),
    ] {
        let plain = run("hp-c2247", policy, workload);
        let tower = format!("host(policy={policy}, drive=hp-c2247)");
        assert_eq!(
            report(&run(&tower, "fcfs", workload)),
            report(&plain),
            "{policy}"
        );
    }
}

#[test]
fn an_injector_without_faults_changes_nothing() {
    for (policy, workload) in [("sptf", CLOSED), ("satf-la(i=2)", OPEN), ("clook", CLOSED)] {
        let plain = report(&run("hp-c2247", policy, workload));
        for tower in [
            "faults(drive=hp-c2247)",
            "faults(seed=7, drive=faults(drive=hp-c2247))",
        ] {
            assert_eq!(
                report(&run(tower, policy, workload)),
                plain,
                "{tower} {policy}"
            );
        }
    }
}

#[test]
fn a_throttle_passes_its_rate_to_the_nanosecond() {
    // Requests start 100 ms apart, and the last takes less than that.
    for tower in [
        "throttle(rate=10/s, drive=hp-c2247)",
        "throttle(bytes=80KiB/s, drive=hp-c2247)",
        "throttle(bytes=160sectors/s, drive=hp-c2247)",
        "throttle(rate=20/s, bytes=80 KiB/s, drive=faults(drive=hp-c2247))",
    ] {
        let report = run(tower, "sptf", CLOSED).report;
        let apart = Span::from_ms(100.0) * (report.requests_count() - 1);
        let last = report.elapsed() - apart;
        assert!(
            Span::ZERO < last && last < Span::from_ms(100.0),
            "{tower}: {last:?}"
        );
    }
    let limited = run("throttle(rate=30/s, drive=hp-c2247)", "fcfs", CLOSED);
    let throughput = limited
        .report
        .throughput_per_s()
        .expect("a run of some length");
    assert!((throughput / 30.0 - 1.0).abs() < 1e-3, "{throughput}");
}

#[test]
fn each_recalibration_takes_its_time() {
    // One client: while the drive recalibrates nothing else happens, and the run is longer by
    // the recalibrations in it.
    let alone = "closed(clients=1) uniform size=8KiB reads=67%";
    let plain = run("hp-c2247", "fcfs", alone).report;
    let tower = "faults(recalibrate=\"every 5s for 250ms\", drive=hp-c2247)";
    let faulty = run(tower, "fcfs", alone).report;
    let count = faulty.elapsed().as_ns() / Span::from_s(5.0).as_ns();
    assert!(count > 10);
    let added = Span::from_ms(250.0) * count as u64;
    assert_eq!(faulty.elapsed(), plain.elapsed() + added);
    // With a single client, responses account for all of the time.
    let mean = |report: &Report| report.all().mean_breakdown().map(|mean| mean.total());
    let (slow, fast) = (mean(&faulty), mean(&plain));
    let difference = slow.expect("requests") - fast.expect("requests");
    let expected = added.as_ns() / faulty.requests_count() as i64;
    assert!((difference.as_ns() - expected).abs() <= 2, "{difference:?}");
}

#[test]
fn errors_and_outages_are_counted() {
    let retried = "faults(recovered=\"50% after 1 retries\", drive=hp-c2247)";
    let (plain, retried) = (run("hp-c2247", "fcfs", OPEN), run(retried, "fcfs", OPEN));
    // Each recovered request takes another revolution: half a revolution on average.
    let rotation = |run: &Run| {
        let mean = run.report.all().mean_breakdown();
        mean.map_or(0.0, |mean| mean.rotation.as_s() * 1e3)
    };
    let more = rotation(&retried) - rotation(&plain);
    assert!((more - 11.1 / 2.0).abs() < 0.5, "{more} ms");
    assert_eq!(retried.report.failed_count(), 0);
    assert!(retried.report.recovered_count().abs_diff(2_500) < 150);

    let failing = "faults(medium=\"0..1000000 reads after 0 retries\", drive=hp-c2247)";
    let failing = run(failing, "fcfs", OPEN).report;
    let reads = plain.report.of(Op::Read).requests_count();
    let served = failing.of(Op::Read).requests_count();
    assert_eq!(failing.failed_count(), reads - served);
    let sectors = System::parse("hp-c2247").expect("a drive").disk().sectors;
    let expected = 1e6 / sectors.0 as f64;
    let share = failing.failed_count() as f64 / reads as f64;
    assert!(
        (share - expected).abs() < 0.03,
        "{share} of the reads, not {expected}"
    );

    let light = "poisson(rate=30/s) uniform size=8KiB reads=67%";
    let lost = "faults(outage=\"10s to 20s\", drive=hp-c2247)";
    let failed = run(lost, "fcfs", light).report.failed_count();
    // 30 requests a second, and the few that were outstanding when the drive was lost.
    assert!(failed.abs_diff(300) < 70, "{failed}");
}

#[test]
fn failed_requests_are_not_counted_in_streams_and_windows() {
    let drive = "faults(outage=\"0s to 1000s\", drive=hp-c2247)";
    let system = System::parse(drive).expect("a stack");
    let workload = system.workload("poisson(rate=30/s) uniform size=8KiB");
    let mut workload = workload.expect("a workload");
    workload.streams.push(workload.streams[0].clone());
    let input = Input::Generated(GeneratedRequests {
        requests: Some(1_000),
        ..GeneratedRequests::new(workload)
    });
    let fcfs = PolicyConfig::default();
    let simulation = Simulation {
        window: Some(Span::from_s(1.0)),
        ..Simulation::new(&system, &fcfs, &input)
    };
    let run = simulation.run(&never_stop, None).expect("sound");
    assert_eq!(run.report.failed_count(), 1_000);
    assert_eq!(run.streams.len(), 2);
    assert!(
        run.streams
            .iter()
            .all(|served| served.requests_count() == 0)
    );
    let windows = run.windows.expect("as asked for");
    assert!(windows.iter().all(|window| window.responses.is_none()));
    let arrived = windows.iter().map(|window| window.arrived_count);
    assert_eq!(arrived.sum::<u64>(), 1_000);
}

#[test]
fn injectors_with_one_seed_affect_different_requests() {
    let one = "faults(medium=\"10% after 0 retries\", drive=hp-c2247)";
    let two = format!("faults(medium=\"10% after 0 retries\", drive={one})");
    let failed = |tower: &str| run(tower, "fcfs", OPEN).report.failed_count();
    // 10 % of 5000, and 19 %.
    assert!(failed(one).abs_diff(500) < 90);
    assert!(failed(&two).abs_diff(950) < 120);
}

/// Members serve the same writes in the same order, so with the same numbers they would fail
/// together: 10 % of the writes, whichever copy counts.
#[test]
fn injectors_of_members_affect_different_requests() {
    let writes = "poisson(rate=20/s) uniform size=8KiB reads=0%";
    let drive = "faults(medium=\"10% after 0 retries\", drive=hp-c2247)";
    for pair in ["mirror(", "raid10(pairs=1, stripe=4MiB, "] {
        let failed = |complete: &str| {
            let tower = format!("{pair}complete={complete}, drive={drive})");
            run(&tower, "fcfs", writes).report.failed_count()
        };
        // 19 % of 5000 fail at a member, and 1 % at both.
        assert!(failed("both").abs_diff(950) < 120, "{}", failed("both"));
        assert!(failed("first").abs_diff(50) < 35, "{}", failed("first"));
    }
}

#[test]
fn policies_learn_no_positions_through_a_queue() {
    let tower = "host(drive=hp-c2247)";
    let lacks = |what| format!("{what}, which host does not provide");
    assert_eq!(
        refusal(tower, "sptf"),
        lacks("policy sptf needs positioning times")
            + "; put the policy inside: host(policy=sptf, ...)"
    );
    assert_eq!(
        refusal(tower, "look(by=map)"),
        lacks("policy look(by=map) needs the cylinders of blocks")
            + "; put the policy inside: host(policy=look(by=map), ...)"
    );
    let pair = refusal("throttle(rate=90/s, drive=mirror(drive=hp-c2247))", "satf");
    assert!(
        pair.ends_with("mirror does not provide; put the policy inside: mirror(policy=satf, ...)"),
        "{pair}"
    );
    run(
        "throttle(rate=90/s, drive=mirror(policy=satf, drive=hp-c2247))",
        "fcfs",
        OPEN,
    );
    assert_eq!(
        refusal("host(policy=satf, drive=host(drive=hp-c2247))", "fcfs"),
        lacks("drive: policy satf needs positioning times")
    );
    run(tower, "look", OPEN);
}

/// Checks that each stack is refused in one line that begins as expected.
fn check_refusals(cases: &[(&str, &str)]) {
    for (tower, expected) in cases {
        let found = refusal(tower, "fcfs");
        assert!(found.starts_with(expected), "{tower}: {found}");
        assert_eq!(found.lines().count(), 1, "{found}");
    }
}

#[test]
fn invalid_stacks_are_refused_in_one_line() {
    check_refusals(&[
        (
            "hots(drive=hp-c2247)",
            "drive: found \"hots\", expected \"host\" or one of host",
        ),
        (
            "host",
            "drive: host.drive: found nothing, expected the drive or device below it, such as",
        ),
        (
            "host()",
            "drive: host.drive: found nothing, expected the drive or device below it, such as",
        ),
        (
            "host(drive=hp-c2247",
            "drive: found \"host(drive=hp-c2247\", expected 1 more \")\"",
        ),
        (
            "host(drive=hp-c2247, policy=spft)",
            "drive: host.policy: found \"spft\", expected \"sptf\" or one of",
        ),
        (
            "host(drive=hp-c2247, polcy=sptf)",
            "drive: host: found \"polcy\", expected a known parameter: \"policy\" or one of drive, \
             policy, merge",
        ),
        (
            "host(drive=hp-c2247, drive=hp-c2247)",
            "drive: host.drive: found \"hp-c2247\" and \"hp-c2247\", expected a single value",
        ),
        (
            "host(drive=hots(drive=hp-c2247))",
            "drive: host.drive: found \"hots\", expected \"host\" or one of",
        ),
        (
            "host(drive=hp-c2274)",
            "drive: found \"hp-c2274\", expected a drive in the catalogue (nearest: hp-c2247, ",
        ),
    ]);
}

#[test]
fn invalid_parameters_are_refused_in_one_line() {
    check_refusals(&[
        (
            "throttle(drive=hp-c2247)",
            "drive: throttle.rate: found nothing, expected a rate from one per hour",
        ),
        (
            "throttle(rates=10/s, drive=hp-c2247)",
            "drive: throttle: found \"rates\", expected a known parameter: \"rate\" or one of",
        ),
        (
            "throttle(rate=10/s drive=hp-c2247)",
            "drive: throttle.rate: found \"10/s drive=hp-c2247\", expected one value, and a comma",
        ),
        (
            "throttle rate=10/s, drive=hp-c2247",
            "drive: found \"throttle rate=10/s, drive=hp-c2247\", expected a name with its",
        ),
        (
            "throttle(bytes=99B/s, drive=hp-c2247)",
            "drive: throttle.bytes: found \"99B/s\", expected at least 100 bytes per second",
        ),
        (
            "faults(medium=0..9999999 after 2 retries, drive=hp-c2247)",
            "drive: faults.medium: found 0..9999999, expected a range within the drive's blocks, \
             0..2054864",
        ),
        (
            "throttle(rate=10/x, drive=hp-c2247)",
            "drive: throttle.rate: found \"10/x\", expected a rate from one per hour",
        ),
        (
            "faults(recalibrate=every 1s for 2s, drive=hp-c2247)",
            "drive: faults.recalibrate: found \"every 1s for 2s\", expected two times",
        ),
        (
            "faults(recovered=1% after 0 retries, drive=hp-c2247)",
            "drive: faults.recovered: found \"1% after 0 retries\", expected a share",
        ),
        (
            "faults(medium=5..5 after 1 retry, drive=hp-c2247)",
            "drive: faults.medium: found \"5..5 after 1 retry\", expected a share",
        ),
        (
            "faults(outage=1s to 3s, outage=2s to 4s, drive=hp-c2247)",
            "drive: faults.outage: found 2 s to 4 s, expected an outage after 1 s to 3 s",
        ),
        (
            "host(merge=100, drive=hp-c2247)",
            "drive: host.merge: found \"100\", expected 1 to",
        ),
    ]);
}

#[test]
fn stacks_are_refused_where_a_drive_is_needed() {
    let expected = "drive: found \"host(drive=hp-c2247)\", expected a drive in the catalogue or \
                    a .toml file, without devices in front of it";
    let error = Model::find("host(drive=hp-c2247)").expect_err("a stack");
    assert_eq!(error.to_string(), expected);
    let tower = System::parse("host(drive=hp-c2247)").expect("a stack");
    let error = tower.single_drive("drive").expect_err("a stack");
    assert_eq!(error.to_string(), expected);
    let plain = System::parse("hp-c2247").expect("a drive");
    assert!(plain.stack.is_none() && plain.single_drive("drive").is_ok());
}

/// Two disks that receive the same requests at the same times, with two seeds.
#[test]
fn each_disk_and_each_seed_of_a_replay_has_its_own_faults() {
    let system = System::parse("faults(medium=\"10% after 0 retries\", drive=hp-c2247)");
    let (system, fcfs) = (system.expect("a stack"), PolicyConfig::default());
    let rows = (0..500).map(|n| {
        let (block, second) = (n * 7_919 % 2_000_000, n / 10);
        format!("0,{block},4096,R,{second}.{n:04}\n1,{block},4096,R,{second}.{n:04}\n")
    });
    let file = std::env::temp_dir().join(format!("diskarm-{}-two.spc", std::process::id()));
    std::fs::write(&file, rows.collect::<String>()).expect("a file");
    let mut reports = Vec::new();
    for seed in [1, 2] {
        let input = Input::Traced(TraceReplay {
            seed,
            ..TraceReplay::new(vec![file.display().to_string()])
        });
        let run = Simulation::new(&system, &fcfs, &input).run(&never_stop, None);
        let run = run.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(run.seed, Some(seed));
        let of_disks = run.disks.iter().map(|(_, report)| format!("{report:?}"));
        reports.extend(of_disks);
    }
    std::fs::remove_file(&file).expect("its file");
    assert_eq!(reports.len(), 4);
    reports.sort_unstable();
    reports.dedup();
    assert_eq!(reports.len(), 4, "some faults are the same");
}

#[test]
fn a_pair_depends_on_its_seed_alone_and_each_option_matters() {
    let towers = [
        "mirror(drive=hp-c2247)",
        "mirror(routing=uniform, drive=hp-c2247)",
        "mirror(routing=jsq, drive=hp-c2247)",
        "mirror(routing=srt, drive=hp-c2247)",
        "mirror(routing=olr, drive=hp-c2247)",
        "mirror(routing=minr, policy=satf, drive=hp-c2247)",
        "mirror(routing=mins, policy=satf, drive=hp-c2247)",
        "mirror(routing=affinity, drive=hp-c2247)",
        "mirror(routing=affinity(pivot=cylinders), drive=hp-c2247)",
        "mirror(routing=affinity(pivot=30%), drive=hp-c2247)",
        "mirror(routing=affinity(relaxed=2), drive=hp-c2247)",
        "mirror(policy=satf, drive=hp-c2247)",
        "mirror(queue=shared, drive=hp-c2247)",
        "mirror(queue=shared, routing=affinity(pivot=40%, relaxed=0), drive=hp-c2247)",
        "mirror(queue=shared, routing=affinity(pivot=40%, relaxed=3), drive=hp-c2247)",
        "mirror(queue=shared, layout=transposed, drive=hp-c2247)",
        "mirror(queue=shared, layout=transposed, unit=64KiB, drive=hp-c2247)",
        "mirror(queue=shared, complete=first, drive=hp-c2247)",
        "mirror(failed=1, drive=hp-c2247)",
        "mirror(failed=1@2s, drive=hp-c2247)",
        "mirror(failed=1@2s, rebuild=100%, drive=hp-c2247)",
        "mirror(queue=shared, policy=satf, drive=mirror(queue=shared, drive=hp-c2247))",
    ];
    // The policy in front needs positions, which a pair does not provide.
    let (nested, plain) = towers.split_last().expect("several");
    let found = refusal(nested, "fcfs");
    assert!(found.contains("which mirror does not provide"), "{found}");
    let mut reports: Vec<String> = plain
        .iter()
        .map(|tower| report(&run(tower, "fcfs", OPEN)))
        .collect();
    for (tower, expected) in plain.iter().zip(&reports) {
        assert_eq!(report(&run(tower, "fcfs", OPEN)), *expected, "{tower}");
    }
    reports.sort_unstable();
    reports.dedup();
    assert_eq!(reports.len(), plain.len());
}

#[test]
fn wrong_pairs_are_refused_in_one_line() {
    check_refusals(&[
        (
            "mirror(queue=common, drive=hp-c2247)",
            "drive: mirror.queue: found \"common\", expected independent or shared",
        ),
        (
            "mirror(queue=shared, routing=cyclic, drive=hp-c2247)",
            "drive: mirror.queue: found \"shared\", expected queue=independent, routing=affinity",
        ),
        (
            "mirror(routing=cyclical, drive=hp-c2247)",
            "drive: mirror.routing: found \"cyclical\", expected \"cyclic\" or one of uniform,",
        ),
        (
            "mirror(routing=affinity(pivot=100%), drive=hp-c2247)",
            "drive: affinity.pivot: found \"100%\", expected capacities, cylinders, or a share",
        ),
        (
            "mirror(routing=affinity(pivot=cylinders), drive=raid0(disks=2, drive=hp-c2247))",
            "drive: affinity.pivot: found \"cylinders\", expected capacities, or a share of the \
             blocks above 0 % and below 100 %, such as \"30 %\": only a drive has cylinders",
        ),
        (
            "mirror(routing=affinity(pivots=1), drive=hp-c2247)",
            "drive: affinity: found \"pivots\", expected a known parameter: \"pivot\"",
        ),
        (
            "mirror(routing=jsq(relaxed=1), drive=hp-c2247)",
            "drive: jsq: found \"relaxed\", expected only the name, without parameters",
        ),
        (
            "mirror(routing=srt, policy=satf, drive=hp-c2247)",
            "drive: mirror.policy: found satf, expected fcfs: routing=srt simulates no other",
        ),
        (
            "mirror(routing=minr, drive=hp-c2247)",
            "drive: mirror.policy: found fcfs, expected satf: routing=minr simulates no other",
        ),
        (
            "mirror(routing=olr, drive=host(drive=hp-c2247))",
            "drive: policy olr needs positioning times, which host does not provide",
        ),
        (
            "mirror(layout=reverse, drive=hp-c2247)",
            "drive: mirror.layout: found \"reverse\", expected normal or transposed",
        ),
        (
            "mirror(unit=1MiB, drive=hp-c2247)",
            "drive: mirror.layout: found \"normal\", expected layout=transposed, or no unit",
        ),
        (
            "mirror(layout=transposed, unit=0KiB, drive=hp-c2247)",
            "drive: mirror.unit: found \"0KiB\", expected 1 to",
        ),
        (
            "mirror(complete=second, drive=hp-c2247)",
            "drive: mirror.complete: found \"second\", expected both or first",
        ),
        (
            "mirror(policy=satf, drive=host(drive=hp-c2247))",
            "drive: policy satf needs positioning times, which host does not provide",
        ),
    ]);
}

#[test]
fn each_option_of_a_cache_matters() {
    let towers = [
        "nvcache(drive=hp-c2247)",
        "nvcache(size=16KiB, drive=hp-c2247)",
        "nvcache(merge=64KiB, drive=hp-c2247)",
        "nvcache(battery_fails=10s, drive=hp-c2247)",
        "nvcache(drive=mirror(queue=shared, policy=hol, drive=hp-c2247))",
        "nvcache(destage=adu, drive=hp-c2247)",
        "nvcache(destage=adu(tw=4), drive=hp-c2247)",
        "nvcache(destage=adu(order=satf), drive=hp-c2247)",
        "nvcache(destage=adu(order=access-at-start), drive=hp-c2247)",
        "nvcache(destage=adu(tw=4, order=optimal), drive=hp-c2247)",
        "nvcache(destage=adu, policy=satf, drive=hp-c2247)",
        "nvcache(destage=adu, failed=1@2s, drive=hp-c2247)",
        "nvcache(destage=ad-cp, failed=0, rebuild=100%, drive=hp-c2247)",
        "nvcache(destage=ad-cp, drive=hp-c2247)",
        "nvcache(destage=ad-cp(tw=4), drive=hp-c2247)",
        "nvcache(destage=ad-cp(tw=4, tr=99), drive=hp-c2247)",
        "nvcache(destage=ad-cp(tw=4, order=ascending), drive=hp-c2247)",
    ];
    // Sequential writes, for merging; two seldom at the same place.
    let busy = "closed(clients=12) sequential(share=50%) uniform size=8KiB reads=40%";
    let results = |tower: &&str| {
        let run = run(tower, "fcfs", busy);
        format!("{:?} {:?}", run.report, run.parts)
    };
    let all: Vec<String> = towers.iter().map(results).collect();
    assert_eq!(results(&towers[0]), all[0]);
    for (number, one) in all.iter().enumerate() {
        let same = all[..number].iter().position(|other| other == one);
        assert_eq!(same.map(|same| towers[same]), None, "{}", towers[number]);
    }
}

#[test]
fn wrong_caches_are_refused_in_one_line() {
    check_refusals(&[
        (
            "nvcache(size=2KiB, destage=adu(tw=8), drive=hp-c2247)",
            "drive: nvcache.size: found \"2KiB\", expected 8 to 2054864 sectors of 512 bytes, with",
        ),
        (
            "nvcache(destage=adcp, drive=hp-c2247)",
            "drive: nvcache.destage: found \"adcp\", expected \"ad-cp\" or one of at-once,",
        ),
        (
            "nvcache(destage=adu(tr=4), drive=hp-c2247)",
            "drive: adu: found \"tr\", expected a known parameter",
        ),
        (
            "nvcache(destage=ad-cp(tw=12, order=optimal), drive=hp-c2247)",
            "drive: ad-cp.tw: found 12, expected at most 10 with order=optimal",
        ),
        (
            "nvcache(failed=0, drive=hp-c2247)",
            "drive: nvcache.destage: found \"at-once\", expected destage=adu or ad-cp, or drive=",
        ),
        (
            "nvcache(destage=adu, failed=2, drive=hp-c2247)",
            "drive: nvcache.failed: found \"2\", expected a disk from 0 to 1, such as",
        ),
        (
            "nvcache(policy=satf, drive=hp-c2247)",
            "drive: nvcache.destage: found \"at-once\", expected destage=adu or destage=ad-cp, or",
        ),
        (
            "nvcache(destage=adu(order=satf), drive=host(drive=hp-c2247))",
            "drive: policy satf needs positioning times, which host does not provide",
        ),
    ]);
}

#[test]
fn disks_report_their_work() {
    let parts = |drive: &str| {
        let run = run(drive, "fcfs", OPEN);
        let disks: Vec<(String, DiskWork)> = run
            .parts
            .iter()
            .filter_map(|part| match &part.work {
                Work::Disk(work) => Some((part.name.clone(), work.clone())),
                _ => None,
            })
            .collect();
        let of = |op| run.report.of(op).requests_count();
        (disks, of(Op::Read), of(Op::Write))
    };
    let (disks, reads, writes) = parts("mirror(drive=hp-c2247)");
    let names: Vec<&str> = disks.iter().map(|(name, _)| &name[..]).collect();
    assert_eq!(names, ["0", "1"]);
    assert_eq!(disks.iter().map(|(_, disk)| disk.reads).sum::<u64>(), reads);
    assert!(disks.iter().all(|(_, disk)| disk.writes == writes));
    for (_, disk) in &disks {
        let busy = disk.reading_fraction + disk.writing_fraction;
        assert!((0.3..1.0).contains(&busy), "{disk:?}");
    }
    let (disks, ..) = parts("raid10(pairs=2, drive=hp-c2247)");
    let names: Vec<&str> = disks.iter().map(|(name, _)| &name[..]).collect();
    assert_eq!(names, ["0.0", "0.1", "1.0", "1.1"]);
    // Stripes may split a request.
    assert!(disks.iter().map(|(_, disk)| disk.reads).sum::<u64>() >= reads);
    assert_eq!(disks[0].1.writes, disks[1].1.writes);
    let (none, ..) = parts("hp-c2247");
    assert_eq!(none.len(), 0);
}

/// All reads of a pair go to its first disk, or all to its second: then the pair is as one of two
/// disks of that system.
#[test]
fn models_alternate_among_the_disks_of_an_array() {
    let reads = "poisson(rate=20/s) uniform size=8KiB reads=100%";
    let report = |drives: &str, pivot: &str| {
        let tower = format!("mirror(routing=affinity(pivot={pivot}), {drives})");
        format!("{:?}", run(&tower, "fcfs", reads).report)
    };
    let (one, other) = ("drive=hp-c2247", "drive=hp-c2247-calibrated");
    let both = format!("{one}, {other}");
    for pivot in ["99.999999%", "0.000001%"] {
        assert_ne!(report(one, pivot), report(other, pivot));
    }
    assert_eq!(report(&both, "99.999999%"), report(one, "99.999999%"));
    assert_eq!(report(&both, "0.000001%"), report(other, "0.000001%"));
    // Each pair has one of each.
    let report = |drives: &str| {
        let tower = format!("raid10(pairs=2, routing=affinity(pivot=99.999999%), {drives})");
        format!("{:?}", run(&tower, "fcfs", reads).report)
    };
    assert_eq!(report(&both), report(one));
}

#[test]
fn drives_of_several_models_have_one_size() {
    for (tower, expected) in [
        (
            "mirror(drive=hp-c2247, drive=ibm-18es)",
            "drive: found \"ibm-18es\", 17916240 sectors of 512 bytes, expected 2054864 sectors of \
             512 bytes, like \"hp-c2247\"",
        ),
        (
            "mirror(drive=hp-c2247, drive=host(drive=hp-c2247))",
            "drive: mirror.drive: found \"host(drive=hp-c2247)\", expected a drive: only drives \
             can be given several times",
        ),
        (
            "host(drive=hp-c2247, drive=hp-c2247)",
            "drive: host.drive: found \"hp-c2247\" and \"hp-c2247\", expected a single value",
        ),
        (
            "mirror(drive=hp-c2247, drive=hp-c2274)",
            "drive: found \"hp-c2274\", expected",
        ),
    ] {
        let error = simulated(tower, "fcfs", "poisson(rate=1/s) uniform");
        let error = error.err().map(|error| error.to_string());
        let found = error.unwrap_or_default();
        assert!(found.starts_with(expected), "{found}");
    }
}

/// By Little's law 16 clients that each wait for half a second and a service get nearly 32 requests
/// per second, as from dm-delay in front of a disk; a spike of the same length occupies the disk.
#[test]
fn a_delay_does_not_occupy_the_device() {
    let closed = "closed(clients=16) uniform size=8KiB";
    let run = run("delay(time=500ms, drive=sata-4tb-7200)", "fcfs", closed);
    let report = &run.report;
    let mean = report.all().mean_breakdown().expect("requests").total();
    assert!(mean > Span::from_ms(500.0));
    let throughput = report.throughput_per_s().expect("a run of some length");
    assert!((throughput * mean.as_s() / 16.0 - 1.0).abs() < 0.01);
    assert!((28.0..32.0).contains(&throughput), "{throughput}");
    let delayed = run
        .parts
        .iter()
        .filter_map(|part| part.work.named_number("delayed"));
    assert_eq!(delayed.sum::<f64>(), report.requests_count() as f64);
}
