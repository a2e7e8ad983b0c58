//! Densities of a study.

use diskarm_core::text::InputError;
use serde::Deserialize;

use crate::axis::Axis;
use crate::figure::file_name;
use crate::location::Location;
use crate::metric::{Column, Metric};
use crate::select::{Selection, axis_of};

/// How what a run observes is distributed: a line over the measure's bins for each value of an
/// axis.
#[derive(Clone, Debug)]
pub struct Density {
    /// The name of its file.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// The middle of each bin, ascending, and its share of all that was observed.
    pub bins: Vec<(f64, Metric)>,
    /// What the bins are bins of, with its unit.
    pub x_label: String,
    /// The label of the vertical axis.
    pub y_label: String,
    /// The axis with a line for each value.
    pub series: usize,
    /// The cells to draw.
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
    pub(crate) fn read(
        self,
        axes: &[Axis],
        columns: &[Column],
        at: &Location,
    ) -> Result<Density, InputError> {
        let bins = columns.iter().enumerate();
        let bins = bins.filter_map(|(place, column)| Some((column.middle?, Metric(place))));
        let bins: Vec<(f64, Metric)> = bins.collect();
        if bins.is_empty() {
            let expected = "a measure with bins, such as \"predictions\"";
            return Err(at.error("a measure without bins", expected));
        }
        Ok(Density {
            name: file_name(self.name, &at.part("name"))?,
            title: self.title,
            bins,
            x_label: self.x_label,
            y_label: self
                .y_label
                .unwrap_or_else(|| "Share of requests".to_owned()),
            series: axis_of(&self.series, axes, &at.part("series"))?,
            cells: Selection::read(&self.cells, axes, &at.part("where"))?,
        })
    }
}
