//! What else a buffer might be: the values that each key could have instead.

use diskarm_core::spec::{
    Buffer, DeliveredBlocks, Key, KeyKind, ReadAhead, Spec, Value, WriteCache,
};

use diskarm_core::units::{SectorCount, Span};

use super::{FACTS, FAILURES, linked};

/// A specification that differs from the believed one in one fact.
#[derive(Clone)]
pub(super) struct Move {
    /// What it changes, for messages and to know it again whatever else is believed.
    pub label: String,
    /// The index of the fact; `None` if it is another division of what can be observed of times.
    pub fact: Option<usize>,
    pub spec: Spec,
}

/// All that differ in one fact, in those that need no writes unless `writes`.
pub(super) fn all(believed: &Spec, writes: bool) -> Vec<Move> {
    moves(believed, writes, true)
}

/// Those that differ by more than a small step.
pub(super) fn coarse(believed: &Spec, writes: bool) -> Vec<Move> {
    moves(believed, writes, false)
}

/// Those that differ in one fact, in any value, and in facts that belong together.
pub(super) fn wide(believed: &Spec, writes: bool) -> Vec<Move> {
    let mut moves = all(believed, writes);
    moves.extend(linked::all(believed, writes));
    moves
}

fn moves(believed: &Spec, writes: bool, small: bool) -> Vec<Move> {
    let shifted: Vec<Move> = shifts(believed).collect();
    let rated: Vec<Move> = rates(believed).collect();
    let mut moves = Vec::new();
    for (fact, row) in FACTS.iter().enumerate() {
        if row.path == FAILURES || row.writes && !writes || (row.moot)(&believed.buffer).is_some() {
            continue;
        }
        let key = row.key();
        for value in values(key, believed, small) {
            let label = format!("{} = {}", key.name(), key.toml(&value));
            let also = match key.path {
                // Which blocks have arrived depends on when they passed under the head.
                "buffer.arriving_hits" => shifted.as_slice(),
                // When a read begins to send shows only if sending takes time.
                "buffer.read_on_arrival" | "buffer.read_watermark" => rated.as_slice(),
                _ => &[],
            };
            let bases = also.iter().map(|shift| (&shift.spec, shift.label.as_str()));
            for (base, with) in std::iter::once((believed, "")).chain(bases) {
                let mut spec = base.clone();
                key.set(&mut spec, value.clone());
                together(&mut spec, believed);
                let is_set = key.get(&spec).as_ref() == Some(&value);
                if is_set && spec.buffer.contradiction().is_none() {
                    moves.push(Move {
                        label: format!("{label}{with}"),
                        fact: Some(fact),
                        spec,
                    });
                }
            }
        }
    }
    moves.extend(roomier(believed));
    moves.extend(shifted);
    moves
}

/// The same drive with larger segments, if it reads ahead until one is full as far as is known: it
/// may stop there although there is room.
fn roomier(believed: &Spec) -> Option<Move> {
    let buffer = &believed.buffer;
    let fills = buffer.read_ahead != ReadAhead::None && buffer.read_ahead_max == buffer.segment;
    if !fills || !buffer.caching {
        return None;
    }
    let mut spec = believed.clone();
    spec.buffer.segment = SectorCount(2 * buffer.segment.0);
    Some(Move {
        label: format!("segment = {}, no more read ahead", spec.buffer.segment.0),
        fact: FACTS.iter().position(|row| row.path == "buffer.segment"),
        spec,
    })
}

/// The same drive with earlier or later media.
fn shifts(believed: &Spec) -> impl Iterator<Item = Move> {
    let both = SHIFTS_US.iter().flat_map(|us| [-us, *us]);
    both.filter_map(|us| {
        Some(Move {
            label: format!(" with media {us} us earlier"),
            fact: None,
            spec: shifted(believed, Span::from_us(us))?,
        })
    })
}

/// By how much the media may be earlier than was assumed.
const SHIFTS_US: [f64; 6] = [10.0, 20.0, 50.0, 100.0, 200.0, 400.0];

/// The same drive with all that happens on its media earlier by `by`: commands take this much less,
/// and completions this much more. Only how far read-ahead has come when a command arrives shows
/// it.
fn shifted(spec: &Spec, by: Span) -> Option<Spec> {
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
    for time in shorter {
        *time -= by;
    }
    if let Some(extra) = &mut o.extra_write_disconnect {
        extra.command -= by;
    }
    o.read_completion += by;
    o.write_completion += by;
    let times = [
        o.read_hit_after_read,
        o.read_hit_after_write,
        o.read_miss_after_read,
        o.read_miss_after_write,
        o.write_hit_after_read,
        o.write_hit_after_write,
        o.write_miss_after_read,
        o.write_miss_after_write,
        o.extra_write_disconnect
            .map_or(Span::ZERO, |extra| extra.command),
        o.read_completion,
        o.write_completion,
    ];
    times.iter().all(|time| *time >= Span::ZERO).then_some(spec)
}

/// The same drive with a path to the host that takes its time, if nothing has shown what it takes.
fn rates(believed: &Spec) -> impl Iterator<Item = Move> {
    let is_unknown = believed.bus.read_sector == Span::ZERO;
    let rates = RATES_US.iter().filter(move |_| is_unknown);
    rates.filter_map(|us| {
        let rate = Span::from_us(*us);
        let short = rate - believed.overheads.read_completion;
        let mut spec = match short > Span::ZERO {
            true => shifted(believed, short)?,
            false => believed.clone(),
        };
        // It was taken for a part of the completion.
        spec.overheads.read_completion -= rate;
        spec.bus.read_sector = rate;
        Some(Move {
            label: format!(" with {us} us of a block to the host"),
            fact: None,
            spec,
        })
    })
}

/// What a block to the host may take, in steps of about the square root of two.
const RATES_US: [f64; 12] = [
    5.0, 7.0, 10.0, 14.0, 20.0, 28.0, 40.0, 56.0, 80.0, 112.0, 160.0, 224.0,
];

/// Other values of a key.
fn values(key: &Key, spec: &Spec, small: bool) -> Vec<Value> {
    let now = key.get(spec);
    let values = match (key.kind, &now) {
        (KeyKind::Flag, Some(Value::Flag(flag))) => vec![Value::Flag(!flag)],
        (KeyKind::Word(words), _) => words.iter().map(|word| Value::Word(word)).collect(),
        (KeyKind::Count { .. } | KeyKind::Size { .. }, Some(Value::Count(count))) => {
            let min = match key.kind {
                KeyKind::Size { min } | KeyKind::Count { min, .. } => min,
                _ => 0,
            };
            counts(*count, min, small).map(Value::Count).collect()
        }
        (KeyKind::Size { .. }, None) => [1, 2, 8].map(Value::Count).to_vec(),
        (KeyKind::Fraction, Some(Value::Number(now))) => {
            let steps: &[f64] = if small {
                &[0.125, 0.0625, 0.03, 0.01]
            } else {
                &[]
            };
            let both = steps.iter().flat_map(|step| [now - step, now + step]);
            let within = both.filter(|value| (0.0..=1.0).contains(value));
            let quarters = [0.0, 0.25, 0.5, 0.75, 1.0].into_iter();
            quarters.chain(within).map(Value::Number).collect()
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
    let mut values: Vec<Value> = values;
    values.retain(|value| Some(value) != now.as_ref());
    values
}

/// Other counts, of at least `least`.
fn counts(now: u64, min: u64, small: bool) -> impl Iterator<Item = u64> {
    // Up to a step as large as half of it.
    let powers = if small { 16 } else { 1 };
    let steps = (0..powers).map(|power| 1 << power);
    let steps = steps.take_while(move |step| *step <= (now / 2).max(32));
    let both = steps.flat_map(move |step| [now.saturating_sub(step), now + step]);
    let others = both.chain([now / 2, now * 2 + 4]);
    others.filter(move |other| *other >= min && *other != now)
}

/// Sets what must change together with what was changed.
fn together(spec: &mut Spec, before: &Spec) {
    let (new, old) = (&mut spec.buffer, &before.buffer);
    if new.dedicated_write_segment != old.dedicated_write_segment {
        // The segments of reads stay as many.
        new.segments = match new.dedicated_write_segment {
            true => old.segments + 1,
            false => (old.segments - 1).max(1),
        };
    }
    if new.segment != old.segment && old.read_ahead_max == old.segment {
        new.read_ahead_max = new.segment;
    }
    if new.read_ahead != old.read_ahead && old.read_ahead == ReadAhead::None {
        // It meant nothing before.
        new.read_ahead_max = new.segment;
    }
    if new.read_ahead_max > new.segment && new.segment == old.segment {
        new.segment = new.read_ahead_max;
    }
    repair(new);
}

/// Lets no key of the buffer forbid another.
pub(super) fn repair(buffer: &mut Buffer) {
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
