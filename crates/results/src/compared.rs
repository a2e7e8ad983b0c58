//! Results of a validation by replay: a table for people, JSON for programs.

mod table;

pub use table::text;

use diskarm_core::device::Outcome;
use diskarm_core::request::Op;
use diskarm_core::stats::Sorted;
use diskarm_fit::validate::{
    ANGLES, Comparison, Distances, Figures, PHASE_SEEDS, Relation, Replayed, Residual, Residuals,
    Sizes, Validation,
};
use diskarm_simulate::measured::{self, RowRange};
use diskarm_simulate::{Error, Model, Reading};
use serde::Serialize;

/// One trace against the drive.
pub struct Compared {
    /// The trace.
    pub file: String,
    /// The distances between measured and simulated response times.
    pub figures: Figures,
    /// Measured response times.
    pub measured: Sorted,
    /// Simulated response times, with the platter initially at angle zero.
    pub simulated: Sorted,
    /// Doubts about the trace.
    pub notes: Vec<String>,
}

/// The results of one trace.
#[derive(Serialize)]
struct File<'a> {
    drive: &'a str,
    file: &'a str,
    #[serde(flatten)]
    all: Side,
    angles: u64,
    phase_seeds: [u64; PHASE_SEEDS.len()],
    reads: Option<Side>,
    writes: Option<Side>,
    residuals: Tables,
    notes: &'a [String],
}

#[derive(Serialize)]
struct Side {
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
pub fn json<'a>(drive: &'a str, compared: &'a Compared) -> impl Serialize + 'a {
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

fn side(c: &Comparison) -> Side {
    Side {
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

/// Replays `rows` of the trace in `file`; `progress` is called with the number of replays done.
///
/// # Errors
/// If the trace is invalid.
pub fn compare(
    drive: &Model,
    file: &str,
    reading: &Reading,
    rows: RowRange,
    progress: impl Fn(u64) + Sync,
) -> Result<Compared, Error> {
    let taken = measured::read(file, reading, rows, drive)?;
    let validation = Validation::new(&drive.spec, drive.layout().clone(), taken.rows);
    let replays = measured::replays(&validation, progress)?;
    Ok(Compared {
        file: file.to_owned(),
        figures: Figures::of(&validation, &replays),
        measured: validation.measured(),
        simulated: responses(&replays[0]),
        notes: taken.notes,
    })
}

fn responses(replay: &Replayed) -> Sorted {
    replay.responses.iter().copied().collect()
}
