//! Evidence in the measured traces for behaviours of the model: the counts in
//! `docs/background/assumptions.md`, "Behaviours settled by measurement".

use std::path::Path;

use diskarm_core::request::Op;
use diskarm_core::units::Span;
use diskarm_trace::{Observed, Record, open};

/// The rows of a drive's trace.
fn rows(drive: &str) -> Vec<Record> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join(format!("data/validation/{drive}.csv.gz"));
    let rows = open(&path, None).and_then(Iterator::collect);
    rows.expect("a valid trace")
}

/// The position of a read relative to an earlier request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Relation {
    Within,
    Straddles,
    Ahead,
    Behind,
}

/// Returns the position of `read` relative to `earlier`; `None` if it is a segment or more away.
fn relation(read: &Record, earlier: &Record, segment: u64) -> Option<Relation> {
    let (start, from, end) = (read.start.0, earlier.start.0, earlier.end().0);
    if start >= from && read.end().0 <= end {
        Some(Relation::Within)
    } else if (from..end).contains(&start) {
        Some(Relation::Straddles)
    } else if (end..end + segment).contains(&start) {
        Some(Relation::Ahead)
    } else if (from.saturating_sub(segment)..from).contains(&start) {
        Some(Relation::Behind)
    } else {
        None
    }
}

/// Counts the nonsequential reads for which the latest nearby request among the previous five has
/// direction `op` and relative position `wanted`, as (misses, all).
fn misses(drive: &Seagate, rows: &[Record], op: Op, wanted: Relation) -> (usize, usize) {
    let (mut missed, mut all) = (0, 0);
    for i in 6..rows.len() {
        let read = &rows[i];
        let near =
            (1..6).find_map(|k| Some((&rows[i - k], relation(read, &rows[i - k], drive.segment)?)));
        let Some((earlier, found)) = near else {
            continue;
        };
        let is_sequential = earlier.end() == read.start;
        if read.op != Op::Read || earlier.op != op || found != wanted || is_sequential {
            continue;
        }
        let bound = Span::from_ms(drive.base_ms + drive.sector_ms * read.sectors.0 as f64);
        all += 1;
        missed += usize::from(read.response.is_none_or(|response| response >= bound));
    }
    (missed, all)
}

/// A drive and its criterion for hits: a response below overhead plus bus transfer.
struct Seagate {
    name: &'static str,
    /// Blocks of a segment.
    segment: u64,
    base_ms: f64,
    sector_ms: f64,
}

const SEAGATES: [Seagate; 2] = [
    Seagate {
        name: "seagate-barracuda-st32171w",
        segment: 281,
        base_ms: 0.5,
        sector_ms: 0.14,
    },
    Seagate {
        name: "seagate-cheetah-st34501n",
        segment: 282,
        base_ms: 0.45,
        sector_ms: 0.115,
    },
];

/// The sum of [`misses`] over both drives.
fn misses_of_both(op: Op, wanted: Relation) -> (usize, usize) {
    let mut sum = (0, 0);
    for drive in &SEAGATES {
        let (missed, all) = misses(drive, &rows(drive.name), op, wanted);
        sum = (sum.0 + missed, sum.1 + all);
    }
    sum
}

#[test]
fn delivered_data_are_dropped() {
    assert_eq!(misses_of_both(Op::Read, Relation::Within), (80, 85));
    assert_eq!(misses_of_both(Op::Read, Relation::Behind), (1194, 1201));
}

#[test]
fn a_write_within_read_ahead_drops_it() {
    assert_eq!(misses_of_both(Op::Write, Relation::Ahead), (623, 651));
}

#[test]
fn a_non_sequential_write_after_a_write_disconnects_once_more() {
    let rows = rows("hp-c2247");
    let (mut three, mut two) = (0, 0);
    for pair in rows.windows(2).filter(|pair| pair[1].op == Op::Write) {
        let is_after_write = pair[0].op == Op::Write;
        let is_sequential = pair[0].end() == pair[1].start;
        let expected = if is_after_write && !is_sequential {
            3
        } else {
            2
        };
        assert_eq!(pair[1].observed, Some(Observed::Disconnects(expected)));
        *(if expected == 3 { &mut three } else { &mut two }) += 1;
    }
    assert_eq!((three, two), (1660, 3224));
}
