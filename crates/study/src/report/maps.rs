//! Draws the maps of a study, with the numbers below them.

use diskarm_plot::{self as plot, Side};

use super::drawing::{Drawing, Names, note};
use super::planes::Plane;
use super::tables::{self, Heads, grid};
use crate::file::Study;
use crate::map::Map;
use crate::results::Results;

/// All maps: a drawing for each combination of values of the axes that a map does not name.
pub fn all(study: &Study, results: &Results<'_>, names: &mut Names) -> Vec<Drawing> {
    let mut drawings = Vec::new();
    for map in &study.maps {
        for plane in Plane::all(&study.axes, [map.x], &map.cells) {
            let name = names.of(&map.name, &plane.words);
            drawings.push(drawn(study, results, map, plane, name));
        }
    }
    drawings
}

fn drawn(
    study: &Study,
    results: &Results<'_>,
    map: &Map,
    mut plane: Plane<1>,
    name: String,
) -> Drawing {
    let across = &study.axes[map.x];
    let number = |place: usize| across.values[place].value.number().unwrap_or(f64::NAN);
    let [places] = &mut plane.along;
    places.sort_by(|one, other| number(*one).total_cmp(&number(*other)));
    let places = &plane.along[0];
    let numbers: Vec<f64> = places.iter().map(|place| number(*place)).collect();
    let rows = map.y.iter().map(|metric| {
        let values = places.iter().map(|place| {
            let estimate = results.estimate(&plane.point([*place]), *metric);
            estimate.map_or(f64::NAN, |estimate| estimate.mean)
        });
        values.collect()
    });
    let height = map.y_most / map.y.len() as f64;
    let title = plane.titled(&map.title);
    let plotted = plot::Map {
        title: title.clone(),
        note: note(study),
        x: Side {
            label: across.with_unit(),
            edges: edges(&numbers),
        },
        y: Side {
            label: map.y_label.clone(),
            edges: (0..=map.y.len()).map(|row| row as f64 * height).collect(),
        },
        values: map.values.clone(),
        bounds: map.bounds.clone(),
        rows: rows.collect(),
    };
    let metrics = map.y.iter();
    let rows = Heads {
        title: map.y_label.clone(),
        labels: metrics
            .map(|metric| study.columns[metric.0].title.as_str())
            .collect(),
    };
    let table = grid(&rows, &Heads::of(across, places), |row, column| {
        tables::figure(results, &plane.point([places[column]]), map.y[row])
    });
    Drawing {
        name,
        title,
        svg: plotted.svg(),
        narrow_svg: plotted.narrow_svg(),
        numbers: table,
    }
}

/// The edges between numbers: halfway between neighbours, and the first and last numbers.
fn edges(numbers: &[f64]) -> Vec<f64> {
    let between = numbers
        .windows(2)
        .map(|pair| f64::midpoint(pair[0], pair[1]));
    let first = numbers.first().copied();
    let last = numbers.last().copied();
    first.into_iter().chain(between).chain(last).collect()
}
