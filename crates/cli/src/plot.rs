//! SVG charts: distributions of response times, loads of disks, errors of predictions.

use std::collections::BTreeSet;
use std::fmt::Write;

use diskarm_core::report::RequestTotals;
use diskarm_core::request::Op;
use diskarm_core::stats::{ResponseSummary, SortedSpans};
use diskarm_core::units::{Bytes, Instant, Span};
use diskarm_plot::{Axis, BarGroup, BarSeries, Bars, Figure, Point, Series};
use diskarm_queueing::declustering::comparison::{Comparison, LayoutResult};
use diskarm_results::declustering::failed_and_reads;
use diskarm_simulate::Run;

/// Accepts the names of SVG files only.
pub fn svg_name(text: &str) -> Result<String, &'static str> {
    let is_svg = text.len() > 4 && text.to_ascii_lowercase().ends_with(".svg");
    (is_svg || text == "-")
        .then(|| text.to_owned())
        .ok_or("expected a name ending in .svg, or - for standard output")
}

const POINTS: usize = 400;

/// Draws cumulative distributions of measured and simulated response times in milliseconds, like
/// figures A.2 to A.5 of worthington94 and figures 4 to 7 of worthington96.
///
/// The chart covers at least 99.9 % of each sample. A curve of up to 200 responses is drawn in
/// steps; for more responses, lines join 400 order statistics that are evenly spaced in rank.
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
        let visible = points.filter(|(ms, _)| *ms <= longest.as_ms());
        Series {
            label: label.to_owned(),
            points: visible.map(|(ms, part)| Point::new(ms, part)).collect(),
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

/// Returns times in milliseconds, each with the fraction of the sample that does not exceed it.
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

/// Returns the longest response, ignoring the longest 0.1 %.
fn nearly_longest(sample: &SortedSpans) -> Span {
    let spans = sample.as_slice();
    let index = spans.len().saturating_sub(1 + spans.len() / 1000);
    spans.get(index).copied().unwrap_or(Span::ZERO)
}

/// Curves end at this fraction, because the longest 0.1 % would squeeze all other responses.
const END_FRACTION: f64 = 0.999;

/// Draws cumulative distributions of response times, each with its label.
pub fn responses(title: &str, note: &str, curves: &[(String, ResponseSummary)]) -> String {
    let series = curves.iter().map(|(label, responses)| Series {
        label: label.clone(),
        points: summary_points(responses),
        ..Series::default()
    });
    let note = format!("{note}; curves end at 99.9 % of the requests");
    Figure::of_responses(title, &note, series.collect()).still_svg()
}

/// Returns the responses of `runs` with labels: all, reads and writes.
pub fn by_direction(runs: &[Run]) -> Vec<(String, ResponseSummary)> {
    let by_op = |op| merge(runs.iter().map(|run| run.report.of(op).clone()));
    let curves = [
        ("all".to_owned(), pool(runs)),
        ("reads".to_owned(), by_op(Op::Read)),
        ("writes".to_owned(), by_op(Op::Write)),
    ];
    let has_any = |responses: &ResponseSummary| responses.histogram().count() > 0;
    curves.into_iter().filter(|(_, one)| has_any(one)).collect()
}

pub fn pool(runs: &[Run]) -> ResponseSummary {
    merge(runs.iter().map(|run| run.report.all()))
}

fn merge(runs: impl Iterator<Item = RequestTotals>) -> ResponseSummary {
    let mut all = ResponseSummary::default();
    runs.for_each(|run| all.merge(run.responses()));
    all
}

/// Returns times in milliseconds at evenly spaced fractions of the responses.
fn summary_points(responses: &ResponseSummary) -> Vec<Point> {
    let fractions = (0..=POINTS).map(|k| END_FRACTION * (k as f64 / POINTS as f64));
    let points = fractions.filter_map(|fraction| {
        let span = responses.histogram().quantile(fraction)?;
        Some(Point::new(span.as_ms(), fraction))
    });
    points.collect()
}

/// Draws the load of each disk with and without the failures.
pub fn loads(compared: &Comparison) -> String {
    let parameters = &compared.parameters;
    let groups = (0..parameters.disks).map(|disk| BarGroup {
        name: disk.to_string(),
        remark: if parameters.failed.contains(disk) {
            "failed"
        } else {
            ""
        }
        .to_owned(),
    });
    let normal = BarSeries {
        label: "all, without failures".to_owned(),
        values: vec![Some(1.0); parameters.disks],
        is_reference: true,
    };
    let degraded = |layout: &LayoutResult| {
        let values = layout.loads.iter().map(|load| load.degraded_over_normal);
        BarSeries {
            label: layout.layout.to_owned() + if layout.is_lost { ": data lost" } else { "" },
            values: values.collect(),
            is_reference: false,
        }
    };
    let degraded = compared.layouts.iter().map(degraded);
    let [failed, reads] = failed_and_reads(parameters);
    let bars = Bars {
        title: "Load of each disk, with and without failures".to_owned(),
        note: format!(
            "{} disks, clusters of {}, {reads} % reads; failed: {failed}",
            parameters.disks, parameters.cluster
        ),
        x: "Disk".to_owned(),
        groups: groups.collect(),
        y: Axis::linear("Load relative to the load without failures"),
        series_heading: "Layout".to_owned(),
        series: [normal].into_iter().chain(degraded).collect(),
    };
    bars.svg()
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 580.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = WIDTH - 24.0;

/// The points are in the upper panel, the bars in the lower one.
const DOTS: Panel = Panel {
    top: 58.0,
    bottom: 290.0,
    x_name: "Time in the trace (s)",
};
const BARS: Panel = Panel {
    top: 366.0,
    bottom: 526.0,
    x_name: "Error (ms)",
};

const GRID: &str = "stroke=\"#e4e4e4\"";

/// The number of bars in the histogram, which is even so that no bar straddles zero.
const BINS: usize = 200;

/// The largest request size, name and colour of each size class.
const SIZES: [(u64, &str, &str); 5] = [
    (4 << 10, "up to 4 KiB", "#0b2f55"),
    (8 << 10, "up to 8 KiB", "#b4501e"),
    (16 << 10, "up to 16 KiB", "#2f7d32"),
    (64 << 10, "up to 64 KiB", "#7b2d8b"),
    (u64::MAX, "over 64 KiB", "#b00020"),
];

/// At most one point is drawn in each square of this size, in pixels, to keep the file small.
const CELL: f64 = 0.8;

#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    pub issued: Instant,
    /// Measured minus predicted.
    pub error: Span,
    pub size: Bytes,
}

struct Panel {
    top: f64,
    bottom: f64,
    x_name: &'static str,
}

/// A range of values, and the positions of its ends in pixels.
struct Scale {
    values: [f64; 2],
    pixels: [f64; 2],
    step: f64,
}

/// Draws prediction errors as points over time, and those within half a revolution as a histogram
/// with a line for each size class. The error axis of the points covers at least 99.9 % of them,
/// and errors of up to a revolution.
pub fn errors(title: &str, subtitle: &str, errors: &[Outcome], period: Span) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         width=\"{WIDTH}\" height=\"{HEIGHT}\" font-family=\"Helvetica, Arial, sans-serif\" \
         font-size=\"13\" fill=\"#1a1a1a\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"16\" font-weight=\"bold\">{}</text>\n\
         <text x=\"{LEFT}\" y=\"43\" fill=\"#555\">{}</text>\n",
        escape(title),
        escape(subtitle),
    );
    draw_points(&mut svg, errors, period);
    draw_bars(&mut svg, errors, period);
    svg + "</svg>\n"
}

fn draw_points(svg: &mut String, errors: &[Outcome], period: Span) {
    let sizes = errors
        .iter()
        .map(|one| Span::from_ns(one.error.as_ns().abs()));
    let sizes: SortedSpans = sizes.collect();
    // Slightly larger, so that no point is on the edge.
    let limit_ms = 1.05 * nearly_longest(&sizes).max(period).as_ms();
    let y = DOTS.vertical([-limit_ms, limit_ms], round_step(4.0 * limit_ms));
    let from = errors.first().map_or(0.0, |one| one.issued.as_s());
    let end = errors.last().map_or(0.0, |one| one.issued.as_s());
    let x = Scale::horizontal([from, end.max(from + 1e-3)]);
    DOTS.draw(svg, &x, &y, "Error (ms)", "measured \u{2212} predicted");
    let cell = |pixels: f64| (pixels / CELL).round() as i64;
    let mut cells = BTreeSet::new();
    for one in errors {
        let error_ms = one.error.as_ms();
        if error_ms.abs() <= limit_ms {
            cells.insert((cell(x.pixel(one.issued.as_s())), cell(y.pixel(error_ms))));
        }
    }
    // A line of length zero with round ends is a dot.
    let _ = write!(
        svg,
        "<path fill=\"none\" stroke=\"#2a6db0\" stroke-width=\"1.6\" stroke-linecap=\"round\" d=\""
    );
    for (x, y) in cells {
        let _ = write!(svg, "M{:.1} {:.1}h0", x as f64 * CELL, y as f64 * CELL);
    }
    *svg += "\"/>\n";
}

fn draw_bars(svg: &mut String, errors: &[Outcome], period: Span) {
    let percents = histogram(errors, period);
    let sizes = by_size(errors, period);
    let lines = sizes.iter().flat_map(|(_, percents)| percents);
    let highest = percents.iter().chain(lines).copied().fold(1e-3, f64::max);
    let step = round_step(2.0 * highest);
    let y = BARS.vertical([0.0, step * (highest / step).ceil()], step);
    let half_ms = period.as_ms() / 2.0;
    let x = Scale::horizontal([-half_ms, half_ms]);
    let width_ms = period.as_ms() / BINS as f64;
    let edge = |bin: usize| x.pixel(bin as f64 * width_ms - half_ms);
    let per_bar = format!("per {width_ms:.3} ms");
    BARS.draw(svg, &x, &y, "Requests (%)", &per_bar);
    let _ = write!(svg, "<path fill=\"#9dc3e6\" d=\"");
    for (bin, &percent) in percents.iter().enumerate() {
        if percent > 0.0 {
            let (from, to, bottom) = (edge(bin), edge(bin + 1), BARS.bottom);
            let top = y.pixel(percent);
            let _ = write!(svg, "M{from:.1} {bottom}V{top:.1}H{to:.1}V{bottom}z");
        }
    }
    *svg += "\"/>\n";
    // With a single class, the line would repeat the bars.
    for (row, (class, percents)) in sizes.iter().enumerate().filter(|_| sizes.len() > 1) {
        let (_, name, colour) = SIZES[*class];
        let line = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.2\"");
        let _ = write!(svg, "<path {line} d=\"M{LEFT} {}", BARS.bottom);
        for (bin, percent) in percents.iter().enumerate() {
            let before = if bin > 0 { percents[bin - 1] } else { 0.0 };
            let after = percents.get(bin + 1).copied().unwrap_or(0.0);
            // Between empty bins, the line runs along the axis.
            if before + percent + after > 0.0 {
                let _ = write!(svg, "H{:.1}V{:.1}", edge(bin), y.pixel(*percent));
            }
        }
        let (at, text) = (BARS.top + 16.0 * (row as f64 + 1.0), RIGHT - 100.0);
        let _ = writeln!(
            svg,
            "H{RIGHT}\"/>\n<path {line} d=\"M{:.1} {:.1}h20\"/>\
             <text x=\"{text}\" y=\"{at:.1}\" font-size=\"11\">{name}</text>",
            text - 26.0,
            at - 4.0,
        );
    }
}

/// Returns the index and the histogram of each size class that has requests.
fn by_size(errors: &[Outcome], period: Span) -> Vec<(usize, Vec<f64>)> {
    let class = |one: &Outcome| SIZES.iter().position(|(max, _, _)| one.size.0 <= *max);
    let classes = (0..SIZES.len()).filter_map(|index| {
        let members = errors.iter().filter(|one| class(one) == Some(index));
        let members: Vec<Outcome> = members.copied().collect();
        (!members.is_empty()).then(|| (index, histogram(&members, period)))
    });
    classes.collect()
}

/// Returns the percentage of requests in each of [`BINS`] equal parts of a revolution around zero.
fn histogram(errors: &[Outcome], period: Span) -> Vec<f64> {
    let mut counts = vec![0u64; BINS];
    for one in errors {
        let revolutions = one.error.as_ms() / period.as_ms() + 0.5;
        if (0.0..1.0).contains(&revolutions) {
            counts[(revolutions * BINS as f64) as usize] += 1;
        }
    }
    let percent = |count: u64| 100.0 * count as f64 / errors.len() as f64;
    counts.into_iter().map(percent).collect()
}

impl Panel {
    fn vertical(&self, values: [f64; 2], step: f64) -> Scale {
        Scale {
            values,
            pixels: [self.bottom, self.top],
            step,
        }
    }

    /// Draws the grid, its numbers and the axis names; `left` and `more` name the vertical axis.
    fn draw(&self, svg: &mut String, x: &Scale, y: &Scale, left: &str, more: &str) {
        let (top, bottom) = (self.top, self.bottom);
        for (at, value) in x.ticks() {
            let _ = writeln!(
                svg,
                "<path d=\"M{at:.1} {top}V{bottom}\" {GRID}/>\
                 <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{value}</text>",
                bottom + 18.0
            );
        }
        for (at, value) in y.ticks() {
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {at:.1}H{RIGHT}\" {GRID}/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
                LEFT - 6.0,
                at + 4.5
            );
        }
        let (middle, centre) = ((top + bottom) / 2.0, (LEFT + RIGHT) / 2.0);
        let _ = writeln!(
            svg,
            "<text text-anchor=\"middle\" transform=\"translate(14 {middle}) rotate(-90)\">{left}\
             <tspan x=\"0\" dy=\"13\" font-size=\"11\" fill=\"#555\">{more}</tspan></text>\n\
             <text x=\"{centre}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
             <path d=\"M{LEFT} {top}V{bottom}H{RIGHT}\" fill=\"none\" stroke=\"#1a1a1a\"/>",
            bottom + 39.0,
            self.x_name
        );
    }
}

impl Scale {
    fn horizontal(values: [f64; 2]) -> Self {
        Self {
            values,
            pixels: [LEFT, RIGHT],
            step: round_step(values[1] - values[0]),
        }
    }

    fn pixel(&self, value: f64) -> f64 {
        let ([from, end], [start, stop]) = (self.values, self.pixels);
        start + (stop - start) * (value - from) / (end - from)
    }

    /// Returns the positions of the multiples of the step within the range, and their numbers.
    fn ticks(&self) -> impl Iterator<Item = (f64, String)> {
        let [from, end] = self.values.map(|value| value / self.step);
        // Rounding must not lose a multiple at an end of the range.
        let (first, last) = ((from - 1e-9).ceil() as i64, (end + 1e-9).floor() as i64);
        let decimals = decimals(self.step);
        (first..=last).map(move |tick| {
            let value = tick as f64 * self.step;
            let text = format!("{value:.decimals$}").replace('-', "\u{2212}");
            (self.pixel(value), text)
        })
    }
}

/// Returns a round number that divides `length` into 5 to 13 steps; the last may be partial.
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

/// Returns the number of decimals that a multiple of `step` needs.
fn decimals(step: f64) -> usize {
    (-step.log10().floor()).max(0.0) as usize
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace(|c: char| c.is_control(), " ")
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
    fn empty_samples_can_be_drawn() {
        let svg = distributions("a", "b", &sample([]), &sample([]));
        assert!(!svg.contains("NaN"), "{svg}");
    }

    #[test]
    fn a_curve_omits_only_the_longest_responses() {
        let mut responses = ResponseSummary::default();
        (1..=10_000).for_each(|us| responses.record(Span::from_ns(1_000 * us)));
        let points = summary_points(&responses);
        assert_eq!((points[0].x, points[0].y), (0.001, 0.0));
        let last = points[POINTS];
        assert!(
            (last.x - 9.99).abs() < 0.01 && last.y == END_FRACTION,
            "{last:?}"
        );
        assert!(points.is_sorted_by_key(|point| point.x));
    }

    fn at(ms: i64, error_us: i64) -> Outcome {
        Outcome {
            issued: Instant::START + Span::from_ms(ms as f64),
            error: Span::from_us(error_us as f64),
            size: Bytes(8192),
        }
    }

    /// A class's percentages refer to its own requests, and its largest size belongs to it.
    #[test]
    fn lines_are_percentages_of_their_class() {
        let of = |size, error_us| Outcome {
            size: Bytes(size),
            ..at(0, error_us)
        };
        // Bars are 0.05 ms wide.
        let errors = [of(512, 20), of(4096, 70), of(4608, 20), of(1 << 20, 9_000)];
        let classes = by_size(&errors, Span::from_ms(10.0));
        let nonempty = |percents: &[f64]| -> Vec<(usize, f64)> {
            let bins = percents.iter().copied().enumerate();
            bins.filter(|(_, percent)| *percent > 0.0).collect()
        };
        let found = classes.iter().map(|(class, p)| (*class, nonempty(p)));
        let found: Vec<_> = found.collect();
        let expected = [
            (0, vec![(100, 50.0), (101, 50.0)]),
            (1, vec![(100, 100.0)]),
            (4, vec![]),
        ];
        assert_eq!(found, expected);
        let svg = errors_plot(&errors, Span::from_ms(10.0));
        assert_eq!(svg.matches("KiB</text>").count(), 3, "{svg}");
    }

    #[test]
    fn bars_are_percentages_of_all_requests() {
        // Bars are 0.05 ms wide. -5 ms is in the first bar; 5 ms is just beyond the last. Half of
        // the errors are outside.
        let errors = [
            -5_000, -1, 0, 49, 50, 4_999, 5_000, -5_001, 10_000, 20_000, -10_000, 7_000,
        ];
        let percents = histogram(&errors.map(|us| at(0, us)), Span::from_ms(10.0));
        let filled = percents.iter().enumerate().filter(|(_, p)| **p > 0.0);
        let found: Vec<(usize, i64)> = filled.map(|(bin, p)| (bin, (p * 12.0) as i64)).collect();
        assert_eq!(
            found,
            [(0, 100), (99, 100), (100, 200), (101, 100), (199, 100)]
        );
    }

    #[test]
    fn ticks_are_the_round_numbers_in_range() {
        let scale = Scale {
            values: [-11.0, 4.9],
            pixels: [0.0, 159.0],
            step: 5.0,
        };
        let found: Vec<(i64, String)> = scale
            .ticks()
            .map(|(at, n)| (at.round() as i64, n))
            .collect();
        let expected = [(10, "\u{2212}10"), (60, "\u{2212}5"), (110, "0")];
        assert_eq!(found, expected.map(|(at, number)| (at, number.to_owned())));
    }

    #[test]
    fn each_position_is_drawn_once_and_one_request_suffices() {
        let period = Span::from_ms(10.0);
        let dots = |errors: &[Outcome]| {
            let svg = errors_plot(errors, period);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            svg.matches("h0").count()
        };
        assert_eq!(dots(&[at(5, 100)]), 1);
        assert_eq!(
            dots(&[at(0, 100), at(0, 100), at(900, 100), at(900, -9_000)]),
            3
        );
    }

    #[test]
    fn names_are_escaped() {
        let svg = errors("a<b>&c", "", &[at(5, 100)], Span::from_ms(10.0));
        assert!(svg.contains(">a&lt;b>&amp;c</text>"), "{svg}");
    }

    fn errors_plot(rows: &[Outcome], period: Span) -> String {
        errors("a", "b", rows, period)
    }
}
