//! The file of predictions: a row for each command, or a figure of their errors.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use diskarm_core::request::Op;
use diskarm_core::units::{Bytes, Span};
use diskarm_results::place::Files;
use diskarm_scan::{OnPredicted, Predicted};
use diskarm_simulate::Model;

use super::{Args, keeper};
use crate::error::Error;
use crate::output::{Begun, Target};
use crate::plot;
use crate::simulate::rows::{microseconds, number};

/// Errors up to this are small, as in the report of a scan.
const RIGHT: Span = Span::from_ns(50_000);

const HEAD: &str = "command,op,lbn,sectors,sent_us,predicted_us,measured_us,confident\n";

/// The file that --predictions names.
#[derive(Clone)]
pub struct Predictions(Arc<Mutex<State>>);

struct State {
    kind: Kind,
    /// The first error; nothing is written after it.
    failure: Option<io::Error>,
}

enum Kind {
    Rows(Begun),
    /// The errors to be drawn, of a drive with blocks of a size.
    Figure(Target, Vec<plot::Outcome>, Bytes),
    Ended,
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
    /// Begins the file, if there is one, of a drive that is predicted as one of `model`.
    pub fn begin(
        args: &Args,
        model: Option<&Model>,
        files: &mut Files,
    ) -> Result<Option<Self>, Error> {
        let (Some(path), Some(model)) = (&args.predictions, model) else {
            return Ok(None);
        };
        let sector = Bytes(model.spec.geometry.sector_bytes.into());
        let target = Target::File(keeper::place(files, "--predictions", path)?);
        let kind = match path.to_ascii_lowercase().ends_with(".svg") {
            true => Kind::Figure(target, Vec::new(), sector),
            false => Kind::Rows(target.begin()?),
        };
        let mut state = State {
            kind,
            failure: None,
        };
        state.put(HEAD.as_bytes());
        Ok(Some(Self(Arc::new(Mutex::new(state)))))
    }

    /// What takes note of predictions, if anything does.
    pub fn taken(file: Option<&Self>) -> OnPredicted {
        let state = file.map(|file| Arc::clone(&file.0));
        state.map_or_else(OnPredicted::default, |state| {
            OnPredicted::calling(move |predicted| lock(&state).take(predicted))
        })
    }

    /// Ends the file, which gets its name. `drive` is what was predicted as a drive of `model`.
    ///
    /// # Errors
    /// If any part of it could not be written; the file of that name is then unchanged.
    pub fn finish(self, drive: &str, model: &Model) -> Result<(), Error> {
        let mut state = lock(&self.0);
        let written = state.failure.take().map_or(Ok(()), Err);
        match std::mem::replace(&mut state.kind, Kind::Ended) {
            Kind::Rows(file) => file.finish(written),
            Kind::Figure(target, errors, _) => target.write(&drawn(drive, model, &errors)),
            Kind::Ended => Ok(()),
        }
    }
}

impl State {
    fn take(&mut self, predicted: &Predicted) {
        match &mut self.kind {
            Kind::Rows(_) => self.put(&row(predicted)),
            Kind::Figure(_, errors, sector) => {
                let is_judged = predicted.is_foreground && predicted.is_confident;
                let error = predicted.error().filter(|_| is_judged);
                errors.extend(error.map(|error| plot::Outcome {
                    issued: predicted.sent,
                    error,
                    size: Bytes(predicted.command.sectors.0 * sector.0),
                }));
            }
            Kind::Ended => {}
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        if let (Kind::Rows(file), None) = (&mut self.kind, &self.failure) {
            self.failure = file.out.write_all(bytes).err();
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn row(predicted: &Predicted) -> Vec<u8> {
    let command = &predicted.command;
    let mut row = match predicted.is_foreground {
        true => b"foreground".to_vec(),
        false => b"scan".to_vec(),
    };
    row.extend(match command.op {
        Op::Read => b",R,",
        Op::Write => b",W,",
        Op::Flush => b",F,",
    });
    number(&mut row, command.start.0);
    row.push(b',');
    number(&mut row, command.sectors.0);
    row.push(b',');
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

fn drawn(drive: &str, model: &Model, errors: &[plot::Outcome]) -> String {
    let size = |one: &plot::Outcome| one.error.max(-one.error);
    let right = errors.iter().filter(|one| size(one) <= RIGHT).count();
    let title = match errors.len() {
        0 => format!("{drive}: no command with a known position"),
        all => {
            let percent = 100.0 * right as f64 / all as f64;
            format!("{drive}: {percent:.2} % within 50 us")
        }
    };
    let subtitle = format!(
        "{} commands of the foreground, predicted as of {}",
        errors.len(),
        model.name
    );
    let period = Span::from_ns(model.spec.mechanics.period_ns.round() as i64);
    plot::errors(&title, &subtitle, errors, period)
}
