//! Tests of `simulate --replications`, which combines independent runs.

use crate::errors::error;
use crate::simulate::random;
use crate::{assert_narrow, keys, stdout};
use serde_json::Value;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn each_replication_is_the_run_of_its_seed() {
    let fixed = ["--requests", "3000", "--warmup", "100", "--rate", "40/s"];
    let with = |flags: &[&str]| random("sptf", &[&fixed[..], flags].concat());
    let all = with(&["--seed", "5", "--replications", "4"]);
    let runs = all["replications"].as_array().unwrap();
    assert_eq!((runs.len(), &runs[0]["seed"]), (4, &all["seed"]));
    for run in runs {
        let alone = with(&["--seed", &run["seed"].to_string()]);
        assert_eq!(alone["replications"], Value::Null);
        assert_eq!(alone["ci95"], Value::Null);
        for key in keys(run) {
            assert_eq!(run[key], alone[key], "{key} of {}", run["seed"]);
        }
    }
    assert_eq!(all["requests"], 4 * 2900);
    // Student's t with three degrees of freedom: 3.182446.
    let hold = |name: &str, mean: &Value, ci95: &Value, of: &dyn Fn(&Value) -> f64| {
        let values: Vec<f64> = runs.iter().map(of).collect();
        let average = values.iter().sum::<f64>() / 4.0;
        let squares: f64 = values.iter().map(|x| (x - average).powi(2)).sum();
        let half_width = 3.182_446 * (squares / 3.0 / 4.0).sqrt();
        assert!(
            (number(mean) - average).abs() < 1e-6,
            "{name}: {mean} {average}"
        );
        assert!(
            (number(ci95) - half_width).abs() < 1e-6,
            "{name}: {ci95} {half_width}"
        );
    };
    let response = &all["response_ms"];
    hold("response", &response["mean"], &response["ci95"], &|run| {
        number(&run["response_ms"]["mean"])
    });
    let ci95 = &all["ci95"];
    hold(
        "service",
        &all["service_ms"]["mean"],
        &ci95["service_ms"],
        &|run| number(&run["service_ms"]["mean"]),
    );
    hold("queue", &all["queue"]["mean"], &ci95["queue"], &|run| {
        number(&run["queue"]["mean"])
    });
    for key in ["utilisation", "throughput_per_s", "cache_hit_rate"] {
        hold(key, &all[key], &ci95[key], &|run| number(&run[key]));
    }
}

#[test]
fn replications_repeat_to_the_bit() {
    let run = || {
        let flags = ["--requests", "2000", "--replications", "9"];
        let mut figures = random("fcfs", &flags);
        for key in ["wall_s", "requests_per_wall_s"] {
            figures.as_object_mut().unwrap().remove(key);
        }
        figures.to_string()
    };
    assert_eq!(run(), run());
}

/// DiskSim 4.0 (64-bit port): five streams of 250,000 requests gave 48.47 ms, half width 0.30 ms.
#[test]
fn an_interval_over_five_streams_is_as_wide_as_that_of_disksim() {
    let flags = ["--requests", "250000", "--replications", "5"];
    let response = random("fcfs", &flags)["response_ms"].clone();
    let (mean, ci95) = (number(&response["mean"]), number(&response["ci95"]));
    // Intervals of 95 % of equal means miss each other less than once in 20 times.
    assert!((mean - 48.47).abs() < 0.3 + ci95, "{mean} ± {ci95}");
    // F of four and four degrees of freedom: 19 times in 20 one is 0.32 to 3.1 times the other.
    assert!((0.32..3.1).contains(&(ci95 / 0.3)), "{ci95}");
}

#[test]
fn the_table_has_a_line_for_each_replication() {
    let table = stdout(&[
        "simulate",
        "--drive",
        "hp-c2247",
        "--policy",
        "fcfs",
        "--requests",
        "2000",
        "--warmup",
        "10",
        "--replications",
        "3",
        "--workload",
        "poisson(rate=20/s) + poisson(rate=5/s) sequential",
    ]);
    assert_narrow(&table);
    assert!(
        table.contains("in 3 runs, each after 10 warm-up requests"),
        "{table}"
    );
    let lines = table
        .lines()
        .skip_while(|line| !line.starts_with("seed   "))
        .skip(1);
    assert!(lines.clone().count() >= 3, "{table}");
    assert_eq!(table.matches("(95 % confidence)").count(), 6, "{table}");
    assert!(table.contains("\nstream 1"), "{table}");
}

#[test]
fn options_of_a_single_run_are_refused_with_replications() {
    let fixed = ["simulate", "--drive", "hp-c2247", "--policy", "fcfs"];
    let refused = |flags: &[&str]| error(&[&fixed[..], flags].concat());
    let message = refused(&["--random", "--replications", "1"]);
    assert!(
        message.contains("expected a whole number from 2 to 1000"),
        "{message}"
    );
    for (flags, expected) in [
        (
            &["--random", "--replications", "3", "--window", "1 s"][..],
            "`--replications` cannot be combined with `--window`",
        ),
        (
            &[
                "--random",
                "--replications",
                "3",
                "--per-request",
                "rows.csv",
            ],
            "`--per-request` cannot be combined with `--replications`",
        ),
        (
            &["--trace", "x.spc", "--replications", "3"],
            "`--replications` needs `--random` or `--workload`",
        ),
    ] {
        assert!(refused(flags).contains(expected), "{flags:?}");
    }
    let message = refused(&[
        "--random",
        "--interarrival",
        "3600 s",
        "--requests",
        "1000000",
        "--replications",
        "1000",
    ]);
    assert!(message.contains("146 years"), "{message}");
}
