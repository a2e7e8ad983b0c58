//! A seek curve drawn with characters.

use std::fmt::Write;

/// Width and height in characters; a Braille character has two by four dots.
const COLUMNS: usize = 68;
const ROWS: usize = 12;
const DOT_COLUMNS: usize = 2 * COLUMNS;
const DOT_ROWS: usize = 4 * ROWS;

/// The bits for the dots of a Braille character, by row and column (Unicode 16, section 21.1).
const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// Draws milliseconds over cylinders: `seek_ms` at all distances from 1 to `longest_cylinders`.
pub fn draw(longest_cylinders: u32, seek_ms: impl Fn(u32) -> f64) -> String {
    let distance = |column: usize| {
        let share = column as f64 / (DOT_COLUMNS - 1) as f64;
        1 + (share * f64::from(longest_cylinders - 1)).round() as u32
    };
    let times: Vec<f64> = (0..DOT_COLUMNS)
        .map(|column| seek_ms(distance(column)))
        .collect();
    let top = times
        .iter()
        .copied()
        .fold(0.0, f64::max)
        .max(f64::MIN_POSITIVE);
    let height = |ms: f64| (ms / top * (DOT_ROWS - 1) as f64).round() as usize;

    let mut cells = [[0u8; COLUMNS]; ROWS];
    let mut last = height(times[0]);
    for (column, &ms) in times.iter().enumerate() {
        let now = height(ms);
        // Fills the gaps in steep parts.
        for dot in last.min(now)..=last.max(now) {
            let row = DOT_ROWS - 1 - dot;
            cells[row / 4][column / 2] |= BITS[row % 4][column % 2];
        }
        last = now;
    }

    let mut text = String::new();
    for (row, cells) in cells.iter().enumerate() {
        let label = match row {
            0 => format!("{top:.1}"),
            _ if row == ROWS / 2 => format!("{:.1}", top / 2.0),
            _ => String::new(),
        };
        let line: String = cells.iter().map(|&bits| braille(bits)).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{label:>8} │{}", line.trim_end());
    }
    let middle = distance(DOT_COLUMNS / 2);
    let half = COLUMNS / 2 - 1;
    let _ = writeln!(text, "{:>8} └{}", "ms", "─".repeat(COLUMNS));
    let _ = writeln!(
        text,
        "{:10}1{middle:>half$}{:>half$}",
        "",
        format!("{longest_cylinders} cylinders")
    );
    text
}

fn braille(bits: u8) -> char {
    match bits {
        0 => ' ',
        bits => char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' '),
    }
}
