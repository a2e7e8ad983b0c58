//! Tests of `diskarm calibrate`: its outputs, which a failure leaves unchanged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{assert_within, diskarm, json, keys, stdout};

/// 3,000 requests with simulated responses, on a platter that rotates slightly more slowly.
const SYNTHETIC: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/synthetic-hp-c2247.csv"
);

const HEADER: &str = "op,lbn,sectors,response_us,think_us\n";

/// The content of an existing file.
const BEFORE: &str = "# as it was\r\n\tno drive\n";

/// A folder for one test, with an existing output file.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("calibrate-{test}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{error}"));
        let folder = Self(folder);
        folder.file("out.toml", BEFORE);
        folder
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).unwrap_or_else(|error| panic!("{error}"));
        path
    }

    /// Returns the error of a calibration to `output`, which must not change or create files.
    fn error_line(&self, trace: &str, output: &str, more: &[&str]) -> String {
        let before = self.contents();
        let fixed = ["calibrate", "--drive", "hp-c2247", trace, "-o", output];
        let arguments = [&fixed, more].concat();
        let output = diskarm(&arguments);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert_eq!(message.lines().count(), 1, "{message}");
        assert_eq!(self.contents(), before, "{arguments:?}");
        let message = message
            .strip_prefix("error: ")
            .unwrap_or_else(|| panic!("{message}"));
        message.trim_end().to_owned()
    }

    /// Returns names and contents of all files; folders count as empty files.
    fn contents(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let entries = fs::read_dir(&self.0).unwrap_or_else(|error| panic!("{error}"));
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        let read = |path: Result<PathBuf, _>| {
            let path = path?;
            let bytes = if path.is_dir() {
                Vec::new()
            } else {
                fs::read(&path)?
            };
            Ok((path, bytes))
        };
        let all: Result<Vec<_>, std::io::Error> = paths.map(read).collect();
        let mut all = all.unwrap_or_else(|error| panic!("{error}"));
        all.sort();
        all
    }
}

/// Returns the first rows of the synthetic trace, with responses changed by `response_us`.
fn rows(count: usize, response_us: impl Fn(usize, f64) -> f64) -> String {
    let text = fs::read_to_string(SYNTHETIC).unwrap_or_else(|error| panic!("{error}"));
    let mut text_rows = HEADER.to_owned();
    for (i, line) in text.lines().skip(1).take(count).enumerate() {
        let fields: Vec<&str> = line.split(',').collect();
        let [op, lbn, sectors, response, think] = fields[..] else {
            panic!("{line}")
        };
        let response = response.parse().unwrap_or_else(|_| panic!("{line}"));
        text_rows += &format!(
            "{op},{lbn},{sectors},{},{think}\n",
            response_us(i, response)
        );
    }
    text_rows
}

#[test]
fn traces_that_cannot_be_fitted_leave_the_output_unchanged() {
    let folder = Folder::new("traces");
    let output = folder.path("out.toml");

    let ascii = folder.file("ascii.trace", "0.25 0 1200 8 1\n1.5 0 90 16 0\n");
    let expected = "expected measured responses, and pauses or arrivals, which the format disksim \
                    does not carry";
    assert_eq!(
        folder.error_line(&ascii, &output, &[]),
        format!("{ascii}:1: response: found \"none\", {expected}")
    );

    let short = folder.file("short.csv", &rows(30, |_, us| us));
    let message = folder.error_line(&short, &output, &[]);
    let found = format!("TRACE: found \"{short} (30 rows)\", expected ");
    assert!(message.starts_with(&found), "{message}");
    assert_eq!(
        message.replace(&short, ""),
        folder
            .error_line(SYNTHETIC, &output, &["--rows", "100..130"])
            .replace(SYNTHETIC, "")
    );

    let beyond = ["--rows", "0..3001"];
    assert_eq!(
        folder.error_line(SYNTHETIC, &output, &beyond),
        format!(
            "--rows: found \"0..3001\", expected a range within 0..3000, the rows of {SYNTHETIC}"
        )
    );

    let far = folder.file(
        "far.csv",
        &(rows(60, |_, us| us) + "R,2054864,1,9000,5000\n"),
    );
    let message = folder.error_line(&far, &output, &[]);
    let expected = "lbn: found \"1 sectors from 2054864\", expected at most 2054864 blocks";
    assert_eq!(message, format!("{far}:62: {expected}"));

    let absent = folder.path("absent.csv");
    let message = folder.error_line(&absent, &output, &[]);
    assert!(
        message.starts_with(&format!("{absent}: cannot ")),
        "{message}"
    );

    let empty = folder.file("empty.csv", HEADER);
    let message = folder.error_line(&empty, &output, &[]);
    assert!(message.contains(&empty), "{message}");
}

/// The trace has both times divided by a thousand, as if the columns were in milliseconds.
#[test]
fn a_trace_in_milliseconds_gives_a_warning() {
    let folder = Folder::new("unit");
    let text = fs::read_to_string(SYNTHETIC).unwrap();
    let mut text_rows = HEADER.to_owned();
    for line in text.lines().skip(1).take(70) {
        let fields: Vec<&str> = line.split(',').collect();
        let [response, think] = [3, 4].map(|i| fields[i].parse::<f64>().unwrap() / 1000.0);
        text_rows += &format!("{},{response},{think}\n", fields[..3].join(","));
    }
    let trace = folder.file("ms.csv", &text_rows);
    let output = folder.path("out.toml");
    for command in [
        &["validate"][..],
        &["validate", "--locked"],
        &["calibrate", "-o", &output],
    ] {
        let arguments = [command, &["--drive", "hp-c2247", &trace]].concat();
        let stderr = diskarm(&arguments).stderr;
        let stderr = String::from_utf8(stderr).unwrap();
        let doubt = format!("warning: {trace}: 70 of 70 responses are shorter than the bus ");
        let ends = "ms: are these milliseconds?";
        let is_doubt = |line: &str| line.starts_with(&doubt) && line.ends_with(ends);
        let doubts = stderr.lines().filter(|line| is_doubt(line)).count();
        assert_eq!(doubts, 1, "{arguments:?}: {stderr}");
    }
}

/// No request of an HP C2247 takes between a quarter and half of a second.
#[test]
fn a_trace_of_another_drive_is_refused() {
    let folder = Folder::new("other");
    let slow = rows(70, |i, _| 250_000.0 + (i * 7_919 % 251) as f64 * 1_000.0);
    let slow = folder.file("slow.csv", &slow);
    let message = folder.error_line(&slow, &folder.path("out.toml"), &[]);
    let expected = "a trace of the drive hp-c2247, which explains only ";
    assert!(
        message.starts_with(&format!("TRACE: found {slow:?}, expected {expected}")),
        "{message}"
    );
}

#[test]
fn outputs_that_cannot_be_written_are_refused_before_the_fit() {
    let folder = Folder::new("outputs");
    for wrong in ["out.tom", "out", ".toml", "toml", "out.toml/"] {
        let output = folder.path(wrong);
        let message = folder.error_line(SYNTHETIC, &output, &[]);
        assert_eq!(
            message,
            format!("--output: found {output:?}, expected a name ending in .toml")
        );
    }
}

#[test]
fn unwritable_outputs_are_reported_before_the_fit() {
    let folder = Folder::new("places");
    fs::create_dir(folder.path("folder.toml")).unwrap_or_else(|error| panic!("{error}"));
    for place in ["absent/out.toml", "out.toml/out.toml", "folder.toml"] {
        let output = folder.path(place);
        let before = Instant::now();
        let message = folder.error_line(SYNTHETIC, &output, &[]);
        assert!(
            message.starts_with(&format!("{output}: cannot write: ")),
            "{message}"
        );
        // A fit to 3,000 rows takes many times as long.
        assert!(before.elapsed() < Duration::from_secs(3), "{place}");
    }
}

/// Checks the JSON of a run: its documented fields, and the values that were put into the trace.
fn check_report(report: &Value, output: &str) {
    let fields = [
        "drive",
        "trace",
        "rows",
        "output",
        "clock",
        "phase_concentration",
        "period_ns",
        "phase",
        "clock_breaks",
        "explained_fraction",
        "unexplained_requests",
        "unexplained",
        "held_back",
        "evaluations",
        "behaviours",
        "fitted",
        "covariance_ms2",
        "known_together",
        "not_determined",
        "notes",
    ];
    assert_eq!(keys(report), fields);
    assert_eq!(report["trace"], SYNTHETIC);
    assert_eq!(report["rows"], 500);
    assert_eq!(report["output"], output);
    assert_eq!(report["clock"], "unbroken");
    assert_eq!(report["clock_breaks"], 0);
    // The trace was generated at 5398.2 rpm, starting at a third of a revolution.
    let period_ns = number(report, "period_ns");
    assert!(
        (period_ns * 5398.2 / 60e9 - 1.0).abs() < 1e-5,
        "{period_ns}"
    );
    assert!((number(report, "phase") - 1.0 / 3.0).abs() < 0.02);
    assert!(number(report, "phase_concentration") > 0.98);
    assert!(number(report, "explained_fraction") > 0.99);
    assert!(number(report, "unexplained_requests") < 5.0);
    assert_eq!(report["unexplained"], serde_json::json!([]));
    assert_eq!(report["held_back"]["rows"], 100);
    assert_eq!(report["held_back"]["kept"], "all");
    let fitted = report["fitted"].as_array().unwrap();
    assert!(!fitted.is_empty());
    for (i, one) in fitted.iter().enumerate() {
        let fields = [
            "key",
            "given_ms",
            "fitted_ms",
            "sd_ms",
            "others_held_sd_ms",
            "doubtful",
        ];
        assert_eq!(keys(one), fields);
        let held = number(one, "others_held_sd_ms");
        assert!(held > 0.0, "{one}");
        assert!(held <= number(one, "sd_ms") * (1.0 + 1e-9), "{one}");
        let variance = report["covariance_ms2"][i][i].as_f64().unwrap();
        assert_eq!(number(one, "sd_ms"), variance.sqrt());
        assert_eq!(one["doubtful"], false, "{one}");
    }
}

fn number(object: &Value, key: &str) -> f64 {
    let value = object[key].as_f64();
    value.unwrap_or_else(|| panic!("{key} in {object}"))
}

#[test]
fn the_drive_to_start_from_is_not_overwritten() {
    let folder = Folder::new("own");
    let given = diskarm_drives::find("hp-c2247").unwrap().text;
    let drive = folder.file("mine.toml", given);
    let run = diskarm(&["calibrate", "--drive", &drive, SYNTHETIC, "-o", &drive]);
    assert_eq!(run.status.code(), Some(2));
    let message = String::from_utf8(run.stderr).unwrap();
    let why = "which is read and would be lost";
    let expected = format!("expected a different file from --drive {drive:?}, {why}");
    assert_eq!(
        message,
        format!("error: --output: found {drive:?}, {expected}\n")
    );
    assert_eq!(fs::read_to_string(&drive).unwrap(), given);
}

/// Too few rows for a good fit: this tests what is written and printed, not the fit.
#[test]
fn a_successful_run_writes_a_drive_and_prints_its_findings() {
    let folder = Folder::new("good");
    let output = folder.file("my c2247.toml", BEFORE);
    // The drive of the synthetic trace, except for its arm.
    let known = diskarm_drives::find("hp-c2247").unwrap().text;
    let guess = known.replace("write_settle = \"0.65 ms\"", "write_settle = \"0.9 ms\"");
    assert_ne!(guess, known);
    let guess = folder.file("guess.toml", &guess);
    let drive = ["calibrate", "--drive", &guess, "--rows", "..500"];
    let fixed = [&drive[..], &[SYNTHETIC, "-o", &output]].concat();

    let report = json(&[&fixed[..], &["--json"]].concat());
    assert_eq!(report["drive"], guess);
    check_report(&report, &output);
    let written = fs::read_to_string(&output).unwrap();
    let spec = diskarm_core::spec::parse(&written, &output).unwrap();
    assert_eq!(spec.name, "my c2247");
    assert_eq!(spec.mechanics.period_ns, number(&report, "period_ns"));
    let origin = spec.source.origin.replace('\n', " ");
    let range = format!(
        "Fitted with `diskarm calibrate` to 500 rows (0..500) of the trace synthetic-hp-c2247.csv, \
         starting from the drive {guess}, whose origin is:"
    );
    assert!(origin.starts_with(&range), "{origin}");
    assert!(stdout(&["drives", "show", &output]).contains("my c2247"));

    // With text instead of JSON, the written file is the same.
    folder.file("my c2247.toml", BEFORE);
    let text = stdout(&fixed);
    let (_, table) = text.split_once("\n\n").unwrap();
    let (table, wrote) = table.rsplit_once("\n\n").unwrap();
    assert_within(table, 80);
    assert_eq!(wrote, format!("wrote {output}\n"));
    for one in report["fitted"].as_array().unwrap() {
        let key = one["key"].as_str().unwrap();
        let line = |line: &str| line.starts_with(key);
        assert!(table.lines().any(line), "{key}");
    }
    assert_eq!(fs::read_to_string(&output).unwrap(), written);
    assert_eq!(folder.contents().len(), 3, "only the output was written");
}

/// The guess from the page on fitting, and the drive of the trace. The seek curves of both have
/// the same knee and slopes, so the correction is the difference of their constants.
#[test]
fn errors_of_a_fit_match_its_standard_deviations() {
    let folder = Folder::new("truth");
    let known = diskarm_drives::find("hp-c2247").unwrap().text;
    let replaced = |line: &str| {
        let key = line.split(' ').next();
        Some(match key {
            Some("short") => "short = \"3.4 ms\"".to_owned(),
            Some("long") => "long = \"8.1 ms\"".to_owned(),
            Some("write_settle") => "write_settle = \"0.9 ms\"".to_owned(),
            Some("first_ms") => return None,
            _ => line.to_owned(),
        })
    };
    let guess: Vec<String> = known.lines().filter_map(replaced).collect();
    let guess = folder.file("guess.toml", &guess.join("\n"));
    let drive = ["calibrate", "--drive", &guess, "--rows", "..300", "--json"];
    let output = folder.path("fitted.toml");
    // It warns that there are few rows.
    let run = diskarm(&[&drive[..], &[SYNTHETIC, "-o", &output]].concat());
    let report: Value = serde_json::from_slice(&run.stdout).unwrap();

    let true_ms = |number: &Value| {
        let key = number["key"].as_str().unwrap();
        let distance = key.strip_prefix("seek correction at ");
        match distance.map(|text| text.split(' ').next().unwrap().parse().unwrap()) {
            // The real curve lists its first ten distances: 2.89 ms over one cylinder, for which
            // the guess has 3.4 ms + 0.33 ms.
            Some(1) => 2.89 - (3.4 + 0.33),
            Some(11..300) => 3.81 - 3.4,
            Some(300..) => 7.75 - 8.1,
            Some(_) => panic!("{key}: a distance that the real curve lists"),
            None if key == "mechanics.write_settle" => 0.65,
            None => self::number(number, "given_ms"),
        }
    };
    let off = |one: &Value| (number(one, "fitted_ms") - true_ms(one)).abs() / number(one, "sd_ms");
    let fitted = report["fitted"].as_array().unwrap();
    let count = |sds: f64| fitted.iter().filter(|one| off(one) < sds).count();
    assert_eq!((count(2.0), count(3.0), fitted.len()), (18, 20, 20));
}

/// Interrupted during the fit, by a user (SIGINT) and by a system that shuts down (SIGTERM).
#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_the_output_unchanged() {
    use std::os::unix::process::ExitStatusExt;
    let folder = Folder::new("interrupted");
    let output = folder.path("out.toml");
    let before = folder.contents();
    for (name, signal) in [("-INT", 2), ("-TERM", 15)] {
        let mut run = Command::new(env!("CARGO_BIN_EXE_diskarm"))
            .args(["calibrate", "--drive", "hp-c2247", SYNTHETIC, "-o", &output])
            .stdout(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{error}"));
        std::thread::sleep(Duration::from_millis(300));
        let id = run.id().to_string();
        let killed = Command::new("kill").args([name, &id]).status();
        assert!(killed.is_ok_and(|status| status.success()));
        let status = run.wait().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(status.signal(), Some(signal), "the fit was not interrupted");
        assert_eq!(folder.contents(), before);
    }
}
