//! Headings and links of Markdown.

/// A link and its line.
#[derive(Debug, PartialEq, Eq)]
pub struct Link<'a> {
    pub line: usize,
    /// Its text: a path, `#` and a heading, or both.
    pub target: &'a str,
}

/// Links and pictures, without those to other hosts.
pub fn links(text: &str) -> Vec<Link<'_>> {
    let mut found = Vec::new();
    for (line, words) in prose(text) {
        let mut from = 0;
        while let Some(open) = words[from..].find("](").map(|at| from + at) {
            let start = open + "](".len();
            let Some(length) = words[start..].find(')') else {
                break;
            };
            let target = &words[start..start + length];
            let is_code = words[..open].matches('`').count() % 2 == 1;
            let is_elsewhere = target.contains("://") || target.starts_with("mailto:");
            if !is_code && !is_elsewhere {
                found.push(Link { line, target });
            }
            from = start + length;
        }
    }
    found
}

/// The anchors of the headings of a page, as on GitHub and in mdBook.
pub fn anchors(text: &str) -> Vec<String> {
    let mut titles: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        let depth = line.len() - title.len();
        if !(1..=6).contains(&depth) || !title.starts_with(' ') {
            continue;
        }
        let name = anchor(title.trim());
        found.push(
            match titles.iter().filter(|other| **other == name).count() {
                0 => name.clone(),
                again => format!("{name}-{again}"),
            },
        );
        titles.push(name);
    }
    found
}

fn anchor(title: &str) -> String {
    let letters = title.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ if letter.is_alphanumeric() => Some(letter),
        _ => None,
    });
    letters.flat_map(char::to_lowercase).collect()
}

/// The lines outside fenced blocks, numbered from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_in_code_are_ignored() {
        let text =
            "[a](b.md#c) `[d](e)` ![f](g.svg)\n```text\n[h](i)\n```\n[j](https://k) [l](#m)\n";
        let targets: Vec<(usize, &str)> = links(text)
            .iter()
            .map(|link| (link.line, link.target))
            .collect();
        assert_eq!(targets, [(1, "b.md#c"), (1, "g.svg"), (5, "#m")]);
    }

    #[test]
    fn anchors_of_headings() {
        let text = "# Ten lines of Rust\n## `[buffer]`\n## From a trace, to a model\n\
                    ```sh\n# no heading\n```\n#none\n## Two\n## Two\n## Two\n";
        let expected = [
            "ten-lines-of-rust",
            "buffer",
            "from-a-trace-to-a-model",
            "two",
            "two-1",
            "two-2",
        ];
        assert_eq!(anchors(text), expected);
    }
}
