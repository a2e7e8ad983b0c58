//! The plotting area and its axes: position on the page, grid, numbers and labels.

use plotters::backend::SVGBackend;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::Ranged;
use plotters::drawing::DrawingArea;
use plotters::element::{PathElement, Rectangle};
use plotters::style::{Color, RGBColor};

use crate::mark::{LineStyle, arrow};
use crate::page::{
    Anchor, Area, DrawResult, GRID, Heading, INK, LEADING, Label, Page, TEXT, lines, units, widest,
    width,
};
use crate::ruler::Ruler;

/// The area for data: positions are fractions of the axes.
pub type Plot<'a> = DrawingArea<SVGBackend<'a>, Cartesian2d<Ruler, Ruler>>;

#[derive(Clone, Copy, PartialEq)]
pub enum Layout {
    /// The legend is to the right of the plotting area.
    Wide,
    /// The legend is below the plotting area.
    Narrow,
}

/// The size of the plotting area in the wide layout, in pixels, like all lengths here.
pub const WIDTH: f64 = 520.0;
pub const HEIGHT: f64 = 330.0;

/// The width of the narrow layout, and the minimum width and the height of its plotting area.
const NARROW: f64 = 360.0;
const MIN_WIDTH: f64 = 160.0;
const NARROW_HEIGHT: f64 = 260.0;

/// The margin around the drawing, and the distance between an axis and its numbers.
const MARGIN: f64 = 14.0;
const GAP: f64 = 7.0;

/// The minimum distance between the plotting area and the legend, which also leaves room for half
/// of the last number on the horizontal axis.
const RIGHT_GAP: f64 = 26.0;

/// The maximum numbers of ticks. The horizontal axis has fewer if their labels do not fit.
pub const MAX_X_TICKS: usize = 11;
pub const MAX_Y_TICKS: usize = 9;

pub struct Frame {
    layout: Layout,
    width: f64,
    height: f64,
    heading: Heading,
    legend: Legend,
    x: Ruler,
    pub y: Ruler,
    x_name: Vec<String>,
    y_name: Vec<String>,
    left: f64,
    top: f64,
    right_gap: f64,
}

impl Frame {
    /// Creates a frame. `x` and `y` create the axes for a given maximum number of ticks.
    pub fn new(
        layout: Layout,
        [title, note]: [&str; 2],
        (x_name, x): (&str, impl Fn(usize) -> Ruler),
        (y_name, y): (&str, impl Fn(usize) -> Ruler),
        legend: Legend,
    ) -> Self {
        let y = y(MAX_Y_TICKS);
        let height = match layout {
            Layout::Wide => HEIGHT,
            Layout::Narrow => NARROW_HEIGHT,
        };
        let y_name = lines(y_name, TEXT, height);
        let numbers = widest(y.ticks.iter().map(|tick| tick.label.as_str()), TEXT);
        let left = MARGIN + LEADING * TEXT * y_name.len() as f64 + GAP + numbers + GAP;
        let width = match layout {
            Layout::Wide => WIDTH,
            Layout::Narrow => (NARROW - left - RIGHT_GAP).max(MIN_WIDTH),
        };
        let x = fit_axis(x, width);
        let number = widest(x.ticks.iter().map(|tick| tick.label.as_str()), TEXT);
        let right_gap = f64::max(RIGHT_GAP, number / 2.0 + GAP);
        let legend_width = match (layout, legend.width()) {
            (Layout::Narrow, _) | (_, 0.0) => 0.0,
            (Layout::Wide, legend) => right_gap + legend,
        };
        let heading = Heading::new(title, note, left + width + legend_width - MARGIN);
        Self {
            layout,
            width,
            height,
            top: heading.height(),
            heading,
            legend,
            x,
            y,
            x_name: lines(x_name, TEXT, width),
            y_name,
            left,
            right_gap,
        }
    }

    pub fn page(&self) -> [f64; 2] {
        let (left, top) = self.legend_corner();
        let legend = match self.legend.width() {
            0.0 => [0.0, 0.0],
            width => [left + width + MARGIN, top + self.legend.height() + MARGIN],
        };
        let right = self.left + self.width + self.right_gap;
        let plot = [right, self.plot_bottom() + MARGIN];
        [0, 1].map(|i| f64::max(plot[i], legend[i]))
    }

    fn plot_bottom(&self) -> f64 {
        let names = LEADING * TEXT * (1 + self.x_name.len()) as f64;
        self.top + self.height + GAP + names + GAP
    }

    fn legend_corner(&self) -> (f64, f64) {
        match self.layout {
            Layout::Wide => (self.left + self.width + self.right_gap, self.top),
            Layout::Narrow => (MARGIN, self.plot_bottom() + MARGIN),
        }
    }

    /// Returns the position of a point as fractions of the axes; `None` if the axes cannot show it.
    pub fn position(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.x.fraction(x)?, self.y.fraction(y)?))
    }

    pub fn draw(&self, page: &mut Page, data: impl FnOnce(&mut Page)) {
        page.draw(|area| self.heading.draw(area, MARGIN));
        let [left, top, right, bottom] = self.edges();
        page.group(&[("class", "ticks")], |page| {
            page.draw(|area| {
                let thin = GRID.stroke_width(10);
                let plot = self.plot(area);
                plot.draw_mesh(|backend, line| line.draw(backend, &thin), 0, 0)?;
                self.draw_numbers(area)
            });
        });
        page.draw(|area| {
            let axes = vec![(left, top), (left, bottom), (right, bottom)];
            area.draw(&PathElement::new(axes, INK.stroke_width(10)))
        });
        let attributes = [
            ("class", "data"),
            ("data-plot", &format!("{left} {top} {right} {bottom}")),
            ("data-x", &self.x.scale_and_ends()),
            ("data-y", &self.y.scale_and_ends()),
            ("data-x-name", &self.x_name.join(" ")),
            ("data-y-name", &self.y_name.join(" ")),
        ];
        page.group(&attributes, data);
        page.draw(|area| self.draw_names(area));
        self.legend.draw(page, self.legend_corner());
    }

    /// Returns the left, top, right and bottom edges of the plotting area, in SVG units.
    fn edges(&self) -> [i32; 4] {
        let (right, bottom) = (self.left + self.width, self.top + self.height);
        [self.left, self.top, right, bottom].map(units)
    }

    pub fn plot<'a>(&self, area: &Area<'a>) -> Plot<'a> {
        let [left, top, right, bottom] = self.edges();
        area.apply_coord_spec(Cartesian2d::<Ruler, Ruler>::new(
            self.x.clone(),
            self.y.clone(),
            (left..right, bottom..top),
        ))
    }

    /// Converts fractions of both axes to a position on the page, in SVG units.
    pub fn page_position(&self, (x, y): (f64, f64)) -> (i32, i32) {
        let [left, top, right, bottom] = self.edges();
        (self.x.map(&x, (left, right)), self.y.map(&y, (bottom, top)))
    }

    fn draw_numbers(&self, area: &Area) -> DrawResult {
        let bottom = self.top + self.height;
        for tick in &self.x.ticks {
            let x = self.left + self.width * tick.fraction;
            let at = (x, bottom + GAP + 0.9 * TEXT);
            Label::new(&tick.label, at, Anchor::Middle).draw(area)?;
        }
        for tick in &self.y.ticks {
            let y = bottom - self.height * tick.fraction + 0.36 * TEXT;
            Label::new(&tick.label, (self.left - GAP, y), Anchor::End).draw(area)?;
        }
        Ok(())
    }

    fn draw_names(&self, area: &Area) -> DrawResult {
        let middle = self.left + self.width / 2.0;
        let below = self.top + self.height + GAP + LEADING * TEXT + GAP;
        for (i, line) in self.x_name.iter().enumerate() {
            let y = below + 0.8 * TEXT + LEADING * TEXT * i as f64;
            Label::new(line, (middle, y), Anchor::Middle).draw(area)?;
        }
        for (i, line) in self.y_name.iter().enumerate() {
            let x = MARGIN + 0.8 * TEXT + LEADING * TEXT * i as f64;
            let at = (x, self.top + self.height / 2.0);
            let rotated = Label {
                is_rotated: true,
                ..Label::new(line, at, Anchor::Middle)
            };
            rotated.draw(area)?;
        }
        Ok(())
    }

    pub fn show_text(&self, area: &Area, text: &str) -> DrawResult {
        let middle = (self.left + self.width / 2.0, self.top + self.height / 2.0);
        Label::new(text, middle, Anchor::Middle).draw(area)
    }
}

/// Returns the axis of a given length with the most ticks whose numbers do not overlap.
fn fit_axis(create: impl Fn(usize) -> Ruler, length: f64) -> Ruler {
    let are_separate = |ruler: &Ruler| {
        ruler.ticks.windows(2).all(|pair| {
            let space = length * (pair[1].fraction - pair[0].fraction);
            let widths = [0, 1].map(|i| width(&pair[i].label, TEXT) / 2.0);
            space >= widths[0] + widths[1] + 12.0
        })
    };
    let fitting = (2..=MAX_X_TICKS).rev().map(&create).find(are_separate);
    fitting.unwrap_or_else(|| create(2))
}

pub fn fill_rectangle(plot: &Plot, corners: [(f64, f64); 2], colour: impl Color) -> DrawResult {
    plot.draw(&Rectangle::new(corners, colour.filled()))
}

/// The widths of a line sample and of the widest text, in pixels, like all lengths here.
const SAMPLE: f64 = 28.0;
const TEXT_WIDTH: f64 = 190.0;
const KEY_GAP: f64 = 8.0;
const ENTRY_GAP: f64 = 5.0;

pub enum Key {
    Line(LineStyle),
    Arrow,
    Area(RGBColor),
    Heading,
}

struct LegendEntry {
    key: Key,
    series: Option<usize>,
    lines: Vec<String>,
}

#[derive(Default)]
pub struct Legend {
    entries: Vec<LegendEntry>,
}

impl Legend {
    /// Adds an entry. An entry with the number of a series lets readers hide and show the series.
    pub fn add(&mut self, key: Key, series: Option<usize>, text: &str) {
        self.entries.push(LegendEntry {
            key,
            series,
            lines: lines(text, TEXT, TEXT_WIDTH),
        });
    }

    pub fn width(&self) -> f64 {
        if self.entries.is_empty() {
            return 0.0;
        }
        let lines = self.entries.iter().flat_map(|entry| &entry.lines);
        SAMPLE + KEY_GAP + widest(lines.map(String::as_str), TEXT)
    }

    pub fn height(&self) -> f64 {
        self.entries.iter().map(LegendEntry::height).sum()
    }

    pub fn draw(&self, page: &mut Page, (left, mut top): (f64, f64)) {
        for entry in &self.entries {
            let corner = (left, top);
            match entry.series {
                None => page.draw(|area| entry.draw(area, corner)),
                Some(series) => {
                    let attributes = [("class", "key"), ("data-series", &series.to_string())];
                    page.group(&attributes, |page| {
                        page.draw(|area| entry.draw(area, corner));
                    });
                }
            }
            top += entry.height();
        }
    }
}

impl LegendEntry {
    fn height(&self) -> f64 {
        LEADING * TEXT * self.lines.len().max(1) as f64 + ENTRY_GAP
    }

    fn draw(&self, area: &Area, (left, top): (f64, f64)) -> DrawResult {
        let middle = top + 0.5 * LEADING * TEXT;
        let centre = (units(left + SAMPLE / 2.0), units(middle));
        match &self.key {
            Key::Line(style) => {
                let ends = [left, left + SAMPLE].map(|x| (units(x), units(middle)));
                area.draw(&PathElement::new(ends.to_vec(), style.stroke()))?;
                style.mark(area, centre, 1.0)?;
            }
            Key::Arrow => arrow(area, (centre.0, units(middle + 12.0)), (0.0, 0.0), INK)?,
            Key::Area(colour) => {
                let corners = [(left, middle - 7.0), (left + SAMPLE, middle + 7.0)]
                    .map(|(x, y)| (units(x), units(y)));
                area.draw(&Rectangle::new(corners, colour.filled()))?;
                area.draw(&Rectangle::new(corners, INK.stroke_width(5)))?;
            }
            Key::Heading => {}
        }
        let x = match self.key {
            Key::Heading => left,
            _ => left + SAMPLE + KEY_GAP,
        };
        for (i, text) in self.lines.iter().enumerate() {
            let at = (x, middle + 0.36 * TEXT + LEADING * TEXT * i as f64);
            Label::new(text, at, Anchor::Start).draw(area)?;
        }
        Ok(())
    }
}
