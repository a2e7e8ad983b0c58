//! Metrics of the parts of a device: disks of a pair or an array, caches, buffers of drives, and
//! the effects of disk failures.

use diskarm_core::device::{ComponentReport, Work};
use diskarm_simulate::Run;
use diskarm_simulate::devices::{CellFormat, PartKind, PartMetric, part_kinds};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::columns::{Table, decimals};

/// A part in one run, or in several with the mean of each metric.
pub struct PartMetrics {
    /// Its place; empty for the only one.
    part: String,
    kind: &'static str,
    /// The role of a disk among the others, in the table.
    role: &'static str,
    figures: Vec<(&'static str, Option<f64>)>,
}

impl PartMetrics {
    /// Returns the parts of the device in all runs, which have the same.
    pub fn all(runs: &[Run]) -> Vec<Self> {
        let first = runs.first().map_or(&[][..], |run| &run.parts);
        let parts = first.iter().enumerate().map(|(number, part)| {
            let alike: Vec<_> = runs
                .iter()
                .filter_map(|run| run.parts.get(number))
                .collect();
            Self::new(part, role(part, first), &alike)
        });
        parts.collect()
    }

    fn new(first: &ComponentReport, role: &'static str, runs: &[&ComponentReport]) -> Self {
        let name = first.work.kind();
        let kind = part_kinds().iter().find(|kind| kind.name == name);
        let kind = kind.unwrap_or_else(|| panic!("no metrics of a part of kind {name}"));
        let mean = |metric: &PartMetric| {
            let values = runs.iter().filter_map(|part| (metric.value)(&part.work));
            let values: Vec<f64> = values.collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            (metric.key, (!values.is_empty()).then_some(mean))
        };
        Self {
            part: first.name.clone(),
            kind: name,
            role,
            figures: kind.metrics.iter().map(mean).collect(),
        }
    }

    fn figure(&self, key: &str) -> Option<f64> {
        let found = self.figures.iter().find(|(name, _)| *name == key);
        found.and_then(|(_, value)| *value)
    }

    fn line(&self, kind: &PartKind, t: &mut Table) {
        let cells = kind.metrics.iter().filter_map(|metric| {
            let (_, format) = metric.cell?;
            let value = self.figure(metric.key);
            Some(match format {
                CellFormat::Count => value.map_or("-".to_owned(), |count| format!("{count:.0}")),
                CellFormat::Percent => decimals(value.map(|share| share * 100.0)),
                CellFormat::Decimals => decimals(value),
            })
        });
        let name = format!("{} {} {}", self.kind, self.part, self.role);
        t.cells(name.trim_end(), cells);
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

/// Returns the role of a disk among all `parts`: failed, or within a member that has failed; or the
/// spare of a rebuild, which is its array's last member.
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

/// Returns the number of the member of `array` that a part is, or is within.
fn member(part: &ComponentReport, array: &ComponentReport) -> Option<usize> {
    let place = match array.name.as_str() {
        "" => &part.name,
        name => part.name.strip_prefix(name)?.strip_prefix('.')?,
    };
    place.split('.').next()?.parse().ok()
}

/// Adds the effects of failures on an array, and the progress of its rebuild.
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
    let figure = |key| part.figure(key);
    let some = |key| figure(key).filter(|value| *value > 0.0);
    let Some(count) = some("failed_disks") else {
        return;
    };
    line(&failed, Some(count), 0, "");
    line("  first failure at", some("failed_at_s"), 3, "s");
    let rebuilt = figure("rebuilt").map(|share| 100.0 * share);
    line("  rebuilt", rebuilt, 1, "% of the disk that failed first");
    let unit = "s; it continues after the last request";
    line("  rebuild took", figure("rebuild_s"), 3, unit);
    let unit = "s if all of it were under this load";
    line("  whole rebuild", figure("rebuild_projected_s"), 3, unit);
    let unit = "is the block that could not be read";
    line(
        "  rebuild stopped at",
        figure("rebuild_stopped_at_block"),
        0,
        unit,
    );
    let Some(lost) = some("lost_blocks") else {
        return;
    };
    line("  data lost at", figure("lost_at_s"), 3, "s");
    line("  blocks lost", Some(lost), 0, &of);
    line("  first block lost", figure("lost_from_block"), 0, &of);
}

/// Writes a line for each part, grouped by kinds.
pub fn lines(parts: &[PartMetrics], t: &mut Table) {
    for kind in part_kinds() {
        let parts: Vec<_> = parts.iter().filter(|part| part.kind == kind.name).collect();
        let heads = kind.metrics.iter().filter_map(|metric| metric.cell);
        let heads: Vec<&str> = heads.map(|(head, _)| head).collect();
        if !(parts.is_empty() || heads.is_empty()) {
            t.cells("", heads);
            for part in &parts {
                part.line(kind, t);
                let lost = part.figure("failed").filter(|failed| *failed > 0.0);
                if kind.name == "cache" && lost.is_some() {
                    t.row("", lost, 0, "destages failed: what they held is lost");
                }
            }
        }
        if kind.name == "redundancy" {
            for part in parts {
                redundancy(part, t);
            }
        }
    }
}
