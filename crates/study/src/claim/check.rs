//! The interface of a check, and what most checks share: keys, a metric in some cells, and bounds.

use std::fmt;
use std::sync::Arc;

use diskarm_core::text::{InputError, quantity};
use serde::Serialize;

use crate::axis::{Axis, Point, Selection, points};
use crate::expression::Scalar;
use crate::metric::{Column, Metric, Scope};
use crate::results::{Estimate, Results};

pub(super) struct Check {
    pub(super) judge: Box<dyn Fn(&Results<'_>) -> Finding + Send + Sync>,
    /// True if its numbers are ratios of metrics rather than metrics.
    pub(super) is_of_ratios: bool,
}

impl Check {
    pub(super) fn new(
        is_of_ratios: bool,
        judge: impl Fn(&Results<'_>) -> Finding + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            judge: Box::new(judge),
            is_of_ratios,
        })
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Check")
    }
}

pub(super) struct Finding {
    pub(super) verdict: Verdict,
    pub(super) ours: String,
    pub(super) numbers: Vec<Number>,
    /// True if the short form leaves its cells out.
    pub(super) is_left_out: bool,
}

/// The description of a check, and its reader.
pub struct CheckInfo {
    /// Its name, the value of `check`.
    pub name: &'static str,
    /// The condition under which a claim holds, in one line.
    pub holds: &'static str,
    /// Its other keys, each with its default, and their meanings.
    pub keys: &'static [(&'static str, &'static str)],
    pub(super) read: fn(&mut Keys<'_>) -> Result<Arc<Check>, InputError>,
}

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It holds in every cell that it covers.
    Holds,
    /// A confidence interval contains a bound.
    Unsure,
    /// It fails in some cell by more than the interval.
    Fails,
    /// None of its cells has the metric.
    NotMeasured,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Holds => "holds",
            Self::Unsure => "unsure",
            Self::Fails => "fails",
            Self::NotMeasured => "not measured",
        })
    }
}

/// A number that a claim is about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Number {
    /// The cell or line that it belongs to.
    pub at: String,
    /// The lower end of its 95 % interval, or of the range of a load.
    pub low: f64,
    /// The upper end; infinite, and `null` in JSON, if the cell is saturated.
    pub high: f64,
    /// The verdict on this number.
    pub verdict: Verdict,
    #[serde(skip)]
    pub(super) point: Point,
}

impl CheckInfo {
    pub(super) fn key_names(&self) -> Vec<&'static str> {
        let names = self
            .keys
            .iter()
            .map(|(written, _)| written.split(' ').next());
        names.flatten().collect()
    }
}

impl Number {
    /// Returns true if its cell is saturated, or if it is a ratio to a saturated cell.
    pub(super) fn is_saturated(&self) -> bool {
        self.low == f64::INFINITY || (self.low, self.high) == (0.0, 0.0)
    }
}

/// The range from `at_least` to `at_most`, both included; an absent bound sets no limit.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub(super) at_least: Option<f64>,
    pub(super) at_most: Option<f64>,
    /// An interval that contains a bound may extend beyond it by this fraction of the bound.
    tie: f64,
}

impl Bounds {
    pub(super) fn new(at_least: Option<f64>, at_most: Option<f64>, tie: f64) -> Self {
        Self {
            at_least,
            at_most,
            tie,
        }
    }

    fn contains(&self, number: f64) -> bool {
        self.at_least.is_none_or(|min| number >= min)
            && self.at_most.is_none_or(|max| number <= max)
    }

    pub(super) fn verdict(&self, estimate: &Estimate) -> Verdict {
        if estimate.mean.is_nan() {
            // NaN is not within any bounds.
            return Verdict::Fails;
        }
        let (low, high) = estimate.ends();
        self.verdict_between(low, high)
    }

    pub(super) fn verdict_between(&self, low: f64, high: f64) -> Verdict {
        let is_beyond = self.at_least.is_some_and(|min| high < min)
            || self.at_most.is_some_and(|max| low > max);
        match (self.contains(low) && self.contains(high), is_beyond) {
            (true, _) => Verdict::Holds,
            (false, true) => Verdict::Fails,
            (false, false) if self.is_tie(low, high) => Verdict::Holds,
            (false, false) => Verdict::Unsure,
        }
    }

    /// Returns true if an interval that contains a bound extends beyond it by at most the tie.
    fn is_tie(&self, low: f64, high: f64) -> bool {
        let reach = |bound: f64| bound.abs() * self.tie;
        self.tie > 0.0
            && self.at_least.is_none_or(|min| low >= min - reach(min))
            && self.at_most.is_none_or(|max| high <= max + reach(max))
    }
}

/// The keys of a claim that have not been read yet. A key left at the end is unknown.
pub(super) struct Keys<'a> {
    pub(super) left: toml::Table,
    pub(super) scope: &'a Scope<'a>,
}

impl Keys<'_> {
    /// Fails if a key is left, because `check` does not know that key.
    pub(super) fn finish(self, check: &CheckInfo) -> Result<(), InputError> {
        let Some(key) = self.left.keys().next() else {
            return Ok(());
        };
        let what = format!("a key of the check {:?}", check.name);
        let at = self.scope.at.part(key);
        Err(at.unknown(key, &what, &check.key_names()))
    }

    pub(super) fn metric(&mut self) -> Result<Metric, InputError> {
        let metric = self.metric_if_any("metric")?;
        metric.ok_or_else(|| self.missing("metric", "a metric"))
    }

    pub(super) fn metric_if_any(&mut self, key: &str) -> Result<Option<Metric>, InputError> {
        let name = self.text(key)?;
        name.map(|name| self.scope.metric(key, &name)).transpose()
    }

    pub(super) fn along(&mut self) -> Result<usize, InputError> {
        let axis = self.along_if_any()?;
        axis.ok_or_else(|| self.missing("along", "an axis"))
    }

    pub(super) fn along_if_any(&mut self) -> Result<Option<usize>, InputError> {
        let axis = self.axis_if_any("along")?;
        match axis.map(|axis| &self.scope.axes[axis]) {
            Some(axis) if axis.numbers().is_none() => {
                let found = format!("{:?}", axis.name);
                Err(self.scope.error("along", found, "an axis of numbers"))
            }
            _ => Ok(axis),
        }
    }

    pub(super) fn among(&mut self) -> Result<usize, InputError> {
        let axis = self.axis_if_any("among")?;
        axis.ok_or_else(|| self.missing("among", "an axis"))
    }

    pub(super) fn axis_if_any(&mut self, key: &str) -> Result<Option<usize>, InputError> {
        let name = self.text(key)?;
        name.map(|name| self.scope.axis(key, &name)).transpose()
    }

    pub(super) fn cells(&mut self) -> Result<Selection, InputError> {
        Ok(self.selection("where")?.unwrap_or_default())
    }

    fn selection(&mut self, key: &str) -> Result<Option<Selection>, InputError> {
        let table = self.value(key, "a table of axes", |value| value.as_table().cloned())?;
        table
            .map(|table| self.scope.selection(key, &table))
            .transpose()
    }

    pub(super) fn required_selection(&mut self, key: &str) -> Result<Selection, InputError> {
        let selection = self.selection(key)?;
        let selection = selection.ok_or_else(|| self.missing(key, "a table of axes"))?;
        self.check_axes(key, selection)
    }

    /// Checks that `selection` names an axis: otherwise cells would be compared with themselves.
    fn check_axes(&self, key: &str, selection: Selection) -> Result<Selection, InputError> {
        if selection.is_everything() {
            Err(self.scope.error(key, "{}", "a table with an axis"))
        } else {
            Ok(selection)
        }
    }

    pub(super) fn side(&mut self, key: &str) -> Result<Selection, InputError> {
        let side = self.side_if_any(key)?;
        side.ok_or_else(|| self.missing(key, "a table of axes"))
    }

    pub(super) fn side_if_any(&mut self, key: &str) -> Result<Option<Selection>, InputError> {
        let side = self.selection(key)?;
        if side.as_ref().is_none_or(Selection::is_single) {
            side.map(|side| self.check_axes(key, side)).transpose()
        } else {
            Err(self
                .scope
                .error(key, "several values", "one value of each axis"))
        }
    }

    pub(super) fn sides(&mut self, key: &str) -> Result<Vec<Selection>, InputError> {
        let scope = self.scope;
        let expected = "a list of two or more tables, each with one value of each axis";
        let wrong = |found: String| scope.error(key, found, expected);
        let Some(toml::Value::Array(items)) = self.left.remove(key) else {
            return Err(wrong("no list".to_owned()));
        };
        let sides = items.iter().map(|item| {
            let table = item.as_table().ok_or_else(|| wrong(item.to_string()))?;
            let side = scope.selection(key, table)?;
            let is_single = side.is_single().then_some(side);
            is_single.ok_or_else(|| wrong(item.to_string()))
        });
        let sides: Vec<Selection> = sides.collect::<Result<_, _>>()?;
        match sides.len() {
            0 => Err(wrong("an empty list".to_owned())),
            1 => Err(wrong("a list of one item".to_owned())),
            _ => Ok(sides),
        }
    }

    pub(super) fn is_table(&self, key: &str) -> bool {
        self.left.get(key).is_some_and(toml::Value::is_table)
    }

    fn value<T>(
        &mut self,
        key: &str,
        expected: &str,
        read: impl Fn(&toml::Value) -> Option<T>,
    ) -> Result<Option<T>, InputError> {
        let Some(value) = self.left.remove(key) else {
            return Ok(None);
        };
        let wrong = || self.scope.error(key, &value, expected);
        read(&value).ok_or_else(wrong).map(Some)
    }

    pub(super) fn number(&mut self, key: &str) -> Result<Option<f64>, InputError> {
        self.value(key, "a number", |value| Scalar::new(value)?.number())
    }

    pub(super) fn share(&mut self, key: &str) -> Result<Option<f64>, InputError> {
        let Some(text) = self.text(key)? else {
            return Ok(None);
        };
        let found = format!("{text:?}");
        let wrong = || self.scope.error(key, found, "a percentage such as \"2 %\"");
        quantity::fraction(&text).ok_or_else(wrong).map(Some)
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, InputError> {
        self.value(key, "a string", |value| value.as_str().map(str::to_owned))
    }

    /// Returns the value of `tie`, or 0 if it is absent. See [`Bounds`].
    pub(super) fn tie(&mut self) -> Result<f64, InputError> {
        Ok(self.share("tie")?.unwrap_or(0.0))
    }

    /// Reads `tie`, `at_least` and `at_most`; either of the last two may be absent, but not both.
    pub(super) fn bounds(&mut self) -> Result<Bounds, InputError> {
        let (at_least, at_most) = (self.number("at_least")?, self.number("at_most")?);
        let tie = self.tie()?;
        match (at_least, at_most) {
            (None, None) => Err(self.missing("at_least", "at_least, at_most or both")),
            (Some(min), Some(max)) if min > max => {
                let expected = format!("a number no greater than at_most = {max}");
                Err(self.scope.error("at_least", min, expected))
            }
            _ => Ok(Bounds::new(at_least, at_most, tie)),
        }
    }

    pub(super) fn missing(&self, key: &str, expected: &str) -> InputError {
        self.scope.error(key, "nothing", expected)
    }
}

/// A key of a check, written with its default, and its meaning.
pub(super) type Key = (&'static str, &'static str);

pub(super) const METRIC: Key = ("metric", "the metric to check");
pub(super) const ALONG: Key = ("along", "an axis of numbers");
pub(super) const WHERE: Key = ("where = {}", "the cells to check; all if omitted");
pub(super) const AT_LEAST: Key = (
    "at_least",
    "the lower bound; at_least, at_most or both are needed",
);
pub(super) const AT_MOST: Key = ("at_most", "the upper bound");
pub(super) const TIE: Key = (
    "tie = \"0 %\"",
    "the claim also holds if an interval contains a bound but extends beyond it by at most this \
     percentage of the bound",
);

pub(super) struct Subject {
    pub(super) metric: Metric,
    pub(super) cells: Selection,
    pub(super) bounds: Bounds,
}

impl Subject {
    pub(super) fn read(keys: &mut Keys<'_>) -> Result<Self, InputError> {
        Ok(Self {
            metric: keys.metric()?,
            cells: keys.cells()?,
            bounds: keys.bounds()?,
        })
    }

    pub(super) fn points(&self, axes: &[Axis]) -> Vec<Point> {
        let mut points = points(axes);
        points.retain(|point| self.cells.contains(point));
        points
    }
}

/// Prefixes of metrics that grow with the queue: larger in a saturated cell than in any other.
/// Saturation says nothing about other metrics, such as hit rates and parts of the service time.
const UNBOUNDED: &[&str] = &[
    "response_ms_",
    "reads_response_ms_",
    "writes_response_ms_",
    "queue_",
    "waiting_",
];

/// Returns true if `metric`, or the metric of which it is a multiple, grows without bound.
pub(super) fn is_unbounded(columns: &[Column], metric: Metric) -> bool {
    let column = &columns[metric.0];
    match column.multiple(columns, |_| None) {
        Some((of, _)) => is_unbounded(columns, Metric(of)),
        None => UNBOUNDED.iter().any(|start| column.name.starts_with(start)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_contains_a_bound_is_unsure() {
        let bounds = Bounds::new(Some(1.0), Some(2.0), 0.0);
        for (mean, half, verdict) in [
            (1.5, 0.5, Verdict::Holds),
            (1.5, 0.6, Verdict::Unsure),
            (0.9, 0.2, Verdict::Unsure),
            (0.9, 0.05, Verdict::Fails),
            (2.1, 0.0, Verdict::Fails),
            (f64::NAN, 0.0, Verdict::Fails),
        ] {
            let estimate = Estimate::new(mean, Some(half), Vec::new());
            assert_eq!(bounds.verdict(&estimate), verdict, "{mean} {half}");
        }
    }

    /// With a tie of 2 %, an interval that contains 1 may reach up to 1.02, but one that is wholly
    /// above 1 fails however close it is.
    #[test]
    fn a_tie_holds_and_a_difference_does_not() {
        let bounds = Bounds::new(None, Some(1.0), 0.02);
        assert_eq!(bounds.verdict_between(0.99, 1.02), Verdict::Holds);
        assert_eq!(bounds.verdict_between(0.99, 1.03), Verdict::Unsure);
        assert_eq!(bounds.verdict_between(1.001, 1.002), Verdict::Fails);
        let bounds = Bounds::new(Some(2.0), None, 0.05);
        assert_eq!(bounds.verdict_between(1.9, 2.1), Verdict::Holds);
        assert_eq!(bounds.verdict_between(1.8, 2.1), Verdict::Unsure);
    }
}
