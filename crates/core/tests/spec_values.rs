//! Values of a specification are read unchanged, and omitted keys describe the plainest drive.

use diskarm_core::spec::{
    self, Buffer, Bus, ExtraWriteDisconnect, Geometry, GrownDefects, Invalidation, Key, KeyKind,
    Mechanics, Overheads, PreSeek, Queue, ReadAhead, SeekCurve, Source, Sparing, Spec, TrackOrder,
    TwoPiece, Value, WatermarkOf, WriteCache, WriteStart, Zone,
};
use diskarm_core::units::{SectorCount, Span};

const GOOD: &str = include_str!("spec/good.toml");

const MINIMAL: &str = r#"
name = "plain"
summary = "As little as can be said"
[source]
origin = "Invented."
[geometry]
surfaces = 1
cylinders = 10
sectors = 100
sector_bytes = 512
zones = [{ cylinders = [0, 10], sectors_per_track = 10 }]
[mechanics]
rotation = "10 ms"
seek = { form = "three-point", single = "1 ms", average = "2 ms", full = "4 ms" }
"#;

fn read(text: &str) -> Spec {
    spec::parse(text, "x.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn ms(ms: f64) -> Span {
    Span::from_ms(ms)
}

fn zone(first_cylinder: u32, end_cylinder: u32, sectors_per_track: u32) -> Zone {
    Zone {
        first_cylinder,
        end_cylinder,
        sectors_per_track,
        ..Zone::default()
    }
}

#[test]
fn source_and_geometry_are_read() {
    let spec = read(GOOD);
    assert_eq!(spec.name, "small");
    assert_eq!(spec.summary, "A small drive for tests");
    let source = Source {
        origin: "Invented.".to_owned(),
        choices: "None disagree.".to_owned(),
        nominal: true,
    };
    assert_eq!(spec.source, source);
    let inner = Zone {
        first_offset_sectors: 2.5,
        reserved_sectors: SectorCount(50),
        track_skew_sectors: 3.0,
        cylinder_skew_sectors: 6.25,
        spares: 4,
        slips: vec![8, 9],
        defects: vec![(1, 2)],
        ..zone(11, 20, 25)
    };
    let geometry = Geometry {
        surfaces: 2,
        cylinders: 20,
        sectors: SectorCount(1000),
        unused_sectors: SectorCount(38),
        sector_bytes: 512,
        physical_sector: SectorCount(1),
        order: TrackOrder::Serpentine,
        sparing: Sparing::SectorsPerRange,
        sparing_range: 5,
        zones: vec![zone(0, 10, 30), inner],
        slips_turn_tracks: true,
        grown_defects: GrownDefects { count: 3, seed: 7 },
    };
    assert_eq!(spec.geometry, geometry);
}

#[test]
fn a_physical_sector_has_whole_sectors() {
    let with = |size: &str| {
        let line = format!("sector_bytes = 512\nphysical_sector = \"{size}\"");
        spec::parse(&MINIMAL.replace("sector_bytes = 512", &line), "x.toml")
    };
    let of = |size: &str| with(size).map(|spec| spec.geometry.physical_sector);
    assert_eq!(of("1 KiB"), Ok(SectorCount(2)));
    assert_eq!(of("512 B"), Ok(SectorCount(1)));
    let error = of("256 sectors").expect_err("no such segment");
    assert_eq!(
        error.to_string(),
        "x.toml:1: buffer.segment: found nothing, expected whole physical sectors: a multiple of \
         256 sectors"
    );
}

#[test]
fn mechanics_are_read() {
    let piece = TwoPiece {
        knee: 8,
        short_ms: 1.0,
        short_sqrt_ms: 0.5,
        long_ms: 2.0,
        long_slope_ms: 0.25,
        single: Some(ms(1.25)),
    };
    let writes = vec![(1, ms(1.5)), (10, ms(2.5)), (19, ms(2.25))];
    let mechanics = Mechanics {
        period_ns: 1e7,
        seek: SeekCurve::TwoPieceAndTable(piece, vec![ms(1.5), ms(1.75)]),
        write_seek: Some(SeekCurve::Table(writes)),
        head_switch: Span::from_ns(800_000),
        inward_seek: Span::from_ns(100_000),
        track_settle: Span::from_ns(300_000),
        cylinder_settle: Span::from_ns(200_000),
        seek_scatter: Some(SeekCurve::Table(vec![(1, ms(0.125)), (19, ms(0.5))])),
        write_seek_scatter: Some(SeekCurve::Table(vec![(1, ms(0.25))])),
        write_settle: Span::from_ns(-25_000),
    };
    assert_eq!(read(GOOD).mechanics, mechanics);
    let formula = GOOD.replace("first_ms = [1.5, 1.75]\n", "");
    assert_eq!(read(&formula).mechanics.seek, SeekCurve::TwoPiece(piece));
}

#[test]
fn electronics_are_read() {
    let spec = read(GOOD);
    let buffer = Buffer {
        segments: 3,
        segment: SectorCount(64),
        caching: true,
        dedicated_write_segment: true,
        read_ahead: ReadAhead::OneTrack,
        read_ahead_min: SectorCount(4),
        read_ahead_max: SectorCount(32),
        read_ahead_failures: 0.025,
        read_whole_track: true,
        write_invalidates: Invalidation::Segment,
        write_cache: WriteCache::Streams,
        read_watermark: 0.75,
        write_watermark: 0.5,
        watermark_of: WatermarkOf::Segment,
        ..Buffer::default()
    };
    assert_eq!(spec.buffer, buffer);
    let overheads = Overheads {
        read_hit_after_write: Span::from_ns(953_430),
        read_miss_in_sequence: ms(1.5),
        write_hit_seek: Span::from_ns(160_000),
        write_hit_zone: Span::from_ns(100_000),
        extra_write_disconnect: Some(ExtraWriteDisconnect {
            command: ms(1.0),
            disconnect: ms(2.0),
            duration: ms(3.0),
            second_disconnect: ms(4.0),
            seek_delay: ms(5.0),
        }),
        write_start: WriteStart {
            small: SectorCount(10),
            large: SectorCount(15),
            large_from: SectorCount(45),
            sequential: Some(SectorCount(12)),
        },
        ..Overheads::default()
    };
    assert_eq!(spec.overheads, overheads);
    let bus = Bus {
        read_sector: ms(0.1),
        write_sector: ms(0.2),
        read_restart: Span::from_ns(300_000),
        hold_read: true,
        ..Bus::default()
    };
    assert_eq!(spec.bus, bus);
    let queue = Queue {
        depth: 4,
        policy: "sptf".parse().expect("a policy"),
        preseek: PreSeek::CompletionReady,
    };
    assert_eq!(spec.queue, queue);
}

/// Defaults that are neither off nor zero nor the first of several words.
const DEFAULTS: [(&str, &str); 9] = [
    ("geometry.physical_sector", "\"1 sector\""),
    ("buffer.segments", "1"),
    ("buffer.segment", "\"128 sectors\""),
    ("buffer.read_ahead_max", "\"128 sectors\""),
    ("buffer.write_invalidates", "\"segment\""),
    ("overheads.write_start.small", "\"1 sector\""),
    ("overheads.write_start.large", "\"1 sector\""),
    ("overheads.write_start.large_from", "\"1 sector\""),
    ("queue.depth", "1"),
];

/// Returns true if the default is absent rather than zero.
fn optional_value(key: &Key) -> bool {
    let path = key.path;
    path.contains("extra_write_disconnect") || path == "overheads.write_start.sequential"
}

#[test]
fn omitted_keys_are_off_or_zero() {
    let spec = read(MINIMAL);
    let optional = |key: &&Key| !key.required || key.path.matches('.').count() == 2;
    for key in Key::all().into_iter().filter(optional) {
        let listed = DEFAULTS.iter().find(|(path, _)| *path == key.path);
        let expected = match (key.kind, listed) {
            (_, Some((_, text))) => Some((*text).to_owned()),
            (KeyKind::Flag, _) => Some("false".to_owned()),
            (KeyKind::Word(words), _) => Some(format!("{:?}", words[0])),
            (KeyKind::Count { .. }, _) => Some("0".to_owned()),
            (KeyKind::Size { .. }, _) => Some("\"0 sectors\"".to_owned()),
            (KeyKind::Distance, _) => Some("\"0 cylinders\"".to_owned()),
            (KeyKind::Time { .. }, _) => Some("\"0 ms\"".to_owned()),
            (KeyKind::Fraction, _) => Some("\"0 %\"".to_owned()),
            (KeyKind::Policy, _) => Some("\"fcfs\"".to_owned()),
            _ => None,
        }
        .filter(|_| !optional_value(key));
        let found = match key.get(&spec) {
            Some(Value::Text(text)) => Some(text).filter(|text| !text.is_empty()),
            value => value.map(|value| key.toml(&value)),
        };
        assert_eq!(found, expected, "{}", key.path);
    }
}

/// Returns a value of a key other than its default, if its kind fits on one line.
fn other_value(key: &Key) -> Option<Value> {
    Some(match (key.kind, key.get(&Spec::default())?) {
        (_, Value::Flag(flag)) => Value::Flag(!flag),
        (KeyKind::Word(words), _) => Value::Word(words.last()?),
        (_, Value::Count(count)) => Value::Count(count + 1),
        (_, Value::Time(_)) => Value::Time(Span::from_ns(2_000_001)),
        (KeyKind::Fraction, _) => Value::Number(0.75),
        (_, Value::Policy(_)) => Value::Policy("vscan(r=0.2)".parse().ok()?),
        _ => return None,
    })
}

/// Each key, written as in its row, sets its own field and no other.
#[test]
fn a_key_sets_only_its_field() {
    let plain = read(MINIMAL);
    let mut tried = 0;
    for key in Key::all() {
        let Some((table, name)) = key.path.split_once('.') else {
            continue;
        };
        let alone = ["buffer", "overheads", "bus", "queue"].contains(&table);
        let Some(value) = other_value(key).filter(|_| alone && !name.contains('.')) else {
            continue;
        };
        let mut expected = plain.clone();
        key.set(&mut expected, value.clone());
        for other in Key::all()
            .into_iter()
            .filter(|other| other.same_as == Some(key.path))
        {
            other.set(&mut expected, value.clone());
        }
        if expected.contradiction().is_some() {
            continue;
        }
        let text = format!("{MINIMAL}[{table}]\n{name} = {}\n", key.toml(&value));
        assert_eq!(read(&text), expected, "{text}");
        tried += 1;
    }
    assert!(tried > 45, "{tried}");
}

/// `UntilFull` is written `until-full`: words derive from the names of variants.
#[test]
fn words_derive_from_the_names_of_variants() {
    for key in Key::all() {
        let KeyKind::Word(words) = key.kind else {
            continue;
        };
        for &word in words {
            let capital = |part: &str| part[..1].to_uppercase() + &part[1..];
            let variant: String = word.split('-').map(capital).collect();
            let mut spec = Spec::default();
            key.set(&mut spec, Value::Word(word));
            assert_eq!(key.get(&spec), Some(Value::Word(word)));
            let field = format!("{}: {variant},", key.name());
            let text = format!("{spec:#?}");
            assert!(text.contains(&field), "{field} in {text}");
        }
    }
}

/// A seek that takes less than half the time of a shorter one.
#[test]
fn a_falling_seek_curve_is_doubtful() {
    let doubts = |points: &str| {
        let seek = r#"{ form = "three-point", single = "1 ms", average = "2 ms", full = "4 ms" }"#;
        let table = format!(r#"{{ form = "table", cylinders_ms = {points} }}"#);
        let text = MINIMAL.replace(seek, &table);
        assert_ne!(text, MINIMAL);
        read(&text).mechanics.doubts()
    };
    assert_eq!(doubts("[[1, 1], [5, 2], [9, 3]]"), [""; 0]);
    assert_eq!(doubts("[[1, 1], [5, 4], [9, 2]]"), [""; 0]);
    let [doubt] = &doubts("[[1, 1], [5, 4], [9, 1.999]]")[..] else {
        panic!("one doubt");
    };
    assert!(
        doubt.starts_with("mechanics.seek: a seek over 9 cylinders takes "),
        "{doubt}"
    );
}
