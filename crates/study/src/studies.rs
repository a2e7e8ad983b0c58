//! The studies that come with the program: one file in `studies/` and one line here for each.

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

/// The entry of `studies/<name>.toml`.
macro_rules! entry {
    ($name:literal) => {
        Entry {
            name: $name,
            text: include_str!(concat!("../studies/", $name, ".toml")),
        }
    };
}

/// All studies, in alphabetical order.
pub static STUDIES: &[Entry] = &[
    entry!("aspctf-seq"),
    entry!("aspctf-seq-traces"),
    entry!("jacobson91-clumps"),
    entry!("jacobson91-fig10"),
    entry!("jacobson91-fig11"),
    entry!("jacobson91-fig12"),
    entry!("jacobson91-fig3"),
    entry!("jacobson91-reach"),
    entry!("jacobson91-windows"),
    entry!("liu05-ad-cp"),
    entry!("liu05-adu"),
    entry!("liu05-bursts"),
    entry!("liu05-cp"),
    entry!("liu05-fig5.1"),
    entry!("liu05-fig5.2"),
    entry!("liu05-fig5.4"),
    entry!("liu05-fig5.5"),
    entry!("liu05-fig5.6"),
    entry!("liu05-fig5.7"),
    entry!("liu05-fig6.1"),
    entry!("liu05-fig6.2"),
    entry!("liu05-fig6.3"),
    entry!("liu05-fig6.4"),
    entry!("liu05-fig6.5"),
    entry!("liu05-fig7.3"),
    entry!("liu05-fig7.3b"),
    entry!("liu05-fig7.5"),
    entry!("liu05-fig7.6"),
    entry!("liu05-fig7.7"),
    entry!("liu05-fig8.7"),
    entry!("liu05-figC.1"),
    entry!("liu05-lightning"),
    entry!("liu05-methods"),
    entry!("liu05-table4.1"),
    entry!("liu05-table6.3"),
    entry!("liu05-table9.1"),
    entry!("liu05-tableC.1"),
    entry!("liu05-traces"),
    entry!("lumb01-array"),
    entry!("lumb01-conservatism"),
    entry!("lumb01-database"),
    entry!("lumb01-depth"),
    entry!("lumb01-destage"),
    entry!("lumb01-errors"),
    entry!("lumb01-feedback"),
    entry!("lumb01-limits"),
    entry!("lumb01-modern"),
    entry!("lumb01-predictions"),
    entry!("lumb01-rebuild"),
    entry!("lumb01-rebuild-beside"),
    entry!("lumb01-scan"),
    entry!("lumb01-scatter"),
    entry!("lumb01-size"),
    entry!("rebuild"),
    entry!("worthington94-bursts"),
    entry!("worthington94-fig3"),
    entry!("worthington94-fig4"),
    entry!("worthington94-fig5"),
    entry!("worthington94-reallocated"),
    entry!("worthington94-table3b"),
    entry!("worthington94-traces-full"),
    entry!("worthington94-traces-lbn"),
    entry!("worthington94-traces-map"),
];

/// The study of this name, if any.
pub fn find(name: &str) -> Option<&'static Entry> {
    STUDIES.iter().find(|entry| entry.name == name)
}

/// The known name nearest to a misspelt one.
pub fn nearest(name: &str) -> Option<&'static str> {
    let known: Vec<&'static str> = STUDIES.iter().map(|entry| entry.name).collect();
    diskarm_core::text::nearest(name, &known)
}

impl Entry {
    /// Reads it; errors name the file in `studies/`.
    ///
    /// # Errors
    /// If the options do not fit it: a missing short form or missing traces.
    pub fn read(&self, options: StudyOptions) -> Result<Study, InputError> {
        let file = format!("{}.toml", self.name);
        Study::read(self.name, self.text, &file, options)
    }

    /// Returns true if it runs on traces given on the command line.
    pub fn takes_traces(&self) -> bool {
        self.text.contains("\"--trace\"")
    }

    /// Returns true if it repeats an experiment of a paper; those of the project itself name a page
    /// of the documentation as their source.
    pub fn is_of_paper(&self) -> bool {
        !self.text.contains("\nsource = \"docs/")
    }

    /// Returns true if it has a short form.
    pub fn has_short_form(&self) -> bool {
        self.text.contains("\n[quick")
    }
}
