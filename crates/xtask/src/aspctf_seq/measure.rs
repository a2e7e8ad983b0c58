//! Runs of one cell, and the differences between its policies.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::cells::{Load, Setting};
use super::{POLICIES, STUDIED};
use crate::estimate::{Estimate, estimate};

/// Of synthetic workloads. All policies get the same requests from each seed.
const REPLICATIONS: &str = "5";
const REQUESTS: &str = "20000";
const WARMUP: &str = "1000";

/// Consecutive parts of a trace whose means count as independent.
const BATCHES: usize = 20;

/// All policies under one load.
pub struct Cell {
    pub load: f64,
    /// Mean response, ms, of each of [`POLICIES`].
    pub response_ms: Vec<Estimate>,
    /// Share of reads served from the buffer, of each.
    pub hit_rates: Vec<f64>,
    /// The studied policy's mean response less each one's, of the same requests, in ms.
    pub differences_ms: Vec<Estimate>,
}

/// What `diskarm` prints, as far as it is used.
#[derive(Deserialize)]
struct Report {
    response_ms: Mean,
    cache_hit_rate: f64,
    replications: Option<Vec<Replication>>,
}

#[derive(Deserialize)]
struct Mean {
    mean: f64,
}

#[derive(Deserialize)]
struct Replication {
    response_ms: Mean,
}

/// Simulates one load under all policies.
pub fn cell(root: &Path, binary: &Path, setting: &Setting, load: f64) -> Result<Cell, String> {
    let runs = match setting.load {
        Load::Workload(_) => replicated(root, binary, setting, load)?,
        Load::Trace { .. } => replayed(root, binary, setting, load)?,
    };
    let (_, studied) = &runs[STUDIED];
    let less = |parts: &[f64]| {
        let pairs = studied.iter().zip(parts);
        estimate(&pairs.map(|(own, other)| own - other).collect::<Vec<_>>())
    };
    Ok(Cell {
        load,
        response_ms: runs.iter().map(|(_, parts)| estimate(parts)).collect(),
        hit_rates: runs.iter().map(|&(hit_rate, _)| hit_rate).collect(),
        differences_ms: runs.iter().map(|(_, parts)| less(parts)).collect(),
    })
}

/// Hit rate and mean responses of each seed, policy by policy.
fn replicated(
    root: &Path,
    binary: &Path,
    setting: &Setting,
    load: f64,
) -> Result<Vec<(f64, Vec<f64>)>, String> {
    let mut arguments = vec!["compare".to_owned()];
    arguments.extend(setting.arguments(load));
    let policies = POLICIES.join(",");
    let run = ["--policies", &policies, "--requests", REQUESTS];
    let seeds = ["--warmup", WARMUP, "--seed", "1"];
    let further = ["--replications", REPLICATIONS, "--json"];
    let all = run.iter().chain(&seeds).chain(&further);
    arguments.extend(all.map(|&text| text.to_owned()));
    let reports: Vec<Report> = said(root, binary, &arguments)?;
    let parts = |report: Report| {
        let runs = report.replications.ok_or("no replications")?;
        let means = runs.iter().map(|run| run.response_ms.mean).collect();
        Ok((report.cache_hit_rate, means))
    };
    reports.into_iter().map(parts).collect()
}

/// Hit rate and mean responses of consecutive parts of a trace, policy by policy.
fn replayed(
    root: &Path,
    binary: &Path,
    setting: &Setting,
    load: f64,
) -> Result<Vec<(f64, Vec<f64>)>, String> {
    let of = |policy: &'static str| -> Result<(f64, Vec<f64>), String> {
        let rows = rows_file(policy);
        let mut arguments = vec!["simulate".to_owned()];
        arguments.extend(setting.arguments(load));
        let file = rows.to_string_lossy().into_owned();
        let further = ["--policy", policy, "--json", "--per-request", &file];
        arguments.extend(further.map(str::to_owned));
        let report: Report = said(root, binary, &arguments)?;
        let text = fs::read_to_string(&rows).map_err(|error| format!("{file}: {error}"))?;
        fs::remove_file(&rows).map_err(|error| format!("{file}: {error}"))?;
        let responses_ms = responses(&text).ok_or_else(|| format!("{file}: not as expected"))?;
        let mean = responses_ms.iter().sum::<f64>() / responses_ms.len() as f64;
        let told = report.response_ms.mean;
        if (mean / told - 1.0).abs() > 1e-4 {
            return Err(format!(
                "{policy}: rows have a mean of {mean} ms, not {told}"
            ));
        }
        Ok((report.cache_hit_rate, batches(&responses_ms)))
    };
    std::thread::scope(|scope| {
        let runs = POLICIES.map(|policy| scope.spawn(move || of(policy)));
        let done = runs.map(|run| match run.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        done.into_iter().collect()
    })
}

/// Where a run leaves its rows until they are read.
fn rows_file(policy: &str) -> PathBuf {
    std::env::temp_dir().join(format!("diskarm-{}-{policy}.csv", std::process::id()))
}

fn said<T: serde::de::DeserializeOwned>(
    root: &Path,
    binary: &Path,
    arguments: &[String],
) -> Result<T, String> {
    let output = Command::new(binary)
        .args(arguments)
        .current_dir(root)
        .output()
        .map_err(|error| format!("{}: {error}", binary.display()))?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(told.trim_end().to_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

/// Response times in ms in the order of arrival.
fn responses(text: &str) -> Option<Vec<f64>> {
    let mut lines = text.lines();
    let columns: HashMap<&str, usize> = lines.next()?.split(',').zip(0..).collect();
    let [id, disk, response] = ["id", "disk", "response_us"].map(|name| columns.get(name));
    let (id, disk, response) = (*id?, *disk?, *response?);
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let key: (u64, u64) = (cells.get(id)?.parse().ok()?, cells.get(disk)?.parse().ok()?);
        let us: f64 = cells.get(response)?.parse().ok()?;
        Some((key, us / 1000.0))
    };
    let mut rows: Vec<((u64, u64), f64)> = lines.map(row).collect::<Option<_>>()?;
    rows.sort_by_key(|&(key, _)| key);
    Some(rows.into_iter().map(|(_, ms)| ms).collect())
}

/// Means of parts of equal length; requests that are left over count nowhere.
fn batches(all: &[f64]) -> Vec<f64> {
    let length = (all.len() / BATCHES).max(1);
    let parts = all.chunks_exact(length).take(BATCHES);
    parts
        .map(|part| part.iter().sum::<f64>() / part.len() as f64)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_put_in_the_order_of_arrival() {
        let text = "id,disk,op,response_us\n1,0,R,3000\n0,0,W,1000\n";
        assert_eq!(responses(text), Some(vec![1.0, 3.0]));
        assert_eq!(responses("id,disk\n1,0\n"), None);
    }

    #[test]
    fn a_trace_falls_into_parts_of_equal_length() {
        let all: Vec<f64> = (0..41).map(f64::from).collect();
        let parts = batches(&all);
        assert_eq!(parts.len(), BATCHES);
        assert_eq!((parts[0], parts[19]), (0.5, 38.5));
    }
}
