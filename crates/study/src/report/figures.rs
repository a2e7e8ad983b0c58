//! Draws the figures of a study, with the numbers below them.

use diskarm_plot::{self as plot, Point, Series};

use super::drawing::{Drawing, Names, note, shared_heights};
use super::planes::Plane;
use super::tables::{self, Heads, grid};
use crate::axis::Point as Cell;
use crate::figure::{Across, Figure, Scale};
use crate::file::Study;
use crate::results::Results;
use diskarm_results::html::Html;

/// All figures: a drawing for each combination of values of the axes that a figure does not name.
pub fn all(study: &Study, results: &Results<'_>, names: &mut Names) -> Vec<Drawing> {
    let mut drawings = Vec::new();
    for figure in &study.figures {
        let planes = Plane::all(&study.axes, [figure.series, figure.along], &figure.cells);
        let series = |plane: &Plane<2>, line| series_of(results, figure, plane, line);
        let heights = shared_heights(&planes, series);
        for plane in planes {
            let name = names.of(&figure.name, &plane.words);
            let y = plot::Axis {
                max: figure.y_most,
                shared: heights.clone(),
                ..plot::Axis::of(&figure.y_label, scale(figure.y_scale))
            };
            drawings.push(drawn(study, results, figure, &plane, y, name));
        }
    }
    drawings
}

fn drawn(
    study: &Study,
    results: &Results<'_>,
    figure: &Figure,
    plane: &Plane<2>,
    y: plot::Axis,
    name: String,
) -> Drawing {
    let (lines, across) = (&study.axes[figure.series], &study.axes[figure.along]);
    let title = plane.titled(&figure.title);
    let series = plane.along[0].iter();
    let series = series.map(|line| series_of(results, figure, plane, *line));
    let plotted = plot::Figure {
        title: title.clone(),
        note: note(study),
        x: plot::Axis::of(&figure.x_label, scale(figure.x_scale)),
        y,
        lines: lines.with_unit(),
        series: series.collect(),
    };
    let heads = [(across, 1), (lines, 0)].map(|(axis, along)| Heads::of(axis, &plane.along[along]));
    let numbers = grid(&heads[0], &heads[1], |x, line| {
        let point = plane.point([plane.along[0][line], plane.along[1][x]]);
        numbers(results, figure, &point)
    });
    Drawing {
        name,
        title,
        svg: plotted.svg(),
        narrow_svg: plotted.narrow_svg(),
        numbers,
    }
}

/// The numbers of a cell: of the vertical axis, and of a metric on the horizontal one.
fn numbers(results: &Results<'_>, figure: &Figure, cell: &Cell) -> Html {
    let y = tables::figure(results, cell, figure.y);
    match figure.x {
        Across::Numbers => y,
        Across::Metric(_) if results.estimate(cell, figure.y).is_none() => y,
        Across::Metric(x) => Html::from([y, " at ".into(), tables::figure(results, cell, x)]),
    }
}

/// The line for one value of the series axis. A cell without the metric leaves a gap.
fn series_of(results: &Results<'_>, figure: &Figure, plane: &Plane<2>, line: usize) -> Series {
    let along = &results.axes[figure.along].values;
    let cells = plane.along[1].iter().filter_map(|place| {
        let cell = plane.point([line, *place]);
        let x = match figure.x {
            Across::Numbers => along[*place].value.number()?,
            Across::Metric(x) => results.estimate(&cell, x).map_or(f64::NAN, |x| x.mean),
        };
        Some((x, cell))
    });
    let mut cells: Vec<_> = cells.collect();
    if figure.x == Across::Numbers {
        cells.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    }
    let points = cells.iter().map(|(x, point)| {
        let estimate = results.estimate(point, figure.y);
        Point {
            x: *x,
            y: estimate.map_or(f64::NAN, |estimate| estimate.mean),
            half_width: estimate.and_then(|estimate| estimate.half_width),
        }
    });
    let last = cells
        .iter()
        .rposition(|(_, point)| results.estimate(point, figure.y).is_some());
    let next = last.and_then(|last| cells.get(last + 1));
    Series {
        label: results.axes[figure.series].values[line].label.clone(),
        points: points.take(last.map_or(0, |last| last + 1)).collect(),
        ends_saturated: next.is_some_and(|(_, point)| results.at(point).is_saturated),
        is_reference: false,
    }
}

fn scale(scale: Scale) -> plot::Scale {
    match scale {
        Scale::Linear => plot::Scale::Linear,
        Scale::Log2 => plot::Scale::Log2,
        Scale::Log10 => plot::Scale::Log10,
    }
}
