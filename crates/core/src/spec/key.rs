//! The table of all keys of a specification, one entry per key.
//!
//! An entry is the declaration of its field ([`section!`]): documentation, which the manual prints,
//! type, default, and the [`Key`]. The reader, the writer, the data sheet, the calibration, the
//! manual and the random drives in tests iterate over these entries, so a new key needs one entry
//! and the code that acts on it.

use super::{Spec, Value};
use crate::units::Span;

/// One key of a specification.
///
/// ```
/// use diskarm_core::spec::{Key, Spec, Value};
///
/// let mut spec = Spec::default();
/// let key = Key::find("buffer.read_ahead").expect("a key");
/// key.set(&mut spec, Value::Word("until-full"));
/// assert_eq!(key.toml(&key.get(&spec).expect("a value")), "\"until-full\"");
/// ```
#[derive(Debug)]
pub struct Key {
    /// Its path, with names joined by dots: `overheads.read_completion`.
    pub path: &'static str,
    /// The kind of its value.
    pub kind: KeyKind,
    /// True if it is required when its table is present.
    pub required: bool,
    /// The key whose value it takes by default, if it has no default of its own.
    pub same_as: Option<&'static str>,
    /// Its meaning, as documentation; the first paragraph goes into the manual.
    pub documentation: &'static str,
    /// Its origin: a table of a paper, or `own`.
    pub origin: &'static str,
    /// The role of the key in a calibration.
    pub vary: Variation,
    /// A calibration varies and writes keys in the order of their ranks, and keys of equal rank in
    /// the order of the table. Numbers have ranks from 0, flags from 20, others from 30.
    pub rank: u8,
    /// Its presentation on a data sheet.
    pub shown: SheetEntry,
    pub(super) get: fn(&Spec) -> Option<Value>,
    pub(super) set: fn(&mut Spec, Value),
}

/// The kind of a key's value.
#[derive(Clone, Copy, Debug)]
pub enum KeyKind {
    /// Text that is not empty.
    Text,
    /// A boolean: `true` or `false`.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A bare number of what `unit` names, within bounds.
    Count {
        /// The counted thing; empty for a plain number.
        unit: &'static str,
        /// Minimum that the key accepts.
        min: u64,
        /// Maximum that the key accepts.
        max: u64,
    },
    /// A size of at least `min` sectors: `"57 sectors"`.
    Size {
        /// Minimum size in sectors.
        min: u64,
    },
    /// A distance of at least one cylinder: `"300 cylinders"`.
    Distance,
    /// A time: `"0.89 ms"`.
    Time {
        /// True if it may be negative.
        signed: bool,
    },
    /// A fraction from 0 to 1: `"75 %"`.
    Fraction,
    /// A speed, or the time of a revolution: `"5400 rpm"`, `"11.115 ms"`.
    Rotation,
    /// A scheduling policy with its parameters: `"clook(by=map)"`.
    Policy,
    /// A table of one of the forms of [`SeekCurve`](super::SeekCurve).
    SeekCurve,
    /// A list of tables, one per [`Zone`](super::Zone).
    Zones,
    /// A table of further keys.
    Table(&'static [Key]),
}

/// The role of a key in a calibration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Variation {
    /// It keeps the given value.
    Fixed,
    /// It varies as a number.
    Number {
        /// Prior standard deviation around the given value, in milliseconds.
        prior_ms: f64,
    },
    /// As a behaviour that can change alone.
    Switch,
    /// Together with other keys.
    Jointly,
}

/// The presentation of a key on a data sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SheetEntry {
    /// Under its own name, with its unit.
    Plain,
    /// Under this name instead of its own.
    As(&'static str),
    /// In parentheses after the previous key.
    Argument,
    /// Not in its section.
    Hidden,
}

impl Key {
    pub(super) const fn new(kind: KeyKind) -> Self {
        Self {
            path: "",
            kind,
            required: false,
            same_as: None,
            documentation: "",
            origin: "own",
            vary: Variation::Fixed,
            rank: u8::MAX,
            shown: SheetEntry::Plain,
            get: |_| None,
            set: |_, _| {},
        }
    }

    pub(super) const fn required(self) -> Self {
        Self {
            required: true,
            ..self
        }
    }

    pub(super) const fn same_as(self, path: &'static str) -> Self {
        Self {
            same_as: Some(path),
            ..self
        }
    }

    pub(super) const fn cited(self, origin: &'static str) -> Self {
        Self { origin, ..self }
    }

    pub(super) const fn varied(self, rank: u8, vary: Variation) -> Self {
        Self { vary, rank, ..self }
    }

    pub(super) const fn fitted(self, rank: u8, prior_ms: f64) -> Self {
        self.varied(rank, Variation::Number { prior_ms })
    }

    pub(super) const fn switched(self, rank: u8) -> Self {
        self.varied(rank, Variation::Switch)
    }

    pub(super) const fn shown(self, shown: SheetEntry) -> Self {
        Self { shown, ..self }
    }

    /// Returns the key at `path`.
    pub fn find(path: &str) -> Option<&'static Self> {
        Self::all().into_iter().find(|key| key.path == path)
    }

    /// Returns all keys except tables, in the order of the table.
    pub fn all() -> Vec<&'static Self> {
        fn collect(keys: &'static [Key], all: &mut Vec<&'static Key>) {
            for key in keys {
                match key.kind {
                    KeyKind::Table(inner) => collect(inner, all),
                    _ => all.push(key),
                }
            }
        }
        let mut all = Vec::new();
        collect(Spec::KEYS, &mut all);
        all
    }

    /// Returns its name in its own table.
    pub fn name(&self) -> &'static str {
        self.path
            .rsplit_once('.')
            .map_or(self.path, |(_, name)| name)
    }

    /// Returns its value in `spec`; `None` where `spec` lacks it.
    pub fn get(&self, spec: &Spec) -> Option<Value> {
        (self.get)(spec)
    }

    /// Sets its value. An optional table that is absent is created, with zeros.
    ///
    /// # Panics
    /// If `value` is of another kind, or a number too large for the field.
    pub fn set(&self, spec: &mut Spec, value: Value) {
        (self.set)(spec, value);
    }

    /// `value` as TOML.
    ///
    /// # Panics
    /// If `value` is of another kind, or of one that the caller must format: a text, a curve,
    /// zones.
    pub fn toml(&self, value: &Value) -> String {
        match (self.kind, value) {
            (_, Value::Flag(flag)) => flag.to_string(),
            (_, Value::Word(word)) => format!("{word:?}"),
            (_, Value::Policy(policy)) => format!("\"{policy}\""),
            (KeyKind::Size { .. }, Value::Count(1)) => "\"1 sector\"".to_owned(),
            (KeyKind::Size { .. }, Value::Count(sectors)) => format!("\"{sectors} sectors\""),
            (KeyKind::Distance, Value::Count(cylinders)) => format!("\"{cylinders} cylinders\""),
            (_, Value::Count(count)) => count.to_string(),
            (_, Value::Time(time)) => format!("\"{} ms\"", milliseconds(*time)),
            // Not in milliseconds: decimals, read back, can be another number.
            (KeyKind::Rotation, Value::Number(ns)) => format!("\"{ns} ns\""),
            (KeyKind::Fraction, Value::Number(part)) => {
                format!("\"{} %\"", (part * 1e6).round() / 1e4)
            }
            _ => panic!("{}: {value:?} is not written here", self.path),
        }
    }
}

/// Entries begin with one of these.
pub(super) const TEXT: Key = Key::new(KeyKind::Text);
pub(super) const FLAG: Key = Key::new(KeyKind::Flag);
pub(super) const TIME: Key = Key::new(KeyKind::Time { signed: false });
pub(super) const SIGNED_TIME: Key = Key::new(KeyKind::Time { signed: true });
pub(super) const FRACTION: Key = Key::new(KeyKind::Fraction);

pub(super) const fn word(words: &'static [&'static str]) -> Key {
    Key::new(KeyKind::Word(words))
}

/// Returns a count of what `unit` names.
pub(super) const fn count(unit: &'static str, min: u64, max: u64) -> Key {
    Key::new(KeyKind::Count { unit, min, max })
}

/// Returns a size of at least `min` sectors.
pub(super) const fn size(min: u64) -> Key {
    Key::new(KeyKind::Size { min })
}

/// Returns a table of further keys.
pub(super) const fn table(keys: &'static [Key]) -> Key {
    Key::new(KeyKind::Table(keys))
}

/// Sources that keys cite.
pub(super) const DISKSIM: &str = "DiskSim 4.0";
pub(super) const A1: &str = "worthington94 table A.1";
pub(super) const A4: &str = "worthington94 table A.4";
pub(super) const A5: &str = "worthington94 table A.5";
pub(super) const CACHES: &str = "worthington96 tables 7, 11, 16, 21";

/// Milliseconds in plain decimals, to the nanosecond and without trailing zeros. In integers: a
/// fraction of a second has no exact binary form.
pub fn milliseconds(time: Span) -> String {
    let ns = time.as_ns();
    let sign = if ns < 0 { "-" } else { "" };
    let (whole, rest) = (ns.unsigned_abs() / 1_000_000, ns.unsigned_abs() % 1_000_000);
    let decimal = format!("{sign}{whole}.{rest:06}");
    let shortest = decimal.trim_end_matches('0').trim_end_matches('.');
    shortest.to_owned()
}
