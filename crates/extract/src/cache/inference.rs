//! Infers the properties of the buffer by comparing hypotheses.
//!
//! # Hypothesis
//! The buffer is that of the best specification so far, or differs from it in one or two keys
//! ([`super::hypotheses`]). If none of these explains the trials, a beam search changes more keys
//! at a time, or the way in which times are split between commands and the mechanism.
//!
//! # Test vector
//! Models of two hypotheses replay many random vectors, and the vectors for which predictions
//! differ are run ([`super::selection`]). Short and long host delays are tried, because actual
//! delays are not known in advance. Finally, the best hypothesis must explain random vectors.
//!
//! # Decision
//! Models of both hypotheses replay all trials with the observed sending times. The hypothesis that
//! predicts the completions better is preferred. A trial that neither explains does not count.
//!
//! # Confidence
//! The number of trials that one of the two hypotheses predicted better, and the number of these
//! that supported the best hypothesis. A key is not determinable if no vector distinguishes two of
//! its values, or the best hypothesis from one in which the key has no effect.
//!
//! # Cost
//! Two vectors for each hypothesis that is not yet refuted, about 200 in total.

use std::collections::BTreeMap;

use diskarm_core::drive::Core;
use diskarm_core::spec::Spec;

use super::context::{Context, Replay, Trial};
use super::facts::KEYS;
use super::hypotheses::{self, Hypothesis};
use super::selection::{Selection, random_vector, select_vectors};
use crate::{Effort, Error};

const MAX_ROUNDS: usize = 60;

const CHECK_VECTORS: usize = 30;

/// Maximum number of attempts at a test if predictions differ only for some host delays.
const MAX_ATTEMPTS: usize = 3;

const MAX_CHECKS: usize = 4;

const BEAM_WIDTH: usize = 8;

const BEAM_DEPTH: usize = 3;

/// Maximum number of failed searches.
const MAX_FAILURES: usize = 5;

/// Maximum number of unexplained trials that may be due to chance.
const CHANCE: usize = 1;

/// Maximum evidence of a trial for or against a hypothesis.
const MAX_EVIDENCE: f64 = 25.0;

/// A hypothesis is refuted if its misfit exceeds that of the best one by this much.
const REFUTATION: f64 = 4.0 * MAX_EVIDENCE;

/// Tolerated error of model times in nanoseconds.
const MODEL_ERROR_NS: f64 = 25_000.0;

/// A prediction fails if it is off by more than this many standard deviations.
const FAILURE_DEVIATIONS: f64 = 16.0;

/// The certainty of the value of a key.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Verdict {
    pub agreed: u32,
    /// Number of trials that support either this value or another one.
    pub trials: u32,
    /// True if no trial distinguishes the value from another one.
    pub is_open: bool,
    /// True if so many trials support another value that the model must be incomplete.
    pub is_disputed: bool,
}

/// Tests hypotheses until all have been tested and none improves on the best one.
pub(super) fn infer(context: &mut Context<'_, '_>, effort: Effort) -> Result<Vec<Verdict>, Error> {
    let vectors_per_hypothesis = effort.choose([1, 2, 5]);
    let mut undistinguished = Undistinguished::default();
    let (mut checks, mut history) = (0, SearchHistory::default());
    for _ in 0..MAX_ROUNDS {
        improve(context, &mut history);
        let mut open = undistinguished.remove_from(open_hypotheses(context));
        if open.is_empty() && !undistinguished.is_current(context) {
            // Hypotheses were found indistinguishable from an earlier best one, not from this one.
            undistinguished = Undistinguished {
                best: context.best.clone(),
                ..Undistinguished::default()
            };
            open = undistinguished.remove_from(open_hypotheses(context));
        }
        if open.is_empty() {
            // Two changes together may have an effect that neither has alone.
            undistinguished.pairs = open_pairs(context, &undistinguished);
            open = undistinguished.remove_from(undistinguished.pairs.clone());
        }
        if !open.is_empty() {
            let selection = select_vectors(context, &open, vectors_per_hypothesis);
            undistinguished.note(&selection);
            for vector in selection.vectors {
                context.try_undisturbed(&vector)?;
            }
        } else if checks < MAX_CHECKS && !explains_random_vectors(context)? {
            checks += 1;
        } else {
            break;
        }
    }
    improve(context, &mut history);
    simplify(context);
    Ok(verdicts(context, &undistinguished))
}

fn explains_random_vectors(context: &mut Context<'_, '_>) -> Result<bool, Error> {
    let before = context.trials.len();
    for _ in 0..CHECK_VECTORS {
        let vector = random_vector(context, &[]);
        context.try_undisturbed(&vector)?;
    }
    let unexplained = Baseline::new(context).unexplained();
    Ok(!unexplained.iter().any(|trial| *trial >= before))
}

/// Hypotheses that no test vector distinguishes from the best one.
#[derive(Default)]
struct Undistinguished {
    /// Specification of the best hypothesis.
    best: Spec,
    hypotheses: Vec<Hypothesis>,
    /// Number of attempts to distinguish a hypothesis, by its label.
    attempts: BTreeMap<String, usize>,
    pairs: Vec<Hypothesis>,
}

impl Undistinguished {
    fn is_current(&self, context: &Context<'_, '_>) -> bool {
        is_same(&self.best, &context.best)
    }

    fn note(&mut self, selection: &Selection) {
        let found = selection.indistinguishable.iter();
        self.hypotheses.extend(found.cloned());
        for hypothesis in &selection.uncertain {
            let attempts = self.attempts.entry(hypothesis.label.clone()).or_default();
            *attempts += 1;
            if *attempts == MAX_ATTEMPTS {
                self.hypotheses.push(hypothesis.clone());
            }
        }
    }

    fn remove_from(&self, mut open: Vec<Hypothesis>) -> Vec<Hypothesis> {
        let is_known = |label: &str| self.hypotheses.iter().any(|known| known.label == label);
        open.retain(|hypothesis| !is_known(&hypothesis.label));
        open
    }
}

/// Returns true if two specifications of the drive have the same buffer and overheads.
fn is_same(a: &Spec, b: &Spec) -> bool {
    a.buffer == b.buffer && a.bus == b.bus && a.overheads == b.overheads
}

/// Returns the unrefuted hypotheses with one change.
fn open_hypotheses(context: &Context<'_, '_>) -> Vec<Hypothesis> {
    let baseline = Baseline::new(context);
    let mut open = hypotheses::single_changes(&context.best, context.writes);
    open.retain(|hypothesis| baseline.is_open(context, &hypothesis.spec, &[]));
    open
}

/// Returns the unrefuted hypotheses with two changes. Each change alone may be refuted.
fn open_pairs(context: &Context<'_, '_>, undistinguished: &Undistinguished) -> Vec<Hypothesis> {
    let baseline = Baseline::new(context);
    if undistinguished.is_current(context) && !undistinguished.pairs.is_empty() {
        let mut pairs = undistinguished.pairs.clone();
        pairs.retain(|pair| baseline.is_open(context, &pair.spec, &[]));
        return pairs;
    }
    let near = hypotheses::single_changes(&context.best, context.writes);
    let mut pairs: Vec<Hypothesis> = Vec::new();
    for first in hypotheses::coarse_changes(&context.best, context.writes) {
        // Most pairs are refuted by the trials that refute the first change.
        let mut opposing = baseline.opposing_trials(context, &context.model(&first.spec));
        opposing.truncate(12);
        for pair in hypotheses::coarse_changes(&first.spec, context.writes) {
            if pair.key <= first.key || !baseline.is_open(context, &pair.spec, &opposing) {
                continue;
            }
            let mut known = near.iter().chain(&pairs);
            let is_known = known.any(|known| is_same(&known.spec, &pair.spec));
            if !is_known && !is_same(&pair.spec, &context.best) {
                pairs.push(Hypothesis {
                    label: format!("{}, {}", first.label, pair.label),
                    ..pair
                });
            }
        }
    }
    pairs
}

fn improve(context: &mut Context<'_, '_>, history: &mut SearchHistory) {
    climb(context);
    while beam_search(context, history) {
        climb(context);
    }
}

/// Adopts the best single change, repeatedly, until none improves the fit.
fn climb(context: &mut Context<'_, '_>) {
    for _ in 0..40 {
        let baseline = Baseline::new(context);
        let mut better: Vec<(f64, Hypothesis)> = Vec::new();
        for other in hypotheses::single_changes(&context.best, context.writes) {
            // A drive with hits has a cache.
            if !other.spec.buffer.caching && context.has_hits() {
                continue;
            }
            let margin = baseline.loss(context, &context.model(&other.spec), 6.0 * MAX_EVIDENCE);
            if margin < -1.0 {
                better.push((margin, other));
            }
        }
        let Some(best) = best_of(better) else { break };
        context.best = best.spec;
    }
}

/// Returns the best hypothesis or, if several values of its key are equally good, the middle one.
fn best_of(mut better: Vec<(f64, Hypothesis)>) -> Option<Hypothesis> {
    let by_margin = |a: &&(f64, Hypothesis), b: &&(f64, Hypothesis)| a.0.total_cmp(&b.0);
    let (min, best) = better.iter().min_by(by_margin)?;
    let (min, key) = (*min, best.key);
    better.retain(|(margin, hypothesis)| hypothesis.key == key && *margin < min + 0.5);
    if let Some(key) = key {
        better.sort_by_key(|(_, hypothesis)| KEYS[key].count(&hypothesis.spec));
    }
    let middle = better.len() / 2;
    Some(better.swap_remove(middle).1)
}

/// Sets each key to its default if the trials allow it.
fn simplify(context: &mut Context<'_, '_>) {
    let plain = Spec::default();
    for key in &KEYS {
        let is_default = |hypothesis: &Hypothesis| {
            let index = hypothesis.key;
            let is_changed = index.is_some_and(|index| KEYS[index].path == key.path);
            is_changed && key.key().get(&hypothesis.spec) == key.key().get(&plain)
        };
        let mut defaults = hypotheses::single_changes(&context.best, context.writes);
        defaults.retain(is_default);
        let baseline = Baseline::new(context);
        let margin = |hypothesis: &Hypothesis| {
            let model = context.model(&hypothesis.spec);
            baseline.loss(context, &model, 6.0 * MAX_EVIDENCE)
        };
        let defaults = defaults.into_iter();
        let best = defaults.min_by(|a, b| margin(a).total_cmp(&margin(b)));
        if let Some(best) = best.filter(|best| margin(best) < 1.0) {
            context.best = best.spec;
        }
    }
}

fn verdicts(context: &Context<'_, '_>, undistinguished: &Undistinguished) -> Vec<Verdict> {
    let baseline = Baseline::new(context);
    let mut verdicts = vec![None::<Verdict>; KEYS.len()];
    let mut disputes = Vec::new();
    for Hypothesis { key, spec, .. } in hypotheses::single_changes(&context.best, context.writes) {
        if key.is_some_and(|key| !KEYS[key].differs(&spec, &context.best)) {
            continue;
        }
        let mut found = Verdict::default();
        for margin in baseline.margins(context, &context.model(&spec)) {
            if margin.abs() > MAX_EVIDENCE / 2.0 {
                found.trials += 1;
                found.agreed += u32::from(margin > 0.0);
            }
        }
        let Some(key) = key else {
            continue;
        };
        // The certainty of a value is measured against its strongest competitor.
        let is_worse = |worst: &Verdict| found.agreed < worst.agreed;
        if verdicts[key].as_ref().is_none_or(is_worse) {
            verdicts[key] = Some(found);
        }
        let against = found.trials - found.agreed;
        if against >= 2 && 10 * against > found.trials {
            disputes.push(spec);
        }
    }
    let verdicts = verdicts.into_iter().map(Option::unwrap_or_default);
    let mut verdicts: Vec<Verdict> = verdicts.collect();
    let mut open = open_hypotheses(context);
    open.extend(open_pairs(context, undistinguished));
    for (key, verdict) in KEYS.iter().zip(&mut verdicts) {
        let is_other = |hypothesis: &Hypothesis| {
            let is_irrelevant = (key.irrelevant)(&hypothesis.spec.buffer).is_some();
            is_irrelevant || key.differs(&hypothesis.spec, &context.best)
        };
        verdict.is_open = verdict.trials == 0 || open.iter().any(is_other);
        let differs = |other: &Spec| key.differs(other, &context.best);
        verdict.is_disputed = disputes.iter().any(differs);
    }
    verdicts
}

/// Maximum numbers of unexplained and of explained trials used to compare hypotheses.
const SAMPLE_SIZES: [usize; 2] = [16, 24];

#[derive(Default)]
struct SearchHistory {
    /// Number of unexplained trials when the last search began.
    unexplained: usize,
    failed: usize,
}

/// Adopts a better hypothesis with several changes. Returns false if none was found.
fn beam_search(context: &mut Context<'_, '_>, history: &mut SearchHistory) -> bool {
    let baseline = Baseline::new(context);
    let unexplained = baseline.unexplained();
    let known = history.unexplained + history.unexplained / 8;
    if unexplained.len() <= CHANCE + known || history.failed >= MAX_FAILURES {
        return false;
    }
    history.unexplained = unexplained.len();
    if improve_split(context, &baseline) {
        history.unexplained = 0;
        return true;
    }
    let sample = Sample::new(context, &baseline, unexplained);
    let mut beam = vec![(0.0, context.best.clone())];
    for _ in 0..BEAM_DEPTH {
        let mut next: Vec<(f64, Spec)> = Vec::new();
        for (_, from) in &beam {
            for other in hypotheses::all_changes(from, context.writes) {
                if !other.spec.buffer.caching && context.has_hits() {
                    continue;
                }
                let worst = next.get(BEAM_WIDTH - 1);
                let max = worst.map_or(f64::INFINITY, |(score, _)| *score);
                let Some(score) = sample.score(context, &baseline, &other.spec, max) else {
                    continue;
                };
                if next.iter().any(|(_, known)| is_same(known, &other.spec)) {
                    continue;
                }
                let at = next.partition_point(|(known, _)| *known <= score);
                next.insert(at, (score, other.spec));
                next.truncate(BEAM_WIDTH);
            }
        }
        let loss = |spec: &Spec| baseline.loss(context, &context.model(spec), 0.0);
        let losses = next.iter().map(|(_, spec)| (loss(spec), spec));
        let best = losses.min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((loss, spec)) = best
            && loss < -1.0
        {
            context.best = spec.clone();
            history.unexplained = 0;
            return true;
        }
        beam = next;
    }
    history.failed += 1;
    false
}

fn improve_split(context: &mut Context<'_, '_>, baseline: &Baseline) -> bool {
    let current = context.split();
    let others = context.other_splits();
    let (mut min, mut best) = (-1.0, None);
    for split in others {
        context.set_split(split);
        let model = context.model(&context.best);
        let loss = baseline.loss(context, &model, 2.0 * MAX_EVIDENCE);
        if loss < min {
            (min, best) = (loss, Some(split));
        }
        context.set_split(current);
    }
    if let Some(best) = best {
        context.set_split(best);
    }
    best.is_some()
}

struct Sample {
    unexplained: Vec<usize>,
    others: Vec<usize>,
}

impl Sample {
    fn new(context: &Context<'_, '_>, baseline: &Baseline, mut unexplained: Vec<usize>) -> Self {
        let [max_unexplained, max_others] = SAMPLE_SIZES;
        let mut others = Vec::from_iter(0..context.trials.len());
        others.retain(|trial| !baseline.0[*trial].fails);
        // Prefer short vectors, then recent ones.
        let length = |trial: &usize| context.trials[*trial].commands.len() / 8;
        for trials in [&mut unexplained, &mut others] {
            trials.reverse();
            trials.sort_by_key(length);
        }
        unexplained.truncate(max_unexplained);
        others.truncate(max_others);
        Self {
            unexplained,
            others,
        }
    }

    /// Returns the misfit; `None` if it exceeds `max` or no unexplained trial is explained better.
    fn score(
        &self,
        context: &Context<'_, '_>,
        baseline: &Baseline,
        spec: &Spec,
        max: f64,
    ) -> Option<f64> {
        let model = context.model(spec);
        let misfit = |trial: usize| Misfit::new(context, &model, &context.trials[trial]).sum;
        let mut sum = 0.0;
        let mut improves = false;
        for &trial in &self.unexplained {
            let misfit = misfit(trial);
            improves |= misfit < baseline.0[trial].sum - MAX_EVIDENCE / 2.0;
            sum += misfit;
        }
        if !improves {
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

#[derive(Clone, Copy, Debug)]
struct Misfit {
    /// Sum of squared deviations; a failed prediction dominates it.
    sum: f64,
    fails: bool,
}

impl Misfit {
    /// Also tries slightly shifted times: a small error may decide whether a sector is caught.
    fn new(context: &Context<'_, '_>, model: &Core, trial: &Trial) -> Self {
        let mut best = Self::with_shift(context, model, trial, 0.0);
        if !best.fails {
            return best;
        }
        for shift in [-MODEL_ERROR_NS, MODEL_ERROR_NS] {
            let other = Self::with_shift(context, model, trial, shift);
            if other.sum < best.sum {
                best = other;
            }
        }
        best
    }

    fn with_shift(context: &Context<'_, '_>, model: &Core, trial: &Trial, shift: f64) -> Self {
        let mut replay = Replay::new(model, trial.first, trial.began);
        let mut sum = 0.0;
        let count = trial.commands.len() as f64;
        for (k, command) in trial.commands.iter().enumerate() {
            let end = replay.serve(&command.command, command.sent + shift);
            let deviation =
                (end - command.ended) / context.command_deviation(command.command.sectors);
            if deviation.abs() > FAILURE_DEVIATIONS {
                sum += MAX_EVIDENCE * (2.0 - k as f64 / count);
                return Self { sum, fails: true };
            }
            sum += (deviation * deviation).min(MAX_EVIDENCE);
        }
        let sum = sum.min(2.0 * MAX_EVIDENCE);
        Self { sum, fails: false }
    }
}

/// The misfit of the best hypothesis for each trial.
struct Baseline(Vec<Misfit>);

impl Baseline {
    fn new(context: &Context<'_, '_>) -> Self {
        let model = context.model(&context.best);
        let misfit = |trial| Misfit::new(context, &model, trial);
        Self(context.trials.iter().map(misfit).collect())
    }

    fn unexplained(&self) -> Vec<usize> {
        let all = 0..self.0.len();
        all.filter(|&trial| self.0[trial].fails).collect()
    }

    /// Returns how much worse `other` fits a trial; 0 if neither model explains the trial.
    fn margin(&self, context: &Context<'_, '_>, other: &Core, trial: usize) -> f64 {
        let misfit = Misfit::new(context, other, &context.trials[trial]);
        if misfit.fails && self.0[trial].fails {
            return 0.0;
        }
        (misfit.sum - self.0[trial].sum).clamp(-MAX_EVIDENCE, MAX_EVIDENCE)
    }

    fn margins(&self, context: &Context<'_, '_>, other: &Core) -> impl Iterator<Item = f64> {
        (0..self.0.len()).map(|trial| self.margin(context, other, trial))
    }

    /// Returns true if no trials refute a hypothesis. Checks the trials in `first` before others.
    fn is_open(&self, context: &Context<'_, '_>, spec: &Spec, first: &[usize]) -> bool {
        let model = context.model(spec);
        let max = REFUTATION + 2.0 * MAX_EVIDENCE;
        let mut sum = 0.0;
        for &trial in first {
            sum += self.margin(context, &model, trial);
        }
        let newest = (0..self.0.len()).rev();
        let mut others = newest.filter(|trial| !first.contains(trial));
        while sum <= max
            && let Some(trial) = others.next()
        {
            sum += self.margin(context, &model, trial);
        }
        sum < REFUTATION
    }

    /// Returns the trials that contradict a model, strongest first.
    fn opposing_trials(&self, context: &Context<'_, '_>, other: &Core) -> Vec<usize> {
        let margins = self.margins(context, other).enumerate();
        let against = margins.filter(|(_, margin)| *margin > MAX_EVIDENCE / 2.0);
        let mut opposing: Vec<(usize, f64)> = against.collect();
        opposing.sort_by(|a, b| b.1.total_cmp(&a.1));
        opposing.into_iter().map(|(trial, _)| trial).collect()
    }

    /// Returns how much worse a model fits all trials. Stops early once the loss exceeds `max`.
    fn loss(&self, context: &Context<'_, '_>, other: &Core, max: f64) -> f64 {
        let mut sum = 0.0;
        for trial in (0..self.0.len()).rev() {
            // Unlike a margin, this difference rewards predictions that fail later in the trial.
            let misfit = Misfit::new(context, other, &context.trials[trial]);
            sum += (misfit.sum - self.0[trial].sum).clamp(-MAX_EVIDENCE, MAX_EVIDENCE);
            if sum > max {
                break;
            }
        }
        sum
    }
}
