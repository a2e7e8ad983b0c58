//! An iSCSI initiator.
//!
//! A [`Session`] has one connection and executes one command at a time, as drives are measured. It
//! sends data with a command as far as the target permits, and the rest on request. It
//! authenticates by CHAP, and requires the same of the target if it has a secret for that. The
//! source is RFC 7143, cited by the names of its messages and keys.

mod connection;
mod login;

use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant as HostInstant};

use diskarm_core::units::{Instant, Span};
use diskarm_wire::iscsi::{
    Command, DataIn, DataOut, LogoutRequest, Lun, Message, NopIn, NopOut, PORT, ReadyToTransfer,
    Response, Serial, Tag, TextRequest, async_event, attribute, logout_reason, response, segment,
};

use self::connection::{Connection, protocol_error};
use self::login::{MAX_TEXT, Parameters, Purpose, SequenceNumbers, login, pairs};
use crate::safety;
use crate::transport::{Data, Reply, Transport, TransportError};

pub use self::connection::Error;
pub use self::login::Credentials;

const LOGOUT_TIMEOUT: Duration = Duration::from_secs(1);

const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(10);

/// The address of a disk: `iscsi://HOST[:PORT]/TARGET/LUN`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Name or address of the host; an IPv6 address without brackets.
    pub host: String,
    pub port: u16,
    /// Name of the target; empty if omitted.
    pub target: String,
    /// Number of the logical unit, below 16,384.
    pub lun: u16,
}

impl Address {
    /// The syntax of [`Self::parse`].
    pub const EXPECTED: &str = "iscsi://HOST[:PORT]/TARGET/LUN";

    /// Parses the part after `iscsi:`. LUN and target may be omitted.
    pub fn parse(url: &str) -> Option<Self> {
        let rest = url.strip_prefix("//")?;
        let (portal, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = match portal.strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => portal
                .find(':')
                .map_or((portal, ""), |at| portal.split_at(at)),
        };
        let port = match port {
            "" => PORT,
            port => port.strip_prefix(':')?.parse().ok()?,
        };
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

/// A session with one logical unit of a target. Its times are taken right before a command is
/// handed to the kernel and right after its completion was received.
#[derive(Debug)]
pub struct Session {
    connection: Connection,
    parameters: Parameters,
    numbers: SequenceNumbers,
    lun: Lun,
    tag: u32,
    writes: bool,
    /// The error after which the session can no longer be used.
    failure: Option<TransportError>,
    opened: HostInstant,
}

/// The completion of a command.
struct Completed {
    status: u8,
    sense: Vec<u8>,
    transferred: usize,
}

/// The outstanding command.
struct Task<'a, 'd> {
    tag: Tag,
    data: &'a mut Data<'d>,
    transferred: usize,
}

/// Number of sessions opened by this process. With the same identifier, a new session would replace
/// an earlier one.
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
        writes: false,
        failure: None,
        opened: HostInstant::now(),
    })
}

/// Returns the names of the targets of a host.
///
/// # Errors
/// There is no target at this address, or it rejects the login.
pub fn targets(address: &Address, credentials: Option<&Credentials>) -> Result<Vec<String>, Error> {
    let mut session = open(address, Purpose::Discovery, credentials)?;
    let deadline = HostInstant::now() + DISCOVERY_TIMEOUT;
    let mut text = Vec::new();
    let mut request = TextRequest {
        immediate: true,
        is_final: true,
        continues: false,
        lun: Lun(0),
        tag: Tag(1),
        transfer: Tag::NONE,
        command: session.numbers.command,
        expected_status: session.numbers.expected_status,
    };
    let mut question: &[u8] = b"SendTargets=All\0";
    loop {
        let sent = Message::TextRequest(request);
        session.connection.send(&sent, question)?;
        let (message, data) = session.connection.receive(deadline)?;
        let Message::TextResponse(response) = message else {
            return Err(protocol_error("not a text response"));
        };
        session.numbers.expected_status = response.status.next();
        text.extend(data);
        if text.len() > MAX_TEXT {
            return Err(protocol_error("the list of targets does not end"));
        }
        if response.is_final {
            break;
        }
        request.transfer = response.transfer;
        request.lun = response.lun;
        request.expected_status = session.numbers.expected_status;
        question = &[];
    }
    let names = pairs(&text)?.into_iter();
    let names = names.filter(|(key, _)| key == "TargetName");
    Ok(names.map(|(_, name)| name).collect())
}

impl Session {
    /// Logs in, for commands that leave data and settings of the disk alone. Others are not sent:
    /// they fail as on a write-protected disk.
    ///
    /// # Errors
    /// There is no such host or target, or it rejects the login.
    pub fn open(address: &Address, credentials: Option<&Credentials>) -> Result<Self, Error> {
        open(address, Purpose::Target(&address.target), credentials)
    }

    /// Allows all commands from now on. `overwrite_data` permits this on a disk that holds a
    /// partition table, a file system or other data.
    ///
    /// # Errors
    /// The disk holds data, or this cannot be determined.
    pub fn allow_writes(&mut self, overwrite_data: bool) -> Result<(), Error> {
        if !overwrite_data && let Some(what) = safety::content(self).map_err(Error::Disk)? {
            return Err(Error::Content(what));
        }
        self.writes = true;
        Ok(())
    }

    /// Sends a command and waits for its completion.
    fn run(&mut self, block: &[u8], data: &mut Data<'_>) -> Result<Completed, Error> {
        let mut sixteen = [0; 16];
        let room = sixteen.get_mut(..block.len());
        room.ok_or_else(|| protocol_error("a command block of more than 16 bytes"))?
            .copy_from_slice(block);
        let length = data.len();
        let deadline = HostInstant::now() + safety::timeout(block, length);
        while self.numbers.max_command.is_before(self.numbers.command) {
            // The target will advance its command window.
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
            block: sixteen,
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
        };
        loop {
            let (message, content) = self.connection.receive(deadline)?;
            if let Some(completed) = self.handle(&mut task, &message, &content)? {
                return Ok(completed);
            }
        }
    }

    /// Handles a message while the task is outstanding. Returns the completion of the task if the
    /// message contains it.
    fn handle(
        &mut self,
        task: &mut Task<'_, '_>,
        message: &Message,
        content: &[u8],
    ) -> Result<Option<Completed>, Error> {
        match message {
            Message::DataIn(part) if part.tag == task.tag => self.data_in(task, part, content),
            Message::ReadyToTransfer(wanted) if wanted.tag == task.tag => {
                self.advance_window(wanted.max_command);
                self.data_out(task, wanted)?;
                Ok(None)
            }
            Message::Response(response) if response.tag == task.tag => {
                self.response(task, response, content).map(Some)
            }
            other => {
                self.handle_unsolicited(other, content)?;
                Ok(None)
            }
        }
    }

    fn data_in(
        &mut self,
        task: &mut Task<'_, '_>,
        part: &DataIn,
        content: &[u8],
    ) -> Result<Option<Completed>, Error> {
        let Data::In(room) = task.data else {
            return Err(protocol_error("data for a command that does not read"));
        };
        let from = part.offset as usize;
        let target = room
            .get_mut(from..)
            .and_then(|room| room.get_mut(..content.len()));
        target
            .ok_or_else(|| protocol_error("more data than the command reads"))?
            .copy_from_slice(content);
        task.transferred += content.len();
        self.advance_window(part.max_command);
        if !part.has_status {
            return Ok(None);
        }
        self.numbers.expected_status = part.status.next();
        Ok(Some(Completed {
            status: part.scsi_status,
            sense: Vec::new(),
            transferred: task.transferred,
        }))
    }

    /// Sends the data that the target requests.
    fn data_out(&mut self, task: &Task<'_, '_>, wanted: &ReadyToTransfer) -> Result<(), Error> {
        let Data::Out(bytes) = *task.data else {
            return Err(protocol_error(
                "it requests data of a command that has none",
            ));
        };
        let from = wanted.offset as usize;
        let bytes = bytes.get(from..).unwrap_or_default();
        let bytes = bytes
            .get(..wanted.length as usize)
            .filter(|bytes| !bytes.is_empty())
            .ok_or_else(|| protocol_error("it requests data beyond those of the command"))?;
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
        task: &Task<'_, '_>,
        response: &Response,
        content: &[u8],
    ) -> Result<Completed, Error> {
        self.numbers.expected_status = response.status.next();
        self.advance_window(response.max_command);
        if response.response != response::COMPLETED {
            let code = response.response;
            return Err(protocol_error(format!(
                "it could not execute a command (0x{code:02x})"
            )));
        }
        let (sense, _) =
            segment::sense(content).ok_or_else(|| protocol_error("sense data cut off"))?;
        let missing = if response.underflow {
            response.residual as usize
        } else {
            0
        };
        let transferred = match &*task.data {
            Data::Out(bytes) => bytes.len().saturating_sub(missing),
            Data::None | Data::In(_) => task.transferred,
        };
        Ok(Completed {
            status: response.scsi_status,
            sense: sense.to_vec(),
            transferred,
        })
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
                let reason = reject.reason;
                Err(protocol_error(format!(
                    "it rejects a message (reason 0x{reason:02x})"
                )))
            }
            other => {
                let code = other.operation();
                Err(protocol_error(format!(
                    "unexpected message (operation 0x{code:02x})"
                )))
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

    /// Notes that the target accepts commands up to this number. The window never shrinks.
    fn advance_window(&mut self, max_command: Serial) {
        if self.numbers.max_command.is_before(max_command) {
            self.numbers.max_command = max_command;
        }
    }

    fn log_out(&mut self) -> Result<(), Error> {
        let request = LogoutRequest {
            immediate: true,
            reason: logout_reason::CLOSE_SESSION,
            tag: Tag(0),
            connection: 0,
            command: self.numbers.command,
            expected_status: self.numbers.expected_status,
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
    fn execute(&mut self, command: &[u8], mut data: Data<'_>) -> Result<Reply, TransportError> {
        if !self.writes && !safety::leaves_data_alone(command, data.sent()) {
            return Ok(safety::write_protected(self.now()));
        }
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let sent = self.now();
        let completed = self.run(command, &mut data);
        let ended = self.now();
        match completed {
            Ok(completed) => Ok(Reply {
                status: completed.status,
                sense: completed.sense,
                transferred: completed.transferred,
                sent,
                ended,
            }),
            Err(error) => {
                let reason = format!("{}: {error}", safety::command_name(command));
                // The answer may still arrive, so only a new session can continue.
                let failure = match error {
                    Error::Timeout => TransportError::Unanswered(reason),
                    _ => TransportError::Lost(reason),
                };
                self.failure = Some(failure.clone());
                Err(failure)
            }
        }
    }

    fn rest(&mut self, span: Span) {
        let ns = u64::try_from(span.as_ns()).unwrap_or(0);
        std::thread::sleep(Duration::from_nanos(ns));
    }

    fn now(&self) -> Instant {
        let ns = self.opened.elapsed().as_nanos();
        Instant::from_ns(u64::try_from(ns).expect("less than 584 years"))
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
        assert_eq!(
            parsed("//127.0.0.1:3261/iqn.a:disk/3"),
            address("127.0.0.1", 3261, "iqn.a:disk", 3)
        );
        assert_eq!(parsed("//host/iqn.a"), address("host", 3260, "iqn.a", 0));
        assert_eq!(parsed("//[::1]:1/t/0"), address("::1", 1, "t", 0));
        assert_eq!(parsed("//[::1]"), address("::1", 3260, "", 0));
        for wrong in [
            "host/t/0",
            "//",
            "///t/0",
            "//host:0x1/t/0",
            "//host/t/x",
            "//host/a/t/0",
            "//host/t/16384",
            "//host:99999/t/0",
            "//[::1/t/0",
            "//me@host/t/0",
        ] {
            assert_eq!(Address::parse(wrong), None, "{wrong}");
        }
    }
}
