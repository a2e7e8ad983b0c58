//! The charts of the page.

use diskarm_core::units::Span;
use diskarm_extract::Estimate;
use diskarm_extract::mtbrc::Pair;
use diskarm_extract::seek::Seeks;
use diskarm_extract::suite::{Findings, MtbrcFinding, WriteSeeks};
use diskarm_plot::{Axis, Figure, Point, Series, rounded};

use super::{ms, table};
use crate::html::{Html, figure};

/// Maximum distance in the chart of short seeks, in cylinders.
const SHORT: u32 = 100;
/// Number of kinds of pairs with a scatter chart.
const SCATTERS: usize = 3;

/// Mean and maximum seek curves, full and short (figures 3 and 12 to 15).
pub fn seeks(findings: &Findings) -> Html {
    let lines = lines(findings);
    if lines.is_empty() {
        return Html::default();
    }
    let points = lines.iter().flat_map(|line| &line.points);
    let longest = points.map(|point| point.0).max();
    let chart = |title: &str, max: u32| {
        let series = lines.iter().map(|line| line.up_to(max));
        figure_of(
            title,
            ["Distance, cylinders", "Seek time, ms"],
            "",
            series.collect(),
        )
    };
    let about = "MTBRC is measured by pairs of requests, of which the second just catches its \
                 sector; its maximum is the 95th percentile. SEEK is measured by that command; its \
                 maximum is the slowest starting point.";
    let curve = draw("seeks", &chart("Seek curve", u32::MAX), numbers(&lines));
    let mut inside = vec![Html::element("p", about), curve];
    if longest > Some(SHORT) {
        inside.push(draw(
            "short-seeks",
            &chart("Short seeks", SHORT),
            Html::default(),
        ));
    }
    if let Some(curves) = &findings.seek_commands {
        let processing = ms(curves.processing.value);
        let (discarded, all) = curves.discarded;
        inside.push(Html::element(
            "p",
            format!(
                "A SEEK takes {processing} ms in addition to its movement, which is subtracted. \
                 {discarded} of {all} SEEKs were discarded because they are more than 10 % off \
                 their median."
            ),
        ));
    }
    inside.into_iter().collect()
}

struct Line {
    label: &'static str,
    /// Distance, time, and half of its interval.
    points: Vec<(u32, Span, Option<Span>)>,
    /// Drawn as a broad line below the others, with which it should agree.
    is_reference: bool,
}

impl Line {
    fn up_to(&self, max: u32) -> Series {
        let points = self.points.iter().filter(|point| point.0 <= max);
        let points = points.map(|point| Point::new(f64::from(point.0), point.1.as_ms()));
        Series {
            label: self.label.to_owned(),
            points: points.collect(),
            is_reference: self.is_reference,
            ..Series::default()
        }
    }
}

/// Makes a chart with linear axes of these names.
fn figure_of(title: &str, [x, y]: [&str; 2], note: &str, series: Vec<Series>) -> Figure {
    Figure {
        title: title.to_owned(),
        note: note.to_owned(),
        x: Axis::linear(x),
        y: Axis::linear(y),
        lines: String::new(),
        series,
    }
}

fn lines(findings: &Findings) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |label: &'static str, points: &[(u32, Estimate, Span)], is_maximum: bool| {
        let points = points.iter().map(|&(distance, mean, maximum)| {
            if is_maximum {
                (distance, maximum, None)
            } else {
                (distance, mean.value, Some(mean.uncertainty))
            }
        });
        lines.push(Line {
            is_reference: label.starts_with("SEEK"),
            label,
            points: points.collect(),
        })
    };
    let of_pairs = |seeks: &Seeks| -> Vec<_> {
        let points = seeks.points.iter();
        points
            .map(|point| (point.distance, point.mean, point.maximum))
            .collect()
    };
    if let Some(seeks) = &findings.seeks {
        let points = of_pairs(seeks);
        add("reads, MTBRC: mean", &points, false);
        add("reads, MTBRC: maximum", &points, true);
    }
    if let Some(WriteSeeks::Own(seeks)) = &findings.write_seeks {
        add("writes, MTBRC: mean", &of_pairs(seeks), false);
    }
    if let Some(curves) = &findings.seek_commands {
        let points = curves.points.iter();
        let points: Vec<_> = points
            .map(|point| (point.distance, point.mean, point.maximum))
            .collect();
        add("SEEK: mean", &points, false);
        add("SEEK: maximum", &points, true);
    }
    lines
}

/// Returns the values of a seek chart as a table.
fn numbers(lines: &[Line]) -> Html {
    let mut distances: Vec<u32> = lines
        .iter()
        .flat_map(|line| line.points.iter().map(|point| point.0))
        .collect();
    distances.sort_unstable();
    distances.dedup();
    let rows = distances.into_iter().map(|distance| {
        let cell = |line: &Line| {
            let point = line.points.iter().find(|point| point.0 == distance);
            point.map_or("\u{2013}".into(), |(_, time, half)| match half {
                Some(half) => Html::from(rounded(time.as_ms(), Some(half.as_ms()))),
                None => ms(*time).into(),
            })
        };
        let head = [Html::from(distance.to_string())];
        head.into_iter().chain(lines.iter().map(cell)).collect()
    });
    let labels = lines.iter().map(|line| line.label);
    let heads: Vec<&str> = ["Cylinders"].into_iter().chain(labels).collect();
    let summary = Html::element("summary", "Numbers, in ms");
    Html::element("details", [summary, table(&heads, rows)])
}

fn draw(id: &str, plotted: &Figure, caption: Html) -> Html {
    figure(id, [&plotted.svg(), &plotted.narrow_svg()], caption)
}

/// Minimum times between completions (table 1), with scatter charts of some.
pub fn mtbrcs(findings: &Findings) -> Html {
    let all = &findings.mtbrcs;
    if all.is_empty() {
        return Html::default();
    }
    let rows = all.iter().map(|between| {
        let found = &between.mtbrc;
        let (median, half) = (found.median.value, found.median.uncertainty);
        let cells = [
            between.name.clone(),
            rounded(median.as_ms(), Some(half.as_ms())),
            ms(found.upper),
            ms(found.host),
            ms(found.distances.0),
            found.median.samples.to_string(),
        ];
        cells.map(Html::from).to_vec()
    });
    let heads = [
        "<X, Y",
        "Median, ms",
        "95th percentile, ms",
        "of which host, ms",
        "Distance, ms",
        "Pairs",
    ];
    let about = "The time between the completions of X and Y if Y just catches its first \
                 sector: the mean of three zones, and the largest of their percentiles. The \
                 distance is from the pass of X's first sector to the pass of Y's first sector.";
    let mut inside = vec![Html::element("p", about), table(&heads, rows)];
    for (number, between) in (1..).zip(all).take(SCATTERS) {
        let id = format!("pairs-{number}");
        inside.push(draw(&id, &scatter(between), Html::default()));
    }
    inside.into_iter().collect()
}

/// Charts all pairs of a kind and the thresholds.
fn scatter(between: &MtbrcFinding) -> Figure {
    let (half, max) = between.mtbrc.distances;
    let times = between.pairs.iter().map(|pair| pair.between.as_ms());
    let longest = times.fold(0.0, f64::max);
    let line = |label: &str, at: Span| Series {
        label: label.to_owned(),
        points: vec![Point::new(at.as_ms(), 0.0), Point::new(at.as_ms(), longest)],
        is_reference: true,
        ..Series::default()
    };
    // Gaps keep the points apart.
    let gap = Point::new(f64::NAN, f64::NAN);
    let dot = |pair: &Pair| [Point::new(pair.distance.as_ms(), pair.between.as_ms()), gap];
    let dots = |label: &str, caught: bool| {
        let pairs = between.pairs.iter().filter(|pair| pair.caught == caught);
        Series {
            label: label.to_owned(),
            points: pairs.flat_map(dot).collect(),
            ..Series::default()
        }
    };
    let axes = [
        "Distance between the first sectors of X and Y, ms",
        "Time between the ends of X and Y, ms",
    ];
    let series = vec![
        line("50th percentile", half),
        line("95th percentile", max),
        dots("caught", true),
        dots("missed: a revolution later", false),
    ];
    let note = "mean of three zones; each pair narrows the threshold down";
    figure_of(&format!("Pairs of {}", between.name), axes, note, series)
}
