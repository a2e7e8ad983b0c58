//! Errors of the predictions of a model that follows a measured trace request by request (lumb01,
//! section 5, figures of prediction errors).
//!
//! An error is the measured response minus the predicted one: negative if the model predicted a
//! longer response. Requests of the warm-up are followed but not counted.

use std::ops::Range;

use diskarm_core::units::{SectorCount, Span};
use diskarm_simulate::measured::{RowRange, predict};
use diskarm_simulate::{Input, Simulation};

use crate::metric::{Column, MeasureInfo, RunOutcome, Stop};

const BIN: Span = Span::from_ns(20_000);

/// The number of bins on each side of the bin around zero.
const SIDE: i64 = 25;

/// An error this close to a revolution counts as a revolution.
const NEAR: Span = Span::from_ns(250_000);

pub(super) const INFO: MeasureInfo = MeasureInfo {
    name: "predictions",
    summary: "errors of predictions by `diskarm validate --locked`: measured minus predicted \
              responses",
    columns: || {
        let mut columns = Column::all(&[
            ("error_ms_median", "Median error, ms"),
            ("within_50us_share", "Share within 50 us"),
            ("within_250us_share", "Share within 0.25 ms"),
            (
                "revolution_share",
                "Share within 0.25 ms of a revolution, more or less",
            ),
            ("requests", "Requests predicted"),
        ]);
        columns.extend(middles().map(|middle| {
            let sign = if middle < Span::ZERO { "minus" } else { "plus" };
            let name = format!("share_at_{sign}_{:03}us", middle.as_ns().abs() / 1000);
            let title = format!("Share of errors within 10 us of {:.2} ms", middle.as_ms());
            let mut column = Column::measured(&name, &title);
            column.middle = Some(middle.as_ms());
            column
        }));
        columns
    },
};

fn middles() -> impl Iterator<Item = Span> {
    (-SIDE..=SIDE).map(|bin| Span::from_ns(bin * BIN.as_ns()))
}

/// Measures the errors of requests of these `sizes`. It cannot be stopped once it has begun.
pub(super) fn run(
    simulation: &Simulation<'_>,
    sizes: &Range<SectorCount>,
    stop: Stop<'_>,
) -> Result<RunOutcome, String> {
    let (system, warm_up) = (simulation.system, simulation.warm_up as usize);
    let model = system.single_drive("cell.drive");
    let model = model.map_err(|error| error.to_string())?;
    let Input::Traced(traced) = simulation.input else {
        return Err("cell.workload: found a workload, expected a measured trace".to_owned());
    };
    if stop().is_break() {
        return Ok(RunOutcome::Stopped);
    }
    let (file, rows) = (&traced.files[0], RowRange::default());
    let predictions = predict(model, file, &traced.reading, rows);
    let followed = predictions.map_err(|error| error.to_string())?.followed;
    let rows = followed.rows().iter().skip(warm_up);
    let rows = rows.filter(|row| sizes.contains(&row.predicted.request.sectors));
    let errors = rows.map(|row| row.error()).collect();
    Ok(RunOutcome::Measured(metrics(errors, followed.period())))
}

fn metrics(mut errors: Vec<Span>, revolution: Span) -> Vec<Option<f64>> {
    errors.sort_unstable();
    let count = errors.len();
    let share = |part: usize| (count > 0).then(|| part as f64 / count as f64);
    let size = |error: Span| error.max(-error);
    let within = |max: Span| errors.iter().filter(|error| size(**error) <= max).count();
    let is_revolution = |error: &&Span| size(size(**error) - revolution) <= NEAR;
    // The median by nearest rank.
    let median = errors.get(count.saturating_sub(1) / 2);
    let mut metrics = vec![
        median.map(|error| error.as_ms()),
        share(within(Span::from_ns(50_000))),
        share(within(Span::from_ns(250_000))),
        share(errors.iter().filter(is_revolution).count()),
        Some(count as f64),
    ];
    metrics.extend(middles().map(|middle| {
        let from = middle - Span::from_ns(BIN.as_ns() / 2);
        let bin = from..from + BIN;
        share(errors.iter().filter(|error| bin.contains(error)).count())
    }));
    metrics
}
