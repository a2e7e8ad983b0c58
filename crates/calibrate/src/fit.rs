//! The search for the likeliest specification.

use argmin::core::{CostFunction, Error as SolverError, Executor, State};
use argmin::solver::brent::BrentOpt;
use diskarm_core::drive::Outcome;
use diskarm_core::predict::Continuity;
use diskarm_core::spec::Spec;

use crate::candidate::{Candidate, Coordinate, Direction};
use crate::likelihood::Noise;
use crate::switch::Choice;
use crate::trace::Trace;

/// What is maximised: the likelihood of a trace under a candidate, and the candidate's prior.
pub struct Objective<'a> {
    trace: &'a Trace,
    given: &'a Spec,
    continuity: Continuity,
    /// How measurements scatter.
    pub noise: Noise,
    /// How often it was asked.
    pub asked: std::cell::Cell<u64>,
}

/// By how much a behaviour must make the trace likelier (natural logarithm) to be taken.
const EVIDENCE: f64 = 10.0;

impl<'a> Objective<'a> {
    pub fn new(trace: &'a Trace, given: &'a Spec, continuity: Continuity) -> Self {
        Self {
            trace,
            given,
            continuity,
            noise: Noise::UNKNOWN,
            asked: 0.into(),
        }
    }

    /// Logarithm of the posterior density, but for a constant.
    pub fn of(&self, candidate: &Candidate) -> f64 {
        self.asked.set(self.asked.get() + 1);
        let spec = candidate.build();
        let mut sum = 0.0;
        let layout = &candidate.layout;
        let period_ms = spec.mechanics.period_ns / 1e6;
        self.trace.follow(&spec, layout, self.continuity, |_, row| {
            sum += self
                .noise
                .ln_density(&row.predicted, row.response, row.locked, period_ms);
        });
        sum + candidate.ln_prior(self.given)
    }

    /// Lets the noise be what `candidate` leaves unexplained.
    pub fn learn_noise(&mut self, candidate: &Candidate) {
        let spec = candidate.build();
        let (mut buffer, mut media) = (Vec::new(), Vec::new());
        let period_ms = spec.mechanics.period_ns / 1e6;
        self.trace
            .follow(&spec, &candidate.layout, self.continuity, |_, row| {
                let error = row.observed.error.as_ms().abs();
                match row.predicted.outcome {
                    Outcome::Hit | Outcome::Absorbed => buffer.push(error),
                    Outcome::Miss | Outcome::PartialHit if row.locked => {
                        media.push(error.min((error - period_ms).abs()));
                    }
                    Outcome::Miss | Outcome::PartialHit => {}
                }
            });
        // The median of a Laplace distribution's absolute errors is ln 2 of their mean.
        let scale = |errors: &mut Vec<f64>, unknown: f64| {
            if errors.is_empty() {
                return unknown;
            }
            errors.sort_by(f64::total_cmp);
            (errors[errors.len() / 2] / std::f64::consts::LN_2).clamp(0.02, 0.5)
        };
        self.noise.buffer_ms = scale(&mut buffer, Noise::UNKNOWN.buffer_ms);
        self.noise.media_ms = scale(&mut media, Noise::UNKNOWN.media_ms);
        let arms = [0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6];
        let scored = arms.map(|arm_ms| {
            let noise = Noise {
                arm_ms,
                ..self.noise
            };
            let tried = Self {
                noise,
                asked: 0.into(),
                ..*self
            };
            (tried.of(candidate), arm_ms)
        });
        let best = scored.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        self.noise.arm_ms = best.map_or(self.noise.arm_ms, |(_, arm_ms)| arm_ms);
    }
}

/// A candidate along one direction: how far from where it is, in milliseconds.
struct Line<'a, 'b> {
    objective: &'b Objective<'a>,
    candidate: &'b Candidate,
    along: &'b Direction,
}

impl CostFunction for Line<'_, '_> {
    type Param = f64;
    type Output = f64;

    fn cost(&self, ms: &f64) -> Result<f64, SolverError> {
        Ok(-self.objective.of(&self.candidate.moved(self.along, *ms)))
    }
}

/// A candidate and its score.
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

    /// Scores anew, after the noise was learnt.
    pub fn learn_noise(&mut self) {
        self.objective.learn_noise(&self.candidate);
        self.score = self.objective.of(&self.candidate);
    }

    /// Moves along a direction to where the score is best within `reach`, looking first at
    /// `points` evenly spaced places.
    fn move_along(&mut self, along: &Direction, reach: f64, points: i32, iterations: u64) {
        let line = || Line {
            objective: &self.objective,
            candidate: &self.candidate,
            along,
        };
        let mut best = (self.score, 0.0);
        let half = f64::from(points / 2).max(1.0);
        let spacing = reach / half;
        for k in (-points / 2..=points / 2).filter(|&k| k != 0) {
            let ms = f64::from(k) * spacing;
            if let Ok(cost) = line().cost(&ms)
                && -cost > best.0
            {
                best = (-cost, ms);
            }
        }
        let solver = BrentOpt::new(best.1 - spacing, best.1 + spacing).set_tolerance(1e-4, 1e-3);
        let run = Executor::new(line(), solver)
            .configure(|state| state.max_iters(iterations))
            .run();
        if let Ok(done) = run
            && let Some(&ms) = done.state().get_best_param()
            && -done.state().get_best_cost() > best.0
        {
            best = (-done.state().get_best_cost(), ms);
        }
        if best.0 > self.score {
            self.score = best.0;
            self.candidate = self.candidate.moved(along, best.1);
        }
    }

    /// One pass over `directions`.
    pub fn sweep(&mut self, directions: &[Direction], scale: f64, points: i32, iterations: u64) {
        for along in directions {
            let reach = Candidate::prior_ms(along[0].0) * scale;
            self.move_along(along, reach, points, iterations);
        }
    }

    /// Takes the behaviours that make the trace likelier, the best first; returns their names.
    pub fn choose(&mut self) -> Vec<String> {
        let mut taken = Vec::new();
        loop {
            let mut best: Option<(f64, String, Candidate)> = None;
            for choice in Choice::all(&self.candidate.spec) {
                let (score, candidate) = self.tried(&choice);
                if best.as_ref().is_none_or(|(most, ..)| score > *most) {
                    best = Some((score, choice.what, candidate));
                }
            }
            match best {
                Some((score, what, candidate)) if score > self.score + EVIDENCE => {
                    (self.candidate, self.score) = (candidate, score);
                    taken.push(what);
                }
                _ => return taken,
            }
        }
    }

    /// What a behaviour is worth when the times that it shows in are fitted to it.
    fn tried(&self, choice: &Choice) -> (f64, Candidate) {
        let candidate = choice.apply(&self.candidate);
        let score = self.objective.of(&candidate);
        let objective = Objective {
            asked: 0.into(),
            ..self.objective
        };
        let mut tried = Search {
            objective,
            candidate,
            score,
        };
        // Where nothing changes at all, the trace does not show it.
        if score != self.score {
            let times = (0..SHOWN_IN).map(|i| vec![(Coordinate::Parameter(i), 1.0)]);
            tried.sweep(&times.collect::<Vec<_>>(), 0.7, 1, 5);
        }
        self.objective
            .asked
            .set(self.objective.asked.get() + tried.objective.asked.get());
        (tried.score, tried.candidate)
    }
}

/// How many of the first parameters a behaviour of buffer and bus shows in.
const SHOWN_IN: usize = 6;
