//! The cases of the performance table, timed (`bench`) or counted (`counts`).
//!
//! Both run the program as it is shipped, with uniformly random 8 KB requests, two reads per write.
//! The drive is an HP C2247 with its full buffer model, alone or in an array. An example that does
//! nothing else generates workloads.

mod bench;
mod counts;

pub use bench::run as bench;
pub use counts::run as counts;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program;

/// One row of the performance table.
struct Case {
    /// Its name in tables and in the file of recorded counts.
    name: &'static str,
    drive: &'static str,
    policy: &'static str,
    /// The option that sets the load, and its value.
    load: [&'static str; 2],
    /// The minimum speed on one core, in million requests per second.
    target_mreq_per_s: Option<f64>,
    /// The maximum number of instructions per request.
    target_instructions: Option<u64>,
    /// Million requests per second of DiskSim 4.0, optimised build, on a similar machine.
    disksim_mreq_per_s: Option<f64>,
}

/// The drive of the performance table, and of the arrays.
const PLAIN: &str = "hp-c2247";

/// Returns a closed-loop case without targets.
const fn closed(
    name: &'static str,
    drive: &'static str,
    policy: &'static str,
    outstanding: &'static str,
) -> Case {
    Case {
        name,
        drive,
        policy,
        load: ["--outstanding", outstanding],
        target_mreq_per_s: None,
        target_instructions: None,
        disksim_mreq_per_s: None,
    }
}

/// Returns the case of an array that serves requests in order of arrival.
const fn array(name: &'static str, drive: &'static str, outstanding: &'static str) -> Case {
    closed(name, drive, "fcfs", outstanding)
}

const CASES: &[Case] = &[
    Case {
        load: ["--interarrival", "31.2 ms"],
        target_mreq_per_s: Some(6.0),
        target_instructions: Some(700),
        disksim_mreq_per_s: Some(0.129),
        ..closed("fcfs-open", PLAIN, "fcfs", "")
    },
    closed(WITHOUT_DECISION, PLAIN, "fcfs", "64"),
    Case {
        target_mreq_per_s: Some(5.0),
        target_instructions: Some(900),
        disksim_mreq_per_s: Some(0.105),
        ..closed("clook-closed-64", PLAIN, "clook", "64")
    },
    Case {
        target_instructions: Some(1000),
        disksim_mreq_per_s: Some(0.0107),
        ..closed("clook-closed-1000", PLAIN, "clook", "1000")
    },
    Case {
        target_mreq_per_s: Some(2.5),
        target_instructions: Some(1400),
        disksim_mreq_per_s: Some(0.045),
        ..closed("sptf-closed-64", PLAIN, "sptf", "64")
    },
    Case {
        target_mreq_per_s: Some(1.2),
        target_instructions: Some(2200),
        disksim_mreq_per_s: Some(0.014),
        ..closed("sptf-closed-256", PLAIN, "sptf", "256")
    },
    Case {
        target_instructions: Some(4500),
        disksim_mreq_per_s: Some(0.0041),
        ..closed("sptf-closed-1000", PLAIN, "sptf", "1000")
    },
    closed("sptf-closed-4096", PLAIN, "sptf", "4096"),
    Case {
        target_instructions: Some(2000),
        disksim_mreq_per_s: Some(0.044),
        ..closed("asptf-closed-64", PLAIN, "asptf(w=6)", "64")
    },
];

/// The case without decisions. The SPTF cases show how the time per decision grows with the queue.
const WITHOUT_DECISION: &str = "fcfs-closed-64";

/// A single disk with the queue depth of each disk of [`PAIR`].
const SINGLE: Case = closed("satf-closed-16", PLAIN, "satf", "16");

/// A mirrored pair with a shared queue.
const PAIR: Case = closed(
    "mirror-satf-32",
    "mirror(queue=shared, policy=satf, drive=hp-c2247)",
    "fcfs",
    "32",
);

/// The minimum speed of [`PAIR`] in requests per second, as a multiple of the speed of [`SINGLE`].
const PAIR_TARGET: f64 = 0.7;

/// The minimum speed of an array of 100 disks, in million requests per second.
const HUNDRED_TARGET_MREQ_PER_S: f64 = 1.0;

/// Arrays of 2 to 1,000 disks with four requests outstanding per disk.
const ARRAYS: &[Case] = &[
    array("raid0-2", "raid0(disks=2, drive=hp-c2247)", "8"),
    array("raid0-10", "raid0(disks=10, drive=hp-c2247)", "40"),
    array("raid0-100", "raid0(disks=100, drive=hp-c2247)", "400"),
    array("raid0-1000", "raid0(disks=1000, drive=hp-c2247)", "4000"),
    array("raid10-2", "raid10(pairs=1, drive=hp-c2247)", "8"),
    array("raid10-10", "raid10(pairs=5, drive=hp-c2247)", "40"),
    array("raid10-100", "raid10(pairs=50, drive=hp-c2247)", "400"),
    array("raid10-1000", "raid10(pairs=500, drive=hp-c2247)", "4000"),
    array("raid5-3", "raid5(disks=3, drive=hp-c2247)", "12"),
    array("raid5-10", "raid5(disks=10, drive=hp-c2247)", "40"),
    array("raid5-100", "raid5(disks=100, drive=hp-c2247)", "400"),
    array("raid5-1000", "raid5(disks=1000, drive=hp-c2247)", "4000"),
    array(
        "chained-24",
        "declustered(layout=chained, disks=24, drive=hp-c2247)",
        "96",
    ),
];

/// The arrays whose instructions are recorded.
const RECORDED: &str = "raid0-2 raid0-1000 raid10-100 raid5-100 chained-24";

/// The minimum speed of generation on one core, in million requests per second.
const GENERATED_TARGET_MREQ_PER_S: f64 = 20.0;

/// Workloads that are generated but not served: those of the papers, and the most expensive ones.
/// Each has a name for tables and for the file of recorded counts.
const GENERATED: &[(&str, &str)] = &[
    ("draw-random", "poisson(mean=31.2ms)"),
    (
        "draw-validation",
        "uniform(to=22ms) sequential(share=30%) local(share=30%, deviation=10000sectors) uniform \
         size=exponential(mean=8KiB) reads=50%",
    ),
    (
        "draw-airline-hot",
        "hyperexponential(long=10%, ratio=9, rate=60/s) hot(at=0%, at=50%) \
         size=mixed(4KiB=96%, 24KiB=4%)",
    ),
    (
        "draw-two-streams",
        "erlang(k=4, rate=60/s) sequential(runs=8) + bursts(on=1s, off=9s, rate=600/s)",
    ),
    ("draw-zipf", "deterministic(rate=60/s) zipf(exponent=1)"),
];

/// The formats whose readers are counted: all those that the example can write.
const READ: &str = "measured disksim spc msr fio-iolog mqsim systor17 alibaba tencent fio-latency \
    blkparse srt vscsi blktrace";

/// The formats and drives of replays, which use FCFS and fold blocks into the drive.
const REPLAYED: [(&str, &str); 2] = [("vscsi", "seagate-cheetah-st34501n"), ("srt", PLAIN)];

/// The arguments of the example `queue`, which runs an SPTF queue in front of a drive. A boxed
/// drive may cost at most 10 % more than a plain one.
const QUEUES: [&str; 2] = ["plain", "boxed"];

/// Returns the path of an example: `generate` makes workloads, `queue` serves requests from a
/// queue, `readers` reads traces.
fn example(name: &str) -> Result<PathBuf, String> {
    Ok(program::build()?.with_file_name("examples").join(name))
}

/// Adds the arguments of one run of a case to `diskarm`, or to a tool that runs it.
fn simulate(command: &mut Command, case: &Case, requests: u64) {
    command
        .args(["simulate", "--drive", case.drive, "--policy", case.policy])
        .args(["--random", "--json", "--requests", &requests.to_string()])
        .args(case.load)
        .stdin(Stdio::null());
}

/// Adds the arguments of a replay of the trace in `file` to `diskarm`.
fn replay(command: &mut Command, format: &str, drive: &str, file: &Path) {
    command
        .args(["simulate", "--drive", drive, "--policy", "fcfs"])
        .args(["--fit", "fold", "--format", format, "--json", "--trace"])
        .arg(file)
        .stdin(Stdio::null());
}
