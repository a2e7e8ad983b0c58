//! The report on the comparison of two specifications.

use std::collections::BTreeSet;
use std::fmt::Write;

use diskarm_core::spec::{Key, KeyKind, Value, milliseconds};
use diskarm_core::units::Span;
use diskarm_extract::{Comparison, Difference, SeekDifference};
use serde::Serialize;

/// Times that differ by less than this, or relatively by less than [`SHARE`], are equal within
/// measurement accuracy.
const TIME: Span = Span::from_ns(20_000);
const SHARE: f64 = 0.01;
/// Rotation periods with a smaller relative difference are equal.
const PERIOD: f64 = 1e-6;

/// The comparison of two specifications, as printed.
#[derive(Debug, Serialize)]
pub struct ComparisonReport {
    first: String,
    second: String,
    /// True if everything is equal within measurement accuracy.
    is_equal: bool,
    values: Vec<ValueRow>,
    layout: LayoutRow,
    read_seeks: SeekRow,
    write_seeks: SeekRow,
    /// Sums of overheads of requests of one sector.
    sums: Vec<SumRow>,
}

#[derive(Debug, Serialize)]
struct ValueRow {
    key: &'static str,
    first: Option<String>,
    second: Option<String>,
    is_equal: bool,
    /// False if a measured specification calls the value not determined.
    is_determined: bool,
    /// True if the value is a part of the sums.
    #[serde(skip)]
    is_part: bool,
}

#[derive(Debug, Serialize)]
struct SumRow {
    name: &'static str,
    first_ms: f64,
    second_ms: f64,
    is_equal: bool,
}

#[derive(Debug, Serialize)]
struct LayoutRow {
    blocks: u64,
    blocks_on_other_tracks: u64,
    largest_turn_revolutions: f64,
    first_block_elsewhere: Option<u64>,
    /// The offset of the second specification's cylinder numbers, if all else is equal.
    cylinders_higher: Option<i64>,
}

impl LayoutRow {
    fn text(&self) -> String {
        let blocks = self.blocks;
        match (self.first_block_elsewhere, self.cylinders_higher) {
            (None, _) => format!("layout: all {blocks} blocks at equal locations\n"),
            (Some(_), Some(by)) => {
                let than = if by > 0 { "higher" } else { "lower" };
                format!(
                    "layout: all {blocks} blocks at equal locations; the second numbers cylinders \
                     {} {than}\n",
                    by.abs()
                )
            }
            (Some(at), None) => format!(
                "layout: {} of {blocks} blocks are on other tracks; the first difference is at \
                 block {at}\n",
                self.blocks_on_other_tracks
            ),
        }
    }
}

#[derive(Debug, Serialize)]
struct SeekRow {
    mean_difference_ms: f64,
    largest: Distance,
    largest_relative: Distance,
    is_equal: bool,
}

#[derive(Debug, Serialize)]
struct Distance {
    cylinders: u32,
    first_ms: f64,
    second_ms: f64,
}

impl ComparisonReport {
    /// Reports the comparison of `first` and `second`. Differences in the values of undetermined
    /// keys are listed but do not count.
    pub fn new(
        first: &str,
        second: &str,
        comparison: &Comparison,
        undetermined: &BTreeSet<&str>,
    ) -> Self {
        let mut values: Vec<ValueRow> = comparison.values.iter().map(ValueRow::new).collect();
        for row in &mut values {
            row.is_determined = !undetermined.contains(row.key);
        }
        // Different geometries may describe the same locations.
        let same_places = comparison.layout.is_equal_up_to_numbering();
        let of_layout = values
            .iter_mut()
            .filter(|row| row.key.starts_with("geometry."));
        of_layout.for_each(|row| row.is_equal = same_places);
        let sums: Vec<SumRow> = comparison
            .sums
            .iter()
            .map(|(name, [first, second])| SumRow::new(name, *first, *second))
            .collect();
        // Different parts may have the same sums.
        if sums.iter().all(|sum| sum.is_equal) {
            let parts = values.iter_mut().filter(|row| row.is_part);
            parts.for_each(|row| row.is_equal = true);
        }
        let layout = LayoutRow {
            blocks: comparison.layout.blocks.0,
            blocks_on_other_tracks: comparison.layout.other_track.0,
            largest_turn_revolutions: comparison.layout.largest_turn,
            first_block_elsewhere: comparison.layout.first_elsewhere.map(|at| at.0),
            cylinders_higher: comparison.layout.cylinders_higher,
        };
        let [read_seeks, write_seeks] = [&comparison.reads, &comparison.writes].map(SeekRow::new);
        // Part of the seek times of writes.
        let settle = values
            .iter_mut()
            .find(|row| row.key == "mechanics.write_settle");
        if let Some(row) = settle {
            row.is_equal = write_seeks.is_equal;
        }
        Self {
            first: first.to_owned(),
            second: second.to_owned(),
            is_equal: values.iter().all(|row| row.is_equal || !row.is_determined)
                && same_places
                && read_seeks.is_equal
                && write_seeks.is_equal,
            values,
            layout,
            read_seeks,
            write_seeks,
            sums,
        }
    }
}

impl SumRow {
    fn new(name: &'static str, first: Span, second: Span) -> Self {
        Self {
            name,
            first_ms: first.as_ms(),
            second_ms: second.as_ms(),
            is_equal: is_near(first, second),
        }
    }
}

impl ValueRow {
    fn new(difference: &Difference) -> Self {
        let Difference { key, first, second } = difference;
        let shown = |value: &Option<Value>| value.as_ref().map(|value| format_value(key, value));
        Self {
            key: key.path,
            first: shown(first),
            second: shown(second),
            is_equal: match (first, second) {
                (Some(Value::Time(first)), Some(Value::Time(second))) => is_near(*first, *second),
                (Some(Value::Number(first)), Some(Value::Number(second))) => {
                    (first - second).abs() <= PERIOD * first.abs()
                }
                _ => false,
            },
            is_determined: true,
            is_part: is_overhead(key.path) && matches!(key.kind, KeyKind::Time { .. }),
        }
    }
}

/// Returns true if a time is only observable as part of a sum over one-sector requests.
fn is_overhead(path: &str) -> bool {
    path.starts_with("overheads.") || path == "mechanics.track_settle"
}

fn is_near(first: Span, second: Span) -> bool {
    let apart = (second - first).as_ns().abs();
    apart <= TIME.as_ns() || apart as f64 <= SHARE * first.as_ns().abs() as f64
}

fn format_value(key: &Key, value: &Value) -> String {
    match value {
        Value::Time(time) => format!("{} ms", milliseconds(*time)),
        value => key.toml(value).trim_matches('"').to_owned(),
    }
}

impl SeekRow {
    fn new(difference: &SeekDifference) -> Self {
        let distance = |(cylinders, [first, second]): (u32, [Span; 2])| Distance {
            cylinders,
            first_ms: first.as_ms(),
            second_ms: second.as_ms(),
        };
        let (_, [first, second]) = difference.largest;
        Self {
            mean_difference_ms: difference.mean.as_ms(),
            largest: distance(difference.largest),
            largest_relative: distance(difference.largest_relative),
            is_equal: is_near(first, second),
        }
    }

    fn text(&self, of: &str) -> String {
        let mut text = format!(
            "seeks before {of} differ by {:.4} ms on average\n",
            self.mean_difference_ms
        );
        for (what, distance) in [
            ("most", &self.largest),
            ("most in proportion", &self.largest_relative),
        ] {
            if distance.cylinders > 0 {
                let _ = writeln!(
                    text,
                    "  {what}: {} cylinders, {:.4} and {:.4} ms",
                    distance.cylinders, distance.first_ms, distance.second_ms
                );
            }
        }
        text
    }
}

impl ComparisonReport {
    /// Returns true if everything is equal within measurement accuracy.
    pub fn is_equal(&self) -> bool {
        self.is_equal
    }

    /// Lists the differing values that are determined, or the others; empty if there are none.
    fn values_text(&self, heading: &str, are_determined: bool) -> String {
        let rows = self.values.iter();
        let mut rows = rows
            .filter(|row| row.is_determined == are_determined)
            .peekable();
        let mut text = String::new();
        if rows.peek().is_some() {
            let _ = writeln!(text, "{heading:<42} {:>16} {:>16}", "first", "second");
        }
        for row in rows {
            let value = |value: &Option<String>| value.clone().unwrap_or("-".to_owned());
            let near = if row.is_equal && row.is_determined {
                "  near"
            } else {
                ""
            };
            let (first, second) = (value(&row.first), value(&row.second));
            let _ = writeln!(text, "{:<42} {first:>16} {second:>16}{near}", row.key);
        }
        text
    }

    fn sums_text(&self) -> String {
        let other: Vec<&SumRow> = self.sums.iter().filter(|sum| !sum.is_equal).collect();
        if other.is_empty() {
            return "observable sums of overheads: near\n".to_owned();
        }
        let mut text = "observable sums of overheads that differ:\n".to_owned();
        for sum in other {
            let _ = writeln!(
                text,
                "  {}: {:.4} and {:.4} ms",
                sum.name, sum.first_ms, sum.second_ms
            );
        }
        text
    }

    /// Returns the report as text, at most 80 columns wide unless values are long.
    pub fn text(&self) -> String {
        let (first, second) = (&self.first, &self.second);
        let mut text = format!("{first} and {second}\n\n");
        if self.values.iter().all(|row| !row.is_determined) {
            text += "values: equal\n";
        }
        text += &self.values_text("values that differ", true);
        text += &self.values_text("values that were not determined", false);
        text += "\n";
        text += &self.layout.text();
        text += &self.read_seeks.text("reads");
        text += &self.write_seeks.text("writes");
        text += &self.sums_text();
        text += if self.is_equal {
            "\nequal within measurement accuracy\n"
        } else {
            "\ndifferent\n"
        };
        text
    }
}
