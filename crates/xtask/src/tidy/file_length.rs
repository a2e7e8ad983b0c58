//! Files that hold more than one idea.

use super::tree::Tree;
use super::{Check, Finding};

pub const CHECK: Check = Check {
    name: "file-length",
    summary: "a file of code has at most 700 lines",
    run,
};

const MAX_LINES: usize = 700;

/// Code; a drive's defect list or a document is as long as it is.
const EXTENSIONS: &[&str] = &["rs", "py", "sh", "js"];

fn run(tree: &Tree) -> Vec<Finding> {
    tree.files()
        .filter(|file| EXTENSIONS.contains(&file.extension()))
        .filter_map(|file| {
            let lines = file.lines().count();
            let message =
                || format!("{lines} lines, at most {MAX_LINES}: split it along its ideas");
            (lines > MAX_LINES).then(|| Finding::new(&file.path, lines, message()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_and_good() {
        let found = |path, lines| run(&Tree::of(&[(path, "\n".repeat(lines).as_str())])).len();
        assert_eq!(found("a.rs", 701), 1);
        assert_eq!(found("a.py", 701), 1);
        assert_eq!(found("a.rs", 700), 0);
        assert_eq!(found("drive.toml", 701), 0);
    }
}
