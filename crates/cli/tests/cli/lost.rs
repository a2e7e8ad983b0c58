//! No command writes over what it reads, and none leaves remains behind.

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

/// Runs it with each of `outputs` in turn; all are names of the file `input`.
fn assert_refused(arguments: &[&str], output: &str, names: &[PathBuf], input: &Path, flag: &str) {
    let before = fs::read(input).unwrap();
    for name in names {
        let run = diskarm(&[arguments, &[output, text(name)]].concat());
        let message = String::from_utf8(run.stderr).unwrap();
        let why = "which is read and would be lost";
        let found = format!(
            "error: {output}: found {:?}, expected another file",
            text(name)
        );
        let expected = format!("{found} than {flag} {:?}, {why}\n", text(input));
        assert_eq!((run.status.code(), message), (Some(2), expected));
        assert_eq!(fs::read(input).unwrap(), before);
    }
}

/// The file itself, a roundabout path, a symbolic and a hard link to it, each ending in `ending`.
fn names(folder: &Path, input: &Path, ending: &str) -> Vec<PathBuf> {
    let link = folder.join(format!("link.{ending}"));
    let hard = folder.join(format!("hard.{ending}"));
    let _ = (fs::remove_file(&link), fs::remove_file(&hard));
    fs::hard_link(input, &hard).unwrap();
    let around = folder.join(".").join(input.file_name().unwrap());
    let mut names = vec![input.to_owned(), around, hard];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(input, &link).unwrap();
        names.push(link);
    }
    names
}

#[test]
fn rows_do_not_replace_what_is_read() {
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
fn plots_and_fits_do_not_replace_what_is_read() {
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

/// What a killed process left is removed; what a process writes at the moment, which it has
/// locked, and files of other names are not.
#[test]
fn leftovers_of_the_same_output_are_removed() {
    let folder = folder("part");
    let out = folder.join("rows.csv");
    let file = |name: &str| folder.join(name);
    let [left, busy] = ["rows.csv.123.part", "rows.csv.456.part"].map(file);
    let others = [
        "rows.csv.part",
        "rows.csv.7a.part",
        "xrows.csv.1.part",
        "row.1.part",
    ]
    .map(file);
    for path in others.iter().chain([&left, &busy]) {
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
    assert!(!left.exists() && busy.exists());
    assert!(others.iter().all(|path| path.exists()));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 6);
    fs::remove_dir_all(&folder).unwrap();
}

/// Whoever rescues what a killed process left converts it.
#[test]
fn leftovers_that_are_read_stay() {
    let folder = folder("rescued");
    let (left, out) = (folder.join("out.csv.1234.part"), folder.join("out.csv"));
    fs::write(&left, TRACE).unwrap();
    let convert = [
        "trace",
        "convert",
        "--to",
        "disksim",
        text(&left),
        text(&out),
    ];
    let run = diskarm(&convert);
    assert!(run.status.success(), "{run:?}");
    assert_eq!(fs::read_to_string(&left).unwrap(), TRACE);
    assert_eq!(fs::read_to_string(&out).unwrap().lines().count(), 2);
    fs::remove_dir_all(&folder).unwrap();
}
