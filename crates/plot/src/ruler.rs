//! Axes: their definition, and the positions of values and round numbers.

use std::f64::consts::LOG10_2;
use std::ops::Range;

use libm::{log2, log10};
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The name of the variable, with its unit: `Mean response time, ms`.
    pub label: String,
    pub scale: Scale,
    /// The highest allowed end of the axis; values beyond it are clipped.
    pub max: Option<f64>,
    /// The values of all figures that share the axis. They replace the values of the figure.
    pub shared: Option<Vec<f64>>,
}

/// The scale of an axis. A value that the axis cannot show, such as zero on a logarithmic axis,
/// leaves a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps for equal differences; starts at zero, unless all values are far from zero.
    Linear,
    /// Equal steps for equal ratios, with ticks at powers of two.
    Log2,
    /// Equal steps for equal ratios, with ticks at 1, 2, 5, 10, ... or at powers of ten.
    Log10,
}

impl Axis {
    pub fn linear(label: impl Into<String>) -> Self {
        Self::new(label, Scale::Linear)
    }

    pub fn new(label: impl Into<String>, scale: Scale) -> Self {
        Self {
            label: label.into(),
            scale,
            max: None,
            shared: None,
        }
    }

    pub fn with_max(self, max: f64) -> Self {
        Self {
            max: Some(max),
            ..self
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The position, as a fraction of the axis.
    pub fraction: f64,
    pub label: String,
}

/// The layout of an axis. For the drawing library, its values are fractions of its length.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruler {
    scale: Scale,
    /// The ends of the axis, as values or their logarithms.
    ends: [f64; 2],
    pub ticks: Vec<Tick>,
    pub has_grid: bool,
}

/// Larger values are not shown: their differences may overflow.
const LARGEST: f64 = 1e300;

impl Ruler {
    /// Lays out `axis` for these values, or for its shared values, with two to `max_ticks` ticks.
    pub fn new(axis: &Axis, values: impl Iterator<Item = f64>, max_ticks: usize) -> Self {
        let range = match &axis.shared {
            Some(shared) => range(axis.scale, shared.iter().copied()),
            None => range(axis.scale, values),
        };
        let [min, largest] = range.unwrap_or(match axis.scale {
            Scale::Linear => [0.0, 1.0],
            Scale::Log2 | Scale::Log10 => [1.0, 2.0],
        });
        let ends = |max: &f64| is_visible(axis.scale, *max) && *max > min;
        let end = axis.max.filter(ends);
        let largest = end.map_or(largest, |end| largest.min(end));
        let intervals = max_ticks.max(2) - 1;
        let mut ruler = match axis.scale {
            Scale::Linear => linear(min, largest, intervals),
            Scale::Log2 => powers_of_two(min, largest, intervals),
            Scale::Log10 => powers_of_ten(min, largest, intervals),
        };
        if let Some(end) = end.filter(|&end| axis.scale.position(end) < ruler.ends[1]) {
            ruler.set_ends([ruler.ends[0], axis.scale.position(end)]);
        }
        ruler
    }

    fn from_ticks(scale: Scale, ends: [f64; 2], ticks: impl Iterator<Item = Tick>) -> Self {
        Self {
            scale,
            ends,
            ticks: ticks.collect(),
            has_grid: true,
        }
    }

    /// Creates a linear axis with exactly these ends, which need not be round numbers.
    pub fn with_ends([from, to]: [f64; 2], max_ticks: usize) -> Self {
        let mut ruler = stepped(from, to, max_ticks.max(2) - 1);
        ruler.set_ends([from, to]);
        ruler
    }

    /// Returns the position of a value as a fraction of the axis. Values beyond its ends are below
    /// 0 or above 1.
    pub fn fraction(&self, value: f64) -> Option<f64> {
        let [from, to] = self.ends;
        is_visible(self.scale, value).then(|| (self.scale.position(value) - from) / (to - from))
    }

    /// Describes the mapping to values: `linear 0 70`, or `log10 0 3` with logarithms as ends.
    pub fn scale_and_ends(&self) -> String {
        let scale = match self.scale {
            Scale::Linear => "linear",
            Scale::Log2 => "log2",
            Scale::Log10 => "log10",
        };
        let [from, to] = self.ends;
        format!("{scale} {from} {to}")
    }

    /// Moves the ends while ticks keep their values. Removes the ticks beyond the new ends.
    fn set_ends(&mut self, [from, to]: [f64; 2]) {
        let [old_from, old_to] = std::mem::replace(&mut self.ends, [from, to]);
        for tick in &mut self.ticks {
            let position = old_from + tick.fraction * (old_to - old_from);
            let fraction = (position - from) / (to - from);
            // Rounding must not lose the tick at an end.
            let is_near = |end: &f64| (fraction - end).abs() < 1e-9;
            tick.fraction = [0.0, 1.0].into_iter().find(is_near).unwrap_or(fraction);
        }
        let is_within = |tick: &Tick| (0.0..=1.0).contains(&tick.fraction);
        self.ticks.retain(is_within);
    }
}

impl Scale {
    /// Returns the value or its logarithm, which grows linearly along the axis.
    fn position(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Log2 => log2(value),
            Self::Log10 => log10(value),
        }
    }
}

fn is_visible(scale: Scale, value: f64) -> bool {
    value.abs() <= LARGEST && (scale == Scale::Linear || value >= 1.0 / LARGEST)
}

fn range(scale: Scale, values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    let visible = values.filter(|&value| is_visible(scale, value));
    visible.fold(None, |range: Option<[f64; 2]>, value| {
        let [min, largest] = range.unwrap_or([value, value]);
        Some([min.min(value), largest.max(value)])
    })
}

/// Lays out an axis from zero, or from the tick at or below the smallest value if this is more than
/// half of the largest, to the tick at or above the largest.
fn linear(min: f64, largest: f64, intervals: usize) -> Ruler {
    let (low, high) = if min > 0.0 && (2.0 * min < largest || min == largest) {
        (0.0, largest)
    } else if largest < 0.0 && (2.0 * largest > min || min == largest) {
        (min, 0.0)
    } else if min == largest {
        (0.0, 1.0)
    } else {
        (min, largest)
    };
    stepped(low, high, intervals)
}

/// Lays out an axis from the tick at or below `low` to the tick at or above `high > low`.
fn stepped(low: f64, high: f64, intervals: usize) -> Ruler {
    let intervals = intervals as f64;
    let mut exponent = (log10((high - low) / intervals)).floor() as i32 - 1;
    let (step, [first, last]) = 'found: loop {
        for digit in [1, 2, 5] {
            let step = TickStep { digit, exponent };
            let ends = [step.times_in(low).floor(), step.times_in(high).ceil()];
            if ends[1] - ends[0] <= intervals {
                break 'found (step, ends);
            }
        }
        exponent += 1;
    };
    let ticks = (0..=(last - first) as u32).map(|i| {
        let times = first + f64::from(i);
        Tick {
            fraction: f64::from(i) / (last - first),
            label: step.label(times),
        }
    });
    let ends = [step.value(first), step.value(last)];
    Ruler::from_ticks(Scale::Linear, ends, ticks)
}

/// The distance between ticks of a linear axis: 1, 2 or 5 times a power of ten.
#[derive(Clone, Copy)]
struct TickStep {
    digit: i32,
    exponent: i32,
}

impl TickStep {
    /// Returns a multiple of the step, rounded once: 3 steps of 0.1 are 0.3.
    fn value(self, times: f64) -> f64 {
        let times = times * f64::from(self.digit);
        if self.exponent < 0 {
            times / power_of(10.0, -self.exponent)
        } else {
            times * power_of(10.0, self.exponent)
        }
    }

    /// Returns a value divided by the step: a whole number if, except for rounding, it is a
    /// multiple.
    fn times_in(self, value: f64) -> f64 {
        let times = value / self.value(1.0);
        let whole = times.round();
        if (times - whole).abs() < 1e-9 {
            whole
        } else {
            times
        }
    }

    /// Formats a multiple of the step exactly; a long number becomes `1.5e12`.
    fn label(self, times: f64) -> String {
        let value = self.value(times);
        if times == 0.0 && !is_plain(self.value(1.0)) {
            return "0".to_owned();
        }
        if is_plain(value) {
            return plain(value, -self.exponent);
        }
        // This is a whole number below 2^53, so its digits are exact.
        let digits = format!("{}", times.abs() * f64::from(self.digit));
        let exponent = self.exponent + digits.len() as i32 - 1;
        let (first, rest) = digits.trim_end_matches('0').split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let sign = if times < 0.0 { "-" } else { "" };
        format!("{sign}{first}{point}{rest}e{exponent}").replace('-', MINUS)
    }
}

/// Lays out an axis between powers of two, at or beyond the smallest and the largest value.
fn powers_of_two(min: f64, largest: f64, intervals: usize) -> Ruler {
    let (first, last) = make_distinct(log2(min).floor() as i32, log2(largest).ceil() as i32);
    let stride = stride(first, last, intervals);
    let ticks = (first..=last).step_by(stride).map(|power| {
        let two = power_of(2.0, power.abs());
        let value = if power < 0 { 1.0 / two } else { two };
        Tick {
            fraction: f64::from(power - first) / f64::from(last - first),
            label: if is_plain(value) {
                plain(value, -power)
            } else {
                format!("2^{power}").replace('-', MINUS)
            },
        }
    });
    Ruler::from_ticks(Scale::Log2, [first, last].map(f64::from), ticks)
}

/// Lays out an axis from the last of 1, 2, 5, 10, ... at or below the smallest value to the first
/// at or above the largest. The ticks are all of these numbers, or only powers of ten.
fn powers_of_ten(min: f64, largest: f64, intervals: usize) -> Ruler {
    const POSITIONS: [f64; 3] = [0.0, LOG10_2, 1.0 - LOG10_2];
    let position =
        |rung: i32| f64::from(rung.div_euclid(3)) + POSITIONS[rung.rem_euclid(3) as usize];
    let decade_rung = |value: f64| 3 * log10(value).floor() as i32;
    let (low, high) = (log10(min) + 1e-12, log10(largest) - 1e-12);
    let mut downwards = (0..3).rev().map(|k| decade_rung(min) + k);
    let first = downwards.find(|&rung| position(rung) <= low);
    let mut upwards = (0..4).map(|k| decade_rung(largest) + k);
    let last = upwards.find(|&rung| position(rung) >= high);
    let first = first.unwrap_or_else(|| decade_rung(min));
    let (first, last) = make_distinct(first, last.unwrap_or_else(|| decade_rung(largest) + 3));
    let ends = [position(first), position(last)];
    let has_all_ticks = (last - first) as usize <= intervals;
    let decades = stride(first.div_euclid(3), last.div_euclid(3), intervals) as i32;
    let is_tick = |rung: &i32| has_all_ticks || rung.rem_euclid(3 * decades) == 0;
    let ticks = (first..=last).filter(is_tick).map(|rung| {
        let step = TickStep {
            digit: [1, 2, 5][rung.rem_euclid(3) as usize],
            exponent: rung.div_euclid(3),
        };
        Tick {
            fraction: (position(rung) - ends[0]) / (ends[1] - ends[0]),
            label: step.label(1.0),
        }
    });
    Ruler::from_ticks(Scale::Log10, ends, ticks)
}

fn make_distinct(first: i32, last: i32) -> (i32, i32) {
    (first, last.max(first + 1))
}

/// Returns the smallest stride that gives at most `intervals` intervals between two whole numbers.
fn stride(first: i32, last: i32, intervals: usize) -> usize {
    ((last - first) as usize).div_ceil(intervals).max(1)
}

/// Returns a power, exact up to the 22nd power of ten. Avoids `powi`, whose last bit may differ
/// between machines.
fn power_of(base: f64, exponent: i32) -> f64 {
    (0..exponent).fold(1.0, |product, _| product * base)
}

const MINUS: &str = "\u{2212}";

fn is_plain(value: f64) -> bool {
    value == 0.0 || (1e-6..1e9).contains(&value.abs())
}

/// Formats a number with `decimals` decimals, if positive, and thousands separators from 10,000 on.
fn plain(value: f64, decimals: i32) -> String {
    let decimals = decimals.max(0) as usize;
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && whole.len() > 4 && (whole.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign = if value < 0.0 { MINUS } else { "" };
    format!("{sign}{grouped}{rest}")
}

impl Ranged for Ruler {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, fraction: &f64, (from, to): (i32, i32)) -> i32 {
        (f64::from(from) + fraction * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        let lines = self.ticks.iter().filter(|_| self.has_grid);
        lines.map(|tick| tick.fraction).collect()
    }

    fn range(&self) -> Range<f64> {
        0.0..1.0
    }
}

/// Formats a mean and its half width, such as `16.72 ± 0.13`, with two digits of the latter. A mean
/// without an interval, or an exact one, has four digits.
pub fn rounded(mean: f64, half_width: Option<f64>) -> String {
    match half_width {
        // A width that is only a rounding error would be shown with all of its digits.
        Some(half) if half > 1e-9 * mean.abs() && half.is_finite() => {
            let decimals = decimals(half, 2);
            let mean = format!("{mean:.decimals$}");
            // A mean that is rounded to zero has no sign.
            let is_zero = !mean.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
            let mean = if is_zero {
                mean.trim_start_matches('-')
            } else {
                &mean
            };
            format!("{mean} \u{b1} {half:.decimals$}")
        }
        _ => with_digits(mean, 4),
    }
}

/// Formats a number with `digits` significant digits, or with all digits before the decimal point.
pub fn with_digits(number: f64, digits: i32) -> String {
    let decimals = decimals(number, digits);
    let text = format!("{number:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Returns the number of decimals that gives a number this many digits; at most nine.
fn decimals(number: f64, digits: i32) -> usize {
    if number == 0.0 || !number.is_finite() {
        return 0;
    }
    let first = number.abs().log10().floor() as i32;
    (digits - 1 - first).clamp(0, 9) as usize
}

#[cfg(test)]
mod tests;
