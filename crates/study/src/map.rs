//! What a study draws as a map.

use serde::Deserialize;

use crate::axis::Axis;
use crate::figure::file_name;
use crate::metric::{Column, Metric};
use crate::place::Place;
use crate::select::{Selection, axis_of};
use diskarm_core::text::InputError;

/// A map: several metrics, one above the other, over the numbers of an axis.
#[derive(Clone, Debug)]
pub struct Map {
    /// What its file is called.
    pub name: String,
    /// What stands above it.
    pub title: String,
    /// The axis to the right, whose values are numbers.
    pub x: usize,
    /// A row each, all of one height, from the bottom to the top.
    pub y: Vec<Metric>,
    /// What stands beside them.
    pub y_label: String,
    /// The number at the top, above 0, which is at the bottom.
    pub y_most: f64,
    /// What the colours tell.
    pub values: String,
    /// Where one colour ends and the next begins, ascending.
    pub bounds: Vec<f64>,
    /// The cells that are drawn.
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
        at: &Place,
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

/// Whether the values of `axis` at the places that are kept are numbers which can have rims
/// between them.
fn has_width(axis: &Axis, is_kept: impl Fn(usize) -> bool) -> bool {
    let kept = axis.values.iter().enumerate();
    let kept = kept.filter(|(place, _)| is_kept(*place));
    let numbers: Option<Vec<f64>> = kept.map(|(_, value)| value.value.number()).collect();
    numbers.is_some_and(|mut numbers| {
        numbers.sort_by(f64::total_cmp);
        numbers.len() > 1 && numbers.is_sorted_by(|one, next| one < next)
    })
}
