//! Written traces can be read back, in every writable format.

use diskarm_core::request::Op;
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};
use diskarm_trace::{Location, Options, Record, Writer, writable};
use proptest::prelude::*;

use crate::{reader, through_a_file};

fn write(records: &[Record], format: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, "out", format).unwrap();
    for record in records {
        writer.write(record).unwrap();
    }
    writer.finish().unwrap();
    bytes
}

fn read(bytes: &[u8], format: &str) -> Vec<Record> {
    let options = Options {
        format: Some(format),
        ..Options::default()
    };
    let trace = match format {
        // Parquet cannot be read from a pipe.
        "parquet" => through_a_file(bytes, &options),
        _ => reader(bytes, &options),
    };
    trace.unwrap().map(Result::unwrap).collect()
}

prop_compose! {
    /// Times are whole microseconds, which every format can represent.
    fn a_record()(
        gap_us in 0..10_000_000i64,
        response_us in 1..1_000_000i64,
        device in 0..3u32,
        is_read: bool,
        start in prop_oneof![0..1u64 << 24, 0..1u64 << 50],
        sectors in 1..=1u64 << 16,
    ) -> (i64, Record) {
        let op = if is_read { Op::Read } else { Op::Write };
        (gap_us, Record {
            device,
            response: Some(Span::from_ns(response_us * 1_000)),
            ..Record::new(Location::Line(1), op, Lbn(start), SectorCount(sectors))
        })
    }
}

/// Makes each request arrive its gap after the completion of the previous one.
fn in_time(rows: Vec<(i64, Record)>) -> Vec<Record> {
    let mut now = Instant::START;
    let arrive = |(gap_us, record): (i64, Record)| {
        let arrival = now + Span::from_ns(gap_us * 1_000);
        now = arrival + record.response.unwrap_or_default();
        Record {
            arrival: Some(arrival),
            ..record
        }
    };
    rows.into_iter().map(arrive).collect()
}

/// Returns the part of a record that a format can represent, without its location.
fn representable_part(format: &str, record: &Record, first: Instant) -> Record {
    let mut held = *record;
    held.location = Location::Line(0);
    match format {
        "msr" => held.arrival = held.arrival.map(|at| Instant::START + (at - first)),
        "measured" => {
            held.arrival = None;
            held.device = 0;
        }
        "parquet" => {}
        _ => held.response = None,
    }
    held.think = None;
    held
}

proptest! {
    #[test]
    fn written_traces_round_trip(rows in prop::collection::vec(a_record(), 1..30)) {
        let all = in_time(rows);
        let of_one = |record: &Record| Record { device: 7, ..*record };
        let first = all[0].arrival.unwrap();
        for (entry, _) in writable() {
            let format = entry.info.name;
            let records = match format {
                "measured" => all.iter().map(of_one).collect(),
                _ => all.clone(),
            };
            let bytes = write(&records, format);
            let again = read(&bytes, format);
            let strip = |record: &Record| representable_part(format, record, Instant::START);
            let mut expected: Vec<Record> =
                records.iter().map(|record| representable_part(format, record, first)).collect();
            if matches!(format, "msr" | "fio-iolog") {
                number_by_appearance(&mut expected);
            }
            prop_assert_eq!(
                again.iter().map(strip).collect::<Vec<_>>(),
                expected,
                "{}", format
            );
        }
    }

    /// Pauses of measured requests are computed from their arrivals.
    #[test]
    fn pauses_come_from_arrivals(rows in prop::collection::vec(a_record(), 2..10)) {
        let rows: Vec<(i64, Record)> = rows
            .into_iter()
            .map(|(gap_us, record)| (gap_us, Record { device: 7, ..record }))
            .collect();
        let gaps: Vec<i64> = rows[1..].iter().map(|(gap_us, _)| gap_us * 1_000).collect();
        let again = read(&write(&in_time(rows), "measured"), "measured");
        let thinks: Vec<i64> = again.iter().map(|r| r.think.unwrap().as_ns()).collect();
        prop_assert_eq!(&thinks[..gaps.len()], gaps);
    }
}

fn number_by_appearance(records: &mut [Record]) {
    let mut known = Vec::new();
    for record in records {
        if !known.contains(&record.device) {
            known.push(record.device);
        }
        let location = known.iter().position(|device| *device == record.device);
        record.device = location.unwrap() as u32;
    }
}

#[test]
fn writable_formats() {
    let names: Vec<&str> = writable().map(|(entry, _)| entry.info.name).collect();
    let mut known = vec!["measured", "disksim", "spc", "msr", "fio-iolog"];
    if cfg!(feature = "parquet") {
        known.push("parquet");
    }
    assert_eq!(names, known);
    let Err(error) = Writer::new(Vec::new(), "out", "vscsi") else {
        panic!("wrote vscsi")
    };
    let known = known.join(", ");
    let expected =
        format!("out: format: found \"vscsi\", expected one that can be written: {known}");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn unrepresentable_records_are_refused() {
    let record = Record::new(Location::Line(7), Op::Read, Lbn(5), SectorCount(8));
    let error_of = |record: &Record, format| {
        let mut writer = Writer::new(Vec::new(), "out", format).unwrap();
        writer.write(record).unwrap_err().to_string()
    };
    let expected = "out: cannot write the request at line 7 as spc: it has no arrival";
    assert_eq!(error_of(&record, "spc"), expected);
    let arrived = Record {
        arrival: Some(Instant::START),
        ..record
    };
    let expected = "out: cannot write the request at line 7 as msr: it has no response";
    assert_eq!(error_of(&arrived, "msr"), expected);
    let mut writer = Writer::new(Vec::new(), "out", "measured").unwrap();
    let answered = Record {
        response: Some(Span::from_ns(5)),
        ..arrived
    };
    writer.write(&answered).unwrap();
    let error = writer.write(&answered).unwrap_err().to_string();
    let expected = "out: cannot write the request at line 7 as measured: it arrives before \
                    the previous request completes";
    assert_eq!(error, expected);
    let other = Record {
        device: 1,
        ..answered
    };
    let error = writer.write(&other).unwrap_err().to_string();
    let expected = "out: cannot write the request at line 7 as measured: its device is not that \
                    of the first request, and the format has only one";
    assert_eq!(error, expected);
}

#[test]
fn rounding_is_reported() {
    let record = |ns| Record {
        arrival: Some(Instant::from_ns(ns)),
        ..Record::new(Location::Line(1), Op::Read, Lbn(5), SectorCount(8))
    };
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, "out", "fio-iolog").unwrap();
    for ns in [0, 1_499, 1_500, 4_000] {
        writer.write(&record(ns)).unwrap();
    }
    let expected = "2 time values rounded to whole microseconds, the resolution of the format";
    assert_eq!(writer.finish().unwrap(), [expected]);
    let arrivals: Vec<u64> = read(&bytes, "fio-iolog")
        .iter()
        .map(|record| record.arrival.unwrap().as_ns())
        .collect();
    assert_eq!(arrivals, [0, 1_000, 2_000, 4_000]);
}
