//! Fits a drive's specification to a measured trace.
//!
//! [`calibrate()`] searches for the specification that makes the responses of a trace most likely.
//! A [`Predictor`] follows the trace with a candidate; `likelihood` computes how likely each
//! response was; `search` moves the candidate's numbers ([`Coordinate`]: overheads, bus rates,
//! corrections to the seek curves) and adopts behaviours that explain more (`switch`). Numbers that
//! the trace does not determine stay as given, and the [`Calibration`] lists them. [`edits()`]
//! expresses the result as edits of the given specification's text.
//!
//! There are two kinds of traces ([`Clock`]). If the times between requests were also measured, the
//! completions give the platter's angle throughout, and every response shows whether the arm
//! arrived before or after its sector. If these times are nominal, the angle of each request is
//! unknown: waits are uniform over a revolution, and only the edges of this range reveal overheads
//! and seek times.
//!
//! Nothing is random and everything runs on one thread, so the same trace gives the same result.
//!
//! [`Predictor`]: diskarm_core::predict::Predictor

mod candidate;
mod certainty;
mod likelihood;
mod objective;
mod search;
mod switch;

use std::sync::Arc;

use diskarm_core::geometry::Layout;
use diskarm_core::predict::Continuity;
use diskarm_core::spec::{Key, KeyKind, Spec};
use diskarm_core::stats::{SortedSpans, demerit};
use diskarm_core::units::{Angle, Span};
use diskarm_drives::text::Edit;

use crate::validate::{FollowedTrace, MeasuredRequest, PredictionFigures, Validation, Variant};
use candidate::{Candidate, Direction};
pub use candidate::{Coordinate, edits};
use certainty::Certainty;
pub use certainty::{CorrelatedPair, Covariance, FittedNumber, Quantity};
use likelihood::Trace;
pub use objective::Class;
use objective::Objective;
use search::Search;

#[derive(Clone, Debug)]
pub struct Calibration {
    /// The fitted specification, with the name and source of the given one.
    pub spec: Spec,
    pub layout: Arc<Layout>,
    pub clock: Clock,
    /// Behaviours that differ from the given ones, as lines of a specification.
    pub behaviours: Vec<String>,
    /// Numbers that the trace determines.
    pub fitted: Vec<FittedNumber>,
    pub covariance: Covariance,
    /// Undetermined numbers: keys keep their given values, and seek times follow their neighbours.
    pub undetermined: Vec<Quantity>,
    /// The share of the requests that the fitted drive explains: their responses are more likely
    /// under its predictions, with the scatter of its errors, than as outliers.
    pub explained_fraction: f64,
    pub unexplained_requests: u64,
    /// The classes in which at least ten requests, and at least a tenth of all, are unexplained,
    /// the class with the most first.
    pub unexplained: Vec<Class>,
    /// The comparison with the given drive on held-back rows; `None` if the trace is too short.
    pub holdout: Option<Holdout>,
    /// The number of evaluations of the likelihood of the trace.
    pub evaluations: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clock {
    /// The times between requests were measured: the platter's angle can be followed.
    Unbroken {
        /// The mean resultant length of the angles of media completions relative to the predicted
        /// ones, from 0 to 1.
        concentration: f64,
        /// The angle under the heads when the first request was issued, in the fitted layout.
        phase: Angle,
        /// The number of times that the angle was lost and found again.
        breaks: u64,
    },
    /// The times between requests were not measured, or the layout is another drive's.
    Nominal { concentration: f64 },
}

/// The reason why a drive cannot be fitted to a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FitError {
    /// The trace has fewer rows than the specification has numbers to fit.
    TooShort { rows: usize, numbers: usize },
    /// Whatever its numbers, the drive explains too few requests: the trace is from another drive.
    OtherDrive { explained_fraction: f64 },
}

/// The number of completed stages of a search, and the total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub done: u64,
    pub stages: u64,
}

/// If a drive explains a smaller share of the requests, the trace is from another drive.
const MIN_EXPLAINED: f64 = 0.5;

/// Fits `given`, with blocks arranged as in `layout`, to `rows`, and calls `progress` before each
/// stage. Fails if the trace is too short or from another drive. Panics if `layout` lacks a
/// requested block.
pub fn calibrate(
    given: &Spec,
    layout: &Arc<Layout>,
    rows: &[MeasuredRequest],
    mut progress: impl FnMut(Progress),
) -> Result<Calibration, FitError> {
    let first = Candidate::new(given, Arc::clone(layout));
    let numbers = first.coordinates().len();
    if rows.len() < numbers {
        let rows = rows.len();
        return Err(FitError::TooShort { rows, numbers });
    }
    let (continuity, concentration, _) = clock(given, layout, rows);
    let (holdout, found, mut evaluations) = search_part(&first, rows, continuity, &mut progress);
    let trace = Trace::new(rows.to_vec(), layout);
    let mut search = Search::new(Objective::new(&trace, given, continuity), found);
    search.learn_noise();
    if holdout.is_none_or(|holdout| holdout.kept == KeptPart::All) {
        let done = STAGES.len() as u64 + 1;
        let stages = done + 1;
        progress(Progress { done, stages });
        finish(&mut search);
    }
    let keeps_nothing = holdout.is_some_and(|holdout| holdout.kept == KeptPart::Nothing);
    let certainty = if keeps_nothing {
        Certainty::as_given(&search.candidate)
    } else {
        certainty::assess(&mut search)
    };
    let mut spec = search.candidate.build();
    if !keeps_nothing {
        search
            .objective
            .add_randomness(&mut spec, &search.candidate);
    }
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
        return Err(FitError::OtherDrive { explained_fraction });
    }
    Ok(Calibration {
        behaviours: changed_behaviours(given, &spec),
        spec,
        layout,
        clock,
        fitted: certainty.fitted,
        covariance: certainty.covariance,
        undetermined: certainty.undetermined,
        explained_fraction,
        unexplained_requests: classes.iter().map(Class::unexplained).sum(),
        unexplained: objective::standing_out(classes),
        holdout,
        evaluations,
    })
}

/// Searches with a part of the rows, and keeps what the held-back rows confirm. Returns the
/// comparison on those rows, the candidate, and the number of evaluations of the objective.
fn search_part(
    first: &Candidate,
    rows: &[MeasuredRequest],
    continuity: Continuity,
    progress: &mut impl FnMut(Progress),
) -> (Option<Holdout>, Candidate, u64) {
    let (training, held_back) = split(rows, first.coordinates().len());
    let training = Trace::new(training.to_vec(), &first.layout);
    let search = run(&training, first, continuity, progress);
    let evaluations = search.objective.evaluations.get();
    match held_back {
        Some(rows) => {
            let (holdout, kept) = compare(first, search.candidate, rows, continuity);
            (Some(holdout), kept, evaluations)
        }
        None => (None, search.candidate, evaluations),
    }
}

/// Returns the edits that change a behaviour of the given drive rather than one of its numbers.
fn changed_behaviours(given: &Spec, fitted: &Spec) -> Vec<String> {
    let is_number = |edit: &Edit| {
        let kind = Key::find(&edit.key).map(|key| key.kind);
        use KeyKind::{Rotation, SeekCurve, Time};
        matches!(kind, Some(Time { .. } | Rotation | SeekCurve))
    };
    let changes = edits(given, fitted).into_iter();
    let behaviours = changes.filter(|edit| !is_number(edit));
    behaviours.map(|edit| edit.to_string()).collect()
}

/// Returns the clock of the trace, the concentration of its angles, and the number of its breaks.
fn clock(given: &Spec, layout: &Arc<Layout>, rows: &[MeasuredRequest]) -> (Continuity, f64, u64) {
    let locked = FollowedTrace::follow(given, Arc::clone(layout), rows, Continuity::Unbroken);
    let followed = locked.ok().and_then(|locked| {
        let figures = PredictionFigures::of(&locked, 0..rows.len())?;
        Some((locked, figures))
    });
    let Some((locked, figures)) = followed else {
        return (Continuity::Unknown, 0.0, 0);
    };
    let concentration = figures.phase_concentration_ratio.unwrap_or(0.0);
    if figures.is_clock_unbroken() != Some(true) {
        return (Continuity::Unknown, concentration, 0);
    }
    let pairs = locked.rows().windows(2);
    let lost = pairs.filter(|pair| pair[0].is_locked && !pair[1].is_locked);
    (Continuity::Unbroken, concentration, lost.count() as u64)
}

/// The first stages of a search, which run from each starting point.
const FIRST_STAGES: [fn(&mut Search<'_>); 2] = [
    |search| search.sweep(&only_parameters(&search.candidate), 1.5, 5, 4),
    |search| search.choose(),
];

/// The later stages, which run from the best starting point, first coarse and then fine.
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

/// The last stage, which is run for the rows of the search and then for all rows.
fn finish(search: &mut Search<'_>) {
    search.sweep(&search.candidate.directions(), 0.5, 1, 6);
    search.sweep(&search.candidate.directions(), 0.3, 1, 6);
    refine(search);
}

/// Moves the keys in ever smaller steps: the likelihood of buffered requests has sharp edges, from
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
    let searches = given.starts().into_iter().map(|start| {
        let objective = Objective::new(trace, &given.spec, continuity);
        let mut search = Search::new(objective, start);
        FIRST_STAGES.iter().for_each(|stage| stage(&mut search));
        evaluations += search.objective.evaluations.get();
        search
    });
    // Among equals, the first one wins: it started from the given specification.
    let best = searches.reduce(|best, next| if next.score > best.score { next } else { best });
    let mut search = best.expect("a search has a starting point");
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
    all.filter(|steps| steps.iter().all(is_key)).collect()
}

/// A comparison of the fitted and the given drive on the held-back last fifth of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Holdout {
    pub rows: usize,
    pub given_demerit: Span,
    pub fitted_demerit: Span,
    /// The logarithm of the ratio of the likelihoods of these rows under the fitted and the given
    /// drive, each with its own scatter.
    pub ln_gain: f64,
    pub kept: KeptPart,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptPart {
    /// The whole fit: the held-back rows are more likely under it than under the given drive.
    All,
    /// All but the seek times, which made the held-back rows less likely and stay as given.
    Keys,
    /// Only the seek times: the other changes made the held-back rows less likely.
    Seeks,
    Nothing,
}

/// The last of this many equal parts of the rows is held back.
const HOLDOUT_PARTS: usize = 5;

/// With fewer rows per fitted number, a fit is poor and no rows are held back.
pub const ROWS_PER_NUMBER: usize = 10;

/// Returns the rows to fit to, and the rows to hold back: the last ones, to include drift.
fn split<T>(rows: &[T], numbers: usize) -> (&[T], Option<&[T]>) {
    if rows.len() < numbers * ROWS_PER_NUMBER {
        return (rows, None);
    }
    let (first, last) = rows.split_at(rows.len() - rows.len() / HOLDOUT_PARTS);
    (first, Some(last))
}

/// Compares the `found` candidate with the given one on `rows`, and returns the part to keep.
fn compare(
    given: &Candidate,
    found: Candidate,
    rows: &[MeasuredRequest],
    continuity: Continuity,
) -> (Holdout, Candidate) {
    let trace = Trace::new(rows.to_vec(), &given.layout);
    let score = |candidate: &Candidate| {
        let mut objective = Objective::new(&trace, &given.spec, continuity);
        objective.learn_noise(candidate);
        objective.ln_likelihood(candidate)
    };
    let (as_given, as_found) = (score(given), score(&found));
    let holdout = Holdout {
        rows: rows.len(),
        given_demerit: replay_demerit(given, rows),
        fitted_demerit: replay_demerit(&found, rows),
        ln_gain: as_found - as_given,
        kept: KeptPart::All,
    };
    if as_found > as_given {
        return (holdout, found);
    }
    let keys = Candidate {
        read_seek: given.read_seek.clone(),
        write_seek: given.write_seek.clone(),
        ..found.clone()
    };
    let seeks = Candidate {
        spec: given.spec.clone(),
        layout: Arc::clone(&given.layout),
        ..found
    };
    let options = [
        (KeptPart::Nothing, as_given, given.clone()),
        (KeptPart::Keys, score(&keys), keys),
        (KeptPart::Seeks, score(&seeks), seeks),
    ];
    let best = options.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let (kept, _, candidate) = best.expect("three options");
    (Holdout { kept, ..holdout }, candidate)
}

/// The initial state of the replays that compare a fit with the given drive.
const FROM_ZERO: Variant = Variant::From {
    angle: Angle::ZERO,
    seed: 0,
};

fn replay_demerit(candidate: &Candidate, rows: &[MeasuredRequest]) -> Span {
    let spec = candidate.build();
    let validation = Validation::new(&spec, Arc::clone(&candidate.layout), rows.to_vec());
    let replayed = validation.replay(FROM_ZERO);
    let replayed = replayed.expect("the drive has these blocks");
    let responses: SortedSpans = replayed.responses.into_iter().collect();
    demerit(&validation.measured(), &responses).expect("one response per row")
}

#[cfg(test)]
mod tests {
    use super::*;
    use diskarm_core::engine::ReplayStep;
    use diskarm_core::request::{Op, Request};
    use diskarm_core::spec;
    use diskarm_core::units::{Lbn, SectorCount};

    fn row(request: Request, think: Span) -> MeasuredRequest {
        MeasuredRequest {
            step: ReplayStep { request, think },
            response: Span::ZERO,
        }
    }

    /// The rows come from the given drive, so every change makes them less likely.
    #[test]
    fn parts_that_make_the_held_back_rows_less_likely_are_dropped() {
        let text = diskarm_drives::find("hp-c2247").expect("a drive").text;
        let spec = spec::parse(text, "hp-c2247").expect("a specification");
        let layout = Arc::new(Layout::new(&spec.geometry).expect("a layout"));
        let sectors = layout.sectors().0;
        // Multiples of an odd number are spread over the disk.
        let row = |id: u64| {
            let op = [Op::Write, Op::Read, Op::Read][id as usize % 3];
            let start = Lbn(id * 7_654_321 % (sectors - 8));
            row(
                Request::new(id, op, start, SectorCount(8)),
                Span::from_ms(13.7),
            )
        };
        let mut rows: Vec<MeasuredRequest> = (0..400).map(row).collect();
        let replay = Validation::new(&spec, Arc::clone(&layout), rows.clone());
        let replayed = replay.replay(FROM_ZERO).expect("requests within the disk");
        for (row, response) in rows.iter_mut().zip(replayed.responses) {
            row.response = response;
        }
        let given = Candidate::new(&spec, layout);
        let late = Span::from_ms(1.5);
        let mut keys = given.clone();
        keys.spec.overheads.read_miss_after_read += late;
        keys.spec.overheads.read_miss_after_write += late;
        let mut seeks = given.clone();
        seeks.read_seek.added_ms.fill(1.5);
        let both = Candidate {
            read_seek: seeks.read_seek.clone(),
            ..keys.clone()
        };
        for (found, kept) in [
            (&keys, KeptPart::Seeks),
            (&seeks, KeptPart::Keys),
            (&both, KeptPart::Nothing),
        ] {
            let (holdout, candidate) = compare(&given, found.clone(), &rows, Continuity::Unbroken);
            assert_eq!(holdout.kept, kept);
            assert!(holdout.ln_gain < 0.0 && holdout.fitted_demerit > holdout.given_demerit);
            assert_eq!(candidate.build(), spec, "all wrong parts are dropped");
        }
        let (holdout, candidate) = compare(&both, given.clone(), &rows, Continuity::Unbroken);
        assert_eq!(holdout.kept, KeptPart::All);
        assert_eq!(candidate.build(), spec);
    }

    #[test]
    fn the_last_fifth_of_a_long_trace_is_held_back() {
        let request = Request::new(0, Op::Read, Lbn(0), SectorCount(1));
        let rows = vec![row(request, Span::ZERO); 103];
        let (first, last) = split(&rows, 10);
        assert_eq!((first.len(), last.map(<[_]>::len)), (83, Some(20)));
        assert_eq!(split(&rows, 11), (&rows[..], None));
    }
}
