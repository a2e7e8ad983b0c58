//! Rows that a fit does not see, to compare it with the given drive.

use std::sync::Arc;

use diskarm_core::predict::Continuity;
use diskarm_core::spec::Spec;
use diskarm_core::stats::{Sorted, demerit};
use diskarm_core::units::{Angle, Span};
use diskarm_validate::{Measured, Validation, Variant};

use crate::candidate::Candidate;
use crate::objective::Objective;
use crate::trace::Trace;

/// The comparison of a fit to the first rows of a trace with the given drive, on the last fifth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// The number of rows.
    pub rows: usize,
    /// The demerit of a replay by the given drive.
    pub given_demerit: Span,
    /// The demerit of a replay by the fitted drive.
    pub fitted_demerit: Span,
    /// By how much more likely (natural logarithm) the fitted drive makes these rows than the given
    /// one, each with the scatter that it leaves.
    pub ln_gain: f64,
    /// What is kept of the fit.
    pub kept: Kept,
}

/// What is kept of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// All of it: it makes the held-back rows more likely than the given drive.
    All,
    /// All but the seek times, which stay as given: with them it made these rows less likely.
    Keys,
    /// Only the seek times: the rest made these rows less likely.
    Seeks,
    /// Nothing.
    Nothing,
}

/// One row in so many is held back.
const ONE_IN: usize = 5;

/// At least this many rows for each number that is fitted, or none is held back.
const ROWS_A_NUMBER: usize = 10;

/// The rows to fit to, and those to hold back: the last, so that drift counts.
pub fn split(rows: &[Measured], numbers: usize) -> (&[Measured], Option<&[Measured]>) {
    if rows.len() < numbers * ROWS_A_NUMBER {
        return (rows, None);
    }
    let (first, held) = rows.split_at(rows.len() - rows.len() / ONE_IN);
    (first, Some(held))
}

/// Compares the `found` candidate with the given one on `rows`, and returns what to keep of it.
pub fn compare(
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
    let demerit = |candidate: &Candidate| replay(&candidate.build(), candidate, rows);
    let held = Held {
        rows: rows.len(),
        given_demerit: demerit(given),
        fitted_demerit: demerit(&found),
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

/// The demerit of a replay of `rows`.
fn replay(spec: &Spec, candidate: &Candidate, rows: &[Measured]) -> Span {
    let validation = Validation::new(spec, Arc::clone(&candidate.layout), rows.to_vec());
    let variant = Variant::From {
        angle: Angle::ZERO,
        seed: 0,
    };
    let replayed = validation
        .replay(variant)
        .expect("a drive that has served these requests");
    let replayed: Sorted = replayed.responses.into_iter().collect();
    demerit(&validation.measured(), &replayed).expect("as many responses as rows")
}

#[cfg(test)]
mod tests {
    use super::*;
    use diskarm_core::engine::Step;
    use diskarm_core::request::{Op, Request};
    use diskarm_core::units::{Lbn, SectorCount};

    #[test]
    fn the_last_fifth_is_held_back_of_traces_that_are_long_enough() {
        let request = Request::new(0, Op::Read, Lbn(0), SectorCount(1));
        let row = Measured {
            step: Step {
                request,
                think: Span::ZERO,
            },
            response: Span::ZERO,
        };
        let rows = vec![row; 103];
        let (first, held) = split(&rows, 10);
        assert_eq!((first.len(), held.map(<[_]>::len)), (83, Some(20)));
        assert_eq!(split(&rows, 11), (&rows[..], None));
    }
}
