//! Stacks and runs that are too large are refused before they take memory or overflow.

use diskarm_core::sched::PolicyConfig;
use diskarm_simulate::{GeneratedRequests, Input, Simulation, System, TraceReplay, never_stop};

/// Nothing is built before the numbers of devices and drives are known to be small.
#[test]
fn high_and_wide_stacks_are_refused() {
    let nested = |name: &str, levels: usize| {
        let (open, close) = (format!("{name}drive=").repeat(levels), ")".repeat(levels));
        format!("{open}hp-c2247{close}")
    };
    assert!(System::parse(&nested("host(", 16)).is_ok());
    let deep = "host.drive: found a device host, expected a drive, below at most 16 devices";
    for (tower, expected) in [
        (nested("host(", 17), deep),
        (nested("host(", 4_000), deep),
        (
            nested("mirror(", 13),
            "mirror: found 8192 drives, expected at most 4096",
        ),
        // Three drives each, with the spare.
        (
            nested("mirror(failed=0, rebuild=50%, ", 8),
            "mirror: found 6561 drives, expected at most 4096",
        ),
        (
            nested("nvcache(destage=adu(tw=10), ", 13),
            "nvcache: found 8192 drives, expected at most 4096",
        ),
        (
            nested("raid10(pairs=10, failed=0, failed=2, rebuild=50%, ", 3),
            "raid10: found 10648 drives, expected at most 4096",
        ),
        (
            nested("raid0(disks=1000, ", 2),
            "raid0: found 1000000 drives, expected at most 4096",
        ),
    ] {
        let error = System::parse(&tower).expect_err(expected).to_string();
        assert_eq!(error, format!("drive: {expected}"));
    }
}

/// Each device of a trace has its own stack.
#[test]
fn stacks_for_the_devices_of_a_trace_are_counted_together() {
    let rows = |count: u32| -> String { (0..count).map(|n| format!("0.5 {n} 0 8 1\n")).collect() };
    let replayed = |devices: u32| {
        let name = format!("diskarm-limits-{}-{devices}.trace", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, rows(devices)).expect("a temporary file");
        let file = path.to_str().expect("a name").to_owned();
        let system = System::parse("raid0(disks=1000, drive=hp-c2247)").expect("a stack");
        let policy: PolicyConfig = "fcfs".parse().expect("a policy");
        let input = Input::Traced(TraceReplay::new(vec![file]));
        let run = Simulation::new(&system, &policy, &input).run(&never_stop, None);
        std::fs::remove_file(path).expect("the file");
        run.map(|run| run.report.requests_count())
            .map_err(|error| error.to_string())
    };
    assert_eq!(replayed(4), Ok(4));
    let error = replayed(5).expect_err("5,000 drives");
    let expected = "device: found \"4\", expected at most 4 devices; use `device` to choose some";
    assert!(error.ends_with(expected), "{error}");
}

/// Four injectors delay each request by an hour each: 2^62 ns are 1,281,024 hours, or 320,256
/// requests.
#[test]
fn runs_longer_than_instants_end_with_an_error() {
    let one_more = |below: String, _| format!("faults(spikes=\"100% for 1h\", drive={below})");
    let stack = (0..4).fold("hp-c2247".to_owned(), one_more);
    let system = System::parse(&stack).expect("a stack");
    let reads = |arrivals: &str, requests| {
        let workload = system.workload(&format!("{arrivals} uniform size=8KiB"));
        let generated = GeneratedRequests {
            requests: Some(requests),
            ..GeneratedRequests::new(workload.expect("a workload"))
        };
        let (policy, input) = ("fcfs".parse::<PolicyConfig>(), Input::Generated(generated));
        let policy = policy.expect("a policy");
        let run = Simulation::new(&system, &policy, &input).run(&never_stop, None);
        run.map(|run| run.report.requests_count())
            .map_err(|error| error.to_string())
    };
    let late = "the run takes longer than 146 years of simulated time, its limit, while the device \
                is busy: simulate fewer requests, or a faster device";
    for arrivals in ["closed(clients=1)", "poisson(rate=1000/s)"] {
        assert_eq!(reads(arrivals, 325_000), Err(late.to_owned()), "{arrivals}");
    }
}
