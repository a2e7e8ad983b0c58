//! What was found of a buffer beside what was given.

use diskarm_core::spec::{Key, Spec, Value};
use diskarm_extract::suite::{MeasuredDrive, Provenance};
use serde::Serialize;

/// A fact of a buffer.
#[derive(Debug, Serialize)]
pub struct Fact {
    pub key: &'static str,
    /// Its value in the drive.
    pub given: String,
    /// The value that was found.
    pub found: String,
    /// What that is worth.
    pub verdict: Verdict,
    /// Why it is not determinable.
    pub reason: Option<String>,
}

/// What a finding is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is the drive's.
    Right,
    /// The suite says that it cannot tell.
    NotDeterminable,
    /// It is not the drive's.
    Wrong,
}

/// All facts that the suite tells of: those of the buffer, and rules of the bus.
pub fn compared(given: &Spec, described: &MeasuredDrive) -> Vec<Fact> {
    let is_fact = |key: &str| {
        let times = ["bus.read_sector", "bus.write_sector"];
        (key.starts_with("buffer.") || key.starts_with("bus.")) && !times.contains(&key)
    };
    let told = described.values.iter().filter(|told| is_fact(told.key));
    let fact = |told: &diskarm_extract::suite::MeasuredValue| {
        let key = Key::find(told.key).expect("a key of the table");
        let [was, is] = [given, &described.spec].map(|spec| key.get(spec));
        let (verdict, reason) = match &told.provenance {
            Provenance::Measured { .. } if agree(was.as_ref(), is.as_ref()) => {
                (Verdict::Right, None)
            }
            Provenance::Measured { .. } => (Verdict::Wrong, None),
            Provenance::Assumed(why) | Provenance::Unknown(why) => {
                (Verdict::NotDeterminable, Some(why.clone()))
            }
        };
        let shown =
            |value: Option<Value>| value.map_or("none".to_owned(), |value| key.toml(&value));
        Fact {
            key: told.key,
            given: shown(was),
            found: shown(is),
            verdict,
            reason,
        }
    };
    told.map(fact).collect()
}

/// Times that differ by up to 0.05 ms and shares by up to 5 % are equal: what a drive does tells
/// no more.
fn agree(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(Value::Number(a)), Some(Value::Number(b))) => (a - b).abs() <= 0.05,
        (Some(Value::Time(a)), Some(Value::Time(b))) => (*a - *b).as_ms().abs() <= 0.05,
        (a, b) => a == b,
    }
}
