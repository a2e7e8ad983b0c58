//! `--drive`: a name of the catalogue, or a specification in a file.

use std::borrow::Cow;
use std::sync::Arc;

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{Document, Spec};
use diskarm_drives::CATALOGUE;

use crate::error::Error;

/// What `--drive` named.
pub struct Chosen {
    /// As typed.
    pub name: String,
    /// Its specification, as written.
    pub text: Cow<'static, str>,
    /// What the drive is.
    pub spec: Spec,
    /// Where its blocks lie.
    pub layout: Arc<Layout>,
}

/// The drive called `name` in the catalogue; with a name that ends in `.toml`, the one that this
/// file specifies. `flag` is what errors call the argument.
///
/// # Errors
/// An unknown name; a file that cannot be read; a specification that is wrong.
pub fn choose(flag: &'static str, name: &str) -> Result<Chosen, Error> {
    let text: Cow<'static, str> = if name.ends_with(".toml") {
        let text = std::fs::read_to_string(name).map_err(|source| Error::Io {
            doing: "read",
            path: name.to_owned(),
            source,
        })?;
        text.into()
    } else {
        let entry = diskarm_drives::find(name).ok_or_else(|| unknown(flag, name))?;
        entry.text.into()
    };
    let (spec, layout) = read(&text, name)?;
    Ok(Chosen {
        name: name.to_owned(),
        text,
        spec,
        layout: Arc::new(layout),
    })
}

/// The specification in `text` and its layout. `file` is the name that errors give.
///
/// # Errors
/// What is wrong with it.
pub fn read(text: &str, file: &str) -> Result<(Spec, Layout), Error> {
    let document = Document::read(text, file)?;
    match Layout::new(&document.spec.geometry) {
        Ok(layout) => Ok((document.spec, layout)),
        Err(e) => Err(document.error_at(&e.field, e.value, e.expected).into()),
    }
}

fn unknown(flag: &'static str, name: &str) -> Error {
    let nearest = diskarm_drives::nearest(name);
    let hint = if nearest.is_empty() {
        "`diskarm drives` lists them".to_owned()
    } else {
        format!("nearest: {}", nearest.join(", "))
    };
    let expected = format!("a drive of the catalogue ({hint}) or a .toml file");
    Error::flag(flag, name, expected)
}

/// For `--help`: what a drive can be, with all names.
pub fn long_help() -> String {
    let names: Vec<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
    format!(
        "Drive: a name of the catalogue, or a path that ends in .toml to a specification of \
         one's own.\n\nCatalogue: {}",
        names.join(", ")
    )
}
