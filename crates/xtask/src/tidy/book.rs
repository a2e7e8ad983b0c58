//! Broken links in documents, and pages missing from the table of contents of the book.

use super::markdown::{anchors, links};
use super::tree::{File, Tree};
use super::{Check, Finding};

pub const CHECK: Check = Check {
    name: "book",
    summary: "links in Markdown lead to files and headings; the contents list every page",
    run,
};

/// The folder of the book; links may not leave it.
const BOOK: &str = "docs/";

const CONTENTS: &str = "docs/SUMMARY.md";

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().filter(|file| file.extension() == "md") {
        for link in links(&file.text) {
            if let Some(message) = wrong(tree, file, link.target) {
                findings.push(Finding::new(&file.path, link.line, message));
            }
        }
    }
    findings.extend(unlisted(tree));
    findings
}

/// Pages that the table of contents does not list.
fn unlisted(tree: &Tree) -> impl Iterator<Item = Finding> {
    let contents = tree.files().find(|file| file.path == CONTENTS);
    let listed = contents
        .map(|contents| links(&contents.text))
        .unwrap_or_default();
    let is_listed = move |path: &str| listed.iter().any(|link| link.target == path);
    let pages = tree
        .files()
        .filter(|file| file.extension() == "md" && file.path != CONTENTS);
    let pages = pages.filter_map(|page| Some((page, page.path.strip_prefix(BOOK)?)));
    let missing = pages.filter(move |(_, path)| contents.is_some() && !is_listed(path));
    missing.map(|(page, _)| Finding::new(&page.path, 1, format!("{CONTENTS} does not list it")))
}

/// The problem of a link from `file` to `target`.
fn wrong(tree: &Tree, file: &File, target: &str) -> Option<String> {
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = match path {
        "" => Some(file.path.clone()),
        path => resolved(&file.path, path),
    };
    let Some(path) = path else {
        return Some(format!("`{target}` leads out of the tree"));
    };
    if file.path.starts_with(BOOK) && !path.starts_with(BOOK) {
        return Some(format!(
            "`{target}` leads out of the book, where it does not work"
        ));
    }
    let Some(found) = tree.files().find(|other| other.path == path) else {
        let folder = format!("{path}/");
        let is_folder = tree.files().any(|other| other.path.starts_with(&folder));
        return (!is_folder).then(|| format!("there is no {path}"));
    };
    let has_heading = heading.is_empty() || anchors(&found.text).iter().any(|a| a == heading);
    (!has_heading).then(|| format!("{path} has no heading `#{heading}`"))
}

/// `target` relative to the folder of `from`; `None` if that is above the root.
fn resolved(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: (&str, &str) = ("docs/a/page.md", "# A heading\n");

    #[test]
    fn broken_links_are_found() {
        for (target, message) in [
            ("gone.md", "there is no docs/gone.md"),
            ("a/page.md#heading", "no heading `#heading`"),
            ("#none", "no heading `#none`"),
            ("../README.md", "out of the book"),
            ("../../x", "out of the tree"),
        ] {
            let text = format!("[x]({target})\n");
            let tree = Tree::of(&[PAGE, ("docs/b.md", &text), ("README.md", "")]);
            let found = run(&tree);
            assert!(found[0].message.contains(message), "{found:?}");
        }
    }

    #[test]
    fn pages_missing_from_the_contents_are_found() {
        let contents = "- [A](a/page.md)\n";
        let tree = [
            PAGE,
            (CONTENTS, contents),
            ("docs/c.md", ""),
            ("docs/c.svg", ""),
        ];
        let found: Vec<String> = run(&Tree::of(&tree)).into_iter().map(|f| f.path).collect();
        assert_eq!(found, ["docs/c.md"]);
    }

    #[test]
    fn links_to_files_and_headings_are_fine() {
        let text = "[x](a/page.md#a-heading) [y](a/) [z](#own)\n# Own\n[u](https://x.org/gone)\n";
        let readme = "[a](docs/b.md#own) [b](LICENSE)\n";
        let tree = Tree::of(&[
            PAGE,
            ("docs/b.md", text),
            ("README.md", readme),
            ("LICENSE", ""),
        ]);
        assert_eq!(run(&tree), []);
    }
}
