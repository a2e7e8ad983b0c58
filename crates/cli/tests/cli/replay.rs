//! Tests of `simulate --trace`.

use crate::{assert_narrow, diskarm, file_of, json, stdout};
use serde_json::Value;

#[test]
fn a_trace_with_arrivals_is_replayed_open() {
    // Both arrive while the drive serves the first request, so two requests wait.
    let text = "1000.0 3 1200 16 1\n1000.1 3 900000 16 1\n1000.2 3 1200 16 0\n1000.3 4 0 8 1\n";
    let path = file_of("open", text);
    let arguments = [
        "simulate", "--drive", "hp-c2247", "--policy", "fcfs", "--trace", &path,
    ];
    let figures = json(&[&arguments[..], &["--device", "3", "--json"]].concat());
    std::fs::remove_file(&path).unwrap();
    assert_eq!(figures["requests"], 3);
    assert_eq!(figures["queue"]["max"], 2);
    assert_eq!(figures["workload"]["files"][0]["format"], "disksim");
    assert_eq!(figures["disks"], Value::Null);
    assert_eq!(figures["notes"][0], "1 request of other devices removed");
    assert_eq!(figures["workload"]["device"], 3);
    assert_eq!(figures["seed"], Value::Null);
    // The run begins with the first arrival, not one second earlier.
    assert!(figures["simulated_s"].as_f64().unwrap() < 0.2);
    assert_eq!(figures["utilisation"], 1.0);
}

#[test]
fn a_measured_trace_is_replayed_with_its_pauses() {
    let text = "op,lbn,sectors,response_us,think_us\n\
                R,64,8,14000,250000\nW,900000,8,14000,250000\nR,1200,8,14000,0\n";
    let path = file_of("closed", text);
    let arguments = [
        "simulate", "--drive", "hp-c2247", "--policy", "fcfs", "--trace", &path,
    ];
    let figures = json(&[&arguments[..], &["--json"]].concat());
    std::fs::remove_file(&path).unwrap();
    assert_eq!(figures["requests"], 3);
    assert_eq!(figures["queue"]["max"], 0);
    // Three responses and two pauses of 250 ms.
    let simulated_ms = figures["simulated_s"].as_f64().unwrap() * 1e3;
    let responses_ms = figures["response_ms"]["mean"].as_f64().unwrap() * 3.0;
    assert!(
        (simulated_ms - 500.0 - responses_ms).abs() < 1e-5,
        "{simulated_ms}"
    );
}

/// Returns requests to devices 5 and 2, 4 ms apart, of various sizes, all over the disk.
fn two_devices() -> String {
    let row = |n: u64| {
        let (device, lbn) = ([5, 2][n as usize % 3 / 2], n * 7_919 * 131 % 2_000_000);
        format!("{}.0 {device} {lbn} {} {}\n", 4 * n, 1 + n % 40, n % 2)
    };
    (0..400).map(row).collect()
}

fn replay(files: &[&str], flags: &[&str]) -> Value {
    let fixed = [
        "simulate", "--drive", "hp-c2247", "--policy", "sptf", "--json",
    ];
    json(&[&fixed[..], flags, &["--trace"], files].concat())
}

#[test]
fn each_device_is_an_independent_disk() {
    let path = file_of("devices", &two_devices());
    let both = replay(&[&path], &[]);
    let disks = both["disks"].as_array().unwrap();
    assert_eq!(both["workload"]["device"], Value::Null);
    let mut requests = 0;
    for (disk, device) in disks.iter().zip([5, 2]) {
        let alone = replay(&[&path], &["--device", &device.to_string()]);
        assert_eq!(disk["device"], device);
        for key in ["requests", "response_ms", "service_ms", "cache_hit_rate"] {
            assert_eq!(disk[key], alone[key], "{key} of {device}");
        }
        assert_eq!(disk["queue"]["max"], alone["queue"]["max"]);
        requests += disk["requests"].as_u64().unwrap();
    }
    assert_eq!((disks.len(), requests), (2, 400));
    let busy = |figures: &Value| figures["utilisation"].as_f64().unwrap();
    assert!((busy(&both) - (busy(&disks[0]) + busy(&disks[1])) / 2.0).abs() < 1e-12);
    let table = stdout(&[
        "simulate", "--drive", "hp-c2247", "--policy", "sptf", "--trace", &path,
    ]);
    std::fs::remove_file(&path).unwrap();
    assert_narrow(&table);
    assert!(
        table.contains("\ndevice  ") && table.contains("\n5  "),
        "{table}"
    );
}

#[test]
fn a_trace_given_twice_has_twice_the_disks() {
    let path = file_of("twice", &two_devices());
    let one = replay(&[&path], &[]);
    let two = replay(&[&path, &path], &[]);
    std::fs::remove_file(&path).unwrap();
    let disks = two["disks"].as_array().unwrap();
    let origin = |disk: &Value| {
        (
            disk["trace"].as_u64().unwrap(),
            disk["device"].as_u64().unwrap(),
        )
    };
    let origins: Vec<_> = disks.iter().map(origin).collect();
    assert_eq!(origins, [(0, 5), (1, 5), (0, 2), (1, 2)]);
    for (disk, alone) in disks.iter().zip([0, 0, 1, 1]) {
        assert_eq!(disk["response_ms"], one["disks"][alone]["response_ms"]);
    }
    assert_eq!(
        two["notes"][0],
        "2 traces merged, with a common start because they have no common clock"
    );
}

#[test]
fn a_part_of_a_trace_is_replayed_faster_on_a_smaller_drive() {
    // The hp-c2247 has 2,054,864 blocks.
    let text = "0.0 0 10 8 1\n1000.0 0 2054866 8 1\n3000.0 0 4109732 8 0\n";
    let path = file_of("part", text);
    let refused = crate::errors::error(&[
        "simulate", "--drive", "hp-c2247", "--policy", "fcfs", "--trace", &path,
    ]);
    assert!(
        refused.contains("expected a request within 2054864 blocks"),
        "{refused}"
    );
    let part = ["--from", "1 s", "--faster", "4"];
    let fold = replay(&[&path], &[&part[..], &["--fit", "fold"]].concat());
    assert_eq!(fold["requests"], 2);
    // Two seconds at four times the speed, and the last response.
    let simulated_s = fold["simulated_s"].as_f64().unwrap();
    assert!((0.5..0.53).contains(&simulated_s), "{simulated_s}");
    let notes = fold["notes"].as_array().unwrap();
    let notes: Vec<&str> = notes.iter().map(|note| note.as_str().unwrap()).collect();
    assert_eq!(
        notes,
        [
            "folded into 2054864 blocks; 2 requests moved",
            "1 request before 1 s removed; times now start there",
            "times between requests divided by 4",
        ]
    );
    let spread = replay(&[&path], &["--fit", "spread", "--disks", "3"]);
    let parts = spread["disks"].as_array().unwrap().iter();
    assert!(parts.map(|disk| disk["part"].as_u64().unwrap()).eq(0..3));
    let scale = replay(&[&path], &["--fit", "scale"]);
    assert_eq!(
        scale["notes"][0],
        "scaled from 4109740 blocks to 2054864; 3 requests moved, 1 of them away from the end of a \
         disk"
    );
    let table = stdout(&[
        "simulate", "--drive", "hp-c2247", "--policy", "fcfs", "--fit", "fold", "--trace", &path,
    ]);
    std::fs::remove_file(&path).unwrap();
    assert_narrow(&table);
    assert!(table.contains("\nchanged         folded into"), "{table}");
}

#[test]
fn a_trace_is_replayed_with_a_number_outstanding() {
    let path = file_of("outstanding", &two_devices());
    let one_disk = ["--device", "5", "--outstanding", "7"];
    let figures = replay(&[&path], &one_disk);
    assert_eq!(figures["queue"]["max"], 6);
    assert_eq!(figures["utilisation"], 1.0);
    assert_eq!(figures["workload"]["outstanding"], 7);
    let thinking = replay(&[&path], &[&one_disk[..], &["--think", "1 s"]].concat());
    std::fs::remove_file(&path).unwrap();
    // 267 requests in 39 turns of 7, or of the 38 pauses between them.
    let simulated_s = thinking["simulated_s"].as_f64().unwrap();
    assert!((37.0..41.0).contains(&simulated_s), "{simulated_s}");
}

#[test]
fn pauses_come_from_arrivals_and_responses() {
    // Completed at 10.1 s and 10.4 s: pauses of 200 ms and 600 ms.
    let text = "128166372000000000,x,0,Read,512,4096,1000000\n\
                128166372003000000,x,0,Read,1024000,4096,1000000\n\
                128166372010000000,x,0,Read,512000,4096,1000000\n";
    let path = file_of("pauses", text);
    let figures = replay(&[&path], &["--replay", "pauses"]);
    std::fs::remove_file(&path).unwrap();
    let simulated_ms = figures["simulated_s"].as_f64().unwrap() * 1e3;
    let responses_ms = figures["response_ms"]["mean"].as_f64().unwrap() * 3.0;
    assert!(
        (simulated_ms - 800.0 - responses_ms).abs() < 1e-5,
        "{simulated_ms}"
    );
    assert_eq!(figures["workload"]["arrivals"], "closed");
    let note = figures["notes"][0].as_str().unwrap();
    assert!(
        note.starts_with("one request at a time; 0 requests arrived"),
        "{note}"
    );
}

/// A format without arrivals has the pauses themselves.
#[test]
fn measured_pauses_are_replayed_with_or_without_the_flag() {
    let text = "op,observed,lbn,sectors,response_us,think_us\n\
                R,miss,0,8,9000,0\nR,miss,500000,8,9000,200000\nR,miss,1000000,8,9000,600000\n";
    let path = file_of("measured-pauses", text);
    let asked = replay(&[&path], &["--replay", "pauses"]);
    let default = replay(&[&path], &[]);
    std::fs::remove_file(&path).unwrap();
    assert!(asked["simulated_s"].as_f64().unwrap() > 0.2);
    for field in ["simulated_s", "response_ms", "workload", "notes"] {
        assert_eq!(asked[field], default[field], "{field}");
    }
}

/// Returns the notes in the JSON of a command, and its standard error.
fn notes(arguments: &[&str]) -> (Vec<String>, String) {
    let output = diskarm(&[arguments, &["--json", "--on-error", "skip"]].concat());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let notes = printed["notes"].as_array().unwrap().iter();
    (
        notes
            .map(|note| note.as_str().unwrap().to_owned())
            .collect(),
        stderr,
    )
}

#[test]
fn every_command_skips_and_counts_bad_rows() {
    let good = |n: u64| {
        format!(
            "R,{},8,14000,{}\n",
            n * 7_919 * 131 % 2_000_000,
            n % 9 * 1_000
        )
    };
    let rows: String = (0..400).map(good).collect();
    let text =
        format!("op,lbn,sectors,response_us,think_us\n{rows}R,x,8,1,1\nX,5,8,1,1\nR,y,8,1,1\n");
    let path = file_of("skipped", &text);
    let expected = [
        format!(
            "{path}: 2 invalid rows skipped: invalid lbn; the first: \
             {path}:402: lbn: found \"x\""
        ),
        format!("{path}: 1 invalid row skipped: invalid op"),
    ];
    let toml = file_of("skipped.toml", "");
    let drive = ["--drive", "hp-c2247"];
    for command in [
        &["simulate", "--policy", "fcfs", "--trace", &path][..],
        &["validate", &path],
        &["validate", "--locked", &path],
        &["calibrate", &path, "--output", &toml],
    ] {
        let (mut notes, stderr) = notes(&[command, &drive].concat());
        if command[0] == "simulate" {
            let last = notes.pop().unwrap();
            assert!(
                last.starts_with("only one request was outstanding at a time"),
                "{last}"
            );
        }
        assert_eq!(notes.len(), 2, "{command:?}: {notes:?}");
        for (note, expected) in notes.iter().zip(&expected) {
            assert!(note.starts_with(expected), "{note}");
            assert!(stderr.contains(&format!("warning: {note}\n")), "{stderr}");
        }
    }
    std::fs::remove_file(&path).unwrap();
    std::fs::remove_file(&toml).unwrap();
}

#[test]
fn a_replay_of_one_request_at_a_time_notes_that_there_was_no_choice() {
    let text = "op,lbn,sectors,response_us,think_us\n\
                R,64,8,14000,250000\nW,900000,8,14000,250000\nR,1200,8,14000,0\n";
    let path = file_of("single", text);
    let table = |flags: &[&str]| {
        let fixed = [
            "simulate",
            "--drive",
            "hp-c2247",
            "--policy=sptf",
            "--trace",
        ];
        stdout(&[&fixed[..], &[&path], flags].concat())
    };
    let note = "\nnote: only one request was outstanding at a time, so neither the";
    assert!(table(&[]).contains(note), "{}", table(&[]));
    assert!(table(&["--outstanding=1"]).contains(note));
    assert!(!table(&["--outstanding=2"]).contains("note:"));
    let compare = [
        "compare",
        "--drive=hp-c2247",
        "--policies=fcfs,sptf",
        "--trace",
        &path,
    ];
    let compared = stdout(&compare);
    assert_eq!(compared.matches("note: ").count(), 1, "{compared}");
    assert!(compared.contains(note), "{compared}");
    let notes = &json(&[&compare[..], &["--json"]].concat())[0]["notes"];
    assert_eq!(notes.as_array().expect("notes").len(), 1, "{notes}");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn responses_are_plotted() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let plot = folder.join("responses.svg").display().to_string();
    let words = [
        "--drive=hp-c2247",
        "--random",
        "--requests=500",
        "--plot",
        &plot,
    ];
    stdout(&[&["simulate", "--policy=sptf"], &words[..]].concat());
    let svg = std::fs::read_to_string(&plot).expect("a plot");
    for label in [
        "Response times of hp-c2247, sptf",
        ">\nreads\n<",
        ">\nwrites\n<",
        ">\nall\n<",
    ] {
        assert!(svg.contains(label), "{label}");
    }
    stdout(&[&["compare", "--policies=fcfs,sptf"], &words[..]].concat());
    let svg = std::fs::read_to_string(&plot).expect("a plot");
    assert!(svg.contains(">\nfcfs\n<") && svg.contains(">\nsptf\n<"));
}
