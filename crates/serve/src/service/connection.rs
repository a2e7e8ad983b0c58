//! A connection of a service.

use std::io;
use std::time::Instant as Wall;

use diskarm_core::units::Span;

use super::{Service, Session};
use crate::figures::Statistics;
use crate::server::Permit;
use crate::stream::Stream;

/// A connection that has chosen its export.
pub struct Connection<S> {
    pub stream: Stream,
    pub session: S,
    /// When replies were due that have not been sent yet.
    pub due: Vec<Wall>,
    /// When its client has last sent something, or was asked for it.
    pub heard: Wall,
    /// The client has been asked for an answer.
    pub is_asked: bool,
    /// Counts it among the connections that are allowed.
    _permit: Permit,
}

impl<S: Session> Connection<S> {
    /// A connection that begins.
    pub fn new(stream: Stream, session: S, permit: Permit) -> Self {
        Self {
            stream,
            session,
            due: Vec::new(),
            heard: Wall::now(),
            is_asked: false,
            _permit: permit,
        }
    }

    /// Reads what the client has sent.
    ///
    /// # Errors
    /// If the connection is gone.
    pub fn receive(&mut self) -> io::Result<()> {
        if let Some(count) = self.stream.receive(self.session.room())? {
            self.session.filled(count);
            self.heard = Wall::now();
            self.is_asked = false;
        }
        Ok(())
    }

    /// Whether something is to be sent.
    pub fn has_output(&self) -> bool {
        !self.session.output().is_empty() || self.stream.has_output()
    }

    /// Sends replies; returns whether any left.
    ///
    /// # Errors
    /// If the connection is gone, or has to be closed.
    pub fn send(&mut self, desk: &mut impl Service<Session = S>) -> io::Result<bool> {
        let mut has_sent = false;
        self.stream.flush()?;
        let mut left = Wall::now();
        loop {
            let broken = desk.fill(&mut self.session);
            broken.map_err(|_| io::Error::other("the store failed in the middle of a reply"))?;
            if self.session.output().is_empty() {
                break;
            }
            // To send also takes the time in which the system wakes the client.
            left = Wall::now();
            match self.stream.send(self.session.output())? {
                Some(count) => self.session.sent(count),
                None => break,
            }
            has_sent = true;
        }
        // If the client does not take them, the server has still been in time.
        record(&mut self.due, left, desk.served());
        Ok(has_sent)
    }
}

/// Records how late replies that were `due` left.
fn record(due: &mut Vec<Wall>, left: Wall, served: &mut Statistics) {
    for due in due.drain(..) {
        let late = left.saturating_duration_since(due).as_nanos();
        served.left_late(Span::from_ns(late as i64));
    }
}
