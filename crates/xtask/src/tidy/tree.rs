//! The tracked files, with parsed Rust files.

use std::fs;
use std::io;
use std::process::Command;

use proc_macro2::TokenStream;

/// Tracked text files, sorted by path.
pub struct Tree {
    files: Vec<File>,
}

pub struct File {
    /// Relative to the root of the workspace, with `/` between its parts.
    pub path: String,
    pub text: String,
    /// `None` if the file is not Rust or does not parse; rustc reports parse errors.
    pub rust: Option<Rust>,
}

pub struct Rust {
    pub tokens: TokenStream,
    pub items: syn::File,
}

impl Tree {
    /// Reads all text files that git tracks, except deleted files, symbolic links and binary files.
    pub fn tracked() -> Result<Self, String> {
        let root = crate::root();
        let output = Command::new("git")
            .args(["ls-files", "-z"])
            .current_dir(&root)
            .output()
            .map_err(|error| format!("cannot run git: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        let names = String::from_utf8(output.stdout)
            .map_err(|_| "git lists a path that is not UTF-8".to_owned())?;
        let mut files = Vec::new();
        for path in names.split_terminator('\0') {
            let location = root.join(path);
            if !location.symlink_metadata().is_ok_and(|kind| kind.is_file()) {
                continue;
            }
            match fs::read_to_string(&location) {
                Ok(text) => files.push(File::new(path, text)),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
                Err(error) => return Err(format!("cannot read {path}: {error}")),
            }
        }
        Ok(Self { files })
    }

    /// Creates a tree of files with these paths and contents.
    #[cfg(test)]
    pub fn new(files: &[(&str, &str)]) -> Self {
        let mut files: Vec<File> = files
            .iter()
            .map(|&(path, text)| File::new(path, text.to_owned()))
            .collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files }
    }

    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    pub fn file(&self, path: &str) -> Option<&File> {
        self.files().find(|file| file.path == path)
    }

    /// Returns every Rust file that parses.
    pub fn rust(&self) -> impl Iterator<Item = (&File, &Rust)> {
        self.files.iter().filter_map(|file| {
            let rust = file.rust.as_ref()?;
            Some((file, rust))
        })
    }

    /// Returns the Rust files of the library `crates/core`, without its tests.
    pub fn core(&self) -> impl Iterator<Item = (&File, &Rust)> {
        self.rust()
            .filter(|(file, _)| file.path.starts_with("crates/core/src/"))
    }
}

impl File {
    fn new(path: &str, text: String) -> Self {
        let is_rust = path.ends_with(".rs");
        Self {
            path: path.to_owned(),
            rust: is_rust.then(|| Rust::parse(&text).ok()).flatten(),
            text,
        }
    }

    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Returns the part of the file's name after the last dot; empty if there is no dot.
    pub fn extension(&self) -> &str {
        let split = self.name().rsplit_once('.');
        split.map_or("", |(_, extension)| extension)
    }

    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }
}

impl Rust {
    fn parse(text: &str) -> syn::Result<Self> {
        Ok(Self {
            tokens: text.parse()?,
            items: syn::parse_file(text)?,
        })
    }
}

pub fn is_test_only(attributes: &[syn::Attribute]) -> bool {
    let mut conditions = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"))
        .filter_map(|attribute| attribute.parse_args::<syn::Path>().ok());
    conditions.any(|condition| condition.is_ident("test"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_dot_has_no_extension() {
        let tree = Tree::new(&[("a.b/Makefile", ""), ("a/x.rs", "")]);
        let extensions: Vec<&str> = tree.files().map(File::extension).collect();
        assert_eq!(extensions, ["", "rs"]);
    }

    #[test]
    fn this_file_is_tracked_and_parses() {
        let tree = Tree::tracked().expect("the tests run inside the work tree");
        let mut files = tree.rust().map(|(file, _)| file.path.as_str());
        assert!(files.any(|path| path == "crates/xtask/src/tidy/tree.rs"));
    }
}
