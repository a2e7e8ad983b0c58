//! The charts of the page.

use diskarm_core::units::Span;
use diskarm_extract::mtbrc::Pair;
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
    let longest = lines
        .iter()
        .flat_map(|line| &line.points)
        .map(|point| point.0)
        .max();
    let chart = |title: &str, max: u32| Figure {
        title: title.to_owned(),
        note: String::new(),
        x: Axis::linear("Distance, cylinders"),
        y: Axis::linear("Seek time, ms"),
        lines: String::new(),
        series: lines
            .iter()
            .map(|line| Series {
                label: line.label.to_owned(),
                points: line.points_up_to(max),
                is_reference: line.is_reference,
                ..Series::default()
            })
            .collect(),
    };
    let mut inside = vec![Html::element(
        "p",
        "MTBRC is measured by pairs of requests, of which the second just catches its sector; its \
         maximum is the 95th percentile. SEEK is measured by that command; its maximum is the \
         slowest starting point.",
    )];
    inside.push(draw(
        "seeks",
        &chart("Seek curve", u32::MAX),
        numbers(&lines),
    ));
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
    fn points_up_to(&self, max: u32) -> Vec<Point> {
        let points = self.points.iter().filter(|point| point.0 <= max);
        points
            .map(|(distance, time, _)| Point::new(f64::from(*distance), time.as_ms()))
            .collect()
    }
}

fn lines(findings: &Findings) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |label: &'static str, points: Vec<(u32, Span, Option<Span>)>| {
        lines.push(Line {
            is_reference: label.starts_with("SEEK"),
            label,
            points,
        })
    };
    if let Some(seeks) = &findings.seeks {
        let points = seeks.points.iter();
        let mean = points.clone().map(|point| {
            (
                point.distance,
                point.mean.value,
                Some(point.mean.uncertainty),
            )
        });
        add("reads, MTBRC: mean", mean.collect());
        add(
            "reads, MTBRC: maximum",
            points
                .map(|point| (point.distance, point.maximum, None))
                .collect(),
        );
    }
    if let Some(WriteSeeks::Own(seeks)) = &findings.write_seeks {
        let points = seeks.points.iter();
        let mean = points.map(|point| {
            (
                point.distance,
                point.mean.value,
                Some(point.mean.uncertainty),
            )
        });
        add("writes, MTBRC: mean", mean.collect());
    }
    if let Some(curves) = &findings.seek_commands {
        let points = curves.points.iter();
        let mean = points.clone().map(|point| {
            (
                point.distance,
                point.mean.value,
                Some(point.mean.uncertainty),
            )
        });
        add("SEEK: mean", mean.collect());
        add(
            "SEEK: maximum",
            points
                .map(|point| (point.distance, point.maximum, None))
                .collect(),
        );
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
    let heads = ["Cylinders"]
        .into_iter()
        .chain(lines.iter().map(|line| line.label));
    let heads: Vec<&str> = heads.collect();
    details("Numbers, in ms", table(&heads, rows))
}

fn details(summary: &str, inside: Html) -> Html {
    Html::element("details", [Html::element("summary", summary), inside])
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
        [
            between.name.clone(),
            rounded(
                found.median.value.as_ms(),
                Some(found.median.uncertainty.as_ms()),
            ),
            ms(found.upper),
            ms(found.host),
            ms(found.distances.0),
            found.median.samples.to_string(),
        ]
        .map(Html::from)
        .to_vec()
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
    for (number, between) in all.iter().take(SCATTERS).enumerate() {
        inside.push(draw(
            &format!("pairs-{}", number + 1),
            &scatter(between),
            Html::default(),
        ));
    }
    inside.into_iter().collect()
}

/// Charts all pairs of a kind and the thresholds.
fn scatter(between: &MtbrcFinding) -> Figure {
    let (half, max) = between.mtbrc.distances;
    let longest = between
        .pairs
        .iter()
        .map(|pair| pair.between.as_ms())
        .fold(0.0, f64::max);
    let line = |label: &str, at: Span| Series {
        label: label.to_owned(),
        points: vec![Point::new(at.as_ms(), 0.0), Point::new(at.as_ms(), longest)],
        is_reference: true,
        ..Series::default()
    };
    let dots = |label: &str, caught: bool| {
        let pairs = between.pairs.iter().filter(|pair| pair.caught == caught);
        Series {
            label: label.to_owned(),
            points: pairs.flat_map(separate_point).collect(),
            ..Series::default()
        }
    };
    Figure {
        title: format!("Pairs of {}", between.name),
        note: "mean of three zones; each pair narrows the threshold down".to_owned(),
        x: Axis::linear("Distance between the first sectors of X and Y, ms"),
        y: Axis::linear("Time between the ends of X and Y, ms"),
        lines: String::new(),
        series: vec![
            line("50th percentile", half),
            line("95th percentile", max),
            dots("caught", true),
            dots("missed: a revolution later", false),
        ],
    }
}

/// Returns a pair as a point that is not connected to the next one.
fn separate_point(pair: &Pair) -> [Point; 2] {
    let gap = Point::new(f64::NAN, f64::NAN);
    [Point::new(pair.distance.as_ms(), pair.between.as_ms()), gap]
}
