//! `diskarm scan`.

use crate::serve::name_of;
use crate::{assert_within, diskarm, file_of, json, stdout};

/// Returns the URL of a simulated drive of 6,600 blocks.
fn small(name: &str) -> String {
    let text = include_str!("../../../scan/tests/scan/small.toml");
    format!("sim:{}", file_of(&format!("{name}.toml"), text))
}

#[test]
fn a_drive_is_scanned_from_the_host_and_in_its_firmware() {
    let url = small("scanned");
    for more in [
        &[][..],
        &["--in-firmware"],
        &["--any-track", "--policy", "sstf"],
        &["--max-slowdown", "1 %", "--conservatism", "0 ms"],
    ] {
        let arguments = [&["scan", &url, "--requests", "100000"], more].concat();
        assert_within(&stdout(&arguments), 80);
        let scanned = json(&[&arguments[..], &["--json"]].concat());
        assert_eq!(scanned["is_complete"], true, "{scanned}");
        assert_eq!(scanned["blocks_left"], 0);
        assert_eq!(scanned["progress"].as_array().expect("steps").len(), 9);
        let slowdown = scanned["slowdown_share"].as_f64().expect("a number");
        assert!(slowdown.abs() < 0.02, "{scanned}");
    }
    let some = json(&["scan", &url, "--requests", "20", "--json"]);
    assert_eq!(some["is_complete"], false);
    assert!(some["free_whole_mb_per_s"].is_null());
    assert_eq!(some["foreground_requests"], 20);
}

/// The spelling of the name of a drive with faults does not matter.
#[test]
fn a_drive_with_faults_is_one_drive() {
    let text = include_str!("../../../scan/tests/scan/small.toml");
    let drive = file_of("faulty.toml", text);
    let scanned = |url: String| {
        let output = diskarm(&["scan", &url, "--requests", "100000", "--json"]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let mut scanned: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(scanned["blocks_unreadable"], 2);
        for name in ["drive", "model"] {
            scanned[name].take();
        }
        scanned
    };
    let plan = "(medium=\"1234..1236 after 1 retries\", drive=";
    assert_eq!(
        scanned(format!("sim:faults{plan}{drive})")),
        scanned(format!("sim: faults {plan}{drive})"))
    );
}

/// The model of the scheduler differs from the drive.
#[test]
fn a_wrong_model_predicts_worse() {
    let url = small("believed");
    let model = include_str!("../../../scan/tests/scan/small.toml").replace("[59, 6]", "[59, 5]");
    let model = file_of("model.toml", &model);
    let arguments = [
        "scan",
        &url,
        "--model",
        &model,
        "--requests",
        "2000",
        "--json",
    ];
    let right = |arguments: &[&str]| {
        let scanned = json(arguments);
        let right = &scanned["predictions"]["right_share"];
        right.as_f64().expect("a share")
    };
    let itself = ["scan", &url, "--requests", "2000", "--json"];
    assert!(right(&arguments) < right(&itself) - 0.02);
}

/// The platter of the model turns faster, so that nothing is at its predicted position, or its
/// commands take longer, so that little is on time.
#[test]
fn a_note_reports_a_model_that_predicts_nothing() {
    let url = small("understood");
    let text = include_str!("../../../scan/tests/scan/small.toml");
    let model = text.replace("rotation = \"10 ms\"", "rotation = \"9.3 ms\"");
    let model = file_of("faster.toml", &model);
    let note = "note: most requests did not complete as predicted";
    let scan = ["scan", &url, "--requests", "500"];
    let wrong_model = stdout(&[&scan[..], &["--model", &model]].concat());
    assert!(wrong_model.contains(note), "{wrong_model}");
    assert_within(&wrong_model, 80);
    assert!(!stdout(&scan).contains(note));
    let calibrated = ["scan", "sim:hp-c2247", "--model", "hp-c2247-calibrated"];
    let calibrated = [&calibrated[..], &["--requests", "300"]].concat();
    assert!(stdout(&calibrated).contains(note));
    // A few requests do not allow a conclusion.
    let few = ["scan", &url, "--requests", "50", "--model", &model];
    assert!(!stdout(&few).contains(note));
}

/// It is narrower than the intervals of both means, because both served the same requests.
#[test]
fn a_slowdown_has_an_interval() {
    let url = small("surely");
    let scanned = json(&["scan", &url, "--requests", "2000", "--json"]);
    let value = |name: &str| scanned[name].as_f64().expect("a number");
    let share = |of: &str| value(&format!("{of}_ci95_ms")) / value(&format!("{of}_ms"));
    let independent = share("response").hypot(share("response_alone"));
    let half = value("slowdown_ci95_share");
    assert!(half > 0.0 && half < independent, "{half} {independent}");
    let few = json(&["scan", &url, "--requests", "100", "--json"]);
    assert!(few["slowdown_ci95_share"].is_null());
}

#[test]
fn invalid_scans_are_refused() {
    let url = small("refused");
    for (arguments, expected) in [
        (
            &["scan", "/dev/no-disk"][..],
            "URL: found \"/dev/no-disk\", expected an existing file or device",
        ),
        (&["scan", "sim:nothing"], "found \"nothing\""),
        (
            &["scan", "sim:host(policy=sptf, drive=hp-c2247)"],
            "policy sptf needs positioning times",
        ),
        (
            &[
                "scan",
                "sim:mirror(drive=faults(spikes=\"1% for 5ms\", drive=hp-c2247))",
            ],
            "without faults in front of the drives",
        ),
        (
            &[
                "scan",
                "sim:faults(spikes=\"1% for 5ms\", drive=hp-c2247)",
                "--in-firmware",
            ],
            "without devices in front of it",
        ),
        (
            &["scan", &url, "--model", "hp-c2247"],
            "a drive of 6600 blocks",
        ),
        (&["scan", &url, "--depth", "3"], "--depth"),
        (&["scan", &url, "--depth", "2"], "--set queue.depth=2"),
        (&["scan", &url, "--policy", "none"], "--policy"),
    ] {
        let output = diskarm(arguments);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(expected), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

/// The requests arrive at their recorded times, as in `simulate`, until the trace ends.
#[test]
fn a_trace_can_be_the_foreground() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let trace = format!("{examples}/postgresql-hp-c2247.csv.gz");
    let drive = ["--policy", "fcfs", "--trace", &trace, "--json"];
    let scanned = json(&[&["scan", "sim:hp-c2247"], &drive[..]].concat());
    let simulated = json(&[&["simulate", "--drive", "hp-c2247"], &drive[..]].concat());
    assert_eq!(scanned["trace"], trace.as_str());
    assert!(scanned.get("workload").is_none(), "{scanned}");
    assert_eq!(scanned["foreground_requests"], simulated["requests"]);
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let response = number(&simulated["response_ms"]["mean"]);
    assert!((number(&scanned["response_alone_ms"]) - response).abs() < 1e-5);
    assert!(number(&scanned["free_mb_per_s"]) > 0.0);
    assert!(number(&scanned["slowdown_share"]) < 0.02);
    assert_eq!(scanned["is_complete"], false);

    let expect_error = |arguments: &[&str], expected: &str| {
        let output = diskarm(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(expected), "{error}");
    };
    let absent = ["scan", "sim:hp-c2247", "--trace", "absent.csv"];
    expect_error(&absent, "absent.csv: cannot open");
    let real = ["scan", "/dev/null", "--trace", &trace];
    expect_error(
        &real,
        "`--trace` needs a simulated drive (sim:NAME): only a simulated drive serves a trace",
    );
    let both = [&absent[..], &["--workload", "closed(clients=1)"]].concat();
    expect_error(&both, "`--trace` cannot be combined with `--workload`");
}

/// The options for traces work as in `simulate`.
#[test]
fn the_trace_of_a_foreground_is_selected_and_fitted() {
    let trace = |name: &str, last: u64| {
        let rows = [
            (0, 0, 100),
            (5, 1, 50),
            (10, 0, last),
            (20, 1, 200),
            (30, 0, 300),
        ];
        let row = |(ms, device, lbn): &(u64, u64, u64)| format!("{ms}.0 {device} {lbn} 8 1\n");
        file_of(name, &rows.iter().map(row).collect::<String>())
    };
    let long = trace("long.trace", 13_192);
    let url = small("traced");
    let drive = url.strip_prefix("sim:").expect("a simulated drive");
    let expect_error = |more: &[&str], expected: &str| {
        let output = diskarm(&[&["scan", &url], more].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(expected), "{error}");
    };
    let short = trace("short.trace", 200);
    let expected = "a trace of one device; use --device to choose one";
    expect_error(&["--trace", &short], expected);
    let one = ["--trace", &long, "--device", "0"];
    expect_error(&one, "or --fit set to scale, fold or spread");
    let spread = [&one[..], &["--fit", "spread", "--disks", "2"]].concat();
    expect_error(
        &spread,
        "--fit: found \"spread 2\", expected refuse, scale or fold",
    );
    expect_error(&["--fit", "fold"], "`--fit` needs `--trace`");
    let workload = ["--workload", "closed(clients=1)", "--device", "0"];
    expect_error(&workload, "`--device` needs `--trace`");

    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    for fit in ["scale", "fold"] {
        let more = ["--fit", fit, "--from", "5ms", "--faster", "2"];
        let served = [&one[..], &more, &["--policy", "fcfs", "--json"]].concat();
        let scanned = json(&[&["scan", &url], &served[..]].concat());
        let simulated = json(&[&["simulate", "--drive", drive], &served[..]].concat());
        assert_eq!(scanned["foreground_requests"], 2);
        assert_eq!(scanned["foreground_requests"], simulated["requests"]);
        let response = number(&simulated["response_ms"]["mean"]);
        assert!((number(&scanned["response_alone_ms"]) - response).abs() < 1e-5);
        assert_eq!(scanned["trace_changes"], simulated["notes"]);
    }
}

/// A row of a file of predictions.
pub struct Row {
    pub source: String,
    pub op: String,
    pub lbn: u64,
    pub sectors: u64,
    pub sent_us: f64,
    pub predicted_us: Option<f64>,
    pub measured_us: f64,
    pub is_confident: bool,
}

/// Returns the rows of a file of predictions, and removes it.
pub fn predictions(path: &str) -> Vec<Row> {
    let text = std::fs::read_to_string(path).expect("a file");
    std::fs::remove_file(path).expect("a file");
    let mut lines = text.lines();
    let head = "source,op,lbn,sectors,sent_us,predicted_us,measured_us,confident";
    assert_eq!(lines.next(), Some(head));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), 8, "{line}");
        assert!(["foreground", "scan"].contains(&cells[0]), "{line}");
        assert!(["yes", "no"].contains(&cells[7]), "{line}");
        let number = |cell: &str| cell.parse::<f64>().expect("a number");
        Row {
            source: cells[0].to_owned(),
            op: cells[1].to_owned(),
            lbn: cells[2].parse().expect("a block"),
            sectors: cells[3].parse().expect("a number"),
            sent_us: number(cells[4]),
            predicted_us: (!cells[5].is_empty()).then(|| number(cells[5])),
            measured_us: number(cells[6]),
            is_confident: cells[7] == "yes",
        }
    };
    lines.map(row).collect()
}

/// The report counts these rows, and the chart shows the rows of the foreground.
#[test]
fn predictions_are_written_with_measurements() {
    let url = small("predicted");
    let path = |name: &str| name_of(name).to_str().expect("UTF-8").to_owned();
    let [rows, figure] = ["predicted.csv", "predicted.svg"].map(path);
    let scan = |more: &[&str]| {
        let arguments = ["scan", &url, "--requests", "2000", "--json"];
        json(&[&arguments[..], more].concat())
    };
    let scanned = scan(&["--predictions", &rows]);
    let rows = predictions(&rows);
    let count = |source: &str| rows.iter().filter(|row| row.source == source).count() as u64;
    assert_eq!(scanned["foreground_requests"], count("foreground"));
    let reads = scanned["reads"].as_u64().expect("a number");
    let scans = count("scan");
    assert!((scans..=scans + 3).contains(&reads), "{reads} {scans}");
    let mut end_us = 0.0;
    for row in &rows {
        // One command is sent at a time.
        assert!(row.sent_us + 1e-3 > end_us, "{}", row.sent_us);
        end_us = row.sent_us + row.measured_us;
        assert!(row.lbn + row.sectors <= 6600 && row.sectors > 0);
        assert!(row.op == "R" || row.op == "W" && row.source == "foreground");
    }
    let confident: Vec<&Row> = rows.iter().filter(|row| row.is_confident).collect();
    let seen = &scanned["predictions"];
    assert_eq!(seen["requests"], confident.len());
    assert!(
        confident.len() < rows.len(),
        "at first the angle is unknown"
    );
    let is_right = |row: &&&Row| {
        let predicted = row.predicted_us.expect("a prediction");
        (row.measured_us - predicted).abs() <= 50.0 + 1e-6
    };
    let right = confident.iter().filter(is_right).count() as f64 / confident.len() as f64;
    let reported = seen["right_share"].as_f64().expect("a share");
    assert!(
        (right - reported).abs() < 1e-12 && right > 0.999,
        "{right} {reported}"
    );

    assert_eq!(scan(&["--predictions", &figure]), scanned);
    let drawn = std::fs::read_to_string(&figure).expect("a figure");
    std::fs::remove_file(&figure).expect("a figure");
    let foreground = confident.iter().filter(|row| row.source == "foreground");
    let subtitle = format!("{} foreground commands", foreground.count());
    assert!(
        drawn.starts_with("<svg") && drawn.contains(&subtitle),
        "{drawn}"
    );
}

#[test]
fn predictions_are_refused_if_nothing_is_predicted() {
    let url = small("unpredicted");
    let trace = file_of("unpredicted.csv", "0.0 0 100 8 1\n5.0 0 200 8 1\n");
    let array = url.replace("sim:", "sim:raid5(disks=3, drive=") + ")";
    let disk = file_of("unpredicted.disk", "0123");
    for (arguments, expected) in [
        (
            &[&url, "--predictions", "x.txt"][..],
            "expected a name ending in .csv or .svg",
        ),
        (
            &[&url, "--predictions", &trace, "--trace", &trace],
            "which is read and would be lost",
        ),
        (
            &[&url, "--in-firmware", "--predictions", "x.csv"],
            "`--predictions` cannot be combined with `--in-firmware`",
        ),
        (
            &[&url, "--checkpoint", "c", "--predictions", "x.csv"],
            "`--predictions` cannot be combined with `--checkpoint`",
        ),
        (
            &[&array, "--predictions", "x.csv"],
            "`--predictions` needs a single drive",
        ),
        (
            &[&disk, "--predictions", "x.csv"],
            "`--predictions` needs `--workload` on a real device",
        ),
    ] {
        let output = diskarm(&[&["scan"], arguments].concat());
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(expected), "{message}");
        assert!(!std::fs::exists("x.csv").expect("a folder"));
    }
    assert!(std::fs::read(&trace).is_ok_and(|found| !found.is_empty()));
}
