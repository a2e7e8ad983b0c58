//! Line figures with confidence bands, clipped to the plot.

use plotters::element::{PathElement, Polygon};
use plotters::style::Color;

use crate::frame::{Frame, HEIGHT, Key, Layout, Legend, MAX_Y_TICKS, Plot, WIDTH};
use crate::mark::{LineStyle, PlacedMark, arrow, scales, shifts};
use crate::page::{DrawResult, Page, drawing, in_pixels};
use crate::ruler::{Axis, Ruler, rounded};

/// A line figure. Long text is wrapped.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub title: String,
    pub note: String,
    pub x: Axis,
    pub y: Axis,
    /// The heading of the legend: what distinguishes the lines, with its unit. May be empty.
    pub lines: String,
    /// The lines, in the order of the legend. Up to twelve are easy to distinguish.
    pub series: Vec<Series>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    pub label: String,
    /// The points, in the order in which they are connected. A point that the axes cannot show (not
    /// a number, infinite, or not positive on a logarithmic axis) leaves a gap.
    pub points: Vec<Point>,
    /// True if the system is saturated beyond the last point. An arrow indicates this.
    pub ends_saturated: bool,
    /// True for a reference, which is drawn broad and light, below the other lines.
    pub is_reference: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    /// Half the width of the point's confidence interval, in the unit of `y`, if known. The band of
    /// a non-negative value ends at zero.
    pub half_width: Option<f64>,
}

impl Point {
    pub fn new(x: f64, y: f64) -> Self {
        let half_width = None;
        Self { x, y, half_width }
    }

    pub fn with_half_width(self, half_width: f64) -> Self {
        Self {
            half_width: Some(half_width),
            ..self
        }
    }

    fn interval(&self) -> Option<[f64; 2]> {
        let half = self.half_width?;
        let low = self.y - half;
        let low = if self.y >= 0.0 { low.max(0.0) } else { low };
        Some([low, self.y + half])
    }

    /// Returns the values that the axis must cover: the value itself and the ends of its interval.
    pub fn heights(&self) -> [Option<f64>; 3] {
        let [low, high] = self.interval().map_or([None; 2], |ends| ends.map(Some));
        [Some(self.y), low, high]
    }
}

/// A line with more points than this has marks at regular distances, not at every point.
const MAX_MARKS: usize = 50;

/// The distance between marks along such a line, in units.
const MARK_DISTANCE: f64 = 700.0;

/// A band narrower than this many pixels, measured across its line, is hidden by the line.
const MIN_BAND: f64 = 3.0;

/// The interval of a single point is hidden by its mark if it is shorter than this many pixels.
const MIN_INTERVAL: f64 = 9.0;

impl Figure {
    /// Creates a figure of cumulative distributions of response times: for each series, the
    /// fraction of requests over milliseconds.
    pub fn of_responses(title: &str, note: &str, series: Vec<Series>) -> Self {
        let x = Axis::linear("Response time (ms)");
        let y = Axis::linear("Cumulative fraction of requests").with_max(1.0);
        Self::new(title, note, [x, y], series)
    }

    pub fn new(title: &str, note: &str, [x, y]: [Axis; 2], series: Vec<Series>) -> Self {
        Self {
            title: title.to_owned(),
            note: note.to_owned(),
            x,
            y,
            lines: String::new(),
            series,
        }
    }

    /// Draws the figure. The same data always give the same output, byte for byte.
    pub fn svg(&self) -> String {
        self.draw(Layout::Wide, true)
    }

    /// Draws the figure without interactivity. It looks the same, but only marks have values.
    pub fn still_svg(&self) -> String {
        self.draw(Layout::Wide, false)
    }

    /// Draws the figure for narrow screens: 360 pixels wide, with the legend below.
    pub fn narrow_svg(&self) -> String {
        self.draw(Layout::Narrow, true)
    }

    fn draw(&self, layout: Layout, is_interactive: bool) -> String {
        let frame = Frame::new(
            layout,
            [&self.title, &self.note],
            (&self.x.label, |ticks| self.x_ruler(ticks)),
            (&self.y.label, |ticks| self.y_ruler(ticks)),
            self.legend(),
        );
        drawing(frame.page(), &self.title, &self.description(), |page| {
            frame.draw(page, |page| self.draw_data(page, &frame, is_interactive));
        })
    }

    fn x_ruler(&self, ticks: usize) -> Ruler {
        self.ruler(&self.x, |point| [Some(point.x); 3], ticks)
    }

    fn y_ruler(&self, ticks: usize) -> Ruler {
        self.ruler(&self.y, Point::heights, ticks)
    }

    fn ruler(
        &self,
        axis: &Axis,
        values: impl Fn(&Point) -> [Option<f64>; 3],
        ticks: usize,
    ) -> Ruler {
        let points = self.series.iter().flat_map(|series| &series.points);
        Ruler::new(axis, points.flat_map(values).flatten(), ticks)
    }

    /// Returns each line with its style: references first, since the others are drawn on top.
    fn styled(&self) -> impl Iterator<Item = (&Series, LineStyle)> {
        let references = self.series.iter().filter(|series| series.is_reference);
        let others = self.series.iter().filter(|series| !series.is_reference);
        let styled_references = references.zip((0..).map(LineStyle::of_reference));
        styled_references.chain(others.zip((0..).map(LineStyle::new)))
    }

    fn legend(&self) -> Legend {
        let mut legend = Legend::default();
        if !self.lines.is_empty() {
            legend.add(Key::Heading, None, &self.lines);
        }
        for (number, (series, style)) in self.styled().enumerate() {
            legend.add(Key::Line(style), Some(number), &series.label);
        }
        // Whether a point is inside the axes does not depend on the number of horizontal ticks.
        let (x, y) = (self.x_ruler(2), self.y_ruler(MAX_Y_TICKS));
        let position = |point: &Point| Some((x.fraction(point.x)?, y.fraction(point.y)?));
        let mut series = self.series.iter();
        if series.any(|series| saturated_end(series, position).is_some()) {
            legend.add(Key::Arrow, None, "saturated beyond");
        }
        if self.series.iter().any(|series| has_band(series, &x, &y)) {
            legend.add(Key::Heading, None, "Bands: 95 % confidence");
        }
        legend
    }

    fn description(&self) -> String {
        let labels: Vec<&str> = self.series.iter().map(|s| s.label.as_str()).collect();
        let (x, y) = (&self.x.label, &self.y.label);
        let lines = labels.join("; ");
        format!("{y} against {x}. Lines: {lines}. {}", self.note)
    }

    fn draw_data(&self, page: &mut Page, frame: &Frame, is_interactive: bool) {
        let styled: Vec<(&Series, LineStyle)> = self.styled().collect();
        for draw in [draw_bands, draw_line] {
            for (number, (series, style)) in styled.iter().enumerate() {
                page.group(&group(number, series), |page| {
                    page.draw(|area| draw(&frame.plot(area), frame, series, style));
                });
            }
        }
        let lines = styled.iter().enumerate();
        let points: Vec<Vec<DrawnPoint>> = lines
            .map(|(number, (series, _))| drawn_points(frame, series, number))
            .collect();
        if points.iter().all(Vec::is_empty) {
            page.draw(|area| frame.show_text(area, "no data"));
        }
        let marks = points.iter().flatten().filter(|point| point.has_mark);
        let marks: Vec<PlacedMark> = marks.map(|point| point.placed).collect();
        let mut scales = scales(&marks).into_iter();
        for (number, ((series, style), points)) in styled.iter().zip(&points).enumerate() {
            page.group(&group(number, series), |page| {
                let drawn = |point: &&DrawnPoint| is_interactive || point.has_mark;
                for point in points.iter().filter(drawn) {
                    point.draw(page, style, &mut scales);
                }
            });
        }
        draw_arrows(page, frame, &styled, &marks);
    }
}

fn group(number: usize, series: &Series) -> [(&'static str, String); 3] {
    [
        ("class", "series".to_owned()),
        ("data-series", number.to_string()),
        ("data-label", series.label.clone()),
    ]
}

/// Returns the ends of a point's band, as fractions of `axis`.
fn band(point: &Point, axis: &Ruler) -> Option<[f64; 2]> {
    let [low, high] = point.interval().filter(|ends| ends[1].is_finite())?;
    axis.fraction(point.y)?;
    // On a logarithmic axis, an interval down to zero extends below the axis.
    Some([axis.fraction(low).unwrap_or(-1.0), axis.fraction(high)?])
}

/// Returns the runs of points without gaps, with each point mapped by `map`.
fn runs<T>(series: &Series, map: impl Fn(&Point) -> Option<T>) -> Vec<Vec<T>> {
    let mut runs = vec![Vec::new()];
    for point in &series.points {
        match (map(point), runs.last_mut()) {
            (Some(item), Some(run)) => run.push(item),
            _ => runs.push(Vec::new()),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

/// Returns true if the band of a line is visible next to the line in the wide layout.
fn has_band(series: &Series, x: &Ruler, y: &Ruler) -> bool {
    // The position, and the height of the visible part of the interval.
    let visible = |point: &Point| {
        let [low, high] = band(point, y)?.map(|fraction| fraction.clamp(0.0, 1.0));
        let position = (x.fraction(point.x)?, y.fraction(point.y)?);
        Some((position, HEIGHT * (high - low)))
    };
    runs(series, visible).iter().any(|run| match run[..] {
        [(position, height)] => height >= MIN_INTERVAL && is_inside((position.0, 0.0)),
        _ => run.windows(2).any(|pair| {
            let [(from, height), (to, next_height)] = [pair[0], pair[1]];
            let (dx, dy) = (WIDTH * (to.0 - from.0), HEIGHT * (to.1 - from.1));
            // A steep line hides most of its band.
            let width = (height + next_height) / 2.0 * (dx / dx.hypot(dy)).abs();
            width >= MIN_BAND && !clip_line(&[from, to]).is_empty()
        }),
    })
}

fn draw_bands(plot: &Plot, frame: &Frame, series: &Series, style: &LineStyle) -> DrawResult {
    let ends = |point: &Point| -> Option<[Position; 2]> {
        let (x, _) = frame.position(point.x, point.y)?;
        Some(band(point, &frame.y)?.map(|y| (x, y)))
    };
    for run in runs(series, ends) {
        if let [[low, high]] = run[..] {
            for piece in clip_line(&[low, high]) {
                plot.draw(&PathElement::new(piece, style.stroke()))?;
            }
            continue;
        }
        let lows = run.iter().rev().map(|[low, _]| *low);
        let corners = clip_polygon(run.iter().map(|[_, high]| *high).chain(lows).collect());
        plot.draw(&Polygon::new(corners, style.colour.mix(0.16).filled()))?;
    }
    Ok(())
}

fn draw_line(plot: &Plot, frame: &Frame, series: &Series, style: &LineStyle) -> DrawResult {
    for run in runs(series, |point| frame.position(point.x, point.y)) {
        for piece in clip_line(&run) {
            plot.draw(&PathElement::new(piece, style.stroke()))?;
        }
    }
    Ok(())
}

struct DrawnPoint {
    at: (i32, i32),
    placed: PlacedMark,
    has_mark: bool,
    numbers: [String; 2],
}

impl DrawnPoint {
    fn draw(&self, page: &mut Page, style: &LineStyle, scales: &mut impl Iterator<Item = f64>) {
        let (x, y) = self.at;
        let attributes = [
            ("class", "point"),
            ("data-at", &format!("{x} {y}")),
            ("data-x", &self.numbers[0]),
            ("data-y", &self.numbers[1]),
        ];
        page.group(&attributes, |page| {
            if self.has_mark {
                let scale = scales.next().unwrap_or(1.0);
                page.draw(|area| style.mark(area, self.at, scale));
            }
        });
    }
}

fn drawn_points(frame: &Frame, series: &Series, number: usize) -> Vec<DrawnPoint> {
    let visible = |point: &&Point| frame.position(point.x, point.y).is_some_and(is_inside);
    let visible: Vec<&Point> = series.points.iter().filter(visible).collect();
    let is_dense = visible.len() > MAX_MARKS;
    let distance = if is_dense { MARK_DISTANCE } else { 0.0 };
    // Offsets the marks of lines that coincide.
    let mut until_next = distance * ((2 * number + 1) % 5) as f64 / 5.0;
    let mut before = None;
    let points = visible.into_iter().filter_map(|point| {
        let at = frame.page_position(frame.position(point.x, point.y)?);
        let (x, y) = before.replace(at).unwrap_or(at);
        until_next -= f64::from(at.0 - x).hypot(f64::from(at.1 - y));
        let has_mark = until_next <= 0.0;
        if has_mark {
            until_next = distance;
        }
        Some(DrawnPoint {
            at,
            placed: place_mark(number, at),
            has_mark,
            numbers: [rounded(point.x, None), rounded(point.y, point.half_width)],
        })
    });
    points.collect()
}

fn place_mark(line: usize, at: (i32, i32)) -> PlacedMark {
    let [x, y] = [at.0, at.1].map(in_pixels);
    PlacedMark { line, x, y }
}

/// Draws the arrows of saturated lines on top of all marks, so that no mark hides them.
fn draw_arrows(
    page: &mut Page,
    frame: &Frame,
    styled: &[(&Series, LineStyle)],
    marks: &[PlacedMark],
) {
    let ends = styled.iter().enumerate().filter_map(|(number, line)| {
        let end = saturated_end(line.0, |point| frame.position(point.x, point.y))?;
        Some((number, frame.page_position(end)))
    });
    let ends: Vec<(usize, (i32, i32))> = ends.collect();
    let arrows = ends.iter().map(|(line, at)| place_mark(*line, *at));
    let arrows: Vec<PlacedMark> = arrows.collect();
    let [(left, top), (right, _)] = [(0.0, 1.0), (1.0, 1.0)].map(|at| frame.page_position(at));
    let shifts = shifts(&arrows, marks, [left, top, right].map(in_pixels));
    for ((number, at), shift) in ends.into_iter().zip(shifts) {
        let (series, style) = &styled[number];
        page.group(&group(number, series), |page| {
            let at_text = format!("{} {}", at.0, at.1);
            let attributes = [("class", "point"), ("data-at", &at_text)];
            page.group(&attributes, |page| {
                page.draw(|area| arrow(area, at, shift, style.colour));
            });
        });
    }
}

fn saturated_end(
    series: &Series,
    position: impl Fn(&Point) -> Option<Position>,
) -> Option<Position> {
    let last = series.points.last().filter(|_| series.ends_saturated)?;
    position(last).filter(|&position| is_inside(position))
}

/// A position as fractions of both axes.
type Position = (f64, f64);

/// Returns the pieces of a line that are inside the square.
fn clip_line(points: &[Position]) -> Vec<Vec<Position>> {
    let mut pieces: Vec<Vec<Position>> = Vec::new();
    for pair in points.windows(2) {
        let Some((from, to)) = segment(pair[0], pair[1]) else {
            continue;
        };
        match pieces.last_mut() {
            Some(piece) if piece.last() == Some(&from) => piece.push(to),
            _ => pieces.push(vec![from, to]),
        }
    }
    pieces
}

/// Returns the part of a straight line that is inside the square (Liang-Barsky).
fn segment(from: Position, to: Position) -> Option<(Position, Position)> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (mut first, mut last) = (0.0_f64, 1.0_f64);
    for (direction, distance) in [
        (-dx, from.0),
        (dx, 1.0 - from.0),
        (-dy, from.1),
        (dy, 1.0 - from.1),
    ] {
        if direction < 0.0 {
            first = first.max(distance / direction);
        } else if direction > 0.0 {
            last = last.min(distance / direction);
        } else if distance < 0.0 {
            return None;
        }
    }
    let at = |fraction: f64| match fraction {
        0.0 => from,
        1.0 => to,
        _ => (from.0 + fraction * dx, from.1 + fraction * dy),
    };
    let at = |fraction| onto_square(at(fraction));
    (first <= last).then(|| (at(first), at(last)))
}

/// Returns the part of a polygon that is inside the square, edge by edge (Sutherland-Hodgman).
fn clip_polygon(corners: Vec<Position>) -> Vec<Position> {
    let distances: [fn(Position) -> f64; 4] = [|p| p.0, |p| 1.0 - p.0, |p| p.1, |p| 1.0 - p.1];
    let clipped = distances.iter().fold(corners, |corners, distance| {
        let mut clipped = Vec::new();
        for (i, &to) in corners.iter().enumerate() {
            let from = corners[(i + corners.len() - 1) % corners.len()];
            let (before, after) = (distance(from), distance(to));
            if (before < 0.0) != (after < 0.0) {
                let fraction = before / (before - after);
                let between = |a: f64, b: f64| a + fraction * (b - a);
                clipped.push((between(from.0, to.0), between(from.1, to.1)));
            }
            if after >= 0.0 {
                clipped.push(to);
            }
        }
        clipped
    });
    clipped.into_iter().map(onto_square).collect()
}

/// Moves a clipped position onto the square: lines from far outside have large rounding errors.
fn onto_square((x, y): Position) -> Position {
    (x.clamp(0.0, 1.0), y.clamp(0.0, 1.0))
}

fn is_inside((x, y): Position) -> bool {
    (0.0..=1.0).contains(&x) && (0.0..=1.0).contains(&y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_clipped_at_the_edges() {
        let pieces = clip_line(&[(0.0, 0.5), (0.25, 1.5), (0.5, 1.5), (0.75, 0.5), (1.0, 0.5)]);
        let expected = [
            vec![(0.0, 0.5), (0.125, 1.0)],
            vec![(0.625, 1.0), (0.75, 0.5), (1.0, 0.5)],
        ];
        assert_eq!(pieces, expected);
        assert!(clip_line(&[(0.0, 1.5), (1.0, 1.5)]).is_empty());
        let diagonal = [[(0.0, 0.0), (1.0, 1.0)]];
        assert_eq!(clip_line(&[(-1.0, -1.0), (2.0, 2.0)]), diagonal);
    }

    /// At 1e12, neighbouring numbers are 1.2e-4 apart.
    #[test]
    fn lines_from_far_outside_end_on_the_edge() {
        let far = 1e12;
        let across = [[(0.0, 0.0), (1.0, 1.0)]];
        assert_eq!(clip_line(&[(-far, -far), (far, far)]), across);
        let level = clip_line(&[(-far, 0.3), (far, 0.5)]);
        let [from, to] = level[0][..] else {
            panic!("{level:?}");
        };
        assert_eq!((from.0, to.0), (0.0, 1.0));
        assert!((from.1 - 0.4).abs() < 1e-6 && (to.1 - 0.4).abs() < 1e-6);
        // The whole square is inside.
        let clipped = clip_polygon(vec![(-far, -far), (far, 0.5), (0.5, far)]);
        assert_eq!(clipped, [(0.0, 1.0), (0.0, 0.0), (1.0, 0.0), (1.0, 1.0)]);
    }

    #[test]
    fn polygons_are_clipped_at_the_edges() {
        // The tip of the triangle is outside: its base remains, and two corners on the upper edge.
        let clipped = clip_polygon(vec![(0.0, 0.0), (1.0, 0.0), (0.5, 2.0)]);
        let mut sorted = clipped.clone();
        sorted.sort_by(|a, b| a.partial_cmp(b).expect("no NaN"));
        assert_eq!(sorted, [(0.0, 0.0), (0.25, 1.0), (0.75, 1.0), (1.0, 0.0)]);
        assert!(clip_polygon(vec![(0.0, 2.0), (1.0, 2.0), (0.5, 3.0)]).is_empty());
    }
}
