//! Results of a validation by replay: a table for people, JSON for programs.

use std::fmt::Write;

use diskarm_core::device::Outcome;
use diskarm_core::request::Op;
use diskarm_fit::validate::{
    ANGLES, Comparison as ResponseComparison, Figures, NEAR, PHASE_SEEDS, Relation, Residual,
    Residuals, Sizes,
};
use diskarm_simulate::measured::Comparison;
use serde_json::{Value, json};

use crate::merged;

pub fn json(drive: &str, compared: &Comparison) -> Value {
    let Figures {
        all,
        reads,
        writes,
        residuals,
    } = &compared.figures;
    merged([
        json!({ "drive": drive, "file": compared.file }),
        comparison(all),
        json!({
            "angles": ANGLES,
            "phase_seeds": PHASE_SEEDS,
            "reads": reads.as_ref().map(comparison),
            "writes": writes.as_ref().map(comparison),
            "residuals": tables(residuals),
            "notes": compared.notes,
        }),
    ])
}

fn comparison(c: &ResponseComparison) -> Value {
    json!({
        "requests": c.count,
        "measured_mean_ms": c.measured_mean.as_ms(),
        "simulated_mean_ms": c.simulated_mean.as_ms(),
        "demerit_ms": c.demerit.as_ms(),
        "demerit_sd_ms": c.demerit_sd.as_ms(),
        "demerit_percent": c.demerit_percent(),
        "floor_ms": c.floor.as_ms(),
        "floor_phase_ms": c.floor_phase.as_ms(),
    })
}

fn tables(residuals: &Residuals) -> Value {
    let outcomes = residuals.by_outcome.iter();
    let by_outcome = outcomes.map(|(op, relation, outcome, found)| {
        let (relation, outcome) = (relation_name(*relation), outcome_name(*outcome));
        let keys = json!({ "relation": relation, "outcome": outcome });
        class(*op, keys, found)
    });
    let by_size = residuals.by_size.iter();
    let by_size = by_size.map(|(op, sizes, found)| class(*op, size_range(sizes), found));
    let by_distance = residuals.by_distance.iter().map(|(op, distances, found)| {
        let (from, end) = (distances.from_cylinders, distances.end_cylinders);
        let keys = json!({ "from_cylinders": from, "end_cylinders": end });
        class(*op, keys, found)
    });
    json!({
        "by_outcome": by_outcome.collect::<Value>(),
        "by_size": by_size.collect::<Value>(),
        "by_distance": by_distance.collect::<Value>(),
    })
}

/// Returns the bounds of sizes as JSON; a missing end is null.
pub(crate) fn size_range(sizes: &Sizes) -> Value {
    json!({ "from_sectors": sizes.from.0, "end_sectors": sizes.end.map(|end| end.0) })
}

/// Returns a row of a table of residuals, with the keys that identify its class.
fn class(op: Op, keys: Value, residual: &Residual) -> Value {
    let values = json!({
        "requests": residual.count,
        "measured_mean_ms": residual.measured_mean.as_ms(),
        "simulated_mean_ms": residual.simulated_mean.as_ms(),
        "demerit_ms": residual.demerit.as_ms(),
    });
    merged([json!({ "op": op_name(op) }), keys, values])
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
const RESIDUALS: &str = "                                           measured simulated  demerit
op     position       outcome     requests      _ms       _ms      _ms
";

/// Formats two tables for each trace, at most 80 columns wide.
pub fn text(drive: &str, compared: &[Comparison]) -> String {
    let mut text = String::new();
    for one in compared {
        // Writing to a string cannot fail.
        let _ = write!(text, "{drive}, {}\n\n{HEADING}", one.file);
        let figures = &one.figures;
        text += &line("all", &figures.all);
        for (name, compared) in [("reads", &figures.reads), ("writes", &figures.writes)] {
            let line = compared.as_ref().map(|compared| line(name, compared));
            text += &line.unwrap_or_default();
        }
        text += &classes(&figures.residuals);
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "Demerit: mean over {ANGLES} initial angles; sd: its standard deviation. floor: mean\n\
         demerit between replays from these angles; floor_phase: the same with random\n\
         phases. Lower table: one replay, by position relative to the previous request\n\
         (near: within {} blocks) and buffer outcome. See `diskarm validate --help`.",
        NEAR.0,
    );
    text
}

fn line(name: &str, c: &ResponseComparison) -> String {
    let percent = c.demerit_percent().map(|percent| format!("{percent:.2}"));
    format!(
        "{name:6} {:8} {:8.3} {:9.3} {:8.4} {:>6} {:7.4} {:7.4} {:11.4}\n",
        c.count,
        c.measured_mean.as_ms(),
        c.simulated_mean.as_ms(),
        c.demerit.as_ms(),
        percent.unwrap_or_default(),
        c.demerit_sd.as_ms(),
        c.floor.as_ms(),
        c.floor_phase.as_ms(),
    )
}

/// Formats the differences by outcome and by position relative to the previous request.
fn classes(residuals: &Residuals) -> String {
    let mut text = format!("\n{RESIDUALS}");
    for (op, relation, outcome, found) in &residuals.by_outcome {
        let _ = writeln!(
            text,
            "{:5}  {:13}  {:11} {:8} {:8.3} {:9.3} {:8.4}",
            op_name(*op),
            relation_name(*relation),
            outcome_name(*outcome),
            found.count,
            found.measured_mean.as_ms(),
            found.simulated_mean.as_ms(),
            found.demerit.as_ms(),
        );
    }
    text
}
