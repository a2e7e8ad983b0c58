//! Records from traces that are written by hand, measured or random.

use std::fmt::Write;
use std::io::Cursor;
use std::path::Path;

use diskarm_core::request::Op;
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};
use diskarm_trace::{Location, Observed, Record, open, read};
use proptest::prelude::*;

fn records(bytes: &[u8], forced: Option<&str>) -> Vec<Record> {
    let trace = read(Cursor::new(bytes.to_vec()), "x", forced).unwrap();
    trace.map(Result::unwrap).collect()
}

#[test]
fn columns_can_have_any_order() {
    let bytes = b"think_us,sectors,lbn,response_us,observed,op\r\n\
        20.001,8,64,1000.5,miss,R\r\n\
        0,65536,0,7,three_disconnects,W\r\n\
        1,1,18446744073709551614,0.0014996,,W\r\n\r\n\n";
    let row = |line, op, start, sectors, response, think, observed| Record {
        location: Location::Line(line),
        arrival: None,
        device: 0,
        op,
        start: Lbn(start),
        sectors: SectorCount(sectors),
        response: Some(Span::from_ns(response)),
        think: Some(Span::from_ns(think)),
        observed,
        service: None,
        queue: None,
        urgency: None,
    };
    let expected = [
        row(2, Op::Read, 64, 8, 1_000_500, 20_001, Some(Observed::Miss)),
        row(
            3,
            Op::Write,
            0,
            1 << 16,
            7_000,
            0,
            Some(Observed::Disconnects(3)),
        ),
        row(4, Op::Write, u64::MAX - 1, 1, 1, 1_000, None),
    ];
    assert_eq!(records(bytes, None), expected);
    assert_eq!(expected[2].end(), Lbn(u64::MAX));
}

#[test]
fn disksim_fields() {
    let bytes = b"0 0 1 2 0\n 1.000001\t3  100 8 0x11 \r\n1.000001 1 7 1 0X2";
    let row = |line, ns, device, op, start, sectors| Record {
        location: Location::Line(line),
        arrival: Some(Instant::from_ns(ns)),
        device,
        op,
        start: Lbn(start),
        sectors: SectorCount(sectors),
        response: None,
        think: None,
        observed: None,
        service: None,
        queue: None,
        urgency: None,
    };
    let expected = [
        row(1, 0, 0, Op::Write, 1, 2),
        row(2, 1_000_001, 3, Op::Read, 100, 8),
        row(3, 1_000_001, 1, Op::Write, 7, 1),
    ];
    assert_eq!(records(bytes, None), expected);
}

/// Whole numbers may be another simulator's nanoseconds, but not with hexadecimal flags.
#[test]
fn hexadecimal_flags_identify_disksim() {
    let bytes = b"17 0 5 8 1\n23 0 5 8 0x0\n";
    assert_eq!(records(bytes, None), records(bytes, Some("disksim")));
}

/// The trace of a measured drive.
fn trace_path(drive: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../data/validation")
        .join(format!("{drive}.csv.gz"))
}

/// The totals of a real trace.
#[derive(Default)]
struct Sums {
    rows: u64,
    reads: u64,
    response_ns: i64,
    think_ns: i64,
    sectors: u64,
    lbn: u64,
}

impl Sums {
    fn of(path: &Path) -> Self {
        let mut sums = Self::default();
        for record in open(path, None).unwrap() {
            let record = record.unwrap();
            sums.rows += 1;
            assert_eq!(record.location, Location::Line(sums.rows + 1));
            sums.reads += u64::from(record.op.is_read());
            sums.response_ns += record.response.unwrap().as_ns();
            sums.think_ns += record.think.unwrap().as_ns();
            sums.sectors += record.sectors.0;
            sums.lbn += record.start.0;
        }
        sums
    }
}

/// Drive, rows, reads, sum of responses in ns, of pauses in ns, of sectors, of first blocks:
/// computed with Python's `csv` and `decimal`, which are exact.
const MEASURED: &str = "\
dec-rz26                    7980 5424 126153824000 110652092562 134638  8224108004
hp-c2247                    9999 5115 152966946940 141908397490 164974 10274025047
quantum-atlas-10k          10000 6569  38930600000 461876239000  63052 90018505844
seagate-barracuda-st32171w 10000 6511  66274014000 434343912000  63328 20539319392
seagate-cheetah-st34501n   10000 6639  53277230000 445442671000  63688 44641746672
seagate-st41601n            9999 6677 146153357940 139228279565 164077 13244970048
";

#[test]
fn totals_of_the_measured_drives() {
    for line in MEASURED.lines() {
        let (drive, numbers) = line.split_once(' ').unwrap();
        let numbers: Vec<i64> = numbers
            .split_whitespace()
            .map(|n| n.parse().unwrap())
            .collect();
        let sums = Sums::of(&trace_path(drive));
        let found = [
            sums.rows as i64,
            sums.reads as i64,
            sums.response_ns,
            sums.think_ns,
            sums.sectors as i64,
            sums.lbn as i64,
        ];
        assert_eq!(found[..], numbers, "{drive}");
    }
}

/// Counted with `cut -d, -f2 | sort | uniq -c`.
#[test]
fn hits_and_disconnects_of_the_c2247() {
    let mut counts = [0; 4];
    for record in open(trace_path("hp-c2247"), None).unwrap() {
        counts[match record.unwrap().observed.unwrap() {
            Observed::Hit => 0,
            Observed::Miss => 1,
            Observed::Disconnects(2) => 2,
            Observed::Disconnects(_) => 3,
        }] += 1;
    }
    assert_eq!(counts, [1559, 3556, 3224, 1660]);
}

/// Arrivals in nanoseconds in DiskSim's columns: as milliseconds, a minute would last two years.
#[test]
#[ignore = "needs ../shared"]
fn an_mqsim_trace_is_not_read_as_disksim() {
    for file in ["websearch-60s.mqsim", "tpcc-1s.mqsim"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../../shared/traces")
            .join(file);
        assert_eq!(open(path, None).unwrap().format().name, "mqsim", "{file}");
    }
}

/// A request in whole numbers, and the spelling of its line.
#[derive(Clone, Debug)]
struct RecordLine {
    is_read: bool,
    start: u64,
    sectors: u64,
    device: u32,
    /// The time since the previous arrival, or the response.
    first_ns: i64,
    think_ns: i64,
    observed: u8,
    flags: u32,
    has_prefix: bool,
}

prop_compose! {
    fn a_request()(
        is_read: bool,
        start in prop_oneof![0..1u64 << 24, 0..u64::MAX - (1 << 16)],
        sectors in prop_oneof![1..=256u64, 1..=1u64 << 16],
        device: u32,
        first_ns in prop_oneof![0..100_000_000i64, 0..1i64 << 53],
        think_ns in 0..1i64 << 53,
        observed in 0..3u8,
        flags: u32,
        has_prefix: bool,
    ) -> RecordLine {
        RecordLine {
            is_read, start, sectors, device, first_ns, think_ns, observed, flags, has_prefix,
        }
    }
}

impl RecordLine {
    fn op(&self) -> Op {
        if self.is_read { Op::Read } else { Op::Write }
    }

    fn record(&self, line: u64) -> Record {
        Record {
            location: Location::Line(line),
            arrival: None,
            device: 0,
            op: self.op(),
            start: Lbn(self.start),
            sectors: SectorCount(self.sectors),
            response: None,
            think: None,
            observed: None,
            service: None,
            queue: None,
            urgency: None,
        }
    }

    fn observed(&self) -> (&'static str, Option<Observed>) {
        match (self.observed, self.is_read) {
            (0, _) => ("", None),
            (1, true) => ("hit", Some(Observed::Hit)),
            (1, false) => ("two_disconnects", Some(Observed::Disconnects(2))),
            (_, true) => ("miss", Some(Observed::Miss)),
            (_, false) => ("three_disconnects", Some(Observed::Disconnects(3))),
        }
    }
}

fn decimal(ns: i64, places: usize) -> String {
    let scale = 10i64.pow(places as u32);
    format!("{}.{:0places$}", ns / scale, ns % scale)
}

fn with_line_ends(has_crlf: bool, has_last_newline: bool, mut text: String) -> Vec<u8> {
    if !has_last_newline {
        text.pop();
    }
    if has_crlf {
        text.replace('\n', "\r\n")
    } else {
        text
    }
    .into_bytes()
}

proptest! {
    #[test]
    fn measured_traces_round_trip(
        requests in prop::collection::vec(a_request(), 1..20),
        order in Just([0usize, 1, 2, 3, 4, 5]).prop_shuffle(),
        has_observed: bool,
        has_crlf: bool,
        has_last_newline: bool,
    ) {
        let order: Vec<usize> = order.into_iter().filter(|c| has_observed || *c != 1).collect();
        let write = |fields: [String; 6]| {
            let fields: Vec<&str> = order.iter().map(|c| fields[*c].as_str()).collect();
            fields.join(",") + "\n"
        };
        let names = ["op", "observed", "lbn", "sectors", "response_us", "think_us"];
        let mut text = write(names.map(str::to_owned));
        let mut expected = Vec::new();
        for (request, line) in requests.iter().zip(2..) {
            let (word, observed) = request.observed();
            text += &write([
                if request.is_read { "R" } else { "W" }.to_owned(),
                word.to_owned(),
                request.start.to_string(),
                request.sectors.to_string(),
                decimal(request.first_ns, 3),
                decimal(request.think_ns, 3),
            ]);
            expected.push(Record {
                response: Some(Span::from_ns(request.first_ns)),
                think: Some(Span::from_ns(request.think_ns)),
                observed: observed.filter(|_| has_observed),
                ..request.record(line)
            });
        }
        prop_assert_eq!(records(&with_line_ends(has_crlf, has_last_newline, text), None), expected);
    }

    #[test]
    fn disksim_traces_round_trip(
        requests in prop::collection::vec(a_request(), 1..20),
        has_crlf: bool,
        has_last_newline: bool,
        has_tabs: bool,
    ) {
        let mut text = String::new();
        let mut expected = Vec::new();
        let mut arrival_ns = 0;
        for (request, line) in requests.iter().zip(1..) {
            arrival_ns += request.first_ns;
            let RecordLine { start, sectors, device, .. } = request;
            let flags = request.flags & !1 | u32::from(request.is_read);
            let arrival = decimal(arrival_ns, 6);
            write!(text, "{arrival} {device} {start} {sectors} ").unwrap();
            if request.has_prefix {
                writeln!(text, "0x{flags:x}").unwrap();
            } else {
                writeln!(text, "{flags:x}").unwrap();
            }
            expected.push(Record {
                arrival: Some(Instant::from_ns(arrival_ns as u64)),
                device: *device,
                ..request.record(line)
            });
        }
        let text = if has_tabs { text.replace(' ', "\t") } else { text };
        prop_assert_eq!(records(&with_line_ends(has_crlf, has_last_newline, text), None), expected);
    }
}

/// Rows of a measured trace, some of them valid.
const ROW: &str = "[RW],(hit)?,[0-9]{1,22},[0-9]{1,11},[-0-9.]{1,22},[0-9]{1,3}";

/// Rows of a DiskSim trace, some of them valid.
const NUMBERS: &str = "[-0-9.]{1,22}( [0-9]{1,20}){3} (0x)?[0-9a-f]{1,9}";

/// Checks that reading ends without a panic, and without an error only if each nonblank line is a
/// record.
fn read_anything(bytes: &[u8]) {
    let lines = bytes
        .split(|b| *b == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .count();
    for (forced, header) in [(None, 0), (Some("measured"), 1), (Some("disksim"), 0)] {
        if let Ok(trace) = read(Cursor::new(bytes.to_vec()), "x", forced) {
            let all: Vec<_> = trace.collect();
            if forced.is_some() && all.iter().all(Result::is_ok) {
                assert_eq!(all.len() + header, lines);
            }
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read_anything(&bytes);
    }

    #[test]
    fn almost_valid_bytes_are_read_or_refused(
        rows in prop::collection::vec(ROW, 0..5),
        numbers in prop::collection::vec(NUMBERS, 0..5),
        at: prop::sample::Index,
        byte: u8,
    ) {
        let header = "op,observed,lbn,sectors,response_us,think_us\n".to_owned();
        for text in [header + &rows.join("\n"), numbers.join("\n")] {
            let mut bytes = text.into_bytes();
            read_anything(&bytes);
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                read_anything(&bytes[..at]);
                bytes[at] = byte;
                read_anything(&bytes);
            }
        }
    }
}

/// A byte order mark before UTF-8 is not part of the first name or number.
#[test]
fn a_byte_order_mark_is_skipped() {
    for text in [
        "op,lbn,sectors,response_us,think_us\nR,64,8,1414.27,9632.52\n",
        "0.25 0 64 8 1\n",
    ] {
        let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
        let mut trace = diskarm_trace::read(std::io::Cursor::new(marked), "x", None).unwrap();
        assert_eq!(trace.next().unwrap().unwrap().start.0, 64);
        assert!(trace.next().is_none());
    }
}
