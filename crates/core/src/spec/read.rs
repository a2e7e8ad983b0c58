//! Reads a specification from TOML, every key according to its row in the table.

mod document;
mod field;
mod seek;
mod tree;
mod zones;

pub use document::Document;

use super::{Key, KeyKind, Spec, Value};
use crate::text::InputError;
use crate::units::{Bytes, SectorCount};
use tree::Table;

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
        KeyKind::Text => Value::Text(field::text(value)?),
        KeyKind::Flag => Value::Flag(field::flag(value)?),
        KeyKind::Word(words) => Value::Word(field::word(value, words)?),
        KeyKind::Count { min, max, .. } => Value::Count(field::count(value, min..=max)?),
        KeyKind::Size { min: 0 } => sectors(field::size(value, sector)?),
        KeyKind::Size { .. } => sectors(field::some_size(value, sector)?),
        KeyKind::Distance => Value::Count(field::distance(value)?.into()),
        KeyKind::Time { signed: false } => Value::Time(field::time(value)?),
        KeyKind::Time { signed: true } => Value::Time(field::signed_time(value)?),
        KeyKind::Fraction => Value::Number(field::fraction(value)?),
        KeyKind::Rotation => Value::Number(field::period_ns(value)?),
        KeyKind::Policy => Value::Policy(field::policy(value)?),
        KeyKind::SeekCurve => Value::SeekCurve(seek::curve(&value.table()?)?),
        KeyKind::Zones => Value::Zones(zones::zones(value, spec.geometry.cylinders)?),
        KeyKind::Table(_) => unreachable!("tables are read key by key"),
    })
}
