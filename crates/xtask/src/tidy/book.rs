//! Pages of the book that its table of contents forgets.

use super::markdown::links;
use super::tree::Tree;
use super::{Check, Finding};

pub const CHECK: Check = Check {
    name: "book",
    summary: "every page below docs/ stands in the book's table of contents",
    run,
};

const CONTENTS: &str = "docs/SUMMARY.md";

fn run(tree: &Tree) -> Vec<Finding> {
    let contents = tree.files().find(|file| file.path == CONTENTS);
    let listed: Vec<String> = contents.map_or_else(Vec::new, |contents| {
        let links = links(&contents.text);
        let pages = links.iter().map(|link| format!("docs/{}", link.target));
        pages.collect()
    });
    let pages = tree.files().filter(|file| {
        let is_page = file.path.starts_with("docs/") && file.extension() == "md";
        is_page && file.path != CONTENTS && !listed.contains(&file.path)
    });
    pages
        .map(|page| Finding::new(&page.path, 1, format!("{CONTENTS} does not list this page")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_and_good() {
        let tree = Tree::of(&[
            (CONTENTS, "- [A](a.md)\n- [B](b/b.md)\n"),
            ("docs/a.md", ""),
            ("docs/b/b.md", ""),
            ("docs/c.md", ""),
            ("docs/c.svg", ""),
            ("README.md", ""),
        ]);
        let found: Vec<String> = run(&tree).into_iter().map(|f| f.path).collect();
        assert_eq!(found, ["docs/c.md"]);
    }
}
