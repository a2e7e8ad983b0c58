//! The papers and what they conclude, as `papers.toml` lists them.

use std::sync::LazyLock;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// As in the sources of studies.
    pub name: String,
    /// Authors, title and year.
    pub title: String,
    /// The name of a page in `docs` that also shows the figures of its studies, in place of a page
    /// in `docs/papers`.
    pub illustrated: Option<String>,
    pub conclusions: Vec<Conclusion>,
}

impl Paper {
    /// Returns the path of its page, from `docs`, without the ending.
    pub fn page(&self) -> String {
        let own = self.illustrated.clone();
        own.unwrap_or_else(|| format!("papers/{}", self.name))
    }
}

/// A conclusion of a paper, and the claims that check it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conclusion {
    /// The conclusion, in a sentence.
    pub says: String,
    /// The section in which the paper draws it.
    pub place: String,
    /// Studies, each with words that are in the claims; all claims of the study if empty.
    pub claims: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct Papers {
    paper: Vec<Paper>,
}

/// All papers, in the order of the index.
pub static PAPERS: LazyLock<Vec<Paper>> = LazyLock::new(|| {
    let papers: Papers = toml::from_str(include_str!("papers.toml")).expect("papers.toml");
    papers.paper
});
