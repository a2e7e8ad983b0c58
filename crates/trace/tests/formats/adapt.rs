//! Adapting traces to drives.

use std::io::Cursor;

use diskarm_core::units::{Instant, SectorCount};
use diskarm_trace::adapt::{
    ClosedLoop, DeviceFilter, Disks, Factor, Fit, Fitter, Merger, Notes, Pacer, Window,
    parse_instant,
};
use diskarm_trace::{Reader, Record, read};
use proptest::prelude::*;

fn trace(text: &str) -> Reader {
    read(Cursor::new(text.as_bytes().to_vec()), "x", None).unwrap()
}

/// Arrival in ms, device and first block of each record, and the notes.
fn all(mut records: impl Notes) -> (Vec<(u64, u32, u64)>, Vec<String>) {
    let short = |record: Record| {
        let ms = record.arrival.unwrap().as_ns() / 1_000_000;
        (ms, record.device, record.start.0)
    };
    let rows = records
        .by_ref()
        .map(|record| short(record.unwrap()))
        .collect();
    (rows, records.notes())
}

const TRACE: &str = "10.0 7 0 8 1\n20.0 3 90 10 1\n30.0 7 100 8 0\n40.0 9 199 8 1\n";

#[test]
fn selected_devices_become_disks() {
    let (rows, notes) = all(Disks::new(DeviceFilter::new(trace(TRACE), [9, 7])));
    assert_eq!(rows, [(10, 0, 0), (30, 0, 100), (40, 1, 199)]);
    let expected = [
        "1 request of other devices removed",
        "devices 7, 9 renumbered as disks from 0",
    ];
    assert_eq!(notes, expected);
}

#[test]
fn a_window_is_relative_to_its_start() {
    let at = |text| parse_instant(text).unwrap();
    let (rows, notes) = all(Window::new(trace(TRACE), at("20 ms"), at("40 ms")));
    assert_eq!(rows, [(0, 3, 90), (10, 7, 100)]);
    let expected = "1 request before 0.02 s removed; times now start there; requests from 0.04 s \
                    onward removed";
    assert_eq!(notes, [expected]);
    let (rows, _) = all(Window::new(trace(TRACE), Instant::START, Instant::NEVER));
    assert_eq!(rows, all(trace(TRACE)).0);
}

#[test]
fn a_window_needs_arrivals() {
    let text = "op,lbn,sectors,response_us,think_us\nR,5,8,1.0,2.0\n";
    let mut window = Window::new(trace(text), Instant::START, Instant::NEVER);
    let error = window.next().unwrap().unwrap_err().to_string();
    let expected = "x:2: arrival: found \"\", expected an arrival (needed to select an interval)";
    assert_eq!(error, expected);
    assert!(window.next().is_none());
}

#[test]
fn a_trace_runs_faster_and_slower() {
    let paced = |factor| all(Pacer::new(trace(TRACE), Factor::parse(factor).unwrap()));
    let arrivals = |rows: Vec<(u64, u32, u64)>| rows.iter().map(|row| row.0).collect::<Vec<_>>();
    let (rows, notes) = paced("2");
    assert_eq!(arrivals(rows), [5, 10, 15, 20]);
    assert_eq!(notes, ["times between requests divided by 2"]);
    assert_eq!(arrivals(paced("0.25").0), [40, 80, 120, 160]);
    let text = "op,lbn,sectors,response_us,think_us\nR,5,8,1.0,3.0\n";
    let paced = Pacer::new(trace(text), Factor::parse("2").unwrap()).next();
    let record = paced.unwrap().unwrap();
    assert_eq!(record.think.unwrap().as_ns(), 1_500);
    assert_eq!(record.response.unwrap().as_ns(), 1_000);
    let slow = Factor::parse("0.000000001").unwrap();
    let error = Pacer::new(trace("10000 0 1 8 0x1\n"), slow)
        .next()
        .unwrap()
        .unwrap_err();
    let expected = "x:1: arrival: found \"10 s\", expected a time below 2^63 ns when divided by \
                    0.000000001";
    assert_eq!(error.to_string(), expected);
}

fn fit_blocks(room: u64, fit: Fit) -> (Vec<(u32, u64)>, Vec<String>) {
    let (rows, notes) = all(Fitter::new(trace(TRACE), SectorCount(room), fit));
    (rows.into_iter().map(|row| (row.1, row.2)).collect(), notes)
}

#[test]
fn blocks_are_fitted() {
    let as_traced = [(7, 0), (3, 90), (7, 100), (9, 199)];
    assert_eq!(fit_blocks(207, Fit::Refuse), (as_traced.to_vec(), vec![]));
    // Half the disk; the last request begins at 99 of 100 and has 8 blocks.
    let (rows, notes) = fit_blocks(100, Fit::Scale(SectorCount(207)));
    assert_eq!(rows, [(7, 0), (3, 43), (7, 48), (9, 92)]);
    let expected = "scaled from 207 blocks to 100; 3 requests moved, 1 of them away from the end \
                    of a disk";
    assert_eq!(notes, [expected]);
    let (rows, notes) = fit_blocks(100, Fit::Fold);
    assert_eq!(rows, [(7, 0), (3, 90), (7, 0), (9, 92)]);
    let expected =
        "folded into 100 blocks; 2 requests moved, 1 of them away from the end of a disk";
    assert_eq!(notes, [expected]);
    let (rows, _) = fit_blocks(100, Fit::Spread(2));
    assert_eq!(rows, [(14, 0), (6, 90), (15, 0), (19, 92)]);
}

#[test]
fn requests_that_do_not_fit_are_refused() {
    let error_of = |room, fit| {
        let mut fitted = Fitter::new(trace(TRACE), SectorCount(room), fit);
        fitted.find_map(Result::err).unwrap().to_string()
    };
    let found = "x:4: lbn: found \"8 sectors from 199\", expected";
    assert_eq!(
        error_of(206, Fit::Refuse),
        format!("{found} a request within 206 blocks, or `fit` set to scale, fold or spread")
    );
    let scale = Fit::Scale(SectorCount(206));
    let expected = format!("{found} at most the 206 traced blocks");
    assert_eq!(error_of(300, scale), expected);
    let expected = format!("{found} at most 1 disks of 150 blocks");
    assert_eq!(error_of(150, Fit::Spread(1)), expected);
    let expected =
        "x:2: lbn: found \"10 sectors from 90\", expected at most the 9 blocks of the disk";
    assert_eq!(error_of(9, Fit::Fold), expected);
}

/// Responses of 2 and 5 us: 3 us of pause before the second, which overlaps the third by 1 us.
#[test]
fn pauses_replace_arrivals() {
    let text = "128166372000000000,h,0,Read,0,512,20\n128166372000000050,h,0,Read,0,512,50\n\
                128166372000000090,h,0,Read,0,512,20\n";
    let mut closed = ClosedLoop::new(trace(text));
    let records: Vec<Record> = closed.by_ref().map(Result::unwrap).collect();
    assert!(records.iter().all(|record| record.arrival.is_none()));
    let thinks: Vec<i64> = records.iter().map(|r| r.think.unwrap().as_ns()).collect();
    assert_eq!(thinks, [3_000, 0, 0]);
    let expected = "one request at a time; 1 request arrived before the previous one completed";
    assert_eq!(closed.notes(), [expected]);
    let mut closed = ClosedLoop::new(trace(TRACE));
    let error = closed.next().unwrap().unwrap_err().to_string();
    let expected =
        "x:1: response: found \"\", expected an arrival and a response (needed for the pause)";
    assert_eq!(error, expected);
    assert!(closed.next().is_none());
}

proptest! {
    /// Requests keep their size and end on the disk, whatever its size.
    #[test]
    fn fitted_requests_end_on_their_disk(
        start in 0..1u64 << 40,
        sectors in 1..=1u64 << 16,
        room in 1u64 << 16..1u64 << 41,
    ) {
        let text = format!("0.0 0 {start} {sectors} 0x0\n");
        for fit in [Fit::Fold, Fit::Scale(SectorCount(1 << 41)), Fit::Spread(1 << 30)] {
            let fitted = Fitter::new(trace(&text), SectorCount(room), fit).next();
            let record = fitted.unwrap().unwrap();
            prop_assert_eq!(record.sectors.0, sectors);
            prop_assert!(record.end().0 <= room);
            if let Fit::Spread(_) = fit {
                let location = u64::from(record.device) * room + record.start.0;
                prop_assert!(location <= start && start - location < sectors);
            }
        }
    }

    /// Times that are divided and then multiplied again differ by less than the factor.
    #[test]
    fn factors_are_exact(ms in 0..1u64 << 40, times in 1..1000u64) {
        let text = format!("{ms}.5 0 1 1 1\n");
        let mut there = Pacer::new(trace(&text), Factor::parse(&times.to_string()).unwrap());
        let arrival = |record: Option<_>| -> u64 {
            let record: Result<Record, diskarm_trace::TraceError> = record.unwrap();
            record.unwrap().arrival.unwrap().as_ns()
        };
        let ns = ms * 1_000_000 + 500_000;
        prop_assert!((arrival(there.next()) * times).abs_diff(ns) <= times / 2);
    }
}

#[test]
fn traces_without_a_common_clock_start_together() {
    let other = "5.0 1 300 8 1\n20.0 0 400 8 0\n";
    let (rows, notes) = all(Merger::new([trace(TRACE), trace(other)]));
    // Device d of trace i becomes 2 d + i; at 20 ms the first trace comes first.
    let expected = [
        (5, 3, 300),
        (10, 14, 0),
        (20, 6, 90),
        (20, 1, 400),
        (30, 14, 100),
        (40, 18, 199),
    ];
    assert_eq!(rows, expected);
    let expected = "2 traces merged, with a common start because they have no common clock";
    assert_eq!(notes, [expected]);
}

/// Windows times count 100 ns from 1601: the second trace begins 3 ms before the first.
#[test]
fn traces_with_a_common_epoch_keep_their_offset() {
    let first = "128166372003061629,web,0,Read,512,4096,100\n";
    let second = "128166372003031629,web,1,Read,1024,4096,100\n\
                  128166372003071629,web,1,Read,1536,4096,100\n";
    let (rows, notes) = all(Merger::new([trace(first), trace(second)]));
    assert_eq!(rows, [(0, 1, 2), (3, 0, 1), (4, 1, 3)]);
    assert_eq!(notes, ["2 traces merged, aligned by their common clock"]);
}

#[test]
fn traces_without_arrivals_are_not_merged() {
    let text = "op,lbn,sectors,response_us,think_us\nR,5,8,1.0,2.0\n";
    let mut merged = Merger::new([trace(TRACE), trace(text)]);
    let error = merged.next().unwrap().unwrap_err().to_string();
    let expected = "x:2: arrival: found \"\", expected an arrival (needed to merge traces)";
    assert_eq!(error, expected);
    assert!(merged.next().is_none());
}

#[test]
fn changes_do_not_include_reader_notes() {
    let only = DeviceFilter::new(trace(TRACE), [7]);
    let mut merged = Merger::new([Box::new(only) as Box<dyn Notes>, Box::new(trace(TRACE))]);
    assert_eq!(merged.by_ref().count(), 6);
    assert_eq!(merged.readers().len(), 2);
    let changes = merged.changes();
    assert_eq!(changes[0], "x: 2 requests of other devices removed");
    assert_eq!(changes.len(), 2);
    assert_eq!(merged.notes(), changes);
}
