//! Tests of `simulate`: its results, and their reproducibility.

use crate::{assert_narrow, file_of, json, keys, stdout};
use serde_json::Value;

pub fn random(policy: &str, flags: &[&str]) -> Value {
    let fixed = [
        "simulate", "--drive", "hp-c2247", "--random", "--json", "--policy", policy,
    ];
    json(&[&fixed, flags].concat())
}

#[test]
fn the_json_has_exactly_these_keys() {
    let figures = random("sptf", &["--requests", "1000"]);
    assert_eq!(
        keys(&figures),
        [
            "drive",
            "policy",
            "merge_max_sectors",
            "workload",
            "seed",
            "version",
            "requests",
            "simulated_s",
            "wall_s",
            "requests_per_wall_s",
            "response_ms",
            "service_ms",
            "cache_hit_rate",
            "utilisation",
            "queue",
            "throughput_per_s",
            "reads",
            "writes",
            "streams",
            "disks",
            "parts",
            "windows",
            "replications",
            "ci95",
            "notes"
        ]
    );
    let kind = ["requests", "response_ms", "service_ms"];
    assert_eq!(keys(&figures["reads"]), kind);
    assert_eq!(keys(&figures["writes"]), kind);
    assert_eq!(figures["streams"], Value::Null);
    assert_eq!(figures["windows"], Value::Null);
    assert_eq!(
        keys(&figures["response_ms"]),
        [
            "mean", "ci95", "std", "cv2", "p50", "p95", "p99", "p999", "max"
        ]
    );
    assert_eq!(
        keys(&figures["service_ms"]),
        [
            "mean", "owed", "overhead", "seek", "settle", "rotation", "transfer", "bus"
        ]
    );
    assert_eq!(keys(&figures["queue"]), ["mean", "max"]);
    assert_eq!(figures["requests"], 1000);
    assert_eq!(figures["workload"]["interarrival_ms"], 31.2);
}

#[test]
fn windows_add_up_to_the_run() {
    let fixed = ["--requests", "5000", "--rate", "40/s", "--window", "10 s"];
    let figures = random("sptf", &fixed);
    let windows = figures["windows"].as_array().unwrap();
    let sum = |key: &str| {
        windows
            .iter()
            .map(|w| w[key].as_f64().unwrap())
            .sum::<f64>()
    };
    assert_eq!(sum("requests"), 5000.0);
    // 5000 at 40/s are 125 s, deviation 1.8 s.
    assert!((12..=14).contains(&windows.len()), "{}", windows.len());
    assert_eq!(windows[3]["start_s"], 30.0);
    let busy_s =
        figures["utilisation"].as_f64().unwrap() * figures["simulated_s"].as_f64().unwrap();
    assert!((sum("utilisation") * 10.0 / busy_s - 1.0).abs() < 1e-6);
    // Some window has the longest response of all.
    let longest = windows
        .iter()
        .map(|w| w["response_ms"]["max"].as_f64().unwrap());
    let all = figures["response_ms"]["max"].as_f64().unwrap();
    assert_eq!(longest.fold(0.0, f64::max), all);
    let flags = [
        "simulate", "--drive", "hp-c2247", "--random", "--policy", "sptf",
    ];
    let table = stdout(&[&flags[..], &fixed].concat());
    assert_narrow(&table);
    assert!(table.contains("\n30 s "), "{table}");
}

#[test]
fn each_request_has_its_row() {
    let path = file_of("rows.csv", "what stood here");
    let flags = [
        "--requests",
        "2000",
        "--warmup",
        "500",
        "--per-request",
        &path,
    ];
    let figures = random("sptf", &flags);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| names.iter().position(|n| *n == name).unwrap();
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 2000);
    let number = |row: &[&str], name: &str| row[column(name)].parse::<f64>().unwrap();
    let mut ids: Vec<u64> = rows.iter().map(|row| row[0].parse().unwrap()).collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..2000));
    for row in &rows {
        assert_eq!(row.len(), names.len());
        let took = number(row, "completed_us") - number(row, "arrived_us");
        let parts: f64 = (column("queue_us")..names.len())
            .map(|i| row[i].parse::<f64>().unwrap())
            .sum();
        let response = number(row, "response_us");
        assert!(
            (took - response).abs() < 1e-3 && (parts - response).abs() < 1e-3,
            "{row:?}"
        );
    }
    let counted = &rows[500..];
    let reads = counted
        .iter()
        .filter(|row| row[column("op")] == "R")
        .count();
    assert_eq!(figures["reads"]["requests"].as_u64(), Some(reads as u64));
    let mean = counted
        .iter()
        .map(|row| number(row, "response_us"))
        .sum::<f64>()
        / 1500.0;
    let reported = figures["response_ms"]["mean"].as_f64().unwrap() * 1e3;
    assert!((mean - reported).abs() < 2e-3, "{mean} {reported}");
}

#[test]
fn values_that_cannot_be_computed_are_null() {
    let figures = random("fcfs", &["--requests", "1", "--reads", "0 %"]);
    assert_eq!(figures["response_ms"]["ci95"], Value::Null);
    assert_eq!(figures["response_ms"]["std"], Value::Null);
    assert_eq!(figures["cache_hit_rate"], Value::Null);
    // There is only one request.
    assert_eq!(figures["utilisation"], 1.0);
    assert_eq!(
        figures["response_ms"]["mean"],
        figures["service_ms"]["mean"]
    );
}

#[test]
fn the_same_inputs_give_the_same_results() {
    for flags in [
        &["--rate", "32/s"][..],
        &["--outstanding", "16", "--think", "3 ms"],
    ] {
        for policy in ["fcfs", "sptf"] {
            let flags = [
                &["--requests", "20000", "--seed", "7", "--warmup", "100"],
                flags,
            ]
            .concat();
            let run = || {
                let mut figures = random(policy, &flags);
                for key in ["wall_s", "requests_per_wall_s"] {
                    let removed = figures.as_object_mut().unwrap().remove(key);
                    assert!(removed.unwrap().as_f64().unwrap() > 0.0);
                }
                figures.to_string()
            };
            assert_eq!(run(), run());
        }
    }
}

#[test]
fn a_seed_changes_both_places_and_arrivals() {
    let closed = |seed| random("fcfs", &["--seed", seed, "--outstanding", "1"]);
    let mean = |seed| closed(seed)["response_ms"]["mean"].clone();
    assert_ne!(mean("1"), mean("2"));
    // The sum of 100,000 exponential pauses of 31.2 ms spreads by 9.9 s; places move the end of
    // a run by some milliseconds only.
    let end_s = |seed| {
        random("fcfs", &["--seed", seed])["simulated_s"]
            .as_f64()
            .unwrap()
    };
    assert!((end_s("1") - end_s("2")).abs() > 0.5);
}

/// worthington94's random workload on its drive: 8 KB, two thirds reads, exponential arrivals
/// 31.2 ms apart. DiskSim 4.0 (64-bit port) gives a mean response of 48.47 ms, half width of the
/// 95 % confidence interval 0.30 ms over five streams of 250,000 requests.
#[test]
fn the_classic_open_workload_agrees_with_disksim() {
    const DISKSIM_MS: f64 = 48.47;
    let figures = random(
        "fcfs",
        &["--requests", "1000000", "--interarrival", "31.2 ms"],
    );
    let mean = figures["response_ms"]["mean"].as_f64().unwrap();
    assert!(
        (mean / DISKSIM_MS - 1.0).abs() < 0.015,
        "{mean} ms, DiskSim {DISKSIM_MS} ms"
    );
}

#[test]
fn a_closed_workload_keeps_its_number_outstanding() {
    let figures = random("fcfs", &["--outstanding", "64", "--requests", "20000"]);
    assert_eq!(figures["queue"]["max"], 63);
    let mean = figures["queue"]["mean"].as_f64().unwrap();
    // All but the last 64 of 20,000 find 63 before them.
    assert!((mean / 63.0 - 1.0).abs() < 0.005, "{mean}");
    assert_eq!(figures["utilisation"], 1.0);
    // Little's law with 64 clients and no pause: response = 64 / throughput.
    let response = figures["response_ms"]["mean"].as_f64().unwrap();
    let throughput = figures["throughput_per_s"].as_f64().unwrap();
    let clients = response * throughput / 1e3;
    assert!((clients / 64.0 - 1.0).abs() < 0.005, "{clients}");
}

#[test]
fn the_table_has_the_same_values_and_fits_a_terminal() {
    let flags = [
        "simulate", "--drive", "hp-c2247", "--random", "--policy", "fcfs",
    ];
    let table = stdout(&flags);
    assert_narrow(&table);
    let mean = json(&[&flags[..], &["--json"]].concat())["response_ms"]["mean"].clone();
    let mean = format!("{:.3} ms", mean.as_f64().unwrap());
    let line = table
        .lines()
        .find(|line| line.starts_with("response, mean"))
        .unwrap();
    assert!(line.contains(&mean), "{line} {mean}");
}

/// On a terminal, work of over a second shows a bar; [`stdout`] refuses any standard error.
#[test]
fn there_is_no_progress_bar_without_a_terminal() {
    let fixed = [
        "simulate",
        "--drive",
        "hp-c2247",
        "--random",
        "--policy",
        "sptf",
        "--json",
        "--outstanding",
        "64",
    ];
    let mut requests = 3_000_000;
    let takes_a_second = |requests: u32| {
        let figures = json(&[&fixed[..], &["--requests", &requests.to_string()]].concat());
        figures["wall_s"].as_f64().unwrap() > 1.0
    };
    while !takes_a_second(requests) {
        requests *= 2;
    }
}

/// The hp-c2247 serves about 45 random requests of 8 KB a second under FCFS.
#[test]
fn a_saturated_drive_gives_a_note() {
    let fixed = [
        "simulate", "--drive", "hp-c2247", "--random", "--policy", "fcfs",
    ];
    let has_note = |flags: &[&str]| {
        let text = stdout(&[&fixed, flags].concat());
        assert_narrow(&text);
        text.contains("note: requests arrive faster than they are served")
    };
    assert!(has_note(&["--rate", "60/s"]));
    assert!(!has_note(&["--rate", "32/s"]));
    assert!(!has_note(&["--outstanding", "200"]));
    assert!(!has_note(&["--rate", "60/s", "--json"]));
}

/// Options have several spellings.
#[test]
fn numbers_and_names_can_be_typed_in_several_ways() {
    let run = |words: &str| {
        let words: Vec<&str> = words.split_whitespace().collect();
        let figures = json(&[&["simulate", "--json", "--drive", "hp-c2247"], &words[..]].concat());
        (figures["response_ms"].clone(), figures["requests"].clone())
    };
    let exact =
        "--policy asptf(w=6) --random --size 4KiB --rate 30/s --requests 20000 --warmup 1000";
    let typed = "--policy asptf(6) --random --size 4k --rate 30 --requests 2e4 --warm-up 1_000";
    assert_eq!(run(typed), run(exact));
}

/// The given policy is in the host's queue, which a drive with its own queue leaves empty.
#[test]
fn a_note_reports_that_the_drive_orders_requests_itself() {
    let notes = |more: &[&str]| {
        let workload = [
            "--workload",
            "closed(clients=16) uniform",
            "--requests",
            "500",
        ];
        let drive = ["simulate", "--drive", "sata-4tb-7200", "--policy", "fcfs"];
        json(&[&drive[..], &workload, more, &["--json"]].concat())["notes"].to_string()
    };
    let expected = "fcfs never had more than one request to choose from: the drive takes up to 32 ";
    assert!(notes(&[]).contains(expected), "{}", notes(&[]));
    for elsewhere in [["--queue", "drive"], ["--set", "queue.depth=1"]] {
        assert!(!notes(&elsewhere).contains("never had"), "{elsewhere:?}");
    }
}

/// The table and the JSON have the same numbers for a cache that destages in gaps.
#[test]
fn the_buffer_reports_what_it_wrote_in_gaps() {
    let drive = [
        "--set=buffer.write_cache=deferred",
        "--set=buffer.dirty_max=128KiB",
        "--set=buffer.destage_in_gaps=true",
        "--outstanding=10",
        "--reads=50%",
        "--requests=1000",
    ];
    let figures = random("fcfs", &drive);
    let parts = figures["parts"].as_array().expect("parts");
    assert_eq!(parts.len(), 1);
    let buffer = &parts[0];
    let kind = ["part", "kind"].map(|key| buffer[key].as_str().expect("text"));
    assert_eq!(kind, ["", "buffer"]);
    let counts = [
        "destaged_blocks",
        "destaged_in_gaps_blocks",
        "writes_in_gaps",
    ];
    let counts = counts.map(|key| buffer[key].as_f64().expect("a number"));
    assert!(counts.is_sorted_by(|one, next| one >= next), "{counts:?}");
    assert!(counts[2] > 0.0, "{counts:?}");
    let fixed = ["simulate", "--drive", "hp-c2247", "--random"];
    let table = stdout(&[&fixed[..], &["--policy", "fcfs"], &drive].concat());
    assert_narrow(&table);
    let line = table.lines().find(|line| line.starts_with("buffer"));
    let words = line.expect("a line").split_whitespace().skip(1);
    let printed: Vec<f64> = words.map(|word| word.parse().expect("a number")).collect();
    assert_eq!(printed, counts);
}
