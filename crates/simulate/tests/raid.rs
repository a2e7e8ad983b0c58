//! Disk arrays in a stack of devices.

use diskarm_core::device::Work;
use diskarm_core::sched::PolicyConfig;
use diskarm_simulate::{Error, GeneratedRequests, Input, Run, Simulation, System, never_stop};

const DRIVE: &str = "drive=hp-c2247";
const LOAD: &str = "poisson(rate=200/s) uniform size=8KiB reads=67%";

fn simulated(drive: &str, workload: &str) -> Result<Run, Error> {
    let system = System::parse(drive)?;
    let generated = GeneratedRequests {
        requests: Some(5_000),
        ..GeneratedRequests::new(system.workload(workload)?)
    };
    let input = Input::Generated(generated);
    Simulation::new(&system, &PolicyConfig::default(), &input).run(&never_stop, None)
}

fn run(drive: &str, workload: &str) -> Run {
    simulated(drive, workload).unwrap_or_else(|error| panic!("{error}"))
}

fn mean_ms(run: &Run) -> f64 {
    let mean = run.report.all().mean_breakdown();
    mean.map_or(0.0, |mean| mean.total().as_s() * 1e3)
}

fn sectors(drive: &str) -> u64 {
    System::parse(drive).expect("a stack").disk().sectors.0
}

#[test]
fn the_blocks_of_an_array_are_those_of_its_data() {
    let one = sectors("hp-c2247");
    for (tower, disks) in [
        ("raid0(disks=1, drive=hp-c2247)", 1),
        ("raid0(disks=7, drive=hp-c2247)", 7),
        ("raid10(pairs=4, drive=hp-c2247)", 4),
        ("raid5(disks=5, drive=hp-c2247)", 4),
        ("raid5(disks=5, failed=4, drive=hp-c2247)", 4),
        ("raid5(disks=5, failed=4, rebuild=1%, drive=hp-c2247)", 4),
        (
            "throttle(rate=1/s, drive=raid0(disks=7, drive=hp-c2247))",
            7,
        ),
        (
            "mirror(drive=raid0(disks=3, drive=raid5(disks=3, drive=hp-c2247)))",
            6,
        ),
    ] {
        assert_eq!(sectors(tower), disks * one, "{tower}");
    }
}

/// Each option has an effect, and equal runs are equal.
#[test]
fn an_array_depends_on_its_seed_alone_and_each_option_matters() {
    let towers = [
        "raid0(disks=8, DRIVE)",
        "raid0(disks=9, DRIVE)",
        "raid0(disks=8, stripe=4KiB, DRIVE)",
        "raid0(disks=8, policy=satf, DRIVE)",
        "raid10(pairs=4, DRIVE)",
        "raid10(pairs=5, DRIVE)",
        "raid10(pairs=4, stripe=4KiB, DRIVE)",
        "raid10(pairs=4, stripe=64KiB, queue=shared, policy=satf, DRIVE)",
        "raid10(pairs=4, queue=shared, layout=transposed, DRIVE)",
        "raid10(pairs=4, queue=shared, layout=transposed, unit=4KiB, DRIVE)",
        "raid10(pairs=4, complete=first, DRIVE)",
        "raid10(pairs=4, routing=jsq, DRIVE)",
        "raid10(pairs=4, failed=2, DRIVE)",
        "raid10(pairs=4, failed=3, DRIVE)",
        "raid10(pairs=4, failed=3@2s, DRIVE)",
        "raid10(pairs=4, failed=3@2s, rebuild=20%, DRIVE)",
        "raid10(pairs=4, failed=3@2s, rebuild=100%, DRIVE)",
        "raid10(pairs=4, failed=3@2s, rebuild=20%, failed=4@3s, DRIVE)",
        "raid10(pairs=4, failed=3@2s, rebuild=20%, failed=2@3s, DRIVE)",
        "raid10(pairs=4, queue=shared, layout=transposed, failed=3@2s, rebuild=20%, DRIVE)",
        "raid10(pairs=4, queue=shared, complete=first, failed=3@2s, rebuild=20%, DRIVE)",
        "raid5(disks=8, DRIVE)",
        "raid5(disks=8, stripe=4KiB, DRIVE)",
        "raid5(disks=8, policy=satf, DRIVE)",
        "raid5(disks=8, failed=0, DRIVE)",
        "raid5(disks=8, failed=7, DRIVE)",
        "raid5(disks=8, failed=7, rebuild=20%, DRIVE)",
        "raid5(disks=8, failed=7, rebuild=100%, DRIVE)",
        "raid5(disks=8, failed=7@2s, DRIVE)",
        "raid5(disks=8, failed=7@2s, rebuild=20%, DRIVE)",
        "raid5(disks=8, failed=7@2s, rebuild=100%, failed=0@4s, DRIVE)",
    ];
    let reports = || {
        let towers = towers.iter().map(|tower| tower.replace("DRIVE", DRIVE));
        let reports = towers.map(|tower| format!("{:?}", run(&tower, LOAD).report));
        reports.collect::<Vec<_>>()
    };
    let mut first = reports();
    assert_eq!(first, reports());
    first.sort_unstable();
    first.dedup();
    assert_eq!(first.len(), towers.len());
}

/// At a light load the read of a lost block takes the longest of several reads, and a small write
/// the longer of two reads and then of two writes.
#[test]
fn redundancy_has_the_expected_cost() {
    let reads = "poisson(rate=5/s) uniform size=4KiB reads=100%";
    let writes = "poisson(rate=5/s) uniform size=4KiB reads=0%";
    let whole = "raid5(disks=8, drive=hp-c2247)";
    let degraded = "raid5(disks=8, failed=3, drive=hp-c2247)";
    let plain = "raid0(disks=8, drive=hp-c2247)";
    let [whole_ms, degraded_ms, plain_ms] =
        [whole, degraded, plain].map(|tower| mean_ms(&run(tower, reads)));
    assert!(
        (whole_ms / plain_ms - 1.0).abs() < 0.03,
        "{whole_ms} {plain_ms}"
    );
    assert!(degraded_ms > 1.02 * whole_ms, "{degraded_ms} {whole_ms}");
    let [whole_ms, plain_ms] = [whole, plain].map(|tower| mean_ms(&run(tower, writes)));
    assert!(whole_ms > 1.7 * plain_ms, "{whole_ms} {plain_ms}");
}

#[test]
fn an_array_may_have_hundreds_of_disks() {
    let load = "poisson(rate=5000/s) uniform size=8KiB reads=67%";
    for tower in [
        "raid0(disks=1000, drive=hp-c2247)",
        "raid10(pairs=500, drive=hp-c2247)",
        "raid5(disks=1000, drive=hp-c2247)",
    ] {
        assert_eq!(run(tower, load).report.requests_count(), 5_000);
    }
}

/// Checks that each stack is refused in one line that begins as expected.
fn check_refusals(cases: &[(&str, &str)]) {
    for (tower, expected) in cases {
        let error = simulated(tower, LOAD).map(|run| run.seed);
        let found = error.expect_err("a refusal").to_string();
        assert!(found.starts_with(expected), "{tower}: {found}");
        assert_eq!(found.lines().count(), 1, "{found}");
    }
}

#[test]
fn wrong_stripes_are_refused_in_one_line() {
    check_refusals(&[
        (
            "raid0(drive=hp-c2247)",
            "drive: raid0.disks: found nothing, expected a whole number from 1 to 1000",
        ),
        (
            "raid0(disks=0, drive=hp-c2247)",
            "drive: raid0.disks: found \"0\", expected a whole number from 1 to 1000",
        ),
        (
            "raid0(disks=1001, drive=hp-c2247)",
            "drive: raid0.disks: found \"1001\", expected a whole number from 1 to 1000",
        ),
        (
            "raid0(disks=5, failed=1, drive=hp-c2247)",
            "drive: raid0: found \"failed\", expected a known parameter: drive, disks, policy",
        ),
        (
            "raid0(disks=5, stripe=0KiB, drive=hp-c2247)",
            "drive: raid0.stripe: found \"0KiB\", expected 1 to 65536 sectors of 512 bytes",
        ),
        (
            "raid0(disks=5, stripe=1000B, drive=hp-c2247)",
            "drive: raid0.stripe: found \"1000B\", expected 1 to 65536 sectors of 512 bytes",
        ),
        (
            "raid0(disks=5, policy=spft, drive=hp-c2247)",
            "drive: raid0.policy: found \"spft\", expected \"sptf\" or one of",
        ),
        (
            "raid0(disks=5, policy=sptf, drive=host(drive=hp-c2247))",
            "drive: policy sptf needs positioning times, which host does not provide",
        ),
        (
            "raid5(disks=5, policy=sptf, drive=mirror(drive=hp-c2247))",
            "drive: policy sptf needs positioning times, which mirror does not provide",
        ),
        (
            "host(policy=sptf, drive=raid5(disks=5, drive=hp-c2247))",
            "drive: policy sptf needs positioning times, which raid5 does not provide",
        ),
        (
            "raid10(pairs=501, drive=hp-c2247)",
            "drive: raid10.pairs: found \"501\", expected a whole number from 1 to 500",
        ),
        (
            "raid10(pairs=4, queue=shared, routing=jsq, drive=hp-c2247)",
            "drive: raid10.queue: found \"shared\", expected queue=independent, routing=affinity",
        ),
    ]);
}

/// The partner of a failed disk reads twice as much, and no other disk does. About 5,000 / 8 reads
/// go to each disk.
#[test]
fn the_partner_of_a_failed_disk_does_its_work() {
    let reads = "poisson(rate=50/s) uniform size=8KiB reads=100%";
    let found = run("raid10(pairs=4, failed=3, failed=4, drive=hp-c2247)", reads);
    let expected = [1.0, 1.0, 2.0, 0.0, 0.0, 2.0, 1.0, 1.0];
    let disks = found.parts.iter().filter_map(|part| match &part.work {
        Work::Disk(work) => Some((part.name.clone(), work.reads as f64 / 625.0)),
        _ => None,
    });
    let disks: Vec<(String, f64)> = disks.collect();
    assert_eq!(disks.len(), expected.len());
    for (number, ((name, load), expected)) in disks.iter().zip(expected).enumerate() {
        assert_eq!(*name, format!("{}.{}", number / 2, number % 2));
        assert!((load - expected).abs() < 0.3, "{name} {load}");
    }
}

/// A disk that fails long after the last request: the disks are those of an array in which none
/// fails, and the spare has done nothing. The rebuild is reported as it ended.
#[test]
fn disks_are_reported_up_to_the_last_request_and_the_rebuild_to_its_end() {
    let of = |parameters: &str| {
        let found = run(&format!("raid5(disks=5, {parameters}drive=hp-c2247)"), LOAD);
        let works = found.parts.into_iter().map(|part| part.work);
        works.collect::<Vec<Work>>()
    };
    let [whole @ .., Work::Disk(spare), Work::Redundancy(failed)] =
        &of("failed=1@1000s, rebuild=100%, ")[..]
    else {
        panic!("a spare, and what failed");
    };
    assert_eq!(whole, of(""));
    assert_eq!((spare.reads, spare.writes), (0, 0));
    assert_eq!((failed.failed, failed.rebuilt_fraction), (1, Some(1.0)));
}

#[test]
fn wrong_failures_of_pairs_are_refused_in_one_line() {
    check_refusals(&[
        (
            "mirror(failed=2, drive=hp-c2247)",
            "drive: mirror.failed: found \"2\", expected a disk from 0 to 1, such as \"1\" or \
             \"1@60s\"",
        ),
        (
            "mirror(failed=1@-5s, drive=hp-c2247)",
            "drive: mirror.failed: found \"1@-5s\", expected a time from 0 s to 10000 h after",
        ),
        (
            "mirror(failed=1@10001h, drive=hp-c2247)",
            "drive: mirror.failed: found \"1@10001h\", expected a time from 0 s to 10000 h after \
             \"@\", such as \"1@60s\"",
        ),
        (
            "mirror(rebuild=50%, drive=hp-c2247)",
            "drive: mirror.failed: found nothing, expected a disk that fails, such as \"0\" or",
        ),
        (
            "mirror(failed=1, rebuild=101%, drive=hp-c2247)",
            "drive: mirror.rebuild: found \"101%\", expected a share of the time from 0.1 % to",
        ),
        (
            "raid10(pairs=4, failed=8@1s, drive=hp-c2247)",
            "drive: raid10.failed: found \"8@1s\", expected a disk from 0 to 7, such as \"7\" or",
        ),
        (
            "raid10(pairs=4, failed=7@1s, failed=7, drive=hp-c2247)",
            "drive: raid10.failed: found 7 twice, expected each disk at most once",
        ),
    ]);
}

#[test]
fn wrong_arrays_with_parity_are_refused_in_one_line() {
    check_refusals(&[
        (
            "raid5(disks=2, drive=hp-c2247)",
            "drive: raid5.disks: found \"2\", expected a whole number from 3 to 1000",
        ),
        (
            "raid5(disks=5, failed=5, drive=hp-c2247)",
            "drive: raid5.failed: found \"5\", expected a disk from 0 to 4, such as \"4\" or",
        ),
        (
            "raid5(disks=5, failed=3@6, drive=hp-c2247)",
            "drive: raid5.failed: found \"3@6\", expected a time from 0 s to 10000 h after",
        ),
        (
            "raid5(disks=5, failed=3, failed=3@6s, drive=hp-c2247)",
            "drive: raid5.failed: found 3 twice, expected each disk at most once",
        ),
        (
            "raid5(disks=5, rebuild=50%, drive=hp-c2247)",
            "drive: raid5.failed: found nothing, expected a disk that fails, such as \"0\" or",
        ),
        (
            "raid5(disks=5, failed=1, rebuild=0%, drive=hp-c2247)",
            "drive: raid5.rebuild: found \"0%\", expected a share of the time from 0.1 % to 100 %",
        ),
        (
            "raid5(disks=5, failed=1, rebuild=0.00001%, drive=hp-c2247)",
            "drive: raid5.rebuild: found \"0.00001%\", expected a share of the time from 0.1 % to \
             100 %, such as \"50 %\"",
        ),
    ]);
}

/// Each of the drives is one of the disks, or the spare of a single array.
#[test]
fn drives_cannot_outnumber_disks() {
    let drives = |count: usize| vec![DRIVE; count].join(", ");
    for (array, disks) in [
        ("mirror(DRIVES)", 2),
        ("mirror(failed=1, rebuild=50%, DRIVES)", 3),
        ("raid0(disks=1, DRIVES)", 1),
        ("raid0(disks=3, DRIVES)", 3),
        ("raid10(pairs=2, DRIVES)", 4),
        ("raid10(pairs=2, failed=3, rebuild=50%, DRIVES)", 4),
        ("raid5(disks=3, DRIVES)", 3),
        ("raid5(disks=3, failed=1, DRIVES)", 3),
        ("raid5(disks=3, failed=1, rebuild=0.1%, DRIVES)", 4),
        ("declustered(layout=chained, disks=3, DRIVES)", 3),
        (
            "declustered(layout=chained, disks=3, failed=0, rebuild=1%, DRIVES)",
            4,
        ),
    ] {
        let enough = array.replace("DRIVES", &drives(disks));
        assert!(System::parse(&enough).is_ok(), "{enough}");
        let name = array.split('(').next().unwrap_or_default();
        let found = disks + 1;
        let expected = format!(
            "drive: {name}.drive: found {found} drives, expected at most {disks}, one for each disk"
        );
        check_refusals(&[(&array.replace("DRIVES", &drives(found)), &expected)]);
    }
}
