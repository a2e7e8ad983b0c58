//! A single server with Poisson arrivals and general service times, M/G/1: first come, first
//! served, or with two priority classes.

use crate::moments::Moments;

/// The mean and the variance of a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean, in the unit of time.
    pub mean: f64,
    /// The variance, in its square.
    pub variance: f64,
}

/// Returns the wait before service for arrivals at `rate` and independent services with the moments
/// `service` (Pollaczek-Khinchine; liu05, equation B.4 and the text below it).
///
/// With load r = rate b1, the mean is rate b2 / 2 (1 - r). The mean square is twice the square of
/// the mean plus rate b3 / 3 (1 - r). `None` for a load of 1 or more, or a negative rate.
pub fn wait(rate: f64, service: &Moments) -> Option<Spread> {
    let idle = 1.0 - rate * service.first;
    if rate < 0.0 || idle <= 0.0 {
        return None;
    }
    let mean = rate * service.second / (2.0 * idle);
    let variance = rate * service.third / (3.0 * idle) + mean * mean;
    Some(Spread { mean, variance })
}

/// Returns the response time, from arrival to completion: the wait plus the service, which are
/// independent (liu05, section 5.3.2 and appendix B.3). `None` under the same conditions as
/// [`wait`].
pub fn response(rate: f64, service: &Moments) -> Option<Spread> {
    let wait = wait(rate, service)?;
    Some(Spread {
        mean: wait.mean + service.first,
        variance: wait.variance + service.variance(),
    })
}

/// Returns the saturation rate, 1 / b1 (liu05, section 4.1.4); infinite for services that take no
/// time.
pub fn largest_rate(service: &Moments) -> f64 {
    1.0 / service.first
}

/// A class of requests.
#[derive(Clone, Copy, Debug)]
pub struct Class {
    /// Poisson arrivals, in the inverse of the unit of time.
    pub rate: f64,
    /// The moments of its services.
    pub service: Moments,
}

impl Class {
    fn load(&self) -> f64 {
        self.rate * self.service.first
    }
}

/// Returns the mean waits of two classes with non-preemptive priority, `first` before `second`,
/// each in order of arrival, in the unit of time (liu05, appendix B.4).
///
/// A request waits for the rest of the current service, W0 = (rate1 b2 + rate2 b2') / 2 on average,
/// and for all requests that precede it. With loads r1 and r2 the waits are W0 / (1 - r1) and
/// W0 / (1 - r1) (1 - r1 - r2). `None` if the loads add up to 1 or more, or a rate is negative.
pub fn priority_waits(first: &Class, second: &Class) -> Option<(f64, f64)> {
    let idle = 1.0 - first.load() - second.load();
    if first.rate < 0.0 || second.rate < 0.0 || idle <= 0.0 {
        return None;
    }
    let rest = (first.rate * first.service.second + second.rate * second.service.second) / 2.0;
    let wait = rest / (1.0 - first.load());
    Some((wait, wait / idle))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{Random, means, serve};

    /// The response of M/M/1 is exponential with mean 1 / (m - rate).
    #[test]
    fn exponential_services_are_m_m_1() {
        for load in [0.0, 0.1, 0.5, 0.9, 0.99] {
            let found = response(load, &Moments::exponential(1.0)).unwrap();
            let mean = 1.0 / (1.0 - load);
            assert!((found.mean / mean - 1.0).abs() < 1e-12, "{found:?}");
            assert!(
                (found.variance / mean / mean - 1.0).abs() < 1e-12,
                "{found:?}"
            );
        }
    }

    /// The wait of M/D/1 is r / 2 (1 - r) services, half that of M/M/1.
    #[test]
    fn constant_services_wait_half_as_long() {
        for load in [0.1, 0.5, 0.9] {
            let found = wait(load, &Moments::constant(1.0)).unwrap();
            assert!((found.mean - load / 2.0 / (1.0 - load)).abs() < 1e-12);
        }
    }

    #[test]
    fn it_saturates_at_a_load_of_one() {
        let service = Moments::uniform(10.0);
        assert!(wait(0.1999, &service).is_some());
        assert_eq!(wait(0.2, &service), None);
        assert_eq!(wait(0.3, &service), None);
        assert_eq!(wait(-0.1, &service), None);
        assert_eq!(largest_rate(&service), 0.2);
    }

    /// 20 simulated means of uniform services at a load of 0.6. Each bound is four standard errors
    /// of the means, which a right formula exceeds in about one seed of a thousand.
    #[test]
    fn a_simulated_queue_agrees() {
        let expected = wait(0.6, &Moments::uniform(2.0)).unwrap();
        let run = |seed| {
            let mut random = Random::new(seed);
            let waits = serve(
                &mut random,
                1,
                |r| r.exponential(0.6),
                |r| 2.0 * r.uniform(),
            );
            let squares = waits.iter().map(|w| (w - expected.mean).powi(2));
            let count = waits.len() as f64;
            let variance = squares.sum::<f64>() / count;
            [waits.iter().sum::<f64>() / count, variance]
        };
        let [mean, variance] = means((1..=20).map(run));
        mean.assert_near(expected.mean);
        variance.assert_near(expected.variance);
    }

    #[test]
    fn a_class_alone_is_m_g_1() {
        let alone = Class {
            rate: 0.3,
            service: Moments::uniform(4.0),
        };
        let none = Class { rate: 0.0, ..alone };
        let expected = wait(0.3, &alone.service).unwrap().mean;
        let (first, _) = priority_waits(&alone, &none).unwrap();
        let (_, second) = priority_waits(&none, &alone).unwrap();
        assert!((first - expected).abs() < 1e-12 && (second - expected).abs() < 1e-12);
    }

    /// Kleinrock's conservation law: the mean of the waits, weighted by the loads, does not depend
    /// on the order, and in order of arrival all have the wait of M/G/1.
    #[test]
    fn the_gain_of_one_class_is_the_loss_of_the_other() {
        let short = Class {
            rate: 0.2,
            service: Moments::constant(1.0),
        };
        let long = Class {
            rate: 0.1,
            service: Moments::exponential(5.0),
        };
        let all = Moments::mixture([short, long].map(|class| (class.rate, class.service)));
        let fcfs = wait(0.3, &all).unwrap().mean * (short.load() + long.load());
        for (a, b) in [(short, long), (long, short)] {
            let (first, second) = priority_waits(&a, &b).unwrap();
            assert!(first < second);
            assert!((first * a.load() + second * b.load() - fcfs).abs() < 1e-12);
        }
    }

    #[test]
    fn both_saturate_together() {
        let class = Class {
            rate: 0.5,
            service: Moments::constant(1.0),
        };
        assert!(priority_waits(&class, &class).is_none());
        let less = Class {
            rate: 0.49,
            ..class
        };
        assert!(priority_waits(&class, &less).is_some());
    }

    /// 20 simulated means of uniform and exponential services; see
    /// [`crate::queue::Mean::assert_near`] for the level.
    #[test]
    fn a_simulated_queue_of_two_classes_agrees() {
        let run = |seed| {
            let mut random = Random::new(seed);
            let (mut now, mut next) = (0.0, [0.0, 0.0]);
            let mut waiting: [std::collections::VecDeque<f64>; 2] = Default::default();
            let (mut sums, mut counts) = ([0.0; 2], [0; 2]);
            for served in 0..60_000 {
                let is_empty = waiting.iter().all(|queue| queue.is_empty());
                if is_empty {
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
            [
                sums[0] / f64::from(counts[0]),
                sums[1] / f64::from(counts[1]),
            ]
        };
        let [first, second] = means((1..=20).map(run));
        let class = |rate, service| Class { rate, service };
        let uniform = class(0.4, Moments::uniform(2.0));
        let expected = priority_waits(&uniform, &class(0.3, Moments::exponential(1.0))).unwrap();
        first.assert_near(expected.0);
        second.assert_near(expected.1);
    }
}
