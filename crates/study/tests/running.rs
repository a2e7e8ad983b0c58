//! Running studies: no run is repeated, and results are identical even after interruptions.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use diskarm_study::Metric;
use diskarm_study::{Estimate, Files, Results, Runner, Store, Study, StudyOptions, compute};

const SMALL: &str = r#"
title = "Small"
source = "none"
[cell]
drive = "hp-c2247"
policy = "{policy}"
workload = "poisson(rate={rate}/s) uniform"
requests = 400
warm_up = 50
replications = 3
max_waiting = 100
[[axis]]
name = "policy"
values = ["fcfs", "clook", "sptf"]
[[axis]]
name = "rate"
values = [10, 40, 200]
"#;

/// A separate folder for each test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("diskarm-study-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        Self(folder)
    }

    fn path(&self) -> &Path {
        &self.0
    }

    fn results(&self) -> diskarm_study::Folder {
        diskarm_study::Folder::new(&self.0, "folder", Files::default()).unwrap()
    }

    /// The name and content of every file except the lock.
    fn files(&self) -> Vec<(String, String)> {
        let entries = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let names = entries.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
        let mut names: Vec<String> = names.filter(|name| name != "lock").collect();
        names.sort();
        let read = |name: String| (name.clone(), fs::read_to_string(self.0.join(name)).unwrap());
        names.into_iter().map(read).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn study(text: &str) -> Study {
    Study::read("small", text, "small.toml", StudyOptions::default()).unwrap()
}

/// Runs `study` in `folder` until this number of `cells`, or all, are done.
fn run_some<'s>(
    study: &'s Study,
    folder: &Folder,
    threads: usize,
    cells: usize,
) -> Option<Results<'s>> {
    let runner = Runner::new(study).unwrap();
    let mut store = Store::open(&folder.results()).unwrap();
    let progress = &mut |done| match done < cells {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    runner.run(&mut store, threads, progress).unwrap()
}

fn run<'s>(study: &'s Study, folder: &Folder, threads: usize) -> Results<'s> {
    let results = run_some(study, folder, threads, usize::MAX).unwrap();
    study.write(&results, &folder.results()).unwrap();
    results
}

#[test]
fn a_stopped_study_ends_with_the_same_bytes() {
    let study = study(SMALL);
    let whole = Folder::new("whole");
    run(&study, &whole, 1);
    for (stops, threads) in [(1, 1), (4, 2), (8, 7)] {
        let cut = Folder::new(&format!("cut-{stops}"));
        run_some(&study, &cut, threads, stops);
        // Appends part of a line, as if the process had been killed while it wrote one. The study
        // may have ended before it was stopped.
        let path = cut.path().join("runs.jsonl");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len().min(2_000) - 7]).unwrap();
        run(&study, &cut, threads);
        assert_eq!(cut.files(), whole.files(), "after {stops} cells");
    }
}

#[test]
fn nothing_is_simulated_twice() {
    let folder = Folder::new("twice");
    run(&study(SMALL), &folder, 2);
    let runs = |folder: &Folder| {
        let text = fs::read_to_string(folder.path().join("runs.jsonl")).unwrap();
        text.lines().count() - 1
    };
    // The cells at 200/s are saturated in their first replication.
    assert_eq!(runs(&folder), 2 * 3 * 3 + 3);
    let again = study(SMALL);
    let runner = Runner::new(&again).unwrap();
    let mut store = Store::open(&folder.results()).unwrap();
    assert_eq!(runner.missing_cells(&store).unwrap(), Vec::<usize>::new());
    assert!(runner.stored_results(&mut store).unwrap().is_some());
    drop(store);
    // A fourth replication and another policy add only their own runs; unneeded runs stay.
    let more = SMALL
        .replace("replications = 3", "replications = 4")
        .replace("sptf", "sstf");
    let more = study(&more);
    let mut store = Store::open(&folder.results()).unwrap();
    let stored = Runner::new(&more)
        .unwrap()
        .stored_results(&mut store)
        .unwrap();
    assert!(stored.is_none());
    drop(store);
    run(&more, &folder, 2);
    assert_eq!(runs(&folder), 2 * 3 * 3 + 3 + 4 + 2 * 4 + 1);
}

/// Cells may be computed elsewhere, in any order.
#[test]
fn cells_computed_separately_give_the_same_bytes() {
    let study = study(SMALL);
    let (whole, apart) = (Folder::new("together"), Folder::new("apart"));
    run(&study, &whole, 2);
    let runner = Runner::new(&study).unwrap();
    let mut store = Store::open(&apart.results()).unwrap();
    let mut missing = runner.missing_cells(&store).unwrap();
    assert_eq!(missing, (0..study.cells.len()).collect::<Vec<_>>());
    missing.reverse();
    for place in missing {
        let runs = compute(&study, place, &|| ControlFlow::Continue(()))
            .unwrap()
            .unwrap();
        // A worker that was presumed dead may answer a second time.
        runs.iter()
            .chain(&runs)
            .for_each(|run| store.keep(run).unwrap());
    }
    let results = runner.stored_results(&mut store).unwrap().unwrap();
    study.write(&results, &apart.results()).unwrap();
    assert_eq!(apart.files(), whole.files());
    let stop = || ControlFlow::Break(());
    assert!(compute(&study, 0, &stop).unwrap().is_none());
}

#[test]
fn everything_that_a_run_depends_on_changes_its_key() {
    let changes = [
        ("hp-c2247", "hp-c2490a"),
        ("requests = 400", "requests = 401"),
        ("warm_up = 50", "warm_up = 51"),
        ("max_waiting = 100", "max_waiting = 101"),
        ("uniform", "uniform reads=50%"),
        ("replications = 3", "replications = 3\nseed = 2"),
        ("\"sptf\"", "\"sstf\""),
        (
            "warm_up = 50\nreplications = 3\n",
            "measure = \"drain\"\nreplications = 3\n",
        ),
        ("[[axis]]", "[cell.spec]\n\"buffer.segments\" = 3\n[[axis]]"),
    ];
    let only = SMALL.replace("10, 40, 200", "10");
    let folder = Folder::new("keys");
    run(&study(&only), &folder, 2);
    for (what, by) in changes {
        assert!(only.contains(what), "{what}");
        let changed = study(&only.replacen(what, by, 1));
        let mut store = Store::open(&folder.results()).unwrap();
        let stored = Runner::new(&changed)
            .unwrap()
            .stored_results(&mut store)
            .unwrap();
        assert!(stored.is_none(), "{by}: taken for the same");
    }
}

/// A workload in a file is identified by its meaning, wherever it is and however it is spelt.
#[test]
fn a_workload_is_identified_by_its_meaning() {
    let (folder, results) = (Folder::new("workload"), Folder::new("workload-results"));
    fs::create_dir_all(folder.path()).unwrap();
    let study_of = |name: &str, content: &str| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        let (only, _) = SMALL.split_once("[[axis]]\nname = \"rate\"").unwrap();
        study(&only.replace("poisson(rate={rate}/s) uniform", path.to_str().unwrap()))
    };
    const CONTENT: &str = "arrivals = \"poisson(rate=10/s)\"\nplaces = \"uniform\"\n";
    run(&study_of("one.toml", CONTENT), &results, 1);
    let is_there = |study: &Study| {
        let mut store = Store::open(&results.results()).unwrap();
        let stored = Runner::new(study)
            .unwrap()
            .stored_results(&mut store)
            .unwrap();
        stored.is_some()
    };
    assert!(is_there(&study_of(
        "other.toml",
        &format!("# Again.\n{CONTENT}")
    )));
    assert!(!is_there(&study_of(
        "one.toml",
        &CONTENT.replace("=10/s", "=11/s")
    )));
}

/// Drives and traces are identified by their content, so that a study can continue elsewhere.
#[test]
fn a_file_is_identified_by_its_content_and_not_by_its_path() {
    const TRACED: &str = r#"
title = "Small"
source = "none"
[cell]
drive = "{here}/drive.toml"
policy = "fcfs"
trace = "{here}/small.trace"
faster = "2"
"#;
    const ROWS: &str = "0.25 0 1200 8 1\n1.5 0 90 16 0\n40 0 5000 8 1\n";
    let (one, other) = (Folder::new("one-place"), Folder::new("other-place"));
    let drive = diskarm_simulate::Model::find("hp-c2247").unwrap().text;
    let placed = |folder: &Folder, rows: &str, changes: &str| {
        fs::create_dir_all(folder.path()).unwrap();
        fs::write(folder.path().join("drive.toml"), &*drive).unwrap();
        fs::write(folder.path().join("small.trace"), rows).unwrap();
        let here = folder.path().to_str().unwrap();
        study(&(TRACED.replace("{here}", here) + changes))
    };
    let (results, empty) = (Folder::new("placed"), "");
    run(&placed(&one, ROWS, empty), &results, 1);
    let is_there = |study: &Study| {
        let mut store = Store::open(&results.results()).unwrap();
        let stored = Runner::new(study)
            .unwrap()
            .stored_results(&mut store)
            .unwrap();
        stored.is_some()
    };
    assert!(is_there(&placed(&other, ROWS, empty)));
    assert!(!is_there(&placed(&other, ROWS, "until = \"1 s\"\n")));
    assert!(!is_there(&placed(
        &other,
        &ROWS.replace("90 16", "91 16"),
        empty
    )));
}

#[test]
fn a_trace_among_the_results_is_not_overwritten() {
    const TRACED: &str = r#"
title = "Small"
source = "none"
[cell]
drive = "hp-c2247"
policy = "fcfs"
trace = "{here}"
"#;
    const ROWS: &str = "0.25 0 1200 8 1\n1.5 0 90 16 0\n40 0 5000 8 1\n";
    let (folder, other) = (Folder::new("among"), Folder::new("apart"));
    fs::create_dir_all(folder.path()).unwrap();
    fs::create_dir_all(other.path()).unwrap();
    for name in ["results.csv", "lock"] {
        let trace = folder.path().join(name);
        fs::write(&trace, ROWS).unwrap();
        let link = other.path().join(name);
        std::os::unix::fs::symlink(&trace, &link).unwrap();
        for written in [&trace, &link] {
            let study = study(&TRACED.replace("{here}", written.to_str().unwrap()));
            let runner = Runner::new(&study).unwrap();
            let results = diskarm_study::Folder::new(folder.path(), "folder", runner.inputs());
            let error = results.expect_err("a refusal").to_string();
            let expected = format!("a different file from cell.trace {written:?}, which is read");
            assert!(error.contains(&expected), "{error}");
        }
        assert_eq!(fs::read_to_string(&trace).unwrap(), ROWS);
        fs::remove_file(trace).unwrap();
    }
}

/// Two of three cells are not saturated; the third has no mean.
#[test]
fn cells_with_too_wide_intervals_are_counted() {
    let folder = Folder::new("wide");
    let requested = |share: &str| {
        let more = format!("replications = 3\nuntil_ci95 = \"{share}\"\nmost_replications = 4");
        let text = SMALL.replace("\"fcfs\", \"clook\", \"sptf\"", "\"fcfs\"");
        study(&text.replace("replications = 3", &more))
    };
    let narrow = requested("0.01 %");
    let results = run(&narrow, &folder, 2);
    let estimates = results
        .outcomes
        .iter()
        .filter_map(|o| o.estimate(Metric(0)));
    let shares = estimates.map(|e| e.half_width.unwrap() / e.mean);
    let widest = shares.reduce(f64::max).unwrap();
    assert_eq!(results.wide_cells(), Some((2, widest)));
    assert_eq!(run(&requested("500 %"), &folder, 2).wide_cells(), None);
}

#[test]
fn saturated_cells_are_marked_and_have_no_mean() {
    let study = study(SMALL);
    let folder = Folder::new("saturated");
    let results = run(&study, &folder, 2);
    for (cell, outcome) in study.cells.iter().zip(&results.outcomes) {
        let is_beyond = cell.point[1] == 2;
        assert_eq!(outcome.is_saturated, is_beyond, "{:?}", cell.point);
        assert_eq!(outcome.estimate(Metric(0)).is_none(), is_beyond);
    }
    let csv = fs::read_to_string(folder.path().join("results.csv")).unwrap();
    assert!(csv.contains("fcfs,200,,,,1,true\n"), "{csv}");
}

/// Policies are compared on the same requests: the replications of FCFS and of SPTF have the same
/// arrivals. If requests are minutes apart, so that none waits, they also have the same responses.
#[test]
fn cells_of_different_policies_have_the_same_requests() {
    let study = study(&SMALL.replace("[10, 40, 200]", "[0.005]"));
    let folder = Folder::new("alike");
    let results = run(&study, &folder, 2);
    let runs = |policy| {
        results
            .estimate(&vec![policy, 0], Metric(0))
            .unwrap()
            .runs
            .clone()
    };
    assert_eq!(
        results.outcome(&vec![0, 0]).seeds,
        results.outcome(&vec![2, 0]).seeds
    );
    assert_eq!(runs(0), runs(2));
    assert_ne!(runs(0)[0], runs(0)[1]);
}

#[test]
fn replications_continue_until_the_interval_is_narrow() {
    let adaptive = |share: &str, max: u32| {
        let asks = format!("replications = 3\nuntil_ci95 = \"{share}\"\nmost_replications = {max}");
        study(
            &SMALL
                .replace("replications = 3", &asks)
                .replace("10, 40, 200", "10"),
        )
    };
    let folder = Folder::new("narrow");
    let seeds = |study: &Study| -> Vec<usize> {
        let outcomes = run(study, &folder, 2).outcomes;
        outcomes.iter().map(|outcome| outcome.seeds.len()).collect()
    };
    assert_eq!(seeds(&adaptive("50 %", 9)), [3; 3]);
    assert_eq!(seeds(&adaptive("0.001 %", 5)), [5; 3]);
    let tight = adaptive("1.2 %", 60);
    for outcome in run(&tight, &folder, 2).outcomes {
        let estimate = outcome.estimate(Metric(0)).unwrap();
        let is_narrow = |runs: &[f64]| {
            let estimate = Estimate::from_runs(runs.to_vec()).unwrap();
            estimate.half_width.unwrap() <= 0.012 * estimate.mean
        };
        let count = outcome.seeds.len();
        assert!((4..60).contains(&count), "{estimate:?}");
        assert!(is_narrow(&estimate.runs) && !is_narrow(&estimate.runs[..count - 1]));
    }
}

#[test]
fn a_cell_that_cannot_be_simulated_is_named() {
    let wrong = [
        (
            "hp-c2247",
            "hp-c2248",
            "small: policy = fcfs, rate = 10: cell.drive: found \"hp-c2248\"",
        ),
        (
            "\"sptf\"",
            "\"sptff\"",
            "small: policy = sptff, rate = 10: cell.policy: found \"sptff\"",
        ),
        (
            "rate=",
            "raet=",
            "small: policy = fcfs, rate = 10: cell.workload: ",
        ),
        (
            "[[axis]]",
            "[cell.spec]\n\"buffer.segments\" = 0\n[[axis]]",
            "buffer.segments: found 0",
        ),
        (
            "[[axis]]",
            "[cell.spec]\n\"buffer.segmints\" = 1\n[[axis]]",
            "buffer.segmints",
        ),
        (
            "[[axis]]",
            "[cell.spec]\n\"buffer.segments\" = 9223372036854775807\n[[axis]]",
            "cell.spec: buffer.segments: found 9223372036854776000, expected TOML (",
        ),
    ];
    for (what, by, expected) in wrong {
        let study = study(&SMALL.replacen(what, by, 1));
        let error = Runner::new(&study)
            .err()
            .unwrap_or_else(|| panic!("{by}: taken"))
            .to_string();
        assert!(
            error.contains(expected) && !error.contains('\n'),
            "{by}: {error}"
        );
    }
}
