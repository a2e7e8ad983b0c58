//! Whole specifications, written and read.

use diskarm_core::spec::{self, Key, KeyKind, SeekCurve, Spec, TwoPiece, Value, Zone};
use diskarm_core::units::{SectorCount, Span};
use diskarm_drives::CATALOGUE;
use diskarm_drives::text::specification;
use proptest::prelude::*;

fn to_toml(spec: &Spec) -> String {
    specification(spec, &|_| None)
}

/// With each text on one line: where its lines end is not kept.
fn filled(mut spec: Spec) -> Spec {
    for key in Key::all() {
        if let Some(Value::Text(text)) = key.get(&spec) {
            let words: Vec<&str> = text.split_whitespace().collect();
            key.set(&mut spec, Value::Text(words.join(" ")));
        }
    }
    spec
}

#[test]
fn every_catalogue_drive_survives_a_round_trip() {
    for entry in CATALOGUE {
        let spec = spec::parse(entry.text, entry.name).unwrap();
        let text = to_toml(&spec);
        let again =
            spec::parse(&text, entry.name).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(filled(again), filled(spec), "{text}");
        assert!(text.lines().all(|line| line.len() < 100), "{text}");
    }
}

#[test]
fn defaults_are_omitted_and_remarks_are_above_their_keys() {
    let entry = diskarm_drives::find("hp-c2247").unwrap();
    let spec = spec::parse(entry.text, entry.name).unwrap();
    let remark = |key: &str| match key {
        "overheads.read_completion" => Some("20 samples".to_owned()),
        "bus.read_restart" => Some("Not seen.".to_owned()),
        "mechanics.seek" => Some("at 40 distances".to_owned()),
        _ => None,
    };
    let text = specification(&spec, &remark);
    assert!(
        !text.contains("queue"),
        "all its keys have their defaults: {text}"
    );
    assert!(
        text.contains("\n# 20 samples\nread_completion = "),
        "{text}"
    );
    assert!(
        text.contains("\n# Not seen.\nread_restart = \"0 ms\"\n"),
        "{text}"
    );
    assert!(
        text.contains("\n# at 40 distances\n[mechanics.seek]\n"),
        "{text}"
    );
    let again = spec::parse(&text, "remarks.toml").unwrap();
    assert_eq!(filled(again), filled(spec));
}

/// Generates values that are valid for `key` independently of other keys.
fn any_value(key: &'static Key) -> BoxedStrategy<Value> {
    match key.kind {
        KeyKind::Text => "[ -~\n]{1,150}[a-z]"
            .prop_map(|text| Value::Text(text.trim().to_owned()))
            .boxed(),
        KeyKind::Flag => any::<bool>().prop_map(Value::Flag).boxed(),
        KeyKind::Word(words) => prop::sample::select(words).prop_map(Value::Word).boxed(),
        KeyKind::Size { min } => (min..1000).prop_map(Value::Count).boxed(),
        KeyKind::Time { .. } => (0..900_000_000i64)
            .prop_map(|ns| Value::Time(Span::from_ns(ns)))
            .boxed(),
        KeyKind::Fraction => (0.0..1.0).prop_map(Value::Number).boxed(),
        KeyKind::Rotation => (4e6..20e6).prop_map(Value::Number).boxed(),
        KeyKind::SeekCurve => curves().prop_map(Value::SeekCurve).boxed(),
        KeyKind::Zones => zones().prop_map(Value::Zones).boxed(),
        // The rest have few values each, taken from the drive that is varied.
        KeyKind::Count { .. } | KeyKind::Distance | KeyKind::Policy | KeyKind::Table(_) => {
            Just(Value::Flag(false)).boxed()
        }
    }
}

fn curves() -> impl Strategy<Value = SeekCurve> {
    let time = || (0..30_000_000i64).prop_map(Span::from_ns);
    let piece = (
        1..3000u32,
        0.0..5.0,
        0.0..1.0,
        0.0..9.0,
        0.0..0.01,
        prop::option::of(time()),
    )
        .prop_map(
            |(knee, short_ms, short_sqrt_ms, long_ms, long_slope_ms, single)| TwoPiece {
                knee,
                short_ms,
                short_sqrt_ms,
                long_ms,
                long_slope_ms,
                single,
            },
        )
        .boxed();
    prop_oneof![
        piece.clone().prop_map(SeekCurve::TwoPiece),
        (piece, prop::collection::vec(time(), 1..40))
            .prop_map(|(piece, first)| SeekCurve::TwoPieceAndTable(piece, first)),
        prop::collection::btree_map(1..5000u32, time(), 1..60)
            .prop_map(|points| SeekCurve::Table(points.into_iter().collect())),
        [time(), time(), time()].prop_map(|mut times| {
            times.sort();
            SeekCurve::ThreePoint {
                single: times[0],
                average: times[1],
                full: times[2],
            }
        }),
    ]
}

fn zones() -> impl Strategy<Value = Vec<Zone>> {
    let places = || prop::collection::btree_set(0..1_000_000u64, 0..60);
    let zone = (1..50u32, 1..500u32, 0.0..1.0, 0.0..100.0, places(), 0..9u64).prop_map(
        |(cylinders, sectors, offset, skew, slips, count)| Zone {
            first_cylinder: 0,
            end_cylinder: cylinders,
            sectors_per_track: sectors,
            first_offset_sectors: offset,
            reserved_sectors: SectorCount(count),
            track_skew_sectors: skew,
            cylinder_skew_sectors: 2.0 * skew,
            spares: count,
            defects: slips.iter().map(|slip| (*slip, slip + 1)).collect(),
            slips: slips.into_iter().collect(),
        },
    );
    prop::collection::vec(zone, 1..5).prop_map(|mut zones| {
        let mut first = 0;
        for zone in &mut zones {
            zone.first_cylinder = first;
            zone.end_cylinder += first;
            first = zone.end_cylinder;
        }
        zones
    })
}

proptest! {
    /// The reader is an oracle: one key of a sound drive at a time has any value, and if the drive
    /// contradicts itself then, the text is refused for that alone.
    #[test]
    fn any_value_of_any_key_survives_a_round_trip(
        (key, value) in prop::sample::select(Key::all())
            .prop_flat_map(|key| (Just(key), any_value(key)))
    ) {
        let entry = diskarm_drives::find("hp-c2247").unwrap();
        let mut spec = spec::parse(entry.text, entry.name).unwrap();
        if !matches!(value, Value::Flag(false)) || matches!(key.kind, KeyKind::Flag) {
            key.set(&mut spec, value);
        }
        let text = to_toml(&spec);
        match spec::parse(&text, "written.toml") {
            Ok(again) => prop_assert_eq!(filled(again), filled(spec), "{}", text),
            Err(error) => prop_assert!(spec.contradiction().is_some(), "{}\n{}", error, text),
        }
    }
}
