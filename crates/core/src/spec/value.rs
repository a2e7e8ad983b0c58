//! The value of a key, and the fields that can hold one.

use super::{SeekCurve, Zone};
use crate::sched::PolicyConfig;
use crate::units::{SectorCount, Span};

/// The value of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The value of a [`KeyKind::Text`](super::KeyKind::Text).
    Text(String),
    /// The value of a [`KeyKind::Flag`](super::KeyKind::Flag).
    Flag(bool),
    /// The value of a [`KeyKind::Word`](super::KeyKind::Word).
    Word(&'static str),
    /// Of [`KeyKind::Count`](super::KeyKind::Count); in sectors, of
    /// [`KeyKind::Size`](super::KeyKind::Size); in cylinders, of
    /// [`KeyKind::Distance`](super::KeyKind::Distance).
    Count(u64),
    /// The value of a [`KeyKind::Time`](super::KeyKind::Time).
    Time(Span),
    /// Of [`KeyKind::Fraction`](super::KeyKind::Fraction); in nanoseconds, of
    /// [`KeyKind::Rotation`](super::KeyKind::Rotation).
    Number(f64),
    /// The value of a [`KeyKind::Policy`](super::KeyKind::Policy).
    Policy(PolicyConfig),
    /// The value of a [`KeyKind::SeekCurve`](super::KeyKind::SeekCurve).
    SeekCurve(SeekCurve),
    /// The value of a [`KeyKind::Zones`](super::KeyKind::Zones).
    Zones(Vec<Zone>),
}

/// A field of a specification.
pub(super) trait Field {
    /// Returns its value; `None` if it is unset.
    fn value(&self) -> Option<Value>;

    /// Sets it. Panics when `value` is of another kind or too large.
    fn assign(&mut self, value: Value);
}

/// Fields of one kind of value each: the type, the value, and the conversions to and from it.
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
                    other => panic!("{other:?} is of another kind"),
                }
            }
        }
    )+};
}

fields! {
    String: Text, |field| field.clone(), |text| text;
    bool: Flag, |field| *field, |flag| flag;
    u32: Count, |field| u64::from(*field), |count| count.try_into().expect("32 bits");
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

        impl $crate::spec::value::Field for $name {
            fn value(&self) -> Option<$crate::spec::Value> {
                Some($crate::spec::Value::Word(match self { $(Self::$variant => $word,)+ }))
            }

            fn assign(&mut self, value: $crate::spec::Value) {
                *self = match value {
                    $($crate::spec::Value::Word($word) => Self::$variant,)+
                    other => panic!("{other:?} is none of {:?}", Self::WORDS),
                };
            }
        }
    };
}

/// A table of a specification: its fields, and a row of [`Key`](super::Key)s for each.
///
/// `$path` is the path of the table with a dot after it; `$get` and `$set` lead to it from
/// `$spec`. A field is a row: documentation, name (`as` the name of the key, if it differs), type,
/// default, key.
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
                    $crate::spec::value::Field::value(&table?.$field)
                },
                set: |$spec, value| {
                    let table: &mut Self = $set;
                    $crate::spec::value::Field::assign(&mut table.$field, value);
                },
                ..$row
            },)+];
        }

        impl $crate::spec::value::Field for $name {
            fn value(&self) -> Option<$crate::spec::Value> {
                None
            }

            fn assign(&mut self, value: $crate::spec::Value) {
                panic!("{value:?} for a table, which has keys instead");
            }
        }
    };
}
