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

/// How much room there is, and so where the legend stands.
#[derive(Clone, Copy, PartialEq)]
pub enum Sheet {
    /// The legend is beside the plotting area.
    Wide,
    /// The legend is below it.
    Narrow,
}

/// Pixels, as everything here: of the plotting area on a wide sheet.
pub const WIDTH: f64 = 520.0;
pub const HEIGHT: f64 = 330.0;

/// Of a narrow sheet, the least width of the plotting area there, and its height.
const NARROW: f64 = 360.0;
const LEAST_WIDTH: f64 = 160.0;
const NARROW_HEIGHT: f64 = 260.0;

/// Around everything, and between an axis and its numbers.
const MARGIN: f64 = 14.0;
const GAP: f64 = 7.0;

/// Between the plotting area and the legend, or more where half of a number at the axis' end, which
/// stands there too, needs it.
const BESIDE: f64 = 26.0;

/// Ticks on the axes, at most; fewer across if their numbers do not fit.
const TICKS_ACROSS: usize = 11;
pub const TICKS_UP: usize = 9;

/// The axes laid out on a page, with what stands around them.
pub struct Frame {
    sheet: Sheet,
    /// Of the plotting area.
    width: f64,
    height: f64,
    heading: Heading,
    legend: Legend,
    x: Ruler,
    y: Ruler,
    x_name: Vec<String>,
    y_name: Vec<String>,
    left: f64,
    top: f64,
    /// To the right of the plotting area.
    beside: f64,
}

impl Frame {
    /// `x` and `y` make the axes with at most so many ticks.
    pub fn new(
        sheet: Sheet,
        [title, note]: [&str; 2],
        (x_name, x): (&str, impl Fn(usize) -> Ruler),
        (y_name, y): (&str, impl Fn(usize) -> Ruler),
        legend: Legend,
    ) -> Self {
        let y = y(TICKS_UP);
        let height = match sheet {
            Sheet::Wide => HEIGHT,
            Sheet::Narrow => NARROW_HEIGHT,
        };
        let y_name = lines(y_name, TEXT, height);
        let numbers = widest(y.ticks.iter().map(|tick| tick.label.as_str()), TEXT);
        let left = MARGIN + LEADING * TEXT * y_name.len() as f64 + GAP + numbers + GAP;
        let width = match sheet {
            Sheet::Wide => WIDTH,
            Sheet::Narrow => (NARROW - left - BESIDE).max(LEAST_WIDTH),
        };
        let x = fitted(x, width);
        let number = widest(x.ticks.iter().map(|tick| tick.label.as_str()), TEXT);
        let beside = f64::max(BESIDE, number / 2.0 + GAP);
        let legend_beside = match (sheet, legend.width()) {
            (Sheet::Narrow, _) | (_, 0.0) => 0.0,
            (Sheet::Wide, legend) => beside + legend,
        };
        let heading = Heading::new(title, note, left + width + legend_beside - MARGIN);
        Self {
            sheet,
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
            beside,
        }
    }

    /// Pixels of the page.
    pub fn page(&self) -> [f64; 2] {
        let (left, top) = self.legend_corner();
        let legend = match self.legend.width() {
            0.0 => [0.0, 0.0],
            width => [left + width + MARGIN, top + self.legend.height() + MARGIN],
        };
        let plot = [self.left + self.width + self.beside, self.below() + MARGIN];
        [0, 1].map(|i| f64::max(plot[i], legend[i]))
    }

    /// Where the names below the plotting area end.
    fn below(&self) -> f64 {
        let names = LEADING * TEXT * (1 + self.x_name.len()) as f64;
        self.top + self.height + GAP + names + GAP
    }

    /// The upper left one.
    fn legend_corner(&self) -> (f64, f64) {
        match self.sheet {
            Sheet::Wide => (self.left + self.width + self.beside, self.top),
            Sheet::Narrow => (MARGIN, self.below() + MARGIN),
        }
    }

    /// How far along the axes a place lies; none if it has none.
    pub fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.x.share(x)?, self.y.share(y)?))
    }

    /// The upright axis.
    pub fn up(&self) -> &Ruler {
        &self.y
    }

    /// Everything: data are drawn on the grid and the axes' own lines.
    pub fn draw(&self, area: &Area, data: impl FnOnce(&Plot) -> Drawn) -> Drawn {
        self.heading.draw(area, MARGIN)?;
        let (right, bottom) = (self.left + self.width, self.top + self.height);
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
        self.legend.draw(area, self.legend_corner())
    }

    fn draw_numbers(&self, area: &Area) -> Drawn {
        let bottom = self.top + self.height;
        for tick in &self.x.ticks {
            let at = (
                self.left + self.width * tick.share,
                bottom + GAP + 0.9 * TEXT,
            );
            written(&tick.label, at, Anchor::Middle).draw(area)?;
        }
        for tick in &self.y.ticks {
            let at = (
                self.left - GAP,
                bottom - self.height * tick.share + 0.36 * TEXT,
            );
            written(&tick.label, at, Anchor::End).draw(area)?;
        }
        Ok(())
    }

    fn draw_names(&self, area: &Area) -> Drawn {
        let middle = self.left + self.width / 2.0;
        let below = self.top + self.height + GAP + LEADING * TEXT + GAP;
        for (i, line) in self.x_name.iter().enumerate() {
            let y = below + 0.8 * TEXT + LEADING * TEXT * i as f64;
            written(line, (middle, y), Anchor::Middle).draw(area)?;
        }
        for (i, line) in self.y_name.iter().enumerate() {
            let x = MARGIN + 0.8 * TEXT + LEADING * TEXT * i as f64;
            let turned = Label {
                is_turned: true,
                ..written(line, (x, self.top + self.height / 2.0), Anchor::Middle)
            };
            turned.draw(area)?;
        }
        Ok(())
    }

    /// Words in the middle of the plotting area.
    pub fn say(&self, area: &Area, text: &str) -> Drawn {
        let middle = (self.left + self.width / 2.0, self.top + self.height / 2.0);
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

/// The axis of such a length with the most ticks whose numbers stand apart.
fn fitted(make: impl Fn(usize) -> Ruler, length: f64) -> Ruler {
    let stand_apart = |ruler: &Ruler| {
        ruler.ticks.windows(2).all(|pair| {
            let room = length * (pair[1].share - pair[0].share);
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
