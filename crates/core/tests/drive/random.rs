//! Random drives, all switches random, and random requests.

use diskarm_core::request::Op;
use diskarm_core::spec::{
    Buffer, Bus, Delivered, ExtraWriteDisconnect, Geometry, GrownDefects, Invalidation, Mechanics,
    Overheads, PreSeek, Queue, ReadAhead, SeekCurve, Source, Sparing, Spec, TrackOrder,
    WatermarkOf, WriteCache, WriteLeaves, WriteStart, Zone,
};
use diskarm_core::units::{SectorCount, Span};
use proptest::collection::vec;
use proptest::prelude::*;

fn us(range: std::ops::Range<i64>) -> impl Strategy<Value = Span> {
    // Zero is a value that people write, so it must come often.
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

fn mechanics() -> impl Strategy<Value = Mechanics> {
    let curve = || {
        (0..3000i64, 0..5000i64).prop_map(|(first, more)| {
            SeekCurve::Table(vec![
                (1, Span::from_us(first as f64)),
                (9, Span::from_us((first + more) as f64)),
            ])
        })
    };
    (
        1_000_000..12_000_000u32,
        curve(),
        proptest::option::of(curve()),
        us(1..2000),
        -700..1000i64,
        -700..700i64,
    )
        .prop_map(
            |(period, seek, write_seek, head_switch, settle, inward)| Mechanics {
                period_ns: f64::from(period) + 0.3,
                seek,
                write_seek,
                head_switch,
                inward_seek: Span::from_us(inward as f64),
                write_settle: Span::from_us(settle as f64),
            },
        )
}

fn read_ahead() -> impl Strategy<Value = ReadAhead> {
    prop_oneof![
        Just(ReadAhead::None),
        Just(ReadAhead::TrackEnd),
        Just(ReadAhead::CylinderEnd),
        Just(ReadAhead::UntilFull),
        Just(ReadAhead::OneTrack),
    ]
}

fn write_cache() -> impl Strategy<Value = WriteCache> {
    prop_oneof![
        Just(WriteCache::Off),
        Just(WriteCache::Streams),
        Just(WriteCache::Always)
    ]
}

fn invalidation() -> impl Strategy<Value = Invalidation> {
    prop_oneof![
        Just(Invalidation::Overlap),
        Just(Invalidation::Segment),
        Just(Invalidation::All)
    ]
}

fn buffer() -> impl Strategy<Value = Buffer> {
    let sizes = (1..5u32, 1..40u64, 0..40u64, 0..40u64);
    let choices = (read_ahead(), write_cache(), invalidation());
    let fractions = (0..=4u32, 0..=4u32, any::<bool>());
    (sizes, choices, fractions, vec(any::<bool>(), 13)).prop_map(
        |((segments, segment, max, min), (ahead, cache, invalidation), marks, flags)| {
            let caching = flags[0] || flags[1];
            let max = max.min(segment);
            Buffer {
                segments,
                segment: SectorCount(segment),
                caching,
                dedicated_write_segment: flags[2] && segments > 1,
                read_ahead: if caching { ahead } else { ReadAhead::None },
                read_ahead_min: SectorCount(if flags[3] { min.min(max) } else { 0 }),
                read_ahead_max: SectorCount(max),
                delivered: if flags[4] {
                    Delivered::Dropped
                } else {
                    Delivered::Kept
                },
                read_ahead_on_hit: flags[5],
                read_ahead_stops_mid_sector: flags[6],
                write_stops_read_ahead: flags[7],
                read_before_requested: flags[8],
                arriving_hits: flags[9],
                partial_hits_at_once: flags[10],
                hits_on_written: flags[11],
                write_invalidates: invalidation,
                read_on_arrival: flags[12],
                write_on_arrival: flags[1],
                write_cache: if caching { cache } else { WriteCache::Off },
                combine_writes: flags[7] || flags[5],
                read_watermark: f64::from(marks.0) / 4.0,
                write_watermark: f64::from(marks.1) / 4.0,
                watermark_of: if marks.2 {
                    WatermarkOf::Request
                } else {
                    WatermarkOf::Segment
                },
            }
        },
    )
}

fn overheads() -> impl Strategy<Value = Overheads> {
    let extra = proptest::option::of(vec(us(1..900), 5));
    (vec(us(1..1500), 17), extra, 1..6u64, 1..20u64, 1..20u64).prop_map(
        |(t, extra, small, large, large_from)| Overheads {
            read_hit_after_read: t[0],
            read_hit_after_write: t[1],
            read_miss_after_read: t[2],
            read_miss_after_write: t[3],
            write_hit_after_read: t[4],
            write_hit_after_write: t[5],
            write_miss_after_read: t[6],
            write_miss_after_write: t[7],
            read_completion: t[8],
            write_completion: t[9],
            data_preparation: t[10],
            first_reselect: t[11],
            other_reselect: t[12],
            read_disconnect_after_read: t[13],
            read_disconnect_after_write: t[14],
            write_disconnect: t[15],
            extra_write_disconnect: extra.map(|t| ExtraWriteDisconnect {
                command: t[0],
                disconnect: t[1],
                duration: t[2],
                second_disconnect: t[3],
                seek_delay: t[4],
            }),
            write_minimum_delay: t[16],
            write_start: WriteStart {
                small: SectorCount(small),
                large: SectorCount(large),
                large_from: SectorCount(large_from),
            },
        },
    )
}

fn bus() -> impl Strategy<Value = Bus> {
    let restart = prop_oneof![Just(Span::ZERO), us(1..900)];
    let rates = (us(1..2000), us(1..2000), restart);
    (rates, vec(any::<bool>(), 4)).prop_map(|((read, write, restart), flags)| Bus {
        read_sector: read,
        write_sector: write,
        read_restart: restart,
        hold_read: flags[0],
        hold_write: flags[1],
        never_disconnect: flags[2],
        write_leaves: if flags[3] {
            WriteLeaves::AfterData
        } else {
            WriteLeaves::IfSeeking
        },
    })
}

fn queue() -> impl Strategy<Value = Queue> {
    let preseek = prop_oneof![
        Just(PreSeek::Acknowledged),
        Just(PreSeek::CompletionReady),
        Just(PreSeek::MediaDone)
    ];
    let policy = prop_oneof![Just("fcfs"), Just("clook"), Just("sptf")];
    (1..6u32, policy, preseek).prop_map(|(depth, policy, preseek)| Queue {
        depth,
        policy: policy.parse().expect("a policy"),
        preseek,
    })
}

/// A small drive.
pub fn drive() -> impl Strategy<Value = Spec> {
    let electronics = (overheads(), bus(), queue());
    (geometry(), mechanics(), buffer(), electronics).prop_map(
        |(geometry, mechanics, buffer, (overheads, bus, queue))| Spec {
            name: "random".to_owned(),
            summary: "random".to_owned(),
            source: Source::default(),
            geometry,
            mechanics,
            buffer,
            overheads,
            bus,
            queue,
        },
    )
}

/// A request before the size of the drive is known.
#[derive(Clone, Copy, Debug)]
pub struct Raw {
    /// Since the request before.
    pub pause: Span,
    pub op: Op,
    /// Begins where the one before ended.
    pub continues: bool,
    pub place: u64,
    pub sectors: u64,
}

/// Up to `count` requests, a third of which continue the one before.
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

/// The requests on a disk of `disk` blocks: pause, direction, first block, number.
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

/// So many cases; the seed of a failing one is printed, and kept nowhere.
pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}
