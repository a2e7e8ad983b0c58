//! Speed: the cases of the performance table, timed (`bench`) and counted (`counts`).
//!
//! Both run the release build of the command line, as a user would: HP C2247 with its full
//! buffer model, 8 KB requests uniformly random, two reads to a write. Workloads are drawn by an
//! example of the model's crate that does nothing else.

mod bench;
mod counts;

pub use bench::run as bench;
pub use counts::run as counts;

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// One row of the performance table.
struct Case {
    /// What it is called in tables and in the file of recorded counts.
    name: &'static str,
    /// What `diskarm simulate` is told beside drive and number of requests.
    arguments: &'static [&'static str],
    /// At least so many million requests a second on one core.
    target_mreq_per_s: Option<f64>,
    /// At most so many instructions a request.
    target_instructions: Option<u64>,
    /// DiskSim 4.0, optimised build, on a machine of the same kind: million requests a second.
    disksim_mreq_per_s: Option<f64>,
}

/// The performance table.
const CASES: &[Case] = &[
    Case {
        name: "fcfs-open",
        arguments: &["--policy", "fcfs", "--interarrival", "31.2 ms"],
        target_mreq_per_s: Some(6.0),
        target_instructions: Some(700),
        disksim_mreq_per_s: Some(0.129),
    },
    Case {
        name: "fcfs-closed-64",
        arguments: &["--policy", "fcfs", "--outstanding", "64"],
        target_mreq_per_s: None,
        target_instructions: None,
        disksim_mreq_per_s: None,
    },
    Case {
        name: "clook-closed-64",
        arguments: &["--policy", "clook", "--outstanding", "64"],
        target_mreq_per_s: Some(5.0),
        target_instructions: Some(900),
        disksim_mreq_per_s: Some(0.105),
    },
    Case {
        name: "clook-closed-1000",
        arguments: &["--policy", "clook", "--outstanding", "1000"],
        target_mreq_per_s: None,
        target_instructions: Some(1000),
        disksim_mreq_per_s: Some(0.0107),
    },
    Case {
        name: "sptf-closed-64",
        arguments: &["--policy", "sptf", "--outstanding", "64"],
        target_mreq_per_s: Some(2.5),
        target_instructions: Some(1400),
        disksim_mreq_per_s: Some(0.045),
    },
    Case {
        name: "sptf-closed-256",
        arguments: &["--policy", "sptf", "--outstanding", "256"],
        target_mreq_per_s: Some(1.2),
        target_instructions: Some(2200),
        disksim_mreq_per_s: Some(0.014),
    },
    Case {
        name: "sptf-closed-1000",
        arguments: &["--policy", "sptf", "--outstanding", "1000"],
        target_mreq_per_s: None,
        target_instructions: Some(4500),
        disksim_mreq_per_s: Some(0.0041),
    },
    Case {
        name: "sptf-closed-4096",
        arguments: &["--policy", "sptf", "--outstanding", "4096"],
        target_mreq_per_s: None,
        target_instructions: None,
        disksim_mreq_per_s: None,
    },
    Case {
        name: "asptf-closed-64",
        arguments: &["--policy", "asptf(w=6)", "--outstanding", "64"],
        target_mreq_per_s: None,
        target_instructions: Some(2000),
        disksim_mreq_per_s: Some(0.044),
    },
];

/// The case without a decision to make, and those whose decisions show how the time for one grows
/// with the queue.
const WITHOUT_DECISION: &str = "fcfs-closed-64";
const DECISIONS: [(&str, u32); 4] = [
    ("sptf-closed-64", 64),
    ("sptf-closed-256", 256),
    ("sptf-closed-1000", 1000),
    ("sptf-closed-4096", 4096),
];

/// A workload that is drawn and not served.
struct Drawn {
    /// What it is called in tables and in the file of recorded counts.
    name: &'static str,
    /// In the words of `--workload`.
    workload: &'static str,
}

/// At least so many million requests a second are drawn on one core.
const DRAWN_TARGET_MREQ_PER_S: f64 = 20.0;

/// The workloads of the papers, and the generators that cost most.
const DRAWN: &[Drawn] = &[
    Drawn {
        name: "draw-random",
        workload: "poisson(mean=31.2ms)",
    },
    Drawn {
        name: "draw-validation",
        workload: "uniform(to=22ms) sequential(share=30%) \
                   local(share=30%, deviation=10000sectors) uniform \
                   size=exponential(mean=8KiB) reads=50%",
    },
    Drawn {
        name: "draw-airline-hot",
        workload: "hyperexponential(long=10%, ratio=9, rate=60/s) hot(at=0%, at=50%) \
                   size=mixed(4KiB=96%, 24KiB=4%)",
    },
    Drawn {
        name: "draw-two-streams",
        workload: "erlang(k=4, rate=60/s) sequential(runs=8) + bursts(on=1s, off=9s, rate=600/s)",
    },
    Drawn {
        name: "draw-zipf",
        workload: "deterministic(rate=60/s) zipf(exponent=1)",
    },
];

/// The formats whose readers are counted: all of which `trace` can make up a trace.
const READ: &[Read] = &[
    Read::of("read-measured", "measured"),
    Read::of("read-disksim", "disksim"),
    Read::of("read-spc", "spc"),
    Read::of("read-msr", "msr"),
    Read::of("read-fio-iolog", "fio-iolog"),
    Read::of("read-mqsim", "mqsim"),
    Read::of("read-systor17", "systor17"),
    Read::of("read-alibaba", "alibaba"),
    Read::of("read-tencent", "tencent"),
    Read::of("read-fio-latency", "fio-latency"),
    Read::of("read-blkparse", "blkparse"),
    Read::of("read-srt", "srt"),
    Read::of("read-vscsi", "vscsi"),
    Read::of("read-blktrace", "blktrace"),
];

/// A trace that is read.
struct Read {
    /// What it is called in tables and in the file of recorded counts.
    name: &'static str,
    /// The name of its format.
    format: &'static str,
}

impl Read {
    const fn of(name: &'static str, format: &'static str) -> Self {
        Self { name, format }
    }
}

/// What is measured, in release mode.
struct Programs {
    /// The command line.
    diskarm: PathBuf,
    /// The example that draws workloads.
    generate: PathBuf,
    /// The example that reads traces.
    readers: PathBuf,
}

/// Builds all.
fn build() -> Result<Programs, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    for package in [
        &["--package", "diskarm"][..],
        &["--package", "diskarm-core", "--example", "generate"],
        &["--package", "diskarm-trace", "--example", "readers"],
    ] {
        let built = Command::new(&cargo)
            .args(["build", "--release", "--quiet"])
            .args(package)
            .status()
            .map_err(|error| format!("cargo: {error}"))?;
        if !built.success() {
            return Err(format!("the release build failed: {built}"));
        }
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    let release = target.join("release");
    Ok(Programs {
        diskarm: release.join("diskarm"),
        generate: release.join("examples").join("generate"),
        readers: release.join("examples").join("readers"),
    })
}

/// Adds what drawing so many requests of a workload says to `generate`.
fn draw(command: &mut Command, drawn: &Drawn, requests: u64) {
    command
        .args([&requests.to_string(), drawn.workload])
        .stdin(Stdio::null());
}

/// Adds what one run of a case says to `diskarm`, or to a tool that runs it.
fn simulate(command: &mut Command, case: &Case, requests: u64) {
    command
        .args(["simulate", "--drive", "hp-c2247", "--random", "--json"])
        .args(["--requests", &requests.to_string()])
        .args(case.arguments)
        .stdin(Stdio::null());
}
