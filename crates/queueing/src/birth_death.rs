//! Shortest access time first as a birth-death process (liu05, section 5.3.3).

/// The maximum number of requests that shorten the mean service (liu05: "say M' = 128").
pub const MAX: u32 = 128;

/// Returns the mean service time by the number of requests to choose from, from 1 to [`MAX`]:
/// x\[m\] = `alone` m^-`power`, where `alone` is the service time of a single request, in any unit
/// of time.
///
/// liu05, section 5.3.3, table 5.1: the power is 0.21 to 0.22, about a fifth, on its four drives.
pub fn services(alone: f64, power: f64) -> Vec<f64> {
    let service = |m: u32| alone * f64::from(m).powf(-power);
    (1..=MAX).map(service).collect()
}

/// Returns the mean response time for arrivals at `rate`, in the unit of `services`; `None` if the
/// server is saturated, the rate is 0 or less, or there are no services.
///
/// The state is the number of requests m. Arrivals are Poisson, services exponential with mean
/// `services`\[m - 1\], and the last of these for more requests. P\[m\] = `rate` x\[m\] P\[m - 1\],
/// and the response is the mean of m over `rate` by Little's law.
///
/// The listing in the thesis ("Computation of mean response time in SATF") is wrong as printed. It
/// uses service times relative to a single request and scales their sum only once, although a
/// product of m services needs the factor m times; it adds P\[0\] to a sum that already contains
/// it; and its loop continues while P is *small*. This function uses the recursion of the text.
pub fn response(rate: f64, services: &[f64]) -> Option<f64> {
    let (&last, others) = services.split_last()?;
    let last = rate * last;
    if rate <= 0.0 || last >= 1.0 {
        return None;
    }
    let (mut weight, mut sum, mut number) = (1.0, 1.0, 0.0);
    for (m, service) in (1_u32..).zip(others) {
        weight *= rate * service;
        sum += weight;
        number += f64::from(m) * weight;
    }
    // From the last one on the weights are a geometric series.
    weight *= last;
    sum += weight / (1.0 - last);
    let max = services.len() as f64;
    number += weight * (max / (1.0 - last) + last / (1.0 - last).powi(2));
    Some(number / sum / rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{Random, means};

    fn by_power(load: f64, power: f64) -> Option<f64> {
        response(load, &services(1.0, power))
    }

    /// With a power of 0 it is M/M/1, whose mean response is 1 / (1 - load).
    #[test]
    fn without_a_choice_it_is_one_server() {
        for load in [0.1, 0.5, 0.9, 0.99] {
            let found = by_power(load, 0.0).unwrap();
            assert!((found * (1.0 - load) - 1.0).abs() < 1e-9, "{load} {found}");
        }
        assert_eq!(by_power(1.0, 0.0), None);
        assert_eq!(response(0.5, &[]), None);
        assert_eq!(by_power(0.0, 0.2), None);
    }

    /// With a power of 1 requests do not delay each other: M/M/infinity.
    #[test]
    fn nothing_waits_if_services_shrink_with_the_queue() {
        for load in [0.1, 1.0, 5.0, 40.0] {
            let found = by_power(load, 1.0).unwrap();
            assert!((found - 1.0).abs() < 1e-9, "{load} {found}");
        }
    }

    /// By hand up to three requests, at a load at which more are rare.
    #[test]
    fn weights_follow_the_powers() {
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
    fn it_saturates_at_the_rate_of_the_longest_queue() {
        let max = f64::from(MAX).powf(0.2);
        assert!(by_power(max * 0.999, 0.2).is_some());
        assert_eq!(by_power(max, 0.2), None);
    }

    /// The unit of time does not matter.
    #[test]
    fn services_of_any_length_scale() {
        let one = by_power(1.2, 0.2).unwrap();
        let long = response(1.2 / 11.5, &services(11.5, 0.2)).unwrap();
        assert!((long / 11.5 / one - 1.0).abs() < 1e-12);
    }

    /// The printed listing at M/M/1, services of 10 ms and 50 requests a second: normalised or not,
    /// it is far from the 20 ms of 1 / (1 / 10 ms - 50 / s).
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
        let right = response(0.05, &services(10.0, 0.0)).unwrap();
        assert!((right - 20.0).abs() < 1e-9, "{right}");
        // Rate per millisecond, and in services with a response in services.
        assert!(printed(0.05, 10.0) < 1.0);
        assert!((printed(0.5, 1.0) - 2.0 * 2.0 / 3.0).abs() < 1e-9);
    }

    /// 20 simulated means of a queue whose services are exponential and depend on its length; see
    /// [`crate::queue::Mean::assert_near`] for the level.
    #[test]
    fn a_simulated_process_agrees() {
        let (rate, services) = (1.2, services(1.0, 0.2));
        let run = |seed| {
            let mut random = Random::new(seed);
            let (mut m, mut area, mut time) = (0_usize, 0.0, 0.0);
            for event in 0..200_000 {
                let leaving = if m == 0 {
                    0.0
                } else {
                    1.0 / services[m.min(128) - 1]
                };
                let pause = random.exponential(rate + leaving);
                if event >= 10_000 {
                    area += m as f64 * pause;
                    time += pause;
                }
                if random.uniform() < rate / (rate + leaving) {
                    m += 1;
                } else {
                    m -= 1;
                }
            }
            [area / time / rate]
        };
        let [mean] = means((1..=20).map(run));
        mean.assert_near(response(rate, &services).unwrap());
    }
}
