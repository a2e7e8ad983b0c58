//! Declustered mirroring in a stack of devices.

use diskarm_core::device::Work;
use diskarm_core::sched::PolicyConfig;
use diskarm_core::units::Span;
use diskarm_simulate::{Error, GeneratedRequests, Input, Run, Simulation, System, never_stop};

const LOAD: &str = "poisson(rate=200/s) uniform size=8KiB reads=67%";

fn simulated(drive: &str, workload: &str) -> Result<Run, Error> {
    let system = System::parse(drive)?;
    let generated = GeneratedRequests {
        requests: Some(4_000),
        ..GeneratedRequests::new(system.workload(workload)?)
    };
    let input = Input::Generated(generated);
    Simulation::new(&system, &PolicyConfig::default(), &input).run(&never_stop, None)
}

fn run(parameters: &str, workload: &str) -> Run {
    let drive = format!("declustered({parameters}, drive=hp-c2247)");
    simulated(&drive, workload).unwrap_or_else(|error| panic!("{error}"))
}

fn mean_ms(run: &Run) -> f64 {
    let mean = run.report.all().mean_breakdown();
    mean.map_or(0.0, |mean| mean.total().as_s() * 1e3)
}

/// Half of the disks, in whole units of 64 KiB on each half of a disk.
#[test]
fn the_capacity_is_that_of_one_copy() {
    let sectors = |drive: &str| System::parse(drive).expect("a stack").disk().sectors.0;
    let one = sectors("hp-c2247");
    let array = sectors("declustered(layout=chained, disks=7, drive=hp-c2247)");
    assert_eq!(array, one / 2 / 128 * 128 * 7);
}

/// Each option has an effect, and equal runs are equal.
#[test]
fn each_option_matters() {
    let arrays = [
        "layout=basic, disks=8",
        "layout=interleaved, cluster=4, disks=8",
        "layout=interleaved, cluster=8, disks=8",
        "layout=chained, disks=8",
        "layout=chained, disks=9",
        "layout=chained, disks=8, stripe=4KiB",
        "layout=chained, disks=8, policy=satf",
        "layout=chained, disks=8, failed=0",
        "layout=chained, disks=8, failed=0, failed=3",
        "layout=chained, disks=8, failed=0@2s, failed=3",
        "layout=chained, disks=8, failed=0@2s, rebuild=20%",
        "layout=chained, disks=8, failed=0@2s, rebuild=100%",
        "layout=chained, disks=8, failed=0, failed=1@2s",
        "layout=group-rotate, cluster=4, disks=8",
        "layout=group-rotate, cluster=2, disks=8",
    ];
    let reports = || {
        let reports = arrays
            .iter()
            .map(|array| format!("{:?}", run(array, LOAD).report));
        reports.collect::<Vec<_>>()
    };
    let mut first = reports();
    assert_eq!(first, reports());
    first.sort_unstable();
    first.dedup();
    assert_eq!(first.len(), arrays.len());
}

/// A cluster of two, rotated clusters of one and basic mirroring are the same array.
#[test]
fn the_smallest_clusters_are_mirrored_pairs() {
    let basic = format!("{:?}", run("layout=basic, disks=8, failed=5", LOAD).report);
    for other in ["interleaved, cluster=2", "group-rotate, cluster=1"] {
        let other = run(&format!("layout={other}, disks=8, failed=5"), LOAD);
        assert_eq!(format!("{:?}", other.report), basic);
    }
}

/// The reads and writes of each disk are in the results: loads by hand, as in liu05, section 9.2.3.
/// About 4,000 / 8 reads are for the data of one disk; the deviation of the 750 of disk 1 is 27.
#[test]
fn results_list_the_load_of_each_disk() {
    let found = run(
        "layout=chained, disks=8, failed=0, failed=3",
        "poisson(rate=50/s) uniform size=8KiB reads=100%",
    );
    // Disks that have failed do nothing.
    let reads = [0.0, 1.5, 1.5, 0.0, 1.25, 1.25, 1.25, 1.25];
    // The last part is what the failures did.
    assert_eq!(found.parts.len(), 9);
    for ((part, disk), expected) in found.parts.iter().zip(0..8).zip(reads) {
        let Work::Disk(work) = &part.work else {
            panic!("{part:?}");
        };
        assert_eq!((&part.name, work.writes), (&disk.to_string(), 0));
        let load = work.reads as f64 / 500.0;
        assert!((load - expected).abs() < 0.25, "{disk} {load}");
    }
}

/// At a rate at which the partner of a failed disk is nearly always busy, the mean responses are in
/// the order of the greatest loads: 2, 4/3, and 8/7 of the reads of a disk.
#[test]
fn the_greater_the_load_the_longer_the_response() {
    let load = "poisson(rate=160/s) uniform size=8KiB reads=100%";
    let mean = |layout: &str| mean_ms(&run(&format!("layout={layout}, disks=8, failed=0"), load));
    let basic = mean("basic");
    let interleaved = mean("interleaved, cluster=4");
    let others = [mean("group-rotate, cluster=4"), mean("chained")];
    assert!(basic > 1.2 * interleaved, "{basic} {interleaved}");
    for other in others {
        assert!(interleaved > 1.03 * other, "{interleaved} {others:?}");
    }
}

/// Without failures a chain reads primary copies only, which are on half of each disk: the arms
/// move less, and all else takes as long. Writes go to both halves.
#[test]
fn a_chain_without_failures_seeks_over_half_of_its_disks() {
    let parts = |layout: &str, load: &str| {
        let report = run(&format!("layout={layout}, disks=8"), load).report;
        report.all().mean_breakdown().expect("requests")
    };
    let reads = "poisson(rate=20/s) uniform size=8KiB reads=100%";
    let [chained, basic] = ["chained", "basic"].map(|layout| parts(layout, reads));
    let ratio = |one: Span, other: Span| one.as_s() / other.as_s();
    assert!(
        ratio(chained.seek, basic.seek) < 0.85,
        "{chained:?} {basic:?}"
    );
    assert!((ratio(chained.rotation, basic.rotation) - 1.0).abs() < 0.05);
    let writes = "poisson(rate=20/s) uniform size=8KiB reads=0%";
    let [chained, basic] = ["chained", "basic"].map(|layout| parts(layout, writes));
    assert!(
        (ratio(chained.seek, basic.seek) - 1.0).abs() < 0.1,
        "{chained:?} {basic:?}"
    );
}

/// Checks that each array is refused in one line that begins as expected.
fn check_refusals(cases: &[(&str, &str)]) {
    for (parameters, expected) in cases {
        let drive = format!("declustered({parameters}, drive=hp-c2247)");
        let error = simulated(&drive, LOAD).map(|run| run.seed);
        let found = error.expect_err("a refusal").to_string();
        assert!(found.starts_with(&format!("drive: {expected}")), "{found}");
        assert_eq!(found.lines().count(), 1, "{found}");
    }
}

#[test]
fn wrong_arrays_are_refused_in_one_line() {
    check_refusals(&[
        (
            "layout=chained",
            "declustered.disks: found nothing, expected a whole number from 2 to 24",
        ),
        (
            "disks=8",
            "declustered.layout: found nothing, expected one of basic, interleaved, chained, \
             group-rotate",
        ),
        (
            "layout=interleaved, disks=8",
            "declustered.cluster: found nothing, expected the number of disks in a cluster, for \
             layout=interleaved",
        ),
        (
            "layout=chained, cluster=4, disks=8",
            "declustered.cluster: found 4, expected layout=interleaved or group-rotate, or no \
             cluster",
        ),
        (
            "layout=interleaved, cluster=3, disks=8",
            "declustered.cluster: found 3, expected a number that divides disks=8",
        ),
        (
            "layout=interleaved, cluster=1, disks=8",
            "declustered.cluster: found 1, expected 2 disks or more, for layout=interleaved",
        ),
        (
            "layout=group-rotate, cluster=3, disks=8",
            "declustered.cluster: found 3, expected a number that divides disks=8 into pairs of \
             clusters, for layout=group-rotate",
        ),
        (
            "layout=group-rotate, cluster=8, disks=8",
            "declustered.cluster: found 8, expected a number that divides disks=8 into pairs of \
             clusters, for layout=group-rotate",
        ),
        (
            "layout=basic, disks=7",
            "declustered.disks: found 7, expected an even number, for layout=basic",
        ),
        (
            "layout=chained, disks=8, stripe=0KiB",
            "declustered.stripe: found \"0KiB\", expected 1 to ",
        ),
    ]);
}

#[test]
fn wrong_failures_are_refused_in_one_line() {
    check_refusals(&[
        (
            "layout=chained, disks=8, failed=8",
            "declustered.failed: found \"8\", expected a disk from 0 to 7, such as \"7\" or \
             \"7@60s\"",
        ),
        (
            "layout=chained, disks=8, failed=x",
            "declustered.failed: found \"x\", expected a disk from 0 to 7, such as \"7\" or \
             \"7@60s\"",
        ),
        (
            "layout=chained, disks=8, failed=0,0",
            "declustered: found \"0\" after \"failed=0\", expected parameters as key=value",
        ),
        (
            "layout=chained, disks=8, failed=0@",
            "declustered.failed: found \"0@\", expected a time from 0 s to 10000 h after \"@\", \
             such as \"0@60s\"",
        ),
        (
            "layout=chained, disks=8, failed=3, failed=3@9s",
            "declustered.failed: found 3 twice, expected each disk at most once",
        ),
        (
            "layout=chained, disks=8, rebuild=20%",
            "declustered.failed: found nothing, expected a disk that fails, such as \"0\" or \
             \"0@60s\", for the rebuild",
        ),
        (
            "layout=chained, disks=8, failed=1, rebuild=0.09%",
            "declustered.rebuild: found \"0.09%\", expected a share of the time from 0.1 % to \
             100 %",
        ),
    ]);
}
