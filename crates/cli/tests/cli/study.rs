//! Tests of `diskarm study`: results, verdicts and errors.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use diskarm_study::studies::{Entry, STUDIES};
use diskarm_study::{Files, Folder, Store, StoredRun, Study, StudyOptions};
use serde_json::Value;

use crate::errors::error as error_line;
use crate::{diskarm, stdout};

const SMALL: &str = r#"
title = "Small"
source = "none"
[cell]
drive = "hp-c2247"
policy = "{policy}"
workload = "poisson(rate={rate}/s) uniform"
requests = 1500
replications = 3
max_waiting = 100
[[axis]]
name = "policy"
values = ["fcfs", "sptf"]
[[axis]]
name = "rate"
values = [35, 200]
[[claim]]
says = "SPTF is faster than FCFS"
source = "everybody"
theirs = "faster"
check = "order"
metric = "response_ms_mean"
ascending = [{ policy = "sptf" }, { policy = "fcfs" }]
"#;

/// A folder with a study in it, removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str, text: &str) -> Self {
        let folder = format!("diskarm-cli-study-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("small.toml"), text).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// Results are in `out/small`. `diskarm study COMMAND small.toml --output out`.
    fn arguments(&self, command: &str) -> Vec<String> {
        let (study, output) = (self.path("small.toml"), self.path("out"));
        ["study", command, &study, "--output", &output]
            .map(str::to_owned)
            .into()
    }

    fn stdout(&self, command: &str) -> String {
        let arguments = self.arguments(command);
        stdout(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn error_line(&self, command: &str) -> String {
        let arguments = self.arguments(command);
        error_line(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_study_has_results_and_verdicts() {
    let place = Place::new("whole", SMALL);
    let text = place.stdout("run");
    assert!(text.contains("4 cells, 2 of them saturated\n"), "{text}");
    assert!(text.contains("1 claim: 1 holds"), "{text}");
    let csv = fs::read_to_string(place.path("out/small/results.csv")).unwrap();
    assert!(csv.starts_with("policy,rate,metric,mean,ci95_half_width,replications,saturated\n"));
    let json = fs::read_to_string(place.path("out/small/results.json")).unwrap();
    let json: Value = serde_json::from_str(&json).unwrap();
    // Both files have the numbers of `simulate`.
    let mean = &json["cells"][0]["figures"]["response_ms_mean"];
    let row = format!("fcfs,35,response_ms_mean,{},", mean["mean"]);
    assert!(csv.contains(&row), "{row}\n{csv}");
    let one = stdout(&[
        "simulate",
        "--drive",
        "hp-c2247",
        "--policy",
        "fcfs",
        "--workload",
        "poisson(rate=35/s) uniform",
        "--requests",
        "1500",
        "--json",
    ]);
    let one: Value = serde_json::from_str(&one).unwrap();
    assert_eq!(mean["runs"][0], one["response_ms"]["mean"]);
    assert!(place.stdout("check").contains("holds"));
}

#[test]
fn a_claim_that_fails_is_answered_with_1_unless_it_is_known() {
    let wrong = SMALL.replace(
        "[{ policy = \"sptf\" }, { policy = \"fcfs\" }]",
        "[{ policy = \"fcfs\" }, { policy = \"sptf\" }]",
    );
    let place = Place::new("fails", &wrong);
    let text = place.stdout("run");
    assert!(
        text.contains("  fails ") && text.contains("theirs faster; ours, as a ratio, 1."),
        "{text}"
    );
    let arguments = place.arguments("check");
    let output = diskarm(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "error: a claim failed (or could not be measured) without a [claim.known] reason\n"
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("fails") && text.contains("theirs faster; ours, as a ratio, 1."),
        "{text}"
    );
    let known = |bounds: &str| {
        let text =
            "why = \"the other way round\"\ncause = \"our reading\"\nevidence = \"conjecture\"\n";
        let known = format!("{wrong}\n[claim.known]\n{text}{bounds}\n");
        fs::write(place.path("small.toml"), known).unwrap();
    };
    known("at_least = 1.0\nat_most = 9.0");
    let text = place.stdout("check");
    let expected = "why: our reading, conjecture: the other way round";
    assert!(text.contains(expected), "{text}");
    assert!(
        !place.stdout("run").contains("  fails "),
        "not reported as a failure"
    );
    // Values outside its bounds are reported.
    known("at_least = 8.0\nat_most = 9.0");
    let text = place.stdout("run");
    assert!(text.contains("why: not for the known reason"), "{text}");
    assert!(text.contains("1 claim: 1 fails\n"), "{text}");
}

#[test]
fn flags_that_a_study_does_not_use_are_refused() {
    let place = Place::new("flags", SMALL);
    let refused_with = |flags: &[&str]| {
        let mut arguments = place.arguments("run");
        arguments.extend(flags.iter().map(|flag| (*flag).to_owned()));
        error_line(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let text = refused_with(&["--trace", "a.spc"]);
    assert!(text.starts_with("`--trace a.spc`: "), "{text}");
    let text = refused_with(&["--quick"]);
    assert!(
        text.contains("small.toml:1: quick: found nothing, expected a [quick]"),
        "{text}"
    );
    // Built-in studies need no file.
    let fig3 = ["study", "run", "worthington94-fig3", "--trace", "a.spc"];
    let expected = "`--trace a.spc`: worthington94-fig3 takes no trace";
    assert_eq!(error_line(&fig3), expected);
    let text = error_line(&["study", "check", "worthington94-traces-lbn"]);
    let expected = "worthington94-traces-lbn runs on a trace: give --trace FILE";
    assert_eq!(text, expected);
    assert!(!fs::exists(place.path("out")).unwrap());
}

#[test]
fn a_note_reports_that_results_of_another_study_are_replaced() {
    let place = Place::new("other", SMALL);
    place.stdout("run");
    let runs = fs::read_to_string(place.path("out/small/runs.jsonl")).unwrap();
    let notes_of = |command: &str| {
        let arguments = place.arguments(command);
        let output = diskarm(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        String::from_utf8(output.stderr).unwrap()
    };
    let other = SMALL.replace("\"Small\"", "\"Other\"");
    fs::write(place.path("small.toml"), other.replace("1500", "1501")).unwrap();
    let text = notes_of("run");
    let expected = "replacing results of the study \"Small\"; its runs are kept\n";
    assert!(
        text.starts_with("note: ") && text.ends_with(expected),
        "{text}"
    );
    let all = fs::read_to_string(place.path("out/small/runs.jsonl")).unwrap();
    assert!(runs.lines().all(|run| all.contains(run)));
    // An edited study is still the same study.
    fs::write(place.path("small.toml"), other).unwrap();
    assert_eq!(notes_of("run"), "");
}

const LONG: &str = r#"
title = "Long"
source = "none"
[cell]
drive = "hp-c2247"
policy = "fcfs"
workload = "poisson(rate=35/s) uniform"
requests = "{requests}"
[[axis]]
name = "requests"
values = [1500, 1600, 50_000_000]
"#;

/// Ctrl-C during a long cell.
#[cfg(unix)]
#[test]
fn an_interrupted_study_reports_finished_cells() {
    let place = Place::new("interrupted", LONG);
    // An earlier run left these results.
    fs::create_dir_all(place.path("out/small")).unwrap();
    fs::write(place.path("out/small/results.json"), "{}").unwrap();
    let mut arguments = place.arguments("run");
    arguments.extend(["--jobs", "1"].map(str::to_owned));
    let mut run = Command::new(env!("CARGO_BIN_EXE_diskarm"))
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // With the heading and two runs, the first cell is counted, and perhaps the second.
    let store = place.path("out/small/runs.jsonl");
    while fs::read_to_string(&store).map_or(0, |text| text.lines().count()) < 3 {
        assert!(run.try_wait().unwrap().is_none(), "the run ended");
        std::thread::yield_now();
    }
    let mut kill = Command::new("kill");
    let kill = kill.args(["-INT", &run.id().to_string()]).status();
    assert!(kill.unwrap().success());
    assert_eq!(run.wait().unwrap().code(), Some(130));
    let mut text = String::new();
    let mut stderr = run.stderr.take().unwrap();
    stderr.read_to_string(&mut text).unwrap();
    let expected = [1, 2].map(|done| {
        format!(
            "\nstopped: {done} of 3 cells are saved; run the same command again to continue\n\
             the results and the report are from an earlier run\n"
        )
    });
    assert!(expected.contains(&text), "{text}");
}

#[test]
fn a_report_needs_simulated_cells() {
    let place = Place::new("report", SMALL);
    let text = place.error_line("report");
    assert!(text.contains("does not exist: run"), "{text}");
    assert!(
        !fs::exists(place.path("out/small")).unwrap(),
        "a report made a folder"
    );
    place.stdout("run");
    let before = fs::read(place.path("out/small/results.csv")).unwrap();
    fs::remove_file(place.path("out/small/results.csv")).unwrap();
    place.stdout("report");
    assert_eq!(
        fs::read(place.path("out/small/results.csv")).unwrap(),
        before
    );
}

#[test]
fn a_damaged_run_is_simulated_again() {
    let place = Place::new("changed", SMALL);
    place.stdout("run");
    let store = place.path("out/small/runs.jsonl");
    let valid = fs::read_to_string(&store).unwrap();
    let results = fs::read(place.path("out/small/results.csv")).unwrap();
    // The first run has a digit too many in a number.
    let changed = valid.replacen("\"figures\":[", "\"figures\":[9", 1);
    fs::write(&store, &changed).unwrap();
    // A report simulates nothing.
    for (command, succeeds) in [("report", false), ("run", true)] {
        let output = Command::new(env!("CARGO_BIN_EXE_diskarm"))
            .args(place.arguments(command))
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        let warning = format!("warning: {}:2: damaged line: its run is ignored\n", store);
        assert!(text.starts_with(&warning), "{text}");
        assert_eq!(output.status.success(), succeeds, "{text}");
    }
    assert_eq!(fs::read_to_string(&store).unwrap(), valid);
    assert_eq!(
        fs::read(place.path("out/small/results.csv")).unwrap(),
        results
    );
}

#[test]
fn an_unusable_folder_is_a_one_line_error() {
    let place = Place::new("wrong", SMALL);
    place.stdout("run");
    let store = place.path("out/small/runs.jsonl");
    let valid = fs::read_to_string(&store).unwrap();
    let other = valid.replacen(env!("CARGO_PKG_VERSION"), "0.0.0", 1);
    fs::write(&store, &other).unwrap();
    let text = place.error_line("run");
    assert!(
        text.contains("runs.jsonl:1: version: found \"0.0.0\", expected"),
        "{text}"
    );
    assert_eq!(
        fs::read_to_string(&store).unwrap(),
        other,
        "the other version's was touched"
    );
    // Runs of another build of the same version are reported, repeated, and removed.
    let (head, runs) = valid.split_once('\n').unwrap();
    fs::write(&store, format!("{head}\n")).unwrap();
    let path = place.path("out/small");
    let folder = Folder::new(Path::new(&path), "--output", Files::default()).unwrap();
    let mut others = Store::open(&folder).unwrap();
    for line in runs.lines() {
        let mut run: StoredRun = serde_json::from_str(line).unwrap();
        run.key.replace_range(..16, "0123456789abcdef");
        others.keep(&run).unwrap();
    }
    drop(others);
    let again = place.arguments("run");
    let run = diskarm(&again.iter().map(String::as_str).collect::<Vec<_>>());
    let text = String::from_utf8(run.stderr).unwrap();
    let count = valid.lines().count() - 1;
    let expected = format!("{count} runs from another build will be simulated again\n");
    assert!(run.status.success() && text.ends_with(&expected), "{text}");
    assert_eq!(fs::read_to_string(&store).unwrap(), valid);
    // A file where the folder should be.
    fs::remove_dir_all(place.path("out/small")).unwrap();
    fs::write(place.path("out/small"), "").unwrap();
    assert!(place.error_line("run").contains("cannot write"));
    let study = ["study", "run", "worthington94-fig33"];
    assert!(
        error_line(&study).contains("perhaps worthington94-fig"),
        "{}",
        error_line(&study)
    );
    assert!(error_line(&["study", "run", "none.toml"]).contains("none.toml: cannot read"));
}

/// Files cannot grow beyond 512 bytes, as on a full disk; the temporary file of the runs, which
/// is written first, would.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_no_file_is_incomplete() {
    let place = Place::new("full", SMALL);
    place.stdout("run");
    let files = || {
        let entries = fs::read_dir(place.path("out/small")).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.is_file());
        let mut files: Vec<_> = files.map(|path| (fs::read(&path).unwrap(), path)).collect();
        files.sort();
        files
    };
    let before = files();
    // The signal is ignored, so that writes fail instead of killing the program.
    let limited = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
    let mut report = Command::new("sh");
    report.args(["-c", limited, env!("CARGO_BIN_EXE_diskarm")]);
    let report = report.args(place.arguments("report")).output().unwrap();
    let text = String::from_utf8(report.stderr).unwrap();
    assert_eq!(report.status.code(), Some(2), "{text}");
    assert!(text.contains("runs.jsonl: cannot write"), "{text}");
    assert_eq!(files(), before);
    // It is written directly, because a renamed file would replace the link.
    let results = place.path("out/small/results.csv");
    fs::remove_file(&results).unwrap();
    std::os::unix::fs::symlink("/dev/full", &results).unwrap();
    let text = place.error_line("report");
    assert!(text.contains("results.csv: cannot write"), "{text}");
}

#[test]
fn a_folder_is_used_by_one_run_at_a_time() {
    // Long enough to be still running when the second run starts.
    let long = SMALL
        .replace("requests = 1500", "requests = 50_000_000")
        .replace("35, 200", "35");
    let place = Place::new("busy", &long);
    let mut first = Command::new(env!("CARGO_BIN_EXE_diskarm"))
        .args(place.arguments("run"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The store's first line is written once the folder is locked.
    while fs::read(place.path("out/small/runs.jsonl")).map_or(0, |text| text.len()) == 0 {
        assert!(first.try_wait().unwrap().is_none(), "the first run ended");
        std::thread::yield_now();
    }
    let text = place.error_line("run");
    first.kill().unwrap();
    first.wait().unwrap();
    let mut stderr = String::new();
    first
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    assert_eq!(stderr, "");
    assert!(text.contains("another run uses this folder"), "{text}");
}

#[test]
fn built_in_studies_are_listed() {
    let text = stdout(&["study", "list"]);
    assert!(text.contains("worthington94-fig3"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let json: Value = serde_json::from_str(&stdout(&["study", "list", "--json"])).unwrap();
    let mut studies = json.as_array().unwrap().iter();
    let fig3 = studies.find(|study| study["name"] == "worthington94-fig3");
    let fig3 = fig3.expect("the study is listed");
    assert!(fig3["cells"].as_u64() > fig3["quick_cells"].as_u64());
}

/// `--quick` runs what the list states.
#[test]
fn the_list_shows_which_studies_have_a_short_form() {
    let text = stdout(&["study", "list"]);
    let listed = |name: &str| {
        let (_, from) = text.split_once(&format!("\n{name} ")).expect(name);
        let lines = from.lines().skip(1);
        let lines: Vec<&str> = lines.take_while(|line| line.starts_with(' ')).collect();
        lines.join("\n")
    };
    let json: Value = serde_json::from_str(&stdout(&["study", "list", "--json"])).unwrap();
    for (study, entry) in json.as_array().unwrap().iter().zip(STUDIES) {
        let quick = &study["quick_cells"];
        assert_eq!(quick.is_null(), !entry.has_short_form(), "{study}");
        let expected = match quick.as_u64() {
            Some(cells) => format!(" ({cells} with --quick), "),
            None => " (no --quick), ".to_owned(),
        };
        if entry.name != STUDIES[0].name {
            let listed = listed(entry.name);
            assert!(listed.contains(&expected), "{listed}");
        }
    }
    let error = error_line(&["study", "run", "lumb01-errors", "--quick"]);
    let expected = "lumb01-errors has no short form: run it without --quick";
    assert_eq!(error, expected);
}

/// Generating the pages of all claims takes minutes, so it could be forgotten after a change.
#[test]
fn the_pages_of_claims_are_up_to_date() {
    let docs = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"));
    let read = |name: &str| fs::read_to_string(docs.join(name)).unwrap();
    let index = read("papers.md");
    let mut count = 0;
    for entry in STUDIES.iter().filter(|entry| entry.is_of_paper()) {
        let study = full_study(entry);
        let paper = study.source.split(',').next().unwrap();
        let beyond = format!("beyond {paper}");
        let of_paper = study.claims.iter().filter(|claim| claim.source != beyond);
        count += of_paper.count();
        check_section(&study, &read(page_of(paper, &index)));
    }
    assert!(index.contains(&format!(" {count} claims:\n")), "{count}");
    let readme = words(include_str!("../../../../README.md"));
    assert!(readme.contains(&format!("{count} claims of four papers")));
}

/// Returns the page of a paper, to which the index links.
fn page_of<'i>(paper: &str, index: &'i str) -> &'i str {
    let (_, link) = index.split_once(&format!("| [{paper}](")).expect(paper);
    link.split(')').next().unwrap()
}

/// Returns the full form of a study, with a trace if it needs one.
fn full_study(entry: &Entry) -> Study {
    let traces = if entry.takes_traces() {
        vec!["one".to_owned()]
    } else {
        Vec::new()
    };
    let quick = false;
    entry.read(StudyOptions { quick, traces }).unwrap()
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Asserts that the page has a row for each claim of the study, and the reason if it does not hold.
fn check_section(study: &Study, page: &str) {
    let name = &study.name;
    let mut sections = page.split("\n### ");
    let section = sections.find(|part| part.starts_with(&format!("{name}:")));
    let section = section.unwrap_or_else(|| panic!("{name}: not on the page"));
    let rows = || section.lines().filter(|line| line.starts_with("| "));
    assert_eq!(rows().count(), study.claims.len() + 1, "{name}");
    for claim in &study.claims {
        let text = [&claim.says, &claim.source, &claim.theirs];
        let text = text.map(|cell| cell.replace('|', "\\|")).join(" | ");
        let mut rows = rows().filter(|row| row.starts_with(&format!("| {text} | ")));
        let row = rows.next();
        let row = row.unwrap_or_else(|| panic!("{name}: not on the page: {text}"));
        let does_hold = row.rsplit(" | ").next().unwrap().starts_with("holds");
        let known = claim.known.as_ref().filter(|_| !does_hold);
        let is_given = known.is_none_or(|known| words(section).contains(&words(&known.why)));
        assert!(is_given, "{name}: a different reason on the page: {text}");
    }
}

#[test]
fn a_new_study_runs_and_replaces_nothing() {
    let place = Place::new("new", SMALL);
    let path = place.0.join("mine.toml").display().to_string();
    let text = stdout(&["study", "new", &path]);
    assert_eq!(
        text,
        format!("wrote {path}; run it: diskarm study run {path}\n")
    );
    let out = place.0.join("out").display().to_string();
    let checked = stdout(&["study", "check", &path, "-o", &out]);
    assert!(checked.starts_with("mine: 1 claim: 1 holds"), "{checked}");
    let quick = stdout(&["study", "run", &path, "-o", &out, "--quick"]);
    assert!(
        quick.contains("\n  6 cells, 0 of them saturated"),
        "{quick}"
    );
    let again = error_line(&["study", "new", &path]);
    let expected = "already exists; give another FILE.toml";
    assert!(again.ends_with(expected), "{again}");
    assert!(stdout(&["study", "new", "-"]).starts_with("#"));
    let unnamed = error_line(&["study", "new", "mine"]);
    assert!(
        unnamed.ends_with("expected a name ending in .toml"),
        "{unnamed}"
    );
}

#[test]
fn results_are_compared_cell_by_cell() {
    let place = Place::new("diff", SMALL);
    let study = place.0.join("small.toml").display().to_string();
    let [a, b] = ["a", "b"].map(|name| place.0.join(name).display().to_string());
    let diff = |out: [&str; 2]| {
        let [a, b] = out.map(|out| Path::new(out).join("small").display().to_string());
        let output = diskarm(&["study", "diff", &a, &b]);
        (
            String::from_utf8(output.stdout).unwrap(),
            output.status.code(),
        )
    };
    stdout(&["study", "run", &study, "-o", &a]);
    stdout(&["study", "run", &study, "-o", &b]);
    let equal = "4 cells in both\nall numbers and verdicts are equal\n";
    assert_eq!(diff([&a, &b]), (equal.to_owned(), Some(0)));
    // Fewer requests, one cell fewer, and the other policy first.
    let changed = SMALL.replace("1500", "1400").replace("[35, 200]", "[35]");
    let changed = changed.replace("{ policy = \"sptf\" }, { policy = \"fcfs\" }]", "X]");
    let changed = changed.replace("X]", "{ policy = \"fcfs\" }, { policy = \"sptf\" }]");
    fs::write(&study, changed).unwrap();
    let output = diskarm(&["study", "run", &study, "-o", &b]);
    assert!(output.status.success());
    let (text, code) = diff([&a, &b]);
    assert_eq!(code, Some(1));
    let first = "2 cells in both; 2 cells only in A; 2 cells with different inputs\n";
    assert!(text.starts_with(first), "{text}");
    assert!(
        text.contains("\n  holds in A, fails in B\n    SPTF is faster than FCFS"),
        "{text}"
    );
    let row = text
        .lines()
        .find(|line| line.starts_with("  response_ms_mean "));
    // The largest relative change, from the files themselves.
    let mean = |out: &str, cell: usize| {
        let path = Path::new(out).join("small/results.json");
        let results: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        results["cells"][cell]["figures"]["response_ms_mean"]["mean"]
            .as_f64()
            .unwrap()
    };
    // In A every second cell has 35/s.
    let changes = [(0, 0), (2, 1)].map(|(old, new)| mean(&b, new) / mean(&a, old) - 1.0);
    let max = changes
        .into_iter()
        .max_by(|x, y| x.abs().total_cmp(&y.abs()))
        .unwrap();
    let expected = format!("{:+.2} %: policy = ", 100.0 * max);
    assert!(
        row.is_some_and(|row| row.contains(&expected)),
        "{expected}\n{text}"
    );
}

#[cfg(unix)]
#[test]
fn a_report_is_opened_in_the_default_browser() {
    use std::os::unix::fs::PermissionsExt;
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let place = Place::new("open", SMALL);
    let fake = place.0.join(opener);
    let study = place.0.join("small.toml").display().to_string();
    let out = place.0.join("out").display().to_string();
    let run = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_diskarm"));
        command.args(["study", "run", &study, "--open", "-o", &out]);
        command.env("PATH", &place.0).output().unwrap()
    };
    let alone = run();
    assert!(alone.status.success());
    let note = format!("note: --open: {opener} did not open the report: ");
    assert!(String::from_utf8(alone.stderr).unwrap().starts_with(&note));
    fs::write(&fake, "#!/bin/sh\necho \"$1\" > \"${0%/*}/opened\"\n").unwrap();
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    let opened = run();
    assert!(opened.status.success() && opened.stderr.is_empty());
    let named = fs::read_to_string(place.0.join("opened")).unwrap();
    assert_eq!(named.trim_end(), format!("{out}/small/report.html"));
}

#[test]
fn folders_of_different_studies_are_not_compared() {
    let place = Place::new("differ", SMALL);
    place.stdout("run");
    let other = SMALL
        .replace("\"Small\"", "\"Other\"")
        .replace("[35, 200]", "[30]");
    fs::write(place.path("other.toml"), other).unwrap();
    let (study, out) = (place.path("other.toml"), place.path("out"));
    stdout(&["study", "run", &study, "-o", &out]);
    let error = error_line(&[
        "study",
        "diff",
        &place.path("out/small"),
        &place.path("out/other"),
    ]);
    let expected = "A and B have no cell in common: they are results of \"Small\" and \"Other\"";
    assert_eq!(error, expected);
}

/// One of these only repeats an input of the model, so it is not counted as a claim.
#[test]
fn model_checks_are_counted_separately_whatever_their_verdict() {
    let check = r#"
[[claim]]
says = "A model check that fails"
source = "none"
theirs = "0"
model_check = true
check = "value"
metric = "response_ms_mean"
where = { rate = 35 }
at_most = 0
[claim.known]
why = "no response takes no time"
cause = "our reading"
evidence = "conjecture"
at_least = 0
at_most = 1_000
"#;
    let place = Place::new("checks", &(SMALL.to_owned() + check));
    let text = place.stdout("run");
    let expected = "  1 claim: 1 holds; 1 model check: 1 fails for a known reason\n";
    assert!(text.contains(expected), "{text}");
    let arguments = [place.arguments("check"), vec!["--json".to_owned()]].concat();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let count = &crate::json(&arguments)[0]["count"];
    assert_eq!(
        (&count["holds"], &count["fails_known"]),
        (&1.into(), &0.into())
    );
    assert_eq!(count["model_checks"]["fails_known"], 1);
}
