//! The charts and tables of a study: lines, maps, densities, and tables of numbers.

use diskarm_core::text::InputError;
use serde::Deserialize;

use crate::axis::{Axis, Selection};
use crate::metric::{Metric, Scope};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    #[default]
    Linear,
    Log2,
    Log10,
}

/// The quantity on the horizontal axis of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XQuantity {
    /// The numbers of the axis along which the lines are drawn.
    Numbers,
    Metric(Metric),
}

/// A line chart: a line for each value of one axis, drawn along another.
#[derive(Clone, Debug)]
pub struct Figure {
    pub name: String,
    pub title: String,
    pub along: usize,
    pub x: XQuantity,
    pub x_label: String,
    pub x_scale: Scale,
    pub y: Metric,
    pub y_label: String,
    pub y_scale: Scale,
    /// The largest number shown on the vertical axis.
    pub y_max: Option<f64>,
    /// The axis with a line for each value.
    pub series: usize,
    pub cells: Selection,
}

/// A table: a row for each value of one axis, a column for each value of another.
#[derive(Clone, Debug)]
pub struct Table {
    pub title: String,
    /// The axis with a row for each value.
    pub rows: usize,
    /// The axis with a column for each value.
    pub columns: usize,
    /// The metrics, each in a table of its own.
    pub metrics: Vec<Metric>,
    pub cells: Selection,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawFigure {
    name: String,
    title: String,
    x: String,
    x_label: Option<String>,
    #[serde(default)]
    x_scale: Scale,
    along: Option<String>,
    y: String,
    y_label: Option<String>,
    #[serde(default)]
    y_scale: Scale,
    #[serde(rename = "y_most")]
    y_max: Option<f64>,
    series: String,
    #[serde(default, rename = "where")]
    cells: toml::Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawTable {
    name: String,
    title: String,
    rows: String,
    columns: String,
    metric: OneOrMore,
    #[serde(default, rename = "where")]
    cells: toml::Table,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl RawFigure {
    pub(crate) fn read(self, scope: &Scope<'_>) -> Result<Figure, InputError> {
        let y = scope.metric("y", &self.y)?;
        let (x, along) = self.x_quantity(scope)?;
        let series = scope.axis("series", &self.series)?;
        if series == along {
            let found = format!("{:?}", self.series);
            let expected = match x {
                XQuantity::Numbers => "a different axis from x",
                XQuantity::Metric(_) => "a different axis from along",
            };
            return Err(scope.error("series", found, expected));
        }
        if let Some(max) = self.y_max {
            check_y_max(max, scope)?;
        }
        Ok(Figure {
            name: check_name(self.name, scope)?,
            title: self.title,
            along,
            x_label: self.x_label.unwrap_or_else(|| match x {
                XQuantity::Numbers => scope.axes[along].with_unit(),
                XQuantity::Metric(x) => scope.columns[x.0].title.clone(),
            }),
            x,
            x_scale: self.x_scale,
            y_label: self
                .y_label
                .unwrap_or_else(|| scope.columns[y.0].title.clone()),
            y,
            y_scale: self.y_scale,
            y_max: self.y_max,
            series,
            cells: scope.selection("where", &self.cells)?,
        })
    }

    /// Returns the quantity on the horizontal axis, and the axis along which the lines are drawn.
    fn x_quantity(&self, scope: &Scope<'_>) -> Result<(XQuantity, usize), InputError> {
        if let Some(along) = &self.along {
            let x = scope.metric("x", &self.x)?;
            return Ok((XQuantity::Metric(x), scope.axis("along", along)?));
        }
        let x = scope.axis("x", &self.x)?;
        if scope.axes[x].numbers().is_some() {
            return Ok((XQuantity::Numbers, x));
        }
        let found = format!("{:?}", self.x);
        Err(scope.error("x", found, "an axis of numbers"))
    }
}

impl RawTable {
    pub(crate) fn read(self, scope: &Scope<'_>) -> Result<Table, InputError> {
        let names = match self.metric {
            OneOrMore::One(name) => vec![name],
            OneOrMore::More(names) => names,
        };
        let rows = scope.axis("rows", &self.rows)?;
        let columns = scope.axis("columns", &self.columns)?;
        if columns == rows {
            let found = format!("{:?}", self.columns);
            return Err(scope.error("columns", found, "a different axis from rows"));
        }
        let metrics = names.iter().map(|name| scope.metric("metric", name));
        let metrics = metrics.collect::<Result<_, _>>()?;
        check_name(self.name, scope)?;
        Ok(Table {
            metrics,
            title: self.title,
            rows,
            columns,
            cells: scope.selection("where", &self.cells)?,
        })
    }
}

/// Checks that a name can be part of a file name on every system.
fn check_name(name: String, scope: &Scope<'_>) -> Result<String, InputError> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !name.is_empty() && name.chars().all(is_allowed) && !name.starts_with('.') {
        return Ok(name);
    }
    let found = format!("{name:?}");
    Err(scope.error(
        "name",
        found,
        "letters, digits, -, _ and ., not starting with a dot",
    ))
}

fn check_y_max(y_max: f64, scope: &Scope<'_>) -> Result<(), InputError> {
    if y_max.is_finite() && y_max > 0.0 {
        return Ok(());
    }
    Err(scope.error("y_most", y_max, "a number above 0"))
}

/// A map: several metrics, one above the other, over the numbers of an axis.
#[derive(Clone, Debug)]
pub struct Map {
    pub name: String,
    pub title: String,
    pub x: usize,
    /// The metrics, one row each, from bottom to top; all rows have the same height.
    pub y: Vec<Metric>,
    pub y_label: String,
    /// The largest number on the vertical axis, which begins at 0.
    pub y_max: f64,
    /// The meaning of the colours.
    pub color_label: String,
    /// The bounds between the colours, in ascending order.
    pub bounds: Vec<f64>,
    pub cells: Selection,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawMap {
    name: String,
    title: String,
    x: String,
    y: Vec<String>,
    y_label: String,
    #[serde(rename = "y_most")]
    y_max: f64,
    #[serde(rename = "values")]
    color_label: String,
    bounds: Vec<f64>,
    #[serde(default, rename = "where")]
    cells: toml::Table,
}

impl RawMap {
    pub(crate) fn read(self, scope: &Scope<'_>) -> Result<Map, InputError> {
        let metrics = self.y.iter().map(|name| scope.metric("y", name));
        let y: Vec<Metric> = metrics.collect::<Result<_, _>>()?;
        if y.is_empty() {
            return Err(scope.error("y", "none", "at least one metric"));
        }
        check_y_max(self.y_max, scope)?;
        let is_ascending = self.bounds.is_sorted_by(|one, next| one < next);
        if self.bounds.is_empty() || !is_ascending || self.bounds.iter().any(|b| !b.is_finite()) {
            let found = format!("{:?}", self.bounds);
            let expected = "one or more ascending numbers";
            return Err(scope.error("bounds", found, expected));
        }
        let cells = scope.selection("where", &self.cells)?;
        let x = scope.axis("x", &self.x)?;
        if !has_width(&scope.axes[x], |index| cells.keeps(x, index)) {
            let expected = "an axis of two or more numbers, all different";
            return Err(scope.error("x", format!("{:?}", self.x), expected));
        }
        Ok(Map {
            name: check_name(self.name, scope)?,
            title: self.title,
            x,
            y,
            y_label: self.y_label,
            y_max: self.y_max,
            color_label: self.color_label,
            bounds: self.bounds,
            cells,
        })
    }
}

/// Returns true if the kept values of `axis` are two or more different numbers.
fn has_width(axis: &Axis, is_kept: impl Fn(usize) -> bool) -> bool {
    let values = axis.values.iter().enumerate();
    let kept = values.filter(|(index, _)| is_kept(*index));
    let numbers: Option<Vec<f64>> = kept.map(|(_, value)| value.value.number()).collect();
    numbers.is_some_and(|mut numbers| {
        numbers.sort_by(f64::total_cmp);
        numbers.len() > 1 && numbers.is_sorted_by(|one, next| one < next)
    })
}

/// The distribution of a measure with bins: a line over the bins for each value of an axis.
#[derive(Clone, Debug)]
pub struct Density {
    pub name: String,
    pub title: String,
    /// The middle of each bin, in ascending order, and the metric with its share of observations.
    pub bins: Vec<(f64, Metric)>,
    /// The quantity of the bins, with its unit.
    pub x_label: String,
    pub y_label: String,
    /// The axis with a line for each value.
    pub series: usize,
    pub cells: Selection,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawDensity {
    name: String,
    title: String,
    x_label: String,
    y_label: Option<String>,
    series: String,
    #[serde(default, rename = "where")]
    cells: toml::Table,
}

impl RawDensity {
    pub(crate) fn read(self, scope: &Scope<'_>) -> Result<Density, InputError> {
        let columns = scope.columns.iter().enumerate();
        let bins = columns.filter_map(|(index, column)| Some((column.middle?, Metric(index))));
        let bins: Vec<(f64, Metric)> = bins.collect();
        if bins.is_empty() {
            let expected = "a measure with bins, such as \"predictions\"";
            return Err(scope.at.error("a measure without bins", expected));
        }
        Ok(Density {
            name: check_name(self.name, scope)?,
            title: self.title,
            bins,
            x_label: self.x_label,
            y_label: self.y_label.unwrap_or_else(|| "Share of requests".into()),
            series: scope.axis("series", &self.series)?,
            cells: scope.selection("where", &self.cells)?,
        })
    }
}
