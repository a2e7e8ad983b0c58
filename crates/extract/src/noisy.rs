//! A transport whose clock is not exact.

use diskarm_core::units::{Instant, Span};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{Data, Reply, Transport, TransportError};

/// Sees the ends of commands late or early, by normal deviates: noise of a host's clock, for tests
/// of what measurements make of it.
pub struct NoisyTransport<'a> {
    behind: Box<dyn Transport + 'a>,
    deviation: Span,
    generator: Pcg64Mcg,
}

impl<'a> NoisyTransport<'a> {
    /// With so large a standard deviation. An end is never seen before its command was sent.
    pub fn new(behind: Box<dyn Transport + 'a>, deviation: Span, seed: u64) -> Self {
        Self {
            behind,
            deviation,
            generator: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    /// Box and Muller's normal deviate.
    fn normal(&mut self) -> f64 {
        let mut uniform = || (self.generator.next_u64() >> 11) as f64 / 2f64.powi(53);
        let (radius, turn) = (1.0 - uniform(), uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * turn).cos()
    }
}

impl Transport for NoisyTransport<'_> {
    fn execute(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, TransportError> {
        let mut reply = self.behind.execute(command, data)?;
        let late = Span::from_ns((self.normal() * self.deviation.as_ns() as f64) as i64);
        reply.ended = reply.ended.shifted(late).max(reply.sent);
        Ok(reply)
    }

    fn rest(&mut self, span: Span) {
        self.behind.rest(span);
    }

    fn now(&self) -> Instant {
        self.behind.now()
    }
}
