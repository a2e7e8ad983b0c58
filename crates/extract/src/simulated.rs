//! A drive of the model, in virtual time.

use diskarm_core::spec::Spec;
use diskarm_core::text::InputError;
use diskarm_core::units::{Angle, Instant, Span};
use diskarm_emulate::{Attribute, Realism, Response, Single, Status, Task, Unit};
use diskarm_wire::Command;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{Data, Reply, Transport, TransportError};

/// How long the host takes between the end of a command and the sending of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostDelay {
    /// At least.
    pub min: Span,
    /// At most; the delay is uniform between the two.
    pub max: Span,
}

/// A drive of the model behind a logical unit, in virtual time: a second of the drive takes far
/// less than a second.
pub struct SimulatedDrive {
    unit: Unit<Single>,
    now: Instant,
    host: HostDelay,
    generator: Pcg64Mcg,
    sent: u64,
}

impl SimulatedDrive {
    /// A drive as `spec` describes it, which has turned by a random angle when the clock begins.
    ///
    /// # Errors
    /// The specification contradicts itself.
    pub fn new(spec: &Spec, host: HostDelay, seed: u64) -> Result<Self, InputError> {
        Self::realistic(spec, host, seed, Realism::default())
    }

    /// The same, more like a real drive; what it does at random has the seed of `realism`.
    ///
    /// # Errors
    /// See [`Self::new`].
    pub fn realistic(
        spec: &Spec,
        host: HostDelay,
        seed: u64,
        realism: Realism,
    ) -> Result<Self, InputError> {
        let mut generator = Pcg64Mcg::seed_from_u64(seed);
        let origin = Angle::from_raw(generator.next_u64());
        let mut simulated = Self {
            unit: Unit::new(Single::new(spec, origin, seed)?).realistic(realism),
            now: Instant::START,
            host,
            generator,
            sent: 0,
        };
        // The first command is told that the power came on.
        let mut block = [0; 16];
        let length = Command::TestUnitReady.emit(&mut block);
        simulated.serve(&block[..length], &[]);
        Ok(simulated)
    }

    fn delay(&mut self) -> Span {
        let width = (self.host.max - self.host.min).as_ns() as u64 + 1;
        let random = (u128::from(self.generator.next_u64()) * u128::from(width)) >> 64;
        self.host.min + Span::from_ns(random as i64)
    }

    /// Sends a command, which is the only one, and waits for its end.
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
                // With noise the host sees the end later than it is due.
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

    fn rest(&mut self, span: Span) {
        self.now += span;
    }

    fn now(&self) -> Instant {
        self.now
    }
}
