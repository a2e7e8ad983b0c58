//! The keys that a trace may determine, according to the table of keys.

use std::sync::LazyLock;

use diskarm_core::spec::{Key, KeyKind, SeekCurve, Spec, Value, Variation};
use diskarm_core::units::Span;
use diskarm_drives::text::Edit;

/// Standard deviation of a bus rate from the given one, as a share of it.
const BUS_PRIOR: f64 = 0.1;

/// A key whose value is a time.
pub struct Parameter {
    pub key: &'static Key,
    /// Standard deviation of its value from the given one, in milliseconds.
    pub prior_ms: f64,
}

impl Parameter {
    /// Standard deviation of its value from `given_ms`, in milliseconds. A bus has a standard rate,
    /// which data sheets give: what a trace seems to say against it has another cause.
    pub fn prior_ms(&self, given_ms: f64) -> f64 {
        if self.is_rate() && given_ms > 0.0 {
            BUS_PRIOR * given_ms
        } else {
            self.prior_ms
        }
    }

    /// Returns true for the time of a sector on the bus.
    pub fn is_rate(&self) -> bool {
        matches!(self.key.path, "bus.read_sector" | "bus.write_sector")
    }

    /// Its value in milliseconds; `None` if the specification does not have it.
    pub fn get(&self, spec: &Spec) -> Option<f64> {
        match self.key.get(spec) {
            Some(Value::Time(time)) => Some(time.as_ms()),
            _ => None,
        }
    }

    /// Sets it within its bounds, if the specification has it.
    pub fn set(&self, spec: &mut Spec, ms: f64) {
        let signed = matches!(self.key.kind, KeyKind::Time { signed: true });
        let ms = if signed { ms } else { ms.max(0.0) };
        if self.get(spec).is_some() {
            self.key.set(spec, Value::Time(Span::from_ms(ms)));
        }
    }
}

/// All keys that may vary, in the order in which they are fitted and written.
pub static VARIED: LazyLock<Vec<&'static Key>> = LazyLock::new(|| {
    let mut keys = Key::all();
    keys.retain(|key| key.vary != Variation::Fixed);
    keys.sort_by_key(|key| key.rank);
    keys
});

/// The numbers among them.
pub static PARAMETERS: LazyLock<Vec<Parameter>> = LazyLock::new(|| {
    let number = |key: &&'static Key| match key.vary {
        Variation::Number { prior_ms } => Some(Parameter { key, prior_ms }),
        _ => None,
    };
    VARIED.iter().filter_map(number).collect()
});

/// The changes that turn the text of `given` into one of `fitted`.
pub fn edits(given: &Spec, fitted: &Spec) -> Vec<Edit> {
    let starts = given.overheads.write_start != fitted.overheads.write_start;
    let changed = VARIED.iter().filter_map(|key| {
        let fitted = key.get(fitted)?;
        // All three sizes must be given, or none.
        let together = starts && key.path.starts_with("overheads.write_start.");
        match fitted {
            Value::SeekCurve(ref curve) if !matches!(curve, SeekCurve::Table(_)) => None,
            fitted if together || key.get(given).as_ref() != Some(&fitted) => {
                Some(Edit::of(key, fitted))
            }
            _ => None,
        }
    });
    changed.collect()
}

#[cfg(test)]
pub mod tests;
