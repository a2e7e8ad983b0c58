//! A command of an initiator, while its data arrive and until it is answered.

use diskarm_emulate::Attribute;
use diskarm_wire::Sense;
use diskarm_wire::iscsi::{Command, DataOut, Lun, ReadyToTransfer, Serial, Tag, attribute};
use diskarm_wire::sense::{Code, Key};

use super::keys::Parameters;
use super::window::Share;
use crate::figures::Access;

/// A command that has arrived.
pub struct Task {
    pub tag: Tag,
    pub lun: Lun,
    /// The number of the connection by which it came, and by which its data and its answer go.
    pub connection: usize,
    /// What it takes of the window.
    pub share: Share,
    pub attribute: Attribute,
    pub block: Vec<u8>,
    /// How many bytes the initiator has or expects.
    pub expected: u32,
    pub reads: bool,
    pub writes: bool,
    /// What it does, for figures.
    pub access: Access,
    /// Its answer waits until the store's file has been synchronised.
    pub syncs: bool,
    /// How many bytes of data the command needs.
    pub needed: usize,
    /// How many of them the initiator has.
    wanted: usize,
    /// How many bytes it writes if it ends well.
    pub writes_bytes: u64,
    /// What has arrived of its data, as far as the unit wants it.
    pub data: Vec<u8>,
    arrival: Arrival,
    pub state: State,
}

/// How far a task has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its data have not all arrived.
    Arriving,
    Ready,
    /// The unit has it.
    Begun,
}

/// Data on their way.
struct Arrival {
    /// How many bytes have arrived, those included that the unit does not want.
    received: u32,
    /// Unsolicited data are to come.
    is_unsolicited: bool,
    /// What was asked for: its name, and where it ends.
    asked: Option<(Tag, u32)>,
    /// The number of the next message in the sequence.
    next: Serial,
    /// The number of the next message that asks for data.
    requests: Serial,
}

/// What comes after a part of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Further {
    /// More of the same sequence.
    Wait,
    /// The target asks for more.
    Ask,
    Ready,
}

/// What is wrong with data that have arrived (RFC 7143, "SCSI Response": sense data for errors of
/// the protocol).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrongData {
    /// Nobody asked for them.
    Unexpected,
    /// They are too many or too few.
    Amount,
    /// They are not in order.
    Order,
}

impl WrongData {
    /// What the command ends with.
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
    /// A command of a connection that needs `needed` bytes of data.
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
            share: Share {
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
                asked: None,
                next: Serial(0),
                requests: Serial(0),
            },
            state: State::Arriving,
        }
    }

    /// Takes the data that came with the command.
    ///
    /// # Errors
    /// If they are not as was negotiated.
    pub fn immediate(
        &mut self,
        data: &[u8],
        parameters: &Parameters,
    ) -> Result<Further, WrongData> {
        let is_allowed = parameters.immediate_data && self.writes;
        if !data.is_empty() && !is_allowed || self.arrival.is_unsolicited && parameters.initial_r2t
        {
            return Err(WrongData::Unexpected);
        }
        let max = parameters.first_burst.min(self.expected);
        if data.len() > max as usize {
            return Err(WrongData::Amount);
        }
        self.add(data);
        Ok(self.further())
    }

    /// Takes further data.
    ///
    /// # Errors
    /// If they are not those that are expected.
    pub fn receive(
        &mut self,
        message: &DataOut,
        data: &[u8],
        parameters: &Parameters,
    ) -> Result<Further, WrongData> {
        let end = if message.transfer == Tag::NONE {
            if !self.arrival.is_unsolicited {
                return Err(WrongData::Unexpected);
            }
            parameters.first_burst.min(self.expected)
        } else {
            match self.arrival.asked {
                Some((tag, end)) if tag == message.transfer => end,
                _ => return Err(WrongData::Unexpected),
            }
        };
        if message.data != self.arrival.next || message.offset != self.arrival.received {
            return Err(WrongData::Order);
        }
        let left = end.saturating_sub(self.arrival.received);
        if data.len() > left as usize {
            return Err(WrongData::Amount);
        }
        self.arrival.next = self.arrival.next.next();
        self.add(data);
        if message.is_final {
            let is_solicited = message.transfer != Tag::NONE;
            if is_solicited && self.arrival.received < end {
                return Err(WrongData::Amount);
            }
            self.arrival.is_unsolicited = false;
            self.arrival.asked = None;
        } else if self.arrival.received == end {
            return Err(WrongData::Amount);
        }
        Ok(self.further())
    }

    fn add(&mut self, data: &[u8]) {
        self.arrival.received += data.len() as u32;
        let room = self.wanted - self.data.len();
        self.data.extend_from_slice(&data[..data.len().min(room)]);
    }

    fn further(&mut self) -> Further {
        if self.arrival.is_unsolicited || self.arrival.asked.is_some() {
            return Further::Wait;
        }
        if self.data.len() < self.wanted {
            return Further::Ask;
        }
        self.state = State::Ready;
        Further::Ready
    }

    /// Asks for the next data, in a transfer with this name.
    pub fn ask(&mut self, transfer: Tag, parameters: &Parameters) -> ReadyToTransfer {
        let offset = self.arrival.received;
        let length = (self.wanted as u32 - offset).min(parameters.max_burst);
        let number = self.arrival.requests;
        self.arrival.requests = number.next();
        self.arrival.asked = Some((transfer, offset + length));
        self.arrival.next = Serial(0);
        ReadyToTransfer {
            lun: self.lun,
            tag: self.tag,
            transfer,
            status: Serial(0),
            expected_command: Serial(0),
            max_command: Serial(0),
            number,
            offset,
            length,
        }
    }

    /// How many messages have asked for data.
    pub fn requests(&self) -> Serial {
        self.arrival.requests
    }
}
