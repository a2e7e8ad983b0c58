//! Decides between hypotheses: which of two drives would have answered as this one did?
//!
//! # Hypothesis
//! The buffer is as believed, or differs from that in one fact ([`super::moves`]) or in two. Where
//! that does not explain what the drive answered, more facts are changed at a time
//! ([`super::escape`]), and the way in which times are divided ([`super::division`]).
//!
//! # Test vector
//! One at whose end the two would answer differently: of many that are drawn at random
//! ([`super::explore`]) and replayed on a model of either, those where the answers are farthest
//! apart ([`super::choose`]). As the host's delay is not known beforehand, they must be so with
//! short delays and long. In the end vectors at random, which what is believed must explain.
//!
//! # Decision
//! All vectors that were sent are replayed on a model of either, at the times at which their
//! commands were sent ([`super::fit`]). The one whose ends are nearer to those of the drive is
//! believed. A vector that neither explains speaks for neither.
//!
//! # Confidence
//! The vectors in which one of the two was nearer, and how many of them spoke for what is believed.
//! Where no vector tells two values apart, or none tells what is believed from a drive on which a
//! fact means nothing, the fact is not determinable.
//!
//! # Cost
//! Two vectors for each hypothesis that others have not refuted yet, about 200 in all.

use std::collections::BTreeMap;

use diskarm_core::spec::Spec;

use super::bench::Bench;
use super::choose::{Chosen, choose};
use super::fit::{Baseline, CAP};
use super::moves::{self, Move};
use super::vector::Vector;
use super::{FACTS, escape, explore};
use crate::{Effort, Error};

/// Rounds of vectors at most.
const ROUNDS: usize = 60;
/// Vectors at random that what is believed must explain in the end.
const CHECKS: usize = 30;
/// How often vectors that tell two hypotheses with some delays only are sent before the two are
/// called alike.
const ATTEMPTS: usize = 3;
/// How often it is checked at most.
const CHECKED: usize = 4;

/// How certain a fact is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Verdict {
    /// Trials that spoke for the value, and those that spoke for it or for another.
    pub agreed: u32,
    pub trials: u32,
    /// A value that no trial tells from the one believed.
    pub open: bool,
    /// This many trials speak for a drive that differs in it, and perhaps in more, that it is no
    /// chance: there is something that the model does not know.
    pub disputed: bool,
}

impl Verdict {
    fn is_disputed(&self) -> bool {
        let against = self.trials - self.agreed;
        against >= 2 && 10 * against > self.trials
    }
}

/// Tests hypotheses until none is better than what is believed, and none is left untested.
pub(super) fn learn(bench: &mut Bench<'_, '_>, effort: Effort) -> Result<Vec<Verdict>, Error> {
    // For each hypothesis in a round.
    let vectors = match effort {
        Effort::Quick => 1,
        Effort::Normal => 2,
        Effort::Thorough => 5,
    };
    let mut untold = Untold::default();
    let (mut checked, mut tried) = (0, escape::Tried::default());
    for _ in 0..ROUNDS {
        believe(bench, &mut tried);
        let mut open = untold.left(open(bench));
        if open.is_empty() && !untold.is_of(bench) {
            // Something else is believed than when they could not be told.
            untold.begin(bench);
            open = untold.left(self::open(bench));
        }
        if open.is_empty() {
            // What one change does not show, two may.
            untold.pairs = pairs(bench, &untold);
            open = untold.left(untold.pairs.clone());
        }
        if !open.is_empty() {
            let chosen = choose(bench, &open, vectors);
            untold.note(&chosen);
            for vector in chosen.vectors {
                try_out(bench, &vector)?;
            }
        } else if checked < CHECKED && !explains(bench)? {
            checked += 1;
        } else {
            break;
        }
    }
    believe(bench, &mut tried);
    simplify(bench);
    Ok(verdicts(bench, &untold))
}

/// Sends a vector and keeps what came of it.
fn try_out(bench: &mut Bench<'_, '_>, vector: &Vector) -> Result<(), Error> {
    if let Some(trial) = bench.run_alone(vector)? {
        bench.trials.push(trial);
    }
    Ok(())
}

/// Whether what is believed explains vectors that were not made to refute anything.
fn explains(bench: &mut Bench<'_, '_>) -> Result<bool, Error> {
    let before = bench.trials.len();
    for _ in 0..CHECKS {
        let vector = explore::vector(bench, &[]);
        try_out(bench, &vector)?;
    }
    let odd = Baseline::new(bench).odd();
    Ok(!odd.iter().any(|trial| *trial >= before))
}

/// Hypotheses that no vector tells from what was believed.
#[derive(Default)]
struct Untold {
    believed: Spec,
    alike: Vec<Move>,
    /// How often only vectors were found that tell a hypothesis with some delays, by its label.
    uncertain: BTreeMap<String, usize>,
    /// Those that differ in two facts and are not refuted.
    pairs: Vec<Move>,
}

impl Untold {
    fn is_of(&self, bench: &Bench<'_, '_>) -> bool {
        same(&self.believed, &bench.believed)
    }

    fn begin(&mut self, bench: &Bench<'_, '_>) {
        *self = Self {
            believed: bench.believed.clone(),
            ..Self::default()
        };
    }

    fn note(&mut self, chosen: &Chosen) {
        self.alike.extend(chosen.alike.iter().cloned());
        for one in &chosen.uncertain {
            let attempts = self.uncertain.entry(one.label.clone()).or_default();
            *attempts += 1;
            if *attempts == ATTEMPTS {
                self.alike.push(one.clone());
            }
        }
    }

    /// Those of `open` that are not known to be alike.
    fn left(&self, mut open: Vec<Move>) -> Vec<Move> {
        open.retain(|one| !self.alike.iter().any(|alike| alike.label == one.label));
        open
    }
}

/// Whether two specifications of one drive have the same buffer and overheads.
pub(super) fn same(a: &Spec, b: &Spec) -> bool {
    a.buffer == b.buffer && a.bus == b.bus && a.overheads == b.overheads
}

/// The hypotheses that are not refuted.
fn open(bench: &Bench<'_, '_>) -> Vec<Move> {
    let baseline = Baseline::new(bench);
    let mut open = moves::all(&bench.believed, bench.writes);
    open.retain(|one| baseline.is_open(bench, &one.spec, &[]));
    open
}

/// The hypotheses that differ in two facts and are not refuted, though each alone may be.
fn pairs(bench: &Bench<'_, '_>, untold: &Untold) -> Vec<Move> {
    let baseline = Baseline::new(bench);
    if untold.is_of(bench) && !untold.pairs.is_empty() {
        let mut pairs = untold.pairs.clone();
        pairs.retain(|pair| baseline.is_open(bench, &pair.spec, &[]));
        return pairs;
    }
    let near = moves::all(&bench.believed, bench.writes);
    let mut pairs: Vec<Move> = Vec::new();
    for one in moves::coarse(&bench.believed, bench.writes) {
        // Most pairs are refuted by what refutes one of the two.
        let mut against = baseline.against(bench, &bench.model(&one.spec));
        against.truncate(12);
        for pair in moves::coarse(&one.spec, bench.writes) {
            if pair.fact <= one.fact || !baseline.is_open(bench, &pair.spec, &against) {
                continue;
            }
            let mut known = near.iter().chain(&pairs);
            let is_known = known.any(|one| same(&one.spec, &pair.spec));
            if !is_known && !same(&pair.spec, &bench.believed) {
                pairs.push(Move {
                    label: format!("{}, {}", one.label, pair.label),
                    ..pair
                });
            }
        }
    }
    pairs
}

/// Believes what fits the trials best, as far as it is found.
fn believe(bench: &mut Bench<'_, '_>, tried: &mut escape::Tried) {
    settle(bench);
    while escape::escape(bench, tried) {
        settle(bench);
    }
}

/// Believes the best hypothesis, as long as there is a better one.
fn settle(bench: &mut Bench<'_, '_>) {
    for _ in 0..40 {
        let baseline = Baseline::new(bench);
        let mut better: Vec<(f64, Move)> = Vec::new();
        for other in moves::all(&bench.believed, bench.writes) {
            // What was served from the buffer is no matter of belief.
            if !other.spec.buffer.caching && bench.has_hits() {
                continue;
            }
            let margin = baseline.gain(bench, &bench.model(&other.spec), 6.0 * CAP);
            if margin < -1.0 {
                better.push((margin, other));
            }
        }
        match best(better) {
            Some(best) => bench.believed = best.spec,
            None => break,
        }
    }
}

/// The best one. Of values of a fact that fit as well the one in the middle: vectors will tell it
/// from those on both sides.
fn best(mut better: Vec<(f64, Move)>) -> Option<Move> {
    let by_margin = |a: &&(f64, Move), b: &&(f64, Move)| a.0.total_cmp(&b.0);
    let (min, fact) = better
        .iter()
        .min_by(by_margin)
        .map(|(m, one)| (*m, one.fact))?;
    better.retain(|(margin, one)| one.fact == fact && *margin < min + 0.5);
    if let Some(fact) = fact {
        better.sort_by_key(|(_, one)| FACTS[fact].count(&one.spec));
    }
    let middle = better.len() / 2;
    Some(better.swap_remove(middle).1)
}

/// Believes of each fact what drives do by default, if no trial speaks against it.
fn simplify(bench: &mut Bench<'_, '_>) {
    let plain = Spec::default();
    for row in &FACTS {
        let default = |one: &Move| {
            let fact = one.fact.is_some_and(|fact| FACTS[fact].path == row.path);
            fact && row.key().get(&one.spec) == row.key().get(&plain)
        };
        let mut moves = moves::all(&bench.believed, bench.writes);
        moves.retain(default);
        let baseline = Baseline::new(bench);
        let margin = |one: &Move| baseline.gain(bench, &bench.model(&one.spec), 6.0 * CAP);
        let best = moves
            .into_iter()
            .min_by(|a, b| margin(a).total_cmp(&margin(b)));
        if let Some(best) = best.filter(|best| margin(best) < 1.0) {
            bench.believed = best.spec;
        }
    }
}

fn verdicts(bench: &Bench<'_, '_>, untold: &Untold) -> Vec<Verdict> {
    let baseline = Baseline::new(bench);
    let mut verdicts = vec![None::<Verdict>; FACTS.len()];
    let mut disputes = Vec::new();
    for Move { fact, spec, .. } in moves::all(&bench.believed, bench.writes) {
        if fact.is_some_and(|fact| !FACTS[fact].differs(&spec, &bench.believed)) {
            continue;
        }
        let mut found = Verdict::default();
        for margin in baseline.margins(bench, &bench.model(&spec)) {
            if margin.abs() > CAP / 2.0 {
                found.trials += 1;
                found.agreed += u32::from(margin > 0.0);
            }
        }
        let Some(fact) = fact else {
            continue;
        };
        // The value is as certain as it is against the other that is nearest to it.
        let is_worse = |worst: &Verdict| found.agreed < worst.agreed;
        if verdicts[fact].as_ref().is_none_or(is_worse) {
            verdicts[fact] = Some(found);
        }
        if found.is_disputed() {
            disputes.push(spec);
        }
    }
    let mut verdicts: Vec<Verdict> = verdicts
        .into_iter()
        .map(Option::unwrap_or_default)
        .collect();
    let mut alike = open(bench);
    alike.extend(pairs(bench, untold));
    for (row, verdict) in FACTS.iter().zip(&mut verdicts) {
        let is_other = |one: &Move| {
            let means_nothing = (row.moot)(&one.spec.buffer).is_some();
            means_nothing || row.differs(&one.spec, &bench.believed)
        };
        verdict.open = verdict.trials == 0 || alike.iter().any(is_other);
        let differs = |other: &Spec| row.differs(other, &bench.believed);
        verdict.disputed = disputes.iter().any(differs);
    }
    verdicts
}
