//! Any number under any key of a specification describes a drive that serves requests, or is an
//! error in one line that names the key.

use diskarm_core::device::Device;
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::{Key, KeyKind};
use diskarm_core::units::{Instant, Lbn, SectorCount};
use diskarm_drives::text::{Edit, Value};
use diskarm_simulate::Model;

const NUMBERS: [&str; 18] = [
    "-9223372036854775808",
    "-1",
    "0",
    "0.0000000001",
    "0.5",
    "1",
    "2",
    "7",
    "1000",
    "1000000",
    "2000000",
    "4294967296",
    "1000000000000",
    "9223372036854775807",
    "18446744073709551616",
    "1e300",
    "inf",
    "nan",
];

/// Returns TOML that has `number` in every place of a value of this kind.
fn values(kind: KeyKind, number: &str) -> Vec<String> {
    let quoted = |unit: &str| format!("\"{number} {unit}\"");
    let mut values = match kind {
        KeyKind::Size { .. } => vec![quoted("sectors"), quoted("GiB")],
        KeyKind::Distance => vec![quoted("cylinders")],
        KeyKind::Time { .. } => vec![quoted("ns"), quoted("h")],
        KeyKind::Fraction => vec![quoted("%")],
        KeyKind::Rotation => vec![quoted("rpm"), quoted("ms")],
        KeyKind::Policy => vec![
            format!("\"vscan(r={number})\""),
            format!("\"limited(wait={number} s, policy=fcfs)\""),
        ],
        KeyKind::SeekCurve => {
            let (ms, cylinders) = (quoted("ms"), quoted("cylinders"));
            let slope = quoted("ms/cylinder");
            let root = quoted("ms/sqrt(cylinder)");
            vec![
                format!("{{ form = \"table\", cylinders_ms = [[1, {number}]] }}"),
                format!("{{ form = \"table\", cylinders_ms = [[{number}, 1]] }}"),
                format!("{{ form = \"three-point\", single = {ms}, average = {ms}, full = {ms} }}"),
                format!(
                    "{{ form = \"two-piece\", knee = {cylinders}, short = {ms}, short_sqrt = \
                     {root}, long = {ms}, long_slope = {slope}, first_ms = [{number}] }}"
                ),
            ]
        }
        KeyKind::Zones => [
            "first_offset_sectors",
            "reserved_sectors",
            "track_skew_sectors",
            "cylinder_skew_sectors",
            "spares",
        ]
        .map(|key| format!("[{{ cylinders = [0, 2], sectors_per_track = 50, {key} = {number} }}]"))
        .into_iter()
        .chain([
            format!("[{{ cylinders = [0, {number}], sectors_per_track = {number} }}]"),
            format!("[{{ cylinders = [0, 2], sectors_per_track = 50, slips = [{number}] }}]"),
            format!(
                "[{{ cylinders = [0, 2], sectors_per_track = 50, defects = [[{number}, 1]] }}]"
            ),
        ])
        .collect(),
        _ => Vec::new(),
    };
    values.push(number.to_owned());
    values
}

/// Reads and writes both ends of the drive.
fn serve(model: &Model) {
    let mut drive = model.drive();
    let blocks = model.disk().sectors.0;
    let ends = [0, blocks - blocks.min(64)];
    let mut now = Instant::START;
    for (id, start) in (0..).zip([ends, ends].concat()) {
        let op = if id % 3 == 0 { Op::Write } else { Op::Read };
        let sectors = SectorCount(blocks.min(64));
        let request = Request::new(id, op, Lbn(start), sectors);
        assert_eq!(drive.submit(now, request), Ok(()));
        while let Some(event) = drive.next_event() {
            now = event;
            while drive.advance(now).is_some() {}
        }
    }
}

#[test]
fn any_number_describes_a_drive_or_is_an_error_that_names_its_key() {
    let model = Model::find("hp-c2247").expect("a drive in the catalogue");
    let mut drives = 0;
    for key in Key::all() {
        for number in NUMBERS {
            for value in values(key.kind, number) {
                let edit = Edit {
                    key: key.path.into(),
                    value: Value::Toml(value.clone()),
                };
                match model.with_values(&[edit], "spec") {
                    Ok(model) => {
                        drives += 1;
                        serve(&model);
                    }
                    Err(error) => {
                        let error = error.to_string();
                        let table = key.path.split('.').next().unwrap_or_default();
                        assert!(error.contains(table), "{} = {value}: {error}", key.path);
                        assert_eq!(error.lines().count(), 1, "{error}");
                    }
                }
            }
        }
    }
    assert!(drives > 200, "{drives}");
}
