//! Notes to oneself that were left in.

use super::tree::Tree;
use super::{Check, Finding};

pub const CHECK: Check = Check {
    name: "leftovers",
    summary: "no note says that something is still to be done",
    run,
};

/// Spelled in two halves, or this file would find itself.
const NOTES: &[&str] = &[
    concat!("FIX", "ME"),
    concat!("TO", "DO"),
    concat!("XX", "X"),
    concat!("to", "do!"),
    concat!("unimpl", "emented!"),
];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        for (number, line) in file.lines() {
            for note in NOTES.iter().filter(|note| has_word(line, note)) {
                let message = format!("`{note}` left in: do it now or open an issue");
                findings.push(Finding::new(&file.path, number, message));
            }
        }
    }
    findings
}

/// Whether `word` stands in `line` and is no part of a longer one.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_and_good() {
        let bad = NOTES.join("\n// ") + "()";
        assert_eq!(run(&Tree::of(&[("a.md", bad.as_str())])).len(), NOTES.len());
        let good = "mktemp name.XXXXXX; toDO; METHOD; // what to do! \n";
        assert_eq!(run(&Tree::of(&[("a.sh", good)])), []);
    }
}
