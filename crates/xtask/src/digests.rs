//! `cargo xtask digests`: compares computed numbers with a record, to the bit.
//!
//! Runs a table of commands and the short form of every study, and compares a digest of all the
//! numbers in each output with its record. Text is ignored, so messages may change without a
//! new record. A change of numbers must renew it (`--record`) and be listed in CHANGELOG.md. The
//! two traces in `../shared` are skipped if it is absent.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The record, next to this crate's manifest.
const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/digests.toml");

/// Drives of different mechanics, buffers and bus rules.
const DRIVES: [&str; 5] = [
    "hp-c2247",
    "dec-rz26-calibrated",
    "seagate-cheetah-st34501n-calibrated",
    "quantum-atlas-10k",
    "sata-4tb-7200",
];

/// The drives with a measured trace.
const MEASURED: [&str; 6] = [
    "dec-rz26",
    "hp-c2247",
    "quantum-atlas-10k",
    "seagate-barracuda-st32171w",
    "seagate-cheetah-st34501n",
    "seagate-st41601n",
];

/// Policies of all kinds, for `compare`.
const POLICIES: &str = "fcfs,sstf,look,clook,vscan(r=0.2),vscan(r=0.2, by=map),sptf,satf,\
    asptf(w=6),aspctf(w=6),spctf,aspctf-seq,satf-la,satfuf,satfdf,gstf,wstf,hol,mq-deadline";

/// Workloads of all kinds.
const WORKLOADS: [&str; 4] = [
    "poisson(rate=40/s) uniform size=8KiB reads=67%",
    "uniform(to=22ms) sequential(share=30%) local(share=30%, deviation=10000sectors) uniform \
     size=exponential(mean=8KiB) reads=50%",
    "closed(clients=12) hot(at=0%, at=50%) size=mixed(4KiB=60%, 64KiB=40%) reads=30%",
    "erlang(k=4, rate=20/s) sequential(runs=8) + bursts(on=1s, off=4s, rate=100/s)",
];

/// A command whose numbers are recorded.
struct Case {
    name: String,
    arguments: Vec<String>,
}

impl Case {
    fn new<'a>(name: String, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let arguments = arguments.into_iter().map(str::to_owned).collect();
        Self { name, arguments }
    }
}

/// Compares with the record; `--record` renews it. `--study=NAME` does so for one study alone.
/// Another argument is a program to run instead of what is shipped.
pub fn run(arguments: &[String]) -> ExitCode {
    let is_record = arguments.iter().any(|argument| argument == "--record");
    let study = arguments
        .iter()
        .find_map(|argument| argument.strip_prefix("--study="));
    let program = arguments
        .iter()
        .find(|argument| !argument.starts_with("--"));
    let computed = match program {
        Some(program) => compute(Path::new(program), study),
        None => crate::program::build().and_then(|program| compute(&program, study)),
    };
    let outcome = computed.and_then(|computed| match (is_record, study) {
        (true, None) => record(&computed),
        (true, Some(_)) => recorded().and_then(|mut all| {
            all.extend(computed);
            record(&all)
        }),
        (false, _) => compare(&computed, study.is_some()),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("digests: {error}");
            ExitCode::FAILURE
        }
    }
}

fn record(computed: &BTreeMap<String, String>) -> Result<(), String> {
    let mut text = String::from(
        "# Digests of the numbers in outputs, made by `cargo xtask digests --record`.\n\
         # `cargo xtask digests` fails when one differs.\n",
    );
    for (name, digest) in computed {
        let _ = writeln!(text, "{name:?} = {digest:?}");
    }
    std::fs::write(RECORD, text).map_err(|error| format!("{RECORD}: {error}"))
}

fn recorded() -> Result<BTreeMap<String, String>, String> {
    let text = std::fs::read_to_string(RECORD).map_err(|error| format!("{RECORD}: {error}"))?;
    let recorded = toml::de::DeTable::parse(&text).map_err(|error| format!("{RECORD}: {error}"))?;
    let digests = recorded.get_ref().iter().map(|(name, digest)| {
        let digest = digest.get_ref().as_str();
        (
            name.get_ref().to_string(),
            digest.unwrap_or_default().to_owned(),
        )
    });
    Ok(digests.collect())
}

/// Compares with the record, of which `some` may not have been computed.
fn compare(computed: &BTreeMap<String, String>, some: bool) -> Result<(), String> {
    let recorded = recorded()?;
    let mut differing = Vec::new();
    let mut absent = 0;
    for (name, recorded) in &recorded {
        match computed.get(name) {
            Some(digest) if recorded == digest => {}
            Some(_) => differing.push(name.to_owned()),
            None => absent += usize::from(!some),
        }
    }
    let unrecorded = computed.keys().filter(|name| !recorded.contains_key(*name));
    differing.extend(unrecorded.map(|name| format!("{name} (not in the record)")));
    if absent > 0 && crate::root().join("../shared").is_dir() {
        return Err(format!("{absent} outputs of the record were not computed"));
    }
    if absent > 0 {
        println!("digests: {absent} skipped, as ../shared is absent");
    }
    if !differing.is_empty() {
        return Err(format!(
            "numbers differ from their record: {}",
            differing.join(", ")
        ));
    }
    println!(
        "digests: {} outputs have the recorded numbers",
        computed.len()
    );
    Ok(())
}

/// The digest of each case, or of one `study` alone.
fn compute(program: &Path, study: Option<&str>) -> Result<BTreeMap<String, String>, String> {
    let folder = std::env::temp_dir().join(format!("diskarm-digests-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let digests = match study {
        None => compute_in(program, &folder),
        Some(study) => {
            let mut digests = BTreeMap::new();
            studies(program, &folder, study, &mut digests).map(|()| digests)
        }
    };
    let removed = std::fs::remove_dir_all(&folder);
    let digests = digests?;
    removed.map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(digests)
}

fn compute_in(program: &Path, folder: &Path) -> Result<BTreeMap<String, String>, String> {
    let mut digests = BTreeMap::new();
    for case in simulations().into_iter().chain(traced()) {
        let output = execute(program, &case.arguments)?;
        let numbers = digest_of_json(&output).map_err(|error| format!("{}: {error}", case.name))?;
        digests.insert(case.name, numbers);
    }
    for (name, arguments) in calibrations(folder) {
        execute(program, &arguments)?;
        digests.insert(name, digest_of_specification(&folder.join("fitted.toml"))?);
    }
    digests.insert("per-request".to_owned(), per_request(program, folder)?);
    studies(program, folder, "--all", &mut digests)?;
    Ok(digests)
}

fn simulations() -> Vec<Case> {
    let simulate = |name: String, options: &str, workload: &str| {
        let words = options.split(' ').chain(["--workload", workload]);
        Case::new(name, ["simulate", "--json"].into_iter().chain(words))
    };
    let mut cases = Vec::new();
    for drive in DRIVES {
        for (number, workload) in WORKLOADS.iter().enumerate() {
            for policy in ["fcfs", "sptf"] {
                let name = format!("simulate {drive} {policy} workload {number}");
                let options =
                    format!("--drive {drive} --policy {policy} --requests 4000 --warmup 100");
                cases.push(simulate(name, &options, workload));
            }
        }
    }
    cases.push(simulate(
        "simulate merging, windows, replications".to_owned(),
        "--drive hp-c2247 --policy clook --requests 3000 --merge 64KiB --replications 3",
        WORKLOADS[1],
    ));
    for (number, workload) in WORKLOADS.iter().take(2).enumerate() {
        let options = "compare --json --drive hp-c2247 --requests 2000".split(' ');
        cases.push(Case::new(
            format!("compare hp-c2247 workload {number}"),
            options.chain(["--policies", POLICIES, "--workload", workload]),
        ));
    }
    let two_devices = "simulate --json --drive hp-c2247 --policy look --fit fold --window 1s \
                       --trace examples/two-devices.spc";
    cases.push(Case::new(
        "simulate two devices".to_owned(),
        two_devices.split(' '),
    ));
    cases
}

/// Measured and recorded traces.
fn traced() -> Vec<Case> {
    let mut cases = Vec::new();
    for drive in MEASURED {
        let trace = crate::traces::trace(drive);
        for form in [&["validate"][..], &["validate", "--locked"]] {
            // A trace with a broken clock cannot be followed.
            if form.len() == 2 && !["hp-c2247", "seagate-st41601n"].contains(&drive) {
                continue;
            }
            let calibrated = format!("{drive}-calibrated");
            for model in [drive, &calibrated] {
                let arguments = ["--json", "--drive", model, &trace];
                cases.push(Case::new(
                    format!("{} {model}", form.join(" ")),
                    form.iter().copied().chain(arguments),
                ));
            }
        }
    }
    for (file, drive) in [
        ("hplajw-1992-05-30-week.srt", "hp-c2247"),
        ("websearch-60s.mqsim", "seagate-cheetah-st39102lw"),
    ] {
        let Some(trace) = shared(&format!("traces/{file}")) else {
            continue;
        };
        cases.push(Case::new(
            format!("simulate {file}"),
            [
                "simulate", "--json", "--drive", drive, "--policy", "sptf", "--trace", &trace,
                "--fit", "fold",
            ],
        ));
    }
    let trace = "examples/synthetic-hp-c2247.csv";
    cases.push(Case::new(
        "validate example".to_owned(),
        ["validate", "--json", "--drive", "hp-c2247", trace],
    ));
    cases
}

/// Fits to a synthetic trace and to measured ones without a clock.
fn calibrations(folder: &Path) -> Vec<(String, Vec<String>)> {
    let output = folder.join("fitted.toml").display().to_string();
    let fit = |drive: &str, trace: &str| {
        let arguments = [
            "calibrate",
            "--drive",
            drive,
            "--rows",
            "..600",
            "-o",
            &output,
            trace,
        ];
        let arguments = arguments.map(str::to_owned).to_vec();
        (format!("calibrate {drive}"), arguments)
    };
    let mut fits = vec![fit("hp-c2247", "examples/synthetic-hp-c2247.csv")];
    for drive in ["dec-rz26", "quantum-atlas-10k"] {
        fits.push(fit(drive, &crate::traces::trace(drive)));
    }
    fits
}

/// The digest of a CSV file with a row for each request: of all its bytes.
fn per_request(program: &Path, folder: &Path) -> Result<String, String> {
    let rows = folder.join("rows.csv");
    let path = rows.display().to_string();
    let arguments = [
        "simulate",
        "--json",
        "--drive",
        "hp-c2247",
        "--policy",
        "sptf",
        "--workload",
        WORKLOADS[3],
        "--requests",
        "3000",
        "--per-request",
        &path,
    ];
    execute(program, &arguments)?;
    let bytes = std::fs::read(&rows).map_err(|error| format!("{path}: {error}"))?;
    Ok(digest(&bytes))
}

/// The runs of a study or `--all` in their short form, whose claims are checked and printed.
fn studies(
    program: &Path,
    folder: &Path,
    which: &str,
    digests: &mut BTreeMap<String, String>,
) -> Result<(), String> {
    let results = folder.join("studies");
    let path = results.display().to_string();
    let arguments = ["study", "check", which, "--quick", "--output", &path];
    let checked = execute(program, &arguments)?;
    print!("{}", String::from_utf8_lossy(&checked));
    let entries = std::fs::read_dir(&results).map_err(|error| format!("{path}: {error}"))?;
    for entry in entries {
        let folder = entry.map_err(|error| format!("{path}: {error}"))?.path();
        let runs = folder.join("runs.jsonl");
        let name = folder
            .file_name()
            .and_then(OsStr::to_str)
            .unwrap_or_default();
        let text = std::fs::read_to_string(&runs)
            .map_err(|error| format!("{}: {error}", runs.display()))?;
        let mut figures = Vec::new();
        for line in text.lines().skip(1) {
            let line: Value = serde_json::from_str(line)
                .map_err(|error| format!("{}: {error}", runs.display()))?;
            figures.push(line["figures"].to_string());
        }
        digests.insert(
            format!("study {name}"),
            digest(figures.join("\n").as_bytes()),
        );
    }
    Ok(())
}

/// A file of the reference data; `None` if it is absent.
fn shared(name: &str) -> Option<String> {
    let path: PathBuf = crate::root().join("../shared").join(name);
    path.is_file().then(|| format!("../shared/{name}"))
}

/// Runs the program at the root of the workspace and returns its output.
fn execute(program: &Path, arguments: &[impl AsRef<OsStr>]) -> Result<Vec<u8>, String> {
    let output = Command::new(std::path::absolute(program).map_err(|error| error.to_string())?)
        .args(arguments)
        .current_dir(crate::root())
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    if !output.status.success() {
        let called: Vec<_> = arguments
            .iter()
            .map(|a| a.as_ref().to_string_lossy())
            .collect();
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", called.join(" "), error.trim()));
    }
    Ok(output.stdout)
}

/// The digest of every number in a JSON document with its path, except wall-clock times.
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

/// The digest of a fitted specification without its comments, name, summary and source.
fn digest_of_specification(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
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
