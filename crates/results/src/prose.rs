//! Text wrapped to the width of a terminal.

const COLUMNS: usize = 80;

/// Wraps `text` at 80 columns (a longer word is on its own line) and indents each line by `indent`
/// columns. Blank lines separate paragraphs.
pub fn wrapped(text: &str, indent: usize) -> String {
    let margin = " ".repeat(indent);
    let parts = text.trim().split("\n\n");
    let paragraphs = parts.map(|words| paragraph(words, &margin));
    paragraphs.collect::<Vec<_>>().join("\n")
}

/// Puts each paragraph of `text` on one line, for callers that wrap text themselves.
pub fn flowing(text: &str) -> String {
    let joined = |words: &str| words.split_whitespace().collect::<Vec<_>>().join(" ");
    let paragraphs: Vec<String> = text.split("\n\n").map(joined).collect();
    paragraphs.join("\n\n")
}

/// Puts `text` next to a label: wrapped, and indented by `indent` columns.
pub fn labelled(label: &str, text: &str, indent: usize) -> String {
    let text = wrapped(text, indent);
    // The label replaces the indentation of the first line.
    format!("{label:<indent$}{}", text.trim_start())
}

/// Converts a time to its customary unit: `603631.884` seconds are 167.68 h.
pub fn time(seconds: f64) -> (f64, &'static str) {
    match seconds {
        ..3_600.0 => (seconds, "s"),
        ..3_600_000.0 => (seconds / 3_600.0, "h"),
        _ => (seconds / 86_400.0, "d"),
    }
}

/// Like [`time`], but for a time in milliseconds.
pub fn time_of(ms: f64) -> (f64, &'static str) {
    match ms {
        ..1_000.0 => (ms, "ms"),
        _ => time(ms / 1_000.0),
    }
}

/// Formats a time given in milliseconds, with all its digits.
pub fn milliseconds(ms: f64) -> String {
    let (value, unit) = time_of(ms);
    format!("{value} {unit}")
}

fn paragraph(text: &str, margin: &str) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for word in text.split_whitespace() {
        let width = margin.len() + line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && width > COLUMNS {
            lines += &format!("{margin}{line}\n");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    lines + &format!("{margin}{line}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_their_customary_units() {
        assert_eq!(time(3_599.0), (3_599.0, "s"));
        assert_eq!(time(603_631.884).1, "h");
        assert_eq!(time(86_400_000.0), (1_000.0, "d"));
        assert_eq!(milliseconds(31.2), "31.2 ms");
        assert_eq!(milliseconds(2_500.0), "2.5 s");
        assert_eq!(milliseconds(7_200_000.0), "2 h");
    }

    #[test]
    fn lines_are_as_full_as_possible() {
        // The margin and 25 words "ab" take 76 columns; a blank and a word of 3 letters, 80.
        let ab = ["ab"; 25].join(" ");
        let full = format!("{ab} abc");
        assert_eq!(full.len() + 2, 80);
        let shown = wrapped(&format!("{full}\nc"), 2);
        assert_eq!(shown, format!("  {full}\n  c\n"));
        let shown = wrapped(&format!("{ab} abcd"), 2);
        assert_eq!(shown, format!("  {ab}\n  abcd\n"));
        assert_eq!(wrapped("a\n\nb\n", 1), " a\n\n b\n");
        assert_eq!(flowing("a\nb\n\nc d\n"), "a b\n\nc d");
    }

    #[test]
    fn a_label_is_to_the_left_of_the_text() {
        // 4 + 12 * 6 - 1 is 75 columns; another word makes 81.
        let line = ["words"; 12].join(" ");
        let expected = format!("a   {line}\n    words\n");
        assert_eq!(labelled("a", &format!("{line} words"), 4), expected);
        assert_eq!(labelled("", "b", 2), "  b\n");
    }
}
