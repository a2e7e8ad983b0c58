//! Metrics: the columns of the results, and the interface of a measure, which fills them.

use std::fmt::Display;
use std::ops::ControlFlow;

use diskarm_core::text::InputError;

use crate::axis::{Axis, Selection, axis_of};
use crate::expression::{self, Location, names};

/// A column of the results.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name, which ends in the unit if it has one: `response_ms_mean`.
    pub name: String,
    /// The title in figures.
    pub title: String,
    /// The middle of the bin, if the column is the share of observations in a bin.
    pub(crate) middle: Option<f64>,
    /// The product that defines it; `None` for a column that is measured.
    derivation: Option<Derivation>,
}

/// The product of another column and numbers of the cell.
#[derive(Clone, Debug, PartialEq)]
struct Derivation {
    base: usize,
    expression: String,
}

/// The index of a column of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric(pub usize);

impl Column {
    pub(crate) fn measured(name: &str, title: &str) -> Self {
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            middle: None,
            derivation: None,
        }
    }

    pub(crate) fn all(columns: &[(&str, &str)]) -> Vec<Self> {
        columns.iter().map(|(n, t)| Self::measured(n, t)).collect()
    }

    /// Returns the column `name`, a product of one of `columns` and of numeric `fields`.
    pub(crate) fn derived(
        name: &str,
        expression: &str,
        columns: &[Self],
        fields: &[&str],
        at: &Location,
    ) -> Result<Self, InputError> {
        let wrong = |expected: &str| at.error(format!("{expression:?}"), expected);
        if columns.iter().any(|column| column.name == name) {
            return Err(wrong("a name that no other column has"));
        }
        let mut base = None;
        for part in names(expression) {
            match columns.iter().position(|column| column.name == part) {
                Some(column) if base.replace(column).is_some() => {
                    return Err(wrong("only one metric, and numbers"));
                }
                Some(_) => {}
                None if fields.contains(&part) => {}
                None => return Err(at.unknown(part, "a metric or a field", &names_of(columns))),
            }
        }
        let first = names(expression).next();
        let base = base.filter(|base| first == Some(&columns[*base].name));
        let base = base.ok_or_else(|| wrong("a metric first, multiplied or divided by numbers"))?;
        let expression = expression.to_owned();
        Ok(Self {
            derivation: Some(Derivation { base, expression }),
            ..Self::measured(name, &name.replace('_', " "))
        })
    }

    /// Returns the column of which it is a multiple, and the factor; `None` for a measured column.
    /// `number` returns the numeric field of the cell that has the given name.
    pub(crate) fn multiple(
        &self,
        columns: &[Self],
        number: impl Fn(&str) -> Option<f64>,
    ) -> Option<(usize, f64)> {
        let Derivation { base, expression } = self.derivation.as_ref()?;
        let base_name = &columns[*base].name;
        let factor = |name: &str| (name == base_name).then_some(1.0).or_else(|| number(name));
        // The factor is undefined if a field is not a number in this cell.
        let product = expression::product(expression, factor).unwrap_or(f64::NAN);
        Some((*base, product))
    }
}

/// The axes and metrics that a part of the file can name, and the location of that part.
pub(crate) struct Scope<'a> {
    pub(crate) axes: &'a [Axis],
    pub(crate) columns: &'a [Column],
    pub(crate) at: Location,
}

impl Scope<'_> {
    pub(crate) fn axis(&self, key: &str, name: &str) -> Result<usize, InputError> {
        axis_of(name, self.axes, &self.at.part(key))
    }

    pub(crate) fn metric(&self, key: &str, name: &str) -> Result<Metric, InputError> {
        let index = self.columns.iter().position(|column| column.name == name);
        index.map(Metric).ok_or_else(|| {
            let known = names_of(self.columns);
            let at = self.at.part(key);
            at.unknown(name, "a metric that is measured", &known)
        })
    }

    pub(crate) fn selection(
        &self,
        key: &str,
        table: &toml::Table,
    ) -> Result<Selection, InputError> {
        Selection::read(table, self.axes, &self.at.part(key))
    }

    /// Returns the error for a value of `key` that is `found` instead of `expected`.
    pub(crate) fn error(
        &self,
        key: &str,
        found: impl Display,
        expected: impl Into<String>,
    ) -> InputError {
        self.at.part(key).error(found, expected)
    }
}

fn names_of(columns: &[Column]) -> Vec<&str> {
    columns.iter().map(|column| column.name.as_str()).collect()
}

/// The description of a measure.
#[derive(Clone, Copy, Debug)]
pub struct MeasureInfo {
    /// Its name, the value of `measure`.
    pub name: &'static str,
    /// A description, in one line.
    pub summary: &'static str,
    /// Returns its columns; `until_ci95` applies to the first.
    pub columns: fn() -> Vec<Column>,
}

/// A function that is called repeatedly during a run, and returns whether to continue.
pub(crate) type Stop<'a> = &'a (dyn Fn() -> ControlFlow<()> + Sync);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RunOutcome {
    /// A number for each column of the measure; `None` for a column without a value.
    Measured(Vec<Option<f64>>),
    /// Requests arrived faster than they were served.
    Saturated,
    Stopped,
}
