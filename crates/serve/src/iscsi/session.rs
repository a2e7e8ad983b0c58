//! A session: the commands that an initiator sends over its connections, their data, and the
//! window.

use diskarm_emulate::Attribute;
use diskarm_wire::Sense;
use diskarm_wire::iscsi::{
    Command, DataOut, Lun, Message, NopOut, ReadyToTransfer, Serial, Tag, attribute,
};
use diskarm_wire::sense::{Code, Key};

use super::memory::SessionMemory;
use super::parameters::{Parameters, WINDOW};
use crate::engine::ConnectionError;
use crate::statistics::Access;

/// Maximum total size of early messages, in bytes: the unsolicited data of a full window.
const MAX_EARLY: usize = 16 << 20;
/// Assumed overhead of an early message, in bytes.
const OVERHEAD: usize = 256;

pub struct Session {
    /// The unit's id for the initiator.
    pub initiator: u64,
    /// The target's part of the session id.
    pub tsih: u16,
    pub max_connections: u16,
    pub connections: Vec<SessionConnection>,
    pub window: Window,
    /// Unanswered commands in the order of their numbers.
    pub tasks: Vec<Task>,
    /// Messages that arrived before their turn.
    early: Vec<EarlyMessage>,
}

#[derive(Clone, Copy, Debug)]
pub struct SessionConnection {
    pub number: usize,
    /// The initiator's id for the connection.
    pub name: u16,
}

pub struct EarlyMessage {
    pub number: usize,
    command: Serial,
    pub message: Message,
    pub data: Vec<u8>,
    pub parts: Vec<(DataOut, Vec<u8>)>,
}

impl EarlyMessage {
    fn size(&self) -> usize {
        let parts = self.parts.iter().map(|(_, data)| OVERHEAD + data.len());
        OVERHEAD + self.data.len() + parts.sum::<usize>()
    }

    fn is_command(&self, tag: Tag) -> bool {
        matches!(&self.message, Message::Command(command) if command.tag == tag)
    }
}

impl Session {
    pub fn new(initiator: u64, tsih: u16, max_connections: u16, window: Window) -> Self {
        Self {
            initiator,
            tsih,
            max_connections,
            connections: Vec::new(),
            window,
            tasks: Vec::new(),
            early: Vec::new(),
        }
    }

    pub fn has_connection(&self, number: usize) -> bool {
        let mut connections = self.connections.iter();
        connections.any(|connection| connection.number == number)
    }

    pub fn connection_number(&self, name: u16) -> Option<usize> {
        let mut connections = self.connections.iter();
        let found = connections.find(|connection| connection.name == name);
        found.map(|connection| connection.number)
    }

    /// Keeps a message until its predecessors have arrived on other connections. Fails if there can
    /// be no other connections or there is no memory for early messages.
    pub fn keep_early(
        &mut self,
        number: usize,
        command: Serial,
        message: Message,
        data: Vec<u8>,
    ) -> Result<(), ConnectionError> {
        if self.max_connections == 1 {
            return Err(ConnectionError);
        }
        // Duplicates are ignored.
        if !self.early.iter().any(|early| early.command == command) {
            self.take_early(OVERHEAD + data.len())?;
            self.early.push(EarlyMessage {
                number,
                command,
                message,
                data,
                parts: Vec::new(),
            });
        }
        Ok(())
    }

    /// Keeps the data of an early command until its turn. Returns the data if the command is not
    /// early. Fails if there is no memory for early messages.
    pub fn keep_early_data(
        &mut self,
        number: usize,
        message: &DataOut,
        data: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, ConnectionError> {
        let is_wanted =
            |early: &EarlyMessage| early.number == number && early.is_command(message.tag);
        let Some(index) = self.early.iter().position(is_wanted) else {
            return Ok(Some(data));
        };
        self.take_early(OVERHEAD + data.len())?;
        self.early[index].parts.push((*message, data));
        Ok(None)
    }

    fn take_early(&mut self, bytes: usize) -> Result<(), ConnectionError> {
        let size: usize = self.early.iter().map(EarlyMessage::size).sum();
        let memory = &mut self.window.memory;
        let fits = size + bytes <= MAX_EARLY && memory.try_take(bytes, MAX_COST + MAX_EARLY);
        fits.then_some(()).ok_or(ConnectionError)
    }

    fn retain_early(&mut self, is_kept: impl Fn(&EarlyMessage) -> bool) {
        let memory = &mut self.window.memory;
        self.early.retain(|early| {
            let is_kept = is_kept(early);
            if !is_kept {
                memory.release(early.size());
            }
            is_kept
        });
    }

    /// Cancels a command that has not arrived yet or is waiting for its turn (RFC 7143, "Task
    /// Management Function Request"). Returns false if no command with this number can arrive.
    pub fn skip(&mut self, command: Serial) -> bool {
        let can_arrive = self.max_connections > 1 && self.window.can_arrive(command);
        if can_arrive {
            self.retain_early(|early| early.command != command);
            self.window.memory.take(OVERHEAD);
            let no_operation = NopOut {
                tag: Tag::NONE,
                transfer: Tag::NONE,
                ..NopOut::default()
            };
            self.early.push(EarlyMessage {
                number: usize::MAX,
                command,
                message: Message::NopOut(no_operation),
                data: Vec::new(),
                parts: Vec::new(),
            });
        }
        can_arrive
    }

    /// Removes and returns the message whose turn it is, if it has arrived.
    pub fn next_early(&mut self) -> Option<EarlyMessage> {
        let expected = self.window.expected;
        let mut early = self.early.iter();
        let index = early.position(|early| early.command == expected)?;
        self.window.consume_number(false, expected);
        let early = self.early.swap_remove(index);
        self.window.memory.release(early.size());
        Some(early)
    }

    /// Drops the messages that a connection has sent before their turn.
    pub fn drop_early(&mut self, number: usize) {
        self.retain_early(|early| early.number != number);
    }

    pub fn add_task(&mut self, task: Task) {
        self.window.take(task.share);
        self.tasks.push(task);
    }

    /// Drops tasks without responding to them.
    pub fn drop_tasks(&mut self, is_dropped: impl Fn(&Task) -> bool) {
        let window = &mut self.window;
        self.tasks.retain(|task| {
            let is_dropped = is_dropped(task);
            if is_dropped {
                window.release(task.share);
            }
            !is_dropped
        });
    }

    pub fn task_mut(&mut self, tag: Tag) -> Option<&mut Task> {
        self.tasks.iter_mut().find(|task| task.tag == tag)
    }

    /// Returns the next task that may start. Tasks start in order of arrival if their attributes
    /// require it, but a simple task may overtake one whose data are still arriving.
    pub fn next_to_start(&mut self) -> Option<&mut Task> {
        let (mut follows_any, mut follows_ordered) = (false, false);
        self.tasks.iter_mut().find(|task| {
            if task.state == TaskState::Started {
                return false;
            }
            let may_pass = match task.attribute {
                Attribute::HeadOfQueue => true,
                Attribute::Ordered => !follows_any,
                Attribute::Simple => !follows_ordered,
            };
            follows_any = true;
            follows_ordered |= task.attribute == Attribute::Ordered;
            task.state == TaskState::Ready && may_pass
        })
    }

    /// Removes a task; returns its connection and its response.
    pub fn end(
        &mut self,
        tag: Tag,
        scsi_status: u8,
        sense: Vec<u8>,
        mut data: Vec<u8>,
    ) -> Option<(usize, Outcome)> {
        let index = self.tasks.iter().position(|task| task.tag == tag)?;
        let task = self.tasks.remove(index);
        let actual = if task.writes { task.needed } else { data.len() };
        let max = if task.reads { task.expected } else { 0 };
        data.truncate(max as usize);
        let outcome = Outcome {
            tag,
            share: task.share,
            scsi_status,
            sense,
            data,
            residual: Residual::new(task.expected, actual),
            messages: task.arrival.requests,
            sent: 0,
        };
        Some((task.connection, outcome))
    }
}

/// A command that has arrived and has not been answered.
pub struct Task {
    pub tag: Tag,
    pub lun: Lun,
    /// Number of the connection that sent the command and transfers its data and response.
    pub connection: usize,
    pub share: WindowShare,
    pub attribute: Attribute,
    pub block: Vec<u8>,
    /// Bytes that the initiator sends or expects.
    pub expected: u32,
    pub reads: bool,
    pub writes: bool,
    pub access: Access,
    /// True if the response waits until the store's file has been synchronised.
    pub syncs: bool,
    /// Bytes of data that the command needs.
    pub needed: usize,
    /// Bytes of data that the initiator will send, at most `needed`.
    wanted: usize,
    /// Bytes written if the command succeeds.
    pub writes_bytes: u64,
    /// The data received so far, at most `wanted` bytes.
    pub data: Vec<u8>,
    arrival: Arrival,
    pub state: TaskState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    Arriving,
    Ready,
    /// Submitted to the unit.
    Started,
}

/// The transfer of a task's data.
struct Arrival {
    /// Bytes received, including those that the unit does not need.
    received: u32,
    /// True if unsolicited data will follow.
    is_unsolicited: bool,
    /// The transfer tag and the end of the requested data.
    requested: Option<(Tag, u32)>,
    /// The number of the next data message in the sequence.
    next: Serial,
    /// The number of the next data request.
    requests: Serial,
}

/// The next action after data have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataStep {
    /// Wait for the rest of the sequence.
    Wait,
    Ask,
    Ready,
}

/// A violation of the data transfer rules (RFC 7143, "SCSI Response", on protocol errors).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataError {
    /// Data that were not requested.
    Unexpected,
    /// Too much or too little data.
    Amount,
    Order,
}

impl DataError {
    /// Returns the sense data of the command's response.
    pub fn sense(self) -> Sense {
        let code = match self {
            Self::Unexpected => Code(0x0c, 0x0c),
            Self::Amount => Code(0x0c, 0x0d),
            Self::Order => Code(0x47, 0x05),
        };
        Sense::new(Key::AbortedCommand, code)
    }
}

impl Task {
    /// Creates a task that needs `needed` bytes of data.
    pub fn new(
        connection: usize,
        command: &Command,
        access: Access,
        needed: usize,
        cost: usize,
    ) -> Self {
        let wanted = if command.writes { needed } else { 0 };
        Self {
            tag: command.tag,
            lun: command.lun,
            connection,
            share: WindowShare {
                is_immediate: command.immediate,
                cost,
            },
            attribute: match command.attribute {
                attribute::ORDERED => Attribute::Ordered,
                attribute::HEAD_OF_QUEUE => Attribute::HeadOfQueue,
                _ => Attribute::Simple,
            },
            block: command.unpadded().to_vec(),
            expected: command.length,
            reads: command.reads && !command.writes,
            writes: command.writes,
            access,
            syncs: false,
            needed,
            writes_bytes: 0,
            wanted: wanted.min(command.length as usize),
            data: Vec::new(),
            arrival: Arrival {
                received: 0,
                is_unsolicited: command.writes && !command.is_final,
                requested: None,
                next: Serial(0),
                requests: Serial(0),
            },
            state: TaskState::Arriving,
        }
    }

    /// Handles the immediate data of the command. Fails if they violate the negotiated parameters.
    pub fn immediate(
        &mut self,
        data: &[u8],
        parameters: &Parameters,
    ) -> Result<DataStep, DataError> {
        let is_allowed = parameters.immediate_data && self.writes;
        if !data.is_empty() && !is_allowed || self.arrival.is_unsolicited && parameters.initial_r2t
        {
            return Err(DataError::Unexpected);
        }
        let max = parameters.first_burst.min(self.expected);
        if data.len() > max as usize {
            return Err(DataError::Amount);
        }
        self.add(data);
        Ok(self.next_step())
    }

    /// Handles further data; fails if they are unexpected.
    pub fn receive(
        &mut self,
        message: &DataOut,
        data: &[u8],
        parameters: &Parameters,
    ) -> Result<DataStep, DataError> {
        let end = if message.transfer == Tag::NONE {
            if !self.arrival.is_unsolicited {
                return Err(DataError::Unexpected);
            }
            parameters.first_burst.min(self.expected)
        } else {
            match self.arrival.requested {
                Some((tag, end)) if tag == message.transfer => end,
                _ => return Err(DataError::Unexpected),
            }
        };
        if message.data != self.arrival.next || message.offset != self.arrival.received {
            return Err(DataError::Order);
        }
        let left = end.saturating_sub(self.arrival.received);
        if data.len() > left as usize {
            return Err(DataError::Amount);
        }
        self.arrival.next = self.arrival.next.next();
        self.add(data);
        if message.is_final {
            let is_solicited = message.transfer != Tag::NONE;
            if is_solicited && self.arrival.received < end {
                return Err(DataError::Amount);
            }
            self.arrival.is_unsolicited = false;
            self.arrival.requested = None;
        } else if self.arrival.received == end {
            return Err(DataError::Amount);
        }
        Ok(self.next_step())
    }

    fn add(&mut self, data: &[u8]) {
        self.arrival.received += data.len() as u32;
        let room = self.wanted - self.data.len();
        self.data.extend_from_slice(&data[..data.len().min(room)]);
    }

    fn next_step(&mut self) -> DataStep {
        if self.arrival.is_unsolicited || self.arrival.requested.is_some() {
            return DataStep::Wait;
        }
        if self.data.len() < self.wanted {
            return DataStep::Ask;
        }
        self.state = TaskState::Ready;
        DataStep::Ready
    }

    /// Requests the next data, in a transfer with this tag.
    pub fn ask(&mut self, transfer: Tag, parameters: &Parameters) -> ReadyToTransfer {
        let offset = self.arrival.received;
        let length = (self.wanted as u32 - offset).min(parameters.max_burst);
        let number = self.arrival.requests;
        self.arrival.requests = number.next();
        self.arrival.requested = Some((transfer, offset + length));
        self.arrival.next = Serial(0);
        ReadyToTransfer {
            lun: self.lun,
            tag: self.tag,
            transfer,
            number,
            offset,
            length,
            ..ReadyToTransfer::default()
        }
    }
}

/// Maximum number of immediate commands in progress.
pub const MAX_IMMEDIATE: usize = 8;
/// Maximum memory for the data of a session's commands in progress, in bytes. It includes ping data
/// to be returned and early messages, which may exceed it, but not the buffers of connections.
pub const MAX_COST: usize = 64 << 20;

/// The command numbers of a session, and the commands whose responses have not been sent.
#[derive(Debug)]
pub struct Window {
    /// The number of the next command.
    pub expected: Serial,
    /// The last command number announced to the initiator.
    announced_max: Serial,
    /// Number of commands that have a number of their own; only these fill the window.
    numbered: u32,
    immediate: usize,
    pub memory: SessionMemory,
}

/// The position of a command in the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Next,
    /// A predecessor has not arrived yet.
    Ahead,
    /// The number is outside the window, so the command is ignored.
    Outside,
}

/// A command's share of the window until its response has been sent.
#[derive(Clone, Copy, Debug)]
pub struct WindowShare {
    /// True if the command has no number.
    pub is_immediate: bool,
    /// Maximum memory that the command needs, in bytes.
    pub cost: usize,
}

impl Window {
    /// Creates an empty window. The login has already announced its full size.
    pub const fn new(expected: Serial, memory: SessionMemory) -> Self {
        Self {
            expected,
            announced_max: expected.plus(WINDOW - 1),
            numbered: 0,
            immediate: 0,
            memory,
        }
    }

    /// Returns true if a command with this number may still arrive.
    pub fn can_arrive(&self, command: Serial) -> bool {
        !command.is_before(self.expected) && !self.announced_max.is_before(command)
    }

    /// Consumes the number of a command if it is the next one.
    pub fn consume_number(&mut self, is_immediate: bool, command: Serial) -> Order {
        if is_immediate {
            return Order::Next;
        }
        if !self.can_arrive(command) {
            return Order::Outside;
        }
        if command != self.expected {
            return Order::Ahead;
        }
        self.expected = self.expected.next();
        Order::Next
    }

    /// Returns the last command number to announce. It never decreases, because the initiator may
    /// already have used that number.
    pub fn announce(&mut self) -> Serial {
        let free = WINDOW.saturating_sub(self.numbered);
        let max = self.expected.plus(free).previous();
        if self.announced_max.is_before(max) {
            self.announced_max = max;
        }
        self.announced_max
    }

    /// Returns true if another immediate command may start.
    pub fn takes_immediate(&self) -> bool {
        self.immediate < MAX_IMMEDIATE
    }

    /// Adds a command for which memory has been taken.
    pub fn take(&mut self, share: WindowShare) {
        if share.is_immediate {
            self.immediate += 1;
        } else {
            self.numbered += 1;
        }
    }

    pub fn release(&mut self, share: WindowShare) {
        if share.is_immediate {
            self.immediate -= 1;
        } else {
            self.numbered -= 1;
        }
        self.memory.release(share.cost);
    }
}

pub struct Outcome {
    pub tag: Tag,
    pub share: WindowShare,
    pub scsi_status: u8,
    pub sense: Vec<u8>,
    pub data: Vec<u8>,
    pub residual: Residual,
    /// Number of messages that requested or carried data.
    pub messages: Serial,
    /// Number of data bytes written to the output.
    pub sent: usize,
}

/// The difference between the actual and the expected length of a transfer, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Residual {
    pub is_overflow: bool,
    pub count: u32,
}

impl Residual {
    pub fn new(expected: u32, actual: usize) -> Self {
        let expected = expected as usize;
        Self {
            is_overflow: actual > expected,
            count: u32::try_from(actual.abs_diff(expected)).unwrap_or(u32::MAX),
        }
    }

    pub const fn is_underflow(self) -> bool {
        !self.is_overflow && self.count > 0
    }
}
