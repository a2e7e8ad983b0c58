//! A single server with Erlang-2 arrivals and exponential services: E2/M/1.
//!
//! Cyclic routing of Poisson arrivals to two disks gives each of them every second one, and so
//! these arrivals (liu05, section 7.2.1).

/// The mean wait at arrivals of `rate` for services with mean `service`, in its unit.
///
/// The wait is s service / (1 - s), where s = (1 + 4 r - sqrt(1 + 8 r)) / 2 at the load
/// r = rate service is the probability that an arrival has to wait (liu05, section 7.2.1). `None`
/// for a load of 1 or more, and a negative rate.
pub fn wait(rate: f64, service: f64) -> Option<f64> {
    let waiting = waiting_probability(rate, service)?;
    Some(service * waiting / (1.0 - waiting))
}

/// The mean response from arrival to completion: [`wait`] and the service.
pub fn response(rate: f64, service: f64) -> Option<f64> {
    Some(wait(rate, service)? + service)
}

/// The probability that an arrival finds the server busy; `None` as for [`wait`].
pub fn waiting_probability(rate: f64, service: f64) -> Option<f64> {
    let load = rate * service;
    let is_stable = (0.0..1.0).contains(&load);
    is_stable.then(|| (1.0 + 4.0 * load - (1.0 + 8.0 * load).sqrt()) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mg1;
    use crate::moments::Moments;
    use crate::queue::{Random, means, serve};

    /// The probability is a root of s = (2 r / (1 - s + 2 r))^2, the transform of the time between
    /// arrivals at (1 - s) / service.
    #[test]
    fn the_probability_of_a_wait_is_the_root_it_is_defined_by() {
        for load in [0.0, 0.01, 0.3, 0.5, 0.8, 0.99] {
            let s = waiting_probability(load, 1.0).unwrap();
            let transform = (2.0 * load / (1.0 - s + 2.0 * load)).powi(2);
            assert!((s - transform).abs() < 1e-12, "{load}");
        }
        assert_eq!(waiting_probability(1.0, 1.0), None);
        assert_eq!(wait(-0.1, 1.0), None);
    }

    /// Section 7.2.1: shorter than with exponential times between arrivals.
    #[test]
    fn it_is_faster_than_m_m_1() {
        for load in [0.05, 0.5, 0.95] {
            let even = response(load, 1.0).unwrap();
            let random = mg1::response(load, &Moments::exponential(1.0)).unwrap();
            assert!(even < random.mean, "{load}");
        }
    }

    /// 20 simulated means; see [`crate::queue::Mean::assert_near`] for the level.
    #[test]
    fn a_simulated_queue_agrees() {
        let run = |seed| {
            let pause = |r: &mut Random| r.exponential(1.2) + r.exponential(1.2);
            let waits = serve(&mut Random::new(seed), 1, pause, |r| r.exponential(1.0));
            [waits.iter().sum::<f64>() / waits.len() as f64]
        };
        let [mean] = means((1..=20).map(run));
        mean.assert_near(wait(0.6, 1.0).unwrap());
    }
}
