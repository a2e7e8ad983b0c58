//! Models compared with measured traces: by replays on several threads, and request by request.

use std::ops::Range;

use diskarm_core::predict::Continuity;
use diskarm_core::stats::SortedSpans;
use diskarm_fit::validate::{Figures, Locked, LockedFigures, Validation};

use crate::measured::{self, MeasuredTrace, RowRange, replays};
use crate::{Error, Model, Reading};

/// A trace compared with replays of the model.
pub struct Comparison {
    /// The trace.
    pub file: String,
    /// The distances between measured and simulated response times.
    pub figures: Figures,
    /// The measured response times.
    pub measured: SortedSpans,
    /// The simulated response times, with the platter initially at angle zero.
    pub simulated: SortedSpans,
    /// Doubts about the trace.
    pub notes: Vec<String>,
}

/// Replays `rows` of the trace in `file`; `progress` is called with the number of replays done.
///
/// # Errors
/// If the trace is invalid.
pub fn compare(
    drive: &Model,
    file: &str,
    reading: &Reading,
    rows: RowRange,
    progress: impl Fn(u64) + Sync,
) -> Result<Comparison, Error> {
    let taken = measured::read(file, reading, rows, drive)?;
    let validation = Validation::new(&drive.spec, drive.layout().clone(), taken.rows);
    let replays = replays(&validation, progress)?;
    Ok(Comparison {
        file: file.to_owned(),
        figures: Figures::of(&validation, &replays),
        measured: validation.measured(),
        simulated: replays[0].responses.iter().copied().collect(),
        notes: taken.notes,
    })
}

/// A trace whose responses were predicted one by one.
pub struct Predictions {
    /// The trace.
    pub file: String,
    /// Its requests with their predictions.
    pub locked: Locked,
    /// The rows whose predictions are judged.
    pub range: Range<usize>,
    /// The quality of the predictions.
    pub figures: LockedFigures,
    /// Doubts about the trace.
    pub notes: Vec<String>,
}

/// Predicts each response in `rows` of the trace in `file` from the earlier measurements.
///
/// # Errors
/// If the trace is invalid.
///
/// # Panics
/// If there are no rows to judge.
pub fn predict(
    drive: &Model,
    file: &str,
    reading: &Reading,
    rows: RowRange,
) -> Result<Predictions, Error> {
    let taken = measured::read_with_history(file, reading, rows, drive)?;
    let MeasuredTrace { rows, range, notes } = taken;
    let layout = drive.layout().clone();
    let locked = Locked::follow(&drive.spec, layout, &rows, Continuity::Unbroken)?;
    let Some(figures) = LockedFigures::of(&locked, range.clone()) else {
        panic!("{file}: a range without rows");
    };
    Ok(Predictions {
        file: file.to_owned(),
        locked,
        range,
        figures,
        notes,
    })
}
