//! Tests that no command overwrites its inputs, leaves temporary files, or removes files of others.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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

/// Neither Ctrl-C nor a killed process leaves anything behind, and nobody else's file is removed.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_command_leaves_no_file_and_removes_none() {
    let folder = folder("part");
    let out = folder.join("rows.csv");
    let mine = ["rows.csv.123.part", "rows.csv.part", "diskarm.1.part"];
    for name in mine {
        fs::write(folder.join(name), "mine").unwrap();
    }
    let rows = [
        "simulate",
        "--policy",
        "fcfs",
        "--drive",
        "hp-c2247",
        "--workload",
        WORKLOAD,
        "--per-request",
        text(&out),
        "--requests",
    ];
    let mut killed = Command::new(env!("CARGO_BIN_EXE_diskarm"))
        .args([&rows[..], &["1000000000"]].concat())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // Until it has opened its output and begun.
    let open = format!("/proc/{}/fd", killed.id());
    let is_writing = |entry: fs::DirEntry| {
        let rows = fs::metadata(entry.path());
        let is_output = fs::read_link(entry.path()).is_ok_and(|path| path.starts_with(&folder));
        is_output && rows.is_ok_and(|rows| rows.len() > 0)
    };
    while !fs::read_dir(&open).unwrap().flatten().any(is_writing) {
        assert!(killed.try_wait().unwrap().is_none());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let mut names: Vec<_> = fs::read_dir(&folder).unwrap().flatten().collect();
    if names.len() > mine.len() {
        crate::skip("the file system has no files without a name (O_TMPFILE)");
    } else {
        names.retain(|entry| fs::read(entry.path()).unwrap() == b"mine");
        assert_eq!(names.len(), mine.len());
    }
    let run = diskarm(&[&rows[..], &["10"]].concat());
    assert!(run.status.success(), "{run:?}");
    assert_eq!(fs::read_to_string(&out).unwrap().lines().count(), 11);
    for name in mine {
        assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), "mine");
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// Standard output is a file here, which rows and results share.
#[cfg(target_os = "linux")]
#[test]
fn standard_output_by_its_path_is_not_replaced() {
    let folder = folder("stdout");
    let out = folder.join("out");
    let simulate = format!(
        "{:?} simulate --drive hp-c2247 --policy fcfs --random --requests 3 --per-request \
         /dev/stdout >> {out:?}",
        env!("CARGO_BIN_EXE_diskarm")
    );
    let run = Command::new("sh").args(["-c", &simulate]).status().unwrap();
    assert!(run.success());
    let found = fs::read_to_string(&out).unwrap();
    assert!(found.starts_with("id,disk,op,"), "{found}");
    assert!(found.contains("response, mean"), "{found}");
    fs::remove_dir_all(&folder).unwrap();
}

/// Runs the program under strace, if that is installed; returns the system calls.
#[cfg(target_os = "linux")]
pub fn traced(folder: &Path, options: &[&str], arguments: &[&str]) -> Option<String> {
    let log = folder.join("strace.log");
    let run = Command::new("strace")
        .args(["-f", "-y", "-o", text(&log)])
        .args(options)
        .arg(env!("CARGO_BIN_EXE_diskarm"))
        .args(arguments)
        .output();
    if run.is_err() {
        crate::skip("strace is not installed (strace)");
        return None;
    }
    Some(fs::read_to_string(log).unwrap())
}

/// The data reach the disk, then the file gets its name, then the name reaches the disk.
#[cfg(target_os = "linux")]
#[test]
fn a_new_name_survives_a_power_failure() {
    let folder = fs::canonicalize(folder("names")).unwrap();
    let syncs = [
        "-e",
        "trace=fsync,fdatasync,rename,renameat,renameat2,openat",
    ];
    let name = format!("<{}>", text(&folder));
    let is_sync = |line: &str| line.contains("sync(") && line.contains(&name);
    let place = |log: &str, what: &dyn Fn(&str) -> bool| {
        let found = log.lines().position(what);
        found.unwrap_or_else(|| panic!("{log}"))
    };
    let out = folder.join("rows.csv");
    let simulate = ["simulate", "--drive", "hp-c2247", "--policy", "fcfs"];
    let rows = ["--random", "--requests", "3", "--per-request", text(&out)];
    let Some(log) = traced(&folder, &syncs, &[&simulate[..], &rows].concat()) else {
        return;
    };
    let is_renamed = |line: &str| line.contains("rename") && line.contains("rows.csv\"");
    let data = place(&log, &|line| line.contains("sync("));
    let renamed = place(&log, &is_renamed);
    assert!(data < renamed && renamed < place(&log, &is_sync), "{log}");
    // The server ends after it has created the file of its disk.
    let used = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = used.local_addr().unwrap().to_string();
    let disk = folder.join("disk.img");
    let store = format!("file:{}", text(&disk));
    let serve = ["serve", "nbd", "--drive", "hp-c2247", "--store", &store];
    let log = traced(
        &folder,
        &syncs,
        &[&serve[..], &["--listen", &address]].concat(),
    )
    .unwrap();
    let is_created = |line: &str| line.contains("disk.img\"") && line.contains("O_CREAT");
    assert!(disk.exists());
    assert!(place(&log, &is_created) < place(&log, &is_sync), "{log}");
    // So does a scan before it writes to the image.
    fs::write(folder.join("disk.bin"), [7; 4096]).unwrap();
    let [bin, image] = ["disk.bin", "copy.img"].map(|name| folder.join(name));
    let scan = ["scan", text(&bin), "--image", text(&image)];
    let log = traced(&folder, &syncs, &scan).unwrap();
    let is_created = |line: &str| line.contains("copy.img\"") && line.contains("O_CREAT");
    assert!(place(&log, &is_created) < place(&log, &is_sync), "{log}");
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

#[cfg(unix)]
#[test]
fn files_of_secrets_are_not_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder("secrets");
    let secrets = folder.join("secrets.toml");
    fs::write(&secrets, "initiator alice secret-of-alice\n").unwrap();
    fs::set_permissions(&secrets, fs::Permissions::from_mode(0o600)).unwrap();
    let chap = format!("file:{}", text(&secrets));
    // A server that is not refused before ends with another error.
    let ended = ["--listen", "127.0.0.1:0", "--metrics", "0.0.0.0:0"];
    let serve = [&["serve", "iscsi", "--drive", "hp-c2247"], &ended[..]].concat();
    let scan = ["scan", "iscsi://127.0.0.1:1/iqn.2026-01.com.example/0"];
    let extract = ["extract", scan[1]];
    for (arguments, output) in [
        (&serve[..], "--record"),
        (&serve, "--control"),
        (&scan, "--checksums"),
        (&extract, "--output"),
    ] {
        let arguments = [arguments, &["--chap", &chap]].concat();
        let all = names(&folder, &secrets, "toml");
        assert_refused(&arguments, output, &all, &secrets, "--chap");
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// The name of a trace may resemble that of an incomplete output.
#[test]
fn an_input_with_a_temporary_name_is_kept() {
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

/// Names such as those of incomplete files may be the user's.
#[test]
fn a_study_removes_no_files() {
    let studied = Studied::new("study-part", "out/small/results.csv.5.part");
    let others = [
        "runs.jsonl.part",
        "runs.jsonl.12.part",
        "results.csv.3.part",
        "figures/a.svg.31.part",
        "figures/mine.png.part",
        "diskarm.1.part",
    ];
    for name in others {
        fs::write(studied.results(name), "mine").unwrap();
    }
    for command in ["run", "check", "report"] {
        let run = studied.run(command);
        assert!(run.status.success(), "{run:?}");
        for name in others {
            assert_eq!(fs::read_to_string(studied.results(name)).unwrap(), "mine");
        }
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
    let mine = folder.join("diskarm.1.12.part");
    fs::write(&mine, "mine").unwrap();
    fs::write(folder.join("other.1"), "another program's").unwrap();
    fs::write(folder.join("diskarm.1"), "of an earlier version").unwrap();
    let run = diskarm(&["man", text(&folder)]);
    let count = fs::read_dir(&folder).unwrap().count() - 2;
    let expected = format!("{count} pages in {}\n", folder.display());
    assert_eq!(String::from_utf8(run.stdout).unwrap(), expected);
    assert!(mine.exists());
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
