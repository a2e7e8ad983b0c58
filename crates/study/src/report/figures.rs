//! Figures of a study, drawn, and the numbers below them.

use diskarm_plot::{self as plot, Point, Series};

use super::drawing::{Drawing, Names, note, with_unit};
use super::parts::Part;
use super::tables::{self, Heads, grid};
use crate::figure::{Figure, Scale};
use crate::file::Study;
use crate::results::Results;

/// All figures: one to each combination of values of the axes that it does not name.
pub fn all(study: &Study, results: &Results<'_>, names: &mut Names) -> Vec<Drawing> {
    let mut drawings = Vec::new();
    for figure in &study.figures {
        let parts = Part::all(&study.axes, [figure.series, figure.x], &figure.cells);
        let heights = shared_heights(results, figure, &parts);
        for part in parts {
            let name = names.of(&figure.name, &part.words);
            let y = plot::Axis {
                most: figure.y_most,
                shared: heights.clone(),
                ..plot::Axis::of(&figure.y_label, scale(figure.y_scale))
            };
            drawings.push(drawn(study, results, figure, &part, y, name));
        }
    }
    drawings
}

/// Where there are several parts, all that their common axis has to hold; from zero on where that
/// has a place.
fn shared_heights(results: &Results<'_>, figure: &Figure, parts: &[Part<2>]) -> Option<Vec<f64>> {
    let series = parts.iter().flat_map(|part| {
        let lines = part.along[0].iter();
        lines.map(|line| series_of(results, figure, part, *line))
    });
    let points = series.flat_map(|series| series.points);
    let heights = points.flat_map(|point| point.heights()).flatten();
    (parts.len() > 1).then(|| [0.0].into_iter().chain(heights).collect())
}

fn drawn(
    study: &Study,
    results: &Results<'_>,
    figure: &Figure,
    part: &Part<2>,
    y: plot::Axis,
    name: String,
) -> Drawing {
    let (lines, across) = (&study.axes[figure.series], &study.axes[figure.x]);
    let title = part.titled(&figure.title);
    let series = part.along[0].iter();
    let series = series.map(|line| series_of(results, figure, part, *line));
    let plotted = plot::Figure {
        title: title.clone(),
        note: note(study),
        x: plot::Axis::of(with_unit(across), scale(figure.x_scale)),
        y,
        lines: with_unit(lines),
        series: series.collect(),
    };
    let heads = [(across, 1), (lines, 0)].map(|(axis, along)| Heads::of(axis, &part.along[along]));
    let numbers = grid(&heads[0], &heads[1], |x, line| {
        let point = part.point([part.along[0][line], part.along[1][x]]);
        tables::figure(results, &point, figure.y)
    });
    Drawing {
        name,
        title,
        svg: plotted.svg(),
        narrow_svg: plotted.narrow_svg(),
        numbers,
    }
}

/// The line of a value of the series' axis. A cell without a figure leaves a gap.
fn series_of(results: &Results<'_>, figure: &Figure, part: &Part<2>, line: usize) -> Series {
    let across = &results.axes[figure.x].values;
    let cells = part.along[1].iter().filter_map(|x| {
        let number = across[*x].value.number()?;
        Some((number, part.point([line, *x])))
    });
    let mut cells: Vec<_> = cells.collect();
    cells.sort_by(|(one, _), (other, _)| one.total_cmp(other));
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
