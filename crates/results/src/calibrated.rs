//! The output of a calibration: a table for people, JSON for programs.

use std::fmt::Write;

use diskarm_core::text::with_noun;
use diskarm_fit::calibrate::{
    Calibration, Class, Clock, FittedNumber, Holdout, KeptPart, Quantity, ROWS_PER_NUMBER,
};
use diskarm_simulate::measured::FitNames;
use serde::Serialize;
use serde_json::{Value, json};

use crate::compared::{op_name, outcome_name, relation_name};
use crate::prose;

#[derive(Serialize)]
struct CorrelatedPair {
    keys: [String; 2],
    /// `sum` or `difference` (the first minus the second).
    known: &'static str,
    fitted_ms: f64,
    sd_ms: f64,
    correlation: f64,
}

impl CorrelatedPair {
    fn all(fitted: &Calibration) -> Vec<Self> {
        let pairs = fitted.covariance.pairs().into_iter();
        let together = pairs.map(|pair| {
            let [a, b] = pair.indices.map(|i| &fitted.fitted[i]);
            let (known, fitted_ms) = if pair.correlation < 0.0 {
                ("sum", a.fitted_ms + b.fitted_ms)
            } else {
                ("difference", a.fitted_ms - b.fitted_ms)
            };
            Self {
                keys: [key(&a.quantity), key(&b.quantity)],
                known,
                fitted_ms,
                sd_ms: pair.sd_ms,
                correlation: pair.correlation,
            }
        });
        together.collect()
    }
}

const LABEL: usize = 12;

fn key(quantity: &Quantity) -> String {
    let cylinders = |distance: &u32| with_noun(*distance, "cylinder");
    match quantity {
        Quantity::Key(key) => (*key).to_owned(),
        Quantity::ReadSeek(distance) => format!("seek correction at {}", cylinders(distance)),
        Quantity::WriteSeek(at) => format!("write seek correction at {}", cylinders(at)),
    }
}

/// Returns the results as JSON. Period, phase and clock breaks are null if the clock is nominal.
pub fn json(names: FitNames<'_>, rows: usize, fitted: &Calibration, notes: &[String]) -> Value {
    let (clock, concentration, phase, breaks) = match fitted.clock {
        Clock::Unbroken {
            concentration,
            phase,
            breaks,
        } => {
            let phase = phase.as_revolutions();
            ("unbroken", concentration, Some(phase), Some(breaks))
        }
        Clock::Nominal { concentration } => ("nominal", concentration, None, None),
    };
    json!({
        "drive": names.drive,
        "trace": names.trace,
        "rows": rows,
        "output": names.output,
        "clock": clock,
        "phase_concentration": concentration,
        "period_ns": phase.map(|_| fitted.spec.mechanics.period_ns),
        "phase": phase,
        "clock_breaks": breaks,
        "explained_fraction": fitted.explained_fraction,
        "unexplained_requests": fitted.unexplained_requests,
        "unexplained": fitted.unexplained.iter().map(class_json).collect::<Value>(),
        "held_back": fitted.holdout.map(held_json),
        "evaluations": fitted.evaluations,
        "behaviours": fitted.behaviours,
        "fitted": fitted.fitted.iter().map(number_json).collect::<Value>(),
        "covariance_ms2": fitted.covariance.ms2,
        "known_together": CorrelatedPair::all(fitted),
        "not_determined": fitted.undetermined.iter().map(key).collect::<Value>(),
        "notes": notes,
    })
}

fn class_json(class: &Class) -> Value {
    json!({
        "op": op_name(class.op),
        "relation": relation_name(class.relation),
        "outcome": outcome_name(class.outcome),
        "requests": class.count,
        "unexplained": class.unexplained(),
    })
}

fn held_json(holdout: Holdout) -> Value {
    let kept = match holdout.kept {
        KeptPart::All => "all",
        KeptPart::Keys => "keys",
        KeptPart::Seeks => "seeks",
        KeptPart::Nothing => "nothing",
    };
    json!({
        "rows": holdout.rows,
        "given_demerit_ms": holdout.given_demerit.as_ms(),
        "fitted_demerit_ms": holdout.fitted_demerit.as_ms(),
        "ln_likelihood_gain": holdout.ln_gain,
        "kept": kept,
    })
}

fn number_json(number: &FittedNumber) -> Value {
    json!({
        "key": key(&number.quantity),
        "given_ms": number.given_ms,
        "fitted_ms": number.fitted_ms,
        "sd_ms": number.sd_ms,
        "others_held_sd_ms": number.others_held_sd_ms,
        "doubtful": number.is_doubtful,
    })
}

/// Formats the results as text, at most 80 columns wide.
pub fn text(names: FitNames<'_>, rows: usize, fitted: &Calibration) -> String {
    let mut text = format!(
        "{} fitted to {rows} rows of {}\n\n",
        names.drive, names.trace
    );
    clock(&mut text, fitted);
    let not_explained = fitted.unexplained_requests;
    let explained = format!(
        "{:.1} % of the requests: their responses are more likely under the fitted drive, with \
         the scatter of its errors, than as outliers; {not_explained} of {rows} are not explained",
        100.0 * fitted.explained_fraction
    );
    text += &prose::labelled("explained", &explained, LABEL);
    if let Some(holdout) = &fitted.holdout {
        held_back(&mut text, holdout);
    }
    classes(&mut text, &fitted.unexplained, not_explained, rows);
    if !fitted.behaviours.is_empty() {
        text += "\nbehaviours that replace those of the given drive\n";
        for behaviour in &fitted.behaviours {
            let _ = writeln!(text, "  {}", prose::wrapped(behaviour, 4).trim());
        }
    }
    numbers(&mut text, fitted);
    let left = fitted.undetermined.iter();
    let (keys, seeks): (Vec<&Quantity>, _) = left.partition(|one| matches!(one, Quantity::Key(_)));
    for (why, quantities) in [
        ("left as given: not determined by the trace", keys),
        (
            "not determined by the trace: interpolated from their neighbours",
            seeks,
        ),
    ] {
        if !quantities.is_empty() {
            let _ = writeln!(text, "\n{why}");
        }
        for quantity in quantities {
            let _ = writeln!(text, "  {}", key(quantity));
        }
    }
    let _ = writeln!(text, "\nwrote {}", names.output);
    text
}

fn held_back(text: &mut String, holdout: &Holdout) {
    let rows = format!("last {} rows, which this fit did not use", holdout.rows);
    *text += &prose::labelled("held back", &rows, LABEL);
    let _ = writeln!(
        text,
        "{:LABEL$}log likelihood  {:+.1} when fitted\n\
         {:LABEL$}demerit         {:.4} ms as given, {:.4} ms when fitted",
        "",
        holdout.ln_gain,
        "",
        holdout.given_demerit.as_ms(),
        holdout.fitted_demerit.as_ms()
    );
    *text += &prose::wrapped(&verdict(holdout), LABEL);
}

/// States whether the fit is better on the held-back rows, by which measure, and what is kept.
fn verdict(holdout: &Holdout) -> String {
    let is_better = holdout.ln_gain > 0.0;
    let is_worse_by_demerit = holdout.fitted_demerit > holdout.given_demerit;
    let kept = kept_part(holdout.kept).unwrap_or("it is kept");
    let better = if is_better { "better" } else { "worse" };
    if is_better != is_worse_by_demerit {
        return format!("The fit is {better}: {kept}.");
    }
    let by_demerit = if is_better { "worse" } else { "not" };
    format!(
        "The fit is {better} by log likelihood, the measure that decides, but {by_demerit} by \
         demerit: {kept}."
    )
}

/// Describes the part of a fit that is kept; `None` if it is the whole fit.
fn kept_part(kept: KeptPart) -> Option<&'static str> {
    match kept {
        KeptPart::All => None,
        KeptPart::Keys => Some("the seek times are left as given"),
        KeptPart::Seeks => Some("only the fitted seek times are kept"),
        KeptPart::Nothing => Some("no part of the fit is kept"),
    }
}

/// Lists the classes with many unexplained requests, then the rest: the lines add up to
/// `not_explained` of `rows`.
fn classes(text: &mut String, conspicuous: &[Class], not_explained: u64, rows: usize) {
    if conspicuous.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\nnumbers of unexplained requests, by class\n  \
         {:<6} {:<14} {:<12} {:>13} {:>8}",
        "op", "relation", "outcome", "not explained", "of"
    );
    let (mut others, mut rest) = (not_explained, rows as u64);
    for class in conspicuous {
        let (op, relation) = (op_name(class.op), relation_name(class.relation));
        let (outcome, unexplained) = (outcome_name(class.outcome), class.unexplained());
        let count = class.count;
        others -= unexplained;
        rest -= count;
        let _ = writeln!(
            text,
            "  {op:<6} {relation:<14} {outcome:<12} {unexplained:>13} {count:>8}"
        );
    }
    let _ = writeln!(text, "  {:<34} {others:>13} {rest:>8}", "all others");
}

/// Lists the numbers that the trace determines, and the pairs that it determines only together.
fn numbers(text: &mut String, fitted: &Calibration) {
    let _ = writeln!(
        text,
        "\n{:<41} {:>8} {:>8} {:>7} {:>11}",
        "ms", "given", "fitted", "sd", "others held"
    );
    for number in &fitted.fitted {
        let _ = writeln!(
            text,
            "{:<41} {:>8.4} {:>8.4} {:>7.4} {:>11.4}",
            key(&number.quantity),
            number.given_ms,
            number.fitted_ms,
            number.sd_ms,
            number.others_held_sd_ms
        );
    }
    *text += "sd: standard deviation, with all other fitted numbers free.\n\
              others held: the same if all other numbers were known; 0.001 or less where the\n\
              likelihood has a step.\n";
    let together = CorrelatedPair::all(fitted);
    if !together.is_empty() {
        let _ = writeln!(
            text,
            "\n{:<62} {:>8} {:>7}",
            "determined more precisely in combination, ms", "fitted", "sd"
        );
    }
    for two in together {
        let sign = if two.known == "sum" { '+' } else { '-' };
        let ([a, b], ms, sd) = (two.keys, two.fitted_ms, two.sd_ms);
        let _ = writeln!(text, "{a}\n  {sign} {b:<58} {ms:>8.4} {sd:>7.4}");
    }
    for number in fitted.fitted.iter().filter(|number| number.is_doubtful) {
        let doubt = format!(
            "doubtful: {} is {:.4} ms, not {:.4} ms as given. Buses run at standard rates, so \
             this number may reflect some other effect.",
            key(&number.quantity),
            number.fitted_ms,
            number.given_ms
        );
        let _ = writeln!(text, "\n{}", prose::wrapped(&doubt, 2).trim());
    }
}

fn clock(text: &mut String, fitted: &Calibration) {
    let period_ns = fitted.spec.mechanics.period_ns;
    let _ = match fitted.clock {
        Clock::Unbroken {
            concentration,
            phase,
            breaks,
        } => writeln!(
            text,
            "clock       unbroken (phase concentration {concentration:.4}; angle lost {})\n\
             period      {:.3} us ({:.3} rpm); initial phase {:.4} revolutions",
            with_noun(breaks, "time"),
            period_ns / 1e3,
            60e9 / period_ns,
            phase.as_revolutions()
        ),
        Clock::Nominal { concentration } => writeln!(
            text,
            "clock       nominal (phase concentration {concentration:.4}): request phases are \
             unknown\nperiod      as given"
        ),
    };
}

/// Below this share of explained requests, the trace may come from another drive.
const WELL_EXPLAINED: f64 = 0.8;

pub fn warnings(fitted: &Calibration, rows: usize, trace: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    match fitted.clock {
        Clock::Nominal { .. } => warnings.push(
            "completions do not follow the rotation of the platter: the times between requests are \
             nominal, or the trace is from a drive with another layout; period and phase are left \
             as given"
                .to_owned(),
        ),
        Clock::Unbroken { breaks: 0, .. } => {}
        Clock::Unbroken { breaks, .. } => warnings.push(format!(
            "the clock has steps: the angle of the platter was lost and recovered {}",
            with_noun(breaks, "time")
        )),
    }
    let numbers = fitted.fitted.len() + fitted.undetermined.len();
    if rows < ROWS_PER_NUMBER * numbers {
        warnings.push(format!(
            "only {rows} rows for {numbers} numbers: check their standard deviations"
        ));
    }
    if let Some(holdout) = fitted.holdout
        && let Some(kept) = kept_part(holdout.kept)
    {
        warnings.push(format!(
            "the last {} rows are less likely under the fit to the other rows than under the given \
             drive: {kept}",
            holdout.rows
        ));
    }
    if fitted.explained_fraction < WELL_EXPLAINED {
        warnings.push(format!(
            "the fitted drive explains only {:.0} % of the requests: the trace may be from \
             another drive",
            100.0 * fitted.explained_fraction
        ));
    }
    let warnings = warnings.iter().map(|warning| format!("{trace}: {warning}"));
    warnings.collect()
}

#[cfg(test)]
mod tests {
    use diskarm_core::device::Outcome;
    use diskarm_core::request::Op;
    use diskarm_core::units::Span;
    use diskarm_fit::validate::Relation;

    use super::*;

    #[test]
    fn classes_and_all_others_sum_to_the_unexplained_requests() {
        let class = |op, count, explained| Class {
            op,
            relation: Relation::SameCylinder,
            outcome: Outcome::PartialHit,
            count,
            explained,
        };
        let mut text = String::new();
        classes(&mut text, &[], 7, 1000);
        assert_eq!(text, "", "no class stands out");
        let two = [class(Op::Read, 100, 60), class(Op::Write, 30, 10)];
        classes(&mut text, &two, 67, 1000);
        let table = "
numbers of unexplained requests, by class
  op     relation       outcome      not explained       of
  read   same cylinder  partial hit             40      100
  write  same cylinder  partial hit             20       30
  all others                                     7      870
";
        assert_eq!(text, table);
    }

    #[test]
    fn a_verdict_names_the_deciding_measure_if_both_disagree() {
        let verdict_of = |ln_gain: f64, fitted_ms: f64, kept: KeptPart| {
            verdict(&Holdout {
                rows: 200,
                given_demerit: Span::from_ms(0.3),
                fitted_demerit: Span::from_ms(fitted_ms),
                ln_gain,
                kept,
            })
        };
        let better = verdict_of(5.0, 0.2, KeptPart::All);
        assert_eq!(better, "The fit is better: it is kept.");
        let worse = verdict_of(5.0, 0.4, KeptPart::All);
        let decides = "by log likelihood, the measure that decides, but";
        let expected = format!("The fit is better {decides} worse by demerit: it is kept.");
        assert_eq!(worse, expected);
        let nothing = "no part of the fit is kept.";
        let worse = verdict_of(-5.0, 0.4, KeptPart::Nothing);
        assert_eq!(worse, format!("The fit is worse: {nothing}"));
        let worse = verdict_of(-5.0, 0.2, KeptPart::Nothing);
        let expected = format!("The fit is worse {decides} not by demerit: {nothing}");
        assert_eq!(worse, expected);
    }
}
