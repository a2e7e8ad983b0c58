//! Fits a drive's specification to a measured trace.
//!
//! [`calibrate()`] searches for the specification that makes the responses of a trace most likely.
//! A [`Predictor`] follows the trace with a candidate; `likelihood` computes how likely each
//! response was; `search` moves the candidate's numbers ([`Coordinate`]: overheads, bus rates,
//! corrections to the seek curves) and adopts behaviours that explain more (`switch`). Numbers that
//! the trace does not determine stay as given, and the [`Calibration`] lists them. [`edits()`]
//! expresses the result as edits of the given specification's text.
//!
//! There are two kinds of traces ([`Clock`]). If the times between requests were measured too, the
//! completions give the platter's angle throughout, and every response shows whether the arm came
//! before or after its sector. If they are nominal, the angle of each request is unknown: its wait
//! is uniform over a revolution, and overheads and seek times show in the edges.
//!
//! Nothing is random and everything runs on one thread: the same trace gives the same numbers.
//!
//! [`Predictor`]: diskarm_core::predict::Predictor

mod candidate;
mod certainty;
mod held;
mod likelihood;
mod objective;
mod parameter;
mod search;
mod switch;
mod trace;

use std::sync::Arc;

use crate::validate::{Locked, LockedFigures, Measured};
use diskarm_core::geometry::Layout;
use diskarm_core::predict::Continuity;
use diskarm_core::spec::{Key, KeyKind, Spec};
use diskarm_core::units::Angle;
use diskarm_drives::text::Edit;

pub use candidate::Coordinate;
use candidate::{Candidate, Direction};
use certainty::Certainty;
pub use certainty::{Covariance, Fitted, Pair, Quantity};
pub use held::{Held, Kept, ROWS_A_NUMBER};
pub use objective::Class;
use objective::Objective;
pub use parameter::edits;
use search::Search;
use trace::Trace;

/// The result of fitting a drive to a trace.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The fitted specification. Its name and its source are those of the given one.
    pub spec: Spec,
    /// The layout of its blocks.
    pub layout: Arc<Layout>,
    /// The kind of clock that the trace has.
    pub clock: Clock,
    /// Behaviours that replace the given ones, as lines of a specification.
    pub behaviours: Vec<String>,
    /// Numbers that the trace determines.
    pub fitted: Vec<Fitted>,
    /// The covariance of these numbers.
    pub covariance: Covariance,
    /// Numbers that the trace does not determine: keys stay as given, seek times follow their
    /// neighbours.
    pub left: Vec<Quantity>,
    /// Share of the requests that the fitted drive explains: their responses are more likely under
    /// its predictions, with the scatter of its errors, than as outliers.
    pub explained_fraction: f64,
    /// The number of requests that it does not explain.
    pub unexplained_requests: u64,
    /// The classes in which it leaves at least ten requests, and a tenth of the class, unexplained;
    /// the largest number first.
    pub unexplained: Vec<Class>,
    /// The comparison with the given drive on rows that were held back; `None` if the trace is too
    /// short for that.
    pub held: Option<Held>,
    /// The number of times the trace was followed.
    pub evaluations: u64,
}

/// The clock of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clock {
    /// The times between requests were measured: the platter's angle can be followed.
    Unbroken {
        /// Mean resultant length of the angles of media completions about the predicted ones,
        /// from 0 to 1.
        concentration: f64,
        /// The angle under the heads when the first request was issued, in the fitted layout.
        phase: Angle,
        /// The number of times the angle was lost and found again.
        breaks: u64,
    },
    /// They were not measured, or the layout belongs to another drive: no angle is known.
    Nominal {
        /// See [`Self::Unbroken`].
        concentration: f64,
    },
}

/// The reason that a drive cannot be fitted to a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unfit {
    /// The trace has fewer rows than the specification has numbers to fit.
    TooShort {
        /// The number of rows.
        rows: usize,
        /// The number of numbers to fit.
        numbers: usize,
    },
    /// The drive explains so few requests, with any numbers, that the trace must
    /// come from another drive.
    OtherDrive {
        /// The share that it explains.
        explained_fraction: f64,
    },
}

/// The progress of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The number of stages done.
    pub done: u64,
    /// The number of all stages.
    pub stages: u64,
}

/// The minimum share of requests that the measured drive explains.
const MIN_EXPLAINED: f64 = 0.5;

/// Fits `given`, whose blocks are arranged as in `layout`, to `rows`; calls `progress` before each
/// stage.
///
/// # Errors
/// If the trace is too short or from another drive.
///
/// # Panics
/// If the drive has no such blocks.
pub fn calibrate(
    given: &Spec,
    layout: &Arc<Layout>,
    rows: &[Measured],
    mut progress: impl FnMut(Progress),
) -> Result<Calibration, Unfit> {
    let first = Candidate::new(given, Arc::clone(layout));
    let numbers = first.coordinates().len();
    if rows.len() < numbers {
        let rows = rows.len();
        return Err(Unfit::TooShort { rows, numbers });
    }
    let (continuity, concentration, _) = clock(given, layout, rows);
    let (training, held) = held::split(rows, numbers);
    let training = Trace::new(training.to_vec(), layout);
    let search = run(&training, &first, continuity, &mut progress);
    let found = search.candidate;
    let mut evaluations = search.objective.evaluations.get();
    let held = held.map(|rows| held::compare(&first, found.clone(), rows, continuity));
    let (held, found) = match held {
        Some((held, kept)) => (Some(held), kept),
        None => (None, found),
    };
    let trace = Trace::new(rows.to_vec(), layout);
    let mut search = Search::new(Objective::new(&trace, given, continuity), found);
    search.learn_noise();
    if held.is_none_or(|held| held.kept == Kept::All) {
        progress(Progress {
            done: STAGES.len() as u64 + 1,
            stages: STAGES.len() as u64 + 2,
        });
        finish(&mut search);
    }
    let keeps_nothing = held.is_some_and(|held| held.kept == Kept::Nothing);
    let (mut spec, certainty) = settle(&mut search, keeps_nothing);
    evaluations += search.objective.evaluations.get();
    let layout = Arc::clone(&search.candidate.layout);
    let predictor = trace.follow(&spec, &layout, continuity, |_, _| {});
    let clock = match continuity {
        Continuity::Unbroken => {
            if !keeps_nothing {
                spec.mechanics.period_ns = predictor.clock().period_ns();
            }
            let (_, concentration, breaks) = self::clock(&spec, &layout, rows);
            Clock::Unbroken {
                concentration,
                phase: predictor.angle(crate::validate::FIRST),
                breaks,
            }
        }
        Continuity::Unknown => Clock::Nominal { concentration },
    };
    let classes = search.objective.classes(&search.candidate);
    let explained_fraction = objective::explained_fraction(&classes);
    if explained_fraction < MIN_EXPLAINED {
        return Err(Unfit::OtherDrive { explained_fraction });
    }
    let changes = edits(given, &spec);
    let behaviours = changes.iter().filter(|edit| !is_number(edit));
    let behaviours = behaviours.map(Edit::to_string).collect();
    Ok(Calibration {
        spec,
        layout,
        clock,
        behaviours,
        fitted: certainty.fitted,
        covariance: certainty.covariance,
        left: certainty.left,
        explained_fraction,
        unexplained_requests: classes.iter().map(Class::unexplained).sum(),
        unexplained: objective::standing_out(classes),
        held,
        evaluations,
    })
}

/// Returns the specification found and the certainty of its numbers; the given one if nothing is
/// kept.
fn settle(search: &mut Search<'_>, keeps_nothing: bool) -> (Spec, Certainty) {
    if keeps_nothing {
        let given = &search.candidate;
        return (given.build(), Certainty::as_given(given));
    }
    let certainty = certainty::weigh(search);
    let mut spec = search.candidate.build();
    search.objective.set_chance(&mut spec, &search.candidate);
    (spec, certainty)
}

/// Returns true if an edit sets a time, the period or a curve.
fn is_number(edit: &Edit) -> bool {
    let kind = Key::find(&edit.key).map(|key| key.kind);
    matches!(
        kind,
        Some(KeyKind::Time { .. } | KeyKind::Rotation | KeyKind::SeekCurve)
    )
}

/// Returns the clock of the trace, the concentration of its angles, and the number of its breaks.
fn clock(given: &Spec, layout: &Arc<Layout>, rows: &[Measured]) -> (Continuity, f64, u64) {
    let nothing = (Continuity::Unknown, 0.0, 0);
    let layout = Arc::clone(layout);
    let Ok(locked) = Locked::follow(given, layout, rows, Continuity::Unbroken) else {
        return nothing;
    };
    let Some(figures) = LockedFigures::of(&locked, 0..rows.len()) else {
        return nothing;
    };
    let concentration = figures.phase_concentration_ratio.unwrap_or(0.0);
    if figures.clock_is_unbroken() != Some(true) {
        return (Continuity::Unknown, concentration, 0);
    }
    let pairs = locked.rows().windows(2);
    let lost = pairs.filter(|two| two[0].locked && !two[1].locked);
    (Continuity::Unbroken, concentration, lost.count() as u64)
}

/// The first stages of a search, from each start.
const FIRST: [fn(&mut Search<'_>); 2] = [
    |search| search.sweep(&only_parameters(&search.candidate), 1.5, 5, 4),
    |search| search.choose(),
];

/// The stages after them, in order, from the best: coarse first, then fine.
const STAGES: [fn(&mut Search<'_>); 8] = [
    |search| {
        search.sweep(&only_parameters(&search.candidate), 2.0, 9, 5);
        search.learn_noise();
    },
    refine,
    |search| search.choose(),
    refine,
    |search| {
        search.sweep(&search.candidate.directions(), 1.5, 7, 5);
        search.learn_noise();
    },
    |search| search.try_write_seek(),
    |search| {
        search.sweep(&search.candidate.directions(), 0.5, 1, 6);
        search.learn_noise();
    },
    |search| search.choose(),
];

/// The last stage, once for the rows of the search and once for all rows.
fn finish(search: &mut Search<'_>) {
    search.sweep(&search.candidate.directions(), 0.5, 1, 6);
    search.sweep(&search.candidate.directions(), 0.3, 1, 6);
    refine(search);
}

/// Moves the keys by ever smaller steps: the likelihood of buffered requests has sharp edges, from
/// which only small steps lead away.
fn refine(search: &mut Search<'_>) {
    for scale in [1.0, 0.3, 0.1, 0.03] {
        search.sweep(&only_parameters(&search.candidate), scale, 5, 6);
        search.learn_noise();
    }
}

/// Searches from several starts, and continues from the best.
fn run<'t>(
    trace: &'t Trace,
    given: &'t Candidate,
    continuity: Continuity,
    progress: &mut impl FnMut(Progress),
) -> Search<'t> {
    let stages = STAGES.len() as u64 + 2;
    progress(Progress { done: 0, stages });
    let mut evaluations = 0;
    let begun = given.starts().into_iter().map(|start| {
        let objective = Objective::new(trace, &given.spec, continuity);
        let mut search = Search::new(objective, start);
        FIRST.iter().for_each(|stage| stage(&mut search));
        evaluations += search.objective.evaluations.get();
        search
    });
    // The first of equals, which starts from the given specification.
    let best = begun.reduce(|best, next| if next.score > best.score { next } else { best });
    let mut search = best.expect("a start");
    search.objective.evaluations.set(evaluations);
    for (done, stage) in (1..).zip(STAGES) {
        progress(Progress { done, stages });
        stage(&mut search);
    }
    finish(&mut search);
    search
}

fn only_parameters(candidate: &Candidate) -> Vec<Direction> {
    let is_key = |(at, _): &(Coordinate, f64)| matches!(at, Coordinate::Parameter(_));
    let all = candidate.directions().into_iter();
    all.filter(|along| along.iter().all(is_key)).collect()
}
