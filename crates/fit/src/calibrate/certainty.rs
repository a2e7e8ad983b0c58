//! How well a trace determines each number.

use crate::calibrate::candidate::{Candidate, Coordinate};
use crate::calibrate::covariance::{self, Covariance};
use crate::calibrate::parameter::PARAMETERS;
use crate::calibrate::search::Search;

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
    /// Its standard deviation with all other fitted numbers free, from the curvature of likelihood
    /// and prior, in milliseconds.
    pub sd_ms: f64,
    /// The same with all other numbers held: at most [`Self::sd_ms`].
    pub others_held_sd_ms: f64,
    /// Whether it is a bus rate that is so far from the given one that the trace shows something
    /// else: a bus has a standard rate, which data sheets give.
    pub is_doubtful: bool,
}

/// A bus rate is doubtful if it is this many deviations of its prior from the given one.
const DOUBTFUL: f64 = 3.0;

/// A number counts as determined if the trace at least halves its uncertainty.
const DETERMINED: f64 = 0.5;

/// A number stays as fitted if the given one makes the trace less likely by more than this
/// (natural logarithm).
const WORTH_KEEPING: f64 = 2.0;

/// The smallest deviation reported: the likelihood has steps where a sector is just caught.
const MIN_MS: f64 = 0.001;

/// What a trace says of each number.
pub struct Certainty {
    /// The numbers that it determines.
    pub fitted: Vec<Fitted>,
    /// The covariance of these.
    pub covariance: Covariance,
    /// The numbers that it does not determine.
    pub left: Vec<Quantity>,
}

impl Certainty {
    /// Nothing is determined: all of `given` stays.
    pub fn as_given(given: &Candidate) -> Self {
        let all = given.coordinates().into_iter();
        Self {
            fitted: Vec::new(),
            covariance: Covariance {
                ms2: Vec::new(),
                others_held_sd_ms: Vec::new(),
            },
            left: all.map(|at| quantity(given, at)).collect(),
        }
    }
}

/// Separates the numbers that the trace determines from those that it does not. Of the latter, keys
/// return to their given values; seek times stay where their neighbours and the prior put them.
pub fn weigh(search: &mut Search<'_>) -> Certainty {
    let (mut determined, mut left) = (Vec::new(), Vec::new());
    let given = Candidate::new(search.objective.given(), search.candidate.layout.clone());
    let mut settled = search.candidate.clone();
    for at in search.candidate.coordinates() {
        let certainty = deviation(search, at);
        if let Some(sd_ms) = certainty
            && sd_ms < DETERMINED * Candidate::prior_ms(at)
        {
            determined.push((at, sd_ms));
            continue;
        }
        let mut without = settled.clone();
        without.set(at, given.get(at));
        let gain = search.objective.of(&settled) - search.objective.of(&without);
        match at {
            // Poorly determined, but the given value would make the trace too unlikely.
            Coordinate::Parameter(_) if gain > WORTH_KEEPING => {
                determined.push((at, certainty.unwrap_or(Candidate::prior_ms(at))));
                continue;
            }
            Coordinate::Parameter(_) => settled = without,
            Coordinate::ReadSeek(_) | Coordinate::WriteSeek(_) => {}
        }
        left.push(quantity(&search.candidate, at));
    }
    search.score = search.objective.of(&settled);
    search.candidate = settled;
    let covariance = covariance::of(search, &determined);
    let fitted = determined.into_iter().enumerate().map(|(i, (at, _))| {
        let (given_ms, fitted_ms) = (given.get(at), search.candidate.get(at));
        Fitted {
            quantity: quantity(&search.candidate, at),
            given_ms,
            fitted_ms,
            sd_ms: covariance.sd_ms(i),
            others_held_sd_ms: covariance.others_held_sd_ms[i],
            is_doubtful: is_doubtful(at, given_ms, fitted_ms),
        }
    });
    Certainty {
        fitted: fitted.collect(),
        covariance,
        left,
    }
}

fn is_doubtful(at: Coordinate, given_ms: f64, fitted_ms: f64) -> bool {
    let Coordinate::Parameter(i) = at else {
        return false;
    };
    let parameter = &PARAMETERS[i];
    let off = (fitted_ms - given_ms).abs() / parameter.prior_ms(given_ms);
    parameter.is_rate() && given_ms > 0.0 && off > DOUBTFUL
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The standard rate has a deviation of a tenth.
    #[test]
    fn only_a_bus_rate_far_from_a_given_one_is_doubtful() {
        let key = |path: &str| {
            let found = PARAMETERS.iter().position(|p| p.key.path == path);
            Coordinate::Parameter(found.expect("a fitted key"))
        };
        let rate = key("bus.write_sector");
        assert!(is_doubtful(rate, 0.2, 0.13) && is_doubtful(rate, 0.2, 0.27));
        assert!(!is_doubtful(rate, 0.2, 0.15) && !is_doubtful(rate, 0.2, 0.25));
        assert!(!is_doubtful(rate, 0.0, 5.0), "none is given");
        assert!(!is_doubtful(key("overheads.read_completion"), 0.2, 9.0));
        assert!(!is_doubtful(Coordinate::ReadSeek(0), 0.2, 9.0));
    }
}
