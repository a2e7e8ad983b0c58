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

    /// Moves along a direction to the best score within `reach`, first at evenly spaced `points`.
    fn move_along(&mut self, along: &Direction, reach: f64, points: i32, iterations: u64) {
        let score = |ms: f64| self.objective.of(&self.candidate.moved(along, ms));
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
        let within = [best.1 - spacing, best.1 + spacing];
        let (ms, cost) = minimum(|ms| -score(ms), within, iterations);
        if -cost > best.0 {
            best = (-cost, ms);
        }
        if best.0 > self.score {
            self.score = best.0;
            self.candidate = self.candidate.moved(along, best.1);
        }
    }

    /// One pass over `directions`, each within `scale` of its prior's deviation.
    pub fn sweep(&mut self, directions: &[Direction], scale: f64, points: i32, iterations: u64) {
        for along in directions {
            let reach = Candidate::prior_ms(along[0].0) * scale;
            self.move_along(along, reach, points, iterations);
        }
    }

    /// Separates the seek times of writes if the trace asks for it: if some range of distances
    /// takes much longer or shorter, or all distances slightly so.
    pub fn try_write_seek(&mut self) {
        if self.candidate.write_seek.is_some() {
            return;
        }
        let (before, score) = (self.candidate.clone(), self.score);
        self.candidate.split_write_seek();
        self.score = self.objective.of(&self.candidate);
        let own = |along: &Direction| matches!(along[0].0, Coordinate::WriteSeek(_));
        let mut directions = self.candidate.directions();
        directions.retain(own);
        self.sweep(&directions, 6.0, 13, 5);
        if self.score > score + EVIDENCE {
            self.sweep(&directions, 4.0, 9, 5);
            self.sweep(&directions, 1.0, 1, 5);
        } else {
            (self.candidate, self.score) = (before, score);
        }
    }

    /// Adopts the behaviours that make the trace more likely, best first.
    pub fn choose(&mut self) {
        let mut hopeless: Vec<String> = Vec::new();
        for _ in 0..ROUNDS {
            let mut behaviours = Behaviour::all(&self.candidate.spec, self.objective.given);
            behaviours.retain(|behaviour| !hopeless.contains(&behaviour.what));
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
                if nth >= REFITTED && raw < self.score {
                    break;
                }
                let (score, candidate) = self.refitted(&behaviour);
                if score < self.score - HOPELESS {
                    hopeless.push(behaviour.what.clone());
                }
                // A given behaviour needs no evidence.
                let gain = score - if behaviour.returns { 0.0 } else { EVIDENCE };
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

    /// The score of a behaviour, and its candidate, after a refit of the times that depend on it.
    fn refitted(&self, behaviour: &Behaviour) -> (f64, Candidate) {
        let mut tried = Search::new(self.objective.again(), behaviour.apply(&self.candidate));
        let all = PARAMETERS.iter();
        let numbers = all.take_while(|number| number.key.rank <= LAST_RANK);
        let alone = |(i, _)| vec![(Coordinate::Parameter(i), 1.0)];
        let directions: Vec<Direction> = numbers.enumerate().map(alone).collect();
        tried.sweep(&directions, 0.7, 1, 5);
        let evaluations = &self.objective.evaluations;
        evaluations.set(evaluations.get() + tried.objective.evaluations.get());
        (tried.score, tried.candidate)
    }
}

/// The maximum number of behaviours adopted in one stage.
const ROUNDS: usize = 12;

/// The number of behaviours per round that are refitted even if they do not improve the score.
const REFITTED: usize = 16;

/// A behaviour that is worse by this much after a refit is not tried again.
const HOPELESS: f64 = 200.0;

/// The last rank of the numbers that depend on a behaviour of buffer or bus.
const LAST_RANK: u8 = 1;

/// The relative and the absolute part of the distance below which two points are the same.
const TOLERANCE: (f64, f64) = (1e-4, 1e-3);

/// The share of an interval that a golden section step takes: (3 - sqrt(5)) / 2.
const GOLDEN: f64 = 0.381_966_011_250_105_1;

/// A point and the function there.
#[derive(Clone, Copy)]
struct Point {
    x: f64,
    y: f64,
}

/// A local minimum of `f` within `[low, high]` after at most `steps` steps, and `f` there.
///
/// Each step evaluates `f` once: at the minimum of a parabola through the three best points if
/// that can be trusted, else by golden section.
fn minimum(f: impl Fn(f64) -> f64, [mut low, mut high]: [f64; 2], steps: u64) -> (f64, f64) {
    let at = |x: f64| Point { x, y: f(x) };
    // The best point, the second, and what was the second before.
    let mut best = at(low + GOLDEN * (high - low));
    let (mut second, mut third) = (best, best);
    // The last two steps.
    let (mut step, mut before) = (0.0, 0.0_f64);
    for _ in 0..steps {
        let near = TOLERANCE.0 * best.x.abs() + TOLERANCE.1;
        let middle = (low + high) / 2.0;
        if (best.x - middle).abs() <= 2.0 * near - (high - low) / 2.0 {
            break;
        }
        let (up, down) = parabola(best, second, third);
        let is_outside = up < down * (low - best.x) || up > down * (high - best.x);
        if before.abs() <= near || is_outside || 2.0 * up.abs() >= down * before.abs() {
            before = if best.x < middle { high } else { low } - best.x;
            step = GOLDEN * before;
        } else {
            before = step;
            step = up / down;
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

/// The way from `a` to the minimum of the parabola through three points, as a fraction whose
/// denominator is not negative; it is zero where two points are the same.
fn parabola(a: Point, b: Point, c: Point) -> (f64, f64) {
    let ((ab, ac), (fb, fc)) = ((a.x - b.x, a.x - c.x), (a.y - b.y, a.y - c.y));
    let up = ac * ac * fb - ab * ab * fc;
    let down = 2.0 * (ab * fc - ac * fb);
    if down >= 0.0 {
        (up, down)
    } else {
        (-up, -down)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_parabola_is_minimised_once_three_points_are_known() {
        let found = minimum(|x| (x - 0.7).powi(2) + 3.0, [-2.0, 5.0], 5);
        assert!((found.0 - 0.7).abs() < 2e-3 && (found.1 - 3.0).abs() < 1e-5);
    }

    /// exp(x) - 2x has its minimum at ln 2; |x - 1| has no parabola there; x^4 is flat.
    #[test]
    fn other_functions_are_minimised_to_the_tolerance() {
        let check = |f: fn(f64) -> f64, at: f64, within: f64| {
            let (x, y) = minimum(f, [-3.0, 4.0], 100);
            assert!((x - at).abs() < within, "{x}, not {at}");
            assert_eq!(y, f(x));
        };
        check(|x| x.exp() - 2.0 * x, std::f64::consts::LN_2, 4e-3);
        check(|x| (x - 1.0).abs(), 1.0, 4e-3);
        check(|x| x.powi(4), 0.0, 0.1);
        // At the edge of the interval.
        check(|x| x, -3.0, 4e-3);
        check(|x| -x, 4.0, 4e-3);
    }

    #[test]
    fn a_step_evaluates_once_and_the_best_point_is_kept() {
        let count = Cell::new(0);
        let lowest = Cell::new(f64::INFINITY);
        let rough = |x: f64| {
            count.set(count.get() + 1);
            let y = (7.0 * x).sin() + (x * 0.3).cos();
            lowest.set(lowest.get().min(y));
            y
        };
        let (_, y) = minimum(rough, [-3.0, 4.0], 6);
        assert_eq!((count.get(), y), (7, lowest.get()));
    }
}
