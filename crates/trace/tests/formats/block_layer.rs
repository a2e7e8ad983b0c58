//! blktrace and blkparse: the same events as records and as text.

use diskarm_core::request::Op;
use diskarm_trace::{ArrivalEvent, OnError, Options, Record, open, open_with};

use crate::{Short, error_of, read_skipping_errors, reader, records, short, temporary_path};

/// An event: time in ns, action letter, direction letters, first block, blocks.
type Event = (u64, char, &'static str, u64, u32);

fn action(letter: char) -> u32 {
    match letter {
        'Q' => 1,
        'G' => 4,
        'R' => 6,
        'D' => 7,
        'C' => 8,
        'I' => 12,
        _ => panic!("{letter}"),
    }
}

/// Returns the categories of `blktrace_api.h`, in the high half.
fn categories(letters: &str) -> u32 {
    letters
        .chars()
        .map(|letter| match letter {
            'R' => 1 << 16,
            'W' => 1 << 17,
            'F' => 1 << 18,
            'S' => 1 << 19,
            'P' => 1 << 25,
            'A' => 1 << 27,
            'D' => 1 << 29,
            _ => panic!("{letter}"),
        })
        .sum()
}

fn binary(event: &Event, is_big: bool) -> Vec<u8> {
    let &(time, letter, rwbs, start, sectors) = event;
    let mut bytes = Vec::new();
    let mut put = |value: u64, size: usize| {
        if is_big {
            bytes.extend(&value.to_be_bytes()[8 - size..]);
        } else {
            bytes.extend(&value.to_le_bytes()[..size]);
        }
    };
    let word = (action(letter) | categories(rwbs)).into();
    let payload = if letter == 'Q' { 3 } else { 0 };
    for (value, size) in [(0x6561_7407, 4), (9, 4), (time, 8), (start, 8)] {
        put(value, size);
    }
    let length = u64::from(sectors) * 512;
    for value in [length, word, 17, 8 << 20 | 1, 0] {
        put(value, 4);
    }
    put(0, 2);
    put(payload, 2);
    bytes.extend(vec![b'x'; payload as usize]);
    bytes
}

fn text(event: &Event) -> String {
    let &(time, letter, rwbs, start, sectors) = event;
    let (s, ns) = (time / 1_000_000_000, time % 1_000_000_000);
    let blocks = match sectors {
        0 => String::new(),
        _ => format!("{start} + {sectors} "),
    };
    format!("  8,1    0        9     {s}.{ns:09}    17  {letter:>2}  {rwbs:>2} {blocks}[dd]\n")
}

/// A write of two merged bios, a read whose completion comes in two parts, an issue that is
/// requeued, a discard, a flush, and a read whose completion was lost.
const EVENTS: [Event; 19] = [
    (100, 'Q', "WS", 64, 8),
    (110, 'Q', "WS", 72, 8),
    (120, 'Q', "R", 1_000, 16),
    (130, 'G', "R", 1_000, 16),
    (150, 'D', "WS", 64, 16),
    (160, 'D', "R", 1_000, 16),
    (170, 'R', "R", 1_000, 16),
    (200, 'D', "R", 1_000, 16),
    (250, 'D', "D", 5_000, 8),
    (251, 'D', "F", 0, 0),
    (300, 'C', "R", 1_000, 8),
    (320, 'Q', "RA", 64, 8),
    (330, 'I', "RA", 64, 8),
    (340, 'D', "RA", 64, 8),
    (360, 'C', "R", 1_008, 8),
    (400, 'C', "WS", 64, 16),
    (410, 'Q', "R", 7, 1),
    (420, 'D', "R", 7, 1),
    (500, 'C', "RA", 64, 8),
];

fn rows_by_issue() -> [Short; 4] {
    [
        (Some(150), 0, Op::Write, 64, 16, Some(250)),
        (Some(200), 0, Op::Read, 1_000, 16, Some(160)),
        (Some(340), 0, Op::Read, 64, 8, Some(160)),
        (Some(420), 0, Op::Read, 7, 1, None),
    ]
}

fn rows_by_queue() -> [Short; 5] {
    [
        (Some(100), 0, Op::Write, 64, 8, Some(300)),
        (Some(110), 0, Op::Write, 72, 8, Some(290)),
        (Some(120), 0, Op::Read, 1_000, 16, Some(240)),
        (Some(320), 0, Op::Read, 64, 8, Some(180)),
        (Some(410), 0, Op::Read, 7, 1, None),
    ]
}

fn all_binary(is_big: bool) -> Vec<u8> {
    EVENTS
        .iter()
        .flat_map(|event| binary(event, is_big))
        .collect()
}

fn all_text() -> String {
    EVENTS.iter().map(text).collect()
}

/// Subtracts `by`: binary traces have times relative to the first request, text to their start.
fn shift_times(rows: &[Short], by: u64) -> Vec<Short> {
    let shift = |row: &Short| (row.0.map(|at| at - by), row.1, row.2, row.3, row.4, row.5);
    rows.iter().map(shift).collect()
}

fn shorts(records: &[Record]) -> Vec<Short> {
    records.iter().map(short).collect()
}

#[test]
fn requests_are_issued_and_completed() {
    assert_eq!(
        shorts(&records(all_text().as_bytes(), "blkparse")),
        rows_by_issue()
    );
    for is_big in [false, true] {
        let records = records(&all_binary(is_big), "blktrace");
        assert_eq!(shorts(&records), shift_times(&rows_by_issue(), 150));
    }
}

#[test]
fn arrival_can_be_the_queue_event() {
    let options = Options {
        arrival: ArrivalEvent::Queue,
        ..Options::default()
    };
    let read = |bytes: &[u8]| -> Vec<Short> {
        let trace = reader(bytes, &options).unwrap();
        trace.map(|record| short(&record.unwrap())).collect()
    };
    assert_eq!(read(all_text().as_bytes()), rows_by_queue());
    assert_eq!(read(&all_binary(false)), shift_times(&rows_by_queue(), 100));
}

#[test]
fn other_events_are_counted() {
    let expected = [
        "1 row ignored (not a read or write): issues undone by a requeue",
        "1 row ignored (not a read or write): discard",
        "1 row ignored (not a read or write): flush",
        "1 request without a completion in the trace",
    ];
    assert_eq!(
        read_skipping_errors(all_text().as_bytes(), None).1,
        expected
    );
    assert_eq!(read_skipping_errors(&all_binary(false), None).1, expected);
}

#[test]
fn a_summary_ends_the_text() {
    let text = all_text() + "CPU0 (8,1):\n Reads Queued:  2,  4KiB\n\nTotal (8,1):\n";
    assert_eq!(
        shorts(&records(text.as_bytes(), "blkparse")),
        rows_by_issue()
    );
    let text = all_text() + "\nTotal (8,1):\n Reads Queued:  2,  4KiB\n";
    assert_eq!(
        shorts(&records(text.as_bytes(), "blkparse")),
        rows_by_issue()
    );
}

/// Each processor has a file; opening any of them, or their common name, opens all.
#[test]
fn processors_are_merged() {
    let folder = temporary_path("blktrace");
    std::fs::create_dir_all(&folder).unwrap();
    for processor in 0..11 {
        let of_processor = |(index, _): &(usize, &Event)| index % 10 == processor;
        let events = EVENTS.iter().enumerate().filter(of_processor);
        let bytes: Vec<u8> = events.flat_map(|(_, event)| binary(event, false)).collect();
        std::fs::write(folder.join(format!("sda.blktrace.{processor}")), bytes).unwrap();
    }
    std::fs::write(folder.join("sdb.blktrace.0"), all_binary(false)).unwrap();
    // The last processor has no events and an empty file.
    for name in ["sda.blktrace.0", "sda.blktrace.3", "sda.blktrace.10", "sda"] {
        let trace = open(folder.join(name), None).unwrap();
        let read: Vec<Record> = trace.map(Result::unwrap).collect();
        assert_eq!(shorts(&read), shift_times(&rows_by_issue(), 150), "{name}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// If the file of one processor is truncated, before or after its first event, or has an invalid
/// event, all other events are read and each error is counted.
#[test]
fn invalid_events_do_not_affect_others() {
    let [issue, complete] =
        [(100, 'D', "R", 64, 8), (300, 'C', "R", 64, 8)].map(|e| binary(&e, false));
    let large = binary(&(200, 'D', "W", 5, 65_537), false);
    let options = Options {
        on_error: OnError::Skip,
        ..Options::default()
    };
    for (first, bad_count) in [
        (large[..20].to_vec(), 1),
        ([&issue[..], &large[..47]].concat(), 1),
        ([&large[..], &large[..47]].concat(), 2),
    ] {
        let folder = temporary_path(&format!("cut-{}-{bad_count}", first.len()));
        std::fs::create_dir_all(&folder).unwrap();
        let second = if first.starts_with(&issue) {
            complete.clone()
        } else {
            [&issue[..], &complete].concat()
        };
        std::fs::write(folder.join("x.blktrace.0"), first).unwrap();
        std::fs::write(folder.join("x.blktrace.1"), second).unwrap();
        let mut trace = open_with(folder.join("x.blktrace.1"), &options).unwrap();
        let read: Vec<Record> = trace.by_ref().map(Result::unwrap).collect();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(shorts(&read), [(Some(0), 0, Op::Read, 64, 8, Some(200))]);
        let counts = trace.skipped().reasons().iter().map(|reason| reason.count);
        assert_eq!(counts.sum::<u64>(), bad_count);
    }
}

/// A command from a process has bytes and no block; the kernel writes 0.
#[test]
fn passthrough_commands_are_ignored() {
    let command = binary(&(90, 'D', "RP", 0, 8), false);
    let (records, notes) = read_skipping_errors(&[command, all_binary(false)].concat(), None);
    assert_eq!(shorts(&records), shift_times(&rows_by_issue(), 150));
    assert_eq!(
        notes[0],
        "1 row ignored (not a read or write): passthrough command"
    );
}

#[test]
fn invalid_events() {
    let good = binary(&EVENTS[4], false);
    let mut unframed = good.clone();
    unframed[0] = 6;
    let error = error_of(&[&good[..], &unframed].concat(), "blktrace");
    assert_eq!(
        error,
        "x: byte 48: magic: found another value, expected 0x65617407"
    );
    let error = error_of(&[&good[..], &good[..47]].concat(), "blktrace");
    assert_eq!(error, "x: byte 48: found 47 bytes, expected a record of 48");
    let large = binary(&(200, 'D', "W", 5, 65_537), false);
    let error = error_of(&[&good[..], &large].concat(), "blktrace");
    let expected = "x: byte 48: bytes: found \"33554944\", expected a length in bytes \
                    of at most 65536 blocks";
    assert_eq!(error, expected);
    let row = text(&EVENTS[4]);
    for (bad, expected) in [
        (
            row.replace("64 +", "x +"),
            "sector: found \"x\", expected a whole number from 0 to \
                                       18446744073709551615",
        ),
        (
            row.replace(" D ", " 7 "),
            "action: found \"7\", expected the letters of an action, such \
                                     as D",
        ),
        (
            "8,1 0 9\n".to_owned(),
            "found 3 fields, expected 7: no time_s",
        ),
    ] {
        let error = error_of((row.clone() + &bad).as_bytes(), "blkparse");
        assert_eq!(error, format!("x:2: {expected}"));
    }
}
