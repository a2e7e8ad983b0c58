//! Several servers with one queue, Poisson arrivals and exponential services: M/M/c.
//!
//! Two disks that serve the same requests from one queue are M/M/2, if their services are taken as
//! exponential (liu05, section 7.3).

/// The mean response from arrival to completion at arrivals of `rate` in all, at `servers` whose
/// services have the mean `service`, in its unit.
///
/// By Erlang's formula for the probability that all are busy. For two servers this is
/// service / (1 - r^2) with the load r = rate service / 2 of each (liu05, section 7.3). `None` if
/// the servers have a load of 1 or more each, without servers, and for a negative rate.
pub fn response(servers: u32, rate: f64, service: f64) -> Option<f64> {
    let offered = rate * service;
    let idle = f64::from(servers) - offered;
    if offered < 0.0 || idle <= 0.0 {
        return None;
    }
    // Erlang's loss probability, by its recursion, and from it that of a wait.
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
    use crate::e2m1;
    use crate::queue::{Random, means, serve};

    #[test]
    fn one_server_is_m_m_1_and_two_are_as_printed() {
        for load in [0.0, 0.1, 0.5, 0.9, 0.99] {
            let one = response(1, load, 1.0).unwrap();
            assert!((one * (1.0 - load) - 1.0).abs() < 1e-12, "{load}");
            let two = response(2, 2.0 * load / 3.0, 3.0).unwrap();
            assert!(
                (two / 3.0 * (1.0 - load * load) - 1.0).abs() < 1e-12,
                "{load}"
            );
        }
        assert_eq!(response(2, 2.0, 1.0), None);
        assert_eq!(response(0, 0.0, 1.0), None);
        assert_eq!(response(2, -1.0, 1.0), None);
    }

    /// Section 7.3: a shared queue is no slower than cyclic routing.
    #[test]
    fn a_shared_queue_is_faster_than_cyclic_routing() {
        for load in [0.05, 0.5, 0.95] {
            assert!(
                response(2, 2.0 * load, 1.0) < e2m1::response(load, 1.0),
                "{load}"
            );
        }
    }

    /// 20 simulated means each; see [`crate::queue::Mean::assert_near`] for the level.
    #[test]
    fn simulated_queues_agree() {
        for servers in [2, 5] {
            let rate = 0.8 * f64::from(servers);
            let run = |seed| {
                let mut random = Random::new(seed);
                let pause = |r: &mut Random| r.exponential(rate);
                let waits = serve(&mut random, servers as usize, pause, |r| r.exponential(1.0));
                [waits.iter().sum::<f64>() / waits.len() as f64]
            };
            let [wait] = means((1..=20).map(run));
            wait.assert_near(response(servers, rate, 1.0).unwrap() - 1.0);
        }
    }
}
