//! A tiny drive with round numbers, and helpers for examples worked by hand.
//!
//! Two heads, ten cylinders, ten sectors per track, 10 ms per revolution: a sector passes in 1 ms.
//! A seek over `d` cylinders takes `1 + d` ms, a head switch 1 ms. Tracks are skewed by two
//! sectors and cylinders by four, so that sector `s` of head `h` of cylinder `c` begins at
//! `6c + 2h + s` tenths of a revolution, and at time `t` ms the heads are over tenth `t`, both
//! modulo ten. That sector holds block `20c + 10h + s`.

use diskarm_core::device::{Completion, Outcome};
use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, Observer, OpenLoop};
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::{self, Spec};
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};

const MECHANISM: &str = include_str!("tiny.toml");

/// Returns the tiny drive with these further sections.
pub fn tiny(sections: &str) -> Spec {
    parsed(&format!("{MECHANISM}{sections}"))
}

/// Returns the tiny drive with these further sections and `changes` (from, to) in its first ones.
pub fn tiny_with(changes: &[(&str, &str)], sections: &str) -> Spec {
    let mut text = MECHANISM.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    parsed(&format!("{text}{sections}"))
}

fn parsed(text: &str) -> Spec {
    spec::parse(text, "tiny.toml").unwrap_or_else(|error| panic!("{error}"))
}

/// A request and when it arrives, in ms.
pub type Arrival = (f64, Op, u64, u64);

pub const R: Op = Op::Read;
pub const W: Op = Op::Write;

pub fn request(id: u64, op: Op, start: u64, sectors: u64) -> Request {
    Request::new(id, op, Lbn(start), SectorCount(sectors))
}

#[derive(Default)]
pub struct CompletionLog(pub Vec<Completion>);

impl Observer for CompletionLog {
    fn arrived(&mut self, _: Instant, _: &Request) {}

    fn completed(&mut self, completion: &Completion) {
        self.0.push(*completion);
    }
}

/// Returns the completions of `asked` on the drive of `spec`, in order.
pub fn serve_all(spec: &Spec, asked: &[Arrival]) -> Vec<Completion> {
    let mut drive = Drive::new(spec, Angle::ZERO).expect("a valid layout");
    let arrivals = asked.iter().enumerate().map(|(id, &(at, op, start, n))| {
        (
            Instant::START + Span::from_ms(at),
            request(id as u64, op, start, n),
        )
    });
    let mut seen = CompletionLog::default();
    engine::run(&mut drive, &mut OpenLoop::new(arrivals), &mut seen).expect("accepted requests");
    seen.0
}

/// Returns the completion of the last of `asked`, which are far enough apart for a queue of one.
pub fn last(spec: &Spec, asked: &[Arrival]) -> Completion {
    *serve_all(spec, asked).last().expect("a completion")
}

/// Less than this in nanoseconds is rounding.
const ROUNDING: i64 = 100;

fn near(a: Span, ms: f64) -> bool {
    (a - Span::from_ms(ms)).as_ns().abs() < ROUNDING
}

/// Checks a completion's instant in ms, and its parts in the order of
/// [`diskarm_core::device::Breakdown::NAMES`], the first two together: waiting, overhead, seek,
/// settle, rotation, transfer, bus.
#[track_caller]
pub fn check(c: &Completion, at: f64, parts: [f64; 7]) {
    let [queue, owed, rest @ ..] = c.breakdown.parts();
    let mut all = [queue + owed].into_iter().chain(rest).zip(parts);
    assert!(
        near(c.at - Instant::START, at) && all.all(|(a, b)| near(a, b)),
        "expected at {at} ms {parts:?}, found {c:#?}"
    );
}

/// Checks a completion's instant in ms and what the buffer did.
#[track_caller]
pub fn check_at(c: &Completion, at: f64, outcome: Outcome) {
    assert!(
        near(c.at - Instant::START, at) && c.outcome == outcome,
        "expected at {at} ms {outcome:?}, found {c:#?}"
    );
}

/// Returns the blocks that a read at 1 s finds in the buffer after `asked`.
pub fn held(spec: &Spec, asked: &[Arrival]) -> Vec<u64> {
    let hit = |&block: &u64| {
        let mut asked = asked.to_vec();
        asked.push((1000.0, R, block, 1));
        last(spec, &asked).outcome == Outcome::Hit
    };
    (0..spec.geometry.sectors.0).filter(hit).collect()
}
