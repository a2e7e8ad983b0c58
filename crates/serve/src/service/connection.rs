//! A connection of a service.

use std::io;
use std::time::Instant as Wall;

use diskarm_core::stats::Histogram;

use super::record;
use crate::nbd::Session;
use crate::server::Permit;
use crate::sockets::Stream;
use crate::store::Store;

/// A connection that has chosen its export.
pub struct Connection {
    pub stream: Stream,
    pub session: Session,
    /// When replies were due that have not been sent yet.
    pub due: Vec<Wall>,
    /// Counts it among the connections that are allowed.
    pub _permit: Permit,
}

impl Connection {
    /// Sends replies; returns whether any left.
    ///
    /// # Errors
    /// If the connection is gone, or has to be closed.
    pub fn send(&mut self, store: &mut dyn Store, lateness: &mut Histogram) -> io::Result<bool> {
        let mut has_sent = false;
        loop {
            let broken = self.session.fill(store);
            broken.map_err(|_| io::Error::other("the store failed in the middle of a reply"))?;
            if self.session.output().is_empty() {
                break;
            }
            match self.stream.send(self.session.output())? {
                Some(count) => self.session.sent(count),
                None => break,
            }
            has_sent = true;
        }
        // If the client does not take them, the server has still been in time.
        record(&mut self.due, lateness);
        Ok(has_sent)
    }
}
