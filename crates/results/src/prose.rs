//! Text wrapped to the width of a terminal.

/// Columns of a terminal.
const COLUMNS: usize = 80;

/// Wraps `text` at 80 columns (a longer word gets a line of its own) and indents each line by
/// `indent` columns. Blank lines separate paragraphs.
pub fn wrapped(text: &str, indent: usize) -> String {
    let margin = " ".repeat(indent);
    let paragraphs: Vec<String> = text
        .trim()
        .split("\n\n")
        .map(|words| paragraph(words, &margin))
        .collect();
    paragraphs.join("\n")
}

/// Puts each paragraph of `text` on one line, for callers that wrap text themselves.
pub fn flowing(text: &str) -> String {
    let paragraphs: Vec<String> = text
        .split("\n\n")
        .map(|words| words.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    paragraphs.join("\n\n")
}

/// Puts `text` next to a label: wrapped, and indented by `indent` columns.
pub fn labelled(label: &str, text: &str, indent: usize) -> String {
    let text = wrapped(text, indent);
    // The label replaces the indentation of the first line.
    format!("{label:<indent$}{}", text.trim_start())
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
    fn lines_are_as_full_as_they_can_be() {
        // 2 + 26 times "ab " without the last blank is 79 columns; a word of 3 letters makes 80.
        let ab = ["ab"; 25].join(" ");
        let full = format!("{ab} abc");
        assert_eq!(full.len() + 2, 80);
        assert_eq!(
            wrapped(&format!("{full}\nc"), 2),
            format!("  {full}\n  c\n")
        );
        assert_eq!(
            wrapped(&format!("{ab} abcd"), 2),
            format!("  {ab}\n  abcd\n")
        );
        assert_eq!(wrapped("a\n\nb\n", 1), " a\n\n b\n");
        assert_eq!(flowing("a\nb\n\nc d\n"), "a b\n\nc d");
    }

    #[test]
    fn a_label_stands_in_the_margin() {
        // 4 + 12 * 6 - 1 is 75 columns; another word makes 81.
        let line = ["words"; 12].join(" ");
        let expected = format!("a   {line}\n    words\n");
        assert_eq!(labelled("a", &format!("{line} words"), 4), expected);
        assert_eq!(labelled("", "b", 2), "  b\n");
    }
}
