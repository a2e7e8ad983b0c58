//! `cargo xtask digests`: compares computed numbers with a record, to the bit.
//!
//! Runs a table of commands and the short form of every study, and compares a digest of all the
//! numbers in each output with its record. Text is ignored, so messages may change without a
//! new record. A change of numbers must renew it (`--record`) and be listed in CHANGELOG.md. The
//! two traces in `../shared` are skipped if it is absent.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::program::{calibrated, trace};
use crate::{Error, at};

/// The record, next to this crate's manifest.
const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/digests.toml");

/// Drives of different mechanics, buffers and bus rules.
const DRIVES: &str = "hp-c2247 dec-rz26-calibrated seagate-cheetah-st34501n-calibrated \
    quantum-atlas-10k sata-4tb-7200";

/// The drives with a measured trace.
const MEASURED: &str = "dec-rz26 hp-c2247 quantum-atlas-10k seagate-barracuda-st32171w \
    seagate-cheetah-st34501n seagate-st41601n";

/// A trace that the model itself made.
const SYNTHETIC: &str = "examples/synthetic-hp-c2247.csv";

/// Policies of all kinds, for `compare`.
const POLICIES: &str = "fcfs,sstf,look,clook,vscan(r=0.2),vscan(r=0.2, by=map),sptf,satf,\
    asptf(w=6),aspctf(w=6),spctf,aspctf-seq,satf-la,satfuf,satfdf,gstf,wstf,hol,mq-deadline";

const WORKLOADS: [&str; 4] = [
    "poisson(rate=40/s) uniform size=8KiB reads=67%",
    "uniform(to=22ms) sequential(share=30%) local(share=30%, deviation=10000sectors) uniform \
     size=exponential(mean=8KiB) reads=50%",
    "closed(clients=12) hot(at=0%, at=50%) size=mixed(4KiB=60%, 64KiB=40%) reads=30%",
    "erlang(k=4, rate=20/s) sequential(runs=8) + bursts(on=1s, off=4s, rate=100/s)",
];

/// The name of an output in the record, and the command that prints it.
type Case = (String, Vec<String>);

/// Returns the words of `line` and then `last`, which is one argument.
fn command(line: &str, last: &[&str]) -> Vec<String> {
    let words = line.split_whitespace().chain(last.iter().copied());
    words.map(str::to_owned).collect()
}

/// Compares with the record; `--record` renews it. `--study=NAME` does so for one study alone.
/// Another argument is a program to run instead of what is shipped.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    let is_record = arguments.iter().any(|argument| argument == "--record");
    let study = arguments
        .iter()
        .find_map(|argument| argument.strip_prefix("--study="));
    let given = arguments
        .iter()
        .find(|argument| !argument.starts_with("--"));
    let program = match given {
        Some(program) => std::path::absolute(program).map_err(|error| at(program, error))?,
        None => crate::program::build()?,
    };
    let computed = compute(&program, study)?;
    let done = match (is_record, study) {
        (true, None) => record(&computed),
        (true, Some(_)) => {
            let mut all = recorded()?;
            all.extend(computed);
            record(&all)
        }
        (false, _) => compare(&computed, study.is_some()),
    };
    Ok(done?)
}

fn record(computed: &BTreeMap<String, String>) -> Result<(), String> {
    let mut text = String::from(
        "# Digests of the numbers in outputs, made by `cargo xtask digests --record`.\n\
         # `cargo xtask digests` fails when one differs.\n",
    );
    for (name, digest) in computed {
        let _ = writeln!(text, "{name:?} = {digest:?}");
    }
    fs::write(RECORD, text).map_err(|error| at(RECORD, error))
}

fn recorded() -> Result<BTreeMap<String, String>, String> {
    let text = fs::read_to_string(RECORD).map_err(|error| at(RECORD, error))?;
    toml::from_str(&text).map_err(|error| at(RECORD, error))
}

/// Compares with the record, of which only a `part` may have been computed.
fn compare(computed: &BTreeMap<String, String>, part: bool) -> Result<(), String> {
    let recorded = recorded()?;
    let mut differing = Vec::new();
    for (name, digest) in computed {
        match recorded.get(name) {
            Some(recorded) if recorded == digest => {}
            Some(_) => differing.push(name.to_owned()),
            None => differing.push(format!("{name} (not in the record)")),
        }
    }
    let is_absent = |name: &&String| !part && !computed.contains_key(*name);
    let absent = recorded.keys().filter(is_absent).count();
    if absent > 0 && crate::root().join("../shared").is_dir() {
        return Err(format!("{absent} outputs of the record were not computed"));
    }
    if absent > 0 {
        println!("digests: {absent} skipped, as ../shared is absent");
    }
    if !differing.is_empty() {
        let names = differing.join(", ");
        return Err(format!("numbers differ from their record: {names}"));
    }
    let count = computed.len();
    println!("digests: {count} outputs have the recorded numbers");
    Ok(())
}

fn compute(program: &Path, study: Option<&str>) -> Result<BTreeMap<String, String>, String> {
    let folder = std::env::temp_dir().join(format!("diskarm-digests-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| at(&folder, error))?;
    let mut digests = BTreeMap::new();
    let computed = match study {
        None => compute_all(program, &folder, &mut digests),
        Some(study) => studies(program, &folder, study, &mut digests),
    };
    let removed = fs::remove_dir_all(&folder);
    computed?;
    removed.map_err(|error| at(&folder, error))?;
    Ok(digests)
}

fn compute_all(
    program: &Path,
    folder: &Path,
    digests: &mut BTreeMap<String, String>,
) -> Result<(), String> {
    for (name, arguments) in simulations().into_iter().chain(traced()) {
        let output = execute(program, &arguments)?;
        let digest = digest_of_json(&output).map_err(|error| format!("{name}: {error}"))?;
        digests.insert(name, digest);
    }
    // Fits to a synthetic trace and to measured ones without a clock.
    for (drive, trace) in [
        ("hp-c2247", SYNTHETIC.to_owned()),
        ("dec-rz26", trace("dec-rz26")),
        ("quantum-atlas-10k", trace("quantum-atlas-10k")),
    ] {
        let fitted = folder.join("fitted.toml");
        let line = format!("calibrate --drive {drive} --rows ..600 {trace} -o");
        execute(program, &command(&line, &[&fitted.to_string_lossy()]))?;
        let name = format!("calibrate {drive}");
        digests.insert(name, digest_of_specification(&fitted)?);
    }
    // A CSV file with a row for each request.
    let rows = folder.join("rows.csv");
    let line = "simulate --json --drive hp-c2247 --policy sptf --requests 3000";
    let path = rows.to_string_lossy();
    let options = ["--workload", WORKLOADS[3], "--per-request", &path];
    execute(program, &command(line, &options))?;
    let bytes = fs::read(&rows).map_err(|error| at(&rows, error))?;
    digests.insert("per-request".to_owned(), digest(&bytes));
    studies(program, folder, "--all", digests)
}

fn simulations() -> Vec<Case> {
    let simulate = |options: String, workload: &str| {
        let line = format!("simulate --json {options} --workload");
        command(&line, &[workload])
    };
    let mut cases = Vec::new();
    for drive in DRIVES.split(' ') {
        for (number, workload) in WORKLOADS.iter().enumerate() {
            for policy in ["fcfs", "sptf"] {
                let name = format!("simulate {drive} {policy} workload {number}");
                let options =
                    format!("--drive {drive} --policy {policy} --requests 4000 --warmup 100");
                cases.push((name, simulate(options, workload)));
            }
        }
    }
    let options = "--drive hp-c2247 --policy clook --requests 3000 --merge 64KiB --replications 3";
    cases.push((
        "simulate merging, windows, replications".to_owned(),
        simulate(options.to_owned(), WORKLOADS[1]),
    ));
    for (number, workload) in WORKLOADS.iter().take(2).enumerate() {
        let line = "compare --json --drive hp-c2247 --requests 2000 --policies";
        cases.push((
            format!("compare hp-c2247 workload {number}"),
            command(line, &[POLICIES, "--workload", workload]),
        ));
    }
    let two_devices = "simulate --json --drive hp-c2247 --policy look --fit fold --window 1s \
                       --trace examples/two-devices.spc";
    cases.push(("simulate two devices".to_owned(), command(two_devices, &[])));
    cases
}

/// Returns the commands on measured and recorded traces.
fn traced() -> Vec<Case> {
    let mut cases = Vec::new();
    for drive in MEASURED.split(' ') {
        let mut forms = vec!["validate"];
        // A trace with a broken clock cannot be followed.
        if ["hp-c2247", "seagate-st41601n"].contains(&drive) {
            forms.push("validate --locked");
        }
        for form in forms {
            for model in [drive, &calibrated(drive)] {
                let line = format!("{form} --json --drive {model} {}", trace(drive));
                cases.push((format!("{form} {model}"), command(&line, &[])));
            }
        }
    }
    for (file, drive) in [
        ("hplajw-1992-05-30-week.srt", "hp-c2247"),
        ("websearch-60s.mqsim", "seagate-cheetah-st39102lw"),
    ] {
        let trace = format!("../shared/traces/{file}");
        if crate::root().join(&trace).is_file() {
            let line =
                format!("simulate --json --drive {drive} --policy sptf --trace {trace} --fit fold");
            cases.push((format!("simulate {file}"), command(&line, &[])));
        }
    }
    let line = format!("validate --json --drive hp-c2247 {SYNTHETIC}");
    cases.push(("validate example".to_owned(), command(&line, &[])));
    cases
}

/// Adds the runs of a study or `--all` in their short form, whose claims are checked and printed.
fn studies(
    program: &Path,
    folder: &Path,
    which: &str,
    digests: &mut BTreeMap<String, String>,
) -> Result<(), String> {
    let results = folder.join("studies");
    let line = format!("study check {which} --quick --output");
    let checked = execute(program, &command(&line, &[&results.to_string_lossy()]))?;
    print!("{}", String::from_utf8_lossy(&checked));
    for entry in fs::read_dir(&results).map_err(|error| at(&results, error))? {
        let folder = entry.map_err(|error| at(&results, error))?;
        let runs = folder.path().join("runs.jsonl");
        let text = fs::read_to_string(&runs).map_err(|error| at(&runs, error))?;
        let figures = text.lines().skip(1).map(|line| {
            let line: Value = serde_json::from_str(line).map_err(|error| at(&runs, error))?;
            Ok(line["figures"].to_string())
        });
        let figures = figures.collect::<Result<Vec<String>, String>>()?;
        let name = format!("study {}", folder.file_name().to_string_lossy());
        digests.insert(name, digest(figures.join("\n").as_bytes()));
    }
    Ok(())
}

/// Runs the program at the root of the workspace and returns its output.
fn execute(program: &Path, arguments: &[String]) -> Result<Vec<u8>, String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(crate::root())
        .output()
        .map_err(|error| at(program, error))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", arguments.join(" "), error.trim()));
    }
    Ok(output.stdout)
}

/// Returns the digest of every number in a JSON document with its path, except wall-clock times.
fn digest_of_json(bytes: &[u8]) -> Result<String, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let mut numbers = String::new();
    collect(&value, "", &mut numbers);
    if numbers.is_empty() {
        return Err("found no numbers".to_owned());
    }
    Ok(digest(numbers.as_bytes()))
}

fn collect(value: &Value, path: &str, numbers: &mut String) {
    match value {
        Value::Number(number) if !path.contains("wall") => {
            let _ = writeln!(numbers, "{path} {number}");
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, &format!("{path}/{index}"), numbers);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                collect(member, &format!("{path}/{key}"), numbers);
            }
        }
        _ => {}
    }
}

/// Returns the digest of a fitted specification without its comments, name, summary and source.
fn digest_of_specification(path: &Path) -> Result<String, String> {
    let text = fs::read_to_string(path).map_err(|error| at(path, error))?;
    let is_number = |line: &&str| {
        let key = line.split('=').next().unwrap_or_default().trim();
        !line.starts_with('#') && !["name", "summary", "origin", "choices"].contains(&key)
    };
    let lines: Vec<&str> = text.lines().filter(is_number).collect();
    Ok(digest(lines.join("\n").as_bytes()))
}

fn digest(bytes: &[u8]) -> String {
    let mut hexadecimal = String::new();
    for byte in &Sha256::digest(bytes)[..16] {
        let _ = write!(hexadecimal, "{byte:02x}");
    }
    hexadecimal
}
