//! Messages that arrive, but for commands and task management.

use std::time::Instant as Wall;

use diskarm_wire::iscsi::{
    Lengths, LogoutRequest, LogoutResponse, Message, NopIn, NopOut, Serial, Tag, TextRequest,
    TextResponse, logout_reason, logout_response, reject_reason,
};

use super::desk::IscsiDesk;
use super::discovery::targets;
use super::reply::PIECE;
use super::session::{Order, Session};
use crate::service::Broken;

/// Before the numbers of a message are filled in.
const UNSET: Serial = Serial(0);

impl IscsiDesk {
    /// Takes any message but a task management function.
    ///
    /// # Errors
    /// If the connection must be closed.
    pub(super) fn serve(
        &mut self,
        session: &mut Session,
        message: &Message,
        data: Vec<u8>,
        now: Wall,
    ) -> Result<(), Broken> {
        match message {
            Message::DataOut(message) => self.data(session, message, &data, now),
            Message::Command(command) => {
                if session.order(command.immediate, command.command)? == Order::Next {
                    self.command(session, command, &data, now);
                }
            }
            // An answer to the target's own ping.
            Message::NopOut(ping) if ping.tag == Tag::NONE => {}
            Message::NopOut(ping) => {
                if session.order(ping.immediate, ping.command)? == Order::Next {
                    answer_ping(session, ping, data);
                }
            }
            Message::TextRequest(request) => {
                if session.order(request.immediate, request.command)? == Order::Next {
                    self.text(session, request, &data);
                }
            }
            Message::LogoutRequest(request) => {
                if session.order(request.immediate, request.command)? == Order::Next {
                    log_out(session, request);
                }
            }
            Message::Snack(_) => {
                let header = message.emit(Lengths::of_data(data.len()));
                session.reject(reject_reason::SNACK, header);
            }
            // A login after the login, or what only targets send.
            _ => {
                let header = message.emit(Lengths::of_data(data.len()));
                session.reject(reject_reason::PROTOCOL_ERROR, header);
                session.finish();
            }
        }
        Ok(())
    }

    /// Answers text: in a normal session there is only one target to tell of.
    fn text(&self, session: &mut Session, request: &TextRequest, data: &[u8]) {
        let facts = std::slice::from_ref(&self.facts);
        let answer = targets(data, &session.origin.address, facts);
        let most = (session.parameters.max_send as usize).min(PIECE);
        let is_short = answer.len() <= most;
        if request.continues || request.transfer != Tag::NONE || !is_short {
            let header = Message::TextRequest(*request).emit(Lengths::of_data(data.len()));
            return session.reject(reject_reason::PROTOCOL_ERROR, header);
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
        session.say(Message::TextResponse(response), answer);
    }
}

fn answer_ping(session: &mut Session, ping: &NopOut, mut data: Vec<u8>) {
    data.truncate(session.parameters.max_send as usize);
    let answer = NopIn {
        lun: ping.lun,
        tag: ping.tag,
        transfer: Tag::NONE,
        status: UNSET,
        expected_command: UNSET,
        max_command: UNSET,
    };
    session.say(Message::NopIn(answer), data);
}

fn log_out(session: &mut Session, request: &LogoutRequest) {
    let is_this = request.connection == session.origin.connection;
    let response = match request.reason {
        logout_reason::CLOSE_SESSION => logout_response::CLOSED,
        logout_reason::CLOSE_CONNECTION if is_this => logout_response::CLOSED,
        logout_reason::RECOVER_CONNECTION => logout_response::NO_RECOVERY,
        _ => logout_response::NO_CONNECTION,
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
    session.say(Message::LogoutResponse(answer), Vec::new());
    if response == logout_response::CLOSED {
        session.finish();
    }
}
