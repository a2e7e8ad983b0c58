//! The table of all keys of a specification, one entry per key.
//!
//! An entry is the declaration of a field ([`section!`]): its documentation, which the manual
//! prints, its type, its default and its [`Key`]. The reader, the writer, the data sheet, the
//! calibration, the manual and the random drives in tests iterate over these entries, so a new key
//! needs one entry and the code that acts on it.

use super::{SeekCurve, Spec, Zone};
use crate::sched::PolicyConfig;
use crate::units::{SectorCount, Span};

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
    /// The key whose value it takes by default, if it has no default itself.
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
    /// A bare number within bounds, in the unit `unit`.
    Count {
        /// The name of the counted items; empty for a plain number.
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
    /// It varies as a switch, independently of other keys.
    Switch,
    /// It varies together with other keys.
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
    /// Not shown in its section.
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

    pub(super) const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    pub(super) const fn same_as(mut self, path: &'static str) -> Self {
        self.same_as = Some(path);
        self
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

    /// Returns the name of the key within its table.
    pub fn name(&self) -> &'static str {
        let split = self.path.rsplit_once('.');
        split.map_or(self.path, |(_, name)| name)
    }

    /// Returns its value in `spec`; `None` if `spec` lacks it.
    pub fn get(&self, spec: &Spec) -> Option<Value> {
        (self.get)(spec)
    }

    /// Sets its value. Creates an optional table that is absent, filled with zeros.
    ///
    /// # Panics
    /// If `value` is of another kind, or a number too large for the field.
    pub fn set(&self, spec: &mut Spec, value: Value) {
        (self.set)(spec, value);
    }

    /// Returns `value` as TOML.
    ///
    /// # Panics
    /// If `value` is of another kind, or of one that the caller formats: text, a curve or zones.
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
            // Not in milliseconds: the decimals could be read back as a different number.
            (KeyKind::Rotation, Value::Number(ns)) => format!("\"{ns} ns\""),
            (KeyKind::Fraction, Value::Number(part)) => {
                format!("\"{} %\"", (part * 1e6).round() / 1e4)
            }
            _ => panic!("{}: this function does not format {value:?}", self.path),
        }
    }
}

/// The basic keys, from which entries are built.
pub(super) const TEXT: Key = Key::new(KeyKind::Text);
pub(super) const FLAG: Key = Key::new(KeyKind::Flag);
pub(super) const TIME: Key = Key::new(KeyKind::Time { signed: false });
pub(super) const SIGNED_TIME: Key = Key::new(KeyKind::Time { signed: true });
pub(super) const FRACTION: Key = Key::new(KeyKind::Fraction);

pub(super) const fn word(words: &'static [&'static str]) -> Key {
    Key::new(KeyKind::Word(words))
}

pub(super) const fn count(unit: &'static str, min: u64, max: u64) -> Key {
    Key::new(KeyKind::Count { unit, min, max })
}

pub(super) const fn size(min: u64) -> Key {
    Key::new(KeyKind::Size { min })
}

pub(super) const fn table(keys: &'static [Key]) -> Key {
    Key::new(KeyKind::Table(keys))
}

pub(super) const DISKSIM: &str = "DiskSim 4.0";
pub(super) const A1: &str = "worthington94 table A.1";
pub(super) const A4: &str = "worthington94 table A.4";
pub(super) const A5: &str = "worthington94 table A.5";
pub(super) const CACHES: &str = "worthington96 tables 7, 11, 16, 21";

/// Returns milliseconds in plain decimals, to the nanosecond, without trailing zeros. Computed in
/// integers, because decimal fractions have no exact binary form.
pub fn milliseconds(time: Span) -> String {
    let ns = time.as_ns();
    let sign = if ns < 0 { "-" } else { "" };
    let (whole, fraction) = (ns.unsigned_abs() / 1_000_000, ns.unsigned_abs() % 1_000_000);
    let decimal = format!("{sign}{whole}.{fraction:06}");
    (decimal.trim_end_matches('0').trim_end_matches('.')).to_owned()
}

/// The value of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The value of a [`KeyKind::Text`].
    Text(String),
    /// The value of a [`KeyKind::Flag`].
    Flag(bool),
    /// The value of a [`KeyKind::Word`].
    Word(&'static str),
    /// The value of a [`KeyKind::Count`], [`KeyKind::Size`] or [`KeyKind::Distance`].
    Count(u64),
    /// The value of a [`KeyKind::Time`].
    Time(Span),
    /// The value of a [`KeyKind::Fraction`], or of a [`KeyKind::Rotation`] in nanoseconds.
    Number(f64),
    /// The value of a [`KeyKind::Policy`].
    Policy(PolicyConfig),
    /// The value of a [`KeyKind::SeekCurve`].
    SeekCurve(SeekCurve),
    /// The value of a [`KeyKind::Zones`].
    Zones(Vec<Zone>),
}

/// A field of a specification.
pub(super) trait Field {
    /// Returns its value; `None` if it is unset.
    fn value(&self) -> Option<Value>;

    /// Sets the value. Panics if `value` is of another kind or too large.
    fn assign(&mut self, value: Value);
}

/// Implements [`Field`] for each type: the kind of its value, and the conversions to and from it.
macro_rules! fields {
    ($($type:ty: $kind:ident, |$field:ident| $to:expr, |$value:ident| $from:expr;)+) => {$(
        impl Field for $type {
            fn value(&self) -> Option<Value> {
                let $field = self;
                Some(Value::$kind($to))
            }

            fn assign(&mut self, value: Value) {
                match value {
                    Value::$kind($value) => *self = $from,
                    other => panic!("{other:?} has the wrong kind for this field"),
                }
            }
        }
    )+};
}

fields! {
    String: Text, |field| field.clone(), |text| text;
    bool: Flag, |field| *field, |flag| flag;
    u32: Count, |field| u64::from(*field), |count| count.try_into().expect("a 32-bit count");
    u64: Count, |field| *field, |count| count;
    SectorCount: Count, |field| field.0, |count| SectorCount(count);
    Span: Time, |field| *field, |time| time;
    f64: Number, |field| *field, |number| number;
    PolicyConfig: Policy, |field| field.clone(), |policy| policy;
    SeekCurve: SeekCurve, |field| field.clone(), |curve| curve;
    Vec<Zone>: Zones, |field| field.clone(), |zones| zones;
}

impl<T: Field + Default> Field for Option<T> {
    fn value(&self) -> Option<Value> {
        self.as_ref()?.value()
    }

    fn assign(&mut self, value: Value) {
        self.get_or_insert_default().assign(value);
    }
}

/// An enumeration, each of whose variants is a word in a specification.
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$about:meta])+ $variant:ident = $word:literal,)+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$about])+ $variant,)+ }

        impl $name {
            /// The words, in the order of the variants.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl $crate::spec::key::Field for $name {
            fn value(&self) -> Option<$crate::spec::Value> {
                Some($crate::spec::Value::Word(match self { $(Self::$variant => $word,)+ }))
            }

            fn assign(&mut self, value: $crate::spec::Value) {
                *self = match value {
                    $($crate::spec::Value::Word($word) => Self::$variant,)+
                    other => panic!("{other:?} is not one of {:?}", Self::WORDS),
                };
            }
        }
    };
}

/// A table of a specification: its fields, and a row of [`Key`]s for each.
///
/// `$path` is the path of the table with a dot after it; `$get` and `$set` access it in `$spec`. A
/// row consists of documentation, name (`as` the key, if its name differs), type, default, key.
macro_rules! section {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $key:ident) => { stringify!($key) };
    (
        $(#[$meta:meta])*
        pub struct $name:ident at $path:literal
        |$spec:ident| ($get:expr, $set:expr) {
            $(
                $(#[doc = $doc:literal])+
                $field:ident $(as $key:ident)?: $type:ty = $default:expr => $row:expr;
            )+
        }
    ) => {
        $(#[$meta])*
        pub struct $name { $($(#[doc = $doc])+ pub $field: $type,)+ }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        impl $name {
            /// The keys of this table, in their order.
            pub const KEYS: &'static [$crate::spec::Key] = &[$($crate::spec::Key {
                path: concat!($path, section!(@name $field $($key)?)),
                documentation: concat!($($doc, "\n"),+),
                get: |$spec| {
                    let table: Option<&Self> = $get;
                    $crate::spec::key::Field::value(&table?.$field)
                },
                set: |$spec, value| {
                    let table: &mut Self = $set;
                    $crate::spec::key::Field::assign(&mut table.$field, value);
                },
                ..$row
            },)+];
        }

        impl $crate::spec::key::Field for $name {
            fn value(&self) -> Option<$crate::spec::Value> {
                None
            }

            fn assign(&mut self, value: $crate::spec::Value) {
                panic!("cannot assign {value:?} to a table: set its keys instead");
            }
        }
    };
}
