//! A session beyond its login, which has one connection.

use std::collections::VecDeque;

use diskarm_wire::iscsi::{Lun, Message, NopIn, Reject, Serial, Tag, reject_reason};

use super::WINDOW;
use super::frame::{Digests, Unframed};
use super::keys::{MAX_RECEIVE, Parameters};
use super::reply::{End, Numbers, Reply, Residual, Writer};
use super::task::{State, Task};
use crate::buffer::Buffer;
use crate::service::{self, Broken};

/// Room for what is to be sent.
const OUTPUT: usize = 256 << 10;
/// How many replies may wait for the initiator to take them; before more, it is not heard.
const MAX_REPLIES: usize = 64;
/// How many immediate commands may be under way.
pub const MAX_IMMEDIATE: usize = 8;
/// How much memory the commands under way may take, in bytes, if there are several.
pub const MAX_COST: usize = 64 << 20;

/// Where a session comes from.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The initiator's name.
    pub initiator: String,
    /// Its part of the name of the session.
    pub isid: [u8; 6],
    /// The name of the connection.
    pub connection: u16,
    /// The target's name.
    pub target: String,
    /// The address to which the initiator is connected.
    pub address: String,
}

/// See the module.
pub struct Session {
    pub(super) origin: Origin,
    /// What the unit calls the initiator.
    pub(super) initiator: u64,
    pub(super) parameters: Parameters,
    input: Buffer,
    output: Buffer,
    /// The number of the next response.
    status: Serial,
    /// The number of the next command.
    expected: Serial,
    /// The largest number of a command that the initiator was told is taken.
    told_max: Serial,
    /// Commands that have no answer yet, in the order of their arrival.
    pub(super) tasks: Vec<Task>,
    replies: VecDeque<Reply>,
    /// Commands with a number whose answers have not left: they fill the window.
    window: u32,
    /// How many immediate commands have no answer.
    pub(super) immediate: usize,
    /// The memory that commands take whose answers have not left.
    cost: usize,
    /// Names the next transfer.
    transfer: u32,
    /// Nothing more is taken; what is to be sent leaves.
    is_ending: bool,
}

/// Whether a command comes in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// It does.
    Next,
    /// It is outside the window, and is ignored.
    Outside,
}

impl Session {
    /// Goes on as the login has agreed, with the numbers of the next response and command.
    pub fn new(origin: Origin, parameters: Parameters, status: Serial, expected: Serial) -> Self {
        let digests = Digests {
            header: true,
            data: true,
        };
        Self {
            origin,
            initiator: 0,
            parameters,
            input: Buffer::new(digests.longest(MAX_RECEIVE)),
            output: Buffer::new(OUTPUT),
            status,
            expected,
            // As the login has said.
            told_max: expected.plus(WINDOW - 1),
            tasks: Vec::new(),
            replies: VecDeque::new(),
            window: 0,
            immediate: 0,
            cost: 0,
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
                Err(Unframed::Lost) => return Err(Broken),
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

    /// Takes the number of a command.
    ///
    /// # Errors
    /// If one before it is missing, which one connection cannot lose.
    pub fn order(&mut self, is_immediate: bool, command: Serial) -> Result<Order, Broken> {
        if is_immediate {
            return Ok(Order::Next);
        }
        if command.is_before(self.expected) || self.told_max.is_before(command) {
            return Ok(Order::Outside);
        }
        if command != self.expected {
            return Err(Broken);
        }
        self.expected = self.expected.next();
        Ok(Order::Next)
    }

    /// The largest number of a command that is taken, which never becomes smaller: the initiator
    /// may already have used what it was told.
    fn max(&self) -> Serial {
        let free = WINDOW.saturating_sub(self.window);
        let max = self.expected.plus(free).previous();
        match max.is_before(self.told_max) {
            true => self.told_max,
            false => max,
        }
    }

    /// Keeps a command that has arrived.
    pub fn keep(&mut self, task: Task) {
        match task.is_immediate {
            true => self.immediate += 1,
            false => self.window += 1,
        }
        self.cost += task.cost;
        self.tasks.push(task);
    }

    /// Whether there is memory for a command that takes this much.
    pub fn has_memory(&self, cost: usize) -> bool {
        self.cost == 0 || self.cost + cost <= MAX_COST
    }

    /// Drops tasks that get no answer.
    pub fn drop_tasks(&mut self, of: impl Fn(&Task) -> bool) -> usize {
        let before = self.tasks.len();
        let (window, immediate, cost) = (&mut self.window, &mut self.immediate, &mut self.cost);
        self.tasks.retain(|task| {
            let is_dropped = of(task);
            if is_dropped {
                match task.is_immediate {
                    true => *immediate -= 1,
                    false => *window -= 1,
                }
                *cost -= task.cost;
            }
            !is_dropped
        });
        before - self.tasks.len()
    }

    /// The task with this name.
    pub fn task(&mut self, tag: Tag) -> Option<&mut Task> {
        self.tasks.iter_mut().find(|task| task.tag == tag)
    }

    /// Asks for more data of a task.
    pub fn ask_for_data(&mut self, tag: Tag) {
        self.transfer = self.transfer.wrapping_add(1) & 0x7fff_ffff;
        let transfer = Tag(self.transfer);
        let parameters = self.parameters;
        if let Some(task) = self.task(tag) {
            let message = task.ask(transfer, &parameters);
            self.say(Message::ReadyToTransfer(message), Vec::new());
        }
    }

    /// The next task that may begin. Those of an initiator begin in the order of their arrival, as
    /// far as their attributes want it: one whose data arrive lets others pass that are simple.
    pub fn next_to_begin(&mut self) -> Option<&mut Task> {
        use diskarm_emulate::Attribute;
        let (mut is_any, mut is_ordered) = (false, false);
        self.tasks.iter_mut().find(|task| {
            if task.state == State::Begun {
                return false;
            }
            let may_pass = match task.attribute {
                Attribute::HeadOfQueue => true,
                Attribute::Ordered => !is_any,
                Attribute::Simple => !is_ordered,
            };
            is_any = true;
            is_ordered |= task.attribute == Attribute::Ordered;
            task.state == State::Ready && may_pass
        })
    }

    /// A task has ended: its answer can leave.
    pub fn end(&mut self, tag: Tag, scsi_status: u8, sense: Vec<u8>, mut data: Vec<u8>) {
        let Some(index) = self.tasks.iter().position(|task| task.tag == tag) else {
            return;
        };
        let task = self.tasks.remove(index);
        let actual = if task.writes { task.needed } else { data.len() };
        let most = if task.reads {
            task.expected as usize
        } else {
            0
        };
        data.truncate(most);
        self.replies.push_back(Reply::End(Box::new(End {
            tag,
            is_immediate: task.is_immediate,
            cost: task.cost,
            scsi_status,
            sense,
            data,
            residual: Residual::of(task.expected, actual),
            messages: task.requests(),
            sent: 0,
        })));
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

    /// Moves replies to the output, as far as there is room.
    pub fn fill(&mut self) {
        while let Some(mut reply) = self.replies.pop_front() {
            if let Reply::End(end) = &reply {
                // The answer itself says that there is room again.
                self.window -= u32::from(!end.is_immediate);
            }
            let max = self.max();
            let mut writer = Writer {
                numbers: Numbers {
                    status: self.status,
                    expected: self.expected,
                    max,
                },
                output: &mut self.output,
                parameters: &self.parameters,
            };
            let is_done = writer.write(&mut reply);
            self.status = writer.numbers.status;
            self.told_max = max;
            match (&reply, is_done) {
                (Reply::End(end), true) => {
                    self.immediate -= usize::from(end.is_immediate);
                    self.cost -= end.cost;
                }
                (Reply::End(end), false) => self.window += u32::from(!end.is_immediate),
                _ => {}
            }
            if !is_done {
                self.replies.push_front(reply);
                return;
            }
        }
    }
}

impl service::Session for Session {
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
        self.is_ending && self.replies.is_empty() && self.output.bytes().is_empty()
    }

    fn is_idle(&self) -> bool {
        let is_waiting = |task: &Task| task.state != State::Arriving;
        let is_sent = self.replies.is_empty() && self.output.bytes().is_empty();
        is_sent && !self.tasks.iter().any(is_waiting)
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
