//! The figures of the parts of a device: disks of a pair or an array, caches, buffers of drives,
//! and what failures of disks did.

use diskarm_core::device::{ComponentReport, Work};
use diskarm_simulate::Run;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::columns::{Table, decimals};
use crate::metrics::{BUFFER, CACHE, DISK, Metric, REDUNDANCY};

/// A part in one run, or in several the mean of each figure.
pub struct PartMetrics {
    /// Its place; empty for the only one.
    part: String,
    kind: &'static str,
    /// The role of a disk in the table: failed or spare.
    role: &'static str,
    figures: Vec<(&'static str, Option<f64>)>,
}

impl PartMetrics {
    /// The parts of the device in all runs, which have the same.
    pub fn all(runs: &[Run]) -> Vec<Self> {
        let first = runs.first().map_or(&[][..], |run| &run.parts);
        (0..first.len())
            .map(|number| {
                let parts = runs.iter().filter_map(|run| run.parts.get(number));
                let role = role(&first[number], first);
                Self::of(
                    &first[number],
                    role,
                    &parts.collect::<Vec<&ComponentReport>>(),
                )
            })
            .collect()
    }

    fn of(first: &ComponentReport, role: &'static str, runs: &[&ComponentReport]) -> Self {
        let (kind, figures) = match &first.work {
            Work::Disk(_) => (
                "disk",
                means(DISK, runs, |part| match &part.work {
                    Work::Disk(work) => Some(work),
                    _ => None,
                }),
            ),
            Work::Cache(_) => (
                "cache",
                means(CACHE, runs, |part| match &part.work {
                    Work::Cache(work) => Some(work),
                    _ => None,
                }),
            ),
            Work::Buffer(_) => (
                "buffer",
                means(BUFFER, runs, |part| match &part.work {
                    Work::Buffer(work) => Some(work),
                    _ => None,
                }),
            ),
            Work::Redundancy(_) => (
                "redundancy",
                means(REDUNDANCY, runs, |part| match &part.work {
                    Work::Redundancy(work) => Some(work),
                    _ => None,
                }),
            ),
        };
        let part = first.name.clone();
        Self {
            part,
            kind,
            role,
            figures,
        }
    }

    fn figure(&self, key: &str) -> Option<f64> {
        let found = self.figures.iter().find(|(name, _)| *name == key);
        found.and_then(|(_, value)| *value)
    }

    fn line<const N: usize>(&self, columns: [(&str, CellFormat); N], t: &mut Table) {
        let cells = columns.map(|(key, shown)| {
            let value = self.figure(key);
            match shown {
                CellFormat::Count => value.map_or("-".to_owned(), |count| format!("{count:.0}")),
                CellFormat::Percent => decimals(value.map(|share| share * 100.0)),
                CellFormat::Number => decimals(value),
            }
        });
        let name = format!("{} {} {}", self.kind, self.part, self.role);
        t.cells(name.trim_end(), cells.each_ref().map(String::as_str));
    }
}

impl Serialize for PartMetrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("part", &self.part)?;
        map.serialize_entry("kind", self.kind)?;
        for (key, value) in &self.figures {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Returns the role of a disk: failed, alone or with its member, or the spare of a rebuild, which is
/// the last member of its array.
fn role(disk: &ComponentReport, parts: &[ComponentReport]) -> &'static str {
    let Work::Disk(_) = disk.work else {
        return "";
    };
    let mut role = "";
    for array in parts {
        let (Work::Redundancy(work), Some(number)) = (&array.work, member(disk, array)) else {
            continue;
        };
        let mut failed = work.failures.iter().take(work.failed as usize);
        if failed.any(|failure| failure.member == number) {
            return "(failed)";
        }
        let last = parts.iter().filter_map(|part| member(part, array)).max();
        if work.rebuilt_fraction.is_some() && last == Some(number) {
            role = "(spare)";
        }
    }
    role
}

/// Returns the number of the member of `array` that is or contains a part.
fn member(part: &ComponentReport, array: &ComponentReport) -> Option<usize> {
    let place = match array.name.as_str() {
        "" => &part.name,
        name => part.name.strip_prefix(name)?.strip_prefix('.')?,
    };
    place.split('.').next()?.parse().ok()
}

/// The format of a metric in the table.
#[derive(Clone, Copy)]
enum CellFormat {
    Count,
    Percent,
    Number,
}

/// The mean of each metric over the runs that have it.
fn means<'p, T: 'static>(
    metrics: &'static [Metric<T>],
    runs: &[&'p ComponentReport],
    of: impl Fn(&'p ComponentReport) -> Option<&'p T>,
) -> Vec<(&'static str, Option<f64>)> {
    let mean = |metric: &Metric<T>| {
        let values = runs.iter().filter_map(|part| of(part).and_then(metric.of));
        let values: Vec<f64> = values.collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    metrics.iter().map(|m| (m.key, mean(m))).collect()
}

/// Adds the failures of an array, and the progress of its rebuild.
fn redundancy(part: &PartMetrics, t: &mut Table) {
    // Blocks are counted in the part, which may be one of several.
    let (failed, of) = match part.part.as_str() {
        "" => ("disks failed".to_owned(), String::new()),
        name => (
            format!("disks failed in part {name}"),
            format!("of part {name}"),
        ),
    };
    let mut line = |label: &str, value: Option<f64>, digits: usize, unit: &str| {
        if value.is_some() {
            t.row(label, value, digits, unit);
        }
    };
    let some = |key| part.figure(key).filter(|value| *value > 0.0);
    let Some(count) = some("failed_disks") else {
        return;
    };
    line(&failed, Some(count), 0, "");
    line("  first failure at", some("failed_at_s"), 3, "s");
    let rebuilt = part.figure("rebuilt").map(|share| 100.0 * share);
    line("  rebuilt", rebuilt, 1, "% of the disk that failed first");
    let unit = "s; it continues after the last request";
    line("  rebuild took", part.figure("rebuild_s"), 3, unit);
    let projected = part.figure("rebuild_projected_s");
    let unit = "s if all of it were under this load";
    line("  whole rebuild", projected, 3, unit);
    let stopped = part.figure("rebuild_stopped_at_block");
    let unit = "is the block that could not be read";
    line("  rebuild stopped at", stopped, 0, unit);
    let Some(lost) = some("lost_blocks") else {
        return;
    };
    line("  data lost at", part.figure("lost_at_s"), 3, "s");
    line("  blocks lost", Some(lost), 0, &of);
    line("  first block lost", part.figure("lost_from_block"), 0, &of);
}

/// A line for each part.
pub fn lines(parts: &[PartMetrics], t: &mut Table) {
    let of = |kind| move |part: &&PartMetrics| part.kind == kind;
    if parts.iter().any(|part| part.kind == "disk") {
        t.cells(
            "",
            ["reads", "writes", "reading, %", "writing, %", "waiting"],
        );
    }
    for disk in parts.iter().filter(of("disk")) {
        let columns = [
            ("reads", CellFormat::Count),
            ("writes", CellFormat::Count),
            ("reading", CellFormat::Percent),
            ("writing", CellFormat::Percent),
            ("waiting_mean", CellFormat::Number),
        ];
        disk.line(columns, t);
    }
    if parts.iter().any(|part| part.kind == "cache") {
        t.cells(
            "",
            ["absorbed", "waited", "hits", "destages", "dirty, mean"],
        );
    }
    for cache in parts.iter().filter(of("cache")) {
        let columns = [
            ("absorbed", CellFormat::Count),
            ("waited", CellFormat::Count),
            ("hits", CellFormat::Count),
            ("destages", CellFormat::Count),
            ("dirty_mean", CellFormat::Number),
        ];
        cache.line(columns, t);
        if let Some(failed) = cache.figure("failed").filter(|failed| *failed > 0.0) {
            t.row(
                "",
                Some(failed),
                0,
                "destages failed: what they held is lost",
            );
        }
    }
    if parts.iter().any(|part| part.kind == "buffer") {
        t.cells("", ["destaged", "in gaps", "gap writes"]);
    }
    for buffer in parts.iter().filter(of("buffer")) {
        let columns = [
            ("destaged_blocks", CellFormat::Count),
            ("destaged_in_gaps_blocks", CellFormat::Count),
            ("writes_in_gaps", CellFormat::Count),
        ];
        buffer.line(columns, t);
    }
    for part in parts.iter().filter(of("redundancy")) {
        redundancy(part, t);
    }
}
