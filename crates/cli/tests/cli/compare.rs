//! Tests of `diskarm compare`, which gives every policy the results of `simulate`.

use serde_json::Value;

use crate::errors::error;
use crate::{assert_narrow, diskarm, json, stdout};

const LOAD: [&str; 8] = [
    "--drive",
    "hp-c2247",
    "--random",
    "--requests",
    "2000",
    "--outstanding",
    "20",
    "--seed=7",
];

#[test]
fn every_policy_has_the_results_of_simulate() {
    let policies = "fcfs, clook(by=map),sptf";
    let compared = json(&[&["compare", "--json", "--policies", policies], &LOAD[..]].concat());
    let rows = compared.as_array().expect("a row for each policy");
    assert_eq!(rows.len(), 3);
    for (row, policy) in rows.iter().zip(["fcfs", "clook(by=map)", "sptf"]) {
        let alone = json(&[&["simulate", "--json", "--policy", policy], &LOAD[..]].concat());
        for (name, value) in alone.as_object().expect("an object") {
            if !name.contains("wall") {
                assert_eq!(&row[name], value, "{policy}: {name}");
            }
        }
        assert_eq!(row["is_saturated"], Value::Bool(false));
    }
}

#[test]
fn policies_that_do_not_keep_up_are_marked() {
    let arguments = [
        "compare",
        "--drive",
        "hp-c2247",
        "--random",
        "--rate=200/s",
        "--requests",
        "5000",
        "--policies",
        "fcfs,clook( by = 1000000000 )",
    ];
    let text = stdout(&arguments);
    assert_narrow(&text);
    let line = |begin: &str| {
        text.lines()
            .find(|line| line.starts_with(begin))
            .expect("a line")
    };
    assert!(line("fcfs ").ends_with(" *"), "{text}");
    // The name is too long for its column, so the numbers are below it.
    assert_eq!(line("clook"), "clook( by = 1000000000 )");
    assert!(text.contains("\n* requests arrive faster"), "{text}");
}

#[test]
fn different_numbers_of_requests_are_shown() {
    let table = |drive| {
        let load = ["--random", "--rate=50/s", "--requests=2000"];
        let arguments = ["compare", "--policies=fcfs,sptf", "--drive", drive];
        stdout(&[&arguments[..], &load].concat())
    };
    // The longer queue of fcfs loses more requests when the drive cannot be reached.
    let text = table("faults(outage=\"10s to 12s\", drive=hp-c2247)");
    assert_narrow(&text);
    let (heading, rows) = text.split_once("policy").expect("a table");
    assert!(!heading.contains("\nrequests "), "{text}");
    let rows: Vec<Vec<&str>> = rows
        .lines()
        .map(|line| {
            line.split_whitespace()
                .filter(|cell| *cell != "*")
                .collect()
        })
        .collect();
    assert!(rows[0].ends_with(&["requests", "failed"]), "{text}");
    let [fcfs, sptf] = [1, 2].map(|row: usize| {
        let counts = rows[row].iter().rev().take(2);
        let counts = counts.map(|cell| cell.parse::<u64>().expect("a number"));
        let counts: Vec<u64> = counts.collect();
        assert_eq!(counts[0] + counts[1], 2000, "{text}");
        counts[1]
    });
    assert!(fcfs < sptf && sptf < 2000, "{text}");
    let same = table("hp-c2247");
    assert!(same.contains("\nrequests ") && !same.contains(" requests\n"));
    assert!(!same.contains("failed"));
    // Bad blocks fail the same requests under every policy.
    let bad = table("faults(medium=\"10% after 1 retry\", drive=hp-c2247)");
    assert!(
        bad.contains("\nrequests ") && bad.contains(" failed\n"),
        "{bad}"
    );
}

#[test]
fn invalid_comparisons_are_refused() {
    let compare = |policies, load: &[&str]| {
        error(
            &[
                &["compare", "--drive", "hp-c2247", "--policies", policies],
                load,
            ]
            .concat(),
        )
    };
    let message = compare("fcfs,,sptf", &["--random"]);
    assert!(
        message.starts_with("--policies: found \"\", expected one of "),
        "{message}"
    );
    let message = compare("fcfs", &["--trace", "-"]);
    let expected =
        "`--trace -` cannot be compared: each policy reads the trace again, so give a file";
    assert_eq!(message, expected);
}

/// Comparisons on a SATA drive, whose queue takes 32 commands.
const SATA: [&str; 7] = [
    "compare",
    "--drive=sata-4tb-7200",
    "--policies=fcfs,sptf",
    "--random",
    "--requests=2000",
    "--outstanding=16",
    "--seed=7",
];

#[test]
fn a_note_explains_why_no_policy_had_a_choice() {
    let compared = |more: &[&str]| {
        let text = stdout(&[&SATA[..], more].concat());
        assert_narrow(&text);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let note = "note: on sata-4tb-7200, no policy ever had more than one request to choose from, \
                so they make no difference: it takes up to 32 commands into its own queue and \
                orders them itself. --queue drive compares policies in that queue; --set \
                queue.depth=1 leaves the choice to the host";
    assert!(compared(&[]).ends_with(note), "{}", compared(&[]));
    let faster = "times as fast as fcfs, by mean response";
    let alone = compared(&["--set", "queue.depth=1"]);
    assert!(
        alone.starts_with("drive sata-4tb-7200 with queue.depth = 1 "),
        "{alone}"
    );
    assert!(
        alone.ends_with(faster) && !alone.contains("note:"),
        "{alone}"
    );
    let inside = compared(&["--queue", "drive"]);
    assert!(
        inside.starts_with("drive sata-4tb-7200 queue the drive's own;"),
        "{inside}"
    );
    assert!(inside.ends_with(faster), "{inside}");
    let words = "compare --drive=sata-4tb-7200 --policies=sptf --random --requests=2000 \
                 --outstanding=16";
    let alone = stdout(&words.split_whitespace().collect::<Vec<_>>());
    let alone = alone.split_whitespace().collect::<Vec<_>>().join(" ");
    let one = "the policy never had more than one request to choose from, so other policies \
               would make no difference: it takes up to 32 commands";
    assert!(alone.contains(one), "{alone}");
    let never = "so they make no difference: two requests never waited at the same time";
    for rare in [&["--rate=1/s"][..], &["--outstanding=2"]] {
        for more in [&[][..], &["--set=queue.depth=1"], &["--queue=drive"]] {
            let policies = ["compare", "--drive=sata-4tb-7200", "--policies=fcfs,sptf"];
            let text =
                stdout(&[&policies[..], &["--random", "--requests=50"], rare, more].concat());
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.ends_with(never), "{text}");
        }
    }
}

/// The warning is printed on standard error, not among the rows for other programs.
#[test]
fn csv_is_printed_with_a_warning_that_no_policy_had_a_choice() {
    let output = |more: &[&str]| {
        let output = diskarm(&[&SATA[..], &["--csv"], more].concat());
        assert!(output.status.success(), "{output:?}");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (text(output.stdout), text(output.stderr))
    };
    let (rows, warning) = output(&[]);
    assert_eq!(rows.lines().count(), 3, "{rows}");
    assert!(!rows.contains("difference"), "{rows}");
    let expected = "warning: on sata-4tb-7200, no policy ever had more than one request to choose \
                    from, so they make no difference: it takes up to 32 commands into its own \
                    queue and orders them itself. --queue drive compares policies in that queue; \
                    --set queue.depth=1 leaves the choice to the host\n";
    assert_eq!(warning, expected);
    assert_eq!(output(&["--set=queue.depth=1"]).1, "");
}

#[test]
fn the_note_names_the_drive_on_which_no_policy_had_a_choice() {
    let words = "compare --drive sata-4tb-7200,hp-c2247 --policies fcfs,sptf --random \
                 --requests 1000 --outstanding 16";
    let text = stdout(&words.split_whitespace().collect::<Vec<_>>());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(text.matches("note: ").count(), 1, "{text}");
    assert!(text.contains("note: on sata-4tb-7200, no policy"), "{text}");
    // The two rows of the first drive are equal, so the sentence is about the next drive.
    assert!(text.contains("times as fast as hp-c2247, sptf"), "{text}");
}

#[test]
fn the_queue_of_a_mirror_leaves_nothing_to_the_host() {
    let mirror = [
        "compare",
        "--drive=mirror(drive=hp-c2247)",
        "--policies=fcfs,clook",
    ];
    let load = ["--random", "--requests=500", "--outstanding=16"];
    let text = stdout(&[&mirror[..], &load].concat());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "it takes requests as they arrive, and orders them itself";
    assert!(text.ends_with(why), "{text}");
}

#[test]
fn choices_are_counted() {
    let choices = |more: &[&str]| {
        let rows = json(&[&SATA[..], &["--json"], more].concat());
        let rows = rows.as_array().expect("rows").iter();
        rows.map(|row| row["choices"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(choices(&[]), [0, 0]);
    assert_eq!(choices(&["--queue=drive"]), [Value::Null, Value::Null]);
    // All but the first, which finds the drive idle, and the last, which waits alone.
    assert_eq!(choices(&["--set=queue.depth=1"]), [1998, 1998]);
}

#[test]
fn a_host_queue_and_a_drive_queue_serve_in_the_same_order() {
    // A drive that takes all requests, and one that takes one, under a policy without positions.
    let mean = |more: &[&str]| {
        let rows = json(&[&SATA[..], &["--json"], more].concat());
        rows[0]["response_ms"]["mean"].as_f64().expect("a mean")
    };
    let (inside, outside) = (mean(&["--queue=drive"]), mean(&["--set=queue.depth=1"]));
    // The drive may start the next command sooner.
    assert!(
        inside <= outside && inside > 0.97 * outside,
        "{inside} {outside}"
    );
}

#[test]
fn drives_are_compared_side_by_side() {
    let words = "compare --drive hp-c2247,seagate-st41601n --policies fcfs,sptf --random \
                 --requests 1000 --outstanding 8";
    let words: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
    let text = stdout(&words);
    assert_narrow(&text);
    assert!(
        text.starts_with("drive           hp-c2247, seagate-st41601n\n"),
        "{text}"
    );
    for begin in [
        "hp-c2247, fcfs ",
        "hp-c2247, sptf ",
        "seagate-st41601n, fcfs ",
        "seagate-st41601n, sptf ",
    ] {
        assert_eq!(text.matches(&format!("\n{begin}")).count(), 1, "{text}");
    }
    let last = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let faster = "times as fast as hp-c2247, fcfs, by mean response";
    assert!(
        last.contains(" seagate-st41601n, sptf: ") && last.ends_with(faster),
        "{last}"
    );
    // Each row equals that of a comparison of that drive alone.
    let rows = json(&[&words[..], &["--json"]].concat());
    let alone: Vec<&str> = words
        .iter()
        .map(|word| word.strip_prefix("hp-c2247,").unwrap_or(word))
        .collect();
    let alone = json(&[&alone[..], &["--json"]].concat());
    assert_eq!(rows[3]["response_ms"], alone[1]["response_ms"]);
    let csv = stdout(&[&words[..], &["--csv"]].concat());
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 5);
    let columns = lines[0].split(',').count();
    assert!(
        lines.iter().all(|line| line.split(',').count() == columns),
        "{csv}"
    );
    let mean = format!(
        "{:.3}",
        alone[1]["response_ms"]["mean"].as_f64().expect("a mean")
    );
    assert!(
        lines[4].starts_with(&format!("seagate-st41601n,sptf,1000,0,{mean},")),
        "{csv}"
    );
}

#[test]
fn the_conclusion_compares_replications_in_pairs() {
    let words = "compare --json --drive hp-c2247 --policies fcfs,sptf --random --requests 1000 \
                 --rate 45/s --replications 5";
    let words: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
    let rows = json(&words);
    let means = |row: usize| {
        let runs = rows[row]["replications"].as_array().expect("runs").clone();
        runs.iter()
            .map(|run| run["response_ms"]["mean"].as_f64().expect("a mean"))
            .collect::<Vec<f64>>()
    };
    let (fcfs, sptf) = (means(0), means(1));
    let ratios: Vec<f64> = fcfs
        .iter()
        .zip(&sptf)
        .map(|(slow, fast)| slow / fast)
        .collect();
    let mean = ratios.iter().sum::<f64>() / 5.0;
    let squares: f64 = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum();
    // Student's t with four degrees of freedom.
    let half = 2.776_445 * (squares / 4.0 / 5.0).sqrt();
    let text = stdout(
        &words
            .iter()
            .copied()
            .filter(|word| *word != "--json")
            .collect::<Vec<_>>(),
    );
    let last = text.lines().last().expect("a sentence");
    let (times, rest) = last
        .strip_prefix("sptf: ")
        .and_then(|rest| rest.split_once(" ± "))
        .expect("an interval");
    let (interval, rest) = rest.split_once(' ').expect("a sentence");
    assert_eq!(rest, "times as fast as fcfs, by mean response");
    let near = |text: &str, value: f64| {
        let decimals = text
            .split_once('.')
            .map_or(0, |(_, decimals)| decimals.len());
        assert_eq!(text, format!("{value:.decimals$}"));
    };
    near(times, mean);
    near(interval, half);
}

/// A run of 100 requests has too few for an interval of its mean.
#[test]
fn a_run_that_is_too_short_for_a_conclusion_is_reported() {
    let text = stdout(&[
        "compare",
        "--drive=hp-c2247",
        "--policies=fcfs,sptf",
        "--random",
        "--requests=100",
        "--rate=60/s",
    ]);
    assert_narrow(&text);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "as fast as fcfs, by mean response; this run is too short to rule out \
                    chance";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn invalid_settings_are_refused() {
    let error_line = |more: &[&str]| error(&[&SATA[..], more].concat());
    let message = error_line(&["--set", "queue.depht=1"]);
    let expected = "--set: queue.depht: found an unknown key, expected a known key, perhaps \
                    \"depth\"";
    assert_eq!(message, expected);
    let message = error_line(&["--set", "queue.depth=0"]);
    let expected = "--set: queue.depth: found 0, expected a whole number from 1 to 1000000";
    assert_eq!(message, expected);
    let message = error_line(&["--set", "depth"]);
    let expected = "--set: found \"depth\", expected key=value, such as \"queue.depth=1\"";
    assert_eq!(message, expected);
    let message = error_line(&["--queue=drive", "--set=queue.depth=1"]);
    let expected = "`--queue drive` needs a drive with a queue of its own: sata-4tb-7200 with \
                    queue.depth = 1 takes one command at a time (--set queue.depth=32 gives it a \
                    queue)";
    assert_eq!(message, expected);
}
