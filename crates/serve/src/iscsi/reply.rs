//! What a target sends.

use diskarm_wire::iscsi::segment::emit_sense;
use diskarm_wire::iscsi::{DataIn, Lun, Message, Response, Serial, Tag, padded, response};

use super::keys::Parameters;
use super::window::Share;
use crate::buffer::Buffer;

pub enum Reply {
    /// A message with its data; its numbers are filled in when it leaves.
    Message(Box<Message>, Vec<u8>),
    /// The end of a command.
    End(Box<End>),
}

/// How a command ended.
pub struct End {
    pub tag: Tag,
    /// What it takes of the window.
    pub share: Share,
    pub scsi_status: u8,
    pub sense: Vec<u8>,
    pub data: Vec<u8>,
    /// By how much the transfer differed from what was expected.
    pub residual: Residual,
    /// How many messages have asked for data, or have carried some.
    pub messages: Serial,
    /// How many bytes of the data have gone to the output.
    pub sent: usize,
}

/// By how much a transfer differed from what was expected, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Residual {
    pub is_overflow: bool,
    pub count: u32,
}

impl Residual {
    /// Of a transfer of `actual` bytes where `expected` were.
    pub fn of(expected: u32, actual: usize) -> Self {
        let expected = expected as usize;
        Self {
            is_overflow: actual > expected,
            count: u32::try_from(actual.abs_diff(expected)).unwrap_or(u32::MAX),
        }
    }

    const fn is_underflow(self) -> bool {
        !self.is_overflow && self.count > 0
    }
}

/// The numbers that each message has.
#[derive(Clone, Copy)]
pub struct Numbers {
    /// Of the next response.
    pub status: Serial,
    /// Of the next command.
    pub expected: Serial,
    /// The largest of a command that is taken.
    pub max: Serial,
}

/// Fills in the numbers of a message; returns whether it takes one.
fn stamp(message: &mut Message, numbers: Numbers) -> bool {
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
        other => unreachable!("{other:?} is of an initiator"),
    }
    match message {
        Message::NopIn(message) => message.tag != Tag::NONE,
        Message::DataIn(message) => message.has_status,
        Message::ReadyToTransfer(_) => false,
        _ => true,
    }
}

/// The most data of a message, in bytes, however much the initiator takes.
pub const PIECE: usize = 128 << 10;

/// Writes what is sent.
pub struct Writer<'a> {
    pub output: &'a mut Buffer,
    pub parameters: &'a Parameters,
    pub numbers: Numbers,
}

impl Writer<'_> {
    /// Returns whether all of the reply has gone to the output.
    pub fn write(&mut self, reply: &mut Reply) -> bool {
        match reply {
            Reply::Message(message, data) => self.put(message, data),
            Reply::End(end) => self.end(end),
        }
    }

    /// Whether there was room for a message.
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

    fn end(&mut self, end: &mut End) -> bool {
        let burst = self.parameters.max_burst as usize;
        let max = (self.parameters.max_send as usize).min(PIECE);
        while end.sent < end.data.len() {
            let in_burst = burst - end.sent % burst;
            let left = end.data.len() - end.sent;
            let count = left.min(in_burst).min(max);
            let is_last = count == left;
            let has_status = is_last && end.sense.is_empty();
            let message = DataIn {
                is_final: is_last || count == in_burst,
                acknowledge: false,
                overflow: has_status && end.residual.is_overflow,
                underflow: has_status && end.residual.is_underflow(),
                has_status,
                scsi_status: if has_status { end.scsi_status } else { 0 },
                lun: Lun(0),
                tag: end.tag,
                transfer: Tag::NONE,
                status: Serial(0),
                expected_command: Serial(0),
                max_command: Serial(0),
                data: end.messages,
                offset: end.sent as u32,
                residual: if has_status { end.residual.count } else { 0 },
            };
            let piece = &end.data[end.sent..end.sent + count];
            if !self.put(&mut Message::DataIn(message), piece) {
                return false;
            }
            end.messages = end.messages.next();
            end.sent += count;
            if has_status {
                return true;
            }
        }
        let message = Response {
            read_overflow: false,
            read_underflow: false,
            overflow: end.residual.is_overflow,
            underflow: end.residual.is_underflow(),
            response: response::COMPLETED,
            scsi_status: end.scsi_status,
            tag: end.tag,
            snack: Tag(0),
            status: Serial(0),
            expected_command: Serial(0),
            max_command: Serial(0),
            expected_data: end.messages,
            read_residual: 0,
            residual: end.residual.count,
        };
        let mut sense = vec![0; padded(2 + end.sense.len())];
        let length = emit_sense(&end.sense, &mut sense);
        self.put(&mut Message::Response(message), &sense[..length])
    }
}
