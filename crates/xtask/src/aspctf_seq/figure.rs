//! Drawings: panels of mean responses against load, and below each what the studied policy gains.

use std::fmt::Write;

use super::cells::Load;
use super::{POLICIES, Panel, STUDIED};
use crate::estimate::Estimate;

/// Pixels. A panel has two plots, one above the other.
const PANEL_WIDTH: f64 = 450.0;
const PANEL_HEIGHT: f64 = 392.0;
const TOP: f64 = 78.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = PANEL_WIDTH - 14.0;
const RESPONSES: [f64; 2] = [226.0, 30.0];
const GAINS: [f64; 2] = [346.0, 246.0];

const COLUMNS: usize = 2;

/// Percent, the range of the lower plot.
const CHANGES: [f64; 2] = [-100.0, 60.0];

/// Colour and width of each policy's line.
const STROKES: [(&str, f64); 5] = [
    ("#d1741f", 1.6),
    ("#4f9a5b", 1.6),
    ("#3f7fc4", 1.6),
    ("#1a1a1a", 2.2),
    ("#999999", 1.2),
];

/// A range of values in pixels, linear or logarithmic.
struct Scale {
    values: [f64; 2],
    pixels: [f64; 2],
    is_log: bool,
}

impl Scale {
    /// Where a value lies; one out of the range lies on its rim.
    fn at(&self, value: f64) -> f64 {
        let way = |value: f64| if self.is_log { value.ln() } else { value };
        let [from, to] = self.values.map(way);
        let inside = value.clamp(self.values[0], self.values[1]);
        let share = (way(inside) - from) / (to - from);
        self.pixels[0] + share * (self.pixels[1] - self.pixels[0])
    }
}

/// All panels of a figure, in two columns. `title` is one line.
pub fn figure(title: &str, panels: &[Panel]) -> String {
    let width = PANEL_WIDTH * COLUMNS as f64;
    let height = TOP + PANEL_HEIGHT * panels.len().div_ceil(COLUMNS) as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" font-family=\"Helvetica, Arial, sans-serif\" \
         font-size=\"11\" fill=\"#1a1a1a\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"14\" y=\"24\" font-size=\"16\" font-weight=\"bold\">{title}</text>\n\
         <text x=\"14\" y=\"43\" fill=\"#555\">Above: mean response. Below: mean response of \
         {} less that of each other policy, in percent of the other's. Bars: 95 % confidence \
         intervals.</text>\n",
        POLICIES[STUDIED]
    );
    legend(&mut svg);
    for (index, panel) in panels.iter().enumerate() {
        let x = PANEL_WIDTH * (index % COLUMNS) as f64;
        let y = TOP + PANEL_HEIGHT * (index / COLUMNS) as f64;
        // Writing to a string cannot fail.
        let _ = writeln!(svg, "<g transform=\"translate({x} {y})\">");
        draw(&mut svg, panel);
        svg += "</g>\n";
    }
    svg += "</svg>\n";
    svg
}

fn legend(svg: &mut String) {
    for (place, (name, (colour, width))) in POLICIES.iter().zip(STROKES).enumerate() {
        let x = 14.0 + 110.0 * place as f64;
        let _ = writeln!(
            svg,
            "<path d=\"M{x} 62h26\" stroke=\"{colour}\" stroke-width=\"{width}\"/>\
             <circle cx=\"{}\" cy=\"62\" r=\"{}\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"66\" font-size=\"13\">{name}</text>",
            x + 13.0,
            width + 0.9,
            x + 32.0
        );
    }
}

fn draw(svg: &mut String, panel: &Panel) {
    let setting = panel.setting;
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"18\" font-size=\"13\"><tspan font-weight=\"bold\">{}</tspan> on \
         {}</text>",
        setting.title, setting.drive
    );
    let x = loads(panel);
    let y = responses(panel);
    let changes = Scale {
        values: CHANGES,
        pixels: GAINS,
        is_log: false,
    };
    for &load in setting.loads {
        for [bottom, top] in [RESPONSES, GAINS] {
            let _ = writeln!(
                svg,
                "<path d=\"M{:.1} {top}V{bottom}\" {GRID}/>",
                x.at(load)
            );
        }
        text(
            svg,
            x.at(load),
            GAINS[0] + 15.0,
            "middle",
            &load.to_string(),
        );
    }
    for ms in decades(y.values) {
        let is_whole = ms.log10().fract().abs() < 1e-9;
        line(svg, y.at(ms), GRID);
        if is_whole || y.values[1] / y.values[0] < 30.0 {
            text(svg, LEFT - 6.0, y.at(ms) + 4.0, "end", &ms.to_string());
        }
    }
    for percent in [-100.0, -50.0, 0.0, 50.0] {
        let stroke = if percent == 0.0 {
            "stroke=\"#888\""
        } else {
            GRID
        };
        line(svg, changes.at(percent), stroke);
        let sign = if percent > 0.0 { "+" } else { "" };
        let label = format!("{sign}{percent}");
        text(svg, LEFT - 6.0, changes.at(percent) + 4.0, "end", &label);
    }
    frame(svg, RESPONSES, "Mean response (ms)");
    frame(svg, GAINS, "Change (%)");
    let below = match setting.load {
        Load::Workload(_) => "Requests a second",
        Load::Trace { .. } => "Times faster than recorded",
    };
    text(svg, (LEFT + RIGHT) / 2.0, GAINS[0] + 31.0, "middle", below);
    curves(svg, panel, &x, [&y, &changes]);
}

/// Mean responses, and below them what the studied policy gains.
fn curves(svg: &mut String, panel: &Panel, x: &Scale, [y, changes]: [&Scale; 2]) {
    for policy in 0..POLICIES.len() {
        let points = panel.cells.iter().map(|c| (c.load, c.response_ms[policy]));
        curve(svg, policy, points.collect(), x, y);
    }
    for policy in 0..STUDIED {
        let points = panel.cells.iter().map(|cell| {
            let percent = 100.0 / cell.response_ms[policy].mean;
            let Estimate { mean, ci95 } = cell.differences_ms[policy];
            let change = Estimate {
                mean: percent * mean,
                ci95: percent * ci95,
            };
            (cell.load, change)
        });
        curve(svg, policy, points.collect(), x, changes);
    }
}

const GRID: &str = "stroke=\"#e4e4e4\"";

/// The axis of loads: logarithmic for factors.
fn loads(panel: &Panel) -> Scale {
    let loads = panel.setting.loads;
    let first = loads.iter().copied().fold(f64::INFINITY, f64::min);
    let last = loads.iter().copied().fold(0.0, f64::max);
    let is_log = matches!(panel.setting.load, Load::Trace { .. });
    Scale {
        values: [first, last],
        pixels: [LEFT + 14.0, RIGHT - 14.0],
        is_log,
    }
}

/// The axis of responses: from one to another of 1, 2, 5, 10, ... that hold all means.
fn responses(panel: &Panel) -> Scale {
    let means = || {
        panel
            .cells
            .iter()
            .flat_map(|c| &c.response_ms)
            .map(|e| e.mean)
    };
    let least = means().fold(f64::INFINITY, f64::min);
    let most = means().fold(0.0, f64::max);
    let all = decades([1e-2, 1e8]);
    let below = all.iter().rev().find(|&&ms| ms <= least);
    let above = all.iter().find(|&&ms| ms >= most);
    Scale {
        values: [
            below.copied().unwrap_or(least),
            above.copied().unwrap_or(most),
        ],
        pixels: RESPONSES,
        is_log: true,
    }
}

/// 1, 2, 5 and their multiples by powers of ten within a range.
fn decades([from, to]: [f64; 2]) -> Vec<f64> {
    let powers = (-3..9).map(|power| 10f64.powi(power));
    let all = powers.flat_map(|power| [power, 2.0 * power, 5.0 * power]);
    all.filter(|&value| value >= from * (1.0 - 1e-9) && value <= to * (1.0 + 1e-9))
        .collect()
}

fn line(svg: &mut String, y: f64, stroke: &str) {
    let _ = writeln!(svg, "<path d=\"M{LEFT} {y:.1}H{RIGHT}\" {stroke}/>");
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}

fn frame(svg: &mut String, [bottom, top]: [f64; 2], name: &str) {
    let middle = (top + bottom) / 2.0;
    let _ = writeln!(
        svg,
        "<path d=\"M{LEFT} {top}V{bottom}H{RIGHT}\" fill=\"none\" stroke=\"#1a1a1a\"/>\
         <text x=\"13\" y=\"{middle}\" text-anchor=\"middle\" \
         transform=\"rotate(-90 13 {middle})\">{name}</text>"
    );
}

/// A line through the means, and their bars. Policies stand a little beside each other, so that
/// the bars of one do not hide those of another.
fn curve(svg: &mut String, policy: usize, points: Vec<(f64, Estimate)>, x: &Scale, y: &Scale) {
    let (colour, width) = STROKES[policy];
    let aside = 2.4 * (policy as f64 - 2.0);
    let way: Vec<String> = points
        .iter()
        .map(|(load, e)| format!("{:.1} {:.1}", x.at(*load) + aside, y.at(e.mean)))
        .collect();
    let _ = writeln!(
        svg,
        "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" \
         stroke-linejoin=\"round\"/>",
        way.join("L")
    );
    for (load, Estimate { mean, ci95 }) in points {
        let x = x.at(load) + aside;
        let [low, high] = [mean - ci95, mean + ci95].map(|end| y.at(end));
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1} {low:.1}V{high:.1}\" stroke=\"{colour}\" stroke-width=\"1.1\"/>\
             <circle cx=\"{x:.1}\" cy=\"{:.1}\" r=\"{:.1}\" fill=\"{colour}\"/>",
            y.at(mean),
            width + 0.6
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithmic_axis_has_equal_steps_for_equal_ratios() {
        let scale = Scale {
            values: [1.0, 16.0],
            pixels: [0.0, 100.0],
            is_log: true,
        };
        let at = [1.0, 2.0, 4.0, 16.0, 99.0].map(|value| scale.at(value).round());
        assert_eq!(at, [0.0, 25.0, 50.0, 100.0, 100.0]);
    }

    #[test]
    fn round_responses_are_one_two_and_five() {
        assert_eq!(decades([10.0, 200.0]), [10.0, 20.0, 50.0, 100.0, 200.0]);
    }
}
