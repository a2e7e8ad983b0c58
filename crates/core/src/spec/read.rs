//! Reads a specification from TOML, every key according to its entry in the table.

mod tables;
mod tree;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use tree::{Table, Text};

use super::{Key, KeyKind, Spec, Value};
use crate::text::InputError;
use crate::units::{Bytes, SectorCount};

/// Reads and validates a specification. `file` is its name in errors.
///
/// # Errors
/// See [`Document::read`].
pub fn parse(text: &str, file: &str) -> Result<Spec, InputError> {
    Document::read(text, file).map(|document| document.spec)
}

/// Reads the keys of a table into `spec`. Misspelt keys come first: their values would seem
/// to be missing.
fn keys(table: &Table<'_>, keys: &'static [Key], spec: &mut Spec) -> Result<(), InputError> {
    let names: Vec<&str> = keys.iter().map(Key::name).collect();
    table.only(&names)?;
    for key in keys {
        let value = table.value(key.name());
        match (value.is_absent(), key.same_as) {
            (true, Some(other)) => {
                let other = Key::find(other).and_then(|key| key.get(spec));
                key.set(spec, other.expect("a key that has a value"));
            }
            (true, None) if !key.required => {}
            _ => match key.kind {
                KeyKind::Table(inner) => self::keys(&value.table()?, inner, spec)?,
                _ => key.set(spec, read(&value, key.kind, spec)?),
            },
        }
    }
    Ok(())
}

/// Reads a value of a kind; `spec` has what was read before it.
fn read(value: &tree::Value<'_>, kind: KeyKind, spec: &Spec) -> Result<Value, InputError> {
    let sector = Bytes(u64::from(spec.geometry.sector_bytes));
    let sectors = |size: SectorCount| Value::Count(size.0);
    Ok(match kind {
        KeyKind::Text => Value::Text(tree::text(value)?),
        KeyKind::Flag => Value::Flag(tree::flag(value)?),
        KeyKind::Word(words) => Value::Word(tree::word(value, words)?),
        KeyKind::Count { min, max, .. } => Value::Count(tree::count(value, min..=max)?),
        KeyKind::Size { min: 0 } => sectors(tree::size(value, sector)?),
        KeyKind::Size { .. } => sectors(tree::some_size(value, sector)?),
        KeyKind::Distance => Value::Count(tree::distance(value)?.into()),
        KeyKind::Time { signed: false } => Value::Time(tree::time(value)?),
        KeyKind::Time { signed: true } => Value::Time(tree::signed_time(value)?),
        KeyKind::Fraction => Value::Number(tree::fraction(value)?),
        KeyKind::Rotation => Value::Number(tree::period_ns(value)?),
        KeyKind::Policy => Value::Policy(tree::policy(value)?),
        KeyKind::SeekCurve => Value::SeekCurve(tables::curve(&value.table()?)?),
        KeyKind::Zones => Value::Zones(tables::zones(value, spec.geometry.cylinders)?),
        KeyKind::Table(_) => unreachable!("tables are read key by key"),
    })
}

/// A specification that still knows its lines, so that errors found by a later stage (the
/// layout, or zones that do not add up to the capacity) are reported like errors of the parser.
pub struct Document<'a> {
    /// The specification as it was parsed.
    pub spec: Spec,
    text: Text<'a>,
    tree: DeTable<'a>,
}

impl<'a> Document<'a> {
    /// Reads and validates a specification. `file` is its name in errors.
    ///
    /// # Errors
    /// The first value that is not TOML, missing, unknown, out of range, or that contradicts
    /// another field.
    pub fn read(text: &'a str, file: &'a str) -> Result<Self, InputError> {
        let text = Text { file, text };
        let tree = match DeTable::parse(text.text) {
            Ok(tree) => tree.into_inner(),
            Err(error) => return Err(not_toml(text, &error)),
        };
        let root = Table::root(text, &tree);
        let mut spec = Spec::default();
        keys(&root, Spec::KEYS, &mut spec)?;
        if let Some((path, expected)) = spec.contradiction() {
            return Err(root.at(&path)?.error(expected));
        }
        Ok(Self { spec, text, tree })
    }

    /// Returns the error with the line of its field (such as `geometry.zones[3].spares`), or of the
    /// nearest enclosing one.
    pub fn locate(&self, error: InputError) -> InputError {
        let mut steps = error.field.split(['.', '[']);
        let mut node = steps.next().and_then(|key| self.tree.get(key));
        let mut offset = 0;
        while let Some(found) = node {
            offset = found.span().start;
            node = steps.next().and_then(|step| step_into(found, step));
        }
        self.text.at(offset, error)
    }
}

/// Returns one step down a path: a key of a table, or an index and the bracket after it.
fn step_into<'t, 'a>(
    node: &'t Spanned<DeValue<'a>>,
    step: &str,
) -> Option<&'t Spanned<DeValue<'a>>> {
    match node.get_ref() {
        DeValue::Table(table) => table.get(step),
        DeValue::Array(array) => array.get(step.strip_suffix(']')?.parse::<usize>().ok()?),
        _ => None,
    }
}

fn not_toml(text: Text<'_>, error: &toml::de::Error) -> InputError {
    let offset = error.span().map_or(0, |span| span.start);
    let expected = format!("TOML ({})", error.message().replace('\n', " "));
    let error = InputError::shown("syntax", text.line_at(offset), expected);
    text.at(offset, error)
}
