//! The file of predictions: a row for each command, or a figure of their errors.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use diskarm_core::units::{Bytes, Span};
use diskarm_results::output_file::Files;
use diskarm_scan::{OnPredicted, Predicted};
use diskarm_simulate::Model;

use super::{Args, keeper};
use crate::error::Error;
use crate::output::Target;
use crate::plot;
use crate::rows::{RowFile, asked, microseconds};

const NAMES: &str = "source,op,lbn,sectors,sent_us,predicted_us,measured_us,confident";

/// The file that --predictions names, until it is finished.
pub struct Predictions(Arc<Mutex<Option<Kind>>>);

enum Kind {
    Rows(RowFile),
    Figure(Figure),
}

/// Errors that are drawn at the end.
struct Figure {
    target: Target,
    /// What is predicted, and the model that it is predicted by.
    names: [String; 2],
    period: Span,
    sector: Bytes,
    errors: Vec<plot::Outcome>,
    /// How many of them are right.
    right: usize,
}

/// Accepts the names of files that can be written.
pub fn file_name(text: &str) -> Result<String, &'static str> {
    let is_known = [".csv", ".svg"].iter().any(|end| {
        let name = text.to_ascii_lowercase();
        name.len() > end.len() && name.ends_with(end)
    });
    is_known
        .then(|| text.to_owned())
        .ok_or("expected a name ending in .csv or .svg")
}

impl Predictions {
    /// Begins the file, if any; `drive` is predicted as a drive of `model`.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn begin(
        args: &Args,
        drive: &str,
        model: Option<&Model>,
        files: &mut Files,
    ) -> Result<Option<Self>, Error> {
        let (Some(path), Some(model)) = (&args.predictions, model) else {
            return Ok(None);
        };
        let target = Target::File(keeper::place(files, "--predictions", path)?);
        let kind = match path.to_ascii_lowercase().ends_with(".svg") {
            true => Kind::Figure(Figure {
                target,
                names: [drive.to_owned(), model.name.clone()],
                period: Span::from_ns(model.spec.mechanics.period_ns.round() as i64),
                sector: Bytes(model.spec.geometry.sector_bytes.into()),
                errors: Vec::new(),
                right: 0,
            }),
            false => Kind::Rows(RowFile::begin(target, NAMES)?),
        };
        Ok(Some(Self(Arc::new(Mutex::new(Some(kind))))))
    }

    /// What `file` takes predictions by, if any.
    pub fn taken_by(file: Option<&Self>) -> OnPredicted {
        let Some(Self(kind)) = file else {
            return OnPredicted::default();
        };
        let kind = Arc::clone(kind);
        OnPredicted::calling(move |predicted| match &mut *lock(&kind) {
            Some(Kind::Rows(file)) => file.put(&row(predicted)),
            Some(Kind::Figure(figure)) => figure.take(predicted),
            None => {}
        })
    }

    /// Ends the file, which gets its name.
    ///
    /// # Errors
    /// If any part of it could not be written; the file of that name is then unchanged.
    pub fn finish(&self) -> Result<(), Error> {
        match lock(&self.0).take() {
            Some(Kind::Rows(file)) => file.finish(),
            Some(Kind::Figure(figure)) => figure.finish(),
            None => Ok(()),
        }
    }
}

fn lock(kind: &Mutex<Option<Kind>>) -> MutexGuard<'_, Option<Kind>> {
    kind.lock().unwrap_or_else(PoisonError::into_inner)
}

fn row(predicted: &Predicted) -> Vec<u8> {
    let mut row = match predicted.is_foreground {
        true => b"foreground".to_vec(),
        false => b"scan".to_vec(),
    };
    asked(&mut row, &predicted.command);
    microseconds(&mut row, predicted.sent.as_ns() as i64);
    row.push(b',');
    if let Some(expected) = predicted.expected {
        microseconds(&mut row, expected.after(predicted.sent).as_ns());
    }
    row.push(b',');
    microseconds(&mut row, predicted.ended.after(predicted.sent).as_ns());
    row.extend(match predicted.is_confident {
        true => &b",yes\n"[..],
        false => b",no\n",
    });
    row
}

impl Figure {
    fn take(&mut self, predicted: &Predicted) {
        let is_judged = predicted.is_foreground && predicted.is_confident;
        let Some(error) = predicted.error().filter(|_| is_judged) else {
            return;
        };
        self.right += usize::from(predicted.is_right());
        self.errors.push(plot::Outcome {
            issued: predicted.sent,
            error,
            size: Bytes(predicted.command.sectors.0 * self.sector.0),
        });
    }

    fn finish(self) -> Result<(), Error> {
        let [drive, model] = &self.names;
        let all = self.errors.len();
        let title = match all {
            0 => format!("{drive}: no prediction was relied on"),
            _ => {
                let percent = 100.0 * self.right as f64 / all as f64;
                format!("{drive}: {percent:.2} % within 50 us")
            }
        };
        let subtitle = format!("{all} commands of the foreground, predicted as of {model}");
        let drawn = plot::errors(&title, &subtitle, &self.errors, self.period);
        self.target.write(&drawn)
    }
}
