//! The search for the most likely specification.

use crate::calibrate::brent;
use crate::calibrate::candidate::{Candidate, Coordinate, Direction};
use crate::calibrate::objective::Objective;
use crate::calibrate::parameter::PARAMETERS;
use crate::calibrate::switch::Behaviour;

/// How much more likely (natural logarithm) a behaviour must make the trace to be adopted.
pub const EVIDENCE: f64 = 10.0;

/// A candidate and its score.
pub struct Search<'a> {
    /// The function to maximise.
    pub objective: Objective<'a>,
    /// The best so far.
    pub candidate: Candidate,
    pub score: f64,
}

impl<'a> Search<'a> {
    /// A search that begins at `candidate`.
    pub fn new(objective: Objective<'a>, candidate: Candidate) -> Self {
        let score = objective.of(&candidate);
        Self {
            objective,
            candidate,
            score,
        }
    }

    /// Learns the noise from the candidate and scores it again.
    pub fn learn_noise(&mut self) {
        self.objective.learn_noise(&self.candidate);
        self.score = self.objective.of(&self.candidate);
    }

    /// Moves along a direction to the best score within `reach`, after trying
    /// `points` evenly spaced points.
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
        let (ms, cost) = brent::minimum(|ms| -score(ms), within, iterations);
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

    /// Gives writes their own seek times if they need them: first tests whether some range of
    /// distances takes much longer or shorter, or all of them slightly so.
    pub fn try_write_seek(&mut self) {
        if self.candidate.write_seek.is_some() {
            return;
        }
        let (before, score) = (self.candidate.clone(), self.score);
        self.candidate.split_write_seek();
        self.score = self.objective.of(&self.candidate);
        let own = |along: &Direction| matches!(along[0].0, Coordinate::WriteSeek(_));
        let directions: Vec<Direction> = self
            .candidate
            .directions()
            .into_iter()
            .filter(own)
            .collect();
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
            let behaviours =
                Behaviour::all(&self.candidate.spec, self.objective.given()).into_iter();
            let mut hopeful: Vec<(f64, Behaviour)> = behaviours
                .filter(|behaviour| !hopeless.contains(&behaviour.what))
                .map(|behaviour| {
                    (
                        self.objective.of(&behaviour.apply(&self.candidate)),
                        behaviour,
                    )
                })
                // If the score does not change at all, the trace does not show the behaviour.
                .filter(|(score, _)| *score != self.score)
                .collect();
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
            match best {
                Some((gain, candidate)) if gain > self.score => {
                    self.score = self.objective.of(&candidate);
                    self.candidate = candidate;
                }
                _ => return,
            }
        }
    }

    /// The score of a behaviour, and its candidate, after a refit of the times that depend on it.
    fn refitted(&self, behaviour: &Behaviour) -> (f64, Candidate) {
        let candidate = behaviour.apply(&self.candidate);
        let score = self.objective.of(&candidate);
        let objective = self.objective.again();
        let mut tried = Search {
            objective,
            candidate,
            score,
        };
        let numbers = PARAMETERS
            .iter()
            .take_while(|number| number.key.rank <= LAST_RANK);
        let alone = |(i, _)| vec![(Coordinate::Parameter(i), 1.0)];
        let directions: Vec<Direction> = numbers.enumerate().map(alone).collect();
        tried.sweep(&directions, 0.7, 1, 5);
        self.objective
            .evaluations
            .set(self.objective.evaluations.get() + tried.objective.evaluations.get());
        (tried.score, tried.candidate)
    }
}

/// The maximum number of behaviours adopted in one stage.
const ROUNDS: usize = 12;

/// The number of behaviours per round that are refitted although they do not improve the score
/// before.
const REFITTED: usize = 16;

/// A behaviour that is worse by this much after a refit is not tried again.
const HOPELESS: f64 = 200.0;

/// The last rank of the numbers that depend on a behaviour of buffer or bus.
const LAST_RANK: u8 = 1;
