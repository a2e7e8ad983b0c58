//! Edits the text of specifications: sets values and keeps everything else (comments, order,
//! spaces). Also writes complete texts ([`specification`]), even from a data sheet ([`Datasheet`]).
//!
//! Values are not checked here: `diskarm_core::spec::parse` reads the result and reports errors.

mod datasheet;
mod write;

pub use datasheet::{Datasheet, Sectors, parse_rate_per_s, parse_size};
pub use write::specification;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use diskarm_core::spec::{self, Key, SeekCurve};
use diskarm_core::text::{InputError, line_of};
use diskarm_core::units::Span;
use toml_edit::{DocumentMut, Item, Table, TableLike, TomlError};

/// A key and its new value.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// The keys of `diskarm_core::spec` joined by dots, such as `overheads.read_completion`.
    pub key: Cow<'static, str>,
    /// The value to which the key is set.
    pub value: Value,
}

impl fmt::Display for Edit {
    /// Formats the edit as a line of TOML with a dotted key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = write::to_toml(&self.key, &self.value, false);
        write!(f, "{} = {value}", self.key)
    }
}

impl Edit {
    /// Parses `key=value` from a command line. A value that is not TOML, such as `8.5 ms`, is text.
    ///
    /// # Errors
    /// If there is no key or no value. The error is reported for `field`.
    pub fn parse(text: &str, field: &str) -> Result<Self, InputError> {
        let (key, value) = text.split_once('=').unwrap_or_default();
        let (key, value) = (key.trim(), value.trim());
        let is_key = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if key.is_empty() || value.is_empty() || !key.chars().all(is_key) {
            let expected = "key=value, such as \"queue.depth=1\"";
            return Err(InputError::new(field, text, expected));
        }
        Ok(Self {
            key: key.to_owned().into(),
            value: match value.parse::<toml_edit::Value>() {
                Ok(_) => Value::Toml(value.to_owned()),
                Err(_) => Value::Text(value.to_owned()),
            },
        })
    }

    /// Sets `key` to `value`.
    ///
    /// # Panics
    /// If `value` is not of the kind of `key`, or is a zone or a seek curve given by a formula.
    pub fn of(key: &'static Key, value: spec::Value) -> Self {
        Self {
            key: key.path.into(),
            value: match value {
                spec::Value::SeekCurve(SeekCurve::Table(points)) => Value::SeekTable(points),
                spec::Value::Text(text) => Value::Text(text),
                value => Value::Toml(key.toml(&value)),
            },
        }
    }
}

/// A new value of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Replaces a seek curve by these pairs of distance in cylinders and time.
    SeekTable(Vec<(u32, Span)>),
    /// Text of one or more lines. In a multi-line string, or if a single line is too long, lines of
    /// 100 columns or more are broken at spaces.
    Text(String),
    /// Any TOML value as text.
    Toml(String),
}

/// Returns the text `base` with each value set, in the given order.
///
/// Comments above or after values are kept; a new key is added at the end of its table, and a new
/// table at the end of its parent. All lines end like the first one, including the last line.
///
/// # Errors
/// If `base` or a [`Value::Toml`] is not TOML, or if `base` has a value where an edit needs a table
/// or vice versa.
pub fn rewrite(base: &str, edits: &[Edit]) -> Result<String, InputError> {
    let mut document: DocumentMut = base.parse().map_err(|error| syntax_error(base, &error))?;
    for edit in edits {
        apply(document.as_table_mut(), edit)?;
    }
    // `toml_edit` ends every line with a line feed alone.
    let unix = document.to_string().replace("\r\n", "\n");
    let first = base.lines().next().unwrap_or_default();
    if base[first.len()..].starts_with('\r') {
        return Ok(unix.replace('\n', "\r\n"));
    }
    Ok(unix)
}

/// Returns the comments above the values of a specification, each joined to one line, by key.
///
/// # Errors
/// If `text` is not TOML.
pub fn remarks(text: &str) -> Result<BTreeMap<&'static str, String>, InputError> {
    let document: DocumentMut = text.parse().map_err(|error| syntax_error(text, &error))?;
    let remark = |key: &&'static Key| {
        let (tables, name) = key.path.rsplit_once('.').unwrap_or(("", key.path));
        let mut table: &dyn TableLike = document.as_table();
        for part in tables.split('.').filter(|part| !part.is_empty()) {
            table = table.get(part)?.as_table_like()?;
        }
        let (found, _) = table.get_key_value(name)?;
        let above = found.leaf_decor().prefix()?.as_str()?;
        let text = |line: &str| Some(line.trim().strip_prefix('#')?.trim().to_owned());
        let remark = above.lines().filter_map(text).collect::<Vec<_>>().join(" ");
        (!remark.is_empty()).then_some((key.path, remark))
    };
    Ok(Key::all().iter().filter_map(remark).collect())
}

fn syntax_error(base: &str, error: &TomlError) -> InputError {
    let offset = error.span().map_or(0, |span| span.start);
    let message = error.message().replace('\n', " ");
    InputError::message(format!("not TOML: {message}")).at_line(line_of(base, offset))
}

fn apply(root: &mut Table, edit: &Edit) -> Result<(), InputError> {
    let full_key: &str = &edit.key;
    let misplaced = || {
        let found = "a table in place of a value or the reverse";
        InputError::shown(full_key, found, "a key that can be set")
    };
    let (path, key) = match &edit.value {
        Value::SeekTable(_) => (full_key, "cylinders_ms"),
        _ => full_key.rsplit_once('.').unwrap_or(("", full_key)),
    };
    let table = table_at(root, path).ok_or_else(misplaced)?;
    if let Value::SeekTable(_) = edit.value {
        let keys: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
        for other in keys.iter().filter(|k| !["form", key].contains(&k.as_str())) {
            table.remove(other);
        }
        set(table, "form", &Value::Text("table".to_owned()))?.ok_or_else(misplaced)?;
    }
    let set = set(table, key, &edit.value).map_err(|error| InputError {
        field: full_key.to_owned(),
        ..error
    });
    set?.ok_or_else(misplaced)
}

/// Returns the table at a dotted path, created if absent; `None` if a value is on the path.
fn table_at<'t>(root: &'t mut Table, path: &str) -> Option<&'t mut dyn TableLike> {
    let mut table: &mut dyn TableLike = root;
    for step in path.split('.').filter(|step| !step.is_empty()) {
        // An implicit table gets a heading only if a value is added to it.
        let empty = || {
            let mut empty = Table::new();
            empty.set_implicit(true);
            Item::Table(empty)
        };
        let entry = table.entry(step).or_insert_with(empty);
        table = entry.as_table_like_mut()?;
    }
    Some(table)
}

/// Sets a value and keeps the spaces and comments of the old one. Returns `None` if `key` is a
/// table. Fails if the value is not TOML.
fn set(table: &mut dyn TableLike, key: &str, value: &Value) -> Result<Option<()>, InputError> {
    let Some(item) = table.get_mut(key) else {
        table.insert(key, Item::Value(write::value(key, value, false)?));
        return Ok(Some(()));
    };
    let Some(old) = item.as_value_mut() else {
        return Ok(None);
    };
    let text = old.to_string();
    let old_text = text.trim_start();
    let is_multi_line = old_text.starts_with("\"\"\"") || old_text.starts_with("'''");
    let mut new = write::value(key, value, is_multi_line)?;
    *new.decor_mut() = old.decor().clone();
    *old = new;
    Ok(Some(()))
}
