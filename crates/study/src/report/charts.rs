//! The charts of a report: lines, maps and densities, each with its table.

use std::collections::BTreeSet;

use diskarm_plot::{self as plot, MapAxis, Point, Series};
use diskarm_results::html::Html;

use super::tables::{self, Headings, Plane, grid};
use crate::axis::Point as Cell;
use crate::figure::{Density, Figure, Map, Scale, XQuantity};
use crate::file::Study;
use crate::results::{Estimate, Results};

/// A drawing of a figure or a map. All drawings of one figure have the same vertical axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// The unique name of its files, without extension.
    pub name: String,
    pub title: String,
    pub svg: String,
    /// The drawing for narrow pages.
    pub narrow_svg: String,
    pub numbers: Html,
}

/// Draws all figures, densities and maps, once for each combination of values on other axes.
pub fn all(study: &Study, results: &Results<'_>) -> Vec<Drawing> {
    let names = BTreeSet::new();
    let mut charts = Charts {
        study,
        results,
        names,
    };
    let mut drawings = charts.figures();
    drawings.extend(charts.densities());
    drawings.extend(charts.maps());
    drawings
}

struct Charts<'a> {
    study: &'a Study,
    results: &'a Results<'a>,
    names: BTreeSet<String>,
}

/// A line chart without its lines.
struct LineChart<'a> {
    name: &'a str,
    title: &'a str,
    x: plot::Axis,
    y: plot::Axis,
    lines: String,
}

impl Charts<'_> {
    fn note(&self) -> String {
        let mut note = self.study.source.clone();
        if self.study.options.quick {
            note += " (short form)";
        }
        if self.study.has_single_runs() {
            note += "; single runs, no interval";
        }
        note
    }

    fn figures(&mut self) -> Vec<Drawing> {
        let (study, results) = (self.study, self.results);
        let drawings = study.figures.iter().flat_map(|figure| {
            let (lines, across) = (&study.axes[figure.series], &study.axes[figure.along]);
            let chart = LineChart {
                name: &figure.name,
                title: &figure.title,
                x: plot::Axis::new(&figure.x_label, scale(figure.x_scale)),
                y: plot::Axis {
                    max: figure.y_max,
                    ..plot::Axis::new(&figure.y_label, scale(figure.y_scale))
                },
                lines: lines.with_unit(),
            };
            let planes = Plane::all(&study.axes, [figure.series, figure.along], &figure.cells);
            let series = |plane: &Plane<2>, line| figure_series(results, figure, plane, line);
            self.line_charts(&chart, &planes, series, |plane| {
                let rows = Headings::new(across, &plane.along[1]);
                grid(&rows, &Headings::new(lines, &plane.along[0]), |x, line| {
                    let point = plane.point([plane.along[0][line], plane.along[1][x]]);
                    figure_numbers(results, figure, &point)
                })
            })
        });
        drawings.collect()
    }

    fn densities(&mut self) -> Vec<Drawing> {
        let (study, results) = (self.study, self.results);
        let drawings = study.densities.iter().flat_map(|density| {
            let lines = &study.axes[density.series];
            let chart = LineChart {
                name: &density.name,
                title: &density.title,
                x: plot::Axis::linear(&density.x_label),
                y: plot::Axis::linear(&density.y_label),
                lines: lines.with_unit(),
            };
            let planes = Plane::all(&study.axes, [density.series], &density.cells);
            let series = |plane: &Plane<1>, line| density_series(results, density, plane, line);
            self.line_charts(&chart, &planes, series, |plane| {
                let bins = density.bins.iter().map(|(_, metric)| *metric);
                let rows = Headings::of_metrics(&density.x_label, study, bins);
                let indices = &plane.along[0];
                grid(&rows, &Headings::new(lines, indices), |bin, line| {
                    let point = plane.point([indices[line]]);
                    tables::format_metric(results, &point, density.bins[bin].1)
                })
            })
        });
        drawings.collect()
    }

    /// Draws a chart for each plane, with a line from `series` for each value along its first axis.
    /// If there are several planes, they share a vertical axis that covers all numbers, and zero if
    /// the scale allows it.
    fn line_charts<const N: usize>(
        &mut self,
        chart: &LineChart<'_>,
        planes: &[Plane<N>],
        series: impl Fn(&Plane<N>, usize) -> Series,
        numbers: impl Fn(&Plane<N>) -> Html,
    ) -> Vec<Drawing> {
        let series = |plane: &Plane<N>| -> Vec<Series> {
            let lines = plane.along[0].iter();
            lines.map(|line| series(plane, *line)).collect()
        };
        let mut heights = vec![0.0];
        for point in planes.iter().flat_map(&series).flat_map(|line| line.points) {
            heights.extend(point.heights().into_iter().flatten());
        }
        let shared = (planes.len() > 1).then_some(heights);
        let drawings = planes.iter().map(|plane| {
            let plotted = plot::Figure {
                title: plane.full_title(chart.title),
                note: self.note(),
                x: chart.x.clone(),
                y: plot::Axis {
                    shared: shared.clone(),
                    ..chart.y.clone()
                },
                lines: chart.lines.clone(),
                series: series(plane),
            };
            Drawing {
                name: unique_name(&mut self.names, chart.name, &plane.shared_labels),
                svg: plotted.svg(),
                narrow_svg: plotted.narrow_svg(),
                title: plotted.title,
                numbers: numbers(plane),
            }
        });
        drawings.collect()
    }

    fn maps(&mut self) -> Vec<Drawing> {
        let mut drawings = Vec::new();
        for map in &self.study.maps {
            for plane in Plane::all(&self.study.axes, [map.x], &map.cells) {
                let name = unique_name(&mut self.names, &map.name, &plane.shared_labels);
                drawings.push(self.map(map, plane, name));
            }
        }
        drawings
    }

    fn map(&self, map: &Map, mut plane: Plane<1>, name: String) -> Drawing {
        let (study, results) = (self.study, self.results);
        let across = &study.axes[map.x];
        let number = |index: usize| across.values[index].value.number().unwrap_or(f64::NAN);
        plane.along[0].sort_by(|one, other| number(*one).total_cmp(&number(*other)));
        let indices = &plane.along[0];
        let numbers: Vec<f64> = indices.iter().map(|index| number(*index)).collect();
        let rows = map.y.iter().map(|metric| {
            let values = indices
                .iter()
                .map(|index| mean(results.estimate(&plane.point([*index]), *metric)));
            values.collect()
        });
        let height = map.y_max / map.y.len() as f64;
        let plotted = plot::Map {
            title: plane.full_title(&map.title),
            note: self.note(),
            x: MapAxis {
                label: across.with_unit(),
                edges: edges(&numbers),
            },
            y: MapAxis {
                label: map.y_label.clone(),
                edges: (0..=map.y.len()).map(|row| row as f64 * height).collect(),
            },
            values: map.color_label.clone(),
            bounds: map.bounds.clone(),
            rows: rows.collect(),
        };
        let rows = Headings::of_metrics(&map.y_label, study, map.y.iter().copied());
        let numbers = grid(&rows, &Headings::new(across, indices), |row, column| {
            tables::format_metric(results, &plane.point([indices[column]]), map.y[row])
        });
        Drawing {
            name,
            svg: plotted.svg(),
            narrow_svg: plotted.narrow_svg(),
            title: plotted.title,
            numbers,
        }
    }
}

/// Makes a name from `figure` and `labels`, numbered if it is not new, and adds it to `names`.
fn unique_name(names: &mut BTreeSet<String>, figure: &str, labels: &[String]) -> String {
    let words: String = labels.iter().map(|label| format!("-{label}")).collect();
    let name = file_name(&format!("{figure}{words}"));
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut candidates = [name.clone()].into_iter().chain(numbered);
    let unused = candidates.find(|candidate| names.insert(candidate.clone()));
    unused.expect("there is always another number")
}

/// Converts words to lower-case letters, digits, dots, underscores and hyphens.
fn file_name(words: &str) -> String {
    let is_other = |c: char| !(c.is_ascii_alphanumeric() || "._".contains(c));
    let kept = words.to_lowercase().replace(is_other, "-");
    let parts = kept.split('-').filter(|part| !part.is_empty());
    parts.collect::<Vec<&str>>().join("-")
}

fn mean(estimate: Option<&Estimate>) -> f64 {
    estimate.map_or(f64::NAN, |estimate| estimate.mean)
}

/// Formats the numbers of a cell: the vertical one, and the horizontal one if it is a metric.
fn figure_numbers(results: &Results<'_>, figure: &Figure, cell: &Cell) -> Html {
    let y = tables::format_metric(results, cell, figure.y);
    match figure.x {
        XQuantity::Numbers => y,
        XQuantity::Metric(_) if results.estimate(cell, figure.y).is_none() => y,
        XQuantity::Metric(x) => {
            Html::from([y, " at ".into(), tables::format_metric(results, cell, x)])
        }
    }
}

/// Returns the line for one value of the series axis. A cell without the metric leaves a gap.
fn figure_series(results: &Results<'_>, figure: &Figure, plane: &Plane<2>, line: usize) -> Series {
    let along = &results.axes[figure.along].values;
    let cells = plane.along[1].iter().filter_map(|index| {
        let cell = plane.point([line, *index]);
        let x = match figure.x {
            XQuantity::Numbers => along[*index].value.number()?,
            XQuantity::Metric(x) => mean(results.estimate(&cell, x)),
        };
        Some((x, cell))
    });
    let mut cells: Vec<_> = cells.collect();
    if figure.x == XQuantity::Numbers {
        cells.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    }
    let points = cells.iter().map(|(x, point)| {
        let estimate = results.estimate(point, figure.y);
        Point {
            x: *x,
            y: mean(estimate),
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

/// Returns the edges between numbers: halfway between neighbours, and the first and last numbers.
fn edges(numbers: &[f64]) -> Vec<f64> {
    let pairs = numbers.windows(2);
    let between = pairs.map(|pair| f64::midpoint(pair[0], pair[1]));
    let ends = [numbers.first(), numbers.last()].map(|end| end.copied());
    ends[0].into_iter().chain(between).chain(ends[1]).collect()
}

/// Returns the line for one value of the series axis, without points if its cell has no metrics.
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
    fn file_names_are_plain_and_unique() {
        let mut names = BTreeSet::new();
        let mut name = |words: &str| unique_name(&mut names, words, &[]);
        assert_eq!(name("3a-HP C2247 (b/w)"), "3a-hp-c2247-b-w");
        assert_eq!(name("3A HP-C2247 b w"), "3a-hp-c2247-b-w-2");
        assert_eq!(name("../../x"), "..-..-x");
        assert_eq!(name("VSCAN(0.2)"), "vscan-0.2");
    }
}
