//! A connection of the simulated network.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};

use diskarm_serve::Channel;

#[derive(Default)]
pub struct SimChannel {
    /// The client at the other end.
    pub client: usize,
    /// Bytes that have arrived at the server.
    pub inbox: VecDeque<u8>,
    /// Bytes that the server has sent.
    pub outbox: VecDeque<u8>,
    /// Maximum number of bytes in the outbox.
    pub room: usize,
    /// Maximum number of bytes that one call receives or sends.
    pub max: usize,
    pub is_reset: bool,
}

impl Channel for SimChannel {
    fn receive(&mut self, data: &mut [u8]) -> io::Result<Option<usize>> {
        if self.is_reset {
            return Err(ErrorKind::ConnectionReset.into());
        }
        let count = data.len().min(self.inbox.len()).min(self.max);
        for (to, from) in data.iter_mut().zip(self.inbox.drain(..count)) {
            *to = from;
        }
        Ok((count > 0).then_some(count))
    }

    fn send(&mut self, data: &[u8]) -> io::Result<Option<usize>> {
        if self.is_reset {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let room = self.room.saturating_sub(self.outbox.len());
        let count = data.len().min(room).min(self.max);
        self.outbox.extend(&data[..count]);
        Ok((count > 0).then_some(count))
    }
}
