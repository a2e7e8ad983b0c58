//! Real traces, compared with sums computed independently with Python's `struct` and `awk`.

use diskarm_core::request::Op;
use diskarm_trace::{Record, Summary, Urgency, open};

use crate::shared;

fn read(file: &str, format: &str) -> Vec<Record> {
    let trace = open(shared(file), None).unwrap();
    assert_eq!(trace.format().name, format);
    let records: Result<_, _> = trace.collect();
    records.unwrap()
}

fn count(records: &[Record], of: impl Fn(&Record) -> bool) -> usize {
    records.iter().filter(|record| of(record)).count()
}

#[test]
#[ignore = "needs ../shared"]
fn a_week_of_hplajw() {
    let records = read("hplajw-1992-05-30-week.srt", "srt");
    assert_eq!(records.len(), 44_519);
    let reads = count(&records, |record| record.op.is_read());
    assert_eq!((reads as f64 / 445.19 * 100.0).round(), 2929.0);
    let mean_ms = |ns: i64| (ns as f64 / records.len() as f64 / 1e3).round() / 1e3;
    let responses: i64 = records.iter().map(|r| r.response.unwrap().as_ns()).sum();
    let services: i64 = records.iter().map(|r| r.service.unwrap().as_ns()).sum();
    assert_eq!((mean_ms(responses), mean_ms(services)), (116.695, 25.088));
    let last = records.last().unwrap();
    assert_eq!(last.arrival.unwrap().as_ns(), 603_064_588_892_000);
    // Word 7 of the last record is 674,032 sectors of 256 bytes, word 6 8,192 bytes.
    assert_eq!((last.start.0, last.sectors.0), (337_016, 16));
    // Word 13 of the last record is 2, including itself.
    assert_eq!((last.queue, last.device), (Some(1), 0));
    // Unit 1 is device number 134217991; all others are sections of unit 0.
    assert_eq!(count(&records, |record| record.device == 1), 2_267);
    assert_eq!(count(&records, |record| record.device == 0), 42_252);
    let mut computed = Summary::default();
    for record in &records {
        let unknown = Record {
            queue: None,
            ..*record
        };
        computed.record(&unknown, "x").unwrap();
    }
    let mut traced = Summary::default();
    for record in &records {
        traced.record(record, "x").unwrap();
    }
    let apart = |(a, b): (&u64, &u64)| a.abs_diff(*b);
    let moved: u64 = computed.queues.iter().zip(&traced.queues).map(apart).sum();
    // 37 of the lengths are one or two more than the times imply.
    assert!(moved <= 2 * 37, "{moved}");
    // The last record's flags, 557322, have bit 8 set.
    assert_eq!(last.urgency, Some(Urgency::Asynchronous));
}

#[test]
#[ignore = "needs ../shared"]
fn a_minute_of_web_search() {
    let records = read("websearch-60s.mqsim", "mqsim");
    assert_eq!(records.len(), 24_783);
    for (device, rows) in [8_340, 8_231, 8_187, 8, 7, 10].into_iter().enumerate() {
        assert_eq!(count(&records, |r| r.device == device as u32), rows);
    }
    assert_eq!(count(&records, |record| record.op == Op::Write), 4);
    let sectors: u64 = records.iter().map(|record| record.sectors.0).sum();
    let starts: u64 = records.iter().map(|record| record.start.0).sum();
    assert_eq!((sectors, starts), (746_324, 548_948_561_104));
    let last = records.last().unwrap().arrival.unwrap();
    assert_eq!(last.as_ns(), 60_066_625_000);
}

#[test]
#[ignore = "needs ../shared"]
fn a_second_of_tpc_c() {
    let records = read("tpcc-1s.mqsim", "mqsim");
    assert_eq!(records.len(), 6_999);
    assert_eq!(count(&records, |record| record.op.is_read()), 4_381);
    assert_eq!(count(&records, |record| record.device == 10), 431);
    let sectors: u64 = records.iter().map(|record| record.sectors.0).sum();
    assert_eq!(sectors, 116_638);
    let last = records.last().unwrap().arrival.unwrap();
    assert_eq!(last.as_ns(), 1_075_002_000);
}

#[test]
#[ignore = "needs ../shared"]
fn two_hours_of_a_virtual_machine() {
    let records = read("cloudphysics-w106.vscsi", "vscsi");
    assert_eq!(records.len(), 113_872);
    assert_eq!(count(&records, |record| record.op == Op::Write), 66_898);
    assert_eq!(count(&records, |record| record.op == Op::Read), 46_974);
    let bytes: u64 = records.iter().map(|record| record.sectors.0 * 512).sum();
    let starts: u64 = records.iter().map(|record| record.start.0).sum();
    assert_eq!((bytes, starts), (4_205_978_112, 3_219_283_716_535));
    // Times are relative to the first record, not to the start of the machine.
    assert_eq!(records[0].arrival.unwrap().as_ns(), 0);
    let last = records.last().unwrap().arrival.unwrap();
    assert_eq!(last.as_ns(), 7_200_089_885_000);
}
