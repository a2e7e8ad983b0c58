//! The tables of a report, and the planes of cells that tables and charts show.

use diskarm_plot::rounded;
use diskarm_results::html::{self, Html};

use crate::axis::{Axis, Point, Selection, points};
use crate::file::Study;
use crate::metric::Metric;
use crate::results::Results;

/// Returns one table for each metric and each combination of values on all other axes.
pub fn all(study: &Study, results: &Results<'_>) -> Html {
    let mut tables = Vec::new();
    for table in &study.tables {
        for plane in Plane::all(&study.axes, [table.rows, table.columns], &table.cells) {
            for metric in &table.metrics {
                let rows = Headings::new(&study.axes[table.rows], &plane.along[0]);
                let columns = Headings::new(&study.axes[table.columns], &plane.along[1]);
                let cells = grid(&rows, &columns, |row, column| {
                    let point = plane.point([plane.along[0][row], plane.along[1][column]]);
                    format_metric(results, &point, *metric)
                });
                let measured = &study.columns[metric.0].title;
                tables.push(Html::from([
                    Html::element("h3", plane.full_title(&table.title)),
                    Html::with("p", &[("class", "measured")], measured.as_str()),
                    cells,
                ]));
            }
        }
    }
    tables.into_iter().collect()
}

/// Formats the metric of a cell, or the reason why there is none.
pub fn format_metric(results: &Results<'_>, point: &Point, metric: Metric) -> Html {
    match results.estimate(point, metric) {
        Some(estimate) => rounded(estimate.mean, estimate.half_width).into(),
        None if results.outcome(point).is_saturated => {
            Html::with("span", &[("class", "saturated")], "saturated")
        }
        None => "\u{2013}".into(),
    }
}

pub struct Headings<'a> {
    pub title: String,
    pub labels: Vec<&'a str>,
}

impl<'a> Headings<'a> {
    pub fn new(axis: &'a Axis, indices: &[usize]) -> Self {
        let label = |index: &usize| axis.values[*index].label.as_str();
        Self {
            title: axis.with_unit(),
            labels: indices.iter().map(label).collect(),
        }
    }

    pub fn of_metrics(
        title: &str,
        study: &'a Study,
        metrics: impl Iterator<Item = Metric>,
    ) -> Self {
        let labels = metrics.map(|metric| study.columns[metric.0].title.as_str());
        Self {
            title: title.to_owned(),
            labels: labels.collect(),
        }
    }
}

/// Returns a table; `cell` returns the content at a row and a column.
pub fn grid(
    rows: &Headings<'_>,
    columns: &Headings<'_>,
    cell: impl Fn(usize, usize) -> Html,
) -> Html {
    let heads = columns.labels.iter();
    let heads = heads.map(|label| Html::with("th", &[("scope", "col")], *label));
    let attributes = [("scope", "col"), ("rowspan", "2")];
    let corner = Html::with("th", &attributes, rows.title.as_str());
    let span = columns.labels.len().to_string();
    let attributes = [("scope", "colgroup"), ("colspan", span.as_str())];
    let columns_title = Html::with("th", &attributes, columns.title.as_str());
    let head = Html::from([
        Html::element("tr", [corner, columns_title]),
        Html::element("tr", heads.collect::<Html>()),
    ]);
    let lines = rows.labels.iter().enumerate().map(|(row, label)| {
        let head = Html::with("th", &[("scope", "row")], *label);
        let cells = (0..columns.labels.len())
            .map(|column| Html::with("td", &[("class", "number")], cell(row, column)));
        Html::element("tr", [head].into_iter().chain(cells).collect::<Html>())
    });
    let table = Html::from([
        Html::element("thead", head),
        Html::element("tbody", lines.collect::<Html>()),
    ]);
    html::wide(Html::element("table", table))
}

/// Some cells of a study in one plane, or along one axis.
pub struct Plane<const N: usize> {
    /// The values that the cells share: `Drive: HP C2247; ...`; empty if there are no other axes.
    pub label: String,
    /// The labels of the shared values.
    pub shared_labels: Vec<String>,
    /// The indices of the selected values along each axis.
    pub along: [Vec<usize>; N],
    origin: Point,
    axes: [usize; N],
}

impl<const N: usize> Plane<N> {
    /// Returns all planes along `axes` with a cell in `cells`, in the order of the study.
    pub fn all(study_axes: &[Axis], axes: [usize; N], cells: &Selection) -> Vec<Self> {
        let mut planes: Vec<Self> = Vec::new();
        let points = points(study_axes).into_iter();
        for point in points.filter(|point| cells.contains(point)) {
            let mut origin = point.clone();
            axes.iter().for_each(|axis| origin[*axis] = 0);
            let known = planes.iter().position(|plane| plane.origin == origin);
            let index = known.unwrap_or_else(|| {
                planes.push(Self::new(origin, study_axes, axes));
                planes.len() - 1
            });
            for (indices, axis) in planes[index].along.iter_mut().zip(axes) {
                if !indices.contains(&point[axis]) {
                    indices.push(point[axis]);
                }
            }
        }
        planes
    }

    fn new(origin: Point, study_axes: &[Axis], axes: [usize; N]) -> Self {
        let (mut labels, mut shared_labels) = (Vec::new(), Vec::new());
        for (number, (axis, index)) in study_axes.iter().zip(&origin).enumerate() {
            if !axes.contains(&number) && axis.values.len() > 1 {
                let value = &axis.values[*index].label;
                labels.push(format!("{}: {value}", axis.title));
                shared_labels.push(value.clone());
            }
        }
        Self {
            label: labels.join("; "),
            shared_labels,
            along: [const { Vec::new() }; N],
            origin,
            axes,
        }
    }

    pub fn point(&self, indices: [usize; N]) -> Point {
        let mut point = self.origin.clone();
        for (axis, index) in self.axes.into_iter().zip(indices) {
            point[axis] = index;
        }
        point
    }

    /// Returns `title` with the values that the cells share.
    pub fn full_title(&self, title: &str) -> String {
        match self.label.as_str() {
            "" => title.to_owned(),
            label => format!("{title} ({label})"),
        }
    }
}
