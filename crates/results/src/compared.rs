//! Results of a validation by replay: a table for people, JSON for programs.

use std::fmt::Write;

use diskarm_core::device::Outcome;
use diskarm_core::request::Op;
use diskarm_core::units::Span;
use diskarm_fit::validate::{
    ANGLES, Comparison as ResponseComparison, Distances, Figures, NEAR, PHASE_SEEDS, Relation,
    Residual, Residuals, Sizes,
};
use diskarm_simulate::measured::Comparison;
use serde::Serialize;

/// The results of one trace.
#[derive(Serialize)]
struct File<'a> {
    drive: &'a str,
    file: &'a str,
    #[serde(flatten)]
    all: ResponseSide,
    angles: u64,
    phase_seeds: [u64; PHASE_SEEDS.len()],
    reads: Option<ResponseSide>,
    writes: Option<ResponseSide>,
    residuals: Tables,
    notes: &'a [String],
}

#[derive(Serialize)]
struct ResponseSide {
    requests: u64,
    measured_mean_ms: f64,
    simulated_mean_ms: f64,
    demerit_ms: f64,
    demerit_sd_ms: f64,
    demerit_percent: Option<f64>,
    floor_ms: f64,
    floor_phase_ms: f64,
}

#[derive(Serialize)]
struct Tables {
    by_outcome: Vec<Class>,
    by_size: Vec<Class>,
    by_distance: Vec<Class>,
}

/// A row of a table of residuals; only the fields that identify its class are present.
#[derive(Serialize)]
struct Class {
    op: &'static str,
    #[serde(flatten)]
    what: What,
    requests: u64,
    measured_mean_ms: f64,
    simulated_mean_ms: f64,
    demerit_ms: f64,
}

#[derive(Serialize)]
#[serde(untagged)]
enum What {
    Outcome {
        relation: &'static str,
        outcome: &'static str,
    },
    Size {
        from_sectors: u64,
        /// `null` if there is no limit.
        end_sectors: Option<u64>,
    },
    Distance {
        from_cylinders: u32,
        /// `null` if there is no limit.
        end_cylinders: Option<u32>,
    },
}

/// The results of one trace.
pub fn json<'a>(drive: &'a str, compared: &'a Comparison) -> impl Serialize + 'a {
    let Figures {
        all,
        reads,
        writes,
        residuals,
    } = &compared.figures;
    File {
        drive,
        file: &compared.file,
        all: side(all),
        angles: ANGLES,
        phase_seeds: PHASE_SEEDS,
        reads: reads.as_ref().map(side),
        writes: writes.as_ref().map(side),
        residuals: tables(residuals),
        notes: &compared.notes,
    }
}

fn side(c: &ResponseComparison) -> ResponseSide {
    ResponseSide {
        requests: c.count,
        measured_mean_ms: c.measured_mean.as_ms(),
        simulated_mean_ms: c.simulated_mean.as_ms(),
        demerit_ms: c.demerit.as_ms(),
        demerit_sd_ms: c.demerit_sd.as_ms(),
        demerit_percent: c.demerit_percent(),
        floor_ms: c.floor.as_ms(),
        floor_phase_ms: c.floor_phase.as_ms(),
    }
}

fn tables(residuals: &Residuals) -> Tables {
    let by_outcome = residuals.by_outcome.iter().map(|(op, r, outcome, found)| {
        let (relation, outcome) = (relation_name(*r), outcome_name(*outcome));
        class(*op, What::Outcome { relation, outcome }, found)
    });
    let by_size = residuals
        .by_size
        .iter()
        .map(|(op, Sizes { from, end }, found)| {
            let (from_sectors, end_sectors) = (from.0, end.map(|end| end.0));
            class(
                *op,
                What::Size {
                    from_sectors,
                    end_sectors,
                },
                found,
            )
        });
    let by_distance = residuals.by_distance.iter().map(|(op, distances, found)| {
        let Distances {
            from_cylinders,
            end_cylinders,
        } = *distances;
        class(
            *op,
            What::Distance {
                from_cylinders,
                end_cylinders,
            },
            found,
        )
    });
    Tables {
        by_outcome: by_outcome.collect(),
        by_size: by_size.collect(),
        by_distance: by_distance.collect(),
    }
}

fn class(op: Op, what: What, residual: &Residual) -> Class {
    Class {
        op: op_name(op),
        what,
        requests: residual.count,
        measured_mean_ms: residual.measured_mean.as_ms(),
        simulated_mean_ms: residual.simulated_mean.as_ms(),
        demerit_ms: residual.demerit.as_ms(),
    }
}

pub(crate) fn op_name(op: Op) -> &'static str {
    if op.is_read() { "read" } else { "write" }
}

pub(crate) fn relation_name(relation: Relation) -> &'static str {
    match relation {
        Relation::Sequential => "sequential",
        Relation::SameTrack => "same track",
        Relation::SameCylinder => "same cylinder",
        Relation::Near => "near",
        Relation::Far => "far",
    }
}

pub(crate) fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Miss => "miss",
        Outcome::Hit => "hit",
        Outcome::PartialHit => "partial hit",
        Outcome::Absorbed => "absorbed",
    }
}

const HEADING: &str =
    "                measured simulated  demerit             sd   floor floor_phase
       requests      _ms       _ms      _ms      %     _ms     _ms         _ms
";
const RESIDUALS: &str = "                                          measured simulated  demerit
from the previous request's end  requests      _ms       _ms      _ms
";

/// Two tables for each trace, at most 80 columns wide.
pub fn text(drive: &str, compared: &[Comparison]) -> String {
    let mut text = String::new();
    for one in compared {
        // Writing to a string cannot fail.
        let _ = write!(text, "{drive}, {}\n\n{HEADING}", one.file);
        let Figures {
            all,
            reads,
            writes,
            residuals,
        } = &one.figures;
        let sides = [
            ("all", Some(all)),
            ("reads", reads.as_ref()),
            ("writes", writes.as_ref()),
        ];
        for (name, side) in sides {
            text += &side.map(|side| line(name, side)).unwrap_or_default();
        }
        text += &classes(residuals);
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "Demerit: mean over {ANGLES} initial angles; sd and floor: between these. floor_phase:\n\
         between replays with random phases. Lower table: one replay, by where the\n\
         previous request ended, up to {} blocks away if near, and by what the model's\n\
         buffer did. `diskarm validate --help` has details.",
        NEAR.0,
    );
    text
}

fn ms(span: Span) -> f64 {
    span.as_ms()
}

fn line(name: &str, c: &ResponseComparison) -> String {
    let percent = c.demerit_percent().map(|percent| format!("{percent:.2}"));
    format!(
        "{name:6} {:8} {:8.3} {:9.3} {:8.4} {:>6} {:7.4} {:7.4} {:11.4}\n",
        c.count,
        ms(c.measured_mean),
        ms(c.simulated_mean),
        ms(c.demerit),
        percent.unwrap_or_default(),
        ms(c.demerit_sd),
        ms(c.floor),
        ms(c.floor_phase),
    )
}

/// Formats the differences by the position of the previous request and the outcome of the buffer.
fn classes(residuals: &Residuals) -> String {
    let mut text = format!("\n{RESIDUALS}");
    for (op, relation, outcome, found) in &residuals.by_outcome {
        let Residual {
            count,
            measured_mean,
            simulated_mean,
            demerit,
        } = *found;
        let _ = writeln!(
            text,
            "{:5}  {:13}  {:11} {count:8} {:8.3} {:9.3} {:8.4}",
            op_name(*op),
            relation_name(*relation),
            outcome_name(*outcome),
            ms(measured_mean),
            ms(simulated_mean),
            ms(demerit),
        );
    }
    text
}
