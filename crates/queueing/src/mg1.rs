//! A single server in order of arrival, with Poisson arrivals and any service times: M/G/1.

use crate::moments::Moments;

/// A time's mean, and its variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean, in the unit of time.
    pub mean: f64,
    /// The variance, in its square.
    pub variance: f64,
}

/// The wait before service at arrivals of `rate`, where services are independent and have the
/// moments `service` (Pollaczek and Khinchine; liu05, equation B.4 and below it).
///
/// With load r = rate b1, the mean is rate b2 / 2 (1 - r). The mean square is twice the mean's
/// square and rate b3 / 3 (1 - r). `None` for a load of 1 or more, and a negative rate.
pub fn wait(rate: f64, service: &Moments) -> Option<Spread> {
    let idle = 1.0 - rate * service.first;
    if rate < 0.0 || idle <= 0.0 {
        return None;
    }
    let mean = rate * service.second / (2.0 * idle);
    let variance = rate * service.third / (3.0 * idle) + mean * mean;
    Some(Spread { mean, variance })
}

/// The response from arrival to completion: the wait and the service, which are independent (liu05,
/// section 5.3.2 and appendix B.3). `None` as for [`wait`].
pub fn response(rate: f64, service: &Moments) -> Option<Spread> {
    let wait = wait(rate, service)?;
    Some(Spread {
        mean: wait.mean + service.first,
        variance: wait.variance + service.variance(),
    })
}

/// The rate that this server cannot reach: 1 / b1 (liu05, section 4.1.4); infinite for services
/// that take no time.
pub fn largest_rate(service: &Moments) -> f64 {
    1.0 / service.first
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
}
