//! Tests that no command overwrites its inputs or leaves temporary files.

use std::fs;
use std::path::{Path, PathBuf};

use super::diskarm;

const TRACE: &str = "0,16,8,R,0.1\n0,800,8,W,0.2\n";
const WORKLOAD: &str = "poisson(rate=10/s) uniform size=4KiB";
const MEASURED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/synthetic-hp-c2247.csv"
);

fn folder(name: &str) -> PathBuf {
    let name = format!("diskarm-lost-{}-{name}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    folder
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Runs a command with each of `names` as its output; all are names of the file `input`.
fn assert_refused(arguments: &[&str], output: &str, names: &[PathBuf], input: &Path, flag: &str) {
    let before = fs::read(input).unwrap();
    for name in names {
        let run = diskarm(&[arguments, &[output, text(name)]].concat());
        let message = String::from_utf8(run.stderr).unwrap();
        let why = "which is read and would be lost";
        let found = format!(
            "error: {output}: found {:?}, expected a different file",
            text(name)
        );
        let expected = format!("{found} from {flag} {:?}, {why}\n", text(input));
        assert_eq!((run.status.code(), message), (Some(2), expected));
        assert_eq!(fs::read(input).unwrap(), before);
    }
}

/// Returns paths of the file: itself, an indirect path, a symbolic and a hard link to it. All end
/// in `ending`.
fn names(folder: &Path, input: &Path, ending: &str) -> Vec<PathBuf> {
    let link = folder.join(format!("link.{ending}"));
    let hard = folder.join(format!("hard.{ending}"));
    let _ = (fs::remove_file(&link), fs::remove_file(&hard));
    fs::hard_link(input, &hard).unwrap();
    let indirect = folder.join(".").join(input.file_name().unwrap());
    let mut names = vec![input.to_owned(), indirect, hard];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(input, &link).unwrap();
        names.push(link);
    }
    names
}

#[test]
fn rows_do_not_replace_inputs() {
    let folder = folder("rows");
    let trace = folder.join("t.spc");
    fs::write(&trace, TRACE).unwrap();
    let drive = folder.join("d.toml");
    fs::write(&drive, diskarm_drives::find("hp-c2247").unwrap().text).unwrap();
    let workload = folder.join("w.toml");
    fs::write(&workload, "not even a workload").unwrap();
    let out = "--per-request";
    let all = names(&folder, &trace, "csv");
    let flags = [
        "simulate",
        "--policy",
        "fcfs",
        "--drive",
        "hp-c2247",
        "--trace",
        text(&trace),
    ];
    assert_refused(&flags, out, &all, &trace, "--trace");
    let all = names(&folder, &drive, "csv");
    let flags = [
        "simulate",
        "--policy",
        "fcfs",
        "--drive",
        text(&drive),
        "--workload",
        WORKLOAD,
    ];
    assert_refused(&flags, out, &all, &drive, "--drive");
    let tower = format!("throttle(rate=100/s, drive={})", text(&drive));
    let flags = [
        "simulate",
        "--policy",
        "fcfs",
        "--drive",
        &tower,
        "--workload",
        WORKLOAD,
    ];
    assert_refused(&flags, out, &all, &drive, "--drive");
    let all = names(&folder, &workload, "csv");
    let flags = [
        "simulate",
        "--policy",
        "fcfs",
        "--drive",
        "hp-c2247",
        "--workload",
        text(&workload),
    ];
    assert_refused(&flags, out, &all, &workload, "--workload");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn plots_and_fits_do_not_replace_inputs() {
    let folder = folder("plots");
    let trace = folder.join("t.svg");
    fs::copy(MEASURED, &trace).unwrap();
    let all = names(&folder, &trace, "svg");
    let flags = ["validate", "--drive", "hp-c2247", text(&trace)];
    assert_refused(&flags, "--plot", &all, &trace, "FILE");
    let flags = ["validate", "--locked", "--drive", "hp-c2247", text(&trace)];
    assert_refused(&flags, "--plot", &all, &trace, "FILE");
    let trace = folder.join("t.toml");
    fs::copy(MEASURED, &trace).unwrap();
    let all = names(&folder, &trace, "toml");
    let flags = ["calibrate", "--drive", "hp-c2247", text(&trace)];
    assert_refused(&flags, "--output", &all, &trace, "TRACE");
    fs::remove_dir_all(&folder).unwrap();
}

/// Files that a killed process left are removed; files that a process is writing, and has locked,
/// and files with other names are not.
#[test]
fn leftovers_of_the_same_output_are_removed() {
    let folder = folder("part");
    let out = folder.join("rows.csv");
    let file = |name: &str| folder.join(name);
    let [leftover, busy] = ["rows.csv.123.part", "rows.csv.456.part"].map(file);
    let others = [
        "rows.csv.part",
        "rows.csv.7a.part",
        "xrows.csv.1.part",
        "row.1.part",
    ]
    .map(file);
    for path in others.iter().chain([&leftover, &busy]) {
        fs::write(path, "partial").unwrap();
    }
    let held = fs::File::open(&busy).unwrap();
    held.lock().unwrap();
    let load = ["--workload", WORKLOAD, "--requests", "10"];
    let drive = [
        "simulate",
        "--policy",
        "fcfs",
        "--drive",
        "hp-c2247",
        "--per-request",
        text(&out),
    ];
    let run = diskarm(&[&drive[..], &load].concat());
    assert!(run.status.success(), "{run:?}");
    assert_eq!(fs::read_to_string(&out).unwrap().lines().count(), 11);
    assert!(!leftover.exists() && busy.exists());
    assert!(others.iter().all(|path| path.exists()));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 6);
    fs::remove_dir_all(&folder).unwrap();
}

/// A trace of several files, of which the command line names one.
#[test]
fn no_file_of_a_trace_is_replaced() {
    let folder = folder("parts");
    let [first, second] = ["t.blktrace.0", "t.blktrace.1"].map(|name| folder.join(name));
    fs::write(&first, "one processor").unwrap();
    fs::write(&second, "another").unwrap();
    let run = diskarm(&[
        "trace",
        "convert",
        text(&first),
        text(&second),
        "--to",
        "spc",
    ]);
    let path = text(&second);
    let expected = format!(
        "error: OUT: found {path:?}, expected a different file from FILE {path:?}, which is read \
         and would be lost\n"
    );
    assert_eq!(String::from_utf8(run.stderr).unwrap(), expected);
    assert_eq!(fs::read_to_string(&second).unwrap(), "another");
    fs::remove_dir_all(&folder).unwrap();
}

/// The name of a trace may resemble a leftover.
#[test]
fn an_input_is_not_a_leftover() {
    let folder = folder("left");
    let (trace, out) = (folder.join("rows.csv.9.part"), folder.join("rows.csv"));
    fs::write(&trace, TRACE).unwrap();
    let drive = ["simulate", "--policy", "fcfs", "--drive", "hp-c2247"];
    let load = ["--trace", text(&trace), "--per-request", text(&out)];
    let run = diskarm(&[&drive[..], &load].concat());
    assert!(run.status.success(), "{run:?}");
    assert_eq!(fs::read_to_string(&trace).unwrap(), TRACE);
    assert_eq!(fs::read_to_string(&out).unwrap().lines().count(), 3);
    fs::remove_dir_all(&folder).unwrap();
}

const STUDY: &str = r#"
title = "Small"
source = "none"
[cell]
drive = "throttle(rate=100/s, drive={drive})"
policy = "{policy}"
SOURCE
[[axis]]
name = "drive"
values = ["DRIVE"]
[[axis]]
name = "policy"
values = ["fcfs", "sptf"]
[[axis]]
name = "faster"
values = [1, 2]
[[figure]]
name = "a"
title = "A"
x = "faster"
y = "response_ms_mean"
series = "policy"
"#;

/// The files of a study: its own, its drive, and its trace or workload.
struct Studied {
    folder: PathBuf,
    study: PathBuf,
    drive: PathBuf,
    load: PathBuf,
}

impl Studied {
    /// Its trace is `load`, or its workload if that ends in `.toml`.
    fn new(name: &str, load: &str) -> Self {
        let folder = folder(name);
        let file = |name: &str| folder.join(name);
        let (study, drive, load) = (file("small.toml"), file("d.toml"), file(load));
        fs::create_dir_all(folder.join("out/small/figures")).unwrap();
        fs::write(&drive, diskarm_drives::find("hp-c2247").unwrap().text).unwrap();
        let rates = "arrivals = \"poisson(rate=10/s)\"\nplaces = \"uniform\"\n";
        let (key, rows) = if text(&load).ends_with(".toml") {
            ("requests = \"{faster}\"\nworkload", rates)
        } else {
            ("faster = \"{faster}\"\ntrace", TRACE)
        };
        fs::write(&load, rows).unwrap();
        let load_of = format!("{key} = {:?}", text(&load));
        let whole = STUDY.replace("SOURCE", &load_of);
        fs::write(&study, whole.replace("DRIVE", text(&drive))).unwrap();
        Self {
            folder,
            study,
            drive,
            load,
        }
    }

    /// `diskarm study COMMAND` with results in `out/small`.
    fn run(&self, command: &str) -> std::process::Output {
        let out = self.folder.join("out");
        diskarm(&["study", command, text(&self.study), "--output", text(&out)])
    }

    fn results(&self, name: &str) -> PathBuf {
        self.folder.join("out/small").join(name)
    }
}

impl Drop for Studied {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

const RESULTS: [&str; 5] = [
    "lock",
    "runs.jsonl",
    "results.csv",
    "results.json",
    "report.html",
];

/// Each result in turn is a link to an input.
#[test]
fn studies_do_not_replace_their_inputs() {
    let traced = Studied::new("study-trace", "t.spc");
    let generated = Studied::new("study-workload", "w.toml");
    let inputs = [
        (&traced, &traced.study, "STUDY"),
        (&traced, &traced.drive, "cell.drive"),
        (&traced, &traced.load, "cell.trace"),
        (&generated, &generated.load, "cell.workload"),
    ];
    for (studied, input, field) in inputs {
        let before = fs::read(input).unwrap();
        for name in RESULTS {
            let output = studied.results(name);
            let expect_error = |command: &str| {
                let run = studied.run(command);
                let message = String::from_utf8(run.stderr).unwrap();
                let expected = format!(
                    "error: --output: found {:?}, expected a different file from {field} {:?}, \
                     which is read and would be lost\n",
                    text(&output),
                    text(input),
                );
                assert_eq!((run.status.code(), message), (Some(2), expected));
                assert_eq!(fs::read(input).unwrap(), before);
                fs::remove_file(&output).unwrap();
            };
            fs::hard_link(input, &output).unwrap();
            expect_error("run");
            #[cfg(unix)]
            for command in ["run", "check", "report"] {
                std::os::unix::fs::symlink(input, &output).unwrap();
                expect_error(command);
            }
            let others = fs::read_dir(studied.results("")).unwrap().count();
            assert_eq!(others, 1, "only the folder of figures");
        }
    }
}

/// The trace has the path of a result.
#[test]
fn a_trace_among_the_results_of_its_study_is_kept() {
    for name in RESULTS.iter().copied().chain(["figures/a.svg"]) {
        let studied = Studied::new("study-among", &format!("out/small/{name}"));
        let run = studied.run("run");
        let message = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(2), "{message}");
        assert!(
            message.contains("a different file from cell.trace"),
            "{message}"
        );
        assert_eq!(fs::read_to_string(&studied.load).unwrap(), TRACE, "{name}");
    }
}

#[test]
fn leftovers_of_a_study_are_removed() {
    let studied = Studied::new("study-part", "out/small/results.csv.5.part");
    let leftovers = [
        "runs.jsonl.part",
        "runs.jsonl.12.part",
        "results.csv.part",
        "results.csv.3.part",
        "results.json.4.part",
        "report.html.part",
        "figures/a.svg.part",
        "figures/gone.png.31.part",
    ];
    let others = [
        "notes.part",
        "results.csv.7a.part",
        "figures/a.txt.part",
        "figures/notes.part",
    ];
    let paths = |names: &[&str]| -> Vec<PathBuf> {
        names.iter().map(|name| studied.results(name)).collect()
    };
    for command in ["run", "check", "report"] {
        for path in paths(&leftovers).iter().chain(&paths(&others)) {
            fs::write(path, "partial").unwrap();
        }
        let run = studied.run(command);
        assert!(run.status.success(), "{run:?}");
        assert!(
            paths(&leftovers).iter().all(|path| !path.exists()),
            "{command}"
        );
        assert!(paths(&others).iter().all(|path| path.exists()), "{command}");
    }
    assert_eq!(fs::read_to_string(&studied.load).unwrap(), TRACE);
}

#[cfg(unix)]
#[test]
fn runs_are_written_through_a_link() {
    let studied = Studied::new("study-link", "t.spc");
    let (runs, real) = (studied.results("runs.jsonl"), studied.folder.join("real"));
    std::os::unix::fs::symlink(&real, &runs).unwrap();
    // The first run creates the file, the second replaces it.
    for _ in 0..2 {
        assert!(studied.run("run").status.success());
        assert!(runs.is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap().lines().count(), 5);
    }
}

#[test]
fn the_manual_is_written_like_other_outputs() {
    let folder = folder("man");
    let leftover = folder.join("diskarm.1.12.part");
    fs::write(&leftover, "partial").unwrap();
    fs::write(folder.join("other.1"), "another program's").unwrap();
    fs::write(folder.join("diskarm.1"), "of an earlier version").unwrap();
    let run = diskarm(&["man", text(&folder)]);
    let count = fs::read_dir(&folder).unwrap().count() - 1;
    let expected = format!("{count} pages in {}\n", folder.display());
    assert_eq!(String::from_utf8(run.stdout).unwrap(), expected);
    assert!(!leftover.exists());
    let page = fs::read_to_string(folder.join("diskarm.1")).unwrap();
    assert!(page.contains(".TH diskarm 1"), "{page}");
    fs::remove_dir_all(&folder).unwrap();
}

/// A simulation of three requests.
fn three(more: &[&str]) -> std::process::Output {
    let simulate = [
        "simulate", "--drive", "hp-c2247", "--policy", "fcfs", "--random",
    ];
    diskarm(&[&simulate[..], &["--rate", "10/s", "--requests", "3"], more].concat())
}

#[test]
fn an_output_needs_a_name() {
    let run = three(&["--per-request", ""]);
    let message = String::from_utf8(run.stderr).unwrap();
    let expected = "error: --per-request: found \"\", expected the path of a file";
    assert_eq!(message.trim_end(), expected);
    assert_eq!(run.status.code(), Some(2));
}

/// A file named "-" is "./-".
#[test]
fn a_dash_is_standard_output_and_results_go_to_standard_error() {
    let path = std::env::temp_dir().join(format!("diskarm-{}-dash.csv", std::process::id()));
    assert!(three(&["--per-request", text(&path)]).status.success());
    let rows = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let run = three(&["--per-request", "-"]);
    assert!(run.status.success());
    assert_eq!(String::from_utf8(run.stdout).unwrap(), rows);
    let results = String::from_utf8(run.stderr).unwrap();
    assert!(results.contains("response, mean"), "{results}");
    let run = three(&["--plot", "-", "--json"]);
    assert!(String::from_utf8(run.stdout).unwrap().starts_with("<svg "));
    let results: serde_json::Value = serde_json::from_slice(&run.stderr).unwrap();
    assert_eq!(results["requests"], 3);
    let run = three(&["--plot", "-", "--per-request", "-"]);
    let message = String::from_utf8(run.stderr).unwrap();
    let expected = "error: `--plot -`: standard output is already used by `--per-request`; give \
                    the path of a file";
    assert_eq!(message.trim_end(), expected);
}
