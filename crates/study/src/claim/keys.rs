//! Reads the keys of a claim one by one.

use diskarm_core::text::InputError;

use super::CheckInfo;
use super::bounds::Bounds;
use crate::axis::Axis;
use crate::location::Location;
use crate::metric::{Column, Metric};
use crate::scalar::Scalar;
use crate::select::{Selection, axis_of};

/// The keys of a claim that have not been read yet; a key left at the end is unknown.
pub(super) struct Keys<'a> {
    left: toml::Table,
    axes: &'a [Axis],
    columns: &'a [Column],
    at: &'a Location,
}

impl<'a> Keys<'a> {
    pub(super) fn new(
        left: toml::Table,
        axes: &'a [Axis],
        columns: &'a [Column],
        at: &'a Location,
    ) -> Self {
        Self {
            left,
            axes,
            columns,
            at,
        }
    }

    /// # Errors
    /// When a key is left, which `check` does not know.
    pub(super) fn finish(self, check: &CheckInfo) -> Result<(), InputError> {
        match self.left.keys().next() {
            Some(key) => {
                let what = format!("a key of the check {:?}", check.name);
                Err(self.at.part(key).unknown(key, &what, &check.key_names()))
            }
            None => Ok(()),
        }
    }

    pub(super) fn metric(&mut self) -> Result<Metric, InputError> {
        let name = self
            .text("metric")?
            .ok_or_else(|| self.missing("metric", "a metric"))?;
        Metric::find(&name, self.columns, &self.at.part("metric"))
    }

    /// The metric `name`, which the check needs besides that of `key`.
    pub(super) fn metric_called(&self, name: &str, key: &str) -> Result<Metric, InputError> {
        Metric::find(name, self.columns, &self.at.part(key))
    }

    /// The axis that `key` names, whose values are numbers.
    pub(super) fn along(&mut self, key: &str) -> Result<usize, InputError> {
        let axis = self.axis(key)?;
        match self.axes[axis].numbers() {
            Some(_) => Ok(axis),
            None => {
                let found = format!("{:?}", self.axes[axis].name);
                Err(self.at.part(key).error(found, "an axis of numbers"))
            }
        }
    }

    /// The axis that `key` names.
    pub(super) fn axis(&mut self, key: &str) -> Result<usize, InputError> {
        let axis = self.axis_if_any(key)?;
        axis.ok_or_else(|| self.missing(key, "an axis"))
    }

    pub(super) fn axis_if_any(&mut self, key: &str) -> Result<Option<usize>, InputError> {
        let name = self.text(key)?;
        name.map(|name| axis_of(&name, self.axes, &self.at.part(key)))
            .transpose()
    }

    /// The selection at `key`; everything if it is absent.
    pub(super) fn selection(&mut self, key: &str) -> Result<Selection, InputError> {
        Ok(self.selection_if_any(key)?.unwrap_or_default())
    }

    pub(super) fn selection_if_any(&mut self, key: &str) -> Result<Option<Selection>, InputError> {
        let Some(value) = self.left.remove(key) else {
            return Ok(None);
        };
        let at = self.at.part(key);
        match value {
            toml::Value::Table(table) => Selection::read(&table, self.axes, &at).map(Some),
            other => Err(at.error(other.to_string(), "a table of axes")),
        }
    }

    /// The selection at `key`, which is required.
    pub(super) fn chosen(&mut self, key: &str) -> Result<Selection, InputError> {
        let chosen = self.selection_if_any(key)?;
        let chosen = chosen.ok_or_else(|| self.missing(key, "a table of axes"))?;
        self.named(key, chosen)
    }

    /// `selection`, which must name an axis: one that names none compares everything with itself.
    fn named(&self, key: &str, selection: Selection) -> Result<Selection, InputError> {
        match selection.is_everything() {
            true => Err(self.at.part(key).error("{}", "a table with an axis")),
            false => Ok(selection),
        }
    }

    /// The selection at `key`, with one value of each axis that it names.
    pub(super) fn side(&mut self, key: &str) -> Result<Selection, InputError> {
        let side = self.side_if_any(key)?;
        side.ok_or_else(|| self.missing(key, "a table of axes"))
    }

    pub(super) fn side_if_any(&mut self, key: &str) -> Result<Option<Selection>, InputError> {
        let side = self.selection_if_any(key)?;
        match side.as_ref().is_none_or(Selection::is_single) {
            true => side.map(|side| self.named(key, side)).transpose(),
            false => Err(self
                .at
                .part(key)
                .error("several values", "one value of each axis")),
        }
    }

    /// A list of sides.
    pub(super) fn sides(&mut self, key: &str) -> Result<Vec<Selection>, InputError> {
        let at = self.at.part(key);
        let expected = "a list of two or more tables, each with one value of each axis";
        let wrong = |found: String| at.error(found, expected);
        let Some(toml::Value::Array(items)) = self.left.remove(key) else {
            return Err(wrong("no list".to_owned()));
        };
        let sides = items.iter().map(|item| match item {
            toml::Value::Table(table) => {
                let side = Selection::read(table, self.axes, &at)?;
                side.is_single()
                    .then_some(side)
                    .ok_or_else(|| wrong(item.to_string()))
            }
            other => Err(wrong(other.to_string())),
        });
        let sides: Vec<Selection> = sides.collect::<Result<_, _>>()?;
        match sides.len() {
            0 | 1 => Err(wrong(format!("{} of them", sides.len()))),
            _ => Ok(sides),
        }
    }

    pub(super) fn number(&mut self, key: &str) -> Result<Option<f64>, InputError> {
        let Some(value) = self.left.remove(key) else {
            return Ok(None);
        };
        let number = Scalar::of(&value).and_then(|scalar| scalar.number());
        let wrong = || self.at.part(key).error(value.to_string(), "a number");
        number.ok_or_else(wrong).map(Some)
    }

    /// A percentage; `None` if it is absent.
    pub(super) fn share(&mut self, key: &str) -> Result<Option<f64>, InputError> {
        let Some(text) = self.text(key)? else {
            return Ok(None);
        };
        let share = diskarm_core::text::quantity::fraction(&text);
        let wrong = || {
            self.at
                .part(key)
                .error(format!("{text:?}"), "a percentage: \"2 %\"")
        };
        share.ok_or_else(wrong).map(Some)
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, InputError> {
        match self.left.remove(key) {
            None => Ok(None),
            Some(toml::Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.at.part(key).error(other.to_string(), "a text")),
        }
    }

    /// The share of a bound that counts as equal to it; 0 if it is absent.
    pub(super) fn tie(&mut self) -> Result<f64, InputError> {
        Ok(self.share("tie")?.unwrap_or(0.0))
    }

    /// `at_least` and `at_most`, at least one of them, and `tie`.
    pub(super) fn bounds(&mut self) -> Result<Bounds, InputError> {
        let at_least = self.number("at_least")?;
        let at_most = self.number("at_most")?;
        let tie = self.tie()?;
        match (at_least, at_most) {
            (None, None) => Err(self.missing("at_least", "at_least, at_most or both")),
            (Some(min), Some(max)) if min > max => {
                let expected = format!("no more than at_most, {max}");
                Err(self.at.part("at_least").error(min.to_string(), expected))
            }
            _ => Ok(Bounds {
                at_least,
                at_most,
                tie,
            }),
        }
    }

    pub(super) fn missing(&self, key: &str, expected: &str) -> InputError {
        self.at.part(key).error("nothing", expected)
    }
}
