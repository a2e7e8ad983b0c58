//! From SVG to PNG.

use std::fmt;
use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};

use crate::font::FONT;

/// Pixels of the image a pixel of the drawing: sharp on screens of today and in print.
const SCALE: f32 = 2.0;

static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family("Liberation Sans");
    Arc::new(fonts)
});

/// Why a text is no drawing.
#[derive(Debug)]
pub struct PngError(String);

impl fmt::Display for PngError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not drawn: {}", self.0)
    }
}

impl std::error::Error for PngError {}

/// A drawing as PNG, twice as large as the SVG says, with the font of this crate and no other.
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
    // A drawing whose size is no whole number of pixels does not reach the last ones.
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
