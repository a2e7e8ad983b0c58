//! Messages from initiators: SCSI commands and their data, task management, pings, text and logout.

use std::time::Instant as HostInstant;

use diskarm_core::request::Request;
use diskarm_emulate::Status;
use diskarm_wire::command::Size;
use diskarm_wire::iscsi::{
    self, DataOut, Lengths, LogoutRequest, LogoutResponse, Message, NopIn, NopOut, Serial, Tag,
    TaskRequest, TaskResponse, TextRequest, TextResponse, function, logout_reason, logout_response,
    reject_reason, task_response,
};
use diskarm_wire::report::{Inquiry, padded};
use diskarm_wire::sense::{Code, Format, Key};
use diskarm_wire::{Command, Sense};

use super::{Clients, IscsiTarget, Origin};
use crate::engine::ConnectionError;
use crate::iscsi::connection::{Connection, MAX_SEGMENT};
use crate::iscsi::login::targets;
use crate::iscsi::session::{
    DataError, DataStep, MAX_COST, Order, Session, SessionConnection, Task, TaskState,
};
use crate::statistics::Access;

impl IscsiTarget {
    /// Handles a message, and then the messages that were waiting for it. Fails if the connection
    /// must be closed.
    pub(super) fn handle_message(
        &mut self,
        origin: Origin,
        message: Message,
        data: Vec<u8>,
        clients: &mut Clients<'_>,
        now: HostInstant,
    ) -> Result<(), ConnectionError> {
        let Some(session) = self.sessions.get_mut(origin.session) else {
            return Err(ConnectionError);
        };
        if let Message::DataOut(message) = message {
            if let Some(data) = session.keep_early_data(origin.connection, &message, data)? {
                self.receive_data(origin, &message, &data, clients, now);
            }
            return Ok(());
        }
        if let Some((is_immediate, command)) = command_number(&message) {
            match session.window.consume_number(is_immediate, command) {
                Order::Next => {}
                Order::Ahead => {
                    return session.keep_early(origin.connection, command, message, data);
                }
                Order::Outside => return Ok(()),
            }
        }
        self.serve(origin, &message, data, clients, now);
        while let Some(early) = self
            .sessions
            .get_mut(origin.session)
            .and_then(Session::next_early)
        {
            let number = early.number;
            let origin = Origin {
                connection: number,
                ..origin
            };
            self.serve(origin, &early.message, early.data, clients, now);
            for (message, data) in &early.parts {
                self.receive_data(origin, message, data, clients, now);
            }
            self.touched.push(number);
        }
        Ok(())
    }

    /// Handles a message whose turn it is, except for [`DataOut`].
    fn serve(
        &mut self,
        origin: Origin,
        message: &Message,
        data: Vec<u8>,
        clients: &mut Clients<'_>,
        now: HostInstant,
    ) {
        match message {
            Message::Command(command) => {
                return self.start_command(origin, command, &data, clients, now);
            }
            Message::TaskRequest(request) => {
                return self.manage_tasks(origin, request, clients, now);
            }
            Message::LogoutRequest(request) => return self.log_out(origin, request, clients, now),
            _ => {}
        }
        let Some(connection) = clients.get_mut(origin.connection) else {
            return;
        };
        match message {
            // The answer to the target's own ping.
            Message::NopOut(ping) if ping.tag == Tag::NONE => {}
            Message::NopOut(ping) => answer_ping(connection, ping, data),
            Message::TextRequest(request) => self.answer_text(connection, request, &data),
            Message::Snack(_) => {
                let header = message.emit(Lengths::of_data(data.len()));
                connection.reject(reject_reason::SNACK, header);
            }
            // A second login or a message that only targets send.
            _ => {
                let header = message.emit(Lengths::of_data(data.len()));
                connection.reject(reject_reason::PROTOCOL_ERROR, header);
                connection.finish();
            }
        }
    }

    /// Answers a text request: a normal session lists only its own target.
    fn answer_text(&self, connection: &mut Connection, request: &TextRequest, data: &[u8]) {
        let facts = std::slice::from_ref(&self.facts);
        let answer = targets(data, &connection.address, facts);
        let max = (connection.parameters.max_send as usize).min(MAX_SEGMENT);
        let is_short = answer.len() <= max;
        if request.continues || request.transfer != Tag::NONE || !is_short {
            let header = Message::TextRequest(*request).emit(Lengths::of_data(data.len()));
            return connection.reject(reject_reason::PROTOCOL_ERROR, header);
        }
        let response = TextResponse {
            is_final: true,
            lun: request.lun,
            tag: request.tag,
            transfer: Tag::NONE,
            ..TextResponse::default()
        };
        connection.send(Message::TextResponse(response), answer);
    }

    fn log_out(
        &mut self,
        origin: Origin,
        request: &LogoutRequest,
        clients: &mut Clients<'_>,
        now: HostInstant,
    ) {
        let Some(session) = self.sessions.get_mut(origin.session) else {
            return;
        };
        let connection_number = |other: &&SessionConnection| other.name == request.connection;
        let connections = session.connections.iter();
        let (response, ending): (u8, Vec<SessionConnection>) = match request.reason {
            logout_reason::CLOSE_SESSION => {
                (logout_response::CLOSED, connections.copied().collect())
            }
            logout_reason::CLOSE_CONNECTION
                if session.connection_number(request.connection).is_some() =>
            {
                let ending = connections.filter(connection_number).copied().collect();
                (logout_response::CLOSED, ending)
            }
            logout_reason::RECOVER_CONNECTION => (logout_response::NO_RECOVERY, Vec::new()),
            _ => (logout_response::NO_CONNECTION, Vec::new()),
        };
        let mut is_ending = false;
        for other in ending {
            if other.number == origin.connection {
                is_ending = true;
            } else {
                self.cut_off(other.number, clients, now);
            }
        }
        let Some(connection) = clients.get_mut(origin.connection) else {
            return;
        };
        let answer = LogoutResponse {
            response,
            tag: request.tag,
            ..LogoutResponse::default()
        };
        connection.send(Message::LogoutResponse(answer), Vec::new());
        if is_ending {
            connection.finish();
        }
    }

    fn start_command(
        &mut self,
        origin: Origin,
        command: &iscsi::Command,
        data: &[u8],
        clients: &mut Clients<'_>,
        now: HostInstant,
    ) {
        let sector = self.facts.sector.0;
        let effect = CommandEffect::new(command.unpadded(), sector);
        let (needed, returned) = self.data_lengths(command, &effect);
        let (Some(session), Some(connection)) = (
            self.sessions.get_mut(origin.session),
            clients.get_mut(origin.connection),
        ) else {
            return;
        };
        let refusal = if session.task_mut(command.tag).is_some() {
            Some(reject_reason::TASK_IN_PROGRESS)
        } else if command.immediate && !session.window.takes_immediate() {
            Some(reject_reason::IMMEDIATE)
        } else {
            None
        };
        if let Some(reason) = refusal {
            let header = Message::Command(*command).emit(Lengths::of_data(data.len()));
            return connection.reject(reason, header);
        }
        // Written data are counted when the command ends.
        let (read, written) = match effect.access {
            Access::Write => (0, effect.bytes),
            _ => (effect.bytes, 0),
        };
        self.statistics.counts.count(effect.access, read);
        let cost = needed.min(command.length as usize) + returned;
        let mut task = Task::new(origin.connection, command, effect.access, needed, cost);
        task.syncs = effect.syncs;
        task.writes_bytes = written;
        if needed > command.length as usize
            && let Some(block) = shorten_write(&task.block, u64::from(command.length) / sector)
        {
            task.block = block;
            task.writes_bytes = u64::from(command.length) / sector * sector;
        }
        if !session.window.memory.try_take(cost, MAX_COST) {
            task.share.cost = 0;
            session.add_task(task);
            if cost > MAX_COST {
                let sense = Sense::new(Key::IllegalRequest, Code::INVALID_FIELD);
                return self.check(origin, command.tag, &sense, clients);
            }
            let status = Status::TaskSetFull;
            self.end(
                origin.session,
                command.tag,
                status,
                Vec::new(),
                Vec::new(),
                clients,
            );
            return;
        }
        let next_step = task.immediate(data, &connection.parameters);
        let is_other_unit = command.lun.number() != Some(0);
        session.add_task(task);
        if is_other_unit && !reports_units(command.unpadded()) {
            return self.answer_missing_unit(origin, command, clients);
        }
        self.continue_task(origin, command.tag, next_step, clients, now);
    }

    /// Returns the bytes of data that a command needs, and the most that it returns.
    fn data_lengths(&self, command: &iscsi::Command, effect: &CommandEffect) -> (usize, usize) {
        // The unit refuses longer transfers.
        let max_bytes = (Request::MAX_SECTORS.0 * self.facts.sector.0) as usize;
        let transferred = |bytes| if bytes > max_bytes { 0 } else { bytes };
        let list = MAX_LIST.min(command.length as usize);
        let needed = match self.timeline.model.data_out_length(command.unpadded()) {
            usize::MAX => list,
            needed => transferred(needed),
        };
        let returned = match effect.access {
            Access::Read => transferred(effect.bytes as usize),
            Access::Other if command.reads => list,
            _ => 0,
        };
        (needed, returned)
    }

    fn receive_data(
        &mut self,
        origin: Origin,
        message: &DataOut,
        data: &[u8],
        clients: &mut Clients<'_>,
        now: HostInstant,
    ) {
        let (Some(session), Some(connection)) = (
            self.sessions.get_mut(origin.session),
            clients.get_mut(origin.connection),
        ) else {
            return;
        };
        // Data of aborted or failed tasks may still arrive. Data for a started task must not end
        // it, because the unit has it.
        let is_wanted = |task: &&mut Task| {
            task.connection == origin.connection && task.state != TaskState::Started
        };
        if let Some(task) = session.task_mut(message.tag).filter(is_wanted) {
            let next_step = task.receive(message, data, &connection.parameters);
            self.continue_task(origin, message.tag, next_step, clients, now);
        }
    }

    fn continue_task(
        &mut self,
        origin: Origin,
        tag: Tag,
        next_step: Result<DataStep, DataError>,
        clients: &mut Clients<'_>,
        now: HostInstant,
    ) {
        match next_step {
            Ok(DataStep::Wait) => {}
            Ok(DataStep::Ask) => {
                let session = self.sessions.get_mut(origin.session);
                let task = session.and_then(|session| session.task_mut(tag));
                if let (Some(task), Some(connection)) = (task, clients.get_mut(origin.connection)) {
                    connection.request_data(task);
                }
            }
            Ok(DataStep::Ready) => self.start_tasks(origin.session, now),
            Err(error) => {
                self.statistics.counts.refused += 1;
                self.check(origin, tag, &error.sense(), clients);
                // Other tasks may have waited for this one.
                self.start_tasks(origin.session, now);
            }
        }
    }

    /// Ends a task with CHECK CONDITION.
    fn check(&mut self, origin: Origin, tag: Tag, sense: &Sense, clients: &mut Clients<'_>) {
        let (status, sense) = (Status::CheckCondition, sense.emit(Format::Fixed));
        self.end(origin.session, tag, status, sense, Vec::new(), clients);
    }

    /// Answers a command to a missing logical unit (SAM-5, "incorrect logical unit numbers").
    fn answer_missing_unit(
        &mut self,
        origin: Origin,
        command: &iscsi::Command,
        clients: &mut Clients<'_>,
    ) {
        let page = match Command::parse(command.unpadded()) {
            Ok(Command::Inquiry { page: None, length }) => Some(length),
            _ => None,
        };
        let Some(length) = page else {
            let sense = Sense::new(Key::IllegalRequest, Code::NO_SUCH_UNIT);
            return self.check(origin, command.tag, &sense, clients);
        };
        // This qualifier and this type mean that the unit does not exist.
        let inquiry = Inquiry {
            qualifier: 3,
            device_type: 0x1f,
            version: 6,
            response_format: 2,
            additional_length: Inquiry::LENGTH as u8 - 5,
            vendor: padded(""),
            product: padded(""),
            revision: padded(""),
            ..Inquiry::default()
        };
        let mut data = inquiry.emit().to_vec();
        data.truncate(length.into());
        self.end(
            origin.session,
            command.tag,
            Status::Good,
            Vec::new(),
            data,
            clients,
        );
    }

    fn manage_tasks(
        &mut self,
        origin: Origin,
        request: &TaskRequest,
        clients: &mut Clients<'_>,
        now: HostInstant,
    ) {
        let response = TaskResponse {
            response: self.execute(origin.session, request, now),
            tag: request.tag,
            ..TaskResponse::default()
        };
        if let Some(connection) = clients.get_mut(origin.connection) {
            connection.send(Message::TaskResponse(response), Vec::new());
        }
        // Tasks that waited for the aborted ones can now start.
        self.start_tasks(origin.session, now);
        if request.function == function::COLD_RESET {
            for number in clients.numbers() {
                if let Some(connection) = clients.get_mut(number) {
                    connection.finish();
                }
            }
        }
    }

    /// Executes a task management request; returns a code from [`task_response`].
    fn execute(&mut self, index: usize, request: &TaskRequest, now: HostInstant) -> u8 {
        let needs_unit = matches!(
            request.function,
            function::ABORT_TASK
                | function::ABORT_TASK_SET
                | function::CLEAR_TASK_SET
                | function::UNIT_RESET
        );
        if needs_unit && request.lun.number() != Some(0) {
            return task_response::NO_UNIT;
        }
        let Some(session) = self.sessions.get_mut(index) else {
            return task_response::NO_TASK;
        };
        let initiator = session.initiator;
        let (unit, at) = self.timeline.advance_to(now);
        match request.function {
            function::ABORT_TASK => return self.abort(index, request, now),
            function::ABORT_TASK_SET => {
                unit.abort_task_set(at, initiator);
                session.drop_tasks(|_| true);
                self.drop_responses(|other, _| other == initiator);
            }
            function::CLEAR_TASK_SET => {
                unit.clear_task_set(at, initiator);
                self.drop_all_tasks();
            }
            function::UNIT_RESET | function::WARM_RESET | function::COLD_RESET => {
                unit.reset(at);
                self.drop_all_tasks();
            }
            function::REASSIGN => return task_response::NO_REASSIGNMENT,
            _ => return task_response::NOT_SUPPORTED,
        }
        task_response::COMPLETE
    }

    fn abort(&mut self, index: usize, request: &TaskRequest, now: HostInstant) -> u8 {
        let Some(session) = self.sessions.get_mut(index) else {
            return task_response::NO_TASK;
        };
        let (initiator, tag) = (session.initiator, request.task);
        let Some(task) = session.task_mut(tag) else {
            // The task may be in transit on another connection, or waiting for its turn.
            return if session.skip(request.task_command) {
                task_response::COMPLETE
            } else {
                task_response::NO_TASK
            };
        };
        let id = u64::from(tag.0);
        let has_started = task.state == TaskState::Started;
        session.drop_tasks(|task| task.tag == tag);
        if has_started {
            let (unit, at) = self.timeline.advance_to(now);
            unit.abort(at, initiator, id);
            self.drop_responses(|other, task| (other, task) == (initiator, id));
        }
        task_response::COMPLETE
    }

    fn drop_all_tasks(&mut self) {
        for (_, session) in &mut self.sessions {
            session.drop_tasks(|_| true);
        }
        self.drop_responses(|_, _| true);
    }
}

/// Returns whether a message is immediate, and its command number; `None` if it has no number.
fn command_number(message: &Message) -> Option<(bool, Serial)> {
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
        ..NopIn::default()
    };
    connection.send(Message::NopIn(answer), data);
}

/// Maximum length, in bytes, of a list that gives its own length, and of the data of a command that
/// does not read blocks. No defect list is that long.
const MAX_LIST: usize = 1 << 20;

struct CommandEffect {
    access: Access,
    /// Block data read or written, in bytes.
    bytes: u64,
    /// True if the reply waits until the store's file has been synchronised.
    syncs: bool,
}

impl CommandEffect {
    fn new(block: &[u8], sector: u64) -> Self {
        let (access, count, syncs) = match Command::parse(block) {
            Ok(Command::Read { blocks, .. }) => (Access::Read, blocks.count, false),
            Ok(
                Command::Write {
                    blocks, caching, ..
                }
                | Command::OrWrite { blocks, caching },
            ) => (Access::Write, blocks.count, caching.force_unit_access),
            Ok(Command::WriteAndVerify { blocks, .. }) => (Access::Write, blocks.count, true),
            Ok(Command::WriteSame { blocks, .. }) => (Access::Write, blocks.count, false),
            Ok(Command::CompareAndWrite { count, caching, .. }) => {
                (Access::Write, count.into(), caching.force_unit_access)
            }
            Ok(Command::SynchronizeCache { .. }) => (Access::Flush, 0, true),
            Ok(Command::FormatUnit { .. }) => (Access::Other, 0, true),
            _ => (Access::Other, 0, false),
        };
        Self {
            access,
            bytes: u64::from(count) * sector,
            syncs,
        }
    }
}

/// Shortens a write to `max` blocks, because the initiator will send no more (RFC 7143, "SCSI
/// Command": the expected length limits the transfer, and the residual count reports the
/// difference).
fn shorten_write(block: &[u8], max: u64) -> Option<Vec<u8>> {
    let mut command = Command::parse(block).ok()?;
    match &mut command {
        Command::Write { size, blocks, .. } | Command::WriteAndVerify { size, blocks, .. } => {
            blocks.count = u64::from(blocks.count).min(max) as u32;
            if blocks.count == 0 && *size == Size::Six {
                // In six-byte commands, zero means 256 blocks.
                *size = Size::Ten;
            }
        }
        _ => return None,
    }
    let mut short = [0; 16];
    let length = command.emit(&mut short);
    Some(short[..length].to_vec())
}

/// Returns true for REPORT LUNS, which is valid for any logical unit number (SPC-4).
fn reports_units(block: &[u8]) -> bool {
    matches!(Command::parse(block), Ok(Command::ReportLuns { .. }))
}
