//! An iSCSI initiator.
//!
//! A [`Session`] has one connection and executes one command at a time, because drives are measured
//! that way. It sends as much data with a command as the target permits, and the remaining data on
//! request. It authenticates itself with CHAP. If it has a secret for the target, the target must
//! do the same. The source is RFC 7143; comments refer to its messages and keys by name.

mod connection;

use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant as HostInstant};

use diskarm_core::units::{Instant, Span};
use diskarm_wire::iscsi::{
    Command, DataIn, DataOut, LogoutRequest, Lun, Message, NopIn, NopOut, PORT, ReadyToTransfer,
    Response, Serial, Tag, TextRequest, async_event, attribute, logout_reason, response, segment,
};

use self::connection::{
    Connection, MAX_TEXT, Parameters, Purpose, SequenceNumbers, login, pairs, protocol_error,
};
use crate::safety;
use crate::transport::{Data, HostClock, Reply, Transport, TransportError, host_and_port};

pub use self::connection::{Credentials, Error};

const LOGOUT_TIMEOUT: Duration = Duration::from_secs(1);

const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(10);

/// The address of a disk: `iscsi://HOST[:PORT]/TARGET/LUN`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Name or address of the host. An IPv6 address has no brackets.
    pub host: String,
    pub port: u16,
    /// Name of the target; empty if the URL has none.
    pub target: String,
    /// Number of the logical unit, below 16,384.
    pub lun: u16,
}

impl Address {
    /// The syntax that [`Self::parse`] accepts.
    pub const EXPECTED: &str = "iscsi://HOST[:PORT]/TARGET/LUN";

    /// Parses the part after `iscsi:`. LUN and target may be omitted.
    pub fn parse(url: &str) -> Option<Self> {
        let rest = url.strip_prefix("//")?;
        let (portal, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = host_and_port(portal, PORT)?;
        let (target, lun) = match path.rsplit_once('/') {
            Some((target, lun)) => (target, lun.parse().ok()?),
            None => (path, 0),
        };
        // A URL must not contain CHAP credentials.
        let is_valid =
            !host.is_empty() && !host.contains('@') && !target.contains('/') && lun < 1 << 14;
        is_valid.then(|| Self {
            host: host.to_owned(),
            port,
            target: target.to_owned(),
            lun,
        })
    }
}

/// A session with one logical unit of a target. Times are read right before a command is passed to
/// the kernel and right after its completion is received.
#[derive(Debug)]
pub struct Session {
    connection: Connection,
    parameters: Parameters,
    numbers: SequenceNumbers,
    lun: Lun,
    tag: u32,
    can_write: bool,
    /// The error after which the session can no longer be used.
    failure: Option<TransportError>,
    clock: HostClock,
}

struct Task<'a> {
    tag: Tag,
    data: Data<'a>,
    transferred: usize,
    sent: Instant,
}

/// Number of sessions opened by this process. It makes their identifiers unique, because a session
/// would replace another one with the same identifier.
static SESSIONS: AtomicU16 = AtomicU16::new(0);

fn open(
    address: &Address,
    purpose: Purpose<'_>,
    credentials: Option<&Credentials>,
) -> Result<Session, Error> {
    let mut connection = Connection::open(&address.host, address.port)?;
    let unique = SESSIONS.fetch_add(1, Ordering::Relaxed);
    let (parameters, numbers) = login(&mut connection, purpose, credentials, unique)?;
    Ok(Session {
        connection,
        parameters,
        numbers,
        lun: Lun::new(address.lun),
        tag: 0,
        can_write: false,
        failure: None,
        clock: HostClock::start(),
    })
}

pub fn targets(address: &Address, credentials: Option<&Credentials>) -> Result<Vec<String>, Error> {
    let mut session = open(address, Purpose::Discovery, credentials)?;
    let deadline = HostInstant::now() + DISCOVERY_TIMEOUT;
    let mut text = Vec::new();
    let mut request = TextRequest {
        immediate: true,
        is_final: true,
        tag: Tag(1),
        transfer: Tag::NONE,
        command: session.numbers.command,
        expected_status: session.numbers.expected_status,
        ..TextRequest::default()
    };
    let mut payload: &[u8] = b"SendTargets=All\0";
    loop {
        let sent = Message::TextRequest(request);
        session.connection.send(&sent, payload)?;
        let (message, data) = session.connection.receive(deadline)?;
        let Message::TextResponse(response) = message else {
            return Err(protocol_error("it did not answer the text request"));
        };
        session.numbers.expected_status = response.status.next();
        text.extend(data);
        if text.len() > MAX_TEXT {
            return Err(protocol_error("the list of targets is too long"));
        }
        if response.is_final {
            break;
        }
        request.transfer = response.transfer;
        request.lun = response.lun;
        request.expected_status = session.numbers.expected_status;
        payload = &[];
    }
    let pairs = pairs(&text)?.into_iter();
    let name = |(key, name)| (key == "TargetName").then_some(name);
    Ok(pairs.filter_map(name).collect())
}

impl Session {
    /// Logs in and allows commands that change neither the disk's data nor its settings. Other
    /// commands are not sent, but fail as on a write-protected disk.
    pub fn open(address: &Address, credentials: Option<&Credentials>) -> Result<Self, Error> {
        open(address, Purpose::Target(&address.target), credentials)
    }

    /// Allows all commands from now on. Without `overwrite_data`, fails if the disk contains a
    /// partition table, a file system or other data.
    pub fn allow_writes(&mut self, overwrite_data: bool) -> Result<(), Error> {
        if !overwrite_data && let Some(what) = safety::content(self).map_err(Error::Disk)? {
            return Err(Error::Content(what));
        }
        self.can_write = true;
        Ok(())
    }

    fn run(&mut self, block: &[u8], data: Data<'_>, sent: Instant) -> Result<Reply, Error> {
        let mut cdb = [0; 16];
        let room = cdb.get_mut(..block.len());
        room.ok_or_else(|| protocol_error("a command block of more than 16 bytes"))?
            .copy_from_slice(block);
        let length = data.len();
        let deadline = HostInstant::now() + safety::timeout(block, length);
        while self.numbers.max_command.is_before(self.numbers.command) {
            // Wait for the target to advance its command window.
            let (message, content) = self.connection.receive(deadline)?;
            self.handle_unsolicited(&message, &content)?;
        }
        self.tag = (self.tag + 1) % Tag::NONE.0;
        let tag = Tag(self.tag);
        let command = Command {
            immediate: false,
            is_final: true,
            reads: matches!(data, Data::In(_)),
            writes: matches!(data, Data::Out(_)),
            attribute: attribute::SIMPLE,
            lun: self.lun,
            tag,
            length: u32::try_from(length).map_err(|_| protocol_error("4 GiB of data or more"))?,
            command: self.numbers.command,
            expected_status: self.numbers.expected_status,
            block: cdb,
        };
        self.numbers.command = self.numbers.command.next();
        let bytes = data.sent();
        let immediate = &bytes[..bytes.len().min(self.parameters.immediate)];
        self.connection
            .send(&Message::Command(command), immediate)?;
        let mut task = Task {
            tag,
            data,
            transferred: 0,
            sent,
        };
        loop {
            let (message, content) = self.connection.receive(deadline)?;
            match &message {
                Message::DataIn(part) if part.tag == tag => {
                    self.data_in(&mut task, part, &content)?;
                    if part.has_status {
                        self.numbers.expected_status = part.status.next();
                        return Ok(self.reply(&task, part.scsi_status, &[]));
                    }
                }
                Message::ReadyToTransfer(wanted) if wanted.tag == tag => {
                    self.advance_window(wanted.max_command);
                    self.data_out(&task, wanted)?;
                }
                Message::Response(response) if response.tag == tag => {
                    return self.response(task, response, &content);
                }
                other => self.handle_unsolicited(other, &content)?,
            }
        }
    }

    fn data_in(&mut self, task: &mut Task<'_>, part: &DataIn, bytes: &[u8]) -> Result<(), Error> {
        let Data::In(room) = &mut task.data else {
            return Err(protocol_error("data for a command that does not read"));
        };
        room.get_mut(part.offset as usize..)
            .and_then(|room| room.get_mut(..bytes.len()))
            .ok_or_else(|| protocol_error("more data than the command reads"))?
            .copy_from_slice(bytes);
        task.transferred += bytes.len();
        self.advance_window(part.max_command);
        Ok(())
    }

    fn data_out(&mut self, task: &Task<'_>, wanted: &ReadyToTransfer) -> Result<(), Error> {
        let Data::Out(all) = task.data else {
            let reason = "it requests data for a command that sends none";
            return Err(protocol_error(reason));
        };
        let bytes = all
            .get(wanted.offset as usize..)
            .and_then(|rest| rest.get(..wanted.length as usize))
            .filter(|bytes| !bytes.is_empty())
            .ok_or_else(|| protocol_error("it requests more data than the command has"))?;
        let pieces = bytes.chunks(self.parameters.max_data);
        let count = pieces.len();
        let mut offset = wanted.offset;
        for (number, piece) in pieces.enumerate() {
            let part = DataOut {
                is_final: number + 1 == count,
                lun: wanted.lun,
                tag: task.tag,
                transfer: wanted.transfer,
                expected_status: self.numbers.expected_status,
                data: Serial(number as u32),
                offset,
            };
            self.connection.send(&Message::DataOut(part), piece)?;
            offset += piece.len() as u32;
        }
        Ok(())
    }

    fn response(
        &mut self,
        mut task: Task<'_>,
        response: &Response,
        content: &[u8],
    ) -> Result<Reply, Error> {
        self.numbers.expected_status = response.status.next();
        self.advance_window(response.max_command);
        if response.response != response::COMPLETED {
            let code = response.response;
            let reason = format!("it could not execute a command (0x{code:02x})");
            return Err(protocol_error(reason));
        }
        let (sense, _) =
            segment::sense(content).ok_or_else(|| protocol_error("truncated sense data"))?;
        if let Data::Out(bytes) = task.data {
            let missing = if response.underflow {
                response.residual
            } else {
                0
            };
            task.transferred = bytes.len().saturating_sub(missing as usize);
        }
        Ok(self.reply(&task, response.scsi_status, sense))
    }

    fn reply(&self, task: &Task<'_>, status: u8, sense: &[u8]) -> Reply {
        Reply {
            status,
            sense: sense.to_vec(),
            transferred: task.transferred,
            sent: task.sent,
            ended: self.now(),
        }
    }

    /// Handles a message that does not belong to the outstanding command.
    fn handle_unsolicited(&mut self, message: &Message, content: &[u8]) -> Result<(), Error> {
        match message {
            Message::NopIn(ping) => self.answer_ping(ping, content),
            Message::AsyncMessage(message) => {
                self.numbers.expected_status = message.status.next();
                self.advance_window(message.max_command);
                match message.event {
                    async_event::SCSI | async_event::NEGOTIATION_WANTED => Ok(()),
                    event => Err(protocol_error(format!(
                        "it ends the session (event {event})"
                    ))),
                }
            }
            Message::Reject(reject) => {
                let reason = format!("it rejects a message (reason 0x{:02x})", reject.reason);
                Err(protocol_error(reason))
            }
            other => {
                let code = other.operation();
                let reason = format!("unexpected message (operation 0x{code:02x})");
                Err(protocol_error(reason))
            }
        }
    }

    fn answer_ping(&mut self, ping: &NopIn, content: &[u8]) -> Result<(), Error> {
        self.advance_window(ping.max_command);
        if ping.transfer == Tag::NONE {
            return Ok(());
        }
        let answer = NopOut {
            immediate: true,
            lun: ping.lun,
            tag: Tag::NONE,
            transfer: ping.transfer,
            command: self.numbers.command,
            expected_status: self.numbers.expected_status,
        };
        self.connection.send(&Message::NopOut(answer), content)
    }

    /// Records that the target accepts commands up to this number. The window never shrinks.
    fn advance_window(&mut self, max_command: Serial) {
        if self.numbers.max_command.is_before(max_command) {
            self.numbers.max_command = max_command;
        }
    }

    fn log_out(&mut self) -> Result<(), Error> {
        let request = LogoutRequest {
            immediate: true,
            reason: logout_reason::CLOSE_SESSION,
            command: self.numbers.command,
            expected_status: self.numbers.expected_status,
            ..LogoutRequest::default()
        };
        self.connection
            .send(&Message::LogoutRequest(request), &[])?;
        let deadline = HostInstant::now() + LOGOUT_TIMEOUT;
        loop {
            let (message, content) = self.connection.receive(deadline)?;
            match message {
                Message::LogoutResponse(_) => return Ok(()),
                message => self.handle_unsolicited(&message, &content)?,
            }
        }
    }
}

impl Transport for Session {
    fn execute(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, TransportError> {
        if !self.can_write && !safety::leaves_data_alone(command, data.sent()) {
            return Ok(safety::write_protected(self.now()));
        }
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.run(command, data, self.now()).map_err(|error| {
            let reason = format!("{}: {error}", safety::command_name(command));
            // The answer may still arrive, so this session can no longer be used.
            let failure = match error {
                Error::Timeout => TransportError::Unanswered(reason),
                _ => TransportError::Lost(reason),
            };
            self.failure.insert(failure).clone()
        })
    }

    fn sleep(&mut self, span: Span) {
        self.clock.sleep(span);
    }

    fn now(&self) -> Instant {
        self.clock.now()
    }
}

impl Drop for Session {
    /// Logs out, so that the target can release the session.
    fn drop(&mut self) {
        if self.failure.is_none() {
            // A target that does not answer will see the connection close.
            let _ = self.log_out();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed() {
        let parsed = |url| {
            let found = Address::parse(url)?;
            Some((found.host, found.port, found.target, found.lun))
        };
        let address = |host: &str, port, target: &str, lun| {
            Some((host.to_owned(), port, target.to_owned(), lun))
        };
        let found = parsed("//127.0.0.1:3261/iqn.a:disk/3");
        assert_eq!(found, address("127.0.0.1", 3261, "iqn.a:disk", 3));
        assert_eq!(parsed("//host/iqn.a"), address("host", 3260, "iqn.a", 0));
        assert_eq!(parsed("//[::1]:1/t/0"), address("::1", 1, "t", 0));
        assert_eq!(parsed("//[::1]"), address("::1", 3260, "", 0));
        let wrong = "host/t/0 // ///t/0 //host:0x1/t/0 //host/t/x //host/a/t/0 //host/t/16384 \
                     //host:99999/t/0 //[::1/t/0 //me@host/t/0";
        for wrong in wrong.split(' ') {
            assert_eq!(Address::parse(wrong), None, "{wrong}");
        }
    }
}
