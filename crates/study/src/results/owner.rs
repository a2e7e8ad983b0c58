//! Whose results a folder has: studies are told apart by their titles, as their files may be edited
//! and moved.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::error::StudyError;
use crate::file::Study;

/// What matters here of `results.json`.
#[derive(Deserialize)]
struct Owner {
    title: String,
}

impl Study {
    /// Whether its results may be written into `folder`: nothing is there, or results of its own.
    ///
    /// # Errors
    /// When the results of another study are there, which would be lost.
    pub fn may_write(&self, folder: &Path) -> Result<(), StudyError> {
        let path = folder.join("results.json");
        // What is not there or no result of any study is in nobody's way; what cannot be read is
        // told when it is written.
        let text = fs::read_to_string(&path).unwrap_or_default();
        match serde_json::from_str::<Owner>(&text) {
            Ok(Owner { title }) if title != self.title => Err(StudyError::OtherStudy {
                path,
                found: title,
                title: self.title.clone(),
            }),
            _ => Ok(()),
        }
    }
}
