//! Whether requests arrive faster than a drive serves them.

use diskarm_core::units::Instant;

/// Fewer outstanding requests at the last arrival are a burst, not a growing backlog.
const MANY: u64 = 100;

/// Counts outstanding requests under an open load.
#[derive(Default)]
pub struct Backlog {
    first: Option<Instant>,
    last: Instant,
    end: Instant,
    arrived: u64,
    completed: u64,
    at_last: u64,
}

impl Backlog {
    #[inline]
    pub fn arrived(&mut self, now: Instant) {
        self.first.get_or_insert(now);
        self.last = now;
        self.arrived += 1;
        self.at_last = self.arrived - self.completed;
    }

    /// A request was completed; returns the number of completions.
    #[inline]
    pub fn completed(&mut self, now: Instant) -> u64 {
        self.end = now;
        self.completed += 1;
        self.completed
    }

    /// The number of requests outstanding at the last arrival.
    #[inline]
    pub fn at_last_arrival(&self) -> u64 {
        self.at_last
    }

    /// When the last request so far was completed.
    pub fn end(&self) -> Instant {
        self.end
    }

    /// Whether throughput stayed below 99 % of the arrival rate: the same requests took that much
    /// longer to be served than to arrive.
    pub fn is_growing(&self) -> bool {
        let first = self.first.unwrap_or_default();
        let (came, served) = (self.last - first, self.end - first);
        self.at_last >= MANY && came.as_s() < 0.99 * served.as_s()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a backlog grows at a server that takes `service_us` per request, with an arrival
    /// every millisecond.
    fn is_growing(requests: u64, service_us: u64) -> bool {
        let (mut backlog, mut done) = (Backlog::default(), 0);
        let finish = |id: u64| (id * 1_000).max((id + 1) * service_us) * 1_000;
        for id in 0..requests {
            let now = id * 1_000_000;
            while done < id && finish(done) <= now {
                backlog.completed(Instant::from_ns(finish(done)));
                done += 1;
            }
            backlog.arrived(Instant::from_ns(now));
        }
        for id in done..requests {
            backlog.completed(Instant::from_ns(finish(id)));
        }
        backlog.is_growing()
    }

    /// Served at 1/1.02 of the arrival rate, 10,000 requests leave a backlog of 200; at 1/1.005,
    /// 50,000 leave 250, which is less than one percent.
    #[test]
    fn a_growing_queue_differs_from_one_that_ends() {
        assert!(is_growing(10_000, 1_020));
        assert!(!is_growing(50_000, 1_005));
        assert!(!is_growing(10_000, 990));
        // Too few to tell from a burst.
        assert!(!is_growing(50, 2_000));
    }
}
