//! The one font: Liberation Sans, whose widths are those of Arial and Helvetica, so that text
//! takes the same room where a reader's program has one of those instead.

use std::sync::LazyLock;

use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

/// The font itself: `fonts/LICENSE-OFL-1.1` is its licence.
pub const FONT: &[u8] = include_bytes!("../fonts/LiberationSans-Regular.ttf");

/// Its name, and those of fonts with the same widths.
pub const FAMILIES: &str = "Liberation Sans, Arimo, Arial, Helvetica, sans-serif";

static FACE: LazyLock<FontRef<'static>> =
    LazyLock::new(|| FontRef::new(FONT).expect("the font that lies in fonts/ is one"));

/// Pixels from the beginning of a line of text to its end, at such a size in pixels. What the
/// font lacks counts as a square.
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

/// How much wider text may turn out where a reader's program has none of [`FAMILIES`] but, say,
/// DejaVu Sans. Whoever gives text room gives it that much.
pub const ROOM: f64 = 1.15;

/// Whether a character is one that XML cannot hold, or that moves what follows.
pub fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}')
}

/// Lines of at most such a width with [`ROOM`] to spare, broken at spaces, or anywhere in a word
/// that is wider itself. Control characters become spaces. There is at least one line unless
/// there is no text.
pub fn lines(text: &str, size: f64, most: f64) -> Vec<String> {
    let most = most / ROOM;
    let text = text.replace(|c: char| is_control(c) || c.is_whitespace(), " ");
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let joined = lines.last().map(|line| format!("{line} {word}"));
        match (joined, lines.last_mut()) {
            (Some(joined), Some(line)) if width(&joined, size) <= most => *line = joined,
            _ => lines.extend(pieces(word, size, most)),
        }
    }
    lines
}

/// A word, cut where it is wider than a line.
fn pieces(word: &str, size: f64, most: f64) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for c in word.chars() {
        let piece = pieces.last_mut().expect("it begins with one");
        let longer = format!("{piece}{c}");
        if piece.is_empty() || width(&longer, size) <= most {
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
    fn lines_break_at_spaces_and_within_words_that_are_too_long() {
        // Ten pixels a digit, nearly.
        let size = 10.0 / 0.556;
        assert_eq!(
            lines("111 222  333\n4", size, 76.0 * ROOM),
            ["111 222", "333 4"]
        );
        assert_eq!(
            lines("1 2222222", size, 31.0 * ROOM),
            ["1", "222", "222", "2"]
        );
        assert!(lines(" \u{7} ", size, 31.0).is_empty());
    }
}
