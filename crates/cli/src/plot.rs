//! Plots, as SVG: response-time distributions; the errors of predictions; loads of disks.

mod errors;
mod loads;
mod responses;

pub use errors::{Outcome, errors};
pub use loads::loads;
pub use responses::{by_direction, responses, together};

use diskarm_core::stats::SortedSpans;
use diskarm_core::units::Span;
use diskarm_plot::{Figure, Point, Series};

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

#[cfg(test)]
mod tests {
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
}
