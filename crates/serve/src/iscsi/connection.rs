//! A connection after its login: frames incoming messages and sends replies.

use std::collections::VecDeque;

use diskarm_wire::iscsi::segment::emit_sense;
use diskarm_wire::iscsi::{
    DataIn, Message, NopIn, Reject, Response, Serial, Tag, reject_reason, response,
};

use super::frame::{Digests, FrameError};
use super::parameters::{MAX_RECEIVE, Parameters};
use super::register::Member;
use super::session::{Outcome, Task, Window};
use crate::engine::{self, ConnectionError};
use crate::nonblocking::ByteQueue;

/// Size of the output buffer, in bytes.
const OUTPUT_SIZE: usize = 256 << 10;
/// Maximum number of queued replies. At this number, or if the messages among them have more than
/// [`MAX_RECEIVE`] bytes of data, no more input is read.
const MAX_REPLIES: usize = 64;

pub struct Connection {
    pub(super) member: Member,
    pub(super) address: String,
    /// The number of the first command, if the connection starts a session.
    pub(super) first: Option<Serial>,
    /// Index of the session, while the connection belongs to one.
    pub(super) session: Option<usize>,
    pub(super) parameters: Parameters,
    input: ByteQueue,
    output: ByteQueue,
    /// The number of the next response.
    status: Serial,
    replies: VecDeque<Reply>,
    /// Data of the messages among the replies, in bytes, and the memory taken for them.
    reply_bytes: usize,
    reply_memory: usize,
    /// The tag of the last transfer.
    transfer: u32,
    /// True if no more input will be read; the remaining output is still sent.
    is_ending: bool,
}

impl Connection {
    /// Creates a connection after its login. `status` is the number of the next response. `first`
    /// is the number of the first command, if the connection starts a session.
    pub fn new(
        member: Member,
        address: String,
        parameters: Parameters,
        status: Serial,
        first: Option<Serial>,
    ) -> Self {
        Self {
            member,
            address,
            first,
            session: None,
            parameters,
            input: ByteQueue::new(Digests::max_length(MAX_RECEIVE)),
            output: ByteQueue::new(OUTPUT_SIZE),
            status,
            replies: VecDeque::new(),
            reply_bytes: 0,
            reply_memory: 0,
            transfer: 0,
            is_ending: false,
        }
    }

    /// Takes over the remaining input and output of the login.
    pub fn preload(&mut self, input: &[u8], output: &[u8]) {
        self.input.push(input);
        self.output.push(output);
    }

    /// Returns the next complete message with its data. Fails if the input is corrupt.
    pub fn message(&mut self) -> Result<Option<(Message, Vec<u8>)>, ConnectionError> {
        loop {
            if self.is_ending || !self.has_reply_room() {
                return Ok(None);
            }
            let digests = self.parameters.digests;
            let frame = match digests.first(self.input.bytes(), MAX_RECEIVE) {
                Ok(Some(frame)) => frame,
                Ok(None) => return Ok(None),
                Err(FrameError::Corrupt) => return Err(ConnectionError),
                Err(FrameError::DataDigest(header)) => {
                    // Error recovery is not supported, so the session ends.
                    self.reject(reject_reason::DATA_DIGEST, header);
                    self.is_ending = true;
                    return Ok(None);
                }
            };
            let (header, data, length) = (frame.header, frame.data.to_vec(), frame.length);
            self.input.consume(length);
            match Message::parse(&header) {
                Ok(message) => return Ok(Some((message, data))),
                Err(_) => self.reject(reject_reason::NOT_SUPPORTED, header),
            }
        }
    }

    pub fn request_data(&mut self, task: &mut Task) {
        self.transfer = self.transfer.wrapping_add(1) & 0x7fff_ffff;
        let message = task.ask(Tag(self.transfer), &self.parameters);
        self.send(Message::ReadyToTransfer(message), Vec::new());
    }

    /// Queues the response to a command.
    pub fn respond(&mut self, outcome: Outcome) {
        self.replies.push_back(Reply::Outcome(Box::new(outcome)));
    }

    pub fn send(&mut self, message: Message, data: Vec<u8>) {
        self.reply_bytes += data.len();
        self.replies
            .push_back(Reply::Message(Box::new(message), data));
    }

    fn has_reply_room(&self) -> bool {
        self.replies.len() < MAX_REPLIES && self.reply_bytes <= MAX_RECEIVE
    }

    /// Takes or releases memory for the data of messages.
    fn count_memory(&mut self, window: &mut Window) {
        window.memory.release(self.reply_memory);
        window.memory.take(self.reply_bytes);
        self.reply_memory = self.reply_bytes;
    }

    pub fn reject(&mut self, reason: u8, header: [u8; Message::LENGTH]) {
        let reject = Reject {
            reason,
            tag: Tag::NONE,
            ..Reject::default()
        };
        self.send(Message::Reject(reject), header.to_vec());
    }

    /// Stops reading input; the connection ends once all output has been sent.
    pub fn finish(&mut self) {
        self.is_ending = true;
    }

    /// Drops all input and output.
    pub fn cut_off(&mut self, window: &mut Window) {
        self.is_ending = true;
        self.output.consume(self.output.bytes().len());
        self.reply_bytes = 0;
        self.count_memory(window);
        for reply in self.replies.drain(..) {
            if let Reply::Outcome(outcome) = reply {
                window.release(outcome.share);
            }
        }
    }

    pub fn has_sent(&self) -> bool {
        self.replies.is_empty() && self.output.bytes().is_empty()
    }

    /// Moves replies to the output while there is room.
    pub fn fill(&mut self, window: &mut Window) {
        self.count_memory(window);
        self.write_replies(window);
        self.count_memory(window);
    }

    fn write_replies(&mut self, window: &mut Window) {
        while let Some(mut reply) = self.replies.pop_front() {
            let share = match &reply {
                Reply::Outcome(outcome) => Some(outcome.share),
                Reply::Message(..) => None,
            };
            // The response announces the window, so its share must be released first.
            if let Some(share) = share {
                window.release(share);
            }
            let mut writer = ReplyWriter {
                numbers: SerialNumbers {
                    status: self.status,
                    max: window.announce(),
                    expected: window.expected,
                },
                output: &mut self.output,
                parameters: &self.parameters,
            };
            let is_done = writer.write(&mut reply);
            self.status = writer.numbers.status;
            if !is_done {
                if let Some(share) = share {
                    window.memory.take(share.cost);
                    window.take(share);
                }
                self.replies.push_front(reply);
                return;
            }
            if let Reply::Message(_, data) = reply {
                self.reply_bytes -= data.len();
            }
        }
    }
}

impl engine::Session for Connection {
    fn room(&mut self) -> &mut [u8] {
        self.input.room()
    }

    fn filled(&mut self, count: usize) {
        self.input.added(count);
    }

    fn wants_input(&self) -> bool {
        !self.is_ending && self.has_reply_room() && self.input.room_len() > 0
    }

    fn output(&self) -> &[u8] {
        self.output.bytes()
    }

    fn sent(&mut self, count: usize) {
        self.output.consume(count);
    }

    fn has_ended(&self) -> bool {
        self.is_ending && self.has_sent()
    }

    fn is_receiving(&self) -> bool {
        let (input, digests) = (self.input.bytes(), self.parameters.digests);
        let is_partial = || matches!(digests.first(input, MAX_RECEIVE), Ok(None));
        !self.is_ending && !input.is_empty() && is_partial()
    }

    fn ping(&mut self) -> bool {
        let ping = NopIn {
            tag: Tag::NONE,
            transfer: Tag(0x8000_0000),
            ..NopIn::default()
        };
        self.send(Message::NopIn(ping), Vec::new());
        true
    }
}

pub enum Reply {
    /// A message with its data. The serial numbers are set when the message is sent.
    Message(Box<Message>, Vec<u8>),
    Outcome(Box<Outcome>),
}

#[derive(Clone, Copy)]
pub struct SerialNumbers {
    pub status: Serial,
    pub expected: Serial,
    /// The number of the last command that the target accepts.
    pub max: Serial,
}

/// Sets the serial numbers of a message; returns true if it consumes a response number.
pub fn stamp(message: &mut Message, numbers: SerialNumbers) -> bool {
    macro_rules! fill {
        ($message:expr) => {{
            $message.status = numbers.status;
            $message.expected_command = numbers.expected;
            $message.max_command = numbers.max;
        }};
    }
    match message {
        Message::NopIn(message) => fill!(message),
        Message::Response(message) => fill!(message),
        Message::TaskResponse(message) => fill!(message),
        Message::TextResponse(message) => fill!(message),
        Message::DataIn(message) => {
            fill!(message);
            if !message.has_status {
                message.status = Serial(0);
            }
        }
        Message::LogoutResponse(message) => fill!(message),
        Message::ReadyToTransfer(message) => fill!(message),
        Message::Reject(message) => fill!(message),
        other => unreachable!("targets do not send {other:?}"),
    }
    match message {
        Message::NopIn(message) => message.tag != Tag::NONE,
        Message::DataIn(message) => message.has_status,
        Message::ReadyToTransfer(_) => false,
        _ => true,
    }
}

/// Maximum data length of a message, in bytes, even if the initiator accepts more.
pub const MAX_SEGMENT: usize = 128 << 10;

pub struct ReplyWriter<'a> {
    pub output: &'a mut ByteQueue,
    pub parameters: &'a Parameters,
    pub numbers: SerialNumbers,
}

impl ReplyWriter<'_> {
    /// Writes the reply; returns false if only a part of it fits.
    pub fn write(&mut self, reply: &mut Reply) -> bool {
        match reply {
            Reply::Message(message, data) => self.put(message, data),
            Reply::Outcome(outcome) => self.write_outcome(outcome),
        }
    }

    /// Writes a message, or returns false if there is no room for it.
    fn put(&mut self, message: &mut Message, data: &[u8]) -> bool {
        let digests = self.parameters.digests;
        let length = digests.length(data.len());
        if self.output.room_len() < length {
            return false;
        }
        if stamp(message, self.numbers) {
            self.numbers.status = self.numbers.status.next();
        }
        digests.emit(message, data, self.output.room());
        self.output.added(length);
        true
    }

    fn write_outcome(&mut self, outcome: &mut Outcome) -> bool {
        let burst = self.parameters.max_burst as usize;
        let max = (self.parameters.max_send as usize).min(MAX_SEGMENT);
        while outcome.sent < outcome.data.len() {
            let in_burst = burst - outcome.sent % burst;
            let left = outcome.data.len() - outcome.sent;
            let count = left.min(in_burst).min(max);
            let is_last = count == left;
            let has_status = is_last && outcome.sense.is_empty();
            let message = DataIn {
                is_final: is_last || count == in_burst,
                overflow: has_status && outcome.residual.is_overflow,
                underflow: has_status && outcome.residual.is_underflow(),
                has_status,
                scsi_status: if has_status { outcome.scsi_status } else { 0 },
                tag: outcome.tag,
                transfer: Tag::NONE,
                data: outcome.messages,
                offset: outcome.sent as u32,
                residual: if has_status {
                    outcome.residual.count
                } else {
                    0
                },
                ..DataIn::default()
            };
            let piece = &outcome.data[outcome.sent..outcome.sent + count];
            if !self.put(&mut Message::DataIn(message), piece) {
                return false;
            }
            outcome.messages = outcome.messages.next();
            outcome.sent += count;
            if has_status {
                return true;
            }
        }
        let message = Response {
            overflow: outcome.residual.is_overflow,
            underflow: outcome.residual.is_underflow(),
            response: response::COMPLETED,
            scsi_status: outcome.scsi_status,
            tag: outcome.tag,
            expected_data: outcome.messages,
            residual: outcome.residual.count,
            ..Response::default()
        };
        self.put(&mut Message::Response(message), &emit_sense(&outcome.sense))
    }
}
