//! What a study draws and tabulates.

use serde::Deserialize;

use crate::axis::Axis;
use crate::metric::{Column, Metric};
use crate::place::Place;
use crate::select::{Selection, axis_of};
use diskarm_core::text::InputError;

/// How an axis of a figure is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// By powers of two.
    Log2,
    /// By powers of ten.
    Log10,
}

/// A figure: a line for each value of one axis, over the numbers of another.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What its file is called.
    pub name: String,
    /// What stands above it.
    pub title: String,
    /// The axis to the right, whose values are numbers.
    pub x: usize,
    /// How it is divided.
    pub x_scale: Scale,
    /// What is drawn upward.
    pub y: Metric,
    /// What stands beside it.
    pub y_label: String,
    /// How it is divided.
    pub y_scale: Scale,
    /// Where it ends at the latest.
    pub y_most: Option<f64>,
    /// The axis of which each value has a line.
    pub series: usize,
    /// The cells that are drawn.
    pub cells: Selection,
}

/// A table: a value of one axis to each row, of another to each column.
#[derive(Clone, Debug)]
pub struct Table {
    /// What it is called.
    pub name: String,
    /// What stands above it.
    pub title: String,
    /// The axis downward.
    pub rows: usize,
    /// The axis to the right.
    pub columns: usize,
    /// What stands in it, a table for each.
    pub metrics: Vec<Metric>,
    /// The cells that it shows.
    pub cells: Selection,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawFigure {
    name: String,
    title: String,
    x: String,
    #[serde(default)]
    x_scale: Scale,
    y: String,
    y_label: Option<String>,
    #[serde(default)]
    y_scale: Scale,
    y_most: Option<f64>,
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
    pub(crate) fn read(
        self,
        axes: &[Axis],
        columns: &[Column],
        at: &Place,
    ) -> Result<Figure, InputError> {
        let y = Metric::find(&self.y, columns, &at.part("y"))?;
        let x = axis_of(&self.x, axes, &at.part("x"))?;
        if axes[x].numbers().is_none() {
            return Err(at
                .part("x")
                .error(format!("{:?}", self.x), "an axis of numbers"));
        }
        let series = axis_of(&self.series, axes, &at.part("series"))?;
        if series == x {
            let found = format!("{:?}", self.series);
            return Err(at.part("series").error(found, "another axis than x"));
        }
        let is_length = |most: &f64| most.is_finite() && *most > 0.0;
        if let Some(most) = self.y_most.filter(|most| !is_length(most)) {
            let found = most.to_string();
            return Err(at.part("y_most").error(found, "a number above 0"));
        }
        Ok(Figure {
            name: file_name(self.name, &at.part("name"))?,
            title: self.title,
            x,
            x_scale: self.x_scale,
            y_label: self.y_label.unwrap_or_else(|| columns[y.0].title.clone()),
            y,
            y_scale: self.y_scale,
            y_most: self.y_most,
            series,
            cells: Selection::read(&self.cells, axes, &at.part("where"))?,
        })
    }
}

impl RawTable {
    pub(crate) fn read(
        self,
        axes: &[Axis],
        columns: &[Column],
        at: &Place,
    ) -> Result<Table, InputError> {
        let names = match self.metric {
            OneOrMore::One(name) => vec![name],
            OneOrMore::More(names) => names,
        };
        let metric = at.part("metric");
        let metrics = names
            .iter()
            .map(|name| Metric::find(name, columns, &metric));
        let rows = axis_of(&self.rows, axes, &at.part("rows"))?;
        let columns = axis_of(&self.columns, axes, &at.part("columns"))?;
        if columns == rows {
            let found = format!("{:?}", self.columns);
            return Err(at.part("columns").error(found, "another axis than rows"));
        }
        Ok(Table {
            metrics: metrics.collect::<Result<_, _>>()?,
            name: file_name(self.name, &at.part("name"))?,
            title: self.title,
            rows,
            columns,
            cells: Selection::read(&self.cells, axes, &at.part("where"))?,
        })
    }
}

/// A name that can be part of a file's on every system.
pub(crate) fn file_name(name: String, at: &Place) -> Result<String, InputError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match !name.is_empty() && name.chars().all(fits) && !name.starts_with('.') {
        true => Ok(name),
        false => Err(at.error(format!("{name:?}"), "letters, digits, - _ and . within")),
    }
}
