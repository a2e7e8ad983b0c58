//! Random drives, with a random value of every key, and random requests.

use diskarm_core::request::Op;
use diskarm_core::spec::{
    Buffer, DeliveredBlocks, Geometry, GrownDefects, Key, KeyKind, ReadAhead, SeekCurve, Sparing,
    Spec, TrackOrder, Value, WriteCache, Zone,
};
use diskarm_core::units::{SectorCount, Span};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

fn us(range: std::ops::Range<i64>) -> impl Strategy<Value = Span> {
    // Zero is a value that people write, so it must be frequent.
    prop_oneof![
        1 => Just(Span::ZERO),
        3 => range.prop_map(|us| Span::from_ns(us * 1000 + 7)),
    ]
}

fn zone() -> impl Strategy<Value = (u32, u32, f64, f64, f64, Vec<u64>)> {
    (
        1..4u32,
        prop_oneof![1..3u32, 3..20u32],
        (0..10u32).prop_map(f64::from),
        (0..80u32).prop_map(|n| f64::from(n) / 10.0),
        (0..80u32).prop_map(|n| f64::from(n) / 10.0),
        vec(0..12u64, 0..3),
    )
}

fn geometry() -> impl Strategy<Value = Geometry> {
    let order = prop_oneof![
        Just(TrackOrder::CylinderMajor),
        Just(TrackOrder::SerpentinePerZone),
        Just(TrackOrder::Serpentine),
    ];
    (1..4u32, vec(zone(), 1..4), order, 0..3u64).prop_map(|(surfaces, zones, order, grown)| {
        let mut first_cylinder = 0;
        let mut sectors = 0;
        let zones: Vec<Zone> = zones
            .into_iter()
            .map(|(cylinders, per_track, offset, track, cylinder, slips)| {
                let end_cylinder = first_cylinder + cylinders;
                let places = u64::from(cylinders * surfaces * per_track);
                let spares = places.min(6) / 2;
                let slips: Vec<u64> = std::collections::BTreeSet::from_iter(slips)
                    .into_iter()
                    .filter(|&slip| slip < places - spares)
                    .take(spares.saturating_sub(1) as usize)
                    .collect();
                sectors += places - spares;
                let zone = Zone {
                    first_cylinder,
                    end_cylinder,
                    sectors_per_track: per_track,
                    first_offset_sectors: offset,
                    reserved_sectors: SectorCount(0),
                    track_skew_sectors: track,
                    cylinder_skew_sectors: cylinder,
                    spares,
                    slips,
                    defects: Vec::new(),
                };
                first_cylinder = end_cylinder;
                zone
            })
            .collect();
        let free = zones.iter().map(|z| z.spares - z.slips.len() as u64).min();
        Geometry {
            surfaces,
            cylinders: first_cylinder,
            sectors: SectorCount(sectors),
            sector_bytes: 512,
            order,
            sparing: Sparing::SectorsPerZone,
            zones,
            grown_defects: GrownDefects {
                count: grown.min(free.unwrap_or(0)).min(sectors / 2),
                seed: 5,
            },
            ..Geometry::default()
        }
    })
}

fn curve() -> impl Strategy<Value = SeekCurve> {
    (0..3000i64, 0..5000i64).prop_map(|(first, more)| {
        SeekCurve::Table(vec![
            (1, Span::from_us(first as f64)),
            (9, Span::from_us((first + more) as f64)),
        ])
    })
}

/// Returns a value of a key, for a small drive.
fn value(key: &Key) -> BoxedStrategy<Value> {
    match key.kind {
        KeyKind::Flag => any::<bool>().prop_map(Value::Flag).boxed(),
        KeyKind::Word(words) => select(words).prop_map(Value::Word).boxed(),
        KeyKind::Count { .. } => (1..6u64).prop_map(Value::Count).boxed(),
        KeyKind::Size { min } => (min..40).prop_map(Value::Count).boxed(),
        KeyKind::Fraction => (0..=4u32)
            .prop_map(|n| Value::Number(f64::from(n) / 4.0))
            .boxed(),
        KeyKind::Time { signed: false } => us(1..1500).prop_map(Value::Time).boxed(),
        KeyKind::Time { signed: true } => us(-700..700).prop_map(Value::Time).boxed(),
        KeyKind::Policy => select(vec!["fcfs", "clook", "sptf"])
            .prop_map(|policy| Value::Policy(policy.parse().expect("a policy")))
            .boxed(),
        kind => panic!("no random value of {kind:?}"),
    }
}

/// Returns the keys that can have any value, or one that [`repair`] makes sound.
fn keys() -> Vec<&'static Key> {
    let structure = |key: &Key| {
        let single = matches!(
            key.kind,
            KeyKind::Text | KeyKind::Rotation | KeyKind::SeekCurve
        );
        single || key.path.starts_with("source.") || key.path.starts_with("geometry.")
    };
    let mut keys = Key::all();
    let chance = [
        "buffer.read_ahead_failures",
        "overheads.read_miss_in_sequence_scatter",
    ];
    keys.retain(|key| !structure(key) && !chance.contains(&key.path));
    keys
}

/// Makes the keys of the buffer consistent.
fn repair(buffer: &mut Buffer) {
    buffer.dedicated_write_segment &= buffer.segments > 1;
    buffer.read_ahead_max = buffer.read_ahead_max.min(buffer.segment);
    buffer.read_ahead_min = buffer.read_ahead_min.min(buffer.read_ahead_max);
    // On three drives in four: without caching, the other keys have little effect.
    buffer.caching |= buffer.arriving_hits;
    if !buffer.caching {
        (buffer.read_ahead, buffer.write_cache) = (ReadAhead::None, WriteCache::Off);
    }
    buffer.dirty_max = match buffer.write_cache {
        WriteCache::Streams | WriteCache::Always => SectorCount(0),
        WriteCache::Off | WriteCache::Deferred => buffer.dirty_max.max(SectorCount(1)),
    };
    buffer.destage_in_gaps &= buffer.dirty_max > SectorCount(0);
    if !buffer.destage_in_gaps {
        buffer.destage_conservatism = Span::ZERO;
    }
    buffer.read_whole_track &= buffer.delivered == DeliveredBlocks::Kept;
    assert_eq!(buffer.contradiction(), None);
}

/// Generates a small drive without random behaviour.
pub fn drive() -> impl Strategy<Value = Spec> {
    let keys = keys();
    let values: Vec<_> = keys.iter().map(|key| value(key)).collect();
    let curves = (curve(), option::of(curve()));
    let parts = (
        geometry(),
        1_000_000..12_000_000u32,
        curves,
        values,
        any::<bool>(),
    );
    parts.prop_map(
        move |(geometry, period, (seek, write_seek), values, extra)| {
            let mut spec = Spec {
                name: "random".to_owned(),
                summary: "random".to_owned(),
                geometry,
                ..Spec::default()
            };
            for (key, value) in keys.iter().zip(values) {
                key.set(&mut spec, value);
            }
            spec.mechanics.period_ns = f64::from(period) + 0.3;
            (spec.mechanics.seek, spec.mechanics.write_seek) = (seek, write_seek);
            if !extra {
                spec.overheads.extra_write_disconnect = None;
                spec.overheads.write_start.sequential = None;
            }
            repair(&mut spec.buffer);
            spec
        },
    )
}

/// Generates a small drive whose copy, seen from outside, predicts how long a request takes. It has
/// no cache that chooses what to destage: the copy would not know its contents, and a policy inside
/// would choose among more than requests.
pub fn rehearsed_drive() -> impl Strategy<Value = Spec> {
    drive().prop_map(|mut spec| {
        if spec.buffer.write_cache == WriteCache::Deferred {
            spec.buffer.write_cache = WriteCache::Always;
        }
        spec
    })
}

/// Generates a small drive that may behave randomly.
pub fn chancy_drive() -> impl Strategy<Value = Spec> {
    let scatter = (option::of(curve()), option::of(curve()));
    (drive(), scatter, 0..=4u32).prop_map(|(mut spec, (reads, writes), quarters)| {
        spec.mechanics.seek_scatter = reads;
        spec.mechanics.write_seek_scatter = writes;
        if spec.buffer.read_ahead != ReadAhead::None {
            spec.buffer.read_ahead_failures = f64::from(quarters) / 4.0;
        }
        spec.overheads.read_miss_in_sequence_scatter = Span::from_ms(f64::from(quarters) / 2.0);
        spec
    })
}

/// A request before the size of the drive is known.
#[derive(Clone, Copy, Debug)]
pub struct Raw {
    /// Since the previous request.
    pub pause: Span,
    pub op: Op,
    /// Starts where the previous one ended.
    pub continues: bool,
    pub place: u64,
    pub sectors: u64,
}

/// Returns up to `count` requests, a third of which continue the previous one.
pub fn requests(count: usize) -> impl Strategy<Value = Vec<Raw>> {
    let pause = prop_oneof![
        2 => Just(0),
        3 => 0..20_000_000i64,
        1 => 0..200_000_000i64,
    ];
    let one = (pause, any::<bool>(), 0..3u8, any::<u64>(), 1..30u64);
    let raw = one.prop_map(|(pause, read, continues, place, sectors)| Raw {
        pause: Span::from_ns(pause),
        op: if read { Op::Read } else { Op::Write },
        continues: continues == 0,
        place,
        sectors,
    });
    vec(raw, 1..count)
}

/// Returns the requests on a disk of `disk` blocks: pause, direction, first block, number.
pub fn fitted(raw: &[Raw], disk: u64) -> Vec<(Span, Op, u64, u64)> {
    let mut end = 0;
    raw.iter()
        .map(|raw| {
            let start = if raw.continues && end < disk {
                end
            } else {
                raw.place % disk
            };
            let sectors = raw.sectors.min(disk - start);
            end = start + sectors;
            (raw.pause, raw.op, start, sectors)
        })
        .collect()
}

/// Runs this many cases; the seed of a failing one is printed, not stored.
pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}
