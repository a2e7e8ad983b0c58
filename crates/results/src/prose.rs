//! Prose within the width of a terminal.

/// Columns of a terminal.
const COLUMNS: usize = 80;

/// The words of `text` in lines of at most 80 columns (or a longer word), each `indent` columns
/// from the left. Blank lines part paragraphs.
pub fn wrapped(text: &str, indent: usize) -> String {
    let margin = " ".repeat(indent);
    let paragraphs: Vec<String> = text
        .trim()
        .split("\n\n")
        .map(|words| paragraph(words, &margin))
        .collect();
    paragraphs.join("\n")
}

/// The paragraphs of `text`, each in one line, for whoever wraps them by themselves.
pub fn flowing(text: &str) -> String {
    let paragraphs: Vec<String> = text
        .split("\n\n")
        .map(|words| words.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    paragraphs.join("\n\n")
}

/// A label, and the words of `text` in lines beside it, `indent` columns from the left.
pub fn labelled(label: &str, text: &str, indent: usize) -> String {
    let text = wrapped(text, indent);
    // The margin gives way to the label.
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
        // 2 + 26 times "ab " without the last blank are 79 columns; one of 3 letters makes 80.
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
        // 4 + 12 * 6 - 1 are 75 columns, one more word makes 81.
        let line = ["words"; 12].join(" ");
        let expected = format!("a   {line}\n    words\n");
        assert_eq!(labelled("a", &format!("{line} words"), 4), expected);
        assert_eq!(labelled("", "b", 2), "  b\n");
    }
}
