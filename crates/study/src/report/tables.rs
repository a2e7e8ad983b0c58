//! Tables of a study.

use super::figures::with_unit;
use super::html::Html;
use super::number::told;
use super::parts::Part;
use crate::axis::{Axis, Point};
use crate::metric::Metric;
use crate::results::Results;

/// All tables: one to each metric and each combination of values of the axes that it does not
/// name.
pub fn all(results: &Results<'_>) -> Html {
    let study = results.study;
    let mut tables = Vec::new();
    for table in &study.tables {
        for part in Part::all(&study.axes, [table.rows, table.columns], &table.cells) {
            for metric in &table.metrics {
                let (rows, columns) = (&study.axes[table.rows], &study.axes[table.columns]);
                let cells = grid(
                    (rows, &part.along[0]),
                    (columns, &part.along[1]),
                    |row, column| part.point([row, column]),
                    |point| figure(results, point, *metric),
                );
                let measured = &study.columns[metric.0].title;
                tables.push(Html::from([
                    Html::element("h3", part.titled(&table.title)),
                    Html::with("p", &[("class", "measured")], measured.as_str()),
                    cells,
                ]));
            }
        }
    }
    tables.into_iter().collect()
}

/// What was measured of a cell, or why there is nothing.
pub fn figure(results: &Results<'_>, point: &Point, metric: Metric) -> Html {
    match results.estimate(point, metric) {
        Some(estimate) => told(estimate).into(),
        None if results.at(point).is_saturated => {
            Html::with("span", &[("class", "saturated")], "saturated")
        }
        None => "\u{2013}".into(),
    }
}

/// A table of cells: values of one axis downward, of the other to the right, and what `told` says
/// of the cell where they meet.
pub fn grid(
    (rows, down): (&Axis, &[usize]),
    (columns, right): (&Axis, &[usize]),
    point: impl Fn(usize, usize) -> Point,
    told: impl Fn(&Point) -> Html,
) -> Html {
    let heads = right.iter().map(|column| {
        let label = columns.values[*column].label.as_str();
        Html::with("th", &[("scope", "col")], label)
    });
    let corner = Html::with("th", &[("scope", "col"), ("rowspan", "2")], with_unit(rows));
    let span = right.len().to_string();
    let above = [("scope", "colgroup"), ("colspan", span.as_str())];
    let above = Html::with("th", &above, with_unit(columns));
    let head = Html::from([
        Html::element("tr", [corner, above]),
        Html::element("tr", heads.collect::<Html>()),
    ]);
    let lines = down.iter().map(|row| {
        let label = rows.values[*row].label.as_str();
        let head = Html::with("th", &[("scope", "row")], label);
        let cells = right
            .iter()
            .map(|column| Html::with("td", &[("class", "number")], told(&point(*row, *column))));
        Html::element("tr", [head].into_iter().chain(cells).collect::<Html>())
    });
    let table = Html::from([
        Html::element("thead", head),
        Html::element("tbody", lines.collect::<Html>()),
    ]);
    Html::with("div", &[("class", "wide")], Html::element("table", table))
}
