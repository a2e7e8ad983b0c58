//! Any bytes are a trace in one of the formats or an error; records are in range and in order of
//! arrival, and can be written or are refused.

#![no_main]

use std::io::{Cursor, sink};

use diskarm_trace::{ArrivalEvent, FORMATS, OnError, Options, Writer, read_with, writable};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // The detected format, and each format in turn.
    let named = FORMATS[bytes.len() % FORMATS.len()].info.name;
    for (format, on_error) in [(None, OnError::Stop), (Some(named), OnError::Skip)] {
        for arrival in [ArrivalEvent::Issue, ArrivalEvent::Queue] {
            let options = Options {
                format,
                on_error,
                arrival,
            };
            read(bytes, &options);
        }
    }
});

fn read(bytes: &[u8], options: &Options<'_>) {
    let Ok(mut trace) = read_with(Cursor::new(bytes.to_vec()), "fuzz", options) else {
        return;
    };
    let mut writers: Vec<_> = writable()
        .filter_map(|(entry, _)| Writer::new(sink(), "fuzz", entry.info.name).ok())
        .collect();
    let mut latest = None;
    for record in trace.by_ref() {
        match record {
            Ok(record) => {
                assert!((1..=1 << 16).contains(&record.sectors.0));
                assert!(record.end().0 > record.start.0);
                assert!(record.arrival >= latest);
                latest = record.arrival;
                writers.retain_mut(|writer| writer.write(&record).is_ok());
            }
            Err(error) => assert_eq!(error.to_string().lines().count(), 1),
        }
    }
    for writer in writers {
        // A format may be unable to hold the last request.
        let _ = writer.finish();
    }
    trace.notes();
}
