//! Figures of a study, drawn, and the numbers below them.

use std::collections::BTreeSet;

use diskarm_plot::{self as plot, Point, Series};

use super::html::Html;
use super::parts::Part;
use super::tables::{self, grid};
use crate::axis::Axis;
use crate::figure::{Figure, Scale};
use crate::results::Results;

/// A figure, drawn. Those of one figure of the study have the same upright axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// What its files are called, but for what follows the point; no two have the same.
    pub name: String,
    /// What stands above it.
    pub title: String,
    /// The drawing.
    pub svg: String,
    /// The same for narrow pages.
    pub(super) narrow_svg: String,
    /// Its numbers.
    pub(super) numbers: Html,
}

/// All figures: one to each combination of values of the axes that it does not name.
pub fn all(results: &Results<'_>) -> Vec<Drawing> {
    let study = results.study;
    let mut names = BTreeSet::new();
    let mut drawings = Vec::new();
    for figure in &study.figures {
        let parts = Part::all(&study.axes, [figure.series, figure.x], &figure.cells);
        let heights = shared_heights(results, figure, &parts);
        for part in parts {
            let words: Vec<&str> = [figure.name.as_str()]
                .into_iter()
                .chain(part.words.iter().map(String::as_str))
                .collect();
            let name = unused(&file_name(&words.join("-")), &mut names);
            let y = plot::Axis {
                most: figure.y_most,
                shared: heights.clone(),
                ..plot::Axis::of(&figure.y_label, scale(figure.y_scale))
            };
            drawings.push(drawn(results, figure, &part, y, name));
        }
    }
    drawings
}

/// Where there are several parts, all that their common axis has to hold; from zero on where that
/// has a place.
fn shared_heights(results: &Results<'_>, figure: &Figure, parts: &[Part]) -> Option<Vec<f64>> {
    let series = parts.iter().flat_map(|part| {
        let lines = part.along[0].iter();
        lines.map(|line| series_of(results, figure, part, *line))
    });
    let points = series.flat_map(|series| series.points);
    let heights = points.flat_map(|point| point.heights()).flatten();
    (parts.len() > 1).then(|| [0.0].into_iter().chain(heights).collect())
}

fn drawn(
    results: &Results<'_>,
    figure: &Figure,
    part: &Part,
    y: plot::Axis,
    name: String,
) -> Drawing {
    let study = results.study;
    let (lines, across) = (&study.axes[figure.series], &study.axes[figure.x]);
    let title = part.titled(&figure.title);
    let series = part.along[0].iter();
    let series = series.map(|line| series_of(results, figure, part, *line));
    let mut note = study.source.clone();
    if study.asked.quick {
        note += " (short form)";
    }
    if study.has_single_runs() {
        note += "; single runs, no interval";
    }
    let plotted = plot::Figure {
        title: title.clone(),
        note,
        x: plot::Axis::of(with_unit(across), scale(figure.x_scale)),
        y,
        lines: with_unit(lines),
        series: series.collect(),
    };
    let numbers = grid(
        (across, &part.along[1]),
        (lines, &part.along[0]),
        |x, line| part.point([line, x]),
        |point| tables::figure(results, point, figure.y),
    );
    Drawing {
        name,
        title,
        svg: plotted.svg(),
        narrow_svg: plotted.narrow_svg(),
        numbers,
    }
}

/// The line of a value of the series' axis. A cell without a figure leaves a gap.
fn series_of(results: &Results<'_>, figure: &Figure, part: &Part, line: usize) -> Series {
    let study = results.study;
    let across = &study.axes[figure.x].values;
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
        label: study.axes[figure.series].values[line].label.clone(),
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

/// What an axis measures.
pub(super) fn with_unit(axis: &Axis) -> String {
    match &axis.unit {
        Some(unit) => format!("{}, {unit}", axis.title),
        None => axis.title.clone(),
    }
}

/// In small letters, digits, dots and hyphens.
fn file_name(words: &str) -> String {
    let kept = words.to_lowercase().replace(
        |c: char| !(c.is_ascii_alphanumeric() || "._".contains(c)),
        "-",
    );
    let parts = kept.split('-').filter(|part| !part.is_empty());
    parts.collect::<Vec<&str>>().join("-")
}

/// The name, or with a number behind it the first that is not in use.
fn unused(name: &str, names: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut candidates = [name.to_owned()].into_iter().chain(numbered);
    let unused = candidates.find(|candidate| names.insert(candidate.clone()));
    unused.expect("numbers do not end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain_and_differ() {
        let mut names = BTreeSet::new();
        let mut name = |words: &str| unused(&file_name(words), &mut names);
        assert_eq!(name("3a-HP C2247 (b/w)"), "3a-hp-c2247-b-w");
        assert_eq!(name("3A HP-C2247 b w"), "3a-hp-c2247-b-w-2");
        assert_eq!(name("../../x"), "..-..-x");
        assert_eq!(name("VSCAN(0.2)"), "vscan-0.2");
    }
}
