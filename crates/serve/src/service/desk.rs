//! What a protocol does for a service.

use std::time::Instant as Wall;

use super::Connection;
use crate::control::PowerControl;
use crate::figures::Statistics;
use crate::slots::Slots;

/// The sessions of a service, by their numbers.
pub trait Clients<S> {
    /// The session with this number, if it is there.
    fn get_mut(&mut self, number: usize) -> Option<&mut S>;

    /// A reply of this session was due at this time.
    fn due(&mut self, number: usize, at: Wall);

    /// The numbers of all sessions.
    fn numbers(&self) -> Vec<usize>;
}

/// The connections of a service, by their numbers.
pub(super) type Connections<S> = Slots<Connection<S>>;

impl<S> Clients<S> for Connections<S> {
    fn get_mut(&mut self, number: usize) -> Option<&mut S> {
        Self::get_mut(self, number).map(|connection| &mut connection.session)
    }

    fn due(&mut self, number: usize, at: Wall) {
        if let Some(connection) = Self::get_mut(self, number) {
            connection.due.push(at);
        }
    }

    fn numbers(&self) -> Vec<usize> {
        self.iter().map(|(number, _)| number).collect()
    }
}

/// The server can continue only by closing the connection.
#[derive(Debug)]
pub struct Broken;

/// A connection beyond its handshake, without its socket: bytes go in, and bytes come out.
pub trait Session: Send + 'static {
    /// Where input goes; [`Self::filled`] says how much came.
    fn room(&mut self) -> &mut [u8];

    /// `count` bytes of input have arrived.
    fn filled(&mut self, count: usize);

    /// Whether more input is of use now.
    fn wants_input(&self) -> bool;

    /// What is to be sent.
    fn output(&self) -> &[u8];

    /// `count` bytes of the output have been sent.
    fn sent(&mut self, count: usize);

    /// The connection has ended as its protocol has it.
    fn is_over(&self) -> bool;

    /// Asks the client for an answer; `false` if the protocol cannot do that.
    fn ask(&mut self) -> bool {
        false
    }
}

/// The requests of all clients of an export.
pub trait Service: PowerControl + Send + 'static {
    /// Its side of a connection.
    type Session: Session;

    /// A connection begins; returns the numbers of those that have to end for it.
    fn opened(&mut self, _: usize, _: &mut dyn Clients<Self::Session>) -> Vec<usize> {
        Vec::new()
    }

    /// Takes the next message that has arrived at a connection, if one has.
    ///
    /// # Errors
    /// If the client does not keep to the protocol so much that its connection must be closed.
    fn take(
        &mut self,
        number: usize,
        clients: &mut dyn Clients<Self::Session>,
        now: Wall,
    ) -> Result<bool, Broken>;

    /// Takes what has ended by now; returns the connections with replies to send.
    fn serve_due(&mut self, clients: &mut dyn Clients<Self::Session>) -> Vec<usize>;

    /// Does the next part of long work that the device has no part in; returns the connections
    /// with replies to send.
    fn go_on(&mut self, _: &mut dyn Clients<Self::Session>) -> Vec<usize> {
        Vec::new()
    }

    /// Moves replies to the output of a session, as far as there is room.
    ///
    /// # Errors
    /// If data could not be read after a reply was begun that cannot say so.
    fn fill(&mut self, session: &mut Self::Session) -> Result<(), Broken>;

    /// A connection has ended: what its client has asked for is taken back.
    fn closed(&mut self, number: usize, session: Self::Session);

    /// Whether every request is answered that has arrived as a whole at a connection.
    fn is_answered(&self, number: usize, session: &Self::Session) -> bool;

    /// When something is due, if anything is.
    fn next(&self) -> Option<Wall>;

    /// Whether no request is under way.
    fn is_idle(&self) -> bool;

    /// The service has ended.
    fn end(self) -> Statistics;
}
