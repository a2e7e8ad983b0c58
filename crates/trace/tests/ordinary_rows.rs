//! Ordinary rows of text formats, except the first row of a file, are read on a fast path: a file
//! yields the same records and error as its rows read one by one.

use std::io::Cursor;

use diskarm_core::units::Instant;
use diskarm_trace::{Location, Record, read};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const FORMATS: [&str; 6] = ["alibaba", "mqsim", "msr", "spc", "systor17", "tencent"];
/// The replacements of a byte of a row.
const BYTES: &[u8] = b"0123456789,,.. -+RWrwEx\r\t\"\xff";

/// Numbers of many lengths, so that eight-byte words begin and end at every position.
fn number() -> impl Strategy<Value = u64> {
    (0_u32..64, any::<u64>()).prop_map(|(shift, bits)| bits >> shift)
}

/// A number of blocks that is usually valid for a request.
fn count() -> impl Strategy<Value = u64> {
    prop_oneof![9 => 1_u64..3_000, 1 => number()]
}

fn time() -> impl Strategy<Value = String> {
    let whole = prop_oneof![9 => 0_u64..10_000_000_000, 1 => number()];
    (whole, "(\\.[0-9]{1,10})?").prop_map(|(whole, decimals)| format!("{whole}{decimals}"))
}

/// A row of a format, most often an ordinary one.
fn row(format: &'static str) -> impl Strategy<Value = String> {
    let offset = prop_oneof![9 => number().prop_map(|blocks| blocks >> 11 << 9), 1 => number()];
    let bytes = prop_oneof![9 => count().prop_map(|blocks| blocks << 9 >> 1 << 1), 1 => number()];
    let device = prop_oneof![9 => 0_u64..12, 1 => number()];
    let first = (any::<bool>(), device, time(), time());
    (first, offset, bytes, number(), count()).prop_map(
        move |((is_read, device, time, response), offset, bytes, block, count)| {
            let word = |read, write| if is_read { read } else { write };
            let ticks = time.split('.').next().unwrap_or_default();
            let block = block >> 8;
            match format {
                "alibaba" => {
                    let op = word("R", "W");
                    format!("{device},{op},{offset},{bytes},{ticks}")
                }
                "mqsim" => {
                    let op = word("1", "0");
                    format!("{ticks} {device} {block} {count} {op}")
                }
                "msr" => {
                    let op = word("Read", "Write");
                    format!("1281661674{ticks},usr,{device},{op},{offset},{bytes},{response}")
                }
                "spc" => {
                    let op = word("r", "W");
                    format!("{device},{block},{bytes},{op},{time}")
                }
                "systor17" => {
                    let op = word("R", "W");
                    format!("{time},{response},{op},{device},{offset},{bytes}")
                }
                _ => {
                    let op = word("0", "1");
                    format!("{ticks},{block},{count},{op},{device}")
                }
            }
        },
    )
}

/// Rows, some of which have a changed byte.
fn rows(format: &'static str) -> impl Strategy<Value = Vec<Vec<u8>>> {
    let change = prop_oneof![
        4 => Just(None),
        1 => (any::<prop::sample::Index>(), select(BYTES)).prop_map(Some)
    ];
    let row = (row(format), change).prop_map(|(row, change)| {
        let mut row = row.into_bytes();
        if let Some((index, byte)) = change {
            let index = index.index(row.len());
            row[index] = byte;
        }
        row
    });
    vec(row, 1..8)
}

/// Returns the records up to the first error, in the order of their rows, with the names of their
/// devices; and the error. The first row of `text` is row number `first`.
fn outcome(text: Vec<u8>, format: &str, first: u64) -> (Vec<(Record, String)>, Option<String>) {
    let mut trace = read(Cursor::new(text), "x", Some(format)).expect("a format");
    let (mut records, mut failure) = (Vec::new(), None);
    for record in trace.by_ref() {
        match record {
            Ok(record) => records.push(record),
            Err(error) => {
                let Some(Location::Line(line)) = error.location() else {
                    panic!("{error}: no line");
                };
                let (found, row) = (format!(":{line}:"), format!(":{}:", first + line - 1));
                failure = Some(error.to_string().replacen(&found, &row, 1));
                break;
            }
        }
    }
    let names = &trace.metadata().device_names;
    let origin = trace.origin().unwrap_or(Instant::START) - Instant::START;
    let mut named: Vec<(Record, String)> = Vec::new();
    for mut record in records {
        let name = names
            .get(record.device as usize)
            .cloned()
            .unwrap_or_else(|| record.device.to_string());
        if let Location::Line(line) = &mut record.location {
            *line += first - 1;
        }
        record.device = 0;
        record.arrival = record.arrival.map(|arrival| arrival + origin);
        named.push((record, name));
    }
    named.sort_by_key(|(record, _)| match record.location {
        Location::Line(line) => line,
        other => panic!("{other:?}"),
    });
    (named, failure)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 20_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_fast_path_agrees_with_the_parser(
        (format, rows) in select(&FORMATS[..]).prop_flat_map(|name| (Just(name), rows(name))),
        has_carriage_returns in any::<bool>(),
    ) {
        let end: &[u8] = if has_carriage_returns { b"\r\n" } else { b"\n" };
        let lines: Vec<Vec<u8>> = rows.iter().map(|row| [row, end].concat()).collect();
        let mut expected = (Vec::new(), None);
        for (first, line) in (1..).zip(&lines) {
            let (records, error) = outcome(line.clone(), format, first);
            expected.0.extend(records);
            if error.is_some() {
                expected.1 = error;
                break;
            }
        }
        prop_assert_eq!(outcome(lines.concat(), format, 1), expected);
    }
}
