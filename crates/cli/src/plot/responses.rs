//! Distributions of simulated response times.

use diskarm_core::report::RequestTotals;
use diskarm_core::request::Op;
use diskarm_core::stats::ResponseSummary;
use diskarm_plot::{Figure, Point, Series};
use diskarm_simulate::Run;

use super::POINTS;

/// A curve ends here: the longest response in a thousand would squeeze all others.
const END: f64 = 0.999;

/// The cumulative distributions of response times of these runs, each with its label.
pub fn responses(title: &str, note: &str, curves: &[(String, ResponseSummary)]) -> String {
    let series = curves.iter().map(|(label, responses)| Series {
        label: label.clone(),
        points: points(responses),
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
fn points(responses: &ResponseSummary) -> Vec<Point> {
    let fractions = (0..=POINTS).map(|k| END * (k as f64 / POINTS as f64));
    let points = fractions.filter_map(|fraction| {
        let span = responses.histogram().quantile(fraction)?;
        Some(Point::new(span.as_ms(), fraction))
    });
    points.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use diskarm_core::units::Span;

    #[test]
    fn a_curve_leads_from_the_shortest_to_all_but_the_longest() {
        let mut responses = ResponseSummary::default();
        (1..=10_000).for_each(|us| responses.record(Span::from_ns(1_000 * us)));
        let points = points(&responses);
        assert_eq!((points[0].x, points[0].y), (0.001, 0.0));
        let last = points[POINTS];
        assert!((last.x - 9.99).abs() < 0.01 && last.y == END, "{last:?}");
        assert!(points.is_sorted_by_key(|point| point.x));
    }
}
