//! The search for the most likely specification.

use crate::calibrate::candidate::{Candidate, Coordinate, Direction, PARAMETERS};
use crate::calibrate::likelihood::EVIDENCE;
use crate::calibrate::objective::Objective;
use crate::calibrate::switch::Behaviour;

pub struct Search<'a> {
    pub objective: Objective<'a>,
    pub candidate: Candidate,
    pub score: f64,
}

impl<'a> Search<'a> {
    pub fn new(objective: Objective<'a>, candidate: Candidate) -> Self {
        let score = objective.of(&candidate);
        Self {
            objective,
            candidate,
            score,
        }
    }

    pub fn learn_noise(&mut self) {
        self.objective.learn_noise(&self.candidate);
        self.score = self.objective.of(&self.candidate);
    }

    /// Moves in a direction to the best score within `reach`, starting from evenly spaced `points`.
    fn move_along(&mut self, direction: &Direction, reach: f64, points: i32, iterations: u64) {
        let score = |ms: f64| self.objective.of(&self.candidate.moved(direction, ms));
        let mut best = (self.score, 0.0);
        let half = f64::from(points / 2).max(1.0);
        let spacing = reach / half;
        for k in (-points / 2..=points / 2).filter(|&k| k != 0) {
            let ms = f64::from(k) * spacing;
            let tried = score(ms);
            if tried > best.0 {
                best = (tried, ms);
            }
        }
        let interval = [best.1 - spacing, best.1 + spacing];
        let (ms, cost) = minimum(|ms| -score(ms), interval, iterations);
        if -cost > best.0 {
            best = (-cost, ms);
        }
        if best.0 > self.score {
            self.score = best.0;
            self.candidate = self.candidate.moved(direction, best.1);
        }
    }

    /// Searches all `directions` once, each within `scale` prior deviations.
    pub fn sweep(&mut self, directions: &[Direction], scale: f64, points: i32, iterations: u64) {
        for direction in directions {
            let reach = Candidate::prior_ms(direction[0].0) * scale;
            self.move_along(direction, reach, points, iterations);
        }
    }

    /// Separates the seek times of writes if the trace shows a difference: a large one over some
    /// distances, or a small one over all distances.
    pub fn try_write_seek(&mut self) {
        if self.candidate.write_seek.is_some() {
            return;
        }
        let (before, score) = (self.candidate.clone(), self.score);
        self.candidate.split_write_seek();
        self.score = self.objective.of(&self.candidate);
        let is_write_seek = |d: &Direction| matches!(d[0].0, Coordinate::WriteSeek(_));
        let mut directions = self.candidate.directions();
        directions.retain(is_write_seek);
        self.sweep(&directions, 6.0, 13, 5);
        if self.score > score + EVIDENCE {
            self.sweep(&directions, 4.0, 9, 5);
            self.sweep(&directions, 1.0, 1, 5);
        } else {
            (self.candidate, self.score) = (before, score);
        }
    }

    /// Adopts the behaviours that make the trace more likely, the best one first.
    pub fn choose(&mut self) {
        let mut hopeless: Vec<String> = Vec::new();
        for _ in 0..MAX_ROUNDS {
            let mut behaviours = Behaviour::all(&self.candidate.spec, self.objective.given);
            behaviours.retain(|behaviour| !hopeless.contains(&behaviour.description));
            let scored = behaviours.into_iter().map(|behaviour| {
                let candidate = behaviour.apply(&self.candidate);
                (self.objective.of(&candidate), behaviour)
            });
            // If the score does not change at all, the trace does not show the behaviour.
            let changed = scored.filter(|(score, _)| *score != self.score);
            let mut hopeful: Vec<(f64, Behaviour)> = changed.collect();
            hopeful.sort_by(|a, b| b.0.total_cmp(&a.0));
            let mut best: Option<(f64, Candidate)> = None;
            for (nth, (raw, behaviour)) in hopeful.into_iter().enumerate() {
                if nth >= MIN_REFITTED && raw < self.score {
                    break;
                }
                let (score, candidate) = self.refit(&behaviour);
                if score < self.score - HOPELESS_LOSS {
                    hopeless.push(behaviour.description.clone());
                }
                // The given behaviours need no evidence.
                let gain = score - if behaviour.is_given { 0.0 } else { EVIDENCE };
                if best.as_ref().is_none_or(|(best, _)| gain > *best) {
                    best = Some((gain, candidate));
                }
            }
            let Some((_, candidate)) = best.filter(|(gain, _)| *gain > self.score) else {
                return;
            };
            self.score = self.objective.of(&candidate);
            self.candidate = candidate;
        }
    }

    /// Returns the score and candidate of a behaviour after a refit of the times that depend on it.
    fn refit(&self, behaviour: &Behaviour) -> (f64, Candidate) {
        let mut tried = Search::new(self.objective.restarted(), behaviour.apply(&self.candidate));
        let all = PARAMETERS.iter();
        let numbers = all.take_while(|number| number.key.rank <= LAST_RANK);
        let single = |(i, _)| vec![(Coordinate::Parameter(i), 1.0)];
        let directions: Vec<Direction> = numbers.enumerate().map(single).collect();
        tried.sweep(&directions, 0.7, 1, 5);
        let evaluations = &self.objective.evaluations;
        evaluations.set(evaluations.get() + tried.objective.evaluations.get());
        (tried.score, tried.candidate)
    }
}

/// The maximum number of behaviours adopted in one stage.
const MAX_ROUNDS: usize = 12;

/// The number of behaviours per round that are refitted even if they do not improve the score.
const MIN_REFITTED: usize = 16;

/// A behaviour is not tried again if it is worse by this much after a refit.
const HOPELESS_LOSS: f64 = 200.0;

/// The last rank of the numbers that depend on behaviours of the buffer or bus.
const LAST_RANK: u8 = 1;

/// The relative and the absolute distance below which two points count as the same.
const TOLERANCE: (f64, f64) = (1e-4, 1e-3);

/// The golden section, as a share of an interval: (3 - sqrt(5)) / 2.
const GOLDEN_SECTION: f64 = 0.381_966_011_250_105_1;

#[derive(Clone, Copy)]
struct Point {
    x: f64,
    y: f64,
}

/// Returns a local minimum of `f` in `[low, high]` after at most `steps` steps, and its value.
///
/// Each step evaluates `f` once: at the minimum of a parabola through the three best points if that
/// is reliable, otherwise by golden section (Brent's method).
fn minimum(f: impl Fn(f64) -> f64, [mut low, mut high]: [f64; 2], steps: u64) -> (f64, f64) {
    let at = |x: f64| Point { x, y: f(x) };
    // The best point, the second best, and the previous second best.
    let mut best = at(low + GOLDEN_SECTION * (high - low));
    let (mut second, mut third) = (best, best);
    // The last two steps.
    let (mut step, mut previous) = (0.0, 0.0_f64);
    for _ in 0..steps {
        let near = TOLERANCE.0 * best.x.abs() + TOLERANCE.1;
        let middle = (low + high) / 2.0;
        if (best.x - middle).abs() <= 2.0 * near - (high - low) / 2.0 {
            break;
        }
        let (numerator, denominator) = parabola_step(best, second, third);
        let is_outside =
            numerator < denominator * (low - best.x) || numerator > denominator * (high - best.x);
        if previous.abs() <= near
            || is_outside
            || 2.0 * numerator.abs() >= denominator * previous.abs()
        {
            previous = if best.x < middle { high } else { low } - best.x;
            step = GOLDEN_SECTION * previous;
        } else {
            previous = step;
            step = numerator / denominator;
            if best.x + step - low < 2.0 * near || high - best.x - step < 2.0 * near {
                step = (middle - best.x).signum() * near;
            }
        }
        let next = at(best.x + step.signum() * step.abs().max(near));
        if next.y <= best.y {
            *(if next.x < best.x { &mut high } else { &mut low }) = best.x;
            (third, second, best) = (second, best, next);
        } else {
            *(if next.x < best.x { &mut low } else { &mut high }) = next.x;
            if next.y <= second.y || second.x == best.x {
                (third, second) = (second, next);
            } else if next.y <= third.y || third.x == best.x || third.x == second.x {
                third = next;
            }
        }
    }
    (best.x, best.y)
}

/// Returns the step from `a` to the minimum of the parabola through three points, as a fraction.
/// Its denominator is never negative, and it is zero if two points are the same.
fn parabola_step(a: Point, b: Point, c: Point) -> (f64, f64) {
    let ((ab, ac), (fb, fc)) = ((a.x - b.x, a.x - c.x), (a.y - b.y, a.y - c.y));
    let numerator = ac * ac * fb - ab * ab * fc;
    let denominator = 2.0 * (ab * fc - ac * fb);
    if denominator >= 0.0 {
        (numerator, denominator)
    } else {
        (-numerator, -denominator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_parabola_is_minimised_from_three_points() {
        let found = minimum(|x| (x - 0.7).powi(2) + 3.0, [-2.0, 5.0], 5);
        assert!((found.0 - 0.7).abs() < 2e-3 && (found.1 - 3.0).abs() < 1e-5);
    }

    /// The minima are smooth (at ln 2), at a kink, in a flat part, and at the ends of the interval.
    #[test]
    fn other_functions_are_minimised_to_the_tolerance() {
        let check = |f: fn(f64) -> f64, expected: f64, tolerance: f64| {
            let (x, y) = minimum(f, [-3.0, 4.0], 100);
            assert!((x - expected).abs() < tolerance, "{x}, not {expected}");
            assert_eq!(y, f(x));
        };
        check(|x| x.exp() - 2.0 * x, std::f64::consts::LN_2, 4e-3);
        check(|x| (x - 1.0).abs(), 1.0, 4e-3);
        check(|x| x.powi(4), 0.0, 0.1);
        check(|x| x, -3.0, 4e-3);
        check(|x| -x, 4.0, 4e-3);
    }

    #[test]
    fn each_step_evaluates_once_and_the_best_point_is_returned() {
        let count = Cell::new(0);
        let min = Cell::new(f64::INFINITY);
        let bumpy = |x: f64| {
            count.set(count.get() + 1);
            let y = (7.0 * x).sin() + (x * 0.3).cos();
            min.set(min.get().min(y));
            y
        };
        let (_, y) = minimum(bumpy, [-3.0, 4.0], 6);
        assert_eq!((count.get(), y), (7, min.get()));
    }
}
