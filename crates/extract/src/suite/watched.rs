//! Tells an observer how far a run is.

use diskarm_core::units::{Instant, Span};

use super::{Observer, Progress};
use crate::{Cost, Data, Reply, Transport, TransportError};

/// A transport that reports each command.
pub(super) struct Watched<'a> {
    transport: Box<dyn Transport>,
    observer: &'a mut dyn Observer,
    /// The progress when the measurement began.
    before: Progress,
    began: Instant,
    commands: u64,
}

impl<'a> Watched<'a> {
    pub fn new(
        transport: Box<dyn Transport>,
        before: Progress,
        observer: &'a mut dyn Observer,
    ) -> Self {
        observer.progressed(&before);
        Self {
            began: transport.now(),
            transport,
            observer,
            before,
            commands: 0,
        }
    }

    fn report(&mut self) {
        let so_far = self.transport.now() - self.began;
        let usual = self.before.measurement.usual(self.before.effort);
        let over = if so_far < usual { so_far } else { usual };
        let progress = Progress {
            cost: Cost {
                commands: self.before.cost.commands + self.commands,
                time: self.before.cost.time + so_far,
                ..self.before.cost
            },
            left: (self.before.left - over).max(Span::ZERO),
            ..self.before
        };
        self.observer.progressed(&progress);
    }
}

impl Transport for Watched<'_> {
    fn execute(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, TransportError> {
        let reply = self.transport.execute(command, data);
        self.commands += 1;
        self.report();
        reply
    }

    fn rest(&mut self, span: Span) {
        self.transport.rest(span);
    }

    fn now(&self) -> Instant {
        self.transport.now()
    }
}
