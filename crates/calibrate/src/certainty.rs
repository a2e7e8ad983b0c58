//! How well a trace determines each number.

use crate::candidate::{Candidate, Coordinate};
use crate::parameter::PARAMETERS;
use crate::search::Search;

/// A number of a specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A key.
    Key(&'static str),
    /// What is added to the seek time over so many cylinders, before a read.
    ReadSeek(u32),
    /// The same before a write.
    WriteSeek(u32),
}

/// A number that a trace determines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// Which.
    pub quantity: Quantity,
    /// What was given, in milliseconds; zero for what is added to a seek time.
    pub given_ms: f64,
    /// What the trace says.
    pub fitted_ms: f64,
    /// Its standard deviation, from the curvature of the likelihood with all other numbers held.
    pub sd_ms: f64,
}

/// A number counts as determined when the trace halves its uncertainty, at least.
const DETERMINED: f64 = 0.5;

/// Tells the numbers that the trace determines from those that it does not. Keys among these are
/// set back to what is given; seek times stay where their neighbours, and the prior, hold them.
pub fn weigh(search: &mut Search<'_>) -> (Vec<Fitted>, Vec<Quantity>) {
    let (mut fitted, mut left) = (Vec::new(), Vec::new());
    let given = Candidate::new(search.objective.given(), search.candidate.layout.clone());
    let mut settled = search.candidate.clone();
    for at in search.candidate.coordinates() {
        let quantity = quantity(&search.candidate, at);
        let given_ms = given.get(at);
        let fitted_ms = search.candidate.get(at);
        match deviation(search, at) {
            Some(sd_ms) if sd_ms < DETERMINED * Candidate::prior_ms(at) => fitted.push(Fitted {
                quantity,
                given_ms,
                fitted_ms,
                sd_ms,
            }),
            _ => {
                if matches!(at, Coordinate::Parameter(_)) {
                    settled.set(at, given_ms);
                }
                left.push(quantity);
            }
        }
    }
    search.score = search.objective.of(&settled);
    search.candidate = settled;
    (fitted, left)
}

fn quantity(candidate: &Candidate, at: Coordinate) -> Quantity {
    match at {
        Coordinate::Parameter(i) => Quantity::Key(PARAMETERS[i].key),
        Coordinate::ReadSeek(k) => Quantity::ReadSeek(candidate.read_seek.knots[k]),
        Coordinate::WriteSeek(k) => {
            let curve = candidate
                .write_seek
                .as_ref()
                .unwrap_or(&candidate.read_seek);
            Quantity::WriteSeek(curve.knots[k])
        }
    }
}

/// The standard deviation of a coordinate, or `None` where the score does not fall to both sides.
fn deviation(search: &Search<'_>, at: Coordinate) -> Option<f64> {
    let mut step = Candidate::prior_ms(at) / 8.0;
    // A curvature over a step much unlike the deviation is that of something else.
    for _ in 0..3 {
        let score = |ms: f64| {
            search
                .objective
                .of(&search.candidate.moved(&vec![(at, 1.0)], ms))
        };
        let fall = 2.0 * search.score - score(step) - score(-step);
        if fall <= 0.0 {
            return None;
        }
        step = (step / fall.sqrt()).clamp(0.001, Candidate::prior_ms(at));
    }
    Some(step)
}
