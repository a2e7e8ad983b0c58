//! Finds what explains the drive's answers where no single change of what is believed does.

use diskarm_core::spec::Spec;

use super::bench::Bench;
use super::fit::{Baseline, CAP, Misfit};
use super::judge::same;
use super::moves;

/// Hypotheses from which others are made.
const WIDTH: usize = 8;
/// Facts in which a hypothesis differs at most.
const DEPTH: usize = 3;
/// Trials by which hypotheses are compared: those that are not explained, and others.
const TRIALS: [usize; 2] = [16, 24];
/// So often nothing is found before it is given up.
const FAILURES: usize = 5;
/// Unexplained trials are chance if there are no more of them.
const CHANCE: usize = 1;

/// What was tried in vain.
#[derive(Default)]
pub(super) struct Tried {
    /// Of this many unexplained trials nothing was made.
    odd: usize,
    failed: usize,
}

/// Believes something that differs in several facts if it fits the trials better; false if nothing
/// was found.
pub(super) fn escape(bench: &mut Bench<'_, '_>, tried: &mut Tried) -> bool {
    let baseline = Baseline::new(bench);
    let odd = baseline.odd();
    if odd.len() <= CHANCE + tried.odd + tried.odd / 8 || tried.failed >= FAILURES {
        return false;
    }
    tried.odd = odd.len();
    if divide(bench, &baseline) {
        tried.odd = 0;
        return true;
    }
    let sample = Sample::new(bench, &baseline, odd);
    let mut beam = vec![(0.0, bench.believed.clone())];
    for _ in 0..DEPTH {
        let mut next: Vec<(f64, Spec)> = Vec::new();
        for (_, from) in &beam {
            for other in moves::wide(from, bench.writes) {
                if !other.spec.buffer.caching && bench.has_hits() {
                    continue;
                }
                let max = match next.len() {
                    WIDTH => next[WIDTH - 1].0,
                    _ => f64::INFINITY,
                };
                let Some(score) = sample.score(bench, &baseline, &other.spec, max) else {
                    continue;
                };
                if next.iter().any(|(_, known)| same(known, &other.spec)) {
                    continue;
                }
                let at = next.partition_point(|(known, _)| *known <= score);
                next.insert(at, (score, other.spec));
                next.truncate(WIDTH);
            }
        }
        let gain = |spec: &Spec| baseline.gain(bench, &bench.model(spec), 0.0);
        let gains = next.iter().map(|(_, spec)| (gain(spec), spec));
        let best = gains.min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((gain, spec)) = best
            && gain < -1.0
        {
            bench.believed = spec.clone();
            tried.odd = 0;
            return true;
        }
        beam = next;
    }
    tried.failed += 1;
    false
}

/// Divides times in another way if the trials fit that better.
fn divide(bench: &mut Bench<'_, '_>, baseline: &Baseline) -> bool {
    let now = bench.cut();
    let (mut min, mut best) = (-1.0, None);
    for cut in bench.cuts() {
        bench.divide(cut);
        let gain = baseline.gain(bench, &bench.model(&bench.believed), 2.0 * CAP);
        if gain < min {
            (min, best) = (gain, Some(cut));
        }
        bench.divide(now);
    }
    if let Some(best) = best {
        bench.divide(best);
    }
    best.is_some()
}

/// The trials by which hypotheses are compared.
struct Sample {
    odd: Vec<usize>,
    others: Vec<usize>,
}

impl Sample {
    fn new(bench: &Bench<'_, '_>, baseline: &Baseline, mut odd: Vec<usize>) -> Self {
        let [some, more] = TRIALS;
        let mut others: Vec<usize> = (0..bench.trials.len())
            .filter(|trial| !baseline.fails(*trial))
            .collect();
        // Those that are soon replayed, and the newest.
        let effort = |trial: &usize| bench.trials[*trial].seen.len() / 8;
        for trials in [&mut odd, &mut others] {
            trials.reverse();
            trials.sort_by_key(effort);
        }
        odd.truncate(some);
        others.truncate(more);
        Self { odd, others }
    }

    /// How badly a hypothesis fits; `None` if that is beyond `most`, or if it explains nothing that
    /// is not explained yet.
    fn score(
        &self,
        bench: &Bench<'_, '_>,
        baseline: &Baseline,
        spec: &Spec,
        max: f64,
    ) -> Option<f64> {
        let model = bench.model(spec);
        let misfit = |trial: usize| Misfit::of(bench, &model, &bench.trials[trial]).sum;
        let mut sum = 0.0;
        let mut mends = false;
        for &trial in &self.odd {
            let misfit = misfit(trial);
            mends |= misfit < baseline.at(trial) - CAP / 2.0;
            sum += misfit;
        }
        if !mends {
            return None;
        }
        for &trial in &self.others {
            if sum >= max {
                return None;
            }
            sum += misfit(trial);
        }
        (sum < max).then_some(sum)
    }
}
