//! Whose results a folder has: studies are told apart by their titles, as their files may be edited
//! and moved.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::file::Study;

/// What matters here of `results.json`.
#[derive(Deserialize)]
struct Owner {
    title: String,
}

impl Study {
    /// The title of another study whose results `folder` holds, if it does. Writing there replaces
    /// them; its runs stay, so that it writes them again without simulating.
    pub fn replaces(&self, folder: &Path) -> Option<String> {
        // What cannot be read is told when it is written.
        let text = fs::read_to_string(folder.join("results.json")).ok()?;
        let owner: Owner = serde_json::from_str(&text).ok()?;
        (owner.title != self.title).then_some(owner.title)
    }
}
