//! The edits that turn a specification's text into a fitted one.

use diskarm_core::spec::{SeekCurve, Spec, Value};
use diskarm_drives::text::Edit;

use crate::calibrate::parameter::VARIED;

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
