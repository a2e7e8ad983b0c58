//! Specifications made from data sheets.

use diskarm_core::device::Device;
use diskarm_core::drive::Drive;
use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::SeekTimes;
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::{self, Spec, WriteCache};
use diskarm_core::units::{Angle, Bytes, Cylinder, Instant, Lbn, SectorCount, Span};
use diskarm_drives::text::{Datasheet, Sectors};
use proptest::prelude::*;

/// Returns a drive of 8 TB, with nothing but what every data sheet has.
fn common() -> Datasheet {
    Datasheet {
        name: "new".to_owned(),
        capacity: Bytes(8_000_000_000_000),
        rpm: 7200,
        seek: Span::from_us(8_500.0),
        write_seek: None,
        track_to_track: None,
        full_stroke: None,
        outer_per_s: 250e6,
        inner_per_s: None,
        cache: None,
        platters: None,
        queue: None,
        interface_per_s: None,
        sectors: None,
    }
}

/// The blocks that drives of these capacities have by their makers' data sheets.
#[test]
fn capacities_are_those_of_drives_that_are_sold() {
    for (gb, sectors) in [
        (500, 976_773_168_u64),
        (1_000, 1_953_525_168),
        (4_000, 7_814_037_168),
        (8_000, 15_628_053_168),
    ] {
        let datasheet = Datasheet {
            capacity: Bytes(gb * 1_000_000_000),
            ..common()
        };
        let (_, spec) = datasheet.specification().expect("a specification");
        let layout = Layout::new(&spec.geometry).expect("a layout");
        assert_eq!(layout.sectors().0, sectors, "{gb} GB");
    }
}

/// Unless they are given: emulated on larger drives, which the specification calls assumed.
#[test]
fn sectors_are_assumed_by_capacity() {
    for (gb, expected, line) in [
        (4_000, 1, "sector_bytes = 512 # assumed\norder"),
        (6_000, 8, "physical_sector = \"4 KiB\" # assumed\n"),
    ] {
        let datasheet = Datasheet {
            capacity: Bytes(gb * 1_000_000_000),
            ..common()
        };
        let (text, spec) = datasheet.specification().expect("a specification");
        assert_eq!(spec.geometry.physical_sector, SectorCount(expected));
        assert!(text.contains(line), "{text}");
    }
}

/// Sectors of 4096 bytes, emulated and not, hold the bytes that sectors of 512 hold, on tracks of
/// whole sectors of the media.
#[test]
fn larger_sectors_hold_the_same() {
    let of = |sectors| {
        let datasheet = Datasheet {
            capacity: Bytes(16_000_900_661_248),
            platters: Some(9),
            sectors: Some(sectors),
            ..common()
        };
        let (text, spec) = datasheet.specification().expect("a specification");
        assert!(!text.contains("sector_bytes = 512 # assumed"));
        spec.geometry
    };
    let (emulated, native) = (of(Sectors::Emulated512), of(Sectors::Native4096));
    // Exos X16 data sheet: the sectors of 512 bytes of its 16 TB.
    assert_eq!(emulated.sectors.0, 31_251_759_104);
    assert_eq!(of(Sectors::Native512).sectors, emulated.sectors);
    assert_eq!(
        (emulated.physical_sector.0, native.physical_sector.0),
        (8, 1)
    );
    assert_eq!((emulated.sector_bytes, native.sector_bytes), (512, 4096));
    assert_eq!(native.sectors.0 * 8, emulated.sectors.0);
    for (emulated, native) in emulated.zones.iter().zip(&native.zones) {
        assert_eq!(emulated.end_cylinder, native.end_cylinder);
        assert_eq!(emulated.sectors_per_track, 8 * native.sectors_per_track);
        assert_eq!(emulated.reserved_sectors.0, 8 * native.reserved_sectors.0);
    }
}

/// Returns bytes per second of requests of 512 KiB in sequence from `first` on.
fn sequential(drive: &mut Drive, op: Op, first: Lbn) -> f64 {
    of_size(drive, op, first, 1024)
}

/// Returns the bytes per second of sequential requests of `sectors`, 128 MiB in total.
fn of_size(drive: &mut Drive, op: Op, first: Lbn, sectors: u64) -> f64 {
    let requests = (256 << 10) / sectors;
    let (mut now, mut begin) = (Instant::START, Instant::START);
    for number in 0..requests + 1 {
        let at = Lbn(first.0 + number * sectors);
        let request = Request::new(number, op, at, SectorCount(sectors));
        drive.submit(now, request).expect("room");
        while let Some(event) = drive.next_event() {
            now = event;
            if drive.advance(now).is_some() {
                break;
            }
        }
        if number == 0 {
            begin = now;
        }
    }
    (sectors * requests * 512) as f64 / (now - begin).as_s()
}

/// Returns a drive of the specification, at rest.
fn drive(spec: &Spec) -> Drive {
    Drive::new(spec, Angle::ZERO).expect("a drive")
}

#[test]
fn reads_in_sequence_have_the_rates_of_the_data_sheet() {
    for (rpm, outer, inner, platters, sectors) in [
        (7200, 250e6, 110e6, None, None),
        (5400, 140e6, 60e6, Some(1), Some(Sectors::Emulated512)),
        (15_000, 200e6, 130e6, Some(4), None),
    ] {
        let datasheet = Datasheet {
            rpm,
            outer_per_s: outer,
            inner_per_s: Some(inner),
            platters,
            sectors,
            capacity: Bytes(600_000_000_000),
            ..common()
        };
        let (_, spec) = datasheet.specification().expect("a specification");
        let last = spec
            .geometry
            .zones
            .last()
            .expect("a zone")
            .sectors_per_track;
        let mut idle = drive(&spec);
        let found = sequential(&mut idle, Op::Read, Lbn(0));
        assert!((found / outer - 1.0).abs() < 0.02, "{rpm}: {found}");
        let mut idle = drive(&spec);
        let from = idle.capacity().0 - 300 * 1024 - u64::from(last);
        let found = sequential(&mut idle, Op::Read, Lbn(from));
        assert!((found / inner - 1.0).abs() < 0.02, "{rpm}: {found}");
    }
}

/// A data sheet that states a mean seek time states the mean of all seeks: here the sum over all
/// pairs of cylinders, pair by pair of a distance, by the model's own table of seek times.
#[test]
fn seeks_have_the_mean_of_the_data_sheet() {
    let ms = |ms: f64| Span::from_us(1000.0 * ms);
    for (seek, single, full) in [
        (8.5, None, None),
        (8.5, Some(0.5), Some(16.0)),
        (3.4, Some(0.2), Some(6.6)),
        // Straight, and flat over a third of the cylinders.
        (12.0, Some(1.0), Some(34.0)),
        (12.0, Some(11.0), None),
    ] {
        let datasheet = Datasheet {
            seek: ms(seek),
            track_to_track: single.map(ms),
            full_stroke: full.map(ms),
            ..common()
        };
        let (_, spec) = datasheet.specification().expect("a specification");
        let cylinders = spec.geometry.cylinders;
        let times = SeekTimes::new(&spec.mechanics, cylinders);
        let all = (1..cylinders).map(|distance| {
            let way = (Cylinder(0), Cylinder(distance));
            let pairs = 2.0 * f64::from(cylinders - distance);
            pairs * times.total(Op::Read, way, false).as_ms()
        });
        let mean_ms = all.sum::<f64>() / f64::from(cylinders).powi(2);
        assert!((mean_ms - seek).abs() < 0.001, "{seek}: {mean_ms}");
        let longest = times.total(Op::Read, (Cylinder(0), Cylinder(cylinders - 1)), false);
        assert!(full.is_none_or(|full| longest == ms(full)), "{longest}");
    }
}

/// Whatever the size of its requests, a stream of one client gets the rate of the media also from
/// a small buffer, which has fewer segments.
#[test]
fn streams_of_large_requests_lose_no_revolutions() {
    let small = Datasheet {
        cache: Some(Bytes(8_000_000)),
        ..common()
    };
    let (_, spec) = small.specification().expect("a specification");
    assert_eq!(spec.buffer.segments, 4);
    for kib in [64, 192, 256, 512, 1024, 1280] {
        for op in [Op::Read, Op::Write] {
            let found = of_size(&mut drive(&spec), op, Lbn(0), 2 * kib);
            assert!(
                (found / 250e6 - 1.0).abs() < 0.02,
                "{op:?} {kib} KiB: {found}"
            );
        }
    }
}

/// Returns data sheets of drives in the catalogue.
fn data_sheets() -> [Datasheet; 4] {
    let of = |name: &str, capacity, rpm, (seek, write): (f64, Option<f64>), mb_per_s: f64| {
        let ms = |ms: f64| Span::from_us(1000.0 * ms);
        Datasheet {
            name: name.to_owned(),
            capacity: Bytes(capacity),
            rpm,
            seek: ms(seek),
            write_seek: write.map(ms),
            outer_per_s: mb_per_s * 1e6,
            ..common()
        }
    };
    [
        Datasheet {
            cache: Some(Bytes(8_000_000)),
            platters: Some(2),
            sectors: Some(Sectors::Emulated512),
            ..of(
                "wd-blue-wd10jpvx",
                1_000_000_000_000,
                5400,
                (12.0, None),
                144.0,
            )
        },
        Datasheet {
            cache: Some(Bytes(256_000_000)),
            platters: Some(9),
            sectors: Some(Sectors::Emulated512),
            ..of(
                "seagate-exos-x16-st16000nm001g",
                31_251_759_104 * 512,
                7200,
                (8.5, None),
                261.0,
            )
        },
        Datasheet {
            track_to_track: Some(Span::from_us(300.0)),
            inner_per_s: Some(110e6),
            cache: Some(Bytes(64_000_000)),
            platters: Some(3),
            queue: Some(128),
            ..of(
                "sas-10k-900gb",
                900_000_000_000,
                10_000,
                (3.9, Some(4.4)),
                190.0,
            )
        },
        Datasheet {
            track_to_track: Some(Span::from_us(200.0)),
            full_stroke: Some(Span::from_us(6600.0)),
            inner_per_s: Some(122e6),
            cache: Some(Bytes(16_000_000)),
            platters: Some(4),
            queue: Some(128),
            ..of(
                "seagate-cheetah-15k7-st3600057ss",
                600_000_000_000,
                15_000,
                (3.4, Some(3.9)),
                204.0,
            )
        },
    ]
}

/// The drives of the catalogue that say that they were made so are what their data sheets give.
#[test]
fn catalogue_drives_match_their_data_sheets() {
    for datasheet in data_sheets() {
        let (_, made) = datasheet.specification().expect("a specification");
        let name = &datasheet.name;
        let entry = diskarm_drives::find(name).expect(name);
        let given = spec::parse(entry.text, name).expect(name);
        assert!(
            given.source.choices.contains("`diskarm drives new`"),
            "{name}"
        );
        let made = Spec {
            summary: given.summary.clone(),
            source: given.source.clone(),
            ..made
        };
        assert_eq!(given.geometry, made.geometry, "{name}");
        assert_eq!(given.mechanics, made.mechanics, "{name}");
        assert_eq!(given.buffer, made.buffer, "{name}");
        assert!(given == made, "{name}");
    }
}

/// On each nominal drive of the catalogue, writes in sequence are as fast as reads; faster where
/// the cache holds the last ones.
#[test]
fn nominal_drives_write_in_sequence_as_fast_as_they_read() {
    let mut tried = 0;
    for entry in diskarm_drives::CATALOGUE {
        let spec = spec::parse(entry.text, entry.name).expect(entry.name);
        // The classic ones have skews that were published.
        let is_queued = spec.queue.depth > 1;
        if !spec.source.nominal || !is_queued {
            continue;
        }
        let [read, write] =
            [Op::Read, Op::Write].map(|op| of_size(&mut drive(&spec), op, Lbn(0), 512));
        assert!(write > 0.98 * read, "{}: {write} {read}", entry.name);
        tried += 1;
    }
    assert_eq!(tried, 5);
}

/// Ten more tracks, one of them on the next cylinder, take a write as long as a read: no revolution
/// is lost where it continues to the next track.
#[test]
fn writes_continue_to_the_next_track_like_reads() {
    let (_, mut spec) = common().specification().expect("a specification");
    spec.buffer.write_cache = WriteCache::Off;
    let track = u64::from(spec.geometry.zones[0].sectors_per_track);
    assert!(spec.geometry.surfaces <= 10, "{}", spec.geometry.surfaces);
    let response_ms = |op, tracks: u64| {
        let mut drive = Drive::new(&spec, Angle::ZERO).expect("a drive");
        let request = Request::new(0, op, Lbn(0), SectorCount(tracks * track));
        drive.submit(Instant::START, request).expect("room");
        loop {
            let now = drive.next_event().expect("a completion");
            if let Some(completion) = drive.advance(now) {
                break completion.at.after(Instant::START).as_ms();
            }
        }
    };
    let [read_ms, write_ms] =
        [Op::Read, Op::Write].map(|op| response_ms(op, 12) - response_ms(op, 2));
    assert!(read_ms > 10.0 * 60e3 / 7200.0, "{read_ms}");
    assert!((write_ms - read_ms).abs() < 0.01, "{write_ms} {read_ms}");
}

#[test]
fn assumed_values_are_marked() {
    let (text, _) = common().specification().expect("a specification");
    let assumed = |key: &str| {
        let mut lines = text.lines().filter(|line| line.starts_with(key));
        lines.next().expect(key).ends_with("# assumed")
    };
    for key in [
        "single",
        "full",
        "surfaces",
        "write_settle",
        "depth",
        "segment =",
        "read_sector",
        "sector_bytes",
    ] {
        assert!(assumed(key), "{key}");
    }
    let whole = Datasheet {
        write_seek: Some(Span::from_us(9_500.0)),
        track_to_track: Some(Span::from_us(800.0)),
        full_stroke: Some(Span::from_us(18_000.0)),
        inner_per_s: Some(110e6),
        cache: Some(Bytes(256_000_000)),
        platters: Some(5),
        queue: Some(16),
        interface_per_s: Some(600e6),
        sectors: Some(Sectors::Native512),
        ..common()
    };
    let (text, spec) = whole.specification().expect("a specification");
    let assumed: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("# assumed"))
        .filter_map(|line| line.split([' ', '=']).next())
        .collect();
    let left = [
        "head_switch",
        "segments",
        "[overheads]",
        "policy",
        "preseek",
    ];
    assert_eq!(assumed, left);
    assert_eq!(spec.geometry.surfaces, 10);
    assert_eq!(spec.mechanics.write_settle, Span::from_us(1_000.0));
}

#[test]
fn contradictions_are_reported() {
    let refused = |change: fn(&mut Datasheet)| {
        let mut datasheet = common();
        change(&mut datasheet);
        let refused = datasheet.specification().expect_err("a contradiction");
        refused.to_string()
    };
    for (text, field) in [
        (refused(|d| d.inner_per_s = Some(251e6)), "inner"),
        (
            refused(|d| d.full_stroke = Some(Span::from_us(8_000.0))),
            "full_stroke",
        ),
        // No curve that rises has a mean of 8.5 ms with these.
        (
            refused(|d| d.full_stroke = Some(Span::from_us(11_600.0))),
            "full_stroke",
        ),
        (
            refused(|d| d.full_stroke = Some(Span::from_us(51_700.0))),
            "full_stroke",
        ),
        (
            refused(|d| d.track_to_track = Some(Span::from_us(9_000.0))),
            "track_to_track",
        ),
        (
            refused(|d| d.write_seek = Some(Span::from_us(8_000.0))),
            "write_seek",
        ),
        (refused(|d| d.platters = Some(17)), "platters"),
        (refused(|d| d.queue = Some(0)), "queue"),
        (refused(|d| d.queue = Some(4097)), "queue"),
        (refused(|d| d.seek = Span::ZERO), "seek"),
        // It would be written as 0 ms.
        (refused(|d| d.seek = Span::from_us(0.4)), "seek"),
        (
            refused(|d| d.track_to_track = Some(Span::from_us(0.4))),
            "track_to_track",
        ),
        (refused(|d| d.cache = Some(Bytes(8 << 10))), "cache"),
        (refused(|d| d.rpm = 0), "rpm"),
        (
            refused(|d| (d.outer_per_s, d.platters) = (1e3, Some(1))),
            "outer",
        ),
        (
            refused(|d| d.capacity = Bytes(8_000_000_000_000_000)),
            "capacity",
        ),
        // More cylinders than a number of 32 bits holds, and slightly more than there can be.
        (
            refused(|d| (d.capacity, d.platters) = (Bytes(100_000_000_000_000_000), Some(1))),
            "capacity",
        ),
        (
            refused(|d| (d.capacity, d.platters) = (Bytes(8_000_000_000_000), Some(1))),
            "capacity",
        ),
        (refused(|d| d.capacity = Bytes(0)), "geometry.sectors"),
    ] {
        assert!(text.contains(&format!("{field}: found")), "{field}: {text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// The zones hold exactly the capacity, for any values.
    #[test]
    fn zones_hold_the_capacity(
        mb in 100_u64..20_000_000,
        rpm in 3600_u32..15_001,
        outer in 5.0_f64..300.0,
        ratio in 0.3_f64..1.0,
        platters in proptest::option::of(1_u32..9),
        single in proptest::option::of(0.2_f64..2.0),
        sectors in proptest::option::of(proptest::sample::select(Vec::from(Sectors::WORDS))),
    ) {
        let datasheet = Datasheet {
            capacity: Bytes(mb * 1_000_000),
            rpm,
            outer_per_s: outer * 1e6,
            inner_per_s: Some(outer * ratio * 1e6),
            platters,
            track_to_track: single.map(|ms| Span::from_us(ms * 1000.0)),
            sectors: sectors.map(|(_, sectors)| sectors),
            ..common()
        };
        match datasheet.specification() {
            Ok((_, spec)) => {
                let layout = Layout::new(&spec.geometry).expect("a layout");
                prop_assert_eq!(layout.sectors(), spec.geometry.sectors);
                let held = layout.sectors().0 * u64::from(spec.geometry.sector_bytes);
                let lost = (mb * 1_000_000).abs_diff(held);
                prop_assert!(lost < 1_000_000_000, "{lost}");
            }
            // Too many cylinders for so few platters, or for any.
            Err(error) => prop_assert_eq!(error.field, "capacity"),
        }
    }
}
