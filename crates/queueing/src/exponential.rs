//! Queues with exponential service times: E2/M/1 and M/M/c.
//!
//! If Poisson arrivals are routed to two disks in turn, each disk receives every second one, so its
//! interarrival times are Erlang-2 and it is an E2/M/1 queue (liu05, section 7.2.1). Two disks that
//! share one queue are M/M/2 (liu05, section 7.3).

/// Returns the mean wait in E2/M/1 for arrivals at `rate` and a mean service time of `service`, in
/// the unit of `service`.
///
/// The wait is s service / (1 - s), where s = (1 + 4 r - sqrt(1 + 8 r)) / 2 at the load
/// r = rate service is the probability that an arrival has to wait (liu05, section 7.2.1). `None`
/// for a load of 1 or more, or a negative rate.
pub fn e2m1_wait(rate: f64, service: f64) -> Option<f64> {
    let waiting = waiting_probability(rate, service)?;
    Some(service * waiting / (1.0 - waiting))
}

/// Returns the mean response time in E2/M/1, from arrival to completion: [`e2m1_wait`] plus the
/// service.
pub fn e2m1_response(rate: f64, service: f64) -> Option<f64> {
    Some(e2m1_wait(rate, service)? + service)
}

/// Returns the probability that an arrival in E2/M/1 finds the server busy; `None` under the same
/// conditions as [`e2m1_wait`].
pub fn waiting_probability(rate: f64, service: f64) -> Option<f64> {
    let load = rate * service;
    let is_stable = (0.0..1.0).contains(&load);
    is_stable.then(|| (1.0 + 4.0 * load - (1.0 + 8.0 * load).sqrt()) / 2.0)
}

/// Returns the mean response time in M/M/c, from arrival to completion, for a total arrival rate
/// of `rate` and a mean service time of `service`, in the unit of `service`.
///
/// Uses Erlang's formula for the probability that all servers are busy. For two servers the result
/// is service / (1 - r^2), where r = rate service / 2 is the load of each (liu05, section 7.3).
/// `None` if the load of each server is 1 or more, if there are no servers, or if the rate is
/// negative.
pub fn mmc_response(servers: u32, rate: f64, service: f64) -> Option<f64> {
    let offered = rate * service;
    let idle = f64::from(servers) - offered;
    if offered < 0.0 || idle <= 0.0 {
        return None;
    }
    // Erlang's loss probability, computed recursively; the waiting probability follows from it.
    let lost = (1..=servers).fold(1.0, |lost, n| {
        offered * lost / (f64::from(n) + offered * lost)
    });
    let load = offered / f64::from(servers);
    let waiting = lost / (1.0 - load * (1.0 - lost));
    Some(service + waiting * service / idle)
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
        assert_eq!(e2m1_wait(-0.1, 1.0), None);
    }

    /// Section 7.2.1: shorter than with exponential times between arrivals.
    #[test]
    fn it_is_faster_than_m_m_1() {
        for load in [0.05, 0.5, 0.95] {
            let even = e2m1_response(load, 1.0).unwrap();
            let random = mg1::response(load, &Moments::exponential(1.0)).unwrap();
            assert!(even < random.mean, "{load}");
        }
    }

    /// 20 simulated means; see [`crate::queue::Mean::assert_near`] for the level.
    #[test]
    fn a_simulated_e2m1_queue_agrees() {
        let run = |seed| {
            let pause = |r: &mut Random| r.exponential(1.2) + r.exponential(1.2);
            let waits = serve(&mut Random::new(seed), 1, pause, |r| r.exponential(1.0));
            [waits.iter().sum::<f64>() / waits.len() as f64]
        };
        let [mean] = means((1..=20).map(run));
        mean.assert_near(e2m1_wait(0.6, 1.0).unwrap());
    }

    #[test]
    fn one_server_is_m_m_1_and_two_are_as_printed() {
        for load in [0.0, 0.1, 0.5, 0.9, 0.99] {
            let one = mmc_response(1, load, 1.0).unwrap();
            assert!((one * (1.0 - load) - 1.0).abs() < 1e-12, "{load}");
            let two = mmc_response(2, 2.0 * load / 3.0, 3.0).unwrap();
            assert!(
                (two / 3.0 * (1.0 - load * load) - 1.0).abs() < 1e-12,
                "{load}"
            );
        }
        assert_eq!(mmc_response(2, 2.0, 1.0), None);
        assert_eq!(mmc_response(0, 0.0, 1.0), None);
        assert_eq!(mmc_response(2, -1.0, 1.0), None);
    }

    /// Section 7.3: a shared queue is at least as fast as cyclic routing.
    #[test]
    fn a_shared_queue_is_faster_than_cyclic_routing() {
        for load in [0.05, 0.5, 0.95] {
            assert!(
                mmc_response(2, 2.0 * load, 1.0) < e2m1_response(load, 1.0),
                "{load}"
            );
        }
    }

    /// 20 simulated means each; see [`crate::queue::Mean::assert_near`] for the level.
    #[test]
    fn simulated_mmc_queues_agree() {
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
}
