//! The studies that come with the program, from the files that the build script finds in
//! `studies/`.

use diskarm_core::text::InputError;

use crate::file::{Study, StudyOptions};

/// A study that comes with the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name on the command line.
    pub name: &'static str,
    /// The text of its file.
    pub text: &'static str,
}

/// All studies, in alphabetical order.
pub static STUDIES: &[Entry] = include!(concat!(env!("OUT_DIR"), "/studies.rs"));

/// Finds the study with this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    STUDIES.iter().find(|entry| entry.name == name)
}

/// Returns the name of a study that is closest to a misspelt one.
pub fn nearest(name: &str) -> Option<&'static str> {
    let known: Vec<&'static str> = STUDIES.iter().map(|entry| entry.name).collect();
    diskarm_core::text::nearest(name, &known)
}

impl Entry {
    /// Reads the study. Fails if the short form is requested but does not exist, or if traces are
    /// needed but none are given.
    pub fn read(&self, options: StudyOptions) -> Result<Study, InputError> {
        let file = format!("{}.toml", self.name);
        Study::read(self.name, self.text, &file, options)
    }

    /// Returns true if it runs on traces given on the command line.
    pub fn takes_traces(&self) -> bool {
        self.text.contains("\"--trace\"")
    }

    /// Returns true if it repeats an experiment from a paper. Other studies name a page of `docs/`.
    pub fn is_of_paper(&self) -> bool {
        !self.text.contains("\nsource = \"docs/")
    }

    /// Returns true if it has a short form.
    pub fn has_short_form(&self) -> bool {
        self.text.contains("\n[quick")
    }
}
