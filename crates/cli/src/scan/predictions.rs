//! The file of predictions: a row for each command, or a chart of their errors.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use diskarm_core::units::{Bytes, Span};
use diskarm_results::output_file::Files;
use diskarm_scan::{OnPrediction, Prediction};
use diskarm_simulate::Model;

use super::Args;
use super::recorder;
use crate::error::Error;
use crate::output::Target;
use crate::output::{RowFile, microseconds, request_cells};
use crate::plot;

const COLUMN_NAMES: &str = "source,op,lbn,sectors,sent_us,predicted_us,measured_us,confident";

/// The file of --predictions, until it is finished.
pub struct Predictions(Arc<Mutex<Option<Output>>>);

enum Output {
    Rows(RowFile),
    Chart(Chart),
}

/// Errors of predictions, drawn at the end.
struct Chart {
    target: Target,
    names: [String; 2],
    period: Span,
    sector: Bytes,
    errors: Vec<plot::Outcome>,
    /// The number of errors within 50 us.
    accurate: usize,
}

impl Predictions {
    /// Creates the file for the predictions of `model` about `drive`.
    pub fn create(
        args: &Args,
        drive: &str,
        model: Option<&Model>,
        files: &mut Files,
    ) -> Result<Option<Self>, Error> {
        let (Some(path), Some(model)) = (&args.predictions, model) else {
            return Ok(None);
        };
        let target = Target::File(recorder::output(files, "--predictions", path)?);
        let output = if path.to_ascii_lowercase().ends_with(".svg") {
            Output::Chart(Chart {
                target,
                names: [drive.to_owned(), model.name.clone()],
                period: Span::from_ns(model.spec.mechanics.period_ns.round() as i64),
                sector: Bytes(model.spec.geometry.sector_bytes.into()),
                errors: Vec::new(),
                accurate: 0,
            })
        } else {
            Output::Rows(RowFile::create(target, COLUMN_NAMES)?)
        };
        Ok(Some(Self(Arc::new(Mutex::new(Some(output))))))
    }

    pub fn callback(file: Option<&Self>) -> OnPrediction {
        let Some(Self(kind)) = file else {
            return OnPrediction::default();
        };
        let kind = Arc::clone(kind);
        OnPrediction::new(move |predicted| match &mut *lock(&kind) {
            Some(Output::Rows(file)) => file.write(&row(predicted)),
            Some(Output::Chart(chart)) => chart.record(predicted),
            None => {}
        })
    }

    /// Completes the file and gives it its final name.
    ///
    /// # Errors
    /// If any part could not be written; an existing file is then unchanged.
    pub fn finish(&self) -> Result<(), Error> {
        match lock(&self.0).take() {
            Some(Output::Rows(file)) => file.finish(),
            Some(Output::Chart(chart)) => chart.finish(),
            None => Ok(()),
        }
    }
}

fn lock(kind: &Mutex<Option<Output>>) -> MutexGuard<'_, Option<Output>> {
    kind.lock().unwrap_or_else(PoisonError::into_inner)
}

fn row(predicted: &Prediction) -> Vec<u8> {
    let mut row = if predicted.is_foreground {
        "foreground"
    } else {
        "scan"
    }
    .as_bytes()
    .to_vec();
    request_cells(&mut row, &predicted.command);
    microseconds(&mut row, predicted.sent.as_ns() as i64);
    row.push(b',');
    if let Some(expected) = predicted.expected {
        microseconds(&mut row, expected.after(predicted.sent).as_ns());
    }
    row.push(b',');
    microseconds(&mut row, predicted.ended.after(predicted.sent).as_ns());
    let is_confident = if predicted.is_confident {
        ",yes\n"
    } else {
        ",no\n"
    };
    row.extend(is_confident.as_bytes());
    row
}

impl Chart {
    fn record(&mut self, predicted: &Prediction) {
        let is_judged = predicted.is_foreground && predicted.is_confident;
        let Some(error) = predicted.error().filter(|_| is_judged) else {
            return;
        };
        self.accurate += usize::from(predicted.is_right());
        self.errors.push(plot::Outcome {
            issued: predicted.sent,
            error,
            size: Bytes(predicted.command.sectors.0 * self.sector.0),
        });
    }

    fn finish(self) -> Result<(), Error> {
        let [drive, model] = &self.names;
        let all = self.errors.len();
        let title = if all == 0 {
            format!("{drive}: no prediction was used")
        } else {
            let percent = 100.0 * self.accurate as f64 / all as f64;
            format!("{drive}: {percent:.2} % within 50 us")
        };
        let subtitle = format!("{all} foreground commands, predicted with {model}");
        let drawn = plot::errors(&title, &subtitle, &self.errors, self.period);
        self.target.write(&drawn)
    }
}
