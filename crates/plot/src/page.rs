//! The page of a drawing: SVG output, text and its font, and conversion to PNG.
//!
//! The drawing library has integer coordinates, so a unit is a tenth of a pixel, for smooth curves.

use std::sync::{Arc, LazyLock};
use std::{fmt, io};

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::Text;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontTransform, IntoFont, RGBColor, TextStyle, WHITE};
use resvg::tiny_skia::{self, Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};
use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

pub type DrawResult = Result<(), DrawingAreaErrorKind<io::Error>>;

const UNITS_PER_PIXEL: f64 = 10.0;

pub const INK: RGBColor = RGBColor(0x1a, 0x1a, 0x1a);
pub const GREY: RGBColor = RGBColor(0x55, 0x55, 0x55);
pub const GRID: RGBColor = RGBColor(0xe0, 0xe0, 0xe0);

/// The usual size of text. Lengths here are in pixels unless they are said to be in units.
pub const TEXT: f64 = 13.0;
const TITLE: f64 = 16.0;
/// The distance between lines of text, relative to its size.
pub const LEADING: f64 = 1.3;

pub fn units(pixels: f64) -> i32 {
    (pixels * UNITS_PER_PIXEL).round() as i32
}

pub fn unsigned_units(pixels: f64) -> u32 {
    (pixels * UNITS_PER_PIXEL).round() as u32
}

pub fn in_pixels(units: i32) -> f64 {
    f64::from(units) / UNITS_PER_PIXEL
}

/// The part of a label that is at its position.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A line of text, positioned at its baseline.
pub struct Label<'a> {
    pub text: &'a str,
    pub at: (f64, f64),
    pub size: f64,
    pub colour: RGBColor,
    pub anchor: Anchor,
    /// True if the text is rotated counterclockwise by 90 degrees about its position.
    pub is_rotated: bool,
}

impl<'a> Label<'a> {
    /// Returns horizontal text in the usual colour and size.
    pub fn new(text: &'a str, at: (f64, f64), anchor: Anchor) -> Self {
        Self {
            text,
            at,
            size: TEXT,
            colour: INK,
            anchor,
            is_rotated: false,
        }
    }

    pub fn draw(&self, area: &Area) -> DrawResult {
        // The library centres text on a point a quarter of an em above the baseline and divides the
        // size by 1.24.
        let rise = 0.25 * self.size;
        let (x, y) = self.at;
        let (at, transform) = if self.is_rotated {
            ((x - rise, y), FontTransform::Rotate270)
        } else {
            ((x, y - rise), FontTransform::None)
        };
        let horizontal = match self.anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let font = (FAMILIES, 124.0 * self.size * UNITS_PER_PIXEL / 100.0).into_font();
        let style = TextStyle::from(font.transform(transform))
            .color(&self.colour)
            .pos(Pos::new(horizontal, VPos::Center));
        area.draw(&Text::new(self.text, (units(at.0), units(at.1)), style))
    }
}

pub struct Heading {
    title: Vec<String>,
    note: Vec<String>,
}

impl Heading {
    pub fn new(title: &str, note: &str, width: f64) -> Self {
        Self {
            title: lines(title, TITLE, width),
            note: lines(note, TEXT, width),
        }
    }

    pub fn height(&self) -> f64 {
        14.0 + LEADING * (TITLE * self.title.len() as f64 + TEXT * self.note.len() as f64) + 12.0
    }

    pub fn draw(&self, area: &Area, left: f64) -> DrawResult {
        let titles = self.title.iter().map(|line| (line, TITLE, INK));
        let notes = self.note.iter().map(|line| (line, TEXT, GREY));
        let mut y = 14.0;
        for (text, size, colour) in titles.chain(notes) {
            y += LEADING * size;
            Label {
                size,
                colour,
                ..Label::new(text, (left, y - 0.3 * size), Anchor::Start)
            }
            .draw(area)?;
        }
        Ok(())
    }
}

pub fn widest<'a>(texts: impl Iterator<Item = &'a str>, size: f64) -> f64 {
    MAX_STRETCH * texts.map(|text| width(text, size)).fold(0.0, f64::max)
}

pub struct Page {
    size: (u32, u32),
    body: String,
}

impl Page {
    pub fn draw(&mut self, draw: impl FnOnce(&Area) -> DrawResult) {
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, self.size).into_drawing_area();
        let result = draw(&area).and_then(|()| area.present());
        assert!(result.is_ok(), "writing to a string cannot fail");
        drop(area);
        let body = svg.split_once(">\n").map_or("", |(_, body)| body);
        self.body += body.trim_end_matches("</svg>\n");
    }

    /// Adds a group with the output of `contents`. Report pages find groups by their attributes.
    pub fn group(
        &mut self,
        attributes: &[(&str, impl AsRef<str>)],
        contents: impl FnOnce(&mut Self),
    ) {
        let attributes = attributes.iter();
        let attributes =
            attributes.map(|(name, value)| format!(" {name}=\"{}\"", escape(value.as_ref())));
        self.body += &format!("<g{}>\n", attributes.collect::<String>());
        contents(self);
        self.body += "</g>\n";
    }
}

/// Returns an SVG drawing of a given size, with a title and a description for screen readers.
pub fn drawing(
    [width, height]: [f64; 2],
    title: &str,
    description: &str,
    draw: impl FnOnce(&mut Page),
) -> String {
    let mut page = Page {
        size: (unsigned_units(width), unsigned_units(height)),
        body: String::new(),
    };
    page.draw(|area| area.fill(&WHITE.to_rgba()));
    draw(&mut page);
    let (width, height) = (width.ceil(), height.ceil());
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{width}\" \
         height=\"{height}\" style=\"max-width:100%;height:auto\" role=\"img\" \
         stroke-linejoin=\"round\">\n<title>{}</title>\n<desc>{}</desc>\n{}</svg>\n",
        units(width),
        units(height),
        escape(title),
        escape(description),
        page.body,
    )
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace(is_control, " ")
}

/// The font file; its licence is `fonts/LICENSE-OFL-1.1`.
const FONT: &[u8] = include_bytes!("../fonts/LiberationSans-Regular.ttf");

/// The names of the font and of fonts with the same widths.
const FAMILIES: &str = "Liberation Sans, Arimo, Arial, Helvetica, sans-serif";

static FACE: LazyLock<FontRef<'static>> =
    LazyLock::new(|| FontRef::new(FONT).expect("the font in fonts/ is valid"));

/// Returns the width of a line of text in pixels. Characters that the font lacks count as one em.
pub fn width(text: &str, size: f64) -> f64 {
    let glyphs = FACE.charmap();
    let metrics = FACE.glyph_metrics(Size::unscaled(), LocationRef::default());
    let font_metrics = FACE.metrics(Size::unscaled(), LocationRef::default());
    let per_em = f64::from(font_metrics.units_per_em);
    let ems = text.chars().map(|c| {
        let advance = glyphs.map(c).and_then(|glyph| metrics.advance_width(glyph));
        advance.map_or(1.0, |units| f64::from(units) / per_em)
    });
    size * ems.sum::<f64>()
}

/// Allowance for viewers that have none of [`FAMILIES`] and use a wider font, such as DejaVu Sans.
const MAX_STRETCH: f64 = 1.15;

/// Returns true for control characters and for characters that XML does not allow.
fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}')
}

/// Wraps text to lines of at most `max` pixels after stretching by [`MAX_STRETCH`]. Breaks at
/// spaces, or within a word wider than `max`. Control characters become spaces. Blank text yields
/// no lines.
pub fn lines(text: &str, size: f64, max: f64) -> Vec<String> {
    let max = max / MAX_STRETCH;
    let text = text.replace(|c: char| is_control(c) || c.is_whitespace(), " ");
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let joined = lines.last().map(|line| format!("{line} {word}"));
        match (joined, lines.last_mut()) {
            (Some(joined), Some(line)) if width(&joined, size) <= max => *line = joined,
            _ => lines.extend(pieces(word, size, max)),
        }
    }
    lines
}

fn pieces(word: &str, size: f64, max: f64) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for c in word.chars() {
        let piece = pieces.last_mut().expect("the list is never empty");
        let longer = format!("{piece}{c}");
        if piece.is_empty() || width(&longer, size) <= max {
            *piece = longer;
        } else {
            pieces.push(c.to_string());
        }
    }
    pieces
}

/// Image pixels per drawing pixel: sharp on high-resolution screens and in print.
const SCALE: f32 = 2.0;

static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family("Liberation Sans");
    Arc::new(fonts)
});

#[derive(Debug)]
pub struct PngError(String);

impl fmt::Display for PngError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot draw: {}", self.0)
    }
}

impl std::error::Error for PngError {}

/// Converts an SVG drawing to PNG at twice its size, with the font of this crate only.
///
/// # Errors
/// If `svg` is not SVG, has no size, or gives an image that does not fit in memory.
pub fn png(svg: &str) -> Result<Vec<u8>, PngError> {
    let options = Options {
        fontdb: Arc::clone(&FONTS),
        ..Options::default()
    };
    let tree = Tree::from_str(svg, &options).map_err(|error| PngError(error.to_string()))?;
    let [width, height] =
        [tree.size().width(), tree.size().height()].map(|length| (SCALE * length).round() as u32);
    let mut image = Pixmap::new(width, height).ok_or_else(|| {
        PngError(format!(
            "an image of {width} by {height} pixels does not fit in memory"
        ))
    })?;
    // A drawing whose size is not a whole number of pixels does not cover the last row or column.
    image.fill(tiny_skia::Color::WHITE);
    resvg::render(
        &tree,
        Transform::from_scale(SCALE, SCALE),
        &mut image.as_mut(),
    );
    image
        .encode_png()
        .map_err(|error| PngError(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_match_helvetica() {
        // Adobe's Helvetica.afm: digits 556 thousandths of an em, i 222, space 278, W 944.
        for (text, thousandths) in [("0", 556.0), ("i", 222.0), (" ", 278.0), ("W0", 1500.0)] {
            assert!((width(text, 1000.0) - thousandths).abs() < 1.0, "{text}");
        }
    }

    #[test]
    fn lines_break_at_spaces_and_within_long_words() {
        // Digits are nearly ten pixels wide.
        let size = 10.0 / 0.556;
        let wide = lines("111 222  333\n4", size, 76.0 * MAX_STRETCH);
        assert_eq!(wide, ["111 222", "333 4"]);
        let narrow = lines("1 2222222", size, 31.0 * MAX_STRETCH);
        assert_eq!(narrow, ["1", "222", "222", "2"]);
        assert!(lines(" \u{7} ", size, 31.0).is_empty());
    }
}
