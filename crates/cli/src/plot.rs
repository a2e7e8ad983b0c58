//! SVG charts: distributions of response times, loads of disks, errors of predictions.

mod errors;

use diskarm_core::report::RequestTotals;
use diskarm_core::request::Op;
use diskarm_core::stats::{ResponseSummary, SortedSpans};
use diskarm_core::units::Span;
use diskarm_plot::{Axis, BarGroup, BarSeries, Bars, Figure, Point, Series};
use diskarm_queueing::declustering::comparison::{Comparison, LayoutResult};
use diskarm_simulate::Run;

pub use errors::{Outcome, errors};

/// Accepts the names of SVG files only.
pub fn svg_name(text: &str) -> Result<String, &'static str> {
    let is_svg = text.len() > 4 && text.to_ascii_lowercase().ends_with(".svg");
    (is_svg || text == "-")
        .then(|| text.to_owned())
        .ok_or("expected a name ending in .svg, or - for standard output")
}

/// The maximum number of points of a curve.
const POINTS: usize = 400;

/// The cumulative distributions of measured and simulated response times, as figures A.2 to A.5
/// of worthington94 and 4 to 7 of worthington96 show them: fraction of requests against
/// milliseconds.
///
/// The curves end beyond 99.9 % of each sample. A curve of up to 200 responses has its steps;
/// for more, lines join 400 order statistics that are evenly spaced in rank.
pub fn distributions(
    title: &str,
    subtitle: &str,
    measured: &SortedSpans,
    simulated: &SortedSpans,
) -> String {
    let longest = nearly_longest(measured).max(nearly_longest(simulated));
    let curve = |label: &str, sample: &SortedSpans| {
        let up_to = sample.as_slice().partition_point(|span| *span <= longest);
        let end = (
            longest.as_ms(),
            up_to as f64 / sample.as_slice().len() as f64,
        );
        let points = points(sample).into_iter().chain([end]);
        let within = points.filter(|(ms, _)| *ms <= longest.as_ms());
        Series {
            label: label.to_owned(),
            points: within.map(|(ms, part)| Point::new(ms, part)).collect(),
            ..Series::default()
        }
    };
    let measured = Series {
        is_reference: true,
        ..curve("measured", measured)
    };
    let curves = vec![measured, curve("simulated", simulated)];
    Figure::of_responses(title, subtitle, curves).still_svg()
}

/// Milliseconds and the fraction of the sample up to them.
fn points(sample: &SortedSpans) -> Vec<(f64, f64)> {
    let spans = sample.as_slice();
    let part = |rank: usize| rank as f64 / spans.len() as f64;
    if 2 * spans.len() <= POINTS {
        let steps = spans.iter().enumerate();
        let ends = |(i, span): (usize, &Span)| [i, i + 1].map(|rank| (span.as_ms(), part(rank)));
        return steps.flat_map(ends).collect();
    }
    let ranks = (0..POINTS).map(|k| k * (spans.len() - 1) / (POINTS - 1));
    ranks.map(|i| (spans[i].as_ms(), part(i + 1))).collect()
}

/// The longest response, ignoring the longest one in a thousand.
fn nearly_longest(sample: &SortedSpans) -> Span {
    let spans = sample.as_slice();
    let index = spans.len().saturating_sub(1 + spans.len() / 1000);
    spans.get(index).copied().unwrap_or(Span::ZERO)
}

/// A curve ends here: the longest response in a thousand would squeeze all others.
const END: f64 = 0.999;

/// The cumulative distributions of response times of these runs, each with its label.
pub fn responses(title: &str, note: &str, curves: &[(String, ResponseSummary)]) -> String {
    let series = curves.iter().map(|(label, responses)| Series {
        label: label.clone(),
        points: summary_points(responses),
        ..Series::default()
    });
    let note = format!("{note}; curves end at 99.9 % of the requests");
    Figure::of_responses(title, &note, series.collect()).still_svg()
}

/// All responses of some runs, and those of reads and of writes.
pub fn by_direction(runs: &[Run]) -> Vec<(String, ResponseSummary)> {
    let of = |op| merged(runs.iter().map(|run| run.report.of(op).clone()));
    let curves = [
        ("all".to_owned(), together(runs)),
        ("reads".to_owned(), of(Op::Read)),
        ("writes".to_owned(), of(Op::Write)),
    ];
    let counted = |responses: &ResponseSummary| responses.histogram().count() > 0;
    curves.into_iter().filter(|(_, one)| counted(one)).collect()
}

/// All responses of some runs.
pub fn together(runs: &[Run]) -> ResponseSummary {
    merged(runs.iter().map(|run| run.report.all()))
}

fn merged(runs: impl Iterator<Item = RequestTotals>) -> ResponseSummary {
    let mut all = ResponseSummary::default();
    runs.for_each(|run| all.merge(run.responses()));
    all
}

/// Milliseconds and the fraction of responses up to them, evenly spaced in fraction.
fn summary_points(responses: &ResponseSummary) -> Vec<Point> {
    let fractions = (0..=POINTS).map(|k| END * (k as f64 / POINTS as f64));
    let points = fractions.filter_map(|fraction| {
        let span = responses.histogram().quantile(fraction)?;
        Some(Point::new(span.as_ms(), fraction))
    });
    points.collect()
}

/// Draws the load of each disk with failures, compared with that without, which is the same for all
/// layouts.
pub fn loads(compared: &Comparison) -> String {
    let groups = (0..compared.disks).map(|disk| BarGroup {
        name: disk.to_string(),
        remark: if compared.failed.contains(&disk) {
            "failed".to_owned()
        } else {
            String::new()
        },
    });
    let normal = BarSeries {
        label: "all, without failures".to_owned(),
        values: vec![Some(1.0); compared.disks],
        is_reference: true,
    };
    let degraded = |of: &LayoutResult| BarSeries {
        label: if of.is_lost {
            format!("{}: data lost", of.layout)
        } else {
            of.layout.to_owned()
        },
        values: of
            .loads
            .iter()
            .map(|load| load.degraded_over_normal)
            .collect(),
        is_reference: false,
    };
    let degraded = compared.layouts.iter().map(degraded);
    let failed: Vec<String> = compared.failed.iter().map(usize::to_string).collect();
    let reads = (1_000.0 * compared.read_share).round() / 10.0;
    let bars = Bars {
        title: "Load of each disk, with and without failures".to_owned(),
        note: format!(
            "{} disks, clusters of {}, {reads} % reads; failed: {}",
            compared.disks,
            compared.cluster,
            failed.join(", ")
        ),
        x: "Disk".to_owned(),
        groups: groups.collect(),
        y: Axis::linear("Load, as a multiple of that without failures"),
        series_heading: "Layout".to_owned(),
        series: [normal].into_iter().chain(degraded).collect(),
    };
    bars.svg()
}

#[cfg(test)]
mod tests {
    use diskarm_core::units::Span;

    use super::*;

    fn sample(ms: impl IntoIterator<Item = u32>) -> SortedSpans {
        ms.into_iter().map(|ms| Span::from_ms(ms.into())).collect()
    }

    #[test]
    fn few_responses_keep_their_steps_and_many_are_thinned() {
        let steps = [(1.0, 0.0), (1.0, 0.5), (3.0, 0.5), (3.0, 1.0)];
        assert_eq!(points(&sample([3, 1])), steps);
        let many = points(&sample(1..=10_000));
        assert_eq!(many.len(), POINTS);
        assert_eq!(many[0], (1.0, 0.0001));
        assert_eq!(many[POINTS - 1], (10_000.0, 1.0));
    }

    #[test]
    fn no_responses_are_drawn_too() {
        let svg = distributions("a", "b", &sample([]), &sample([]));
        assert!(!svg.contains("NaN"), "{svg}");
    }

    #[test]
    fn a_curve_leads_from_the_shortest_to_all_but_the_longest() {
        let mut responses = ResponseSummary::default();
        (1..=10_000).for_each(|us| responses.record(Span::from_ns(1_000 * us)));
        let points = summary_points(&responses);
        assert_eq!((points[0].x, points[0].y), (0.001, 0.0));
        let last = points[POINTS];
        assert!((last.x - 9.99).abs() < 0.01 && last.y == END, "{last:?}");
        assert!(points.is_sorted_by_key(|point| point.x));
    }
}
