//! Rust that does not parse. The other checks leave such a file out, so silence would lie.

use super::tree::Tree;
use super::{Check, Finding};

pub const CHECK: Check = Check {
    name: "syntax",
    summary: "every Rust file parses",
    run,
};

fn run(tree: &Tree) -> Vec<Finding> {
    tree.files()
        .filter_map(|file| {
            let error = file.rust.as_ref()?.as_ref().err()?;
            let line = error.span().start().line;
            Some(Finding::new(&file.path, line, error.to_string()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_and_good() {
        let bad = Tree::of(&[("a.rs", "fn f() {}\nfn g( {}\n"), ("b.rs", "fn f() {\n")]);
        let places: Vec<(String, usize)> = run(&bad)
            .into_iter()
            .map(|finding| (finding.path, finding.line))
            .collect();
        assert_eq!(places.len(), 2);
        assert_eq!(places[0], ("a.rs".to_owned(), 2));
        assert_eq!(
            run(&Tree::of(&[("a.rs", "fn f() {}\n"), ("b.md", "fn f( {")])),
            []
        );
    }
}
