//! Maps of a study.

use diskarm_core::text::InputError;
use serde::Deserialize;

use crate::axis::Axis;
use crate::figure::file_name;
use crate::location::Location;
use crate::metric::{Column, Metric};
use crate::select::{Selection, axis_of};

/// A map: several metrics, one above the other, over the numbers of an axis.
#[derive(Clone, Debug)]
pub struct Map {
    /// The name of its file.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// The horizontal axis, whose values are numbers.
    pub x: usize,
    /// The metrics, one row each, from bottom to top; all rows have the same height.
    pub y: Vec<Metric>,
    /// The label of the vertical axis.
    pub y_label: String,
    /// The number at the top of the vertical axis; it begins at 0.
    pub y_most: f64,
    /// What the colours mean.
    pub values: String,
    /// The bounds between the colours, ascending.
    pub bounds: Vec<f64>,
    /// The cells to draw.
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
    y_most: f64,
    values: String,
    bounds: Vec<f64>,
    #[serde(default, rename = "where")]
    cells: toml::Table,
}

impl RawMap {
    pub(crate) fn read(
        self,
        axes: &[Axis],
        columns: &[Column],
        at: &Location,
    ) -> Result<Map, InputError> {
        let metrics = self.y.iter();
        let metrics = metrics.map(|name| Metric::find(name, columns, &at.part("y")));
        let y: Vec<Metric> = metrics.collect::<Result<_, _>>()?;
        if y.is_empty() {
            return Err(at.part("y").error("none", "at least one metric"));
        }
        if !(self.y_most.is_finite() && self.y_most > 0.0) {
            let found = self.y_most.to_string();
            return Err(at.part("y_most").error(found, "a number above 0"));
        }
        let ascends = self.bounds.is_sorted_by(|one, next| one < next);
        if self.bounds.is_empty() || !ascends || self.bounds.iter().any(|b| !b.is_finite()) {
            let found = format!("{:?}", self.bounds);
            return Err(at
                .part("bounds")
                .error(found, "one number or more, ascending"));
        }
        let cells = Selection::read(&self.cells, axes, &at.part("where"))?;
        let x = axis_of(&self.x, axes, &at.part("x"))?;
        if !has_width(&axes[x], |place| cells.keeps(x, place)) {
            let expected = "an axis of numbers, two or more of them, all different";
            return Err(at.part("x").error(format!("{:?}", self.x), expected));
        }
        Ok(Map {
            name: file_name(self.name, &at.part("name"))?,
            title: self.title,
            x,
            y,
            y_label: self.y_label,
            y_most: self.y_most,
            values: self.values,
            bounds: self.bounds,
            cells,
        })
    }
}

/// Whether the kept values of `axis` are two or more different numbers.
fn has_width(axis: &Axis, is_kept: impl Fn(usize) -> bool) -> bool {
    let kept = axis.values.iter().enumerate();
    let kept = kept.filter(|(place, _)| is_kept(*place));
    let numbers: Option<Vec<f64>> = kept.map(|(_, value)| value.value.number()).collect();
    numbers.is_some_and(|mut numbers| {
        numbers.sort_by(f64::total_cmp);
        numbers.len() > 1 && numbers.is_sorted_by(|one, next| one < next)
    })
}
