//! Values in the style of the catalogue.

use std::fmt::Write;

use diskarm_core::spec::milliseconds;
use diskarm_core::units::Span;

use super::Value;

/// Maximum length of a line that can be broken, as in the catalogue.
const MAX_COLUMNS: usize = 99;

/// Converts a value of `key` to TOML; with `several_lines`, text becomes a multi-line string even
/// if it fits on one line.
pub(super) fn value(key: &str, value: &Value, several_lines: bool) -> toml_edit::Value {
    let written = written(key, value, several_lines);
    written.parse().expect("what is written here is TOML")
}

/// Formats a value as TOML text.
pub(super) fn written(key: &str, value: &Value, several_lines: bool) -> String {
    match value {
        Value::SeekTable(points) => seek_table(points),
        Value::Text(text) => match line(text) {
            line if !several_lines && fits_one_line(key, text, &line) => line,
            _ => lines(text),
        },
        Value::Toml(written) => written.clone(),
    }
}

fn seek_table(points: &[(u32, Span)]) -> String {
    let pairs = points
        .iter()
        .map(|(distance, time)| format!("[{distance}, {}],", milliseconds(*time)));
    format!("[\n{}\n]", filled(pairs, "    "))
}

fn fits_one_line(key: &str, text: &str, line: &str) -> bool {
    let columns = key.len() + " = ".len() + line.chars().count();
    !text.contains('\n') && columns <= MAX_COLUMNS
}

/// Formats a string on one line.
fn line(text: &str) -> String {
    format!(
        "\"{}\"",
        escaped(text).replace('"', "\\\"").replace('\n', "\\n")
    )
}

/// Formats a string over several lines, the first of them below the key.
fn lines(text: &str) -> String {
    // Three quotes would end the string; one or two do not, even before its end.
    let text = escaped(text).replace("\"\"\"", "\"\"\\\"") + "\"\"\"";
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| filled(line.split(' '), ""))
        .collect();
    format!("\"\"\"\n{}", lines.join("\n"))
}

/// Escapes all characters that a string cannot contain literally, except quotes and line ends.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            '\n' | '\t' => escaped.push(c),
            c if c.is_control() => {
                let _ = write!(escaped, "\\u{:04X}", u32::from(c));
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// Joins words by spaces and breaks lines where the next word would not fit.
pub(crate) fn filled(words: impl Iterator<Item = impl AsRef<str>>, indent: &str) -> String {
    let mut filled = String::from(indent);
    let mut column = indent.len();
    for (index, word) in words.enumerate() {
        let word = word.as_ref();
        let columns = word.chars().count();
        if index > 0 && column + 1 + columns > MAX_COLUMNS {
            filled.push('\n');
            filled.push_str(indent);
            column = indent.len();
        } else if index > 0 {
            filled.push(' ');
            column += 1;
        }
        filled.push_str(word);
        column += columns;
    }
    filled
}
