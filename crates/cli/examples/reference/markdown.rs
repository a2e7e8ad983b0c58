//! Pieces of pages in Markdown.

/// Returns the start of a page.
pub fn head(title: &str, about: &str) -> String {
    format!(
        "# {title}\n\n<!-- made by cargo run --example reference from the program's tables -->\n\n\
         {about}\n\n"
    )
}

pub fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = vec!["---".to_owned(); head.len()];
    let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
    let rows = rows.map(|row| {
        assert_eq!(row.len(), head.len(), "cells of {row:?}");
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        line(&cells)
    });
    line(&head) + &line(&rule) + &rows.collect::<String>()
}

/// Formats text as code.
pub fn code(text: &str) -> String {
    format!("`{text}`")
}

/// Formats parameters and their meanings, in one cell.
pub fn parameters(all: &[(&str, &str)]) -> String {
    let each = all
        .iter()
        .map(|(written, meaning)| format!("`{written}`: {meaning}"));
    each.collect::<Vec<String>>().join("<br>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_does_not_end_a_cell() {
        let rows = [vec!["a|b".to_owned(), "c".to_owned()]].into_iter();
        let expected = "| x | y |\n| --- | --- |\n| a\\|b | c |\n";
        assert_eq!(table(&["x", "y"], rows), expected);
    }
}
