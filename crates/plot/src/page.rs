//! The sheet that all is drawn on.
//!
//! The drawing library knows whole units only. A unit is a tenth of a pixel here, so that a steep
//! curve does not become a staircase.

use std::io;

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::Text;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontTransform, IntoFont, RGBColor, TextStyle, WHITE};

use crate::font::{FAMILIES, ROOM, is_control, lines, width};

pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

pub type Drawn = Result<(), DrawingAreaErrorKind<io::Error>>;

/// Units a pixel.
const FINE: f64 = 10.0;

pub const INK: RGBColor = RGBColor(0x1a, 0x1a, 0x1a);
pub const GREY: RGBColor = RGBColor(0x55, 0x55, 0x55);
pub const GRID: RGBColor = RGBColor(0xe0, 0xe0, 0xe0);

/// Pixels, as is every length here that is not in units.
pub const TEXT: f64 = 13.0;
pub const TITLE: f64 = 16.0;
/// From line to line, of such a size.
pub const LEADING: f64 = 1.3;

/// Pixels in units.
pub fn units(pixels: f64) -> i32 {
    (pixels * FINE).round() as i32
}

/// Pixels in units, of what has no sign.
pub fn pixels(pixels: f64) -> u32 {
    (pixels * FINE).round() as u32
}

/// Where lines of text begin or end.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// One line of text. Its place is on its base line.
pub struct Label<'a> {
    pub text: &'a str,
    pub at: (f64, f64),
    pub size: f64,
    pub colour: RGBColor,
    pub anchor: Anchor,
    /// By a quarter to the left, about its place.
    pub is_turned: bool,
}

impl Label<'_> {
    pub fn draw(&self, area: &Area) -> Drawn {
        // The library asks readers' programs to centre text on a place a quarter of an em above
        // the base line, and takes 1.24 times the size.
        let rise = 0.25 * self.size;
        let (x, y) = self.at;
        let (at, transform) = if self.is_turned {
            ((x - rise, y), FontTransform::Rotate270)
        } else {
            ((x, y - rise), FontTransform::None)
        };
        let horizontal = match self.anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let font = (FAMILIES, 124.0 * self.size * FINE / 100.0).into_font();
        let style = TextStyle::from(font.transform(transform))
            .color(&self.colour)
            .pos(Pos::new(horizontal, VPos::Center));
        area.draw(&Text::new(self.text, (units(at.0), units(at.1)), style))
    }
}

/// What stands above a plot, in lines.
pub struct Heading {
    title: Vec<String>,
    note: Vec<String>,
}

impl Heading {
    /// Broken to fit such a width.
    pub fn new(title: &str, note: &str, width: f64) -> Self {
        Self {
            title: lines(title, TITLE, width),
            note: lines(note, TEXT, width),
        }
    }

    /// Down to where a plot may begin.
    pub fn height(&self) -> f64 {
        14.0 + LEADING * (TITLE * self.title.len() as f64 + TEXT * self.note.len() as f64) + 12.0
    }

    pub fn draw(&self, area: &Area, left: f64) -> Drawn {
        let titles = self.title.iter().map(|line| (line, TITLE, INK));
        let notes = self.note.iter().map(|line| (line, TEXT, GREY));
        let mut y = 14.0;
        for (text, size, colour) in titles.chain(notes) {
            y += LEADING * size;
            Label {
                text,
                at: (left, y - 0.3 * size),
                size,
                colour,
                anchor: Anchor::Start,
                is_turned: false,
            }
            .draw(area)?;
        }
        Ok(())
    }
}

/// What the widest of some texts needs.
pub fn widest<'a>(texts: impl Iterator<Item = &'a str>, size: f64) -> f64 {
    ROOM * texts.map(|text| width(text, size)).fold(0.0, f64::max)
}

/// A drawing of such a size as SVG, that readers of the screen are told `title` and `says` of.
pub fn drawing(
    [width, height]: [f64; 2],
    title: &str,
    says: &str,
    draw: impl FnOnce(&Area) -> Drawn,
) -> String {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, (pixels(width), pixels(height)));
    let area = area.into_drawing_area();
    let drawn = area
        .fill(&WHITE.to_rgba())
        .and_then(|()| draw(&area))
        .and_then(|()| area.present());
    assert!(drawn.is_ok(), "writing to a string cannot fail");
    drop(area);
    let body = svg.split_once(">\n").map_or("", |(_, body)| body);
    let (width, height) = (width.ceil(), height.ceil());
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{width}\" \
         height=\"{height}\" style=\"max-width:100%;height:auto\" role=\"img\" \
         stroke-linejoin=\"round\">\n<title>{}</title>\n<desc>{}</desc>\n{body}",
        units(width),
        units(height),
        escaped(title),
        escaped(says),
    )
}

fn escaped(text: &str) -> String {
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    text.replace(is_control, " ")
}
