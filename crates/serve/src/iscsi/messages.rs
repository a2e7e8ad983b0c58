//! Messages that arrive, in their order.

use std::time::Instant as Wall;

use diskarm_wire::iscsi::{
    Lengths, LogoutRequest, LogoutResponse, Message, NopIn, NopOut, Serial, Tag, TextRequest,
    TextResponse, logout_reason, logout_response, reject_reason,
};

use super::connection::Connection;
use super::desk::{Clients, IscsiTarget};
use super::discovery::targets;
use super::reply::PIECE;
use super::session::{Joined, Session};
use super::window::Order;
use crate::service::Broken;

/// Whence a message comes.
#[derive(Clone, Copy, Debug)]
pub struct By {
    /// The place of the session.
    pub place: usize,
    /// The number of the connection.
    pub number: usize,
}

/// Before the numbers of a message are filled in.
const UNSET: Serial = Serial(0);

impl IscsiTarget {
    /// Takes a message that has arrived, and those that have waited for it.
    ///
    /// # Errors
    /// If the connection must be closed.
    pub(super) fn arrived(
        &mut self,
        by: By,
        message: Message,
        data: Vec<u8>,
        clients: &mut Clients<'_>,
        now: Wall,
    ) -> Result<(), Broken> {
        let Some(session) = self.sessions.get_mut(by.place) else {
            return Err(Broken);
        };
        if let Message::DataOut(message) = message {
            if let Some(data) = session.keep_early_data(by.number, &message, data)? {
                self.data(by, &message, &data, clients, now);
            }
            return Ok(());
        }
        if let Some((is_immediate, command)) = numbered(&message) {
            match session.window.order(is_immediate, command) {
                Order::Next => {}
                Order::Ahead => return session.keep_early(by.number, command, message, data),
                Order::Outside => return Ok(()),
            }
        }
        self.serve(by, &message, data, clients, now);
        while let Some(early) = self
            .sessions
            .get_mut(by.place)
            .and_then(Session::next_early)
        {
            let number = early.number;
            let by = By { number, ..by };
            self.serve(by, &early.message, early.data, clients, now);
            for (message, data) in &early.parts {
                self.data(by, message, data, clients, now);
            }
            self.touched.push(number);
        }
        Ok(())
    }

    /// Takes any message but data, in its turn.
    fn serve(
        &mut self,
        by: By,
        message: &Message,
        data: Vec<u8>,
        clients: &mut Clients<'_>,
        now: Wall,
    ) {
        match message {
            Message::Command(command) => return self.command(by, command, &data, clients, now),
            Message::TaskRequest(request) => return self.manage(by, request, clients, now),
            Message::LogoutRequest(request) => return self.log_out(by, request, clients),
            _ => {}
        }
        let Some(connection) = clients.get_mut(by.number) else {
            return;
        };
        match message {
            // An answer to the target's own ping.
            Message::NopOut(ping) if ping.tag == Tag::NONE => {}
            Message::NopOut(ping) => answer_ping(connection, ping, data),
            Message::TextRequest(request) => self.text(connection, request, &data),
            Message::Snack(_) => {
                let header = message.emit(Lengths::of_data(data.len()));
                connection.reject(reject_reason::SNACK, header);
            }
            // A login after the login, or what only targets send.
            _ => {
                let header = message.emit(Lengths::of_data(data.len()));
                connection.reject(reject_reason::PROTOCOL_ERROR, header);
                connection.finish();
            }
        }
    }

    /// Answers text: in a normal session there is only one target to tell of.
    fn text(&self, connection: &mut Connection, request: &TextRequest, data: &[u8]) {
        let facts = std::slice::from_ref(&self.facts);
        let answer = targets(data, &connection.address, facts);
        let max = (connection.parameters.max_send as usize).min(PIECE);
        let is_short = answer.len() <= max;
        if request.continues || request.transfer != Tag::NONE || !is_short {
            let header = Message::TextRequest(*request).emit(Lengths::of_data(data.len()));
            return connection.reject(reject_reason::PROTOCOL_ERROR, header);
        }
        let response = TextResponse {
            is_final: true,
            continues: false,
            lun: request.lun,
            tag: request.tag,
            transfer: Tag::NONE,
            status: UNSET,
            expected_command: UNSET,
            max_command: UNSET,
        };
        connection.say(Message::TextResponse(response), answer);
    }

    fn log_out(&mut self, by: By, request: &LogoutRequest, clients: &mut Clients<'_>) {
        let Some(session) = self.sessions.get_mut(by.place) else {
            return;
        };
        let named = |joined: &&Joined| joined.name == request.connection;
        let connections = session.connections.iter();
        let (response, ending): (u8, Vec<Joined>) = match request.reason {
            logout_reason::CLOSE_SESSION => {
                (logout_response::CLOSED, connections.copied().collect())
            }
            logout_reason::CLOSE_CONNECTION if session.named(request.connection).is_some() => {
                let ending = connections.filter(named).copied().collect();
                (logout_response::CLOSED, ending)
            }
            logout_reason::RECOVER_CONNECTION => (logout_response::NO_RECOVERY, Vec::new()),
            _ => (logout_response::NO_CONNECTION, Vec::new()),
        };
        let mut is_ending = false;
        for joined in ending {
            match joined.number == by.number {
                true => is_ending = true,
                false => self.cut_off(joined.number, clients),
            }
        }
        let Some(connection) = clients.get_mut(by.number) else {
            return;
        };
        let answer = LogoutResponse {
            response,
            tag: request.tag,
            status: UNSET,
            expected_command: UNSET,
            max_command: UNSET,
            wait_s: 0,
            retain_s: 0,
        };
        connection.say(Message::LogoutResponse(answer), Vec::new());
        if is_ending {
            connection.finish();
        }
    }
}

/// Whether a message is immediate, and its number, if it has one.
fn numbered(message: &Message) -> Option<(bool, Serial)> {
    match message {
        Message::Command(message) => Some((message.immediate, message.command)),
        Message::TaskRequest(message) => Some((message.immediate, message.command)),
        Message::NopOut(message) if message.tag == Tag::NONE => None,
        Message::NopOut(message) => Some((message.immediate, message.command)),
        Message::TextRequest(message) => Some((message.immediate, message.command)),
        Message::LogoutRequest(message) => Some((message.immediate, message.command)),
        _ => None,
    }
}

fn answer_ping(connection: &mut Connection, ping: &NopOut, mut data: Vec<u8>) {
    data.truncate(connection.parameters.max_send as usize);
    let answer = NopIn {
        lun: ping.lun,
        tag: ping.tag,
        transfer: Tag::NONE,
        status: UNSET,
        expected_command: UNSET,
        max_command: UNSET,
    };
    connection.say(Message::NopIn(answer), data);
}
