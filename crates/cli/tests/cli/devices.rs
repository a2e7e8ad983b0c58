//! Devices in front of a drive: `diskarm devices`, and device stacks as drives.

use diskarm_simulate::devices::infos;
use serde_json::Value;

use crate::errors::error;
use crate::{assert_narrow, diskarm, file_of, json, keys, stdout};

const LOAD: [&str; 5] = ["--random", "--rate", "30/s", "--requests", "2000"];

fn simulate(drive: &str, policy: &str) -> Value {
    let arguments = ["simulate", "--json", "--drive", drive, "--policy", policy];
    let mut figures = json(&[&arguments[..], &LOAD].concat());
    let object = figures.as_object_mut().unwrap();
    object.retain(|key, _| !key.contains("wall") && key != "drive");
    figures
}

#[test]
fn all_devices_are_listed() {
    let text = stdout(&["devices"]);
    assert_narrow(&text);
    let rows = json(&["devices", "--json"]);
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), infos().len());
    for (row, info) in rows.iter().zip(infos()) {
        let expected = [
            "name",
            "summary",
            "parameters",
            "needs",
            "provides",
            "example",
        ];
        assert_eq!(keys(row), expected);
        assert_eq!(row["name"], info.name);
        assert_eq!(
            row["parameters"].as_array().unwrap().len(),
            info.parameters.len()
        );
        assert!(
            text.contains(&format!("\n    {}\n", info.summary)),
            "{text}"
        );
    }
}

#[test]
fn a_transparent_device_gives_the_results_of_the_drive() {
    let plain = simulate("hp-c2247", "sptf");
    assert_eq!(simulate("faults(drive=hp-c2247)", "sptf"), plain);
    assert_eq!(
        simulate("faults(drive=faults(drive=hp-c2247))", "sptf"),
        plain
    );
    for key in ["failed", "recovered", "flushes"] {
        assert!(!keys(&plain).contains(&key));
    }
}

#[test]
fn failed_and_recovered_requests_are_counted() {
    let figures = simulate(
        "faults(medium=\"10% after 1 retry\", recovered=\"20% after 2 retries\", drive=hp-c2247)",
        "fcfs",
    );
    let count = |key: &str| figures[key].as_u64().unwrap();
    assert_eq!(count("failed") + count("requests"), 2000);
    assert!(count("failed").abs_diff(200) < 60, "{figures}");
    // Only requests that succeed.
    assert!(count("recovered").abs_diff(360) < 80, "{figures}");
    assert!(!keys(&figures).contains(&"flushes"));
}

#[test]
fn rows_show_which_requests_failed() {
    let path = file_of("failed.csv", "");
    let drive = "faults(medium=\"10% after 1 retry\", recovered=\"20% after 2 retries\", \
                 outage=\"10s to 12s\", drive=hp-c2247)";
    let arguments = ["simulate", "--json", "--policy=fcfs", "--drive", drive];
    let rows = ["--per-request", &path];
    let figures = json(&[&arguments[..], &rows, &LOAD].concat());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let count = |outcome: &str| text.matches(&format!(",{outcome},")).count() as u64;
    let [medium, not_ready] = ["medium-error", "not-ready"].map(count);
    assert!(medium > 0 && not_ready > 0);
    assert_eq!(figures["failed"], medium + not_ready);
    // Recovered requests are included.
    let served = ["miss", "hit", "partial", "absorbed"].map(count);
    assert_eq!(figures["requests"], served.iter().sum::<u64>());
}

/// Three disks, of which one has failed, and the spare. The rebuild continues after the last
/// request, but the reports of the disks end there.
#[test]
fn the_disks_of_an_array_are_reported() {
    let figures = simulate(
        "raid5(disks=3, failed=1, rebuild=100%, drive=hp-c2247)",
        "fcfs",
    );
    let parts = figures["parts"].as_array().unwrap();
    let names: Vec<&str> = parts.iter().map(|p| p["part"].as_str().unwrap()).collect();
    assert_eq!(names, ["0", "1", "2", "3", ""]);
    let count = |part: usize, key: &str| parts[part][key].as_f64().unwrap();
    let kinds = parts.iter().map(|p| p["kind"].as_str().unwrap());
    assert_eq!(kinds.filter(|kind| *kind == "redundancy").count(), 1);
    assert_eq!((count(4, "failed_disks"), count(4, "rebuilt")), (1.0, 1.0));
    assert_eq!(
        (count(4, "failed_at_s"), count(4, "lost_blocks")),
        (0.0, 0.0)
    );
    // The spare writes during a part of the rebuild.
    assert!(
        count(4, "rebuild_s") > 16_000.0 * 0.02,
        "{}",
        count(4, "rebuild_s")
    );
    // Each row is read from two disks and written to the spare; 2,054,864 blocks form rows of 128.
    // When the last request completes, the rebuilt fraction of them equals the fraction of the
    // projected time that has passed. It is 3 % of the blocks, so few requests go to them.
    let rows = 2_054_864.0 / 128.0 * figures["simulated_s"].as_f64().unwrap();
    let rows = rows / count(4, "rebuild_projected_s");
    let writes = count(3, "writes");
    assert!(
        writes > rows - 2.0 && writes < rows + 20.0,
        "{writes} {rows}"
    );
    assert!(count(0, "reads") > rows && count(2, "reads") > rows);
    assert_eq!((count(1, "reads"), count(1, "writes")), (0.0, 0.0));
    assert!(count(0, "reading") > 0.0 && count(0, "reading") < 1.0);
}

/// Two disks fail during the run and one long after it (2,000 requests at 30 a second: about 67 s).
#[test]
fn notes_report_lost_data_and_failures_after_the_last_request() {
    let drive = "raid10(pairs=2, failed=1@1s, failed=0@4s, failed=2@900s, drive=hp-c2247)";
    let arguments = ["simulate", "--json", "--policy=fcfs", "--drive", drive];
    let output = diskarm(&[&arguments[..], &LOAD].concat());
    let figures: Value = serde_json::from_slice(&output.stdout).unwrap();
    let notes = figures["notes"].as_array().unwrap();
    let notes: Vec<&str> = notes.iter().map(|note| note.as_str().unwrap()).collect();
    let parts = figures["parts"].as_array().unwrap();
    let lost = parts.iter().find(|part| part["lost_at_s"] == 4.0).unwrap();
    let count = |figure: &Value| figure.as_f64().unwrap();
    // Half of the requests after 4 s are for the pair that has lost its data.
    let failed = count(&figures["failed"]);
    assert!((failed - 30.0 * 63.0 / 2.0).abs() < 100.0, "{failed}");
    let loss = format!(
        "data were lost at 4.000 s: {} blocks of part 0 from block {} on; {failed} requests failed",
        count(&lost["lost_blocks"]),
        count(&lost["lost_from_block"]),
    );
    let [first, second] = notes[..] else {
        panic!("{notes:?}");
    };
    assert_eq!(first, loss);
    let end = second.strip_prefix("disk 1.0 fails at 900.000 s, after the last request was ");
    let end = end.and_then(|end| end.strip_prefix("completed at ")?.strip_suffix(" s"));
    // The simulated time begins with the first arrival.
    let before = end.unwrap().parse::<f64>().unwrap() - count(&figures["simulated_s"]);
    assert!(before > 0.0 && before < 0.5, "{second}");
    let warnings: String = notes
        .iter()
        .map(|note| format!("warning: {note}\n"))
        .collect();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), warnings);
}

/// Two pairs with a spare each, in which disks 0.0 and 0.1 fail during the run.
#[test]
fn the_table_shows_failed_disks_and_lost_data() {
    let drive = "raid10(pairs=2, failed=1@1s, failed=0@4s, rebuild=50%, drive=hp-c2247)";
    let arguments = ["simulate", "--policy=fcfs", "--drive", drive];
    let output = diskarm(&[&arguments[..], &LOAD].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_narrow(&text);
    let output = diskarm(&[&arguments[..], &["--json"], &LOAD].concat());
    let figures: Value = serde_json::from_slice(&output.stdout).unwrap();
    let parts = figures["parts"].as_array().unwrap();
    let first = parts.iter().find(|part| part["lost_at_s"] == 4.0).unwrap();
    let first = first["lost_from_block"].as_f64().unwrap();
    let names = text.lines().filter(|line| line.starts_with("disk "));
    let names: Vec<&str> = names.map(|line| line[..18].trim_end()).collect();
    let expected = [
        "disk 0.0 (failed)",
        "disk 0.1 (failed)",
        "disk 0.2 (spare)",
        "disk 1.0",
        "disk 1.1",
    ];
    assert_eq!(names, expected);
    // Numbers are aligned at their decimal points.
    for line in [
        "\ndisks failed in part 0     2\n  first failure at         1.000 s\n".to_owned(),
        "\n  data lost at             4.000 s\n  blocks lost ".to_owned(),
        format!("\n  first block lost{first:>10}     of part 0\n"),
    ] {
        assert!(text.contains(&line), "{line:?} {text}");
    }
}

#[test]
fn a_policy_that_needs_more_than_a_stack_provides_is_an_error() {
    let tower = [
        "simulate",
        "--drive",
        "host(drive=hp-c2247)",
        "--policy",
        "sptf",
    ];
    assert_eq!(
        error(&[&tower[..], &LOAD].concat()),
        "policy sptf needs positioning times, which host does not provide; put the policy \
         inside: host(policy=sptf, ...)"
    );
}

#[test]
fn commands_for_a_single_drive_refuse_a_device_stack() {
    let tower = "faults(drive=hp-c2247)";
    let expected = "found \"faults(drive=hp-c2247)\", expected a drive in the catalogue or a .toml \
                    file, without devices in front of it";
    assert_eq!(
        error(&["drives", "show", tower]),
        format!("NAME: {expected}")
    );
    for command in ["validate", "calibrate"] {
        let output: &[&str] = match command {
            "calibrate" => &["--output", "fitted.toml"],
            _ => &[],
        };
        let arguments = [&[command, "--drive", tower, "no-such-trace"], output].concat();
        assert_eq!(error(&arguments), format!("--drive: {expected}"));
    }
}

const STUDY: &str = r#"
title = "Towers"
source = "none"
[cell]
drive = "{drive}"
policy = "sptf"
workload = "closed(clients=4) uniform"
requests = 1000
[[axis]]
name = "drive"
values = [
    "hp-c2247", "faults(drive=hp-c2247)", "throttle(rate=10/s, drive=hp-c2247)",
    'faults(medium="10% after 1 retry", recovered="20% after 2 retries", drive=hp-c2247)',
]
"#;

#[test]
fn a_study_can_vary_devices() {
    let study = file_of("towers.toml", STUDY);
    let output = format!("{study}-results");
    stdout(&["study", "run", &study, "--output", &output]);
    let name = std::path::Path::new(&study).file_stem().unwrap();
    let results = std::path::Path::new(&output)
        .join(name)
        .join("results.json");
    let results = std::fs::read_to_string(results).unwrap();
    let results: Value = serde_json::from_str(&results).unwrap();
    let mean = |cell: usize| {
        let figures = &results["cells"][cell]["figures"];
        figures["response_ms_mean"]["mean"].as_f64().unwrap()
    };
    assert_eq!(mean(0), mean(1));
    // Four clients share ten requests a second.
    assert!((mean(2) - 400.0).abs() < 5.0, "{}", mean(2));
    let count =
        |cell: usize, metric: &str| results["cells"][cell]["figures"][metric]["mean"].as_f64();
    assert_eq!([count(0, "failed"), count(1, "failed")], [Some(0.0); 2]);
    let [failed, recovered] = ["failed", "recovered"].map(|metric| count(3, metric).unwrap());
    assert!((failed - 100.0).abs() < 40.0, "{failed}");
    assert!((recovered - 180.0).abs() < 50.0, "{recovered}");
    std::fs::remove_file(&study).unwrap();
    std::fs::remove_dir_all(&output).unwrap();
}

#[test]
fn the_parts_of_a_device_are_listed() {
    let tower = "nvcache(destage=ad-cp(tw=4, tr=4), drive=hp-c2247)";
    let arguments = ["simulate", "--drive", tower, "--policy", "fcfs"];
    let figures = json(&[&arguments[..], &["--json"], &LOAD].concat());
    let parts = figures["parts"].as_array().expect("parts");
    let named: Vec<(&str, &str)> = parts
        .iter()
        .map(|part| {
            (
                part["kind"].as_str().unwrap(),
                part["part"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(named, [("cache", ""), ("disk", "0"), ("disk", "1")]);
    let writes = figures["writes"]["requests"].as_f64();
    assert_eq!(parts[0]["absorbed"].as_f64(), writes);
    let reads = |disk: &Value| disk["reads"].as_f64().unwrap();
    let total = reads(&parts[1]) + reads(&parts[2]);
    assert_eq!(total, figures["reads"]["requests"].as_f64().unwrap());
}
