//! Results of a validation request by request: a table for people, JSON for programs.

use std::fmt::Write;

use diskarm_core::request::Op;
use diskarm_core::units::Span;
use diskarm_fit::validate::{Accuracy, Judged, LockedFigures, Served, Sizes};
use diskarm_simulate::measured::Predictions;
use serde::Serialize;

use crate::compared::op_name;

/// The results of one trace.
#[derive(Serialize)]
struct File<'a> {
    drive: &'a str,
    file: &'a str,
    /// Rows that the model learned from and that are not judged.
    history: usize,
    /// The judged requests that were predicted without knowing the platter's angle.
    unlocked: u64,
    /// `null`, like `clock`, if no request was timed by the media.
    phase_concentration: Option<f64>,
    clock: Option<&'static str>,
    #[serde(flatten)]
    all: PredictorPair,
    reads: Option<PredictorPair>,
    writes: Option<PredictorPair>,
    by_served: Vec<Class>,
    by_size: Vec<Class>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct PredictorPair {
    requests: u64,
    #[serde(flatten)]
    model: Figures,
    trivial: Figures,
}

#[derive(Serialize)]
struct Figures {
    same_revolution_rate: f64,
    /// This and the next are `null` if no error is below half a revolution.
    median_abs_error_ms: Option<f64>,
    p95_abs_error_ms: Option<f64>,
    within_0_25ms_rate: f64,
}

/// A row of a table; only the fields that identify its class are present.
#[derive(Serialize)]
struct Class {
    op: &'static str,
    #[serde(flatten)]
    what: What,
    #[serde(flatten)]
    side: PredictorPair,
}

#[derive(Serialize)]
#[serde(untagged)]
enum What {
    Served {
        served: &'static str,
    },
    Size {
        from_sectors: u64,
        /// `null` if there is no limit.
        end_sectors: Option<u64>,
    },
}

/// The results of one trace.
pub fn json<'a>(drive: &'a str, judged: &'a Predictions) -> impl Serialize + 'a {
    let figures = &judged.figures;
    let of = |op: Op| figures.by_op.iter().find(|found| found.0 == op);
    let by_served = figures.by_served.iter().map(|(op, served, judged)| Class {
        op: op_name(*op),
        what: What::Served {
            served: served_name(*served),
        },
        side: side(judged),
    });
    let by_size = figures.by_size.iter().map(|(op, sizes, judged)| Class {
        op: op_name(*op),
        what: What::Size {
            from_sectors: sizes.from.0,
            end_sectors: sizes.end.map(|end| end.0),
        },
        side: side(judged),
    });
    File {
        drive,
        file: &judged.file,
        history: judged.range.start,
        unlocked: figures.unlocked,
        phase_concentration: figures.phase_concentration_ratio,
        clock: clock(figures),
        all: side(&figures.all),
        reads: of(Op::Read).map(|(_, judged)| side(judged)),
        writes: of(Op::Write).map(|(_, judged)| side(judged)),
        by_served: by_served.collect(),
        by_size: by_size.collect(),
        notes: &judged.notes,
    }
}

fn side(judged: &Judged) -> PredictorPair {
    PredictorPair {
        requests: judged.count,
        model: accuracy(&judged.model),
        trivial: accuracy(&judged.trivial),
    }
}

fn accuracy(accuracy: &Accuracy) -> Figures {
    Figures {
        same_revolution_rate: accuracy.same_revolution_fraction,
        median_abs_error_ms: accuracy.median_abs_error.map(Span::as_ms),
        p95_abs_error_ms: accuracy.p95_abs_error.map(Span::as_ms),
        within_0_25ms_rate: accuracy.within_0_25ms_fraction,
    }
}

fn clock(figures: &LockedFigures) -> Option<&'static str> {
    let name = |unbroken| if unbroken { "unbroken" } else { "broken" };
    figures.clock_is_unbroken().map(name)
}

fn served_name(served: Served) -> &'static str {
    match served {
        Served::Hit => "hit",
        Served::Miss => "miss",
    }
}

/// A table for each trace.
pub fn text(drive: &str, judged: &[Predictions]) -> String {
    let mut text = String::new();
    for one in judged {
        let figures = &one.figures;
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "{drive}, {}\n\n{}\n{HEAD}",
            one.file,
            about(one.range.start, figures)
        );
        text += &line("all", &figures.all);
        for (op, judged) in &figures.by_op {
            text += &line(&format!("{}s", op_name(*op)), judged);
        }
        for (op, served, judged) in &figures.by_served {
            let plural = if *served == Served::Hit {
                "hits"
            } else {
                "misses"
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

/// The basis of the figures.
fn about(history: usize, figures: &LockedFigures) -> String {
    let concentration = match (figures.phase_concentration_ratio, clock(figures)) {
        (Some(found), Some(clock)) => format!("phase_concentration {found:.4}: clock {clock}"),
        _ => "no request waited for the media".to_owned(),
    };
    format!(
        "{} requests judged after {history} of history\n\
         {} of them predicted without knowing the platter's angle\n{concentration}",
        figures.all.count, figures.unlocked
    )
}

fn range(sizes: &Sizes) -> String {
    let end = sizes.end.map(|end| end.0.to_string());
    format!("{}..{}", sizes.from.0, end.unwrap_or_default())
}

fn line(name: &str, judged: &Judged) -> String {
    let mut line = format!("{name:13}{:7}", judged.count);
    let Judged { model, trivial, .. } = judged;
    let ms = |span: Option<Span>| span.map(|span| format!("{:.3}", span.as_ms()));
    let rate = |rate: f64| Some(format!("{rate:.4}"));
    for (model, trivial) in [
        (
            rate(model.same_revolution_fraction),
            rate(trivial.same_revolution_fraction),
        ),
        (ms(model.median_abs_error), ms(trivial.median_abs_error)),
        (ms(model.p95_abs_error), ms(trivial.p95_abs_error)),
        (
            rate(model.within_0_25ms_fraction),
            rate(trivial.within_0_25ms_fraction),
        ),
    ] {
        let [model, trivial] = [model, trivial].map(Option::unwrap_or_default);
        let _ = write!(line, " {model:>6} {trivial:>7}");
    }
    line.push('\n');
    line
}
