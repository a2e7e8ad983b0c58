//! Helpers shared by the targets of several servers.

use std::time::Instant;

use diskarm_serve::Clients;

/// The open connections to a server, by their numbers.
pub struct Connections<S, const N: usize>(pub [Option<Box<S>>; N]);

impl<S, const N: usize> Clients<S> for Connections<S, N> {
    fn get_mut(&mut self, number: usize) -> Option<&mut S> {
        self.0.get_mut(number)?.as_deref_mut()
    }

    fn record_due(&mut self, _: usize, _: Instant) {}

    fn numbers(&self) -> Vec<usize> {
        (0..N).filter(|number| self.0[*number].is_some()).collect()
    }
}
