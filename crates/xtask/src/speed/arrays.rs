//! Mirrored pairs and arrays: the cases that show what a disk of an array costs more than a single
//! one, and how the cost of a request grows with the number of disks.

use super::{Case, PLAIN};

/// A single disk with as many outstanding requests as each disk of `PAIR` has.
pub(super) const SINGLE: Case = plain("satf-closed-16", PLAIN, "satf", "16");

/// A pair with a shared queue.
pub(super) const PAIR: Case = plain(
    "mirror-satf-32",
    "mirror(queue=shared, policy=satf, drive=hp-c2247)",
    "fcfs",
    "32",
);

/// The speed of `PAIR` in requests per second that is asked for, as a multiple of that of `SINGLE`.
pub(super) const PAIR_TARGET: f64 = 0.7;

/// The minimum speed of an array of 100 disks, in million requests per second.
pub(super) const HUNDRED_TARGET_MREQ_PER_S: f64 = 1.0;

/// An array, with the number of its disks.
pub(super) struct Array {
    pub(super) case: Case,
    pub(super) disks: u32,
}

/// Arrays of 2 to 1,000 disks with four requests outstanding per disk.
pub(super) const ARRAYS: &[Array] = &[
    array("raid0-2", 2, "raid0(disks=2, drive=hp-c2247)", "8"),
    array("raid0-10", 10, "raid0(disks=10, drive=hp-c2247)", "40"),
    array("raid0-100", 100, "raid0(disks=100, drive=hp-c2247)", "400"),
    array(
        "raid0-1000",
        1000,
        "raid0(disks=1000, drive=hp-c2247)",
        "4000",
    ),
    array("raid10-2", 2, "raid10(pairs=1, drive=hp-c2247)", "8"),
    array("raid10-10", 10, "raid10(pairs=5, drive=hp-c2247)", "40"),
    array("raid10-100", 100, "raid10(pairs=50, drive=hp-c2247)", "400"),
    array(
        "raid10-1000",
        1000,
        "raid10(pairs=500, drive=hp-c2247)",
        "4000",
    ),
    array("raid5-3", 3, "raid5(disks=3, drive=hp-c2247)", "12"),
    array("raid5-10", 10, "raid5(disks=10, drive=hp-c2247)", "40"),
    array("raid5-100", 100, "raid5(disks=100, drive=hp-c2247)", "400"),
    array(
        "raid5-1000",
        1000,
        "raid5(disks=1000, drive=hp-c2247)",
        "4000",
    ),
    array(
        "chained-24",
        24,
        "declustered(layout=chained, disks=24, drive=hp-c2247)",
        "96",
    ),
];

/// Those whose instructions are recorded.
const RECORDED: [&str; 5] = [
    "raid0-2",
    "raid0-1000",
    "raid10-100",
    "raid5-100",
    "chained-24",
];

/// The cases whose instructions are recorded.
pub(super) fn recorded() -> impl Iterator<Item = &'static Case> {
    let arrays = ARRAYS.iter().map(|array| &array.case);
    let arrays = arrays.filter(|case| RECORDED.contains(&case.name));
    [&SINGLE, &PAIR].into_iter().chain(arrays)
}

const fn array(
    name: &'static str,
    disks: u32,
    drive: &'static str,
    outstanding: &'static str,
) -> Array {
    Array {
        case: plain(name, drive, "fcfs", outstanding),
        disks,
    }
}

/// A case without recorded targets.
const fn plain(
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
