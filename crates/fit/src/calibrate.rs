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
//! is uniform over a revolution, and overheads and seek times show only at the edges of that range.
//!
//! Nothing is random and everything runs on one thread: the same trace gives the same numbers.
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

use crate::validate::{Locked, LockedFigures, Measured, Validation, Variant};
use candidate::{Candidate, Direction};
pub use candidate::{Coordinate, edits};
use certainty::Certainty;
pub use certainty::{Covariance, Fitted, Pair, Quantity};
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
    /// Behaviours that replace the given ones, as lines of a specification.
    pub behaviours: Vec<String>,
    /// Numbers that the trace determines.
    pub fitted: Vec<Fitted>,
    pub covariance: Covariance,
    /// Undetermined numbers: keys stay as given, seek times follow their neighbours.
    pub left: Vec<Quantity>,
    /// Share of the requests that the fitted drive explains: their responses are more likely under
    /// its predictions, with the scatter of its errors, than as outliers.
    pub explained_fraction: f64,
    pub unexplained_requests: u64,
    /// The classes with at least ten unexplained requests that are at least a tenth of the class;
    /// the largest number first.
    pub unexplained: Vec<Class>,
    /// The comparison with the given drive on held-back rows; `None` if the trace is too short.
    pub held: Option<Held>,
    /// The number of times the trace was followed.
    pub evaluations: u64,
}

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
    /// These times were not measured, or the layout is another drive's: no angle is known.
    Nominal { concentration: f64 },
}

/// The reason that a drive cannot be fitted to a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unfit {
    /// The trace has fewer rows than the specification has numbers to fit.
    TooShort { rows: usize, numbers: usize },
    /// Whatever its numbers, the drive explains so few requests that the trace is another drive's.
    OtherDrive { explained_fraction: f64 },
}

/// The number of completed stages of a search, and of all its stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub done: u64,
    pub stages: u64,
}

/// If a drive explains a smaller share of the requests, the trace is from another drive.
const MIN_EXPLAINED: f64 = 0.5;

/// Fits `given`, with blocks arranged as in `layout`, to `rows`; calls `progress` before each
/// stage. Fails if the trace is too short or from another drive. Panics if `layout` lacks blocks.
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
    let (held, found, mut evaluations) = search_part(&first, rows, continuity, &mut progress);
    let trace = Trace::new(rows.to_vec(), layout);
    let mut search = Search::new(Objective::new(&trace, given, continuity), found);
    search.learn_noise();
    if held.is_none_or(|held| held.kept == Kept::All) {
        let done = STAGES.len() as u64 + 1;
        let stages = done + 1;
        progress(Progress { done, stages });
        finish(&mut search);
    }
    let keeps_nothing = held.is_some_and(|held| held.kept == Kept::Nothing);
    let certainty = if keeps_nothing {
        Certainty::as_given(&search.candidate)
    } else {
        certainty::weigh(&mut search)
    };
    let mut spec = search.candidate.build();
    if !keeps_nothing {
        search.objective.set_chance(&mut spec, &search.candidate);
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
        return Err(Unfit::OtherDrive { explained_fraction });
    }
    Ok(Calibration {
        behaviours: changed_behaviours(given, &spec),
        spec,
        layout,
        clock,
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

/// Searches with a part of the rows, and keeps what the held-back rows confirm. Returns the
/// comparison on those rows, the candidate, and how often the objective was evaluated.
fn search_part(
    first: &Candidate,
    rows: &[Measured],
    continuity: Continuity,
    progress: &mut impl FnMut(Progress),
) -> (Option<Held>, Candidate, u64) {
    let (training, held) = split(rows, first.coordinates().len());
    let training = Trace::new(training.to_vec(), &first.layout);
    let search = run(&training, first, continuity, progress);
    let evaluations = search.objective.evaluations.get();
    match held {
        Some(rows) => {
            let (held, kept) = compare(first, search.candidate, rows, continuity);
            (Some(held), kept, evaluations)
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
fn clock(given: &Spec, layout: &Arc<Layout>, rows: &[Measured]) -> (Continuity, f64, u64) {
    let locked = Locked::follow(given, Arc::clone(layout), rows, Continuity::Unbroken);
    let judged = locked.ok().and_then(|locked| {
        let figures = LockedFigures::of(&locked, 0..rows.len())?;
        Some((locked, figures))
    });
    let Some((locked, figures)) = judged else {
        return (Continuity::Unknown, 0.0, 0);
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

/// The stages that follow, from the best start: first coarse, then fine.
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
    let begun = given.starts().into_iter().map(|start| {
        let objective = Objective::new(trace, &given.spec, continuity);
        let mut search = Search::new(objective, start);
        FIRST.iter().for_each(|stage| stage(&mut search));
        evaluations += search.objective.evaluations.get();
        search
    });
    // Among equals the first wins, which started from the given specification.
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

/// A comparison of the fitted and the given drive on the held-back last fifth of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    pub rows: usize,
    /// The demerit of a replay by the given drive.
    pub given_demerit: Span,
    /// The demerit of a replay by the fitted drive.
    pub fitted_demerit: Span,
    /// Logarithm of the ratio of the likelihoods of these rows under the fitted and the given
    /// drive, each with the scatter that it leaves.
    pub ln_gain: f64,
    pub kept: Kept,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// All of it: the held-back rows are more likely under it than under the given drive.
    All,
    /// All but the seek times, which stay as given: with them it made these rows less likely.
    Keys,
    /// Only the seek times: the rest made these rows less likely.
    Seeks,
    Nothing,
}

/// The last rows are held back: one in this many of all.
const PARTS: usize = 5;

/// With fewer rows per fitted number than this a fit is poor, and no rows are held back.
pub const ROWS_A_NUMBER: usize = 10;

/// The rows to fit to, and those to hold back: the last, so that drift counts.
fn split(rows: &[Measured], numbers: usize) -> (&[Measured], Option<&[Measured]>) {
    if rows.len() < numbers * ROWS_A_NUMBER {
        return (rows, None);
    }
    let (first, held) = rows.split_at(rows.len() - rows.len() / PARTS);
    (first, Some(held))
}

/// Compares the `found` candidate with the given one on `rows`, and returns the part to keep.
fn compare(
    given: &Candidate,
    found: Candidate,
    rows: &[Measured],
    continuity: Continuity,
) -> (Held, Candidate) {
    let trace = Trace::new(rows.to_vec(), &given.layout);
    let score = |candidate: &Candidate| {
        let mut objective = Objective::new(&trace, &given.spec, continuity);
        objective.learn_noise(candidate);
        objective.ln_likelihood(candidate)
    };
    let (as_given, as_found) = (score(given), score(&found));
    let held = Held {
        rows: rows.len(),
        given_demerit: replay_demerit(given, rows),
        fitted_demerit: replay_demerit(&found, rows),
        ln_gain: as_found - as_given,
        kept: Kept::All,
    };
    if as_found > as_given {
        return (held, found);
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
        (Kept::Nothing, as_given, given.clone()),
        (Kept::Keys, score(&keys), keys),
        (Kept::Seeks, score(&seeks), seeks),
    ];
    let best = options.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let (kept, _, candidate) = best.expect("three options");
    (Held { kept, ..held }, candidate)
}

/// The initial state of the replays that compare a fit with the given drive.
const FROM_ZERO: Variant = Variant::From {
    angle: Angle::ZERO,
    seed: 0,
};

fn replay_demerit(candidate: &Candidate, rows: &[Measured]) -> Span {
    let spec = candidate.build();
    let validation = Validation::new(&spec, Arc::clone(&candidate.layout), rows.to_vec());
    let replayed = validation.replay(FROM_ZERO);
    let replayed = replayed.expect("a drive that has served these requests");
    let responses: SortedSpans = replayed.responses.into_iter().collect();
    demerit(&validation.measured(), &responses).expect("as many responses as rows")
}

#[cfg(test)]
mod tests {
    use super::*;
    use diskarm_core::engine::ReplayStep;
    use diskarm_core::request::{Op, Request};
    use diskarm_core::spec;
    use diskarm_core::units::{Lbn, SectorCount};

    fn row(request: Request, think: Span) -> Measured {
        Measured {
            step: ReplayStep { request, think },
            response: Span::ZERO,
        }
    }

    /// The rows are of the given drive: what makes them less likely is dropped from a fit.
    #[test]
    fn what_makes_the_held_back_rows_less_likely_is_not_kept() {
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
        let mut rows: Vec<Measured> = (0..400).map(row).collect();
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
            (&keys, Kept::Seeks),
            (&seeks, Kept::Keys),
            (&both, Kept::Nothing),
        ] {
            let (held, candidate) = compare(&given, found.clone(), &rows, Continuity::Unbroken);
            assert_eq!(held.kept, kept);
            assert!(held.ln_gain < 0.0 && held.fitted_demerit > held.given_demerit);
            assert_eq!(candidate.build(), spec, "all that was wrong is dropped");
        }
        let (held, candidate) = compare(&both, given.clone(), &rows, Continuity::Unbroken);
        assert_eq!(held.kept, Kept::All);
        assert_eq!(candidate.build(), spec);
    }

    #[test]
    fn the_last_fifth_is_held_back_of_traces_that_are_long_enough() {
        let request = Request::new(0, Op::Read, Lbn(0), SectorCount(1));
        let rows = vec![row(request, Span::ZERO); 103];
        let (first, held) = split(&rows, 10);
        assert_eq!((first.len(), held.map(<[_]>::len)), (83, Some(20)));
        assert_eq!(split(&rows, 11), (&rows[..], None));
    }
}
