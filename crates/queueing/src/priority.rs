//! Two classes of requests of which one goes first, without interrupting a service: head of line.

use crate::moments::Moments;

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

/// The mean waits of the requests that go `first` and of those that go `second`, each class in
/// order of arrival, in the unit of time (liu05, appendix B.4).
///
/// A request waits for the rest of the current service, W0 = (rate1 b2 + rate2 b2') / 2 on average,
/// and for all that goes before it. With loads r1 and r2 the waits are W0 / (1 - r1) and
/// W0 / (1 - r1) (1 - r1 - r2). `None` if the loads add up to 1 or more, or a rate is negative.
pub fn waits(first: &Class, second: &Class) -> Option<(f64, f64)> {
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
    use crate::mg1;
    use crate::queue::{Random, means};

    #[test]
    fn a_class_alone_is_m_g_1() {
        let alone = Class {
            rate: 0.3,
            service: Moments::uniform(4.0),
        };
        let none = Class { rate: 0.0, ..alone };
        let expected = mg1::wait(0.3, &alone.service).unwrap().mean;
        let (first, _) = waits(&alone, &none).unwrap();
        let (_, second) = waits(&none, &alone).unwrap();
        assert!((first - expected).abs() < 1e-12 && (second - expected).abs() < 1e-12);
    }

    /// Kleinrock's conservation law: the mean of the waits, weighted by the loads, does not depend
    /// on the order, and in order of arrival all have the wait of M/G/1.
    #[test]
    fn what_one_class_gains_the_other_loses() {
        let short = Class {
            rate: 0.2,
            service: Moments::constant(1.0),
        };
        let long = Class {
            rate: 0.1,
            service: Moments::exponential(5.0),
        };
        let all = Moments::mixture([short, long].map(|class| (class.rate, class.service)));
        let fcfs = mg1::wait(0.3, &all).unwrap().mean * (short.load() + long.load());
        for (a, b) in [(short, long), (long, short)] {
            let (first, second) = waits(&a, &b).unwrap();
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
        assert!(waits(&class, &class).is_none());
        let less = Class {
            rate: 0.49,
            ..class
        };
        assert!(waits(&class, &less).is_some());
    }

    /// 20 simulated means of uniform and exponential services; see
    /// [`crate::queue::Mean::assert_near`] for the level.
    #[test]
    fn a_simulated_queue_agrees() {
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
                let arrived = waiting[class].pop_front().expect("somebody waits");
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
        let expected = waits(&uniform, &class(0.3, Moments::exponential(1.0))).unwrap();
        first.assert_near(expected.0);
        second.assert_near(expected.1);
    }
}
