//! The interface between a protocol and the thread that serves an export.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant as HostInstant;

use diskarm_core::units::Span;
use slab::Slab;

use crate::control::PowerControl;
use crate::sockets::Stream;
use crate::statistics::Statistics;

/// The sessions of a service, by connection number.
pub trait Clients<S> {
    fn get_mut(&mut self, number: usize) -> Option<&mut S>;

    /// Records that a reply of session `number` was due at `at`.
    fn record_due(&mut self, number: usize, at: HostInstant);

    fn numbers(&self) -> Vec<usize>;
}

pub(crate) type Connections<S> = Slab<Connection<S>>;

impl<S> Clients<S> for Connections<S> {
    fn get_mut(&mut self, number: usize) -> Option<&mut S> {
        Self::get_mut(self, number).map(|connection| &mut connection.session)
    }

    fn record_due(&mut self, number: usize, at: HostInstant) {
        if let Some(connection) = Self::get_mut(self, number) {
            connection.due.push(at);
        }
    }

    fn numbers(&self) -> Vec<usize> {
        self.iter().map(|(number, _)| number).collect()
    }
}

/// The connection can only be closed.
#[derive(Debug)]
pub struct ConnectionError;

/// The server's side of a connection after its handshake, without the socket.
pub trait Session: Send + 'static {
    /// Free space for input. The caller reports how much of it was used to [`Self::filled`].
    fn room(&mut self) -> &mut [u8];

    fn filled(&mut self, count: usize);

    /// Returns true if the session can use more input now.
    fn wants_input(&self) -> bool;

    fn output(&self) -> &[u8];

    /// Drops the first `count` bytes of the output, which have been sent.
    fn sent(&mut self, count: usize);

    /// Returns true if the connection has ended in the way that its protocol specifies.
    fn has_ended(&self) -> bool;

    /// Pings the client; returns false if the protocol has no ping.
    fn ping(&mut self) -> bool {
        false
    }
}

/// Serves the requests of all clients of an export.
pub trait Service: PowerControl + Send + 'static {
    /// The protocol's side of a connection.
    type Session: Session;

    /// Adds a connection; returns the numbers of the connections that it replaces.
    fn open(&mut self, _: usize, _: &mut dyn Clients<Self::Session>) -> Vec<usize> {
        Vec::new()
    }

    /// Handles the next message that has arrived at a connection; returns false if there is none.
    ///
    /// # Errors
    /// If the client has violated the protocol in a way that requires closing the connection.
    fn handle_next(
        &mut self,
        number: usize,
        clients: &mut dyn Clients<Self::Session>,
        now: HostInstant,
    ) -> Result<bool, ConnectionError>;

    /// Handles what has completed by now; returns the connections that have replies to send.
    fn serve_due(&mut self, clients: &mut dyn Clients<Self::Session>) -> Vec<usize>;

    /// Does the next part of long work that takes no device time; returns the connections that have
    /// replies to send.
    fn continue_work(&mut self, _: &mut dyn Clients<Self::Session>) -> Vec<usize> {
        Vec::new()
    }

    /// Moves replies to the output of a session while there is room.
    ///
    /// # Errors
    /// If data could not be read after the start of a reply that cannot report an error.
    fn fill(&mut self, session: &mut Self::Session) -> Result<(), ConnectionError>;

    /// Removes a connection and aborts its requests.
    fn close(&mut self, number: usize, session: Self::Session);

    /// Returns true if every complete request of a connection has been answered.
    fn is_answered(&self, number: usize, session: &Self::Session) -> bool;

    /// The next time at which something is due.
    fn next_due(&self) -> Option<HostInstant>;

    /// Returns true if no request is in progress.
    fn is_idle(&self) -> bool;

    fn finish(self) -> Statistics;
}

/// A connection that has chosen its export.
pub struct Connection<S> {
    pub stream: Stream,
    pub session: S,
    /// The due times of replies that have not been sent yet.
    pub due: Vec<HostInstant>,
    /// The last time that the client sent something, or was pinged.
    pub last_heard: HostInstant,
    /// The client has been pinged and has not answered yet.
    pub is_pinged: bool,
    _permit: Permit,
}

impl<S: Session> Connection<S> {
    pub fn new(stream: Stream, session: S, permit: Permit) -> Self {
        Self {
            stream,
            session,
            due: Vec::new(),
            last_heard: HostInstant::now(),
            is_pinged: false,
            _permit: permit,
        }
    }

    /// Reads what the client has sent. Fails if the connection is lost.
    pub fn receive(&mut self) -> io::Result<()> {
        if let Some(count) = self.stream.receive(self.session.room())? {
            self.session.filled(count);
            self.last_heard = HostInstant::now();
            self.is_pinged = false;
        }
        Ok(())
    }

    pub fn has_output(&self) -> bool {
        !self.session.output().is_empty() || self.stream.has_output()
    }

    /// Sends replies; returns true if any were sent. Fails if the connection is lost or has to be
    /// closed.
    pub fn send(&mut self, service: &mut impl Service<Session = S>) -> io::Result<bool> {
        let mut has_sent = false;
        self.stream.flush()?;
        let mut left = HostInstant::now();
        loop {
            let filled = service.fill(&mut self.session);
            filled.map_err(|_| io::Error::other("the store failed in the middle of a reply"))?;
            if self.session.output().is_empty() {
                break;
            }
            // Sending includes the time that the operating system takes to wake the client.
            left = HostInstant::now();
            match self.stream.send(self.session.output())? {
                Some(count) => self.session.sent(count),
                None => break,
            }
            has_sent = true;
        }
        // A client that does not read its replies does not make the server late.
        record(&mut self.due, left, service.statistics());
        Ok(has_sent)
    }
}

/// Records the lateness of replies that were `due` and left at `left`.
fn record(due: &mut Vec<HostInstant>, left: HostInstant, statistics: &mut Statistics) {
    for due in due.drain(..) {
        let late = left.saturating_duration_since(due).as_nanos();
        statistics.record_lateness(Span::from_ns(late as i64));
    }
}

/// A slot among the allowed connections, released on drop.
pub struct Permit(Arc<AtomicUsize>);

impl Permit {
    pub fn new(connection_count: &Arc<AtomicUsize>) -> Self {
        connection_count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(connection_count))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
