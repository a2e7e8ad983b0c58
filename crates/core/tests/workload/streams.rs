//! Concurrent streams, on a device that takes no time and on one that does.

use std::collections::BTreeMap;

use diskarm_core::device::{Breakdown, Completion, Outcome, Status};
use diskarm_core::engine::{Load, Streams};
use diskarm_core::request::Request;
use diskarm_core::units::{Instant, Span};
use diskarm_core::workload::{Arrivals, Times, Workload};

use crate::{DISK, assert_mean, stream};

/// Returns a completion of a request that arrived then.
fn completion(request: Request, arrived: Instant, at: Instant) -> Completion {
    let queue = Span::ZERO;
    Completion {
        request,
        arrived,
        at,
        breakdown: Breakdown {
            queue,
            transfer: at - arrived,
            ..Breakdown::default()
        },
        outcome: Outcome::Miss,
        status: Status::Good,
    }
}

/// Returns all arrivals of a workload whose requests each take `service`, as if alone.
fn serve_all(text: &str, count: u64, service: Span) -> Vec<(Instant, Request)> {
    let workload = Workload::parse(text, DISK).expect("a valid workload");
    let mut load = Streams::new(&workload, DISK, 1, count);
    // By instant and order of arrival.
    let mut running: BTreeMap<(Instant, usize), Request> = BTreeMap::new();
    let mut arrivals = Vec::new();
    loop {
        let arrival = load.next_arrival();
        let done = running.first_key_value().map(|((at, _), _)| *at);
        match (arrival, done) {
            (arrival, Some(at)) if arrival.is_none_or(|arrival| at <= arrival) => {
                let (_, request) = running.pop_first().expect("one is running");
                load.completed(&completion(request, at - service, at));
            }
            (Some(at), _) => {
                let request = load.take();
                running.insert((at + service, arrivals.len()), request);
                arrivals.push((at, request));
            }
            (None, _) => return arrivals,
        }
    }
}

#[test]
fn merged_streams_are_in_order_of_time() {
    let text = "poisson(rate=60/s) reads=100% + uniform(to=22ms) sequential size=4KiB reads=0%";
    let merged = serve_all(text, 10_000, Span::from_ms(1.0));
    assert_eq!(merged.len(), 10_000);
    assert!(merged.is_sorted_by_key(|(at, _)| *at));
    let streams = Workload::parse(text, DISK).unwrap();
    for (number, (stream, requests)) in streams.requests(DISK, 1).enumerate() {
        let Arrivals::Open(pauses) = &stream.arrivals else {
            panic!("not open");
        };
        let own: Vec<(Instant, Request)> = Times::new(pauses, 1, number)
            .zip(requests)
            .take_while(|(at, _)| *at < merged[9_999].0)
            .collect();
        let of = |(_, r): &&(Instant, Request)| r.id % 2 == number as u64;
        let found: Vec<(Instant, Request)> = merged[..9_999].iter().filter(of).copied().collect();
        assert_eq!(own, found);
        assert!(found.len() > 3_000);
    }
}

#[test]
fn one_stream_is_the_same_alone() {
    let text = "poisson(rate=60/s) local(deviation=1000sectors)";
    let alone = stream(text);
    let Arrivals::Open(pauses) = &alone.arrivals else {
        panic!("not open");
    };
    let own: Vec<_> = Times::new(pauses, 1, 0)
        .zip(alone.requests(DISK, 1))
        .take(500)
        .collect();
    assert_eq!(serve_all(text, 500, Span::from_ms(5.0)), own);
}

#[test]
fn clients_continue_after_completion_and_think_time() {
    // Five clients, each with 10 ms of service and 30 ms of think time: five at 0, five at 40 ms,
    // and so on.
    let arrivals = serve_all("closed(clients=5, think=30ms)", 23, Span::from_ms(10.0));
    let expected = (0..23).map(|i| Instant::from_ns(i / 5 * 40_000_000));
    assert!(arrivals.iter().map(|(at, _)| *at).eq(expected));
}

#[test]
fn random_think_times_give_the_expected_rate() {
    // Each client's cycle: 10 ms of service and an exponential think time of 30 ms, so that the
    // last of N arrivals of ten clients comes near N / 10 cycles. The variance of a sum of cycles:
    // 900 ms^2 each; the number of a client's cycles by a time t deviates from t / 40 by sqrt(t 900
    // / 40^3) (renewal theorem), of ten together sqrt(10) times that.
    let n = 50_000u64;
    let arrivals = serve_all(
        "closed(clients=10, think=poisson(mean=30ms))",
        n,
        Span::from_ms(10.0),
    );
    assert!(arrivals.is_sorted_by_key(|(at, _)| *at));
    let end_ms = (arrivals[n as usize - 1].0 - Instant::START).as_ms();
    let deviation = (10.0 * end_ms * 900.0 / 40f64.powi(3)).sqrt();
    let off = n as f64 - 10.0 * end_ms / 40.0;
    // All ten start at once, which puts them half a cycle ahead.
    assert!(
        (off - 5.0).abs() < 5.0 * deviation + 10.0,
        "{off} {deviation}"
    );
}

#[test]
fn open_and_closed_streams_run_concurrently() {
    // One background client, which always has a request of 8 ms outstanding, and arrivals at 100/s:
    // within a second 125 and 100.
    let text = "closed(clients=1) reads=100% + poisson(rate=100/s) reads=0%";
    let arrivals = serve_all(text, 100_000, Span::from_ms(8.0));
    let reads: Vec<bool> = arrivals.iter().map(|(_, r)| r.op.is_read()).collect();
    // Poisson arrivals between two of the client's: mean and variance 0.8.
    let mut between = vec![0.0];
    for is_read in reads {
        match between.last_mut() {
            Some(last) if !is_read => *last += 1.0,
            _ => between.push(0.0),
        }
    }
    let whole = &between[1..between.len() - 1];
    assert_mean("between", whole.iter().copied(), 0.8, 0.8);
}
