use super::*;
use crate::simulated::{Random, means, serve};

/// The response of M/M/1 is exponential with mean 1 / (m - rate).
#[test]
fn exponential_services_match_m_m_1() {
    for load in [0.0, 0.1, 0.5, 0.9, 0.99] {
        let found = mg1_response(load, &Moments::exponential(1.0)).unwrap();
        let mean = 1.0 / (1.0 - load);
        assert!((found.mean / mean - 1.0).abs() < 1e-12, "{found:?}");
        let variance = mean * mean;
        assert!((found.variance / variance - 1.0).abs() < 1e-12, "{found:?}");
    }
}

/// The wait of M/D/1 is r / 2 (1 - r) services, half of that of M/M/1.
#[test]
fn constant_services_wait_half_as_long() {
    for load in [0.1, 0.5, 0.9] {
        let found = mg1_wait(load, &Moments::constant(1.0)).unwrap();
        assert!((found.mean - load / 2.0 / (1.0 - load)).abs() < 1e-12);
    }
}

#[test]
fn a_queue_saturates_at_a_load_of_one() {
    let service = Moments::uniform(10.0);
    assert!(mg1_wait(0.1999, &service).is_some());
    assert_eq!(mg1_wait(0.2, &service), None);
    assert_eq!(mg1_wait(0.3, &service), None);
    assert_eq!(mg1_wait(-0.1, &service), None);
    assert_eq!(saturation_rate(&service), 0.2);
}

#[test]
fn mg1_wait_matches_a_simulated_queue() {
    let expected = mg1_wait(0.6, &Moments::uniform(2.0)).unwrap();
    let run = |seed| {
        let mut random = Random::new(seed);
        let pause = |r: &mut Random| r.exponential(0.6);
        let waits = serve(&mut random, 1, pause, |r| 2.0 * r.uniform());
        let squares = waits.iter().map(|w| (w - expected.mean).powi(2));
        let count = waits.len() as f64;
        let variance = squares.sum::<f64>() / count;
        [waits.iter().sum::<f64>() / count, variance]
    };
    let [mean, variance] = means((1..=20).map(run));
    mean.assert_near(expected.mean);
    variance.assert_near(expected.variance);
}

fn class(rate: f64, service: Moments) -> Class {
    Class { rate, service }
}

#[test]
fn a_single_class_matches_m_g_1() {
    let alone = class(0.3, Moments::uniform(4.0));
    let none = Class { rate: 0.0, ..alone };
    let expected = mg1_wait(0.3, &alone.service).unwrap().mean;
    let (first, _) = priority_waits(&alone, &none).unwrap();
    let (_, second) = priority_waits(&none, &alone).unwrap();
    assert!((first - expected).abs() < 1e-12 && (second - expected).abs() < 1e-12);
}

/// Kleinrock's conservation law: the mean wait, weighted by the loads, does not depend on the
/// order; in order of arrival, all classes have the wait of M/G/1.
#[test]
fn priorities_conserve_the_load_weighted_wait() {
    let short = class(0.2, Moments::constant(1.0));
    let long = class(0.1, Moments::exponential(5.0));
    let all = Moments::mixture([short, long].map(|class| (class.rate, class.service)));
    let fcfs = mg1_wait(0.3, &all).unwrap().mean * (short.load() + long.load());
    for (a, b) in [(short, long), (long, short)] {
        let (first, second) = priority_waits(&a, &b).unwrap();
        assert!(first < second);
        assert!((first * a.load() + second * b.load() - fcfs).abs() < 1e-12);
    }
}

#[test]
fn both_classes_saturate_together() {
    let [half, less] = [0.5, 0.49].map(|rate| class(rate, Moments::constant(1.0)));
    assert!(priority_waits(&half, &half).is_none());
    assert!(priority_waits(&half, &less).is_some());
}

#[test]
fn priority_waits_match_a_simulated_queue() {
    let run = |seed| {
        let mut random = Random::new(seed);
        let (mut now, mut next) = (0.0, [0.0, 0.0]);
        let mut waiting: [std::collections::VecDeque<f64>; 2] = Default::default();
        let (mut sums, mut counts) = ([0.0; 2], [0; 2]);
        for served in 0..60_000 {
            if waiting.iter().all(|queue| queue.is_empty()) {
                now = f64::max(now, f64::min(next[0], next[1]));
            }
            for (class, rate) in [0.4, 0.3].into_iter().enumerate() {
                while next[class] <= now {
                    waiting[class].push_back(next[class]);
                    next[class] += random.exponential(rate);
                }
            }
            let class = usize::from(waiting[0].is_empty());
            let arrived = waiting[class].pop_front().expect("a waiting request");
            if served >= 2_000 {
                sums[class] += now - arrived;
                counts[class] += 1;
            }
            now += match class {
                0 => 2.0 * random.uniform(),
                _ => random.exponential(1.0),
            };
        }
        [0, 1].map(|class| sums[class] / f64::from(counts[class]))
    };
    let [first, second] = means((1..=20).map(run));
    let uniform = class(0.4, Moments::uniform(2.0));
    let expected = priority_waits(&uniform, &class(0.3, Moments::exponential(1.0))).unwrap();
    first.assert_near(expected.0);
    second.assert_near(expected.1);
}

/// The root of s = (2 r / (1 - s + 2 r))^2, the transform of the pauses at (1 - s) / service.
#[test]
fn the_waiting_probability_satisfies_its_equation() {
    for load in [0.0, 0.01, 0.3, 0.5, 0.8, 0.99] {
        let s = waiting_probability(load, 1.0).unwrap();
        let transform = (2.0 * load / (1.0 - s + 2.0 * load)).powi(2);
        assert!((s - transform).abs() < 1e-12, "{load}");
    }
    assert_eq!(waiting_probability(1.0, 1.0), None);
    assert_eq!(e2m1_response(-0.1, 1.0), None);
}

/// Section 7.2.1: the response is shorter than with exponential times between arrivals. Section
/// 7.3: a shared queue is at least as fast as cyclic routing.
#[test]
fn cyclic_routing_is_between_random_routing_and_a_shared_queue() {
    for load in [0.05, 0.5, 0.95] {
        let even = e2m1_response(load, 1.0).unwrap();
        let random = mg1_response(load, &Moments::exponential(1.0)).unwrap();
        assert!(even < random.mean, "{load}");
        let shared = mmc_response(2, 2.0 * load, 1.0).unwrap();
        assert!(shared < even, "{load}");
    }
}

#[test]
fn e2m1_response_matches_a_simulated_queue() {
    let run = |seed| {
        let pause = |r: &mut Random| r.exponential(1.2) + r.exponential(1.2);
        let waits = serve(&mut Random::new(seed), 1, pause, |r| r.exponential(1.0));
        [waits.iter().sum::<f64>() / waits.len() as f64]
    };
    let [mean] = means((1..=20).map(run));
    mean.assert_near(e2m1_response(0.6, 1.0).unwrap() - 1.0);
}

#[test]
fn mmc_response_matches_m_m_1_and_the_thesis_for_two_servers() {
    for load in [0.0, 0.1, 0.5, 0.9, 0.99] {
        let one = mmc_response(1, load, 1.0).unwrap();
        assert!((one * (1.0 - load) - 1.0).abs() < 1e-12, "{load}");
        let two = mmc_response(2, 2.0 * load / 3.0, 3.0).unwrap();
        let expected = 3.0 / (1.0 - load * load);
        assert!((two / expected - 1.0).abs() < 1e-12, "{load}");
    }
    assert_eq!(mmc_response(2, 2.0, 1.0), None);
    assert_eq!(mmc_response(0, 0.0, 1.0), None);
    assert_eq!(mmc_response(2, -1.0, 1.0), None);
}

#[test]
fn mmc_response_matches_simulated_queues() {
    for servers in [2, 5] {
        let rate = 0.8 * f64::from(servers);
        let run = |seed| {
            let mut random = Random::new(seed);
            let pause = |r: &mut Random| r.exponential(rate);
            let waits = serve(&mut random, servers as usize, pause, |r| r.exponential(1.0));
            [waits.iter().sum::<f64>() / waits.len() as f64]
        };
        let [wait] = means((1..=20).map(run));
        wait.assert_near(mmc_response(servers, rate, 1.0).unwrap() - 1.0);
    }
}

fn by_power(load: f64, power: f64) -> Option<f64> {
    satf_response(load, &satf_services(1.0, power))
}

/// With a power of 0, the queue is M/M/1, whose mean response is 1 / (1 - load).
#[test]
fn satf_with_a_power_of_0_matches_m_m_1() {
    for load in [0.1, 0.5, 0.9, 0.99] {
        let found = by_power(load, 0.0).unwrap();
        assert!((found * (1.0 - load) - 1.0).abs() < 1e-9, "{load} {found}");
    }
    assert_eq!(by_power(1.0, 0.0), None);
    assert_eq!(satf_response(0.5, &[]), None);
    assert_eq!(by_power(0.0, 0.2), None);
}

/// With a power of 1, requests do not delay each other: M/M/infinity.
#[test]
fn satf_with_a_power_of_1_has_no_waits() {
    for load in [0.1, 1.0, 5.0, 40.0] {
        let found = by_power(load, 1.0).unwrap();
        assert!((found - 1.0).abs() < 1e-9, "{load} {found}");
    }
}

/// Calculated by hand for up to three requests, at a load that makes longer queues rare.
#[test]
fn satf_response_matches_a_calculation_by_hand() {
    let by_hand = |load: f64| {
        let second = load * load / 2_f64.sqrt();
        let third = second * load / 3_f64.sqrt();
        let sum = 1.0 + load + second + third;
        (load + 2.0 * second + 3.0 * third) / sum / load
    };
    // The fourth weight is below load^4 / sqrt(24).
    let (load, found) = (0.01, by_power(0.01, 0.5).unwrap());
    assert!((found - by_hand(load)).abs() < 1e-5, "{found}");
}

#[test]
fn satf_saturates_at_the_service_rate_of_the_longest_queue() {
    let max = f64::from(MAX_CHOICE).powf(0.2);
    assert!(by_power(max * 0.999, 0.2).is_some());
    assert_eq!(by_power(max, 0.2), None);
}

#[test]
fn satf_response_scales_with_the_service_time() {
    let one = by_power(1.2, 0.2).unwrap();
    let long = satf_response(1.2 / 11.5, &satf_services(11.5, 0.2)).unwrap();
    assert!((long / 11.5 / one - 1.0).abs() < 1e-12);
}

/// The printed listing for M/M/1, services of 10 ms and 50 requests a second. Its result,
/// normalised or not, is far from the 20 ms of 1 / (1 / 10 ms - 50 / s).
#[test]
fn the_printed_listing_does_not_give_m_m_1() {
    let printed = |rate: f64, alone: f64| {
        let (mut p, mut sum, mut number) = (1.0, 1.0, 0.0);
        for m in 1..200 {
            p *= rate;
            sum += p;
            number += f64::from(m) * p;
        }
        number / (alone * sum + 1.0) / rate
    };
    let right = satf_response(0.05, &satf_services(10.0, 0.0)).unwrap();
    assert!((right - 20.0).abs() < 1e-9, "{right}");
    // With a rate per millisecond, and with a rate and a response in units of the service.
    assert!(printed(0.05, 10.0) < 1.0);
    assert!((printed(0.5, 1.0) - 2.0 * 2.0 / 3.0).abs() < 1e-9);
}

/// Services are exponential and depend on the length of the queue.
#[test]
fn satf_response_matches_a_simulated_process() {
    let (rate, services) = (1.2, satf_services(1.0, 0.2));
    let run = |seed| {
        let mut random = Random::new(seed);
        let (mut m, mut area, mut time) = (0_usize, 0.0, 0.0);
        for event in 0..200_000 {
            let leaving = m.checked_sub(1).map_or(0.0, |m| 1.0 / services[m.min(127)]);
            let pause = random.exponential(rate + leaving);
            if event >= 10_000 {
                area += m as f64 * pause;
                time += pause;
            }
            let arrives = random.uniform() < rate / (rate + leaving);
            m = if arrives { m + 1 } else { m - 1 };
        }
        [area / time / rate]
    };
    let [mean] = means((1..=20).map(run));
    mean.assert_near(satf_response(rate, &services).unwrap());
}
