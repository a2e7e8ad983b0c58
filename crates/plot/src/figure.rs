//! Lines through points, each with its confidence band.

use plotters::element::{PathElement, Polygon};
use plotters::style::Color;

use crate::clip::{self, Place};
use crate::frame::{Frame, HEIGHT, Plot, Sheet, TICKS_UP, WIDTH};
use crate::legend::{Key, Legend};
use crate::mark::{Look, arrow};
use crate::page::{Area, Drawn, drawing};
use crate::ruler::{Axis, Ruler};

/// A plot of lines. Texts are shown as they are, broken into lines where they are long.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Above the plot.
    pub title: String,
    /// Below the title, smaller.
    pub note: String,
    /// The axis along the bottom.
    pub x: Axis,
    /// The upright axis.
    pub y: Axis,
    /// What tells the lines apart, with its unit: the heading of the legend, if it is not empty.
    pub lines: String,
    /// The lines, in the order of the legend. Those of up to twelve are easily told apart.
    pub series: Vec<Series>,
}

/// A line through points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// In the legend.
    pub label: String,
    /// In the order in which they are joined. One without a place on the axes (not a number,
    /// infinite, or not positive on a logarithmic axis) leaves a gap.
    pub points: Vec<Point>,
    /// The next point was not measured because there the system no longer keeps up: an arrow
    /// shows that the line goes on.
    pub ends_saturated: bool,
    /// Drawn broad, light and below the others, which are compared with it.
    pub is_reference: bool,
}

/// A measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Where it was measured.
    pub x: f64,
    /// What was measured.
    pub y: f64,
    /// Half the width of its confidence interval, in the unit of `y`, if that is known. The band
    /// of a value that is not negative ends at zero.
    pub half_width: Option<f64>,
}

impl Point {
    /// A value without an interval.
    pub fn new(x: f64, y: f64) -> Self {
        let half_width = None;
        Self { x, y, half_width }
    }

    /// The same value, known to within so much.
    pub fn give_or_take(self, half_width: f64) -> Self {
        Self {
            half_width: Some(half_width),
            ..self
        }
    }

    /// The ends of its confidence interval, if that is known.
    fn interval(&self) -> Option<[f64; 2]> {
        let half = self.half_width?;
        let low = match self.y >= 0.0 {
            true => (self.y - half).max(0.0),
            false => self.y - half,
        };
        Some([low, self.y + half])
    }

    /// What an axis that shows it has to hold: the value, and the ends of its interval.
    pub fn heights(&self) -> [Option<f64>; 3] {
        let [low, high] = self.interval().map_or([None; 2], |ends| ends.map(Some));
        [Some(self.y), low, high]
    }
}

/// A line of more points is a curve: it has some marks, to be told apart, and not one a point.
const MOST_MARKS: usize = 50;

/// Along a curve, in units.
const MARKS_APART: f64 = 700.0;

/// Pixels: a band that is narrower, across its line, lies below that.
const LEAST_BAND: f64 = 3.0;

/// Pixels: of a point alone, an interval that is shorter lies below its mark.
const LEAST_INTERVAL: f64 = 9.0;

impl Figure {
    /// The drawing. The same figure gives the same bytes.
    pub fn svg(&self) -> String {
        self.drawn(Sheet::Wide)
    }

    /// The drawing for pages as narrow as a hand: 360 pixels, with the legend below.
    pub fn narrow_svg(&self) -> String {
        self.drawn(Sheet::Narrow)
    }

    fn drawn(&self, sheet: Sheet) -> String {
        let frame = Frame::new(
            sheet,
            [&self.title, &self.note],
            (&self.x.label, |ticks| self.across(ticks)),
            (&self.y.label, |ticks| self.up(ticks)),
            self.legend(),
        );
        drawing(frame.page(), &self.title, &self.says(), |area| {
            frame.draw(area, |plot| self.draw_data(area, plot, &frame))
        })
    }

    fn across(&self, ticks: usize) -> Ruler {
        self.ruler(&self.x, |point| [Some(point.x); 3], ticks)
    }

    fn up(&self, ticks: usize) -> Ruler {
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

    /// Every line with what it looks like; references before the others, which lie on them.
    fn looks(&self) -> impl Iterator<Item = (&Series, Look)> {
        let of = |is_reference: bool| {
            self.series
                .iter()
                .filter(move |s| s.is_reference == is_reference)
        };
        let references = of(true)
            .enumerate()
            .map(|(i, s)| (s, Look::of_reference(i)));
        let others = of(false).enumerate().map(|(i, s)| (s, Look::of(i)));
        references.chain(others)
    }

    fn legend(&self) -> Legend {
        let mut legend = Legend::default();
        if !self.lines.is_empty() {
            legend.add(Key::Heading, &self.lines);
        }
        for (series, look) in self.looks() {
            legend.add(Key::Line(look), &series.label);
        }
        // Whether a point lies within the axes does not depend on the number of ticks across.
        let (x, y) = (self.across(2), self.up(TICKS_UP));
        let place = |point: &Point| Some((x.share(point.x)?, y.share(point.y)?));
        if self
            .series
            .iter()
            .any(|series| saturated_end(series, place).is_some())
        {
            legend.add(Key::Arrow, "saturated beyond");
        }
        if self.series.iter().any(|series| has_band(series, &x, &y)) {
            legend.add(Key::Heading, "Bands: 95 % confidence");
        }
        legend
    }

    /// For those who do not see it.
    fn says(&self) -> String {
        let labels: Vec<&str> = self.series.iter().map(|s| s.label.as_str()).collect();
        let (x, y) = (&self.x.label, &self.y.label);
        let lines = labels.join("; ");
        format!("{y} against {x}. Lines: {lines}. {}", self.note)
    }

    fn draw_data(&self, area: &Area, plot: &Plot, frame: &Frame) -> Drawn {
        for (series, look) in self.looks() {
            draw_bands(plot, frame, series, &look)?;
        }
        for (series, look) in self.looks() {
            draw_line(plot, frame, series, &look)?;
        }
        let marked = self.looks().enumerate();
        let drawn = marked
            .map(|(number, (series, look))| draw_marks(area, plot, frame, series, &look, number));
        let counts = drawn.collect::<Result<Vec<usize>, _>>()?;
        if counts.iter().sum::<usize>() == 0 {
            frame.say(area, "no data")?;
        }
        Ok(())
    }
}

/// The ends of a point's band, as shares of the way along `axis`.
fn band(point: &Point, axis: &Ruler) -> Option<[f64; 2]> {
    let [low, high] = point.interval().filter(|ends| ends[1].is_finite())?;
    axis.share(point.y)?;
    // On a logarithmic axis an interval that reaches zero reaches down for ever.
    Some([axis.share(low).unwrap_or(-1.0), axis.share(high)?])
}

/// The stretches of points without a gap between them, each point turned into something.
fn runs<T>(series: &Series, of: impl Fn(&Point) -> Option<T>) -> Vec<Vec<T>> {
    let mut runs = vec![Vec::new()];
    for point in &series.points {
        match (of(point), runs.last_mut()) {
            (Some(item), Some(run)) => run.push(item),
            _ => runs.push(Vec::new()),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

/// Whether a line has a band, on a wide sheet, that is to be seen beside it.
fn has_band(series: &Series, x: &Ruler, y: &Ruler) -> bool {
    // A place, and how much of its interval lies within.
    let of = |point: &Point| {
        let [low, high] = band(point, y)?.map(|share| share.clamp(0.0, 1.0));
        let place = (x.share(point.x)?, y.share(point.y)?);
        Some((place, HEIGHT * (high - low)))
    };
    runs(series, of).iter().any(|run| match run[..] {
        [(place, height)] => height >= LEAST_INTERVAL && clip::holds((place.0, 0.0)),
        _ => run.windows(2).any(|pair| {
            let [(from, one), (to, other)] = [pair[0], pair[1]];
            let (across, up) = (WIDTH * (to.0 - from.0), HEIGHT * (to.1 - from.1));
            // A steep line leaves little of its band's height beside it.
            let width = (one + other) / 2.0 * (across / across.hypot(up)).abs();
            width >= LEAST_BAND && !clip::line(&[from, to]).is_empty()
        }),
    })
}

fn draw_bands(plot: &Plot, frame: &Frame, series: &Series, look: &Look) -> Drawn {
    let ends = |point: &Point| -> Option<[Place; 2]> {
        let (x, _) = frame.place(point.x, point.y)?;
        Some(band(point, frame.up())?.map(|y| (x, y)))
    };
    for run in runs(series, ends) {
        if let [[low, high]] = run[..] {
            for piece in clip::line(&[low, high]) {
                plot.draw(&PathElement::new(piece, look.stroke()))?;
            }
            continue;
        }
        let lows = run.iter().rev().map(|[low, _]| *low);
        let corners = clip::polygon(run.iter().map(|[_, high]| *high).chain(lows).collect());
        plot.draw(&Polygon::new(corners, look.colour.mix(0.16).filled()))?;
    }
    Ok(())
}

fn draw_line(plot: &Plot, frame: &Frame, series: &Series, look: &Look) -> Drawn {
    for run in runs(series, |point| frame.place(point.x, point.y)) {
        for piece in clip::line(&run) {
            plot.draw(&PathElement::new(piece, look.stroke()))?;
        }
    }
    Ok(())
}

/// Hands back how many points of the line are to be seen.
fn draw_marks(
    area: &Area,
    plot: &Plot,
    frame: &Frame,
    series: &Series,
    look: &Look,
    number: usize,
) -> Result<usize, plotters::drawing::DrawingAreaErrorKind<std::io::Error>> {
    let places = series
        .points
        .iter()
        .map(|point| frame.place(point.x, point.y));
    let seen: Vec<Place> = places
        .flatten()
        .filter(|&place| clip::holds(place))
        .collect();
    let apart = match seen.len() {
        0..=MOST_MARKS => 0.0,
        _ => MARKS_APART,
    };
    // Lines that coincide show their marks side by side.
    let mut until_next = apart * ((2 * number + 1) % 5) as f64 / 5.0;
    let mut before = None;
    for place in &seen {
        let at = plot.map_coordinate(place);
        let (x, y) = before.replace(at).unwrap_or(at);
        until_next -= f64::from(at.0 - x).hypot(f64::from(at.1 - y));
        if until_next <= 0.0 {
            look.mark(area, at)?;
            until_next = apart;
        }
    }
    if let Some(end) = saturated_end(series, |point| frame.place(point.x, point.y)) {
        arrow(area, plot.map_coordinate(&end), look.colour)?;
    }
    Ok(seen.len())
}

/// Where an arrow goes, if the line ends in sight.
fn saturated_end(series: &Series, place: impl Fn(&Point) -> Option<Place>) -> Option<Place> {
    let last = series.points.last().filter(|_| series.ends_saturated)?;
    place(last).filter(|&place| clip::holds(place))
}
