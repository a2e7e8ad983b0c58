//! Speed: the cases of the performance table, timed (`bench`) and counted (`counts`).
//!
//! Both run the release build of the command line, as a user would: HP C2247 with its full
//! buffer model, 8 KB requests uniformly random, two reads to a write.

mod bench;
mod counts;

pub use bench::run as bench;
pub use counts::run as counts;

use std::process::{Command, Stdio};

/// One row of the performance table.
struct Case {
    /// What it is called in tables and in the file of recorded counts.
    name: &'static str,
    /// What `diskarm simulate` is told beside drive and number of requests.
    arguments: &'static [&'static str],
    /// At least so many million requests a second on one core.
    target_mreq_per_s: f64,
    /// At most so many instructions a request.
    target_instructions: u64,
    /// DiskSim 4.0, optimised build, on a machine of the same kind: million requests a second.
    disksim_mreq_per_s: f64,
}

/// The performance table.
const CASES: &[Case] = &[
    Case {
        name: "fcfs-open",
        arguments: &["--policy", "fcfs", "--interarrival", "31.2 ms"],
        target_mreq_per_s: 6.0,
        target_instructions: 700,
        disksim_mreq_per_s: 0.129,
    },
    Case {
        name: "clook-closed-64",
        arguments: &["--policy", "clook", "--outstanding", "64"],
        target_mreq_per_s: 5.0,
        target_instructions: 900,
        disksim_mreq_per_s: 0.105,
    },
    Case {
        name: "sptf-closed-64",
        arguments: &["--policy", "sptf", "--outstanding", "64"],
        target_mreq_per_s: 2.5,
        target_instructions: 1600,
        disksim_mreq_per_s: 0.045,
    },
    Case {
        name: "sptf-closed-256",
        arguments: &["--policy", "sptf", "--outstanding", "256"],
        target_mreq_per_s: 1.2,
        target_instructions: 4000,
        disksim_mreq_per_s: 0.014,
    },
];

/// Adds what one run of a case says to `diskarm`, or to a tool that runs it.
fn simulate(command: &mut Command, case: &Case, requests: u64) {
    command
        .args(["simulate", "--drive", "hp-c2247", "--random", "--json"])
        .args(["--requests", &requests.to_string()])
        .args(case.arguments)
        .stdin(Stdio::null());
}
