//! Decides between hypotheses: which of two drives would have answered as this one did?
//!
//! # Hypothesis
//! The buffer is as believed, or differs from that in one fact ([`super::moves`]).
//!
//! # Test vector
//! One at whose end the two would answer differently: of many that are drawn at random
//! ([`super::explore`]) and replayed on a model of either, those where the answers are farthest
//! apart. As the host's delay is not known beforehand, they must be so with short delays and long.
//!
//! # Decision
//! All vectors that were sent are replayed on a model of either, at the times at which their
//! commands were sent. The one whose ends are nearer to those of the drive is believed.
//!
//! # Confidence
//! The vectors in which one of the two was nearer, and how many of them spoke for what is believed.
//! Where no vector tells two values apart, the fact is not determinable.
//!
//! # Cost
//! Three vectors for each hypothesis that others have not refuted yet, some 200 in all.

use diskarm_core::drive::Core;
use diskarm_core::spec::{Kind, Spec};

use super::bench::{Bench, Replay, Trial};
use super::moves::{self, Move};
use super::vector::{Vector, Wait};
use super::{FACTS, explore};
use crate::{Effort, Error};

/// What a trial can speak for or against a hypothesis at most.
const CAP: f64 = 25.0;
/// By so much a hypothesis must be worse to be refuted.
const REFUTED: f64 = 3.0 * CAP;
/// Hypotheses that differ in two facts, about.
const PAIRS: usize = 700;
/// Vectors that are drawn in a round.
const POOL: usize = 600;
/// Commands that models serve in a round at most.
const COMMANDS: usize = 300_000;
const ROUNDS: usize = 14;
/// When the first read of a vector ends on models, in nanoseconds.
const START: f64 = 1e9;
/// The host's delay, short and long, in nanoseconds.
const DELAYS: [f64; 3] = [100_000.0, 70_000.0, 130_000.0];
/// By so much the times of models may be off, in nanoseconds.
const LITTLE: f64 = 25_000.0;

/// How certain a fact is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Verdict {
    /// Trials that spoke for the value, and those that spoke for it or for another.
    pub agreed: u32,
    pub trials: u32,
    /// A value that no trial tells from the one believed.
    pub open: bool,
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
    for _ in 0..ROUNDS {
        settle(bench);
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
        if open.is_empty() {
            break;
        }
        for vector in choose(bench, &open, vectors, &mut untold) {
            if let Some(trial) = bench.run(&vector)? {
                bench.trials.push(trial);
            }
        }
    }
    settle(bench);
    simplify(bench);
    Ok(verdicts(bench, untold))
}

/// Hypotheses that no vector tells from what was believed.
#[derive(Default)]
struct Untold {
    believed: Spec,
    alike: Vec<Move>,
    /// Those that differ from these in one more fact and are not refuted.
    pairs: Vec<Move>,
}

impl Untold {
    fn is_of(&self, bench: &Bench<'_, '_>) -> bool {
        same(&self.believed, &bench.believed)
    }

    /// Forgets all.
    fn begin(&mut self, bench: &Bench<'_, '_>) {
        *self = Self {
            believed: bench.believed.clone(),
            ..Self::default()
        };
    }

    /// Those of `open` that are not known to be alike.
    fn left(&self, mut open: Vec<Move>) -> Vec<Move> {
        open.retain(|one| !self.alike.iter().any(|alike| alike.label == one.label));
        open
    }
}

/// Whether two specifications of one drive have the same buffer and overheads.
fn same(a: &Spec, b: &Spec) -> bool {
    a.buffer == b.buffer && a.bus == b.bus && a.overheads == b.overheads
}

/// The hypotheses that are not refuted.
fn open(bench: &Bench<'_, '_>) -> Vec<Move> {
    let baseline = Baseline::new(bench);
    let mut open = moves::all(&bench.believed, bench.writes);
    open.retain(|one| baseline.is_open(bench, &one.spec));
    open
}

/// The hypotheses that differ in one more fact from those that are alike, and are not refuted.
fn pairs(bench: &Bench<'_, '_>, untold: &Untold) -> Vec<Move> {
    let baseline = Baseline::new(bench);
    if untold.is_of(bench) && !untold.pairs.is_empty() {
        let mut pairs = untold.pairs.clone();
        pairs.retain(|pair| baseline.is_open(bench, &pair.spec));
        return pairs;
    }
    let near = moves::all(&bench.believed, bench.writes);
    let mut open: Vec<&Move> = near.iter().collect();
    open.retain(|one| baseline.is_open(bench, &one.spec));
    // One value of each fact stands for the others.
    open.dedup_by(|next, one| {
        let is_number = |fact: usize| {
            let kind = FACTS[fact].key().kind;
            !matches!(kind, Kind::Flag | Kind::Word(_))
        };
        next.fact == one.fact && one.fact.is_none_or(is_number)
    });
    let mut pairs: Vec<Move> = Vec::new();
    let mut tested = 0;
    for one in open {
        if tested > PAIRS {
            break;
        }
        for pair in moves::coarse(&one.spec, bench.writes) {
            tested += 1;
            let known = near
                .iter()
                .chain(&pairs)
                .any(|one| same(&one.spec, &pair.spec));
            if !known && !same(&pair.spec, &bench.believed) && baseline.is_open(bench, &pair.spec) {
                pairs.push(Move {
                    label: format!("{}, {}", one.label, pair.label),
                    ..pair
                });
            }
        }
    }
    pairs
}

/// Vectors at which hypotheses differ from what is believed. Notes those of which none was found.
fn choose(
    bench: &mut Bench<'_, '_>,
    open: &[Move],
    each: usize,
    untold: &mut Untold,
) -> Vec<Vector> {
    let believed = bench.model(&bench.believed);
    let models: Vec<Core> = open.iter().map(|one| bench.model(&one.spec)).collect();
    let mut wanted = vec![each; open.len()];
    let mut chosen = Vec::new();
    let mut left = COMMANDS;
    for _ in 0..POOL {
        let vector = explore::vector(bench);
        let tested = wanted.iter().filter(|wanted| **wanted > 0).count() + DELAYS.len();
        left = left.saturating_sub(tested * (vector.steps.len() + 1));
        let timelines = DELAYS.map(|delay| timeline(&believed, &vector, delay));
        let mut tells = false;
        for (model, wanted) in models.iter().zip(&mut wanted) {
            let differs = |timeline: &Vec<_>| differs(bench, model, &vector, timeline);
            if *wanted > 0 && timelines.iter().all(differs) {
                *wanted -= 1;
                tells = true;
            }
        }
        if tells {
            chosen.push(vector);
        }
        if left == 0 || wanted.iter().all(|wanted| *wanted == 0) {
            break;
        }
    }
    let none = open
        .iter()
        .zip(&wanted)
        .filter(|(_, wanted)| **wanted == each);
    untold.alike.extend(none.map(|(one, _)| one.clone()));
    chosen
}

/// When the steps of a vector are sent and end on a model, with a host that takes `delay`.
fn timeline(model: &Core, vector: &Vector, delay: f64) -> Vec<(f64, f64)> {
    let mut replay = Replay::new(model, vector.first, START);
    let mut ended = START;
    let mut times = Vec::with_capacity(vector.steps.len());
    for step in &vector.steps {
        let Wait::For(rest) = step.wait else {
            break;
        };
        let sent = ended + rest.as_ns() as f64 + delay;
        ended = replay.serve(step, sent);
        times.push((sent, ended));
    }
    times
}

/// Whether another model's answers can be told from those of `timeline`.
fn differs(bench: &Bench<'_, '_>, other: &Core, vector: &Vector, timeline: &[(f64, f64)]) -> bool {
    let mut replay = Replay::new(other, vector.first, START);
    vector
        .steps
        .iter()
        .zip(timeline)
        .any(|(step, (sent, ended))| {
            let apart = replay.serve(step, *sent) - ended;
            apart.abs() > 8.0 * deviation(bench, step.sectors)
        })
}

/// By how much the end of a command and that of a model are apart by chance, in nanoseconds.
fn deviation(bench: &Bench<'_, '_>, sectors: u16) -> f64 {
    let sectors = f64::from(sectors - 1).min(16.0);
    bench.scatter() + 5_000.0 * sectors
}

/// How badly a model fits a trial. Where it fails, it may be off by a little, and just catch a
/// sector that the drive missed.
fn misfit(bench: &Bench<'_, '_>, model: &Core, trial: &Trial) -> f64 {
    let (exact, fails) = misfit_of(bench, model, trial, 0.0);
    if !fails {
        return exact;
    }
    let [sooner, later] = [-LITTLE, LITTLE].map(|off| misfit_of(bench, model, trial, off).0);
    exact.min(sooner).min(later)
}

/// How badly a model fits a trial to which commands come `off` later, and whether it predicts an
/// end that is not the drive's at all.
fn misfit_of(bench: &Bench<'_, '_>, model: &Core, trial: &Trial, off: f64) -> (f64, bool) {
    let mut replay = Replay::new(model, trial.first, trial.began);
    let mut sum = 0.0;
    let count = trial.seen.len() as f64;
    for (k, seen) in trial.seen.iter().enumerate() {
        let end = replay.serve(&seen.step, seen.sent + off);
        let apart = (end - seen.ended) / deviation(bench, seen.step.sectors);
        if apart.abs() > 16.0 {
            return (sum + CAP * (2.0 - k as f64 / count), true);
        }
        sum += (apart * apart).min(CAP);
    }
    (sum.min(2.0 * CAP), false)
}

/// How badly what is believed fits each trial.
struct Baseline(Vec<f64>);

impl Baseline {
    fn new(bench: &Bench<'_, '_>) -> Self {
        let believed = bench.model(&bench.believed);
        let trials = bench.trials.iter();
        Self(
            trials
                .map(|trial| misfit(bench, &believed, trial))
                .collect(),
        )
    }

    /// By how much another model fits each trial worse.
    fn margins(&self, bench: &Bench<'_, '_>, other: &Core) -> impl Iterator<Item = f64> {
        let trials = bench.trials.iter().zip(&self.0);
        trials.map(|(trial, now)| (misfit(bench, other, trial) - now).clamp(-CAP, CAP))
    }

    /// Whether a hypothesis is not refuted. The newest trials were made to refute what is left.
    fn is_open(&self, bench: &Bench<'_, '_>, spec: &Spec) -> bool {
        let model = bench.model(spec);
        let mut sum = 0.0;
        for (trial, now) in bench.trials.iter().zip(&self.0).rev() {
            sum += (misfit(bench, &model, trial) - now).clamp(-CAP, CAP);
            if sum > REFUTED + 2.0 * CAP {
                return false;
            }
        }
        sum < REFUTED
    }

    /// By how much it fits all of them worse; something positive if it is soon seen to do so.
    fn gain(&self, bench: &Bench<'_, '_>, other: &Core) -> f64 {
        let mut sum = 0.0;
        for (trial, now) in bench.trials.iter().zip(&self.0).rev() {
            sum += (misfit(bench, other, trial) - now).clamp(-CAP, CAP);
            if sum > 6.0 * CAP {
                break;
            }
        }
        sum
    }
}

/// Believes the best hypothesis, as long as there is a better one.
fn settle(bench: &mut Bench<'_, '_>) {
    for _ in 0..40 {
        let baseline = Baseline::new(bench);
        let mut best: Option<(f64, Spec)> = None;
        for Move { spec, .. } in moves::all(&bench.believed, bench.writes) {
            // What was served from the buffer is no matter of belief.
            if !spec.buffer.caching && bench.has_hits() {
                continue;
            }
            let margin = baseline.gain(bench, &bench.model(&spec));
            if margin < -1.0 && best.as_ref().is_none_or(|(least, _)| margin < *least) {
                best = Some((margin, spec));
            }
        }
        match best {
            Some((_, spec)) => bench.believed = spec,
            None => break,
        }
    }
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
        let margin = |one: &Move| baseline.gain(bench, &bench.model(&one.spec));
        let best = moves
            .into_iter()
            .min_by(|a, b| margin(a).total_cmp(&margin(b)));
        if let Some(best) = best.filter(|best| margin(best) < 1.0) {
            bench.believed = best.spec;
        }
    }
}

fn verdicts(bench: &Bench<'_, '_>, untold: Untold) -> Vec<Verdict> {
    let baseline = Baseline::new(bench);
    let mut verdicts = vec![None::<Verdict>; FACTS.len()];
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
    }
    let mut verdicts: Vec<Verdict> = verdicts
        .into_iter()
        .map(Option::unwrap_or_default)
        .collect();
    let mut alike = open(bench);
    alike.extend(pairs(bench, &untold));
    for (row, verdict) in FACTS.iter().zip(&mut verdicts) {
        let is_other = |one: &Move| row.differs(&one.spec, &bench.believed);
        verdict.open = verdict.trials == 0 || alike.iter().any(is_other);
    }
    verdicts
}
