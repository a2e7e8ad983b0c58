//! The font: Liberation Sans, which has the widths of Arial and Helvetica, so that text has the
//! same width where one of those is used instead.

use std::sync::LazyLock;

use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

/// The font file; its licence is `fonts/LICENSE-OFL-1.1`.
pub const FONT: &[u8] = include_bytes!("../fonts/LiberationSans-Regular.ttf");

/// Its name, and those of fonts with the same widths.
pub const FAMILIES: &str = "Liberation Sans, Arimo, Arial, Helvetica, sans-serif";

static FACE: LazyLock<FontRef<'static>> =
    LazyLock::new(|| FontRef::new(FONT).expect("the font in fonts/ is valid"));

/// The width of a line of text in pixels, at a font size in pixels. A character that the font lacks
/// counts as one em.
pub fn width(text: &str, size: f64) -> f64 {
    let glyphs = FACE.charmap();
    let metrics = FACE.glyph_metrics(Size::unscaled(), LocationRef::default());
    let per_em = f64::from(
        FACE.metrics(Size::unscaled(), LocationRef::default())
            .units_per_em,
    );
    let ems = text.chars().map(|c| {
        let advance = glyphs.map(c).and_then(|glyph| metrics.advance_width(glyph));
        advance.map_or(1.0, |units| f64::from(units) / per_em)
    });
    size * ems.sum::<f64>()
}

/// How much wider text may be in a viewer that has none of [`FAMILIES`] but, say, DejaVu Sans.
/// Layouts reserve that much.
pub const MAX_STRETCH: f64 = 1.15;

/// Whether XML cannot hold a character, or it is a control character.
pub fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}')
}

/// Wraps a text to lines of at most a given width, stretched by [`MAX_STRETCH`]. Breaks at spaces,
/// or within a word that is wider. Control characters become spaces. Returns at least one line
/// unless the text is empty.
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

/// Splits a word into pieces of at most a given width.
fn pieces(word: &str, size: f64, max: f64) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for c in word.chars() {
        let piece = pieces.last_mut().expect("it is never empty");
        let longer = format!("{piece}{c}");
        if piece.is_empty() || width(&longer, size) <= max {
            *piece = longer;
        } else {
            pieces.push(c.to_string());
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_arial() {
        // Adobe's Helvetica.afm: figures 556 thousandths of an em, i 222, space 278, W 944.
        for (text, thousandths) in [("0", 556.0), ("i", 222.0), (" ", 278.0), ("W0", 1500.0)] {
            assert!((width(text, 1000.0) - thousandths).abs() < 1.0, "{text}");
        }
    }

    #[test]
    fn lines_break_at_spaces_and_within_long_words() {
        // Nearly ten pixels per digit.
        let size = 10.0 / 0.556;
        assert_eq!(
            lines("111 222  333\n4", size, 76.0 * MAX_STRETCH),
            ["111 222", "333 4"]
        );
        assert_eq!(
            lines("1 2222222", size, 31.0 * MAX_STRETCH),
            ["1", "222", "222", "2"]
        );
        assert!(lines(" \u{7} ", size, 31.0).is_empty());
    }
}
