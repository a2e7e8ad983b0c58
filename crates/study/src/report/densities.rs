//! Draws the densities of a study, with the numbers below them.

use diskarm_plot::{self as plot, Point, Series};

use super::drawing::{Drawing, Names, note, shared_heights};
use super::planes::Plane;
use super::tables::{self, Heads, grid};
use crate::density::Density;
use crate::file::Study;
use crate::results::Results;

/// All densities: a drawing for each combination of values of the axes that a density does not
/// name.
pub fn all(study: &Study, results: &Results<'_>, names: &mut Names) -> Vec<Drawing> {
    let mut drawings = Vec::new();
    for density in &study.densities {
        let planes = Plane::all(&study.axes, [density.series], &density.cells);
        let series = |plane: &Plane<1>, line| series_of(results, density, plane, line);
        let heights = shared_heights(&planes, series);
        for plane in planes {
            let y = plot::Axis {
                shared: heights.clone(),
                ..plot::Axis::linear(&density.y_label)
            };
            let name = names.of(&density.name, &plane.words);
            drawings.push(drawn(study, results, density, &plane, y, name));
        }
    }
    drawings
}

fn drawn(
    study: &Study,
    results: &Results<'_>,
    density: &Density,
    plane: &Plane<1>,
    y: plot::Axis,
    name: String,
) -> Drawing {
    let (lines, places) = (&study.axes[density.series], &plane.along[0]);
    let title = plane.titled(&density.title);
    let series = places.iter();
    let plotted = plot::Figure {
        title: title.clone(),
        note: note(study),
        x: plot::Axis::linear(&density.x_label),
        y,
        lines: lines.with_unit(),
        series: series
            .map(|line| series_of(results, density, plane, *line))
            .collect(),
    };
    let bins = density.bins.iter();
    let rows = Heads {
        title: density.x_label.clone(),
        labels: bins
            .map(|(_, metric)| study.columns[metric.0].title.as_str())
            .collect(),
    };
    let numbers = grid(&rows, &Heads::of(lines, places), |bin, line| {
        let point = plane.point([places[line]]);
        tables::figure(results, &point, density.bins[bin].1)
    });
    Drawing {
        name,
        title,
        svg: plotted.svg(),
        narrow_svg: plotted.narrow_svg(),
        numbers,
    }
}

/// The line for one value of the series axis; without points if its cell has no metrics.
fn series_of(results: &Results<'_>, density: &Density, plane: &Plane<1>, line: usize) -> Series {
    let cell = plane.point([line]);
    let points = density.bins.iter().filter_map(|(middle, metric)| {
        let estimate = results.estimate(&cell, *metric)?;
        Some(Point {
            x: *middle,
            y: estimate.mean,
            half_width: estimate.half_width,
        })
    });
    Series {
        label: results.axes[density.series].values[line].label.clone(),
        points: points.collect(),
        ..Series::default()
    }
}
