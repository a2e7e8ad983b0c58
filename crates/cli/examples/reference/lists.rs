//! The pages that list table entries: devices, drives, policies, workloads, traces, studies.

use diskarm_core::sched::INFOS;
use diskarm_core::spec;
use diskarm_core::workload::{Arrivals, GeneratorInfo, Places, Sizes};
use diskarm_drives::CATALOGUE;
use diskarm_simulate::devices::infos;
use diskarm_study::studies::{Entry, STUDIES};
use diskarm_study::{Study, StudyOptions, claim, measure};
use diskarm_trace::FORMATS;

use crate::markdown::{code, head, parameters, table};

const DEVICES_ABOUT: &str = "\
Write a device as its name followed by parameters in parentheses. The parameter `drive` names the
drive or device below it, which makes a device stack: `throttle(rate=100/s, drive=hp-c2247)`.
`simulate`, `compare`, studies and Python accept a device stack as the drive; `validate`,
`calibrate` and `drives show` need a plain drive. Values may be written with or without double
quotes; quotes do not nest. A stack has at most 16 devices in front of each other, and a simulation
at most 4096 drives, spares included.

The column *needs* lists what a device must know about the device below it; a queue needs what its
policy needs. *Provides* lists what policies in front of it can learn. It is an error if a policy
needs more. A `host`, an `nvcache`, a `mirror` or an array accepts every request at once, so a queue
in front of it never fills, and the policy of that queue has no effect.

A `mirror` builds two copies of the device below it, each with its own random numbers and starting
angle of the platter, which depend on the seed of the run. A read that fails on one copy is tried on
the other, and fails only if both do; a write fails if it fails on either copy.

The arrays `raid0`, `raid10` and `raid5` build a copy of the device below them for each disk, in the
same way. They divide their blocks into stripe units; consecutive units are on consecutive disks.
A workload or trace runs on the blocks of the whole array. A small write to a `raid5` first reads
what it needs to compute the new parity: the old data and parity, or the rest of the row, whichever
takes fewer accesses. Writes to the same row are done one at a time. A full row is written without
reads. Failed disks are counted from 0.

A `declustered` array builds its disks in the same way and keeps two copies of all data on them:
primary copies in the first half of each disk, in stripe units as above, and secondary copies in the
second half, where `layout` puts them. Each read goes to one of its two copies at random, with
probabilities that keep the greatest load as small as possible; a `chained` array without failures
reads primary copies only. A read that fails is tried on the other copy. `diskarm declustering`
computes the loads and the reliability of the layouts.

An `nvcache` completes a write once it is in the cache. With `destage=at-once` the device below
decides when to write it: `nvcache(drive=mirror(queue=shared, policy=hol, drive=hp-c2247))` serves
reads first, and `policy=sptf-cp(t=0.6)` gives them conditional priority. With `adu` or `ad-cp` the
cache makes a mirrored pair of the device below it. After its battery has failed, writes complete on
the disks, and flushes after the earlier contents of the cache have been written. The cache writes
with forced unit access, so data that have left it are never only in the buffer of a drive.

The retries that `faults` adds count as rotational wait, and its delays as *owed*. While the device
cannot be reached, requests fail immediately instead of waiting.";

pub fn devices() -> String {
    let rows = infos().map(|info| {
        vec![
            code(info.name),
            info.summary.to_owned(),
            parameters(info.parameters),
            info.needs.name().to_owned(),
            info.provided().to_owned(),
            code(info.example),
        ]
    });
    let columns = [
        "device",
        "what it does",
        "parameters",
        "needs",
        "provides",
        "example",
    ];
    head("Devices", DEVICES_ABOUT) + &table(&columns, rows)
}

const DRIVES_ABOUT: &str = "\
The names that `--drive` and the key `drive` of a study accept. They also accept the path of your
own [specification](../specification.md). Drives named `-calibrated` were fitted to the first half
of a measured trace ([results](../validation.md)). `diskarm drives show NAME` prints zones, seek
curve, buffer, overheads and the sources of the values.";

pub fn drives() -> String {
    let rows = CATALOGUE.iter().map(|entry| {
        let spec = spec::parse(entry.text, entry.name).expect("a drive in the catalogue");
        let geometry = &spec.geometry;
        let bytes = geometry.sectors.0 * u64::from(geometry.sector_bytes);
        vec![
            code(entry.name),
            spec.summary.clone(),
            format!("{:.3}", bytes as f64 / 1e9),
            format!("{:.1}", 60e9 / spec.mechanics.period_ns),
            geometry.surfaces.to_string(),
            geometry.cylinders.to_string(),
            geometry.zones.len().to_string(),
        ]
    });
    let columns = [
        "drive",
        "what it is",
        "GB",
        "rpm",
        "surfaces",
        "cylinders",
        "zones",
    ];
    head("Drives", DRIVES_ABOUT) + &table(&columns, rows)
}

const POLICIES_ABOUT: &str = "\
A policy is written as its name, with parameters in parentheses to change the defaults: `clook`,
`clook(by=map)`. Use it with `--policy` and `--policies`, in a study's `policy`, and in a drive's
specification as `queue.policy`. The column *knows* lists what the policy must know: only arrival
times; block numbers (with `by=map` also cylinders); positioning times; or positioning times and the
buffer's contents.

The module documentation of each policy, in `crates/core/src/sched`, describes its cost and when it
performs badly.";

pub fn policies() -> String {
    let rows = INFOS.iter().map(|info| {
        vec![
            code(info.name),
            info.summary.to_owned(),
            parameters(info.parameters),
            info.knowledge.name().to_owned(),
            info.origin.to_owned(),
        ]
    });
    let columns = ["policy", "what it does", "parameters", "knows", "origin"];
    head("Policies", POLICIES_ABOUT) + &table(&columns, rows)
}

const WORKLOADS_ABOUT: &str = "\
A workload expression gives the arrivals, placement, sizes and share of reads of a stream of
requests, such as `poisson(rate=60/s) uniform size=8KiB reads=67%`. Several placement rules have
shares: `sequential(share=30%) uniform`. A `+` separates concurrent streams. By default, placement
is uniform, sizes are 8 KiB and two thirds of the requests are reads. Use expressions with
`--workload` and in a study's `workload`; in a TOML file, `arrivals`, `places`, `size` and `reads`
are keys, of the file or of each `[[stream]]`.";

pub fn workloads() -> String {
    let family = |title: &str, infos: &mut dyn Iterator<Item = &GeneratorInfo>| {
        let rows = infos.map(|info| {
            vec![
                code(info.name),
                info.summary.to_owned(),
                parameters(info.parameters),
                info.origin.to_owned(),
            ]
        });
        let columns = ["name", "what it generates", "parameters", "origin"];
        format!("## {title}\n\n{}", table(&columns, rows))
    };
    let families = [
        family("Arrivals", &mut Arrivals::infos()),
        family("Places", &mut Places::INFOS.iter()),
        family("Sizes", &mut Sizes::INFOS.iter()),
    ];
    head("Workloads", WORKLOADS_ABOUT) + &families.join("\n")
}

const TRACES_ABOUT: &str = "\
The format is detected from the content; if that is ambiguous, use `--format`. Files may be
compressed with gzip, zstd, xz or bzip2. `diskarm trace convert` writes the formats marked as
writable. Addresses and sizes are converted to 512-byte blocks. A simulation has at most 4096
drives, one for each device of a trace; other commands read at most 4096 devices with names, and
`diskarm trace info` summarises at most 65536 devices.
[From your trace to a report](../how-to/own-trace.md) shows how to use a trace.";

const TABLES: &str = "
Builds with `--features parquet` also read `parquet` and `arrow`, and write `parquet`. Such a table
has the columns `op`, `lbn` and `sectors` and, where known, `arrival_ns`, `device`, `response_ns`,
`service_ns`, `think_ns`, `queue`, `urgency` and `observed`.
";

/// Formats that only some builds have.
const WITH_FEATURE: [&str; 2] = ["parquet", "arrow"];

pub fn traces() -> String {
    let all = FORMATS
        .iter()
        .filter(|entry| !WITH_FEATURE.contains(&entry.info.name));
    let rows = all.map(|entry| {
        let info = &entry.info;
        vec![
            code(info.name),
            info.summary.to_owned(),
            code(info.first_line),
            info.carries.to_owned(),
            if entry.writer.is_some() { "yes" } else { "" }.to_owned(),
        ]
    });
    let columns = [
        "format",
        "description",
        "first line",
        "also has",
        "writable",
    ];
    head("Trace formats", TRACES_ABOUT) + &table(&columns, rows) + TABLES
}

const MEASURES: &str = "\
Values of `measure` in the `[cell]` of a [study](../studies.md), and the metrics that they add for
charts, tables and claims. Each metric is the mean over the replications of a cell, with
Student's 95 % interval; metrics that end in `_max` have the largest value. `failed` and `recovered`
exist if the drive is a device stack.";

const CHECKS: &str = "\
Values of `check` in a `[[claim]]` of a [study](../studies.md). `where`, `of`, `to` and the items
of `ascending` are selections; axes that they do not name are matched value by value.";

const STUDIES_ABOUT: &str = "\
`diskarm study run NAME` runs one of these studies; `--quick` runs its short form. The files are in
`crates/study/studies`; `about` lists the differences from the setting of the paper. Two studies do
not belong to a paper: they test a policy of this project, [aspctf-seq](../aspctf-seq.md).";

/// Lists the measures and their metrics.
pub fn measures() -> String {
    let measures = measure::infos().map(|info| {
        let columns = (info.columns)().into_iter();
        let rows = columns.map(|column| vec![code(&column.name), column.title]);
        let table = table(&["metric", "what it is"], rows);
        format!("## {}\n\nMeasures {}.\n\n{table}", info.name, info.summary)
    });
    head("Measures", MEASURES) + &measures.collect::<Vec<String>>().join("\n")
}

/// Lists the checks and their keys.
pub fn checks() -> String {
    let rows = claim::CHECKS.iter().map(|info| {
        vec![
            code(info.name),
            info.holds.to_owned(),
            parameters(info.keys),
        ]
    });
    head("Checks of claims", CHECKS) + &table(&["check", "holds when", "keys"], rows)
}

/// Lists the studies that come with the program.
pub fn studies() -> String {
    let rows = STUDIES.iter().map(|entry| {
        let whole = read(entry, false);
        let count = whole.cells.len();
        let cells = match (entry.takes_traces(), entry.has_short_form()) {
            (true, _) => format!("{count} a trace"),
            (false, true) => format!("{count}; quick {}", read(entry, true).cells.len()),
            (false, false) => count.to_string(),
        };
        vec![
            code(entry.name),
            whole.title.clone(),
            whole.source.clone(),
            cells,
            whole.claims.len().to_string(),
        ]
    });
    let columns = ["study", "what it shows", "source", "cells", "claims"];
    head("Studies", STUDIES_ABOUT) + &table(&columns, rows)
}

fn read(entry: &Entry, quick: bool) -> Study {
    let traces = if entry.takes_traces() {
        vec!["one".to_owned()]
    } else {
        Vec::new()
    };
    let study = entry.read(StudyOptions { quick, traces });
    study.expect("a study that comes with the program")
}
