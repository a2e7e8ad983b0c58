//! The engine that serves an export over any protocol, without threads, sockets or a clock.
//!
//! The caller says which connections are ready, and supplies the clock. The engine reads requests
//! from their channels, writes replies, and returns the time at which it needs to be called again.
//! It is the sole owner of the [`Service`], with the device and the store. No client can delay
//! another: channels never block, each connection has its own buffers, and a connection that has
//! much to do gives way to the others after [`MAX_TURN`].

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant as HostInstant};

use diskarm_core::units::Span;
use slab::Slab;

use crate::control::{Command, PowerControl, Reply};
use crate::panics::contain;
use crate::statistics::Statistics;

/// Time after which a connection gives way to others. One message may take longer.
pub const MAX_TURN: Duration = Duration::from_micros(200);

/// Time limit for outstanding replies when the service stops.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection on which nothing has moved for this long is examined: a client that has sent only a
/// part of a request, or does not read its replies, is disconnected, and others are pinged. A
/// client that does not answer the ping for the same time is disconnected.
pub const MAX_SILENCE: Duration = Duration::from_secs(30);

/// A client with no request in progress may be disconnected after this time without a request if
/// the server has reached its maximum number of connections.
pub const MAX_IDLE: Duration = Duration::from_secs(60);

/// Reads the clock.
pub type Clock<'a> = &'a dyn Fn() -> HostInstant;

/// Carries the bytes of a connection. No method blocks.
pub trait Channel {
    /// Reads available input; returns `None` if there is none. Fails at the end of the connection.
    fn receive(&mut self, data: &mut [u8]) -> io::Result<Option<usize>>;

    /// Sends as much as there is room for; returns `None` if there is no room.
    fn send(&mut self, data: &[u8]) -> io::Result<Option<usize>>;

    /// Sends output that the channel has kept.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Returns true if the channel has kept input, so that [`Self::receive`] returns some.
    fn has_input(&self) -> bool {
        false
    }

    /// Returns true if the channel has kept output for [`Self::flush`].
    fn has_output(&self) -> bool {
        false
    }
}

/// A connection whose channel has input or room for output.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    pub number: usize,
    /// True if the client can no longer receive.
    pub has_disconnected: bool,
}

pub struct Engine<D: Service, C> {
    pub service: D,
    connections: Connections<D::Session, C>,
    /// The time by which the service must end; `None` until it is stopped.
    stop_deadline: Option<HostInstant>,
    /// Number of panics, each of which has closed a connection.
    panics: u64,
}

impl<D: Service, C: Channel> Engine<D, C> {
    pub const fn new(service: D) -> Self {
        Self {
            service,
            connections: Connections::new(),
            stop_deadline: None,
            panics: 0,
        }
    }

    pub const fn is_stopping(&self) -> bool {
        self.stop_deadline.is_some()
    }

    /// Drops all connections.
    pub fn into_service(self) -> D {
        self.service
    }

    pub const fn panics(&self) -> u64 {
        self.panics
    }

    /// Adds a connection; returns its number. Drops it if the service is stopping or has no power.
    pub fn connect(
        &mut self,
        connection: Connection<D::Session, C>,
        clock: Clock<'_>,
    ) -> Option<usize> {
        let now = clock();
        if self.stop_deadline.is_some() || self.service.cut_if_due(now) {
            return None;
        }
        self.service.statistics().connections += 1;
        let number = self.connections.insert(connection);
        for other in self.service.open(number, &mut self.connections, now) {
            self.close(other, now);
        }
        // Requests may already have arrived.
        self.pump(number, clock);
        Some(number)
    }

    /// Executes a command from the control socket; fails with a message for its client.
    pub fn execute(&mut self, command: &Command, clock: Clock<'_>) -> Result<Reply, String> {
        let now = clock();
        let reply = self.service.execute_command(command, now);
        self.close_if_off(now);
        reply
    }

    /// Stops accepting requests; [`Self::has_stopped`] returns true once all have been answered.
    pub fn stop(&mut self, now: HostInstant) {
        self.stop_deadline = Some(now + DRAIN_TIMEOUT);
    }

    /// Returns true if all clients have been answered or the time limit has passed.
    pub fn has_stopped(&self, now: HostInstant) -> bool {
        let deadline = self.stop_deadline;
        deadline.is_some_and(|deadline| self.connections.is_empty() || now >= deadline)
    }

    pub fn connections(&self) -> impl Iterator<Item = (usize, &Connection<D::Session, C>)> {
        self.connections.iter()
    }

    pub fn channel_mut(&mut self, number: usize) -> Option<&mut C> {
        let connection = self.connections.get_mut(number);
        connection.map(|connection| &mut connection.channel)
    }

    /// Returns true if the connection can use more input now.
    pub fn takes_input(&self, connection: &Connection<D::Session, C>) -> bool {
        self.stop_deadline.is_none() && connection.session.wants_input()
    }

    /// Returns true if the connection has work that needs no further input from its channel.
    pub fn has_more(&self, connection: &Connection<D::Session, C>) -> bool {
        connection.has_more || self.takes_input(connection) && connection.channel.has_input()
    }

    /// Returns the time of the next turn if there is no input; `now` if there is work to do.
    pub fn next_turn(&self, now: HostInstant) -> Option<HostInstant> {
        let has_more = |(_, connection)| self.has_more(connection);
        if self.service.has_work() || self.connections.iter().any(has_more) {
            return Some(now);
        }
        let connections = self.connections.iter();
        let silent = connections.map(|(_, connection)| connection.last_moved + MAX_SILENCE);
        let due = self.service.next_due().into_iter();
        silent.chain(due).chain(self.stop_deadline).min()
    }

    /// Serves the connections that are `ready`, and whatever is due.
    pub fn turn(&mut self, mut ready: Vec<Ready>, clock: Clock<'_>) {
        self.serve_due(clock);
        for (number, connection) in &self.connections {
            if self.has_more(connection) && !ready.iter().any(|ready| ready.number == number) {
                let has_disconnected = false;
                ready.push(Ready {
                    number,
                    has_disconnected,
                });
            }
        }
        for ready in ready {
            self.receive(ready, clock);
            self.serve_due(clock);
        }
        let end = clock() + MAX_TURN;
        while self.service.has_work() {
            let touched = self.service.continue_work(&mut self.connections, clock());
            if let Some(number) = touched {
                self.pump(number, clock);
            }
            if clock() >= end {
                break;
            }
        }
        let now = clock();
        self.close_if_off(now);
        self.examine_silent(clock);
        self.close_ended(now);
    }

    /// Handles the requests that have completed, and sends the replies.
    fn serve_due(&mut self, clock: Clock<'_>) {
        for number in self.service.serve_due(&mut self.connections, clock()) {
            self.pump(number, clock);
        }
    }

    fn receive(&mut self, ready: Ready, clock: Clock<'_>) {
        let number = ready.number;
        let is_stopping = self.stop_deadline.is_some();
        let Some(connection) = self.connections.get_mut(number) else {
            return;
        };
        if !is_stopping && connection.session.wants_input() {
            let now = clock();
            if connection.receive(now).is_err() {
                return self.close(number, now);
            }
        } else if ready.has_disconnected {
            return self.close(number, clock());
        }
        self.pump(number, clock);
    }

    /// Serves a connection, and closes it if that panics.
    fn pump(&mut self, number: usize, clock: Clock<'_>) {
        let consequence = "a client was disconnected";
        if contain(consequence, || self.handle_requests(number, clock)).is_none() {
            self.panics += 1;
            self.close(number, clock());
        }
    }

    /// Handles the requests of a connection and sends the replies, until input, room or the turn
    /// runs out.
    fn handle_requests(&mut self, number: usize, clock: Clock<'_>) {
        let mut now = clock();
        let end = now + MAX_TURN;
        if let Some(connection) = self.connections.get_mut(number) {
            connection.has_more = false;
        }
        loop {
            let mut has_more = false;
            while self.stop_deadline.is_none() {
                match self.service.handle_next(number, &mut self.connections, now) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(ConnectionError) => return self.close(number, now),
                }
                now = clock();
                if now >= end {
                    has_more = true;
                    break;
                }
            }
            let Some(connection) = self.connections.get_mut(number) else {
                return;
            };
            let sent = connection.send(&mut self.service, end, clock);
            match sent {
                Err(_) => return self.close(number, clock()),
                // There is no room for further replies.
                Ok(false) => {
                    connection.has_more |= has_more;
                    return;
                }
                Ok(true) => {}
            }
            now = clock();
            if now >= end {
                connection.has_more = true;
                return;
            }
        }
    }

    fn close(&mut self, number: usize, now: HostInstant) {
        if let Some(connection) = self.connections.try_remove(number) {
            self.service.close(number, connection.session, now);
        }
    }

    /// Disconnects or pings the clients of connections on which nothing has moved for too long.
    fn examine_silent(&mut self, clock: Clock<'_>) {
        let now = clock();
        let all = self.connections.iter();
        let silent = all.filter(|(_, connection)| connection.last_moved + MAX_SILENCE <= now);
        let numbers: Vec<usize> = silent.map(|(number, _)| number).collect();
        for number in numbers {
            let Some(connection) = self.connections.get_mut(number) else {
                continue;
            };
            let is_receiving = connection.session.is_receiving();
            if connection.is_pinged || connection.has_output() || is_receiving {
                self.close(number, now);
                continue;
            }
            connection.is_pinged = connection.session.ping();
            connection.last_moved = now;
            self.pump(number, clock);
        }
    }

    /// Disconnects the clients without requests in progress that have sent nothing for
    /// [`MAX_IDLE`].
    pub fn close_idle(&mut self, now: HostInstant) {
        let is_idle = |(number, connection): &(usize, &Connection<_, _>)| {
            connection.last_heard + MAX_IDLE <= now
                && self.service.is_answered(*number, &connection.session)
        };
        let idle = self.connections.iter().filter(is_idle);
        let numbers: Vec<usize> = idle.map(|(number, _)| number).collect();
        for number in numbers {
            self.close(number, now);
        }
    }

    fn close_if_off(&mut self, now: HostInstant) {
        if self.service.cut_if_due(now) {
            for number in self.connections.numbers() {
                self.close(number, now);
            }
        }
    }

    fn close_ended(&mut self, now: HostInstant) {
        let is_stopping = self.stop_deadline.is_some();
        let ended: Vec<usize> = self
            .connections
            .iter()
            .filter(|(number, connection)| {
                let session = &connection.session;
                let is_answered = || self.service.is_answered(*number, session);
                let may_end = session.has_ended() || is_stopping && is_answered();
                may_end && !connection.channel.has_output()
            })
            .map(|(number, _)| number)
            .collect();
        for number in ended {
            self.close(number, now);
        }
    }
}

/// The sessions of a service, by connection number.
pub trait Clients<S> {
    fn get_mut(&mut self, number: usize) -> Option<&mut S>;

    /// Records that a reply to the client of session `number` was due at `at`.
    fn record_due(&mut self, number: usize, at: HostInstant);

    fn numbers(&self) -> Vec<usize>;
}

type Connections<S, C> = Slab<Connection<S, C>>;

impl<S, C> Clients<S> for Connections<S, C> {
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

/// An error after which the connection must be closed.
#[derive(Debug)]
pub struct ConnectionError;

/// The server's side of a connection after its handshake, without the socket.
pub trait Session: Send + 'static {
    /// Returns the free space for input. The caller passes the number of bytes read to
    /// [`Self::filled`].
    fn room(&mut self) -> &mut [u8];

    fn filled(&mut self, count: usize);

    /// Returns true if the session can use more input now.
    fn wants_input(&self) -> bool;

    fn output(&self) -> &[u8];

    /// Drops the first `count` bytes of the output, after they have been sent.
    fn sent(&mut self, count: usize);

    /// Returns true if the connection has ended as its protocol specifies.
    fn has_ended(&self) -> bool;

    /// Returns true if the client has sent only a part of a message or of its data. A message that
    /// is complete waits for other clients or the device.
    fn is_receiving(&self) -> bool;

    /// Pings the client; returns false if the protocol has no ping.
    fn ping(&mut self) -> bool {
        false
    }
}

/// Serves the requests of all clients of an export.
pub trait Service: PowerControl + Send + 'static {
    type Session: Session;

    /// Adds a connection; returns the numbers of the connections that it replaces.
    fn open(
        &mut self,
        _number: usize,
        _clients: &mut dyn Clients<Self::Session>,
        _now: HostInstant,
    ) -> Vec<usize> {
        Vec::new()
    }

    /// Handles the next message that has arrived on a connection; returns false if there is none.
    /// Fails if the client has violated the protocol in a way that requires closing the connection.
    fn handle_next(
        &mut self,
        number: usize,
        clients: &mut dyn Clients<Self::Session>,
        now: HostInstant,
    ) -> Result<bool, ConnectionError>;

    /// Handles the requests that have completed; returns the connections that have replies to send.
    fn serve_due(
        &mut self,
        clients: &mut dyn Clients<Self::Session>,
        now: HostInstant,
    ) -> Vec<usize>;

    /// Returns true if there is long-running work that takes no device time.
    fn has_work(&self) -> bool {
        false
    }

    /// Does the next part of that work; returns the connection that has a reply to send.
    fn continue_work(
        &mut self,
        _clients: &mut dyn Clients<Self::Session>,
        _now: HostInstant,
    ) -> Option<usize> {
        None
    }

    /// Moves replies to the output of a session while there is room. Fails if the store fails in
    /// the middle of a reply, when it is too late to report an error.
    fn fill(&mut self, session: &mut Self::Session) -> Result<(), ConnectionError>;

    /// Removes a connection and aborts its requests.
    fn close(&mut self, number: usize, session: Self::Session, now: HostInstant);

    /// Returns true if every complete request of a connection has been answered.
    fn is_answered(&self, number: usize, session: &Self::Session) -> bool;

    /// Returns the next time at which something is due.
    fn next_due(&self) -> Option<HostInstant>;

    /// Returns true if no request is in progress.
    fn is_idle(&self) -> bool;

    fn finish(self) -> Statistics;
}

/// A connection that has chosen its export.
pub struct Connection<S, C> {
    pub channel: C,
    pub session: S,
    /// The due times of replies that have not been sent yet.
    due: Vec<HostInstant>,
    /// The last time that the client sent something.
    last_heard: HostInstant,
    /// The last time that the client sent or received something or was pinged.
    last_moved: HostInstant,
    /// True if the client has been pinged and has not answered yet.
    is_pinged: bool,
    /// True if the connection gave way to others before it had run out of work.
    has_more: bool,
    _permit: Permit,
}

impl<S: Session, C: Channel> Connection<S, C> {
    pub const fn new(channel: C, session: S, permit: Permit, now: HostInstant) -> Self {
        Self {
            channel,
            session,
            due: Vec::new(),
            last_heard: now,
            last_moved: now,
            is_pinged: false,
            has_more: false,
            _permit: permit,
        }
    }

    /// Reads input from the client. Fails if the connection is lost.
    fn receive(&mut self, now: HostInstant) -> io::Result<()> {
        if let Some(count) = self.channel.receive(self.session.room())? {
            self.session.filled(count);
            self.last_heard = now;
            self.last_moved = now;
            self.is_pinged = false;
        }
        Ok(())
    }

    pub fn has_output(&self) -> bool {
        !self.session.output().is_empty() || self.channel.has_output()
    }

    /// Sends replies until there are none, there is no room, or the time is `end`. Returns true if
    /// any were sent. Fails if the connection must be closed.
    fn send(
        &mut self,
        service: &mut impl Service<Session = S>,
        end: HostInstant,
        clock: Clock<'_>,
    ) -> io::Result<bool> {
        let mut has_sent = false;
        self.channel.flush()?;
        let mut sent_at = clock();
        loop {
            let filled = service.fill(&mut self.session);
            filled.map_err(|_| io::Error::other("I/O error in the store during a reply"))?;
            if self.session.output().is_empty() {
                break;
            }
            // The clock is read first, because sending includes the time taken to wake the client.
            sent_at = clock();
            match self.channel.send(self.session.output())? {
                Some(count) => self.session.sent(count),
                None => break,
            }
            has_sent = true;
            self.last_moved = sent_at;
            if sent_at >= end {
                break;
            }
        }
        // Replies that a client does not read do not count as late.
        record_lateness(&mut self.due, sent_at, service.statistics());
        Ok(has_sent)
    }
}

/// Records the lateness of replies that were due at the times `due` and were sent at `sent_at`.
fn record_lateness(due: &mut Vec<HostInstant>, sent_at: HostInstant, statistics: &mut Statistics) {
    for due in due.drain(..) {
        let late = sent_at.saturating_duration_since(due).as_nanos();
        statistics.record_lateness(Span::from_ns(late as i64));
    }
}

/// One of the permitted connections, released on drop.
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
