//! Results of a validation request by request: a table for people, JSON for programs.

use std::fmt::Write;

use diskarm_core::request::Op;
use diskarm_core::units::Span;
use diskarm_fit::validate::{Accuracy, Judgement, PredictedService, PredictionFigures, Sizes};
use diskarm_simulate::measured::Predictions;
use serde_json::{Value, json};

use crate::compared::{op_name, size_range};
use crate::merged;

/// Returns the results of one trace as JSON. Concentration and clock are null if no request's time
/// depends on the media.
pub fn json(drive: &str, judged: &Predictions) -> Value {
    let figures = &judged.figures;
    let accuracies_of = |op: Op| {
        let found = figures.by_op.iter().find(|(other, _)| *other == op);
        found.map(|(_, judged)| accuracies(judged))
    };
    let by_served = figures.by_served.iter().map(|(op, served, judged)| {
        let served = match served {
            PredictedService::Hit => "hit",
            PredictedService::Miss => "miss",
        };
        let class = json!({ "op": op_name(*op), "served": served });
        merged([class, accuracies(judged)])
    });
    let by_size = figures.by_size.iter().map(|(op, sizes, judged)| {
        let op = json!({ "op": op_name(*op) });
        merged([op, size_range(sizes), accuracies(judged)])
    });
    merged([
        json!({
            "drive": drive,
            "file": judged.file,
            "history": judged.range.start,
            "unlocked": figures.unlocked,
            "phase_concentration": figures.phase_concentration_ratio,
            "clock": clock(figures),
        }),
        accuracies(&figures.all),
        json!({
            "reads": accuracies_of(Op::Read),
            "writes": accuracies_of(Op::Write),
            "by_served": by_served.collect::<Value>(),
            "by_size": by_size.collect::<Value>(),
            "notes": judged.notes,
        }),
    ])
}

fn accuracies(judged: &Judgement) -> Value {
    merged([
        json!({ "requests": judged.count }),
        accuracy(&judged.model),
        json!({ "trivial": accuracy(&judged.trivial) }),
    ])
}

/// Returns JSON, with a null median and percentile if no error is below half a revolution.
fn accuracy(accuracy: &Accuracy) -> Value {
    json!({
        "same_revolution_rate": accuracy.same_revolution_fraction,
        "median_abs_error_ms": accuracy.median_abs_error.map(Span::as_ms),
        "p95_abs_error_ms": accuracy.p95_abs_error.map(Span::as_ms),
        "within_0_25ms_rate": accuracy.within_0_25ms_fraction,
    })
}

fn clock(figures: &PredictionFigures) -> Option<&'static str> {
    let name = |unbroken| if unbroken { "unbroken" } else { "broken" };
    figures.is_clock_unbroken().map(name)
}

pub fn text(drive: &str, judged: &[Predictions]) -> String {
    let mut text = String::new();
    for one in judged {
        let figures = &one.figures;
        let heading = heading(one.range.start, figures);
        text += &format!("{drive}, {}\n\n{heading}\n{HEAD}", one.file);
        text += &line("all", &figures.all);
        for (op, judged) in &figures.by_op {
            text += &line(&format!("{}s", op_name(*op)), judged);
        }
        for (op, served, judged) in &figures.by_served {
            let plural = match served {
                PredictedService::Hit => "hits",
                PredictedService::Miss => "misses",
            };
            text += &line(&format!("{} {plural}", op_name(*op)), judged);
        }
        for (op, sizes, judged) in &figures.by_size {
            text += &line(&format!("{}s {}", op_name(*op), range(sizes)), judged);
        }
        text.push('\n');
    }
    text + FOOT
}

const HEAD: &str = "
                    same_revolution     median_abs        p95_abs  within_0_25ms
                              _rate      _error_ms      _error_ms          _rate
            requests  model trivial  model trivial  model trivial  model trivial
";

const FOOT: &str = "\
Sizes in sectors. trivial: the mean response of earlier requests of the same
type and size. `diskarm validate --help` has details.
";

fn heading(history: usize, figures: &PredictionFigures) -> String {
    let concentration = match (figures.phase_concentration_ratio, clock(figures)) {
        (Some(found), Some(clock)) => format!("phase_concentration {found:.4}: clock {clock}"),
        _ => "no request waited for the media".to_owned(),
    };
    format!(
        "{} requests evaluated, with the {history} before them as history\n\
         {} of them predicted without knowing the platter's angle\n{concentration}",
        figures.all.count, figures.unlocked
    )
}

fn range(sizes: &Sizes) -> String {
    let end = sizes.end.map(|end| end.0.to_string());
    format!("{}..{}", sizes.from.0, end.unwrap_or_default())
}

fn line(name: &str, judged: &Judgement) -> String {
    let mut line = format!("{name:13}{:7}", judged.count);
    let Judgement { model, trivial, .. } = judged;
    let ms = |span: Option<Span>| span.map(|span| format!("{:.3}", span.as_ms()));
    let rate = |rate: f64| Some(format!("{rate:.4}"));
    let cells = |accuracy: &Accuracy| {
        [
            rate(accuracy.same_revolution_fraction),
            ms(accuracy.median_abs_error),
            ms(accuracy.p95_abs_error),
            rate(accuracy.within_0_25ms_fraction),
        ]
        .map(Option::unwrap_or_default)
    };
    for (model, trivial) in cells(model).iter().zip(cells(trivial)) {
        let _ = write!(line, " {model:>6} {trivial:>7}");
    }
    line.push('\n');
    line
}
