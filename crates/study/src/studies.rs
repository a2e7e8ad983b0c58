//! The studies that come with the program: one file each in `studies/`, one line each here.

/// A study that comes with the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is asked for by.
    pub name: &'static str,
    /// Its file.
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

/// All of them, in alphabetic order.
pub static STUDIES: &[Entry] = &[entry!("worthington94-fig3")];

/// The study of this name, if there is one.
pub fn find(name: &str) -> Option<&'static Entry> {
    STUDIES.iter().find(|entry| entry.name == name)
}

/// The name that a mistyped one may mean.
pub fn nearest(name: &str) -> Option<&'static str> {
    let known: Vec<&'static str> = STUDIES.iter().map(|entry| entry.name).collect();
    diskarm_core::text::nearest(name, &known)
}

impl Entry {
    /// Whether it runs on traces that are named when it is run.
    pub fn takes_traces(&self) -> bool {
        self.text.contains("\"--trace\"")
    }
}
