//! Hypotheses about the buffer: the current best specification with some keys changed.

use diskarm_core::spec::{
    Buffer, DeliveredBlocks, Key, KeyKind, ReadAhead, Spec, Value, WatermarkOf, WriteCache,
};
use diskarm_core::units::{SectorCount, Span};

use super::facts::{FAILURES, KEYS};

/// A specification that differs from the current best one.
#[derive(Clone)]
pub(super) struct Hypothesis {
    /// Describes the change. Identifies the hypothesis even after the best one has changed.
    pub label: String,
    /// Index of the changed key in [`KEYS`]; `None` if overheads or several keys change.
    pub key: Option<usize>,
    pub spec: Spec,
}

/// Returns all hypotheses that change one key, including keys that need writes if `writes`.
pub(super) fn single_changes(best: &Spec, writes: bool) -> Vec<Hypothesis> {
    changes(best, writes, true)
}

/// Like [`single_changes`], but without small steps.
pub(super) fn coarse_changes(best: &Spec, writes: bool) -> Vec<Hypothesis> {
    changes(best, writes, false)
}

/// Returns all hypotheses that change one key or a group of related keys.
pub(super) fn all_changes(best: &Spec, writes: bool) -> Vec<Hypothesis> {
    let mut hypotheses = single_changes(best, writes);
    hypotheses.extend(pairwise_changes(best, writes));
    hypotheses
}

fn changes(best: &Spec, writes: bool, small: bool) -> Vec<Hypothesis> {
    let with_shifts: Vec<Hypothesis> = media_shifts(best).collect();
    let with_rates: Vec<Hypothesis> = transfer_rates(best).collect();
    let mut hypotheses = Vec::new();
    for (index, buffer_key) in KEYS.iter().enumerate() {
        let is_irrelevant = (buffer_key.irrelevant)(&best.buffer).is_some();
        if buffer_key.path == FAILURES || buffer_key.needs_writes && !writes || is_irrelevant {
            continue;
        }
        let key = buffer_key.key();
        for value in values(key, best, small) {
            let label = format!("{} = {}", key.name(), key.toml(&value));
            let variants = match key.path {
                // Which blocks have arrived depends on when they passed under the head.
                "buffer.arriving_hits" => with_shifts.as_slice(),
                // The start of a bus transfer can be observed only if the transfer takes time.
                "buffer.read_on_arrival" | "buffer.read_watermark" => with_rates.as_slice(),
                _ => &[],
            };
            let bases = variants
                .iter()
                .map(|variant| (&variant.spec, variant.label.as_str()));
            for (base, suffix) in std::iter::once((best, "")).chain(bases) {
                let mut spec = base.clone();
                key.set(&mut spec, value.clone());
                apply_dependencies(&mut spec, best);
                let is_set = key.get(&spec).as_ref() == Some(&value);
                if is_set && spec.buffer.contradiction().is_none() {
                    hypotheses.push(Hypothesis {
                        label: format!("{label}{suffix}"),
                        key: Some(index),
                        spec,
                    });
                }
            }
        }
    }
    hypotheses.extend(larger_segments(best));
    hypotheses.extend(with_shifts);
    hypotheses
}

/// Returns the hypothesis that segments are larger than the read-ahead that seems to fill them.
fn larger_segments(best: &Spec) -> Option<Hypothesis> {
    let buffer = &best.buffer;
    let fills = buffer.read_ahead != ReadAhead::None && buffer.read_ahead_max == buffer.segment;
    if !fills || !buffer.caching {
        return None;
    }
    let mut spec = best.clone();
    spec.buffer.segment = SectorCount(2 * buffer.segment.0);
    Some(Hypothesis {
        label: format!("segment = {}, read-ahead unchanged", spec.buffer.segment.0),
        key: KEYS.iter().position(|key| key.path == "buffer.segment"),
        spec,
    })
}

/// Returns hypotheses in which commands access the media earlier or later.
fn media_shifts(best: &Spec) -> impl Iterator<Item = Hypothesis> {
    let both = SHIFTS_US.iter().flat_map(|us| [-us, *us]);
    both.filter_map(|us| {
        Some(Hypothesis {
            label: format!(" with media access {us} us earlier"),
            key: None,
            spec: shift_media_access(best, Span::from_us(us))?,
        })
    })
}

/// Shifts of the media access within a command, in microseconds.
const SHIFTS_US: [f64; 6] = [10.0, 20.0, 50.0, 100.0, 200.0, 400.0];

/// Returns a specification in which the media are accessed earlier: command overheads are shorter
/// and completion overheads longer. This affects only the progress of read-ahead.
fn shift_media_access(spec: &Spec, by: Span) -> Option<Spec> {
    let mut spec = spec.clone();
    let o = &mut spec.overheads;
    let shorter = [
        &mut o.read_hit_after_read,
        &mut o.read_hit_after_write,
        &mut o.read_miss_after_read,
        &mut o.read_miss_after_write,
        &mut o.write_hit_after_read,
        &mut o.write_hit_after_write,
        &mut o.write_miss_after_read,
        &mut o.write_miss_after_write,
    ];
    let extra = o.extra_write_disconnect.as_mut();
    let shorter = shorter
        .into_iter()
        .chain(extra.map(|extra| &mut extra.command));
    let mut is_possible = true;
    for time in shorter {
        *time -= by;
        is_possible &= *time >= Span::ZERO;
    }
    for time in [&mut o.read_completion, &mut o.write_completion] {
        *time += by;
        is_possible &= *time >= Span::ZERO;
    }
    is_possible.then_some(spec)
}

fn transfer_rates(best: &Spec) -> impl Iterator<Item = Hypothesis> {
    let is_unknown = best.bus.read_sector == Span::ZERO;
    let rates = TRANSFER_TIMES_US.iter().filter(move |_| is_unknown);
    rates.filter_map(|us| {
        let rate = Span::from_us(*us);
        let excess = rate - best.overheads.read_completion;
        let mut spec = best.clone();
        if excess > Span::ZERO {
            spec = shift_media_access(best, excess)?;
        }
        // The completion overhead has included this time so far.
        spec.overheads.read_completion -= rate;
        spec.bus.read_sector = rate;
        Some(Hypothesis {
            label: format!(" with a transfer of {us} us per block"),
            key: None,
            spec,
        })
    })
}

/// Transfer times of a block in microseconds, each about 1.4 times the previous one.
const TRANSFER_TIMES_US: [f64; 12] = [
    5.0, 7.0, 10.0, 14.0, 20.0, 28.0, 40.0, 56.0, 80.0, 112.0, 160.0, 224.0,
];

fn values(key: &Key, spec: &Spec, small: bool) -> Vec<Value> {
    let now = key.get(spec);
    let mut values = match (key.kind, &now) {
        (KeyKind::Flag, Some(Value::Flag(flag))) => vec![Value::Flag(!flag)],
        (KeyKind::Word(words), _) => words.iter().map(|word| Value::Word(word)).collect(),
        (KeyKind::Count { min, .. } | KeyKind::Size { min }, Some(Value::Count(count))) => {
            counts(*count, min, small).map(Value::Count).collect()
        }
        (KeyKind::Size { .. }, None) => [1, 2, 8].map(Value::Count).to_vec(),
        (KeyKind::Fraction, Some(Value::Number(now))) => {
            let steps = [0.125, 0.0625, 0.03, 0.01];
            let steps = &steps[..if small { 4 } else { 0 }];
            let both = steps.iter().flat_map(|step| [now - step, now + step]);
            let in_range = both.filter(|value| (0.0..=1.0).contains(value));
            let quarters = [0.0, 0.25, 0.5, 0.75, 1.0].into_iter();
            quarters.chain(in_range).map(Value::Number).collect()
        }
        (KeyKind::Time { .. }, Some(Value::Time(now))) => {
            let steps = [1280.0, 640.0, 320.0, 160.0, 80.0, 40.0, 20.0, 10.0, 5.0];
            let steps = &steps[..if small { 9 } else { 4 }];
            let both = steps.iter().flat_map(|us| [-us, *us]);
            let others = both.map(|us| *now + Span::from_us(us));
            let others = others.filter(|time| *time >= Span::ZERO);
            others.chain([Span::ZERO]).map(Value::Time).collect()
        }
        _ => Vec::new(),
    };
    values.retain(|value| Some(value) != now.as_ref());
    values
}

fn counts(now: u64, min: u64, small: bool) -> impl Iterator<Item = u64> {
    let powers = if small { 16 } else { 1 };
    let steps = (0..powers).map(|power| 1 << power);
    let steps = steps.take_while(move |step| *step <= (now / 2).max(32));
    let both = steps.flat_map(move |step| [now.saturating_sub(step), now + step]);
    let others = both.chain([now / 2, now * 2 + 4]);
    others.filter(move |other| *other >= min && *other != now)
}

fn apply_dependencies(spec: &mut Spec, before: &Spec) {
    let (new, old) = (&mut spec.buffer, &before.buffer);
    if new.dedicated_write_segment != old.dedicated_write_segment {
        // The number of read segments stays the same.
        new.segments = if new.dedicated_write_segment {
            old.segments + 1
        } else {
            (old.segments - 1).max(1)
        };
    }
    if new.segment != old.segment && old.read_ahead_max == old.segment {
        new.read_ahead_max = new.segment;
    }
    if new.read_ahead != old.read_ahead && old.read_ahead == ReadAhead::None {
        // Without read-ahead, its maximum was irrelevant.
        new.read_ahead_max = new.segment;
    }
    if new.read_ahead_max > new.segment && new.segment == old.segment {
        new.segment = new.read_ahead_max;
    }
    repair(new);
}

/// Resolves contradictions between keys of the buffer.
fn repair(buffer: &mut Buffer) {
    buffer.read_ahead_max = buffer.read_ahead_max.min(buffer.segment);
    buffer.read_ahead_min = buffer.read_ahead_min.min(buffer.read_ahead_max);
    if !buffer.caching {
        (buffer.read_ahead, buffer.write_cache) = (ReadAhead::None, WriteCache::Off);
    }
    if buffer.read_ahead == ReadAhead::None {
        buffer.read_ahead_failures = 0.0;
    }
    buffer.read_whole_track &= buffer.delivered == DeliveredBlocks::Kept;
}

/// Likely watermarks, as fractions of `watermark_of`.
const MARKS: [f64; 6] = [0.0, 0.1, 0.25, 0.5, 0.75, 1.0];

/// A function that adds a hypothesis, given the change that it makes to the buffer.
type Push<'a> = dyn FnMut(&dyn Fn(&mut Buffer)) + 'a;

/// Returns hypotheses that change related keys together, because each alone has little effect.
fn pairwise_changes(best: &Spec, writes: bool) -> Vec<Hypothesis> {
    let mut hypotheses = Vec::new();
    let mut push = |change: &dyn Fn(&mut Buffer)| {
        let mut spec = best.clone();
        change(&mut spec.buffer);
        repair(&mut spec.buffer);
        if spec.buffer != best.buffer && spec.buffer.contradiction().is_none() {
            hypotheses.push(Hypothesis {
                label: String::new(),
                key: None,
                spec,
            });
        }
    };
    push_read_ahead(best, &mut push);
    push_sizes(best, &mut push);
    for of in [WatermarkOf::Request, WatermarkOf::Segment] {
        for mark in MARKS {
            push(&|buffer| (buffer.watermark_of, buffer.read_watermark) = (of, mark));
            if writes {
                push(&|buffer| (buffer.watermark_of, buffer.write_watermark) = (of, mark));
            }
        }
    }
    if writes {
        for cache in [WriteCache::Off, WriteCache::Streams, WriteCache::Always] {
            for combines in [false, true] {
                push(&|buffer| (buffer.write_cache, buffer.combine_writes) = (cache, combines));
            }
        }
        for more in [-1, 0, 1, 2] {
            push(&|buffer| {
                buffer.dedicated_write_segment ^= true;
                buffer.segments = buffer.segments.saturating_add_signed(more).max(1);
            });
        }
    }
    hypotheses
}

fn push_read_ahead(best: &Spec, push: &mut Push<'_>) {
    let schemes = [
        ReadAhead::TrackEnd,
        ReadAhead::CylinderEnd,
        ReadAhead::UntilFull,
        ReadAhead::OneTrack,
    ];
    let is_off = best.buffer.read_ahead == ReadAhead::None;
    for scheme in schemes {
        for on_run in [false, true] {
            push(&|buffer| {
                (buffer.read_ahead, buffer.read_ahead_on_run) = (scheme, on_run);
                if is_off {
                    buffer.read_ahead_max = buffer.segment;
                }
            });
        }
    }
}

fn push_sizes(best: &Spec, push: &mut Push<'_>) {
    let buffer = &best.buffer;
    let known = [buffer.segment, buffer.read_ahead_max, buffer.read_ahead_min];
    let powers = (0..14).flat_map(|power| [1 << power, 3 << power]);
    let neighbours = known.map(|size| [size.0.saturating_sub(1), size.0, size.0 + 1]);
    let mut sizes: Vec<u64> = powers
        .chain(neighbours.into_iter().flatten())
        .filter(|size| *size > 0)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    for size in sizes.into_iter().map(SectorCount) {
        push(&|buffer| buffer.read_ahead_min = size.min(buffer.read_ahead_max));
        push(&|buffer| {
            buffer.read_ahead_max = size;
            buffer.segment = buffer.segment.max(size);
        });
        push(&|buffer| {
            buffer.segment = size;
            buffer.read_ahead_max = buffer.read_ahead_max.min(size);
        });
        push(&|buffer| {
            let is_fixed = buffer.read_ahead_min == buffer.read_ahead_max;
            (buffer.segment, buffer.read_ahead_max) = (size, size);
            if is_fixed {
                buffer.read_ahead_min = size;
            }
        });
        push(&|buffer| {
            (buffer.segment, buffer.read_ahead_max) = (size, size);
            buffer.read_ahead_min = size;
        });
    }
}
