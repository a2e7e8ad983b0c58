//! The random behaviour of a drive: the scatter of its arm, and failing read-ahead.

use diskarm_core::device::{Completion, Device, Outcome};
use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, OpenLoop};
use diskarm_core::sched::{Estimate, Outlook, Rehearse};
use diskarm_core::spec::Spec;
use diskarm_core::units::{Angle, Instant, Span};

use super::tiny::{Arrival, CompletionLog, R, W, check, request, tiny};

/// Standard errors within which a statistic of a sample lies with a probability of 99.99 %.
const Z: f64 = 3.9;

fn new_drive(spec: &Spec, seed: u64) -> Drive {
    Drive::new(spec, Angle::ZERO)
        .expect("a sound layout")
        .with_seed(seed)
}

fn serve_all(spec: &Spec, seed: u64, asked: &[Arrival]) -> Vec<Completion> {
    let arrivals = (0..).zip(asked).map(|(id, &(at, op, start, n))| {
        let at = Instant::START + Span::from_ms(at);
        (at, request(id, op, start, n))
    });
    let (mut drive, mut seen) = (new_drive(spec, seed), CompletionLog::default());
    engine::run(&mut drive, &mut OpenLoop::new(arrivals), &mut seen).expect("accepted requests");
    seen.0
}

/// 0.1 ms over one cylinder, 0.5 ms over nine: 0.3 ms over five.
const SCATTER: &str =
    "[mechanics.seek_scatter]\nform = \"table\"\ncylinders_ms = [[1, 0.1], [9, 0.5]]\n";
const OF_WRITES: &str =
    "[mechanics.write_seek_scatter]\nform = \"table\"\ncylinders_ms = [[5, 0.6]]\n";

/// From cylinder 0 to 5 and back repeatedly: the seek takes 6 ms.
fn alternating_seeks(op: diskarm_core::request::Op) -> Vec<Arrival> {
    let one = |n: u32| (100.0 * f64::from(n), op, u64::from((n + 1) % 2) * 100, 1);
    (0..4000).map(one).collect()
}

/// Mean and standard deviation of a movement's time in excess of 6 ms, in ms.
fn late(done: &[Completion]) -> (f64, f64) {
    let late = done.iter().map(|c| c.breakdown.seek.as_ms() - 6.0);
    let n = done.len() as f64;
    let mean = late.clone().sum::<f64>() / n;
    let squares: f64 = late.map(|ms| (ms - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0)).sqrt())
}

#[test]
fn movements_scatter_with_the_deviation_of_their_distance() {
    let own = SCATTER.to_owned() + OF_WRITES;
    let cases = [
        (SCATTER, R, 0.3),
        (SCATTER, W, 0.3),
        (&own, R, 0.3),
        (&own, W, 0.6),
    ];
    for (sections, op, deviation) in cases {
        let done = serve_all(&tiny(sections), 1, &alternating_seeks(op));
        let (mean, found) = late(&done);
        let n = done.len() as f64;
        assert!(mean.abs() < Z * deviation / n.sqrt(), "{mean}");
        let error = Z * deviation / (2.0 * n).sqrt();
        assert!((found - deviation).abs() < error, "{found}, {deviation}");
        assert!(done.iter().all(|c| c.breakdown.settle == Span::ZERO));
    }
}

#[test]
fn requests_without_a_movement_do_not_scatter() {
    let asked: Vec<Arrival> = (0..50).map(|n| (50.0 * f64::from(n), R, 3, 1)).collect();
    let done = serve_all(&tiny(SCATTER), 1, &asked);
    assert!(done.iter().all(|c| c.breakdown.settle == Span::ZERO));
}

/// A deviation of 20 ms with a seek of 6 ms: no movement has a negative time.
#[test]
fn a_movement_never_takes_a_negative_time() {
    let wild = "[mechanics.seek_scatter]\nform = \"table\"\ncylinders_ms = [[5, 20]]\n";
    let done = serve_all(&tiny(wild), 1, &alternating_seeks(R)[..200]);
    assert!(done.iter().all(|c| c.breakdown.settle == Span::ZERO));
    assert!(done.iter().all(|c| c.breakdown.seek >= Span::ZERO));
    let at_once = done
        .iter()
        .filter(|c| c.breakdown.seek == Span::ZERO)
        .count();
    // 38.2 % of a normal distribution lie 0.3 deviations below its mean or lower: 76 of 200, and
    // 6.9 is the standard deviation of that number.
    assert!((49..=103).contains(&at_once), "{at_once}");
}

#[test]
fn equal_seeds_give_equal_results_and_others_differ() {
    let failing = "[buffer]\ncaching = true\nread_ahead = \"track-end\"\n\
                   read_ahead_failures = \"50 %\"\n";
    for (sections, asked) in [(SCATTER, alternating_seeks(R)), (failing, pairs())] {
        let spec = tiny(sections);
        let run = |seed| serve_all(&spec, seed, &asked[..200]);
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
        assert_eq!(run(0), {
            let mut seen = CompletionLog::default();
            let arrivals = (0..).zip(&asked[..200]).map(|(id, &(at, op, start, n))| {
                let at = Instant::START + Span::from_ms(at);
                (at, request(id, op, start, n))
            });
            let mut unseeded = Drive::new(&spec, Angle::ZERO).expect("a valid layout");
            engine::run(&mut unseeded, &mut OpenLoop::new(arrivals), &mut seen).expect("accepted");
            seen.0
        });
    }
}

#[test]
fn estimates_are_for_the_mean() {
    let plain = new_drive(&tiny(""), 0);
    for seed in 0..20 {
        let random = new_drive(&tiny(&(SCATTER.to_owned() + OF_WRITES)), seed);
        for (op, block) in [(R, 100), (W, 100), (R, 190), (W, 23)] {
            let (now, asked) = (Instant::from_ns(3_000_000), request(0, op, block, 2));
            let place = plain.locate(&asked);
            let estimates = |drive: &Drive| {
                let outlook = drive.outlook(now);
                (
                    outlook.positioning(&asked, &place),
                    outlook.access(&asked, &place),
                    drive.rehearse().serve(now, &asked),
                )
            };
            assert_eq!(estimates(&random), estimates(&plain), "{block}");
        }
    }
}

/// Reads that continue each other, of a drive whose buffer keeps nothing.
fn in_sequence(deviation_ms: &str) -> Vec<Completion> {
    let sections = format!(
        "[overheads]\nread_miss_after_read = \"4 ms\"\nread_miss_in_sequence = \"2 ms\"\n\
         read_miss_in_sequence_scatter = \"{deviation_ms} ms\"\n"
    );
    let asked: Vec<Arrival> = (0..4000u32)
        .map(|n| (200.0 * f64::from(n), R, u64::from(n % 10), 1))
        .collect();
    serve_all(&tiny(&sections), 1, &asked)
}

/// Block 0 continues nothing: block 9 is before it.
#[test]
fn reads_in_sequence_that_miss_scatter() {
    let (first, others): (Vec<Completion>, Vec<Completion>) = in_sequence("0.5")
        .into_iter()
        .partition(|c| c.request.start.0 == 0);
    let overhead = |c: &Completion| c.breakdown.overhead.as_ms();
    assert!(first.iter().skip(1).all(|c| overhead(c) == 4.0));
    let n = others.len() as f64;
    let mean = others.iter().map(overhead).sum::<f64>() / n;
    assert!((mean - 6.0).abs() < Z * 0.5 / n.sqrt(), "{mean}");
    let squares = others
        .iter()
        .map(|c| (overhead(c) - 6.0).powi(2))
        .sum::<f64>();
    let found = (squares / n).sqrt();
    assert!((found - 0.5).abs() < Z * 0.5 / (2.0 * n).sqrt(), "{found}");
    // Without scatter, each takes its mean.
    assert!(
        in_sequence("0")
            .iter()
            .all(|c| [4.0, 6.0].contains(&overhead(c)))
    );
}

/// A deviation of 20 ms with an overhead of 6 ms.
#[test]
fn an_overhead_is_never_negative() {
    let done = in_sequence("20");
    assert!(done.iter().all(|c| c.breakdown.overhead >= Span::ZERO));
    // 38.2 % of a normal distribution lie 0.3 deviations below its mean or lower: 1,375 of the
    // 3,600 in sequence, and 29 is the standard deviation of that number.
    let is_zero = |c: &&Completion| c.breakdown.overhead == Span::ZERO;
    let none = done.iter().filter(is_zero).count() as f64;
    assert!((none - 1_375.0).abs() < Z * 29.2, "{none}");
}

/// Reads of two blocks in a row, on two cylinders in turn.
fn pairs() -> Vec<Arrival> {
    let one = |n: u32| {
        let place = u64::from(n / 2 % 2) * 100 + 2 + u64::from(n % 2);
        (100.0 * f64::from(n), R, place, 1)
    };
    (0..4000).map(one).collect()
}

fn failing(share: &str) -> Spec {
    let ahead = "caching = true\nread_ahead = \"track-end\"\n";
    tiny(&format!(
        "[buffer]\n{ahead}read_ahead_failures = \"{share}\"\n"
    ))
}

/// The segment holds the first read of each pair and the blocks after it.
#[test]
fn read_ahead_fails_at_the_specified_rate() {
    let done = serve_all(&failing("25 %"), 3, &pairs());
    let (firsts, seconds): (Vec<Completion>, Vec<Completion>) =
        done.into_iter().partition(|c| c.request.id % 2 == 0);
    assert!(firsts.iter().all(|c| c.outcome == Outcome::Miss));
    let missed = seconds.iter().filter(|c| c.outcome == Outcome::Miss);
    let (n, share) = (seconds.len() as f64, 0.25);
    let found = missed.count() as f64 / n;
    // The binomial distribution, nearly normal here.
    assert!(
        (found - share).abs() < Z * (share * (1.0 - share) / n).sqrt(),
        "{found}"
    );
}

/// Blocks 2 and 3, read and written, are in the buffer for certain; block 4 was read ahead.
#[test]
fn transferred_data_do_not_fail() {
    let outcome = |first, block| {
        let mut spec = failing("100 %");
        spec.buffer.hits_on_written = true;
        serve_all(&spec, 0, &[(0.0, first, 2, 2), (50.0, R, block, 1)])[1].outcome
    };
    for block in [2, 3] {
        assert_eq!(outcome(R, block), Outcome::Hit);
        assert_eq!(outcome(W, block), Outcome::Hit);
    }
    assert_eq!(outcome(R, 4), Outcome::Miss);
}

/// Block 3 is at tenth 3.
#[test]
fn a_failure_takes_as_long_as_a_miss() {
    let asked = [(0.0, R, 2, 1), (50.0, R, 3, 1)];
    let miss = serve_all(&failing("100 %"), 0, &asked)[1];
    assert_eq!(miss.outcome, Outcome::Miss);
    check(&miss, 54.0, [0.0, 0.0, 0.0, 0.0, 3.0, 1.0, 0.0]);
    let hit = serve_all(&failing("0 %"), 0, &asked)[1];
    assert_eq!((hit.outcome, hit.response()), (Outcome::Hit, Span::ZERO));
}

#[test]
fn estimates_assume_that_read_ahead_succeeds() {
    let mut drive = new_drive(&failing("25 %"), 0);
    drive
        .submit(Instant::START, request(0, R, 2, 1))
        .expect("an idle drive");
    let now = Instant::from_ns(50_000_000);
    drive.advance(now).expect("a completion");
    let asked = request(1, R, 3, 1);
    assert!(drive.outlook(now).is_buffered(&asked));
    assert!((0..50).all(|_| drive.rehearse().serve(now, &asked) == now));
}
