//! Selects test vectors for which the predictions of hypotheses differ.

use std::ops::Range;

use diskarm_core::drive::Core;
use diskarm_core::units::{Lbn, Span};

use super::context::{Context, Replay};
use super::hypotheses::Hypothesis;
use super::vector::{Area, Delay, TestVector};
use crate::clock::Access;

const POOL_SIZE: usize = 1200;

const MAX_COMMANDS: usize = 600_000;

/// Completion of the initial read in model time, in nanoseconds.
const START: f64 = 1e9;

const DELAYS: [f64; 3] = [100_000.0, 70_000.0, 130_000.0];

pub(super) struct Selection {
    pub vectors: Vec<TestVector>,
    /// Hypotheses that no vector distinguishes from the best one.
    pub indistinguishable: Vec<Hypothesis>,
    /// Hypotheses whose predictions differ from the best one's only for some host delays.
    pub uncertain: Vec<Hypothesis>,
}

/// For each open hypothesis, selects vectors that distinguish it from the best one.
pub(super) fn select_vectors(
    context: &mut Context<'_, '_>,
    open: &[Hypothesis],
    vectors_per_hypothesis: usize,
) -> Selection {
    let best = context.model(&context.best);
    let target = |hypothesis| Target {
        hypothesis,
        model: context.model(&hypothesis.spec),
        missing: vectors_per_hypothesis,
        uncertain: Vec::new(),
    };
    let mut targets: Vec<Target<'_>> = open.iter().map(target).collect();
    let mut vectors = Vec::new();
    let mut commands_left = MAX_COMMANDS;
    for _ in 0..POOL_SIZE {
        let vector = random_vector(context, open);
        let tested = targets.iter().filter(|target| target.missing > 0).count() + DELAYS.len();
        commands_left = commands_left.saturating_sub(tested * (vector.commands.len() + 1));
        let timelines = DELAYS.map(|delay| timeline(&best, &vector, delay));
        let mut is_selected = false;
        for target in targets.iter_mut().filter(|target| target.missing > 0) {
            let differs =
                |timeline: &&Vec<_>| is_distinguishable(context, &target.model, &vector, timeline);
            let count = timelines.iter().filter(differs).count();
            if count == DELAYS.len() {
                target.missing -= 1;
                is_selected = true;
            } else if count > 0 && target.uncertain.len() < DELAYS.len() * vectors_per_hypothesis {
                target.uncertain.push(vector.clone());
            }
        }
        if is_selected {
            vectors.push(vector);
        }
        if commands_left == 0 || targets.iter().all(|target| target.missing == 0) {
            break;
        }
    }
    let (mut indistinguishable, mut uncertain) = (Vec::new(), Vec::new());
    for target in targets
        .into_iter()
        .filter(|target| target.missing >= vectors_per_hypothesis)
    {
        let list = if target.uncertain.is_empty() {
            &mut indistinguishable
        } else {
            &mut uncertain
        };
        list.push(target.hypothesis.clone());
        vectors.extend(target.uncertain);
    }
    Selection {
        vectors,
        indistinguishable,
        uncertain,
    }
}

/// An open hypothesis, and the state of the search for vectors that test it.
struct Target<'h> {
    hypothesis: &'h Hypothesis,
    model: Core,
    /// Number of vectors still needed.
    missing: usize,
    /// Vectors for which the predictions differ only for some host delays.
    uncertain: Vec<TestVector>,
}

/// Predicts when the commands of a vector are sent and when they end, given the host delay.
fn timeline(model: &Core, vector: &TestVector, delay: f64) -> Vec<(f64, f64)> {
    let mut replay = Replay::new(model, vector.first, START);
    let mut ended = START;
    let mut times = Vec::with_capacity(vector.commands.len());
    for command in &vector.commands {
        let Delay::For(pause) = command.delay else {
            break;
        };
        let sent = ended + pause.as_ns() as f64 + delay;
        ended = replay.serve(command, sent);
        times.push((sent, ended));
    }
    times
}

fn is_distinguishable(
    context: &Context<'_, '_>,
    other: &Core,
    vector: &TestVector,
    timeline: &[(f64, f64)],
) -> bool {
    let mut replay = Replay::new(other, vector.first, START);
    let mut timed = vector.commands.iter().zip(timeline);
    timed.any(|(command, (sent, ended))| {
        let difference = replay.serve(command, *sent) - ended;
        difference.abs() > 8.0 * context.command_deviation(command.sectors)
    })
}

struct Generation {
    area: Area,
    /// Blocks of earlier commands.
    touched: Vec<Range<u64>>,
    ahead: u64,
    segment: u64,
    read_segments: u64,
}

/// Generates a random test vector, using the buffer sizes of the best hypothesis or of another one.
pub(super) fn random_vector(context: &mut Context<'_, '_>, others: &[Hypothesis]) -> TestVector {
    let (zone, last) = (context.below(3) as usize, context.below(3) == 0);
    let area = context.area(zone, last);
    let buffer = match others.len() as u64 {
        count if count > 0 && context.below(2) == 0 => {
            &others[context.below(count) as usize].spec.buffer
        }
        _ => &context.best.buffer,
    };
    let mut generation = Generation {
        area,
        touched: Vec::new(),
        ahead: buffer.read_ahead_max.0,
        segment: buffer.segment.0,
        read_segments: u64::from(buffer.segments) - u64::from(buffer.dedicated_write_segment),
    };
    let mut vector = TestVector::new(area.first);
    let commands = 2 + context.below(6);
    for _ in 0..commands {
        vector = extend(context, &mut generation, vector);
    }
    vector
}

fn extend(
    context: &mut Context<'_, '_>,
    generation: &mut Generation,
    vector: TestVector,
) -> TestVector {
    let period = context.period();
    let vector = match context.below(8) {
        0 | 1 => {
            let share = context.pairs.uniform();
            vector.pause(Span::from_ns((share * period) as i64))
        }
        2 => {
            let blocks = generation.ahead.min(600);
            vector.pause(context.read_ahead_time(generation.area.tracks[0], blocks + 8))
        }
        _ => vector,
    };
    let writes = context.writes && context.below(3) == 0;
    match context.below(12) {
        11 => push_run(context, generation, vector),
        10 => push_chase(context, generation, vector),
        0 => {
            let all = generation.read_segments;
            let counts = [1, all.saturating_sub(1), all];
            let count = counts[context.below(3) as usize].clamp(1, 40);
            let mut vector = vector;
            for _ in 0..count {
                let access = if writes { Access::Write } else { Access::Read };
                vector = vector.movable(access, context.random_block());
            }
            vector
        }
        kind => {
            let at = match (kind, generation.touched.last()) {
                (1 | 2, Some(last)) => last.end,
                _ => boundary(context, generation),
            };
            let sectors = command_size(context, generation);
            let max = context.pairs.layout.sectors().0 - 1;
            let at = Lbn(at.min(max - sectors));
            generation.touched.push(at.0..at.0 + sectors);
            if writes {
                vector.write(at, sectors)
            } else {
                vector.read(at, sectors)
            }
        }
    }
}

/// Appends sequential reads without delay, and sometimes a read at the position of the head.
fn push_run(
    context: &mut Context<'_, '_>,
    generation: &mut Generation,
    mut vector: TestVector,
) -> TestVector {
    let first = match generation.touched.last() {
        Some(last) if context.below(2) == 0 => last.end,
        _ => boundary(context, generation),
    };
    let sectors = [1, 1, 4, 8][context.below(4) as usize];
    let reads = 2 + context.below(2);
    let max = context.pairs.layout.sectors().0;
    let first = first.min(max - 8 * reads);
    for k in 0..reads {
        vector = vector.read(Lbn(first + k * sectors), sectors);
    }
    let end = first + reads * sectors;
    generation.touched.push(first..end);
    match context.below(2) {
        0 => push_chase(context, generation, vector),
        _ => vector,
    }
}

/// Appends a read of blocks that read-ahead should just reach, or of blocks one track later.
fn push_chase(
    context: &mut Context<'_, '_>,
    generation: &mut Generation,
    vector: TestVector,
) -> TestVector {
    let Some(last) = generation.touched.last() else {
        return vector;
    };
    let pause = context.pairs.uniform() * 4e6;
    let sector = context.period() / generation.area.length() as f64;
    let passed = (pause + context.pairs.uniform() * 3e6) / sector;
    let mut at = last.end + passed as u64;
    if context.below(3) == 0 {
        at += generation.area.length();
    }
    let sectors = [1, 1, 2, 4][context.below(4) as usize];
    let at = at.min(context.pairs.layout.sectors().0 - 1 - sectors);
    generation.touched.push(at..at + sectors);
    let vector = vector.pause(Span::from_ns(pause as i64));
    vector.read(Lbn(at), sectors)
}

fn command_size(context: &mut Context<'_, '_>, generation: &Generation) -> u64 {
    let length = generation.area.length();
    match context.below(12) {
        0 => length,
        1 => length / 2,
        2 => generation.segment + [0, 0, 2, 8][context.below(4) as usize],
        3 => generation.segment + 1,
        4 => generation.segment / 2,
        5 => 16 + context.below(48),
        6 => 2 + context.below(14),
        _ => 1,
    }
    .clamp(1, 1024)
}

/// Chooses a block near a boundary of an earlier command, its read-ahead, a segment or a track.
fn boundary(context: &mut Context<'_, '_>, generation: &Generation) -> u64 {
    let near = [0, 0, 1, 1, 2, 8][context.below(6) as usize];
    let back = context.below(2) == 0;
    let count = generation.touched.len() as u64;
    let at = if count > 0 && context.below(4) != 0 {
        let touched = &generation.touched[context.below(count) as usize];
        match context.below(5) {
            0 => touched.start,
            1 | 2 => touched.end,
            3 => touched.end + generation.ahead,
            _ => touched.end.saturating_sub(generation.segment),
        }
    } else {
        let track = generation.area.tracks[context.below(4) as usize].0;
        match context.below(3) {
            0 => track + context.below(generation.area.length()),
            _ => track,
        }
    };
    if back {
        at.saturating_sub(near)
    } else {
        at + near
    }
}
