//! How well a model of the drive fits what the drive answered.

use diskarm_core::drive::Core;
use diskarm_core::spec::Spec;

use super::bench::{Bench, CALM, Replay, Trial};

/// What a trial can speak for or against a hypothesis at most.
pub(super) const CAP: f64 = 25.0;
/// A hypothesis must be this much worse to be refuted.
const REFUTED: f64 = 4.0 * CAP;
/// The times of models may be off by this much, in nanoseconds.
const LITTLE: f64 = 25_000.0;
/// This many deviations apart, an end is not the drive's at all.
const FAR: f64 = 16.0;

/// By how much the end of a command and that of a model are apart by chance, in nanoseconds.
pub(super) fn deviation(bench: &Bench<'_, '_>, sectors: u16) -> f64 {
    let steps = f64::from(sectors - 1);
    let scatter = bench.scatter();
    // The rate of the bus is known from some fifty services of up to 33 sectors.
    let rate = (scatter - CALM) / 100.0;
    scatter + 5_000.0 * steps.min(16.0) + rate * steps
}

/// How badly a model fits a trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Misfit {
    /// Squares of deviations, of which one that is far apart counts most.
    pub sum: f64,
    /// Whether the model predicts an end that is not the drive's at all.
    pub fails: bool,
}

impl Misfit {
    /// Of a model and a trial. Where it fails, it may be off by a little, and just catch a sector
    /// that the drive missed.
    pub fn of(bench: &Bench<'_, '_>, model: &Core, trial: &Trial) -> Self {
        let exact = Self::shifted(bench, model, trial, 0.0);
        if !exact.fails {
            return exact;
        }
        let others = [-LITTLE, LITTLE].map(|off| Self::shifted(bench, model, trial, off));
        others.into_iter().fold(
            exact,
            |best, other| {
                if other.sum < best.sum { other } else { best }
            },
        )
    }

    /// The same of a trial to which commands come `off` later.
    fn shifted(bench: &Bench<'_, '_>, model: &Core, trial: &Trial, off: f64) -> Self {
        let mut replay = Replay::new(model, trial.first, trial.began);
        let mut sum = 0.0;
        let count = trial.seen.len() as f64;
        for (k, seen) in trial.seen.iter().enumerate() {
            let end = replay.serve(&seen.step, seen.sent + off);
            let apart = (end - seen.ended) / deviation(bench, seen.step.sectors);
            if apart.abs() > FAR {
                sum += CAP * (2.0 - k as f64 / count);
                return Self { sum, fails: true };
            }
            sum += (apart * apart).min(CAP);
        }
        let sum = sum.min(2.0 * CAP);
        Self { sum, fails: false }
    }
}

/// How badly what is believed fits each trial.
pub(super) struct Baseline(Vec<Misfit>);

impl Baseline {
    pub fn new(bench: &Bench<'_, '_>) -> Self {
        let believed = bench.model(&bench.believed);
        let trials = bench.trials.iter();
        Self(
            trials
                .map(|trial| Misfit::of(bench, &believed, trial))
                .collect(),
        )
    }

    /// Its misfit with a trial.
    pub fn at(&self, trial: usize) -> f64 {
        self.0[trial].sum
    }

    /// Whether it does not explain a trial.
    pub fn fails(&self, trial: usize) -> bool {
        self.0[trial].fails
    }

    /// The trials that it does not explain.
    pub fn odd(&self) -> Vec<usize> {
        (0..self.0.len())
            .filter(|trial| self.fails(*trial))
            .collect()
    }

    /// By how much another model fits a trial worse. What neither explains speaks for neither.
    pub fn margin(&self, bench: &Bench<'_, '_>, other: &Core, trial: usize) -> f64 {
        let misfit = Misfit::of(bench, other, &bench.trials[trial]);
        if misfit.fails && self.fails(trial) {
            return 0.0;
        }
        (misfit.sum - self.at(trial)).clamp(-CAP, CAP)
    }

    /// The same, where something that fails later in a trial is better than what fails sooner.
    fn advance(&self, bench: &Bench<'_, '_>, other: &Core, trial: usize) -> f64 {
        let misfit = Misfit::of(bench, other, &bench.trials[trial]);
        (misfit.sum - self.at(trial)).clamp(-CAP, CAP)
    }

    /// By how much another model fits each trial worse.
    pub fn margins(&self, bench: &Bench<'_, '_>, other: &Core) -> impl Iterator<Item = f64> {
        (0..self.0.len()).map(|trial| self.margin(bench, other, trial))
    }

    /// Whether a hypothesis is not refuted, which trials `first` may do at once. The newest trials
    /// were made to refute what is left.
    pub fn is_open(&self, bench: &Bench<'_, '_>, spec: &Spec, first: &[usize]) -> bool {
        let model = bench.model(spec);
        let rest = (0..self.0.len()).rev();
        let mut sum = 0.0;
        for &trial in first {
            sum += self.margin(bench, &model, trial);
        }
        if sum > REFUTED + 2.0 * CAP {
            return false;
        }
        for trial in rest.filter(|trial| !first.contains(trial)) {
            sum += self.margin(bench, &model, trial);
            if sum > REFUTED + 2.0 * CAP {
                return false;
            }
        }
        sum < REFUTED
    }

    /// The trials that speak against a model, those that do so most first.
    pub fn against(&self, bench: &Bench<'_, '_>, other: &Core) -> Vec<usize> {
        let margins = self.margins(bench, other).enumerate();
        let mut against: Vec<(usize, f64)> =
            margins.filter(|(_, margin)| *margin > CAP / 2.0).collect();
        against.sort_by(|a, b| b.1.total_cmp(&a.1));
        against.into_iter().map(|(trial, _)| trial).collect()
    }

    /// By how much a model fits all trials worse; something beyond `most` if it is soon seen to do
    /// so.
    pub fn gain(&self, bench: &Bench<'_, '_>, other: &Core, max: f64) -> f64 {
        let mut sum = 0.0;
        for trial in (0..self.0.len()).rev() {
            sum += self.advance(bench, other, trial);
            if sum > max {
                break;
            }
        }
        sum
    }
}
