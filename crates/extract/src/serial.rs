//! Serialization of findings whose types do not implement it.

use diskarm_core::spec::{Key, KeyKind, Value};
use diskarm_core::units::Span;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// A geometry, serialized as a specification in TOML.
pub(crate) mod geometry {
    use diskarm_core::spec::{self, Geometry, SeekCurve, Spec};
    use diskarm_core::units::Span;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(geometry: &Geometry, to: S) -> Result<S::Ok, S::Error> {
        // A specification requires these other values.
        let mut spec = Spec {
            name: "layout".to_owned(),
            summary: "layout".to_owned(),
            geometry: geometry.clone(),
            ..Spec::default()
        };
        spec.source.origin = "layout".to_owned();
        spec.mechanics.period_ns = 1e7;
        spec.mechanics.seek = SeekCurve::Table(vec![(1, Span::ZERO)]);
        diskarm_drives::text::specification(&spec, &|_| None).serialize(to)
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Geometry, D::Error> {
        let text = String::deserialize(from)?;
        let spec = spec::parse(&text, "layout").map_err(D::Error::custom)?;
        Ok(spec.geometry)
    }
}

pub(crate) fn path<'d, D: Deserializer<'d>>(from: D) -> Result<&'static str, D::Error> {
    let path = String::deserialize(from)?;
    let key = Key::find(&path).ok_or_else(|| D::Error::custom(format!("unknown key {path:?}")))?;
    Ok(key.path)
}

/// A value of a buffer or bus key: never a string, a curve, a list of zones or a policy.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PlainValue {
    Flag(bool),
    Word(String),
    Count(u64),
    Time(Span),
    Number(f64),
}

impl PlainValue {
    fn new(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Flag(flag) => Self::Flag(*flag),
            Value::Word(word) => Self::Word((*word).to_owned()),
            Value::Count(count) => Self::Count(*count),
            Value::Time(time) => Self::Time(*time),
            Value::Number(number) => Self::Number(*number),
            _ => return None,
        })
    }

    fn value(self) -> Option<Value> {
        Some(match self {
            Self::Flag(flag) => Value::Flag(flag),
            Self::Word(word) => Value::Word(find_word(&word)?),
            Self::Count(count) => Value::Count(count),
            Self::Time(time) => Value::Time(time),
            Self::Number(number) => Value::Number(number),
        })
    }
}

fn find_word(word: &str) -> Option<&'static str> {
    let words = Key::all().into_iter().filter_map(|key| match key.kind {
        KeyKind::Word(words) => Some(words),
        _ => None,
    });
    words.flatten().copied().find(|known| *known == word)
}

pub(crate) mod value {
    use diskarm_core::spec::Value;
    use serde::de::Error;
    use serde::{Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &Value, to: S) -> Result<S::Ok, S::Error> {
        super::maybe_value::serialize(&Some(value.clone()), to)
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Value, D::Error> {
        let value = super::maybe_value::deserialize(from)?;
        value.ok_or_else(|| D::Error::custom("found no value"))
    }
}

pub(crate) mod maybe_value {
    use diskarm_core::spec::Value;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::PlainValue;

    pub fn serialize<S: Serializer>(value: &Option<Value>, to: S) -> Result<S::Ok, S::Error> {
        value.as_ref().and_then(PlainValue::new).serialize(to)
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Option<Value>, D::Error> {
        let Some(plain) = Option::<PlainValue>::deserialize(from)? else {
            return Ok(None);
        };
        let value = plain.value().map(Some);
        value.ok_or_else(|| D::Error::custom("found an unknown word"))
    }
}
