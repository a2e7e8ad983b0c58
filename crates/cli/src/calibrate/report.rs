//! The output of a calibration: a table for people, JSON for programs.

use std::fmt::Write;

use diskarm_calibrate::{Calibration, Clock, Fitted, Quantity};
use serde::Serialize;

use super::FitNames;
use crate::prose;

#[derive(Serialize)]
struct Printed<'a> {
    drive: &'a str,
    trace: &'a str,
    rows: usize,
    output: &'a str,
    /// `unbroken` or `nominal`.
    clock: &'static str,
    phase_concentration: f64,
    /// `null` where the clock is nominal, like the next two.
    period_ns: Option<f64>,
    /// Of a revolution, when the first request was issued.
    phase: Option<f64>,
    clock_breaks: Option<u64>,
    explained_fraction: f64,
    evaluations: u64,
    behaviours: &'a [String],
    fitted: Vec<Number>,
    not_determined: Vec<String>,
    /// Notes about the trace.
    notes: &'a [String],
}

#[derive(Serialize)]
struct Number {
    key: String,
    given_ms: f64,
    fitted_ms: f64,
    sd_ms: f64,
}

fn key(quantity: &Quantity) -> String {
    match quantity {
        Quantity::Key(key) => (*key).to_owned(),
        Quantity::ReadSeek(distance) => format!("seek over {distance} cylinders, added"),
        Quantity::WriteSeek(distance) => format!("write seek over {distance} cylinders, added"),
    }
}

/// All results.
pub fn printed<'a>(
    names: FitNames<'a>,
    rows: usize,
    fitted: &'a Calibration,
    notes: &'a [String],
) -> impl Serialize + 'a {
    let number = |number: &Fitted| Number {
        key: key(&number.quantity),
        given_ms: number.given_ms,
        fitted_ms: number.fitted_ms,
        sd_ms: number.sd_ms,
    };
    let (clock, concentration, phase, breaks) = match fitted.clock {
        Clock::Unbroken {
            concentration,
            phase,
            breaks,
        } => (
            "unbroken",
            concentration,
            Some(phase.as_revolutions()),
            Some(breaks),
        ),
        Clock::Nominal { concentration } => ("nominal", concentration, None, None),
    };
    Printed {
        drive: names.drive,
        trace: names.trace,
        rows,
        output: names.output,
        clock,
        phase_concentration: concentration,
        period_ns: phase.map(|_| fitted.spec.mechanics.period_ns),
        phase,
        clock_breaks: breaks,
        explained_fraction: fitted.explained_fraction,
        evaluations: fitted.evaluations,
        behaviours: &fitted.behaviours,
        fitted: fitted.fitted.iter().map(number).collect(),
        not_determined: fitted.left.iter().map(key).collect(),
        notes,
    }
}

/// The same for people, at most 80 columns.
pub fn text(names: FitNames<'_>, rows: usize, fitted: &Calibration) -> String {
    let mut text = format!(
        "{} fitted to {rows} rows of {}\n\n",
        names.drive, names.trace
    );
    clock(&mut text, fitted);
    let percent = 100.0 * fitted.explained_fraction;
    let _ = writeln!(text, "explained   {percent:.1} % of the requests");
    if !fitted.behaviours.is_empty() {
        text += "\nbehaviours that replace given ones\n";
        for behaviour in &fitted.behaviours {
            let _ = writeln!(text, "  {}", prose::wrapped(behaviour, 4).trim());
        }
    }
    let _ = writeln!(
        text,
        "\n{:<46} {:>9} {:>9} {:>7}",
        "ms", "given", "fitted", "sd"
    );
    for number in &fitted.fitted {
        let _ = writeln!(
            text,
            "{:<46} {:>9.4} {:>9.4} {:>7.4}",
            key(&number.quantity),
            number.given_ms,
            number.fitted_ms,
            number.sd_ms
        );
    }
    let (keys, seeks): (Vec<&Quantity>, Vec<&Quantity>) = fitted
        .left
        .iter()
        .partition(|quantity| matches!(quantity, Quantity::Key(_)));
    for (quantities, why) in [
        (keys, "left as given: not determined by the trace"),
        (
            seeks,
            "not determined by the trace: interpolated from their neighbours",
        ),
    ] {
        if !quantities.is_empty() {
            let _ = writeln!(text, "\n{why}");
        }
        for quantity in quantities {
            let _ = writeln!(text, "  {}", key(quantity));
        }
    }
    text += "\nsd: with all other numbers held; 0.001 or less where the likelihood has a step.\n";
    let _ = writeln!(text, "\nwrote {}", names.output);
    text
}

fn clock(text: &mut String, fitted: &Calibration) {
    let _ = match fitted.clock {
        Clock::Unbroken {
            concentration,
            phase,
            breaks,
        } => writeln!(
            text,
            "clock       unbroken (phase concentration {concentration:.4}; lost and found again \
             {breaks} times)\nperiod      {:.3} us ({:.3} rpm), at {:.4} of a revolution at first",
            fitted.spec.mechanics.period_ns / 1e3,
            60e9 / fitted.spec.mechanics.period_ns,
            phase.as_revolutions()
        ),
        Clock::Nominal { concentration } => writeln!(
            text,
            "clock       nominal (phase concentration {concentration:.4}): each request's phase \
             unknown\nperiod      as given"
        ),
    };
}
