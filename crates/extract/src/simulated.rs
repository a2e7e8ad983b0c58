//! A simulated drive in virtual time, and a noisy host clock.

use diskarm_core::random::below;
use diskarm_core::spec::Spec;
use diskarm_core::text::InputError;
use diskarm_core::units::{Angle, Instant, Span};
use diskarm_emulate::{Attribute, Realism, Response, Single, Status, Task, Unit};
use diskarm_wire::Command;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{Data, Reply, Transport, TransportError};

/// Delay from the end of a command to the start of the next, uniform between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostDelay {
    pub min: Span,
    pub max: Span,
}

/// A model of a drive and its logical unit, in virtual time, which passes faster than real time.
pub struct SimulatedDrive {
    unit: Unit<Single>,
    now: Instant,
    host: HostDelay,
    generator: Pcg64Mcg,
    sent: u64,
}

impl SimulatedDrive {
    /// Creates the drive that `spec` describes, rotated by a random angle.
    ///
    /// # Errors
    /// The specification contradicts itself.
    pub fn new(spec: &Spec, host: HostDelay, seed: u64) -> Result<Self, InputError> {
        Self::with_realism(spec, host, seed, Realism::default())
    }

    /// Like [`Self::new`], but with noise and quirks, whose seed is part of `realism`.
    ///
    /// # Errors
    /// The specification contradicts itself.
    pub fn with_realism(
        spec: &Spec,
        host: HostDelay,
        seed: u64,
        realism: Realism,
    ) -> Result<Self, InputError> {
        let mut generator = Pcg64Mcg::seed_from_u64(seed);
        let origin = Angle::from_raw(generator.next_u64());
        let mut simulated = Self {
            unit: Unit::new(Single::new(spec, origin, seed)?).with_realism(realism),
            now: Instant::START,
            host,
            generator,
            sent: 0,
        };
        // The reply to a host's first command reports that the drive was powered on.
        let mut block = [0; 16];
        let length = Command::TestUnitReady.emit(&mut block);
        simulated.serve(&block[..length], &[]);
        Ok(simulated)
    }

    fn delay(&mut self) -> Span {
        let width = (self.host.max - self.host.min).as_ns() as u64 + 1;
        let random = below(&mut self.generator, width);
        self.host.min + Span::from_ns(random as i64)
    }

    /// Executes a command while no other is outstanding.
    fn serve(&mut self, command: &[u8], data_out: &[u8]) -> Response {
        self.sent += 1;
        let task = Task {
            id: self.sent,
            initiator: 0,
            attribute: Attribute::Simple,
            command,
            data_out,
        };
        self.unit.submit(self.now, task);
        loop {
            let next = self.unit.next_event().expect("a task is outstanding");
            self.now = next.max(self.now);
            if let Some(response) = self.unit.advance(next) {
                // With noise, the host sees a command end later than it actually does.
                self.now = self.now.max(response.at);
                return response;
            }
        }
    }
}

impl Transport for SimulatedDrive {
    fn execute(&mut self, command: &[u8], mut data: Data<'_>) -> Result<Reply, TransportError> {
        let delay = self.delay();
        self.now += delay;
        let sent = self.now;
        let data_out: &[u8] = match &data {
            Data::Out(bytes) => bytes,
            Data::None | Data::In(_) => &[],
        };
        let response = self.serve(command, data_out);
        let good = response.status == Status::Good;
        let transferred = match &mut data {
            Data::In(room) => {
                let length = room.len().min(response.data_in.len());
                room[..length].copy_from_slice(&response.data_in[..length]);
                length
            }
            Data::Out(bytes) if good => bytes.len(),
            Data::Out(_) | Data::None => 0,
        };
        Ok(Reply {
            status: response.status as u8,
            sense: response.sense,
            transferred,
            sent,
            ended: response.at,
        })
    }

    fn sleep(&mut self, span: Span) {
        self.now += span;
    }

    fn now(&self) -> Instant {
        self.now
    }
}

/// Adds normally distributed noise to a transport's completion times, like an inexact host clock.
pub struct NoisyTransport<'a> {
    inner: Box<dyn Transport + 'a>,
    deviation: Span,
    generator: Pcg64Mcg,
}

impl<'a> NoisyTransport<'a> {
    /// Adds noise with this standard deviation. No command ends before it is sent.
    pub fn new(inner: Box<dyn Transport + 'a>, deviation: Span, seed: u64) -> Self {
        Self {
            inner,
            deviation,
            generator: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    /// Returns a normal deviate (Box and Muller).
    fn normal(&mut self) -> f64 {
        let mut uniform = || (self.generator.next_u64() >> 11) as f64 / 2f64.powi(53);
        let (radius, turn) = (1.0 - uniform(), uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * turn).cos()
    }
}

impl Transport for NoisyTransport<'_> {
    fn execute(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, TransportError> {
        let mut reply = self.inner.execute(command, data)?;
        let late = Span::from_ns((self.normal() * self.deviation.as_ns() as f64) as i64);
        reply.ended = reply.ended.shifted(late).max(reply.sent);
        Ok(reply)
    }

    fn sleep(&mut self, span: Span) {
        self.inner.sleep(span);
    }

    fn now(&self) -> Instant {
        self.inner.now()
    }
}
