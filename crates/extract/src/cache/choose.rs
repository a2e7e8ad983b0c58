//! Test vectors at which hypotheses differ.

use diskarm_core::drive::Core;

use super::bench::{Bench, Replay};
use super::explore;
use super::fit::deviation;
use super::moves::Move;
use super::vector::{Vector, Wait};

/// Vectors that are drawn in a round.
const POOL: usize = 1200;
/// Commands that models serve in a round at most.
const COMMANDS: usize = 600_000;
/// When the first read of a vector ends on models, in nanoseconds.
const START: f64 = 1e9;
/// The host's delay, short and long, in nanoseconds.
const DELAYS: [f64; 3] = [100_000.0, 70_000.0, 130_000.0];

/// Vectors that tell hypotheses from what is believed.
pub(super) struct Chosen {
    pub vectors: Vec<Vector>,
    /// The hypotheses for which none was found.
    pub alike: Vec<Move>,
    /// Those that the vectors which were found tell with some delays of the host only.
    pub uncertain: Vec<Move>,
}

/// Vectors at which hypotheses differ from what is believed, `each` for every hypothesis.
pub(super) fn choose(bench: &mut Bench<'_, '_>, open: &[Move], each: usize) -> Chosen {
    let believed = bench.model(&bench.believed);
    let models: Vec<Core> = open.iter().map(|one| bench.model(&one.spec)).collect();
    let mut wanted = vec![each; open.len()];
    let mut second_best = vec![Vec::new(); open.len()];
    let mut vectors = Vec::new();
    let mut left = COMMANDS;
    for _ in 0..POOL {
        let vector = explore::vector(bench, open);
        let tested = wanted.iter().filter(|wanted| **wanted > 0).count() + DELAYS.len();
        left = left.saturating_sub(tested * (vector.steps.len() + 1));
        let timelines = DELAYS.map(|delay| timeline(&believed, &vector, delay));
        let mut tells = false;
        for ((model, wanted), second_best) in models.iter().zip(&mut wanted).zip(&mut second_best) {
            if *wanted == 0 {
                continue;
            }
            let differs = |timeline: &Vec<_>| differs(bench, model, &vector, timeline);
            let count = timelines
                .iter()
                .filter(|timeline| differs(timeline))
                .count();
            if count == DELAYS.len() {
                *wanted -= 1;
                tells = true;
            } else if count > 0 && second_best.len() < DELAYS.len() * each {
                second_best.push(vector.clone());
            }
        }
        if tells {
            vectors.push(vector);
        }
        if left == 0 || wanted.iter().all(|wanted| *wanted == 0) {
            break;
        }
    }
    let (mut alike, mut uncertain) = (Vec::new(), Vec::new());
    for ((one, wanted), second_best) in open.iter().zip(wanted).zip(second_best) {
        if wanted < each {
            continue;
        }
        let kind = if second_best.is_empty() {
            &mut alike
        } else {
            &mut uncertain
        };
        kind.push(one.clone());
        vectors.extend(second_best);
    }
    Chosen {
        vectors,
        alike,
        uncertain,
    }
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
