//! The charts of a report: lines, maps and densities, each with its table.

use std::collections::BTreeSet;

use diskarm_plot::{self as plot, MapAxis, Point, Series};
use diskarm_results::html::Html;

use super::tables::{self, Heads, Plane, grid};
use crate::axis::Point as Cell;
use crate::figure::{Across, Density, Figure, Map, Scale};
use crate::file::Study;
use crate::results::Results;

/// A drawing of a figure or a map. All drawings of one figure have the same vertical axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// The name of its files without extension; no two drawings have the same.
    pub name: String,
    pub title: String,
    pub svg: String,
    /// The drawing for narrow pages.
    pub narrow_svg: String,
    pub numbers: Html,
}

impl Drawing {
    fn new(name: String, figure: &plot::Figure, numbers: Html) -> Self {
        Self {
            name,
            title: figure.title.clone(),
            svg: figure.svg(),
            narrow_svg: figure.narrow_svg(),
            numbers,
        }
    }
}

/// Returns the note below the heading.
fn note(study: &Study) -> String {
    let mut note = study.source.clone();
    if study.options.quick {
        note += " (short form)";
    }
    if study.has_single_runs() {
        note += "; single runs, no interval";
    }
    note
}

/// If there are several planes, returns all numbers that their common vertical axis has to contain,
/// including zero where the scale allows it. `series_of` makes the series of a line of a plane.
fn shared_heights<const N: usize>(
    planes: &[Plane<N>],
    series_of: impl Fn(&Plane<N>, usize) -> Series,
) -> Option<Vec<f64>> {
    let mut heights = vec![0.0];
    for plane in planes {
        for line in &plane.along[0] {
            let points = series_of(plane, *line).points.into_iter();
            heights.extend(points.flat_map(|point| point.heights()).flatten());
        }
    }
    (planes.len() > 1).then_some(heights)
}

/// The names of a report's drawings.
#[derive(Debug, Default)]
pub struct Names(BTreeSet<String>);

impl Names {
    /// Returns a name for the drawing of `figure` in a plane with these labels, with the first
    /// number that makes it unique.
    fn unique(&mut self, figure: &str, labels: &[String]) -> String {
        let words: String = labels.iter().map(|label| format!("-{label}")).collect();
        let name = file_name(&format!("{figure}{words}"));
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let mut candidates = [name.clone()].into_iter().chain(numbered);
        let unused = candidates.find(|candidate| self.0.insert(candidate.clone()));
        unused.expect("numbers do not end")
    }
}

/// Writes the words in lower-case letters, digits, dots and hyphens.
fn file_name(words: &str) -> String {
    let is_other = |c: char| !(c.is_ascii_alphanumeric() || "._".contains(c));
    let kept = words.to_lowercase().replace(is_other, "-");
    let parts = kept.split('-').filter(|part| !part.is_empty());
    parts.collect::<Vec<&str>>().join("-")
}

/// Draws all figures, each for each combination of values of the axes that it does not name.
pub fn figures(study: &Study, results: &Results<'_>, names: &mut Names) -> Vec<Drawing> {
    let mut drawings = Vec::new();
    for figure in &study.figures {
        let planes = Plane::all(&study.axes, [figure.series, figure.along], &figure.cells);
        let series = |plane: &Plane<2>, line| figure_series(results, figure, plane, line);
        let heights = shared_heights(&planes, series);
        for plane in planes {
            let name = names.unique(&figure.name, &plane.words);
            let y = plot::Axis {
                max: figure.y_most,
                shared: heights.clone(),
                ..plot::Axis::new(&figure.y_label, scale(figure.y_scale))
            };
            drawings.push(draw_figure(study, results, figure, &plane, y, name));
        }
    }
    drawings
}

fn draw_figure(
    study: &Study,
    results: &Results<'_>,
    figure: &Figure,
    plane: &Plane<2>,
    y: plot::Axis,
    name: String,
) -> Drawing {
    let (lines, across) = (&study.axes[figure.series], &study.axes[figure.along]);
    let series = plane.along[0].iter();
    let series = series.map(|line| figure_series(results, figure, plane, *line));
    let plotted = plot::Figure {
        title: plane.titled(&figure.title),
        note: note(study),
        x: plot::Axis::new(&figure.x_label, scale(figure.x_scale)),
        y,
        lines: lines.with_unit(),
        series: series.collect(),
    };
    let rows = Heads::new(across, &plane.along[1]);
    let numbers = grid(&rows, &Heads::new(lines, &plane.along[0]), |x, line| {
        let point = plane.point([plane.along[0][line], plane.along[1][x]]);
        figure_numbers(results, figure, &point)
    });
    Drawing::new(name, &plotted, numbers)
}

/// Returns the numbers of a cell: of the vertical axis, and of a metric on the horizontal one.
fn figure_numbers(results: &Results<'_>, figure: &Figure, cell: &Cell) -> Html {
    let y = tables::figure(results, cell, figure.y);
    match figure.x {
        Across::Numbers => y,
        Across::Metric(_) if results.estimate(cell, figure.y).is_none() => y,
        Across::Metric(x) => Html::from([y, " at ".into(), tables::figure(results, cell, x)]),
    }
}

/// Returns the line for one value of the series axis. A cell without the metric leaves a gap.
fn figure_series(results: &Results<'_>, figure: &Figure, plane: &Plane<2>, line: usize) -> Series {
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
    let is_measured = |(_, point): &(f64, Cell)| results.estimate(point, figure.y).is_some();
    let last = cells.iter().rposition(is_measured);
    let next = last.and_then(|last| cells.get(last + 1));
    Series {
        label: results.axes[figure.series].values[line].label.clone(),
        points: points.take(last.map_or(0, |last| last + 1)).collect(),
        ends_saturated: next.is_some_and(|(_, point)| results.outcome(point).is_saturated),
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

/// Draws all maps, each for each combination of values of the axes that it does not name.
pub fn maps(study: &Study, results: &Results<'_>, names: &mut Names) -> Vec<Drawing> {
    let mut drawings = Vec::new();
    for map in &study.maps {
        for plane in Plane::all(&study.axes, [map.x], &map.cells) {
            let name = names.unique(&map.name, &plane.words);
            drawings.push(draw_map(study, results, map, plane, name));
        }
    }
    drawings
}

fn draw_map(
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
    let plotted = plot::Map {
        title: plane.titled(&map.title),
        note: note(study),
        x: MapAxis {
            label: across.with_unit(),
            edges: edges(&numbers),
        },
        y: MapAxis {
            label: map.y_label.clone(),
            edges: (0..=map.y.len()).map(|row| row as f64 * height).collect(),
        },
        values: map.values.clone(),
        bounds: map.bounds.clone(),
        rows: rows.collect(),
    };
    let rows = Heads::of_metrics(&map.y_label, study, map.y.iter().copied());
    let numbers = grid(&rows, &Heads::new(across, places), |row, column| {
        tables::figure(results, &plane.point([places[column]]), map.y[row])
    });
    Drawing {
        name,
        svg: plotted.svg(),
        narrow_svg: plotted.narrow_svg(),
        title: plotted.title,
        numbers,
    }
}

/// Returns the edges between numbers: halfway between neighbours, and the first and last numbers.
fn edges(numbers: &[f64]) -> Vec<f64> {
    let pairs = numbers.windows(2);
    let between = pairs.map(|pair| f64::midpoint(pair[0], pair[1]));
    let ends = [numbers.first(), numbers.last()].map(|end| end.copied());
    ends[0].into_iter().chain(between).chain(ends[1]).collect()
}

/// Draws all densities, each for each combination of values of the axes that it does not name.
pub fn densities(study: &Study, results: &Results<'_>, names: &mut Names) -> Vec<Drawing> {
    let mut drawings = Vec::new();
    for density in &study.densities {
        let planes = Plane::all(&study.axes, [density.series], &density.cells);
        let series = |plane: &Plane<1>, line| density_series(results, density, plane, line);
        let heights = shared_heights(&planes, series);
        for plane in planes {
            let y = plot::Axis {
                shared: heights.clone(),
                ..plot::Axis::linear(&density.y_label)
            };
            let name = names.unique(&density.name, &plane.words);
            drawings.push(draw_density(study, results, density, &plane, y, name));
        }
    }
    drawings
}

fn draw_density(
    study: &Study,
    results: &Results<'_>,
    density: &Density,
    plane: &Plane<1>,
    y: plot::Axis,
    name: String,
) -> Drawing {
    let (lines, places) = (&study.axes[density.series], &plane.along[0]);
    let series = places.iter();
    let series = series.map(|line| density_series(results, density, plane, *line));
    let plotted = plot::Figure {
        title: plane.titled(&density.title),
        note: note(study),
        x: plot::Axis::linear(&density.x_label),
        y,
        lines: lines.with_unit(),
        series: series.collect(),
    };
    let bins = density.bins.iter().map(|(_, metric)| *metric);
    let rows = Heads::of_metrics(&density.x_label, study, bins);
    let numbers = grid(&rows, &Heads::new(lines, places), |bin, line| {
        let point = plane.point([places[line]]);
        tables::figure(results, &point, density.bins[bin].1)
    });
    Drawing::new(name, &plotted, numbers)
}

/// Returns the line for one value of the series axis; without points if its cell has no metrics.
fn density_series(
    results: &Results<'_>,
    density: &Density,
    plane: &Plane<1>,
    line: usize,
) -> Series {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain_and_differ() {
        let mut names = Names::default();
        let mut name = |words: &str| names.unique(words, &[]);
        assert_eq!(name("3a-HP C2247 (b/w)"), "3a-hp-c2247-b-w");
        assert_eq!(name("3A HP-C2247 b w"), "3a-hp-c2247-b-w-2");
        assert_eq!(name("../../x"), "..-..-x");
        assert_eq!(name("VSCAN(0.2)"), "vscan-0.2");
    }
}
