//! Parquet and Arrow: round trips, files with other types written by the libraries, and errors.

use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int64Array, LargeStringArray, RecordBatch,
    StringArray, StringViewArray, UInt8Array, UInt64Array,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use diskarm_core::request::Op;
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};
use diskarm_trace::{
    ErrorKind, Location, Observed, OnError, Options, Reader, Record, TraceError, Urgency, Writer,
};
use parquet::arrow::ArrowWriter;
use proptest::prelude::*;

use crate::{Short, reader, short, through_a_file};

fn open(bytes: &[u8]) -> Result<Reader, TraceError> {
    through_a_file(bytes, &Options::default())
}

fn all(bytes: &[u8]) -> Vec<Record> {
    open(bytes).unwrap().map(Result::unwrap).collect()
}

/// The error of a trace, without the file name.
fn error_of(bytes: &[u8]) -> String {
    let trace = open(bytes).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let error = trace.expect_err("a bad trace").to_string();
    assert_eq!(error.lines().count(), 1);
    let (_, error) = error.split_once(": ").unwrap();
    error.to_owned()
}

fn write_parquet(records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, "out", "parquet").unwrap();
    for record in records {
        writer.write(record).unwrap();
    }
    assert_eq!(writer.finish().unwrap(), [""; 0]);
    bytes
}

fn batch<const N: usize>(columns: [(&str, ArrayRef); N]) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn parquet(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

/// An Arrow file of this batch, twice.
fn arrow(batch: &RecordBatch, compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default()
        .try_with_compression(compression)
        .unwrap();
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options);
    let writer = writer.as_mut().unwrap();
    writer.write(batch).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    std::mem::take(writer.get_mut())
}

fn stream(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn longs<const N: usize>(values: [i64; N]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn words<const N: usize>(values: [&str; N]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

prop_compose! {
    fn a_record()(
        arrival in 0..1_000i64,
        device: u32,
        op in prop_oneof![Just(Op::Read), Just(Op::Write)],
        start in prop_oneof![0..1u64 << 24, 0..u64::MAX - (1 << 16)],
        sectors in 1..=1u64 << 16,
        response in prop::option::of(0..1i64 << 40),
        service in 0.0..1.0,
        think in prop::option::of(0..1i64 << 40),
        queue: Option<u32>,
        urgency in prop::option::of(prop_oneof![
            Just(Urgency::Synchronous),
            Just(Urgency::Asynchronous),
        ]),
        observed in prop::option::of(any::<bool>()),
    ) -> Record {
        Record {
            arrival: Some(Instant::from_ns(arrival as u64)),
            device,
            response: response.map(Span::from_ns),
            service: response.map(|ns| Span::from_ns((ns as f64 * service) as i64)),
            think: think.map(Span::from_ns),
            queue,
            urgency,
            observed: observed.map(|first| match (op, first) {
                (Op::Read, true) => Observed::Hit,
                (Op::Read, false) => Observed::Miss,
                (Op::Write | Op::Flush, true) => Observed::Disconnects(2),
                (Op::Write | Op::Flush, false) => Observed::Disconnects(3),
            }),
            ..Record::new(Location::Row(1), op, Lbn(start), SectorCount(sectors))
        }
    }
}

/// Sorts and numbers the rows, with or without arrivals.
fn in_order(mut records: Vec<Record>, has_arrivals: bool) -> Vec<Record> {
    records.sort_by_key(|record| record.arrival);
    for (record, row) in records.iter_mut().zip(1..) {
        record.location = Location::Row(row);
        record.arrival = record.arrival.filter(|_| has_arrivals);
    }
    records
}

proptest! {
    #[test]
    fn all_fields_round_trip(
        records in prop::collection::vec(a_record(), 1..30),
        has_arrivals: bool,
    ) {
        let records = in_order(records, has_arrivals);
        prop_assert_eq!(all(&write_parquet(&records)), records);
    }
}

/// Several row groups, each of several chunks.
#[test]
fn many_rows_round_trip() {
    let record = |n: u64| Record {
        arrival: Some(Instant::from_ns(n * 1_000)),
        ..Record::new(Location::Row(n + 1), Op::Write, Lbn(n * n), SectorCount(8))
    };
    let records: Vec<Record> = (0..300_000).map(record).collect();
    let bytes = write_parquet(&records);
    let trace = open(&bytes).unwrap();
    assert!(trace.map(Result::unwrap).eq(records));
}

#[test]
fn an_empty_trace_is_a_valid_file() {
    assert_eq!(
        error_of(&write_parquet(&[])),
        "found no rows, expected at least one"
    );
}

/// Every kind of string and two kinds of integers, in another order and without most columns.
fn unusual_types() -> RecordBatch {
    let op: DictionaryArray<Int8Type> = ["R", "W", "R"].into_iter().collect();
    let urgency = LargeStringArray::from(vec![None, Some("synchronous"), Some("asynchronous")]);
    let observed = StringViewArray::from(vec![Some("hit"), Some("two_disconnects"), None]);
    batch([
        ("observed", Arc::new(observed)),
        ("sectors", Arc::new(UInt8Array::from(vec![1, 2, 255]))),
        ("lbn", longs([7, 1 << 40, 9])),
        ("urgency", Arc::new(urgency)),
        ("op", Arc::new(op)),
    ])
}

const CODED: [Short; 3] = [
    (None, 0, Op::Read, 7, 1, None),
    (None, 0, Op::Write, 1 << 40, 2, None),
    (None, 0, Op::Read, 9, 255, None),
];

#[test]
fn other_types_of_the_same_kind_are_read() {
    let batch = unusual_types();
    let twice = [CODED, CODED].concat();
    for (bytes, format, expected) in [
        (parquet(&batch), "parquet", &CODED[..]),
        (arrow(&batch, None), "arrow", &twice),
        (
            arrow(&batch, Some(CompressionType::LZ4_FRAME)),
            "arrow",
            &twice,
        ),
        (arrow(&batch, Some(CompressionType::ZSTD)), "arrow", &twice),
        (stream(&batch), "arrow", &CODED),
    ] {
        let trace = open(&bytes).unwrap();
        assert_eq!(trace.format().name, format);
        let records: Vec<Record> = trace.map(Result::unwrap).collect();
        assert_eq!(records.iter().map(short).collect::<Vec<_>>(), expected);
        let waiting: Vec<_> = records.iter().map(|record| record.urgency).collect();
        let expected = [
            None,
            Some(Urgency::Synchronous),
            Some(Urgency::Asynchronous),
        ];
        assert_eq!(waiting[..3], expected);
        let expected = [Some(Observed::Hit), Some(Observed::Disconnects(2)), None];
        let observed: Vec<_> = records.iter().map(|record| record.observed).collect();
        assert_eq!(observed[..3], expected);
        for (record, row) in records.iter().zip(1..) {
            assert_eq!(record.location, Location::Row(row));
        }
    }
}

/// Written by pyarrow 26.0.1: int64 `arrival_ns` and `response_ns` (one response is null), `op` as
/// dictionary strings, int64 `lbn` and `sectors`; no statistics, no Arrow schema.
#[test]
fn a_pyarrow_file_is_read() {
    let records = all(include_bytes!("pyarrow.parquet"));
    let expected: [Short; 3] = [
        (Some(0), 0, Op::Read, 1_200, 8, Some(14_000_000)),
        (Some(1_500_000), 0, Op::Write, 90, 16, None),
        // 2^53 + 1 ns, the first count that an f64 cannot hold.
        (
            Some(9_007_199_254_740_993),
            0,
            Op::Read,
            1 << 40,
            256,
            Some(250),
        ),
    ];
    assert_eq!(records.iter().map(short).collect::<Vec<_>>(), expected);
}

/// The required columns, with two rows.
fn two_rows() -> [(&'static str, ArrayRef); 3] {
    [
        ("op", words(["R", "W"])),
        ("lbn", longs([5, 6])),
        ("sectors", longs([8, 8])),
    ]
}

/// The columns of [`two_rows`] with others added, or with those of the same name replaced.
fn with<const N: usize>(others: [(&'static str, ArrayRef); N]) -> RecordBatch {
    let mut columns = two_rows().to_vec();
    for (name, array) in others {
        match columns.iter_mut().find(|(known, _)| *known == name) {
            Some(column) => column.1 = array,
            None => columns.push((name, array)),
        }
    }
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn invalid_columns() {
    let fractions: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.5]));
    let known = "arrival_ns, device, op, lbn, sectors, response_ns, service_ns, think_ns, queue, \
                 urgency, observed";
    let [op, lbn, _] = two_rows();
    for (batch, expected) in [
        (
            with([("response_us", longs([1, 2]))]),
            format!("header: found column \"response_us\", expected only {known}"),
        ),
        (
            with([("arrival_ns", fractions)]),
            "header: found column \"arrival_ns\", expected a column of whole numbers, not of type \
             \"Float64\""
                .to_owned(),
        ),
        (
            with([("op", longs([0, 1]))]),
            "header: found column \"op\", expected a column of strings, not of type \"Int64\""
                .to_owned(),
        ),
        (
            batch([op, lbn]),
            "header: found no column \"sectors\", expected exactly one".to_owned(),
        ),
    ] {
        assert_eq!(error_of(&parquet(&batch)), expected);
        assert_eq!(error_of(&stream(&batch)), expected);
    }
    let [op, ..] = two_rows();
    let batch = RecordBatch::try_from_iter(two_rows().into_iter().chain([op])).unwrap();
    let expected = "header: found a second column \"op\", expected exactly one";
    assert_eq!(error_of(&stream(&batch)), expected);
}

/// Asserts that each batch is refused with this error about its second row.
fn assert_refused<const N: usize>(wrong: [(RecordBatch, &str); N]) {
    for (batch, expected) in wrong {
        let expected = format!("row 2: {expected}");
        assert_eq!(error_of(&parquet(&batch)), expected);
        assert_eq!(error_of(&stream(&batch)), expected);
    }
}

/// A column whose second row is null.
fn with_null() -> ArrayRef {
    Arc::new(Int64Array::from(vec![Some(1), None]))
}

#[test]
fn invalid_values() {
    let nulls: ArrayRef = Arc::new(StringArray::from(vec![Some("R"), None]));
    let last: ArrayRef = Arc::new(UInt64Array::from(vec![5, u64::MAX - 8]));
    let beyond: ArrayRef = Arc::new(UInt64Array::from(vec![5, u64::MAX - 7]));
    assert_eq!(all(&parquet(&with([("lbn", last)]))).len(), 2);
    assert_refused([
        (
            with([("op", words(["W", "w"]))]),
            r#"op: found "w", expected R or W"#,
        ),
        (
            with([("op", nulls)]),
            r#"op: found "null", expected R or W"#,
        ),
        (
            with([("lbn", longs([0, -1]))]),
            r#"lbn: found "-1", expected a whole number from 0 to 18446744073709551615"#,
        ),
        (
            with([("lbn", with_null())]),
            r#"lbn: found "null", expected a whole number from 0 to 18446744073709551615"#,
        ),
        (
            with([("lbn", beyond)]),
            r#"lbn: found "18446744073709551608", expected a request that ends below block 2^64"#,
        ),
        (
            with([("sectors", longs([65_536, 65_537]))]),
            r#"sectors: found "65537", expected a whole number from 1 to 65536"#,
        ),
        (
            with([("sectors", longs([1, 0]))]),
            r#"sectors: found "0", expected a whole number from 1 to 65536"#,
        ),
        (
            with([("device", longs([u32::MAX.into(), 1 << 32]))]),
            r#"device: found "4294967296", expected a whole number from 0 to 4294967295"#,
        ),
        (
            with([("device", with_null())]),
            r#"device: found "null", expected a whole number from 0 to 4294967295"#,
        ),
        (
            with([("urgency", words(["synchronous", "soon"]))]),
            r#"urgency: found "soon", expected synchronous or asynchronous"#,
        ),
        (
            with([("observed", words(["hit", "hit"]))]),
            r#"observed: found "hit", expected two_disconnects or three_disconnects for a write"#,
        ),
    ]);
}

#[test]
fn invalid_times() {
    let max = i64::MAX;
    assert_refused([
        (
            with([("think_ns", longs([0, -3]))]),
            r#"think_ns: found "-3", expected a whole number from 0 to 9223372036854775807"#,
        ),
        (
            with([("arrival_ns", with_null())]),
            r#"arrival_ns: found "null", expected a time in all rows or in none"#,
        ),
        (
            with([
                ("arrival_ns", longs([0, 1])),
                ("response_ns", longs([max, max])),
            ]),
            r#"response_ns: found "9223372036854775807", expected a completion before 2^63 ns"#,
        ),
        (
            with([
                ("response_ns", longs([0, 1])),
                ("think_ns", longs([1, max - 1])),
            ]),
            r#"think_ns: found "9223372036854775806", expected a pause that ends before 2^63 ns"#,
        ),
        (
            with([
                ("response_ns", longs([9, 9])),
                ("service_ns", longs([9, 10])),
            ]),
            r#"service_ns: found "10", expected at most the response time"#,
        ),
    ]);
}

/// Row numbers continue after the first chunk of the first row group.
#[test]
fn invalid_rows_are_skipped_and_counted() {
    let mut sectors = vec![8; 20_000];
    (sectors[9_000], sectors[19_999]) = (0, -1);
    let batch = batch([
        ("op", Arc::new(StringArray::from(vec!["R"; 20_000]))),
        ("lbn", Arc::new(Int64Array::from_iter_values(0..20_000))),
        ("sectors", Arc::new(Int64Array::from(sectors))),
    ]);
    for bytes in [parquet(&batch), stream(&batch)] {
        let options = Options {
            on_error: OnError::Skip,
            ..Options::default()
        };
        let mut trace = through_a_file(&bytes, &options).unwrap();
        let records: Vec<Record> = trace.by_ref().map(Result::unwrap).collect();
        assert_eq!(records.len(), 19_998);
        assert_eq!(records[9_000].location, Location::Row(9_002));
        assert_eq!(records[9_000].start, Lbn(9_001));
        let reasons = trace.skipped().reasons();
        assert_eq!((reasons.len(), reasons[0].count), (1, 2));
        let first = "row 9001: sectors: found \"0\", expected a whole number from 1 to 65536";
        assert!(reasons[0].first.ends_with(first), "{}", reasons[0].first);
    }
}

#[test]
fn parquet_needs_a_plain_file() {
    let bytes = parquet(&unusual_types());
    let expected = "found a pipe or a compressed file, expected an uncompressed file on disk: \
                    Parquet is read from the end";
    let Err(error) = reader(&bytes, &Options::default()) else {
        panic!("read a pipe")
    };
    assert_eq!(error.to_string(), format!("x: {expected}"));
    assert_eq!(error.kind(), ErrorKind::Io);
    let packed = zstd::encode_all(&bytes[..], 1).unwrap();
    assert_eq!(error_of(&packed), expected);
    // Arrow does not need one.
    let packed = zstd::encode_all(&arrow(&unusual_types(), None)[..], 1).unwrap();
    let trace = reader(&packed, &Options::default()).unwrap();
    assert_eq!(trace.map(Result::unwrap).count(), 6);
}

/// A truncated file is never read as a shorter one.
#[test]
fn truncated_files_are_refused() {
    for bytes in [parquet(&unusual_types()), arrow(&unusual_types(), None)] {
        for length in 8..bytes.len() {
            let cut = open(&bytes[..length]).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            assert!(cut.is_err(), "cut to {length} of {}", bytes.len());
        }
    }
    let bytes = parquet(&unusual_types());
    let error = error_of(&bytes[..bytes.len() - 1]);
    assert!(error.starts_with("footer: cannot be read: "), "{error}");
}

#[test]
fn other_numbers_of_disconnects_are_refused() {
    let record = Record {
        observed: Some(Observed::Disconnects(4)),
        ..Record::new(Location::Line(7), Op::Write, Lbn(5), SectorCount(8))
    };
    let mut writer = Writer::new(Vec::new(), "out", "parquet").unwrap();
    let error = writer.write(&record).unwrap_err().to_string();
    let expected = "out: cannot write the request at line 7 as parquet: it has 4 disconnects, \
                    expected 2 or 3";
    assert_eq!(error, expected);
}
