//! Compares a fit with the given drive on rows that the fit has not seen.

use std::sync::Arc;

use crate::validate::{Measured, Validation, Variant};
use diskarm_core::predict::Continuity;
use diskarm_core::spec::Spec;
use diskarm_core::stats::{SortedSpans, demerit};
use diskarm_core::units::{Angle, Span};

use crate::calibrate::candidate::Candidate;
use crate::calibrate::objective::Objective;
use crate::calibrate::trace::Trace;

/// The comparison of a fit to the first rows of a trace with the given drive, on the last fifth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// The number of rows.
    pub rows: usize,
    /// The demerit of a replay by the given drive.
    pub given_demerit: Span,
    /// The demerit of a replay by the fitted drive.
    pub fitted_demerit: Span,
    /// Logarithm of the ratio of the likelihoods of these rows under the fitted and the given
    /// drive, each with the scatter that it leaves.
    pub ln_gain: f64,
    /// The part of the fit that is kept.
    pub kept: Kept,
}

/// The part of a fit that is kept.
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

/// The share of the rows that is held back is one over this.
const PARTS: usize = 5;

/// With fewer rows per fitted number than this a fit is poor, and no rows are held back.
pub const ROWS_A_NUMBER: usize = 10;

/// The rows to fit to, and those to hold back: the last, so that drift counts.
pub fn split(rows: &[Measured], numbers: usize) -> (&[Measured], Option<&[Measured]>) {
    if rows.len() < numbers * ROWS_A_NUMBER {
        return (rows, None);
    }
    let (first, held) = rows.split_at(rows.len() - rows.len() / PARTS);
    (first, Some(held))
}

/// Compares the `found` candidate with the given one on `rows`, and returns the part to keep.
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
    let replayed: SortedSpans = replayed.responses.into_iter().collect();
    demerit(&validation.measured(), &replayed).expect("as many responses as rows")
}

#[cfg(test)]
mod tests {
    use super::*;
    use diskarm_core::engine::ReplayStep;
    use diskarm_core::geometry::Layout;
    use diskarm_core::request::{Op, Request};
    use diskarm_core::spec;
    use diskarm_core::units::{Lbn, SectorCount};

    /// Rows that the given drive measured itself: of a fit that only makes them less likely, the
    /// part that does so is dropped.
    #[test]
    fn what_makes_the_held_back_rows_less_likely_is_not_kept() {
        let text = diskarm_drives::find("hp-c2247").expect("a drive").text;
        let spec = spec::parse(text, "hp-c2247").expect("a specification");
        let layout = Arc::new(Layout::new(&spec.geometry).expect("a layout"));
        let sectors = layout.sectors().0;
        // Multiples of an odd number are spread over the disk.
        let row = |id: u64| Measured {
            step: ReplayStep {
                request: Request::new(
                    id,
                    if id.is_multiple_of(3) {
                        Op::Write
                    } else {
                        Op::Read
                    },
                    Lbn(id * 7_654_321 % (sectors - 8)),
                    SectorCount(8),
                ),
                think: Span::from_ms(13.7),
            },
            response: Span::ZERO,
        };
        let mut rows: Vec<Measured> = (0..400).map(row).collect();
        let replay = Validation::new(&spec, Arc::clone(&layout), rows.clone());
        let variant = Variant::From {
            angle: Angle::ZERO,
            seed: 0,
        };
        let replayed = replay.replay(variant).expect("requests within the disk");
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
        let judged =
            |found: &Candidate| compare(&given, found.clone(), &rows, Continuity::Unbroken);
        for (found, kept) in [
            (&keys, Kept::Seeks),
            (&seeks, Kept::Keys),
            (&both, Kept::Nothing),
        ] {
            let (held, candidate) = judged(found);
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
        let row = Measured {
            step: ReplayStep {
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
