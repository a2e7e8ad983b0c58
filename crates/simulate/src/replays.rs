//! Models compared with measured traces: by replays on several threads, and request by request.

use std::ops::Range;

use diskarm_core::engine::RejectedRequest;
use diskarm_core::predict::Continuity;
use diskarm_core::stats::SortedSpans;
use diskarm_fit::validate::{Figures, Locked, LockedFigures, Replayed, Validation, Variant};

use crate::measured::{self, Rows, Taken};
use crate::{Error, Model, Reading, parallel};

/// All replays in the order of [`Validation::variants`], on every processor; `progress` is called
/// with the number done.
///
/// # Errors
/// The first refusal, in that order.
pub fn all(
    validation: &Validation<'_>,
    progress: impl Fn(u64) + Sync,
) -> Result<Vec<Replayed>, RejectedRequest> {
    let variants: Vec<Variant> = Validation::variants().collect();
    let replay = |number: usize| validation.replay(variants[number]);
    let replays = parallel::map(variants.len(), replay, progress);
    replays.into_iter().collect()
}

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
    rows: Rows,
    progress: impl Fn(u64) + Sync,
) -> Result<Comparison, Error> {
    let taken = measured::read(file, reading, rows, drive)?;
    let validation = Validation::new(&drive.spec, drive.layout().clone(), taken.rows);
    let replays = all(&validation, progress)?;
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
    rows: Rows,
) -> Result<Predictions, Error> {
    let taken = measured::read_with_history(file, reading, rows, drive)?;
    let Taken { rows, range, notes } = taken;
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

#[cfg(test)]
mod tests {
    use diskarm_core::engine::ReplayStep;
    use diskarm_core::request::{Op, Request};
    use diskarm_core::units::{Lbn, SectorCount, Span};
    use diskarm_fit::validate::Measured;

    use super::*;

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let drive = Model::find("hp-c2247").unwrap_or_else(|e| panic!("{e}"));
        let row = |id: u64| Measured {
            step: ReplayStep {
                request: Request::new(
                    id,
                    if id.is_multiple_of(3) {
                        Op::Write
                    } else {
                        Op::Read
                    },
                    Lbn(id * 7_919 * 131 % 2_000_000),
                    SectorCount(1 + id % 40),
                ),
                think: Span::from_us((id * 1_237 % 30_001) as f64),
            },
            response: Span::from_ms(15.0),
        };
        let rows = (0..500).map(row).collect();
        let validation = Validation::new(&drive.spec, drive.layout().clone(), rows);
        let variants: Vec<Variant> = Validation::variants().collect();
        let replay = |number: usize| {
            let replayed = validation.replay(variants[number]);
            replayed.unwrap_or_else(|e| panic!("{e}"))
        };
        let replays = |threads| parallel::map_on(threads, variants.len(), replay, |_| {});
        let one = replays(1);
        assert_ne!(one[0], one[16]);
        for threads in [2, 5, 100] {
            let many = replays(threads);
            assert_eq!(one, many, "{threads} threads");
            assert_eq!(
                Figures::of(&validation, &one),
                Figures::of(&validation, &many)
            );
        }
    }
}
