//! How well a trace determines each number.

use crate::candidate::{Candidate, Coordinate};
use crate::parameter::PARAMETERS;
use crate::search::Search;

/// A number of a specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A key.
    Key(&'static str),
    /// The correction to the seek time over this distance in cylinders, before a read.
    ReadSeek(u32),
    /// The same before a write.
    WriteSeek(u32),
}

/// A number that a trace determines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// The quantity.
    pub quantity: Quantity,
    /// The given value, in milliseconds; zero for a correction to a seek time.
    pub given_ms: f64,
    /// The value that the trace determines.
    pub fitted_ms: f64,
    /// Its standard deviation, from the curvature of the likelihood with all other numbers held.
    pub sd_ms: f64,
}

/// A number counts as determined if the trace at least halves its uncertainty.
const DETERMINED: f64 = 0.5;

/// A number stays as fitted if the given one makes the trace less likely by more than this
/// (natural logarithm).
const WORTH_KEEPING: f64 = 2.0;

/// The smallest deviation reported: the likelihood has steps where a sector is just caught.
const MIN_MS: f64 = 0.001;

/// Separates the numbers that the trace determines from those that it does not. Of the latter, keys
/// return to their given values; seek times stay where their neighbours and the prior put them.
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
            certainty => {
                let mut without = settled.clone();
                without.set(at, given_ms);
                let gain = search.objective.of(&settled) - search.objective.of(&without);
                match at {
                    // Poorly determined, but the given value would make the trace too unlikely.
                    Coordinate::Parameter(_) if gain > WORTH_KEEPING => fitted.push(Fitted {
                        quantity,
                        given_ms,
                        fitted_ms,
                        sd_ms: certainty.unwrap_or(Candidate::prior_ms(at)),
                    }),
                    Coordinate::Parameter(_) => {
                        settled = without;
                        left.push(quantity);
                    }
                    Coordinate::ReadSeek(_) | Coordinate::WriteSeek(_) => left.push(quantity),
                }
            }
        }
    }
    search.score = search.objective.of(&settled);
    search.candidate = settled;
    (fitted, left)
}

fn quantity(candidate: &Candidate, at: Coordinate) -> Quantity {
    match at {
        Coordinate::Parameter(i) => Quantity::Key(PARAMETERS[i].key.path),
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

/// The standard deviation of a coordinate, from the curvature of the likelihood alone,
/// without the prior. `None` if there is no curvature.
fn deviation(search: &Search<'_>, at: Coordinate) -> Option<f64> {
    let along = vec![(at, 1.0)];
    let score = |ms: f64| {
        let moved = search.candidate.moved(&along, ms);
        search.objective.ln_likelihood(&moved)
    };
    let here = score(0.0);
    let mut step = Candidate::prior_ms(at) / 8.0;
    // The step must match the deviation: over another step, the curvature is that of something
    // else.
    for _ in 0..3 {
        let fall = 2.0 * here - score(step) - score(-step);
        if fall <= 0.0 {
            return None;
        }
        step = (step / fall.sqrt()).clamp(MIN_MS, Candidate::prior_ms(at));
    }
    Some(step)
}
