//! A connection beyond its login: messages of the initiator in, replies out.

use std::collections::VecDeque;

use diskarm_wire::iscsi::{Lun, Message, NopIn, Reject, Serial, Tag, reject_reason};

use super::frame::{Digests, Unframed};
use super::keys::{MAX_RECEIVE, Parameters};
use super::register::Member;
use super::reply::{End, Numbers, Reply, Writer};
use super::task::Task;
use super::window::Window;
use crate::buffer::Buffer;
use crate::service::{self, Broken};

/// Room for what is to be sent.
const OUTPUT: usize = 256 << 10;
/// How many replies may wait for the initiator to take them; before more, it is not heard.
const MAX_REPLIES: usize = 64;

/// See the module.
pub struct Connection {
    pub(super) member: Member,
    /// The address to which the initiator is connected.
    pub(super) address: String,
    /// The number of the first command, if the connection begins a session.
    pub(super) first: Option<Serial>,
    /// The place of its session, once it is open.
    pub(super) session: Option<usize>,
    pub(super) parameters: Parameters,
    input: Buffer,
    output: Buffer,
    /// The number of the next response.
    status: Serial,
    replies: VecDeque<Reply>,
    /// Names the next transfer.
    transfer: u32,
    /// Nothing more is taken; what is to be sent leaves.
    is_ending: bool,
}

impl Connection {
    /// Continues as the login has agreed, with the number of the next response, and that of the first
    /// command if it begins a session.
    pub fn new(
        member: Member,
        address: String,
        parameters: Parameters,
        status: Serial,
        first: Option<Serial>,
    ) -> Self {
        let digests = Digests {
            header: true,
            data: true,
        };
        Self {
            member,
            address,
            first,
            session: None,
            parameters,
            input: Buffer::new(digests.longest(MAX_RECEIVE)),
            output: Buffer::new(OUTPUT),
            status,
            replies: VecDeque::new(),
            transfer: 0,
            is_ending: false,
        }
    }

    /// What the login has left of the input, and what it has to send.
    pub fn preload(&mut self, input: &[u8], output: &[u8]) {
        self.input.room()[..input.len()].copy_from_slice(input);
        self.input.added(input.len());
        self.output.room()[..output.len()].copy_from_slice(output);
        self.output.added(output.len());
    }

    /// The next message that has arrived with its data, if one has.
    ///
    /// # Errors
    /// If bytes have been lost.
    pub fn message(&mut self) -> Result<Option<(Message, Vec<u8>)>, Broken> {
        loop {
            if self.is_ending || self.replies.len() >= MAX_REPLIES {
                return Ok(None);
            }
            let digests = self.parameters.digests;
            let frame = match digests.first(self.input.bytes(), MAX_RECEIVE) {
                Ok(Some(frame)) => frame,
                Ok(None) => return Ok(None),
                Err(Unframed::Losses) => return Err(Broken),
                Err(Unframed::DataDigest(header)) => {
                    // Without recovery from errors the session ends.
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

    /// Asks for more data of a task.
    pub fn ask_for_data(&mut self, task: &mut Task) {
        self.transfer = self.transfer.wrapping_add(1) & 0x7fff_ffff;
        let message = task.ask(Tag(self.transfer), &self.parameters);
        self.say(Message::ReadyToTransfer(message), Vec::new());
    }

    /// A command has ended: its answer can leave.
    pub fn end(&mut self, end: End) {
        self.replies.push_back(Reply::End(Box::new(end)));
    }

    /// Sends a message when there is room.
    pub fn say(&mut self, message: Message, data: Vec<u8>) {
        self.replies
            .push_back(Reply::Message(Box::new(message), data));
    }

    /// Tells that a message is not taken.
    pub fn reject(&mut self, reason: u8, header: [u8; Message::LENGTH]) {
        let reject = Reject {
            reason,
            tag: Tag::NONE,
            status: Serial(0),
            expected_command: Serial(0),
            max_command: Serial(0),
            data: Serial(0),
        };
        self.say(Message::Reject(reject), header.to_vec());
    }

    /// Takes nothing more, and ends when all has been sent.
    pub fn finish(&mut self) {
        self.is_ending = true;
    }

    /// Takes nothing more, and sends nothing more.
    pub fn cut_off(&mut self, window: &mut Window) {
        self.is_ending = true;
        self.output.consume(self.output.bytes().len());
        for reply in self.replies.drain(..) {
            if let Reply::End(end) = reply {
                window.release(end.share);
            }
        }
    }

    /// Whether all that was answered has been sent.
    pub fn has_sent(&self) -> bool {
        self.replies.is_empty() && self.output.bytes().is_empty()
    }

    /// Moves replies to the output, as far as there is room.
    pub fn fill(&mut self, window: &mut Window) {
        while let Some(mut reply) = self.replies.pop_front() {
            let share = match &reply {
                Reply::End(end) => Some(end.share),
                Reply::Message(..) => None,
            };
            // The answer itself says that there is room again.
            if let Some(share) = share {
                window.release(share);
            }
            let mut writer = Writer {
                numbers: Numbers {
                    status: self.status,
                    max: window.tell(),
                    expected: window.expected(),
                },
                output: &mut self.output,
                parameters: &self.parameters,
            };
            let is_done = writer.write(&mut reply);
            self.status = writer.numbers.status;
            if !is_done {
                if let Some(share) = share {
                    window.take(share);
                }
                self.replies.push_front(reply);
                return;
            }
        }
    }
}

impl service::Session for Connection {
    fn room(&mut self) -> &mut [u8] {
        self.input.room()
    }

    fn filled(&mut self, count: usize) {
        self.input.added(count);
    }

    fn wants_input(&self) -> bool {
        !self.is_ending && self.replies.len() < MAX_REPLIES && self.input.room_len() > 0
    }

    fn output(&self) -> &[u8] {
        self.output.bytes()
    }

    fn sent(&mut self, count: usize) {
        self.output.consume(count);
    }

    fn is_over(&self) -> bool {
        self.is_ending && self.has_sent()
    }

    fn ask(&mut self) -> bool {
        let ping = NopIn {
            lun: Lun(0),
            tag: Tag::NONE,
            transfer: Tag(0x8000_0000),
            status: Serial(0),
            expected_command: Serial(0),
            max_command: Serial(0),
        };
        self.say(Message::NopIn(ping), Vec::new());
        true
    }
}
