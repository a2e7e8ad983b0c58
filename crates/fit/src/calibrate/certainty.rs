//! Standard deviations and correlations of the fitted numbers.

use crate::calibrate::candidate::{Candidate, Coordinate, PARAMETERS};
use crate::calibrate::search::Search;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    Key(&'static str),
    /// The correction to the seek time over this distance in cylinders, before a read.
    ReadSeek(u32),
    /// The correction to the seek time over this distance in cylinders, before a write.
    WriteSeek(u32),
}

/// A number that a trace determines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FittedNumber {
    pub quantity: Quantity,
    /// The given value, in milliseconds; zero for a correction to a seek time.
    pub given_ms: f64,
    pub fitted_ms: f64,
    /// Its standard deviation with all other fitted numbers free, from the curvature of likelihood
    /// and prior, in milliseconds.
    pub sd_ms: f64,
    /// Its standard deviation with all other numbers fixed: at most [`Self::sd_ms`].
    pub others_held_sd_ms: f64,
    /// True for a bus rate so far from the given one that something else must explain it: a bus has
    /// a standard rate, which data sheets give.
    pub is_doubtful: bool,
}

/// A bus rate is doubtful if it is this many prior deviations away from the given one.
const DOUBTFUL_DEVIATIONS: f64 = 3.0;

/// A number counts as determined if the trace at least halves its uncertainty.
const DETERMINED_RATIO: f64 = 0.5;

/// A number keeps its fitted value if the given one lowers the log-likelihood by more than this.
const WORTH_KEEPING: f64 = 2.0;

/// The smallest deviation reported: the likelihood has steps where a sector is just caught.
const MIN_MS: f64 = 0.001;

pub struct Certainty {
    pub fitted: Vec<FittedNumber>,
    pub covariance: Covariance,
    pub undetermined: Vec<Quantity>,
}

impl Certainty {
    /// Returns the result in which nothing is determined and `given` is unchanged.
    pub fn as_given(given: &Candidate) -> Self {
        let all = given.coordinates().into_iter();
        Self {
            fitted: Vec::new(),
            covariance: Covariance::default(),
            undetermined: all.map(|at| quantity(given, at)).collect(),
        }
    }
}

/// Separates the numbers that the trace determines from the others. Undetermined keys return to
/// their given values; undetermined seek times follow from their neighbours and the prior.
pub fn assess(search: &mut Search<'_>) -> Certainty {
    let (mut determined, mut undetermined) = (Vec::new(), Vec::new());
    let given = Candidate::new(search.objective.given, search.candidate.layout.clone());
    let mut candidate = search.candidate.clone();
    for at in search.candidate.coordinates() {
        let certainty = deviation(search, at);
        if let Some(sd_ms) = certainty
            && sd_ms < DETERMINED_RATIO * Candidate::prior_ms(at)
        {
            determined.push((at, sd_ms));
            continue;
        }
        let mut reset = candidate.clone();
        reset.set(at, given.get(at));
        let gain = search.objective.of(&candidate) - search.objective.of(&reset);
        match at {
            // Poorly determined, but the given value would make the trace too unlikely.
            Coordinate::Parameter(_) if gain > WORTH_KEEPING => {
                determined.push((at, certainty.unwrap_or(Candidate::prior_ms(at))));
                continue;
            }
            Coordinate::Parameter(_) => candidate = reset,
            Coordinate::ReadSeek(_) | Coordinate::WriteSeek(_) => {}
        }
        undetermined.push(quantity(&search.candidate, at));
    }
    search.score = search.objective.of(&candidate);
    search.candidate = candidate;
    let covariance = covariance(search, &determined);
    let fitted = determined.into_iter().enumerate().map(|(i, (at, _))| {
        let (given_ms, fitted_ms) = (given.get(at), search.candidate.get(at));
        FittedNumber {
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
        undetermined,
    }
}

fn is_doubtful(at: Coordinate, given_ms: f64, fitted_ms: f64) -> bool {
    let Coordinate::Parameter(i) = at else {
        return false;
    };
    let parameter = &PARAMETERS[i];
    let deviations = (fitted_ms - given_ms).abs() / parameter.prior_ms(given_ms);
    parameter.is_rate() && given_ms > 0.0 && deviations > DOUBTFUL_DEVIATIONS
}

fn quantity(candidate: &Candidate, at: Coordinate) -> Quantity {
    match at {
        Coordinate::Parameter(i) => Quantity::Key(PARAMETERS[i].key.path),
        Coordinate::ReadSeek(k) => Quantity::ReadSeek(candidate.read_seek.knots[k]),
        Coordinate::WriteSeek(k) => {
            let curve = candidate.write_seek.as_ref();
            Quantity::WriteSeek(curve.unwrap_or(&candidate.read_seek).knots[k])
        }
    }
}

/// Returns the standard deviation of a coordinate, from the curvature of the likelihood alone,
/// without the prior. `None` if there is no curvature.
fn deviation(search: &Search<'_>, at: Coordinate) -> Option<f64> {
    let direction = vec![(at, 1.0)];
    let score = |ms: f64| {
        let moved = search.candidate.moved(&direction, ms);
        search.objective.ln_likelihood(&moved)
    };
    let center = score(0.0);
    let mut step = Candidate::prior_ms(at) / 8.0;
    // The step must match the deviation: over a much longer or shorter step, the likelihood curves
    // differently.
    for _ in 0..3 {
        let fall = 2.0 * center - score(step) - score(-step);
        if fall <= 0.0 {
            return None;
        }
        step = (step / fall.sqrt()).clamp(MIN_MS, Candidate::prior_ms(at));
    }
    Some(step)
}

/// The covariance of fitted numbers, from the trace and the prior.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Covariance {
    /// The covariances, in the order of the numbers, in squared milliseconds.
    pub ms2: Vec<Vec<f64>>,
    /// The standard deviation of each number with all others fixed, in ms: at most [`Self::sd_ms`].
    pub others_held_sd_ms: Vec<f64>,
}

/// Two numbers whose sum or difference is more certain than either.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorrelatedPair {
    /// The indices of the two numbers, the lower first.
    pub indices: [usize; 2],
    pub correlation: f64,
    /// The standard deviation of their sum if the correlation is negative, and of their difference
    /// if it is positive, in milliseconds.
    pub sd_ms: f64,
}

/// The minimum correlation of pairs that are listed: the sum or the difference of two numbers of
/// equal deviation then has less than half the deviation of either. If one deviation is much larger
/// than the other, no correlation makes the sum more certain than both.
const MIN_CORRELATION: f64 = 0.9;

impl Covariance {
    /// Returns the standard deviation of number `i` with all others free.
    pub fn sd_ms(&self, i: usize) -> f64 {
        self.ms2[i][i].sqrt()
    }

    /// Returns the pairs of strongly correlated numbers whose sum or difference has a smaller
    /// deviation than either, the most correlated first.
    pub fn pairs(&self) -> Vec<CorrelatedPair> {
        let numbers = self.ms2.len();
        let all = (0..numbers).flat_map(|i| (i + 1..numbers).map(move |j| [i, j]));
        let correlated = all.filter_map(|indices @ [i, j]| {
            let both = self.ms2[i][j];
            let correlation = both / (self.sd_ms(i) * self.sd_ms(j));
            let variance = self.ms2[i][i] + self.ms2[j][j] - 2.0 * both.abs();
            let is_better = variance < self.ms2[i][i].min(self.ms2[j][j]);
            (is_better && correlation.abs() >= MIN_CORRELATION).then_some(CorrelatedPair {
                indices,
                correlation,
                sd_ms: variance.max(0.0).sqrt(),
            })
        });
        let mut pairs: Vec<CorrelatedPair> = correlated.collect();
        pairs.sort_by(|a, b| b.correlation.abs().total_cmp(&a.correlation.abs()));
        pairs
    }
}

/// Returns the covariance of the numbers `at` around a search's candidate, including the prior.
/// `at` also has each number's deviation with all others fixed, from the curvature of the
/// likelihood alone. Correlations follow from products of the slopes of each row's density.
fn covariance(search: &Search<'_>, at: &[(Coordinate, f64)]) -> Covariance {
    let slopes: Vec<Vec<f64>> = at.iter().map(|&step| slope(search, step)).collect();
    let (at, sds): (Vec<Coordinate>, Vec<f64>) = at.iter().copied().unzip();
    let prior = |at: Coordinate| Candidate::prior_from_ms(at, search.objective.given);
    let priors: Vec<f64> = at.into_iter().map(prior).collect();
    combine(&slopes, &sds, &priors)
}

/// Returns the covariance of numbers, given the slopes of each part of the likelihood, the
/// deviations from the trace alone with all others fixed, and the deviations of the priors.
fn combine(slopes: &[Vec<f64>], sds_ms: &[f64], priors_ms: &[f64]) -> Covariance {
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let lengths: Vec<f64> = slopes.iter().map(|s| product(s, s).sqrt()).collect();
    // Entries are in units of the deviations.
    let entry = |i: usize, j: usize| {
        if i == j {
            return 1.0 + (sds_ms[i] / priors_ms[i]).powi(2);
        }
        let lengths = lengths[i] * lengths[j];
        if lengths > 0.0 {
            product(&slopes[i], &slopes[j]) / lengths
        } else {
            0.0
        }
    };
    let n = sds_ms.len();
    let information = matrix(n, entry);
    let fixed = (0..n).map(|i| sds_ms[i] / information[i][i].sqrt());
    let others_held_sd_ms = fixed.collect();
    let inverse = inverse(information);
    Covariance {
        ms2: matrix(n, |i, j| inverse[i][j] * sds_ms[j] * sds_ms[i]),
        others_held_sd_ms,
    }
}

/// Returns the change in each part of the likelihood when a number changes by one deviation.
fn slope(search: &Search<'_>, (at, sd_ms): (Coordinate, f64)) -> Vec<f64> {
    let parts = |ms: f64| {
        let moved = search.candidate.moved(&vec![(at, 1.0)], ms);
        let parts = search.objective.parts(&moved);
        parts.rows.into_iter().chain(parts.means)
    };
    let (up, down) = (parts(sd_ms), parts(-sd_ms));
    up.zip(down).map(|(up, down)| (up - down) / 2.0).collect()
}

fn matrix(n: usize, entry: impl Fn(usize, usize) -> f64) -> Vec<Vec<f64>> {
    let row = |i| (0..n).map(|j| entry(i, j)).collect();
    (0..n).map(row).collect()
}

/// Returns the inverse of a positive definite matrix, by Gauss-Jordan elimination.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = matrix.len();
    let mut inverse = self::matrix(n, |i, j| f64::from(u8::from(i == j)));
    for k in 0..n {
        let pivot = matrix[k][k];
        let scaled = |row: &[f64]| row.iter().map(|value| value / pivot).collect();
        (matrix[k], inverse[k]) = (scaled(&matrix[k]), scaled(&inverse[k]));
        for i in (0..n).filter(|&i| i != k) {
            let times = matrix[i][k];
            for j in 0..n {
                matrix[i][j] -= times * matrix[k][j];
                inverse[i][j] -= times * inverse[k][j];
            }
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::candidate::parameter;

    /// The prior deviation of a bus rate is a tenth of the given rate.
    #[test]
    fn only_bus_rates_far_from_the_given_ones_are_doubtful() {
        let key = |path| parameter(path).expect("a fitted key");
        let rate = key("bus.write_sector");
        assert!(is_doubtful(rate, 0.2, 0.13) && is_doubtful(rate, 0.2, 0.27));
        assert!(!is_doubtful(rate, 0.2, 0.15) && !is_doubtful(rate, 0.2, 0.25));
        assert!(!is_doubtful(rate, 0.0, 5.0), "no rate is given");
        assert!(!is_doubtful(key("overheads.read_completion"), 0.2, 9.0));
        assert!(!is_doubtful(Coordinate::ReadSeek(0), 0.2, 9.0));
    }

    #[track_caller]
    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }

    fn covariance_of(ms2: Vec<Vec<f64>>) -> Covariance {
        Covariance {
            ms2,
            ..Covariance::default()
        }
    }

    /// Calculated by hand: if the sum of two numbers has a deviation of 0.1 and their difference
    /// one of 2, each has the variance (0.01 + 4) / 4, and their covariance is (0.01 - 4) / 4.
    #[test]
    fn a_sum_may_be_more_certain_than_its_parts() {
        let [sum, difference] = [100.0, 0.25];
        let both = sum - difference;
        let information = vec![vec![sum + difference, both], vec![both, sum + difference]];
        let covariance = covariance_of(inverse(information));
        near(covariance.ms2[0][0], 4.01 / 4.0);
        near(covariance.ms2[0][1], -3.99 / 4.0);
        let pairs = covariance.pairs();
        assert_eq!(pairs.len(), 1);
        assert_eq!(pairs[0].indices, [0, 1]);
        near(pairs[0].correlation, -3.99 / 4.01);
        near(pairs[0].sd_ms, 0.1);
    }

    /// Calculated by hand: with deviations of 0.1 and 1 and a correlation of 0.95, the difference
    /// has the variance 0.01 + 1 - 0.19 = 0.82, a deviation of 0.91; with 0.6 and 1 it has 0.36 + 1
    /// - 1.14 = 0.22, a deviation of 0.47.
    #[test]
    fn a_pair_must_be_more_certain_than_both_of_its_parts() {
        let pair = |sd: f64| covariance_of(vec![vec![sd * sd, 0.95 * sd], vec![0.95 * sd, 1.0]]);
        assert_eq!(pair(0.1).pairs(), []);
        let pairs = pair(0.6).pairs();
        near(pairs[0].sd_ms, 0.22f64.sqrt());
        assert_eq!(pairs.len(), 1);
    }

    /// Calculated by hand: for a single number, with a deviation of 0.3 from the trace and a prior
    /// deviation of 0.4, the information is 1 / 0.09 + 1 / 0.16 = 1 / 0.0576.
    #[test]
    fn both_deviations_include_trace_and_prior() {
        let one = combine(&[vec![1.0, 2.0]], &[0.3], &[0.4]);
        near(one.others_held_sd_ms[0], 0.24);
        near(one.sd_ms(0), 0.24);
    }

    proptest::proptest! {
        /// Fixing other numbers adds information.
        #[test]
        fn fixing_other_numbers_makes_none_less_certain(
            slopes in proptest::collection::vec(proptest::array::uniform6(-1.0..1.0f64), 1..8),
            sds in proptest::array::uniform8(0.001..2.0f64),
            priors in proptest::array::uniform8(0.01..2.0f64),
        ) {
            let slopes: Vec<Vec<f64>> = slopes.into_iter().map(Vec::from).collect();
            let n = slopes.len();
            let covariance = combine(&slopes, &sds[..n], &priors[..n]);
            for i in 0..n {
                let (held, free) = (covariance.others_held_sd_ms[i], covariance.sd_ms(i));
                proptest::prop_assert!(held <= free * (1.0 + 1e-9), "{held} {free}");
                proptest::prop_assert!(held <= sds[i] && free <= priors[i] * (1.0 + 1e-9));
            }
        }
    }
}
