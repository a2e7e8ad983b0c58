//! A session with a target, as a transport.

use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant as Clock};

use diskarm_core::units::{Instant, Span};
use diskarm_extract::{Broken, Data, Reply, Transport, safety};
use diskarm_wire::iscsi::{
    Command, DataIn, DataOut, LogoutRequest, Lun, Message, NopIn, NopOut, ReadyToTransfer,
    Response, Serial, Tag, TextRequest, async_event, attribute, logout_reason, response, segment,
};

use crate::address::Address;
use crate::chap::Credentials;
use crate::connection::Connection;
use crate::error::{Error, protocol};
use crate::login::{Agreed, MAX_TEXT, Numbers, Purpose, login, pairs};

/// How long logging out may take.
const LOGOUT: Duration = Duration::from_secs(1);

/// How long the list of targets may take.
const DISCOVERY: Duration = Duration::from_secs(10);

/// A session with a target, of which one logical unit is used. Times are those right before a
/// command is handed to the kernel and right after its end was read.
#[derive(Debug)]
pub struct Session {
    connection: Connection,
    agreed: Agreed,
    numbers: Numbers,
    lun: Lun,
    tag: u32,
    writes: bool,
    /// Why no command can be sent any more.
    over: Option<Broken>,
    opened: Clock,
}

/// How a command ended.
struct Ended {
    status: u8,
    sense: Vec<u8>,
    transferred: usize,
}

/// A command under way.
struct Task<'a, 'd> {
    tag: Tag,
    data: &'a mut Data<'d>,
    transferred: usize,
}

/// Numbers the sessions of this program, so that none takes the place of another.
static SESSIONS: AtomicU16 = AtomicU16::new(0);

fn opened(
    address: &Address,
    purpose: Purpose<'_>,
    credentials: Option<&Credentials>,
) -> Result<Session, Error> {
    let mut connection = Connection::open(&address.host, address.port)?;
    let unique = SESSIONS.fetch_add(1, Ordering::Relaxed);
    let (agreed, numbers) = login(&mut connection, purpose, credentials, unique)?;
    Ok(Session {
        connection,
        agreed,
        numbers,
        lun: Lun::new(address.lun),
        tag: 0,
        writes: false,
        over: None,
        opened: Clock::now(),
    })
}

/// The names of the targets that a host offers.
///
/// # Errors
/// There is no target at this address, or it lets nobody ask.
pub fn targets(address: &Address, credentials: Option<&Credentials>) -> Result<Vec<String>, Error> {
    let mut session = opened(address, Purpose::Discovery, credentials)?;
    let deadline = Clock::now() + DISCOVERY;
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
            return Err(protocol("no text response"));
        };
        session.numbers.expected_status = response.status.next();
        text.extend(data);
        if text.len() > MAX_TEXT {
            return Err(protocol("a list of targets without end"));
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
    /// Logs in, for commands that leave data and settings of the disk alone. Others do not reach
    /// it: they end as on a write-protected disk.
    ///
    /// # Errors
    /// There is no such host or target, or it refuses the login.
    pub fn open(address: &Address, credentials: Option<&Credentials>) -> Result<Self, Error> {
        opened(address, Purpose::Target(&address.target), credentials)
    }

    /// Lets all commands through from now on. `over_content` allows it on a disk that holds a
    /// partition table, a file system or the like.
    ///
    /// # Errors
    /// The disk holds something, or this cannot be found out.
    pub fn allow_writes(&mut self, over_content: bool) -> Result<(), Error> {
        if !over_content && let Some(what) = safety::content(self).map_err(Error::Disk)? {
            return Err(Error::Content(what));
        }
        self.writes = true;
        Ok(())
    }

    /// Sends a command and waits for its end.
    fn command(&mut self, block: &[u8], data: &mut Data<'_>) -> Result<Ended, Error> {
        let mut sixteen = [0; 16];
        let room = sixteen.get_mut(..block.len());
        room.ok_or_else(|| protocol("a command block of more than 16 bytes"))?
            .copy_from_slice(block);
        let length = match data {
            Data::None => 0,
            Data::In(room) => room.len(),
            Data::Out(bytes) => bytes.len(),
        };
        let deadline = Clock::now() + safety::timeout(block, length);
        while self.numbers.max_command.is_before(self.numbers.command) {
            // The target will say that it takes more.
            let (message, content) = self.connection.receive(deadline)?;
            self.other(&message, &content)?;
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
            length: u32::try_from(length).map_err(|_| protocol("4 GiB of data or more"))?,
            command: self.numbers.command,
            expected_status: self.numbers.expected_status,
            block: sixteen,
        };
        self.numbers.command = self.numbers.command.next();
        let first = match data {
            Data::Out(bytes) => &bytes[..bytes.len().min(self.agreed.immediate)],
            Data::None | Data::In(_) => &[],
        };
        self.connection.send(&Message::Command(command), first)?;
        let mut task = Task {
            tag,
            data,
            transferred: 0,
        };
        loop {
            let (message, content) = self.connection.receive(deadline)?;
            if let Some(ended) = self.take(&mut task, &message, &content)? {
                return Ok(ended);
            }
        }
    }

    /// What a message says of the task: its end, if it has one.
    fn take(
        &mut self,
        task: &mut Task<'_, '_>,
        message: &Message,
        content: &[u8],
    ) -> Result<Option<Ended>, Error> {
        match message {
            Message::DataIn(part) if part.tag == task.tag => self.data_in(task, part, content),
            Message::ReadyToTransfer(wanted) if wanted.tag == task.tag => {
                self.opened_to(wanted.max_command);
                self.data_out(task, wanted)?;
                Ok(None)
            }
            Message::Response(response) if response.tag == task.tag => {
                self.response(task, response, content).map(Some)
            }
            other => {
                self.other(other, content)?;
                Ok(None)
            }
        }
    }

    fn data_in(
        &mut self,
        task: &mut Task<'_, '_>,
        part: &DataIn,
        content: &[u8],
    ) -> Result<Option<Ended>, Error> {
        let Data::In(room) = task.data else {
            return Err(protocol("data for a command that reads none"));
        };
        let from = part.offset as usize;
        let place = room
            .get_mut(from..)
            .and_then(|room| room.get_mut(..content.len()));
        place
            .ok_or_else(|| protocol("more data than the command reads"))?
            .copy_from_slice(content);
        task.transferred += content.len();
        self.opened_to(part.max_command);
        if !part.has_status {
            return Ok(None);
        }
        self.numbers.expected_status = part.status.next();
        Ok(Some(Ended {
            status: part.scsi_status,
            sense: Vec::new(),
            transferred: task.transferred,
        }))
    }

    /// Sends the data that a target asks for.
    fn data_out(&mut self, task: &Task<'_, '_>, wanted: &ReadyToTransfer) -> Result<(), Error> {
        let Data::Out(bytes) = *task.data else {
            return Err(protocol("it wants data of a command that has none"));
        };
        let from = wanted.offset as usize;
        let bytes = bytes.get(from..).unwrap_or_default();
        let bytes = bytes
            .get(..wanted.length as usize)
            .filter(|bytes| !bytes.is_empty())
            .ok_or_else(|| protocol("it wants data that the command does not have"))?;
        let pieces = bytes.chunks(self.agreed.most_data);
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
    ) -> Result<Ended, Error> {
        self.numbers.expected_status = response.status.next();
        self.opened_to(response.max_command);
        if response.response != response::COMPLETED {
            let code = response.response;
            return Err(protocol(format!(
                "it could not execute a command (0x{code:02x})"
            )));
        }
        let (sense, _) = segment::sense(content).ok_or_else(|| protocol("sense data cut off"))?;
        let missing = match response.underflow {
            true => response.residual as usize,
            false => 0,
        };
        let transferred = match &*task.data {
            Data::Out(bytes) => bytes.len().saturating_sub(missing),
            Data::None | Data::In(_) => task.transferred,
        };
        Ok(Ended {
            status: response.scsi_status,
            sense: sense.to_vec(),
            transferred,
        })
    }

    /// What a target says that is not about the command.
    fn other(&mut self, message: &Message, content: &[u8]) -> Result<(), Error> {
        match message {
            Message::NopIn(ping) => self.pinged(ping, content),
            Message::AsyncMessage(message) => {
                self.numbers.expected_status = message.status.next();
                self.opened_to(message.max_command);
                match message.event {
                    async_event::SCSI | async_event::NEGOTIATION_WANTED => Ok(()),
                    event => Err(protocol(format!("it ends the session (event {event})"))),
                }
            }
            Message::Reject(reject) => {
                let reason = reject.reason;
                Err(protocol(format!(
                    "it rejects a message (reason 0x{reason:02x})"
                )))
            }
            other => {
                let code = other.operation();
                Err(protocol(format!(
                    "unexpected message (operation 0x{code:02x})"
                )))
            }
        }
    }

    fn pinged(&mut self, ping: &NopIn, content: &[u8]) -> Result<(), Error> {
        self.opened_to(ping.max_command);
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

    /// The target takes commands up to this number. It never takes that back.
    fn opened_to(&mut self, max_command: Serial) {
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
        let deadline = Clock::now() + LOGOUT;
        loop {
            let (message, content) = self.connection.receive(deadline)?;
            match message {
                Message::LogoutResponse(_) => return Ok(()),
                message => self.other(&message, &content)?,
            }
        }
    }
}

impl Transport for Session {
    fn execute(&mut self, command: &[u8], mut data: Data<'_>) -> Result<Reply, Broken> {
        let list = match &data {
            Data::Out(bytes) => bytes,
            Data::None | Data::In(_) => &[][..],
        };
        if !self.writes && !safety::leaves_data_alone(command, list) {
            return Ok(safety::write_protected(self.now()));
        }
        if let Some(over) = &self.over {
            return Err(over.clone());
        }
        let sent = self.now();
        let ended = self.command(command, &mut data);
        let at = self.now();
        match ended {
            Ok(ended) => Ok(Reply {
                status: ended.status,
                sense: ended.sense,
                transferred: ended.transferred,
                sent,
                ended: at,
            }),
            Err(error) => {
                let why = format!("{}: {error}", safety::name(command));
                // The answer may still come, so that this session cannot continue. Another one can.
                let broken = match error {
                    Error::Timeout => Broken::Command(why),
                    _ => Broken::Transport(why),
                };
                self.over = Some(broken.clone());
                Err(broken)
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
    /// Logs out, so that the target can forget the session.
    fn drop(&mut self) {
        if self.over.is_none() {
            // A target that does not answer finds the connection closed.
            let _ = self.log_out();
        }
    }
}
