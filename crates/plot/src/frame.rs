//! A plotting area with its axes: where it lies on the page, its grid, numbers and names.

use plotters::backend::SVGBackend;
use plotters::coord::cartesian::Cartesian2d;
use plotters::drawing::DrawingArea;
use plotters::element::{PathElement, Rectangle};
use plotters::style::Color;

use crate::font::{lines, width};
use crate::legend::Legend;
use crate::page::{Anchor, Area, Drawn, GRID, Heading, INK, LEADING, Label, TEXT, units, widest};
use crate::ruler::Ruler;

/// Where data are drawn: places are shares of the way along the axes.
pub type Plot<'a> = DrawingArea<SVGBackend<'a>, Cartesian2d<Ruler, Ruler>>;

/// Pixels, as everything here: of the plotting area.
const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 330.0;

/// Around everything, and between an axis and its numbers.
const MARGIN: f64 = 14.0;
const GAP: f64 = 7.0;

/// Between the plotting area and the legend: half of a number at the axis' end stands there too.
const BESIDE: f64 = 26.0;

/// Ticks on the axes, at most; fewer across if their numbers do not fit.
const TICKS_ACROSS: usize = 11;
const TICKS_UP: usize = 9;

/// The axes laid out on a page, with what stands around them.
pub struct Frame {
    heading: Heading,
    legend: Legend,
    x: Ruler,
    y: Ruler,
    x_name: Vec<String>,
    y_name: Vec<String>,
    left: f64,
    top: f64,
}

impl Frame {
    /// `x` and `y` make the axes with at most so many ticks.
    pub fn new(
        [title, note]: [&str; 2],
        (x_name, x): (&str, impl Fn(usize) -> Ruler),
        (y_name, y): (&str, impl Fn(usize) -> Ruler),
        legend: Legend,
    ) -> Self {
        let y = y(TICKS_UP);
        let y_name = lines(y_name, TEXT, HEIGHT);
        let numbers = widest(y.ticks.iter().map(|tick| tick.label.as_str()), TEXT);
        let left = MARGIN + LEADING * TEXT * y_name.len() as f64 + GAP + numbers + GAP;
        let beside = match legend.width() {
            0.0 => 0.0,
            width => BESIDE + width,
        };
        let heading = Heading::new(title, note, left + WIDTH + beside - MARGIN);
        Self {
            top: heading.height(),
            heading,
            legend,
            x: fitted(x),
            y,
            x_name: lines(x_name, TEXT, WIDTH),
            y_name,
            left,
        }
    }

    /// Pixels of the page.
    pub fn page(&self) -> [f64; 2] {
        let beside = match self.legend.width() {
            0.0 => BESIDE,
            width => BESIDE + width + MARGIN,
        };
        let below = GAP + LEADING * TEXT * (1 + self.x_name.len()) as f64 + GAP + MARGIN;
        let right = (HEIGHT + below).max(self.legend.height() + MARGIN);
        [self.left + WIDTH + beside, self.top + right]
    }

    /// How far along the axes a place lies; none if it has none.
    pub fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.x.share(x)?, self.y.share(y)?))
    }

    /// How far along the upright axis a value lies.
    pub fn height(&self, y: f64) -> Option<f64> {
        self.y.share(y)
    }

    /// Everything: data are drawn on the grid and the axes' own lines.
    pub fn draw(&self, area: &Area, data: impl FnOnce(&Plot) -> Drawn) -> Drawn {
        self.heading.draw(area, MARGIN)?;
        let (right, bottom) = (self.left + WIDTH, self.top + HEIGHT);
        let [left, top, right_edge, bottom_edge] = [self.left, self.top, right, bottom].map(units);
        let plot = area.apply_coord_spec(Cartesian2d::<Ruler, Ruler>::new(
            self.x.clone(),
            self.y.clone(),
            (left..right_edge, bottom_edge..top),
        ));
        let thin = GRID.stroke_width(10);
        plot.draw_mesh(|backend, line| line.draw(backend, &thin), 0, 0)?;
        let rim = vec![(left, top), (left, bottom_edge), (right_edge, bottom_edge)];
        area.draw(&PathElement::new(rim, INK.stroke_width(10)))?;
        data(&plot)?;
        self.draw_numbers(area)?;
        self.draw_names(area)?;
        self.legend.draw(area, (right + BESIDE, self.top))
    }

    fn draw_numbers(&self, area: &Area) -> Drawn {
        let bottom = self.top + HEIGHT;
        for tick in &self.x.ticks {
            let at = (self.left + WIDTH * tick.share, bottom + GAP + 0.9 * TEXT);
            written(&tick.label, at, Anchor::Middle).draw(area)?;
        }
        for tick in &self.y.ticks {
            let at = (self.left - GAP, bottom - HEIGHT * tick.share + 0.36 * TEXT);
            written(&tick.label, at, Anchor::End).draw(area)?;
        }
        Ok(())
    }

    fn draw_names(&self, area: &Area) -> Drawn {
        let below = self.top + HEIGHT + GAP + LEADING * TEXT + GAP;
        for (i, line) in self.x_name.iter().enumerate() {
            let y = below + 0.8 * TEXT + LEADING * TEXT * i as f64;
            written(line, (self.left + WIDTH / 2.0, y), Anchor::Middle).draw(area)?;
        }
        for (i, line) in self.y_name.iter().enumerate() {
            let x = MARGIN + 0.8 * TEXT + LEADING * TEXT * i as f64;
            let turned = Label {
                is_turned: true,
                ..written(line, (x, self.top + HEIGHT / 2.0), Anchor::Middle)
            };
            turned.draw(area)?;
        }
        Ok(())
    }

    /// Words in the middle of the plotting area.
    pub fn say(&self, area: &Area, text: &str) -> Drawn {
        let middle = (self.left + WIDTH / 2.0, self.top + HEIGHT / 2.0);
        written(text, middle, Anchor::Middle).draw(area)
    }
}

fn written(text: &str, at: (f64, f64), anchor: Anchor) -> Label<'_> {
    Label {
        text,
        at,
        size: TEXT,
        colour: INK,
        anchor,
        is_turned: false,
    }
}

/// The axis with the most ticks whose numbers stand apart.
fn fitted(make: impl Fn(usize) -> Ruler) -> Ruler {
    let stand_apart = |ruler: &Ruler| {
        ruler.ticks.windows(2).all(|pair| {
            let room = WIDTH * (pair[1].share - pair[0].share);
            let widths = [0, 1].map(|i| width(&pair[i].label, TEXT) / 2.0);
            room >= widths[0] + widths[1] + 12.0
        })
    };
    let most = (2..=TICKS_ACROSS).rev().map(&make).find(stand_apart);
    most.unwrap_or_else(|| make(2))
}

/// A filled rectangle between two places.
pub fn filled(plot: &Plot, corners: [(f64, f64); 2], colour: impl Color) -> Drawn {
    plot.draw(&Rectangle::new(corners, colour.filled()))
}
