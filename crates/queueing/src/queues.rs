//! Response times of single queues with Poisson arrivals: M/G/1, in order of arrival or with two
//! priority classes, E2/M/1, M/M/c, and shortest access time first as a birth-death process.

use crate::moments::Moments;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub mean: f64,
    pub variance: f64,
}

/// Returns the wait before service for arrivals at `rate` and independent service times with the
/// moments `service` (Pollaczek-Khinchine; liu05, equation B.4 and the text below it).
///
/// With load r = rate b1, the mean is rate b2 / 2 (1 - r). The mean square is twice the squared
/// mean, plus rate b3 / 3 (1 - r). `None` for a load of 1 or more, or a negative rate.
pub fn mg1_wait(rate: f64, service: &Moments) -> Option<Spread> {
    let idle = 1.0 - rate * service.first;
    if rate < 0.0 || idle <= 0.0 {
        return None;
    }
    let mean = rate * service.second / (2.0 * idle);
    let variance = rate * service.third / (3.0 * idle) + mean * mean;
    Some(Spread { mean, variance })
}

/// Returns the response time, from arrival to completion: the sum of the independent wait and
/// service (liu05, section 5.3.2 and appendix B.3). Returns `None` if [`mg1_wait`] does.
pub fn mg1_response(rate: f64, service: &Moments) -> Option<Spread> {
    let wait = mg1_wait(rate, service)?;
    Some(Spread {
        mean: wait.mean + service.first,
        variance: wait.variance + service.variance(),
    })
}

/// Returns the saturation rate, 1 / b1 (liu05, section 4.1.4); infinite if services take no time.
pub fn saturation_rate(service: &Moments) -> f64 {
    1.0 / service.first
}

#[derive(Clone, Copy, Debug)]
pub struct Class {
    /// The rate of Poisson arrivals, in the inverse of the unit of time.
    pub rate: f64,
    pub service: Moments,
}

impl Class {
    fn load(&self) -> f64 {
        self.rate * self.service.first
    }
}

/// Returns the mean waits of two classes with non-preemptive priority, `first` before `second`,
/// each in order of arrival, in the unit of the services (liu05, appendix B.4).
///
/// A request waits for the end of the current service, W0 = (rate1 b2 + rate2 b2') / 2 on average,
/// and for all requests that precede it. With loads r1 and r2 the waits are W0 / (1 - r1) and
/// W0 / (1 - r1) (1 - r1 - r2). `None` if the loads add up to 1 or more, or a rate is negative.
pub fn priority_waits(first: &Class, second: &Class) -> Option<(f64, f64)> {
    let idle = 1.0 - first.load() - second.load();
    if first.rate < 0.0 || second.rate < 0.0 || idle <= 0.0 {
        return None;
    }
    let residual = (first.rate * first.service.second + second.rate * second.service.second) / 2.0;
    let wait = residual / (1.0 - first.load());
    Some((wait, wait / idle))
}

/// Returns the mean response time in E2/M/1, from arrival to completion, for arrivals at `rate` and
/// a mean service time of `service`, in the unit of `service`.
///
/// If Poisson arrivals are routed to two disks in turn, the times between arrivals at each are
/// Erlang-2. The wait is s service / (1 - s), where s = (1 + 4 r - sqrt(1 + 8 r)) / 2 at the load
/// r = rate service is the probability that an arrival has to wait (liu05, section 7.2.1). `None`
/// for a load of 1 or more, or a negative rate.
pub fn e2m1_response(rate: f64, service: f64) -> Option<f64> {
    let waiting = waiting_probability(rate, service)?;
    Some(service * waiting / (1.0 - waiting) + service)
}

/// Returns the probability that an arrival in E2/M/1 finds the server busy.
fn waiting_probability(rate: f64, service: f64) -> Option<f64> {
    let load = rate * service;
    let is_stable = (0.0..1.0).contains(&load);
    is_stable.then(|| (1.0 + 4.0 * load - (1.0 + 8.0 * load).sqrt()) / 2.0)
}

/// Returns the mean response time in M/M/c, from arrival to completion, for a total arrival rate
/// of `rate` and a mean service time of `service`, in the unit of `service`.
///
/// Uses Erlang's formula for the probability that all servers are busy. For two servers, such as
/// disks that share one queue, the result is service / (1 - r^2), where r = rate service / 2 is the
/// load of each (liu05, section 7.3). `None` for a load of 1 or more, no servers or a rate below 0.
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

/// With more requests to choose from, the mean service is not shorter (liu05: "say M' = 128").
pub const MAX_CHOICE: u32 = 128;

/// Returns the mean service time for each number m of requests to choose from, from 1 to
/// [`MAX_CHOICE`]: `alone` m^-`power`, where `alone` is the mean for one request.
///
/// liu05, section 5.3.3, table 5.1: the power is 0.21 to 0.22, about a fifth, on its four drives.
pub fn satf_services(alone: f64, power: f64) -> Vec<f64> {
    let service = |m: u32| alone * f64::from(m).powf(-power);
    (1..=MAX_CHOICE).map(service).collect()
}

/// Returns the mean response time for arrivals at `rate`, in the unit of `services`; `None` if the
/// server is saturated, the rate is 0 or less, or there are no services.
///
/// The state is the number of requests m. Arrivals are Poisson; services are exponential with mean
/// `services`\[m - 1\], or the last entry for more requests. P\[m\] = `rate` x\[m\] P\[m - 1\], and
/// the response is the mean of m over `rate` by Little's law.
///
/// The listing in the thesis ("Computation of mean response time in SATF") is wrong as printed. It
/// uses service times relative to a single request and scales their sum only once, although a
/// product of m services needs the factor m times; it adds P\[0\] to a sum that already contains
/// it; and its loop continues while P is *small*. This function uses the recursion of the text.
pub fn satf_response(rate: f64, services: &[f64]) -> Option<f64> {
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
    // From the last entry on, the weights are a geometric series.
    weight *= last;
    sum += weight / (1.0 - last);
    let max = services.len() as f64;
    number += weight * (max / (1.0 - last) + last / (1.0 - last).powi(2));
    Some(number / sum / rate)
}

#[cfg(test)]
mod tests;
