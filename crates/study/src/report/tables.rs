//! The tables of a report, and the planes of cells that tables and charts show.

use diskarm_plot::rounded;
use diskarm_results::html::{self, Html};

use crate::axis::{Axis, Point, Selection, points};
use crate::file::Study;
use crate::metric::Metric;
use crate::results::Results;

/// All tables: one for each metric and each combination of values of the axes that a table does not
/// name.
pub fn all(study: &Study, results: &Results<'_>) -> Html {
    let mut tables = Vec::new();
    for table in &study.tables {
        for plane in Plane::all(&study.axes, [table.rows, table.columns], &table.cells) {
            for metric in &table.metrics {
                let (rows, columns) = (&study.axes[table.rows], &study.axes[table.columns]);
                let [rows, columns] = [(rows, 0), (columns, 1)]
                    .map(|(axis, along)| Heads::of(axis, &plane.along[along]));
                let cells = grid(&rows, &columns, |row, column| {
                    let point = plane.point([plane.along[0][row], plane.along[1][column]]);
                    figure(results, &point, *metric)
                });
                let measured = &study.columns[metric.0].title;
                tables.push(Html::from([
                    Html::element("h3", plane.titled(&table.title)),
                    Html::with("p", &[("class", "measured")], measured.as_str()),
                    cells,
                ]));
            }
        }
    }
    tables.into_iter().collect()
}

/// The metric of a cell, or why there is none.
pub fn figure(results: &Results<'_>, point: &Point, metric: Metric) -> Html {
    match results.estimate(point, metric) {
        Some(estimate) => rounded(estimate.mean, estimate.half_width).into(),
        None if results.at(point).is_saturated => {
            Html::with("span", &[("class", "saturated")], "saturated")
        }
        None => "\u{2013}".into(),
    }
}

/// The headings of a table's rows or columns.
pub struct Heads<'a> {
    /// The title of the axis.
    pub title: String,
    /// The label of each row or column.
    pub labels: Vec<&'a str>,
}

impl<'a> Heads<'a> {
    /// The values of an axis at these indices.
    pub fn of(axis: &'a Axis, places: &[usize]) -> Self {
        let labels = places.iter();
        Self {
            title: axis.with_unit(),
            labels: labels
                .map(|place| axis.values[*place].label.as_str())
                .collect(),
        }
    }
}

/// A table; `cell` returns the content at a row and a column.
pub fn grid(rows: &Heads<'_>, columns: &Heads<'_>, cell: impl Fn(usize, usize) -> Html) -> Html {
    let heads = columns.labels.iter();
    let heads = heads.map(|label| Html::with("th", &[("scope", "col")], *label));
    let corner = [("scope", "col"), ("rowspan", "2")];
    let corner = Html::with("th", &corner, rows.title.as_str());
    let span = columns.labels.len().to_string();
    let above = [("scope", "colgroup"), ("colspan", span.as_str())];
    let above = Html::with("th", &above, columns.title.as_str());
    let head = Html::from([
        Html::element("tr", [corner, above]),
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

/// Some cells of a study that lie in one plane, or along one axis.
pub struct Plane<const N: usize> {
    /// The values that they share: `Drive: HP C2247, ...`; empty without other axes.
    pub label: String,
    /// The labels of the values that they share.
    pub words: Vec<String>,
    /// The indices of the selected values along each axis.
    pub along: [Vec<usize>; N],
    /// A point in the plane.
    origin: Point,
    axes: [usize; N],
}

impl<const N: usize> Plane<N> {
    /// All planes along `axes` with a cell in `cells`, in the order of the study.
    pub fn all(study_axes: &[Axis], axes: [usize; N], cells: &Selection) -> Vec<Self> {
        let chosen: Vec<Point> = points(study_axes)
            .into_iter()
            .filter(|point| cells.has(point))
            .collect();
        let mut planes: Vec<Self> = Vec::new();
        for point in chosen {
            let mut origin = point.clone();
            axes.iter().for_each(|axis| origin[*axis] = 0);
            let plane = match planes.iter_mut().find(|plane| plane.origin == origin) {
                Some(plane) => plane,
                None => {
                    planes.push(Self::at(origin, study_axes, axes));
                    planes.last_mut().expect("it was just put there")
                }
            };
            for (places, axis) in plane.along.iter_mut().zip(axes) {
                if !places.contains(&point[axis]) {
                    places.push(point[axis]);
                }
            }
        }
        planes
    }

    fn at(origin: Point, study_axes: &[Axis], axes: [usize; N]) -> Self {
        let shared = study_axes.iter().zip(&origin).enumerate();
        let shared =
            shared.filter(|(number, (axis, _))| !axes.contains(number) && axis.values.len() > 1);
        let shared: Vec<(&str, &str)> = shared
            .map(|(_, (axis, place))| (axis.title.as_str(), axis.values[*place].label.as_str()))
            .collect();
        let label = shared
            .iter()
            .map(|(title, value)| format!("{title}: {value}"));
        Self {
            label: label.collect::<Vec<String>>().join("; "),
            words: shared
                .iter()
                .map(|(_, value)| (*value).to_owned())
                .collect(),
            along: [const { Vec::new() }; N],
            origin,
            axes,
        }
    }

    /// The cell at these indices along the axes.
    pub fn point(&self, places: [usize; N]) -> Point {
        let mut point = self.origin.clone();
        for (axis, place) in self.axes.into_iter().zip(places) {
            point[axis] = place;
        }
        point
    }

    /// A title with what the cells share.
    pub fn titled(&self, title: &str) -> String {
        match self.label.as_str() {
            "" => title.to_owned(),
            label => format!("{title} ({label})"),
        }
    }
}
