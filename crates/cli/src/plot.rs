//! Plots, as SVG: two response-time distributions; the errors of predictions.
//!
//! Written by hand: a plotting library that draws on whole pixels (plotters 0.3) turns a steep
//! distribution into a staircase of its own.

mod errors;

pub use errors::errors;

use std::fmt::Write;

use diskarm_core::stats::Sorted;
use diskarm_core::units::Span;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = WIDTH - 24.0;
const TOP: f64 = 58.0;
const BOTTOM: f64 = HEIGHT - 54.0;

/// The most points of a curve.
const POINTS: usize = 400;

/// The measured curve lies below, broad and light; the simulated one on it, thin and dark. So
/// both are seen where they coincide, and without colours.
const MEASURED: Curve = Curve {
    name: "measured",
    stroke: "stroke=\"#8fbbe3\" stroke-width=\"5\"",
};
const SIMULATED: Curve = Curve {
    name: "simulated",
    stroke: "stroke=\"#1a1a1a\" stroke-width=\"1.4\"",
};

struct Curve {
    name: &'static str,
    stroke: &'static str,
}

/// The cumulative distributions of measured and simulated response times, as figures A.2 to A.5
/// of worthington94 and 4 to 7 of worthington96 draw them: fraction of requests against
/// milliseconds. `title` and `subtitle` are one line each.
///
/// The axis ends beyond 99.9 % of each sample. A curve of up to 200 responses has its steps;
/// of more, lines join 400 order statistics that are evenly spaced in rank.
pub fn distributions(title: &str, subtitle: &str, measured: &Sorted, simulated: &Sorted) -> String {
    let longest = nearly_longest(measured).max(nearly_longest(simulated));
    let x = Axis::to(longest.as_ms());
    let mut svg = opened(HEIGHT, title, subtitle);
    x.draw(&mut svg);
    draw_fractions(&mut svg);
    for (curve, sample) in [(MEASURED, measured), (SIMULATED, simulated)] {
        draw_curve(&mut svg, &curve, &x, &points(sample));
    }
    for (row, curve) in [MEASURED, SIMULATED].iter().enumerate() {
        let y = BOTTOM - 44.0 + 20.0 * row as f64;
        let (from, to, text) = (RIGHT - 116.0, RIGHT - 86.0, RIGHT - 78.0);
        let _ = writeln!(
            svg,
            "<path d=\"M{from} {y}H{to}\" {}/><text x=\"{text}\" y=\"{}\">{}</text>",
            curve.stroke,
            y + 4.5,
            curve.name
        );
    }
    svg += "</svg>\n";
    svg
}

/// The beginning of a drawing of such a height, up to its two lines of title.
fn opened(height: f64, title: &str, subtitle: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" font-family=\"Helvetica, Arial, sans-serif\" \
         font-size=\"13\" fill=\"#1a1a1a\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"16\" font-weight=\"bold\">{}</text>\n\
         <text x=\"{LEFT}\" y=\"43\" fill=\"#555\">{}</text>\n",
        escaped(title),
        escaped(subtitle),
    )
}

/// The axis of milliseconds.
struct Axis {
    /// Between two ticks.
    step_ms: f64,
    ticks: u32,
}

impl Axis {
    /// From zero to `longest_ms` or a little beyond, five to thirteen ticks away.
    fn to(longest_ms: f64) -> Self {
        let longest_ms = longest_ms.max(1e-3);
        let step_ms = round_step(longest_ms);
        Self {
            step_ms,
            ticks: (longest_ms / step_ms).ceil() as u32,
        }
    }

    fn end_ms(&self) -> f64 {
        self.step_ms * f64::from(self.ticks)
    }

    fn at(&self, ms: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * ms / self.end_ms()
    }

    fn draw(&self, svg: &mut String) {
        let decimals = decimals(self.step_ms);
        for tick in 0..=self.ticks {
            let ms = self.step_ms * f64::from(tick);
            let x = self.at(ms);
            // Writing to a string cannot fail.
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} {TOP}V{BOTTOM}\" stroke=\"#e4e4e4\"/>\
                 <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{ms:.decimals$}</text>",
                BOTTOM + 18.0,
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">Response time (ms)</text>",
            (LEFT + RIGHT) / 2.0,
            BOTTOM + 41.0
        );
    }
}

/// A round number that goes five to thirteen times into `length`, the last time perhaps in part.
fn round_step(length: f64) -> f64 {
    let step = 10f64.powf((length / 5.0).log10().floor());
    if length / step > 25.0 {
        5.0 * step
    } else if length / step > 10.0 {
        2.0 * step
    } else {
        step
    }
}

/// That a multiple of `step` needs.
fn decimals(step: f64) -> usize {
    (-step.log10().floor()).max(0.0) as usize
}

fn height(fraction: f64) -> f64 {
    BOTTOM - (BOTTOM - TOP) * fraction
}

/// The axis of fractions, and the axes' own lines.
fn draw_fractions(svg: &mut String) {
    for tick in 0..=5 {
        let fraction = f64::from(tick) / 5.0;
        let y = height(fraction);
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {y:.1}H{RIGHT}\" stroke=\"#e4e4e4\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{fraction:.1}</text>",
            LEFT - 8.0,
            y + 4.5,
        );
    }
    let middle = (TOP + BOTTOM) / 2.0;
    let _ = writeln!(
        svg,
        "<text x=\"18\" y=\"{middle}\" text-anchor=\"middle\" \
         transform=\"rotate(-90 18 {middle})\">Cumulative fraction of requests</text>\n\
         <path d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\" fill=\"none\" stroke=\"#1a1a1a\"/>"
    );
}

fn draw_curve(svg: &mut String, curve: &Curve, x: &Axis, points: &[(f64, f64)]) {
    let _ = write!(
        svg,
        "<path fill=\"none\" {} stroke-linejoin=\"round\" d=\"",
        curve.stroke
    );
    let within = points.iter().take_while(|(ms, _)| *ms <= x.end_ms());
    for (i, &(ms, fraction)) in within.enumerate() {
        let command = if i == 0 { 'M' } else { 'L' };
        let _ = write!(svg, "{command}{:.1} {:.1}", x.at(ms), height(fraction));
    }
    // Beyond its last point a curve stays where it is.
    let _ = writeln!(svg, "H{RIGHT}\"/>");
}

/// Milliseconds and the fraction of the sample up to them.
fn points(sample: &Sorted) -> Vec<(f64, f64)> {
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

/// The longest but one in a thousand.
fn nearly_longest(sample: &Sorted) -> Span {
    let spans = sample.as_slice();
    let index = spans.len().saturating_sub(1 + spans.len() / 1000);
    spans.get(index).copied().unwrap_or(Span::ZERO)
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace(|c: char| c.is_control(), " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(ms: impl IntoIterator<Item = u32>) -> Sorted {
        ms.into_iter().map(|ms| Span::from_ms(ms.into())).collect()
    }

    #[test]
    fn axes_end_at_or_beyond_the_longest_on_a_round_number() {
        for (longest_ms, step_ms, ticks) in [
            (43.0, 5.0, 9),
            (10.0, 1.0, 10),
            (9.0, 1.0, 9),
            (50.0, 10.0, 5),
            (0.7, 0.1, 7),
            (130.0, 20.0, 7),
        ] {
            let axis = Axis::to(longest_ms);
            assert!((axis.step_ms - step_ms).abs() < 1e-9, "{longest_ms}");
            assert_eq!(axis.ticks, ticks, "{longest_ms}");
        }
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
    fn names_from_outside_stay_text() {
        let one = sample([1]);
        let svg = distributions("a<b>&c", "", &one, &one);
        assert!(svg.contains(">a&lt;b>&amp;c</text>"), "{svg}");
    }
}
