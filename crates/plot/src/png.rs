//! Converts SVG to PNG.

use std::fmt;
use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};

use crate::font::FONT;

/// Image pixels per drawing pixel: sharp on high-resolution screens and in print.
const SCALE: f32 = 2.0;

static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family("Liberation Sans");
    Arc::new(fonts)
});

/// Why a drawing cannot be converted.
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
/// If `svg` is not SVG, or has no size or one that does not fit in memory.
pub fn png(svg: &str) -> Result<Vec<u8>, PngError> {
    let options = Options {
        fontdb: Arc::clone(&FONTS),
        ..Options::default()
    };
    let tree = Tree::from_str(svg, &options).map_err(|error| PngError(error.to_string()))?;
    let [width, height] =
        [tree.size().width(), tree.size().height()].map(|length| (SCALE * length).round() as u32);
    let mut image = Pixmap::new(width, height)
        .ok_or_else(|| PngError(format!("an image of {width} by {height} pixels")))?;
    // A drawing whose size is not a whole number of pixels does not cover the last ones.
    image.fill(Color::WHITE);
    resvg::render(
        &tree,
        Transform::from_scale(SCALE, SCALE),
        &mut image.as_mut(),
    );
    image
        .encode_png()
        .map_err(|error| PngError(error.to_string()))
}
