//! A drive under test: reads, writes and seeks, with retries, limits and a count of their cost.

pub mod reports;

use diskarm_core::units::{Bytes, Instant, Lbn, SectorCount, Span};
use diskarm_wire::command::{Blocks, Caching, Size};
use diskarm_wire::report::{Capacity10, Capacity16};
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense, status};
use serde::{Deserialize, Serialize};

use crate::transport::{Data, Error, Reply, Transport};

/// No disk has larger blocks.
const MAX_BLOCK_BYTES: u32 = 1 << 16;

/// Maximum number of times a command is sent.
pub const MAX_ATTEMPTS: u32 = 12;

/// The instants at which a command was sent and completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandTimes {
    pub sent: Instant,
    pub ended: Instant,
}

impl CommandTimes {
    /// The service time.
    pub fn service(&self) -> Span {
        self.ended - self.sent
    }
}

/// The cost of measurements so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Commands sent.
    pub commands: u64,
    /// Commands among them that were repeated because the drive was busy or had to report an
    /// earlier event first.
    pub repeated: u64,
    /// From the first command to the completion of the last, with all pauses.
    pub time: Span,
}

impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), |sum, cost| Self {
            commands: sum.commands + cost.commands,
            repeated: sum.repeated + cost.repeated,
            time: sum.time + cost.time,
        })
    }
}

/// Upper bounds of the cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub commands: u64,
    /// From the first command, with all pauses.
    pub time: Span,
}

/// A drive under test.
pub struct Disk<'a> {
    transport: &'a mut dyn Transport,
    sectors: SectorCount,
    sector_size: Bytes,
    buffer: Vec<u8>,
    commands: u64,
    repeated: u64,
    /// True until the drive has executed a command.
    is_first: bool,
    began: Instant,
    limits: Option<Limits>,
}

impl<'a> Disk<'a> {
    /// Reads the capacity of the drive (READ CAPACITY).
    ///
    /// # Errors
    /// The command failed.
    pub fn new(transport: &'a mut dyn Transport) -> Result<Self, Error> {
        let began = transport.now();
        let mut disk = Self {
            transport,
            sectors: SectorCount(0),
            sector_size: Bytes(0),
            buffer: Vec::new(),
            commands: 0,
            repeated: 0,
            is_first: true,
            began,
            limits: None,
        };
        let (last, block_bytes) = disk.capacity(None)?;
        if !(1..=MAX_BLOCK_BYTES).contains(&block_bytes) || last == u64::MAX {
            return Err(Error::Malformed {
                command: "READ CAPACITY",
                reason: format!("last block {last}, {block_bytes} bytes per block"),
            });
        }
        disk.sectors = SectorCount(last + 1);
        disk.sector_size = Bytes(u64::from(block_bytes));
        Ok(disk)
    }

    /// Returns the last block and the bytes per block (READ CAPACITY). Given a block, returns the
    /// last one after it before a substantial delay, which drives that support PMI take to be the
    /// end of a cylinder (worthington96 section 4.1.3).
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn capacity(&mut self, from: Option<Lbn>) -> Result<(u64, u32), Error> {
        let at = from.map_or(0, |at| at.0);
        let partial = from.is_some();
        if let Ok(at) = u32::try_from(at) {
            let mut data = [0; Capacity10::LENGTH];
            self.data_in(&Command::ReadCapacity10 { at, partial }, &mut data)?;
            let capacity = Capacity10::parse(&data).expect("all its bytes");
            if capacity.last < u32::MAX {
                return Ok((capacity.last.into(), capacity.block_bytes));
            }
        }
        let capacity = self.capacity16(at, partial)?;
        Ok((capacity.last, capacity.block_bytes))
    }

    fn capacity16(&mut self, at: u64, partial: bool) -> Result<Capacity16, Error> {
        let mut data = [0; Capacity16::LENGTH];
        let command = Command::ReadCapacity16 {
            at,
            partial,
            length: Capacity16::LENGTH as u32,
        };
        self.data_in(&command, &mut data)?;
        Ok(Capacity16::parse(&data).expect("all its bytes"))
    }

    /// Refuses to send anything beyond these limits ([`Error::Undecided`]).
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self {
            limits: Some(limits),
            ..self
        }
    }

    /// Number of blocks.
    pub fn sectors(&self) -> SectorCount {
        self.sectors
    }

    /// Size of a block.
    pub fn sector_size(&self) -> Bytes {
        self.sector_size
    }

    /// The cost of all commands so far.
    pub fn cost(&self) -> Cost {
        Cost {
            commands: self.commands,
            repeated: self.repeated,
            time: self.transport.now() - self.began,
        }
    }

    /// Returns true once the limits are reached.
    pub fn is_spent(&self) -> bool {
        let Cost { commands, time, .. } = self.cost();
        let is_over = |limits: Limits| commands >= limits.commands || time >= limits.time;
        self.limits.is_some_and(is_over)
    }

    /// Leaves the drive idle for `span`.
    pub fn rest(&mut self, span: Span) {
        self.transport.rest(span);
    }

    /// Reads blocks, from the buffer if the drive has them there.
    ///
    /// # Errors
    /// The command failed or the limits are reached.
    pub fn read(&mut self, at: Lbn, sectors: u16) -> Result<CommandTimes, Error> {
        self.read_with(at, sectors, false)
    }

    /// Reads blocks from the media, bypassing the buffer (force unit access).
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn read_media(&mut self, at: Lbn, sectors: u16) -> Result<CommandTimes, Error> {
        self.read_with(at, sectors, true)
    }

    /// Writes zeros: the data in the blocks are lost.
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn write(&mut self, at: Lbn, sectors: u16) -> Result<CommandTimes, Error> {
        self.write_with(at, sectors, false)
    }

    /// Writes zeros to the media, bypassing the write cache (force unit access).
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn write_media(&mut self, at: Lbn, sectors: u16) -> Result<CommandTimes, Error> {
        self.write_with(at, sectors, true)
    }

    /// Moves the arm to a block below 2^32 (SEEK).
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn seek(&mut self, at: Lbn) -> Result<CommandTimes, Error> {
        if at.0 > u64::from(u32::MAX) {
            let reason = format!("SEEK cannot address block {}", at.0);
            return Err(Error::Undecided(reason));
        }
        let size = Size::Ten;
        self.execute(&Command::Seek { size, at: at.0 }, Data::None)
    }

    /// Returns the data of blocks.
    pub(crate) fn read_data(&mut self, at: Lbn, sectors: u16) -> Result<&[u8], Error> {
        self.read(at, sectors)?;
        Ok(&self.buffer)
    }

    fn read_with(
        &mut self,
        at: Lbn,
        sectors: u16,
        from_media: bool,
    ) -> Result<CommandTimes, Error> {
        let command = Command::Read {
            size: command_size(at, sectors),
            blocks: blocks(at, sectors),
            caching: caching(from_media),
        };
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(usize::from(sectors) * self.sector_size.0 as usize, 0);
        let times = self.data_in(&command, &mut buffer);
        self.buffer = buffer;
        times
    }

    fn write_with(&mut self, at: Lbn, sectors: u16, to_media: bool) -> Result<CommandTimes, Error> {
        let command = Command::Write {
            size: command_size(at, sectors),
            blocks: blocks(at, sectors),
            caching: caching(to_media),
        };
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        buffer.resize(usize::from(sectors) * self.sector_size.0 as usize, 0);
        let times = self.execute(&command, Data::Out(&buffer));
        self.buffer = buffer;
        times
    }

    /// Executes a command that must fill all of `data`.
    fn data_in(&mut self, command: &Command, data: &mut [u8]) -> Result<CommandTimes, Error> {
        let expected = data.len();
        let (times, transferred) = self.data_up_to(command, data)?;
        if transferred < expected {
            return Err(Error::Malformed {
                command: command.operation().name,
                reason: format!("returned {transferred} bytes, expected {expected}"),
            });
        }
        Ok(times)
    }

    /// Executes a command that may fill only a part of `data`, and returns the number of bytes.
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn data_up_to(
        &mut self,
        command: &Command,
        data: &mut [u8],
    ) -> Result<(CommandTimes, usize), Error> {
        let room = data.len();
        let reply = self.send(command, Data::In(data))?;
        let transferred = reply.transferred.min(room);
        Ok((completion(command, reply)?, transferred))
    }

    fn execute(&mut self, command: &Command, data: Data<'_>) -> Result<CommandTimes, Error> {
        let reply = self.send(command, data)?;
        completion(command, reply)
    }

    /// Sends a command, and repeats it until the drive executes it.
    fn send(&mut self, command: &Command, mut data: Data<'_>) -> Result<Reply, Error> {
        let mut block = [0; 16];
        let length = command.emit(&mut block);
        for _ in 1..MAX_ATTEMPTS {
            let reply = self.send_once(&block[..length], data.reborrow())?;
            let Some(delay) = retry_delay(&reply, self.is_first) else {
                self.is_first = false;
                return Ok(reply);
            };
            self.repeated += 1;
            self.transport.rest(delay);
        }
        self.send_once(&block[..length], data)
    }

    fn send_once(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, Error> {
        if self.is_spent() {
            let Cost { commands, time, .. } = self.cost();
            return Err(Error::Undecided(format!(
                "gave up after {commands} commands and {:.0} s",
                time.as_s()
            )));
        }
        let reply = self.transport.execute(command, data)?;
        self.commands += 1;
        Ok(reply)
    }
}

/// Returns the delay before a command must be sent again, or `None` if the reply is its result.
///
/// A drive that is busy, becoming ready, or reporting a reset has not executed the command (SAM-5,
/// SPC-4). All other statuses are results. One of them reports that the parameters or the capacity
/// of the drive have changed: measurements before and after that belong to different drives, so
/// the measurement fails. It also fails if the drive reports that an earlier command failed after
/// its completion. Before the first command on a connection (`is_first`) both are harmless.
pub fn retry_delay(reply: &Reply, is_first: bool) -> Option<Span> {
    match reply.status {
        status::BUSY | status::TASK_SET_FULL => Some(Span::from_ms(100.0)),
        status::CHECK_CONDITION => match Sense::parse(&reply.sense).ok()? {
            sense if sense.deferred => {
                (is_first || sense.key == Key::RecoveredError).then_some(Span::ZERO)
            }
            Sense {
                key: Key::UnitAttention,
                code: Code::MODE_PARAMETERS_CHANGED | Code::CAPACITY_CHANGED,
                ..
            } => is_first.then_some(Span::ZERO),
            Sense {
                key: Key::UnitAttention | Key::AbortedCommand,
                ..
            } => Some(Span::ZERO),
            Sense {
                key: Key::NotReady,
                code: Code::BECOMING_READY,
                ..
            } => Some(Span::from_s(1.0)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the times of a command that succeeded. A recovered error counts as success.
fn completion(command: &Command, reply: Reply) -> Result<CommandTimes, Error> {
    let recovered = |sense: Sense| sense.key == Key::RecoveredError && !sense.deferred;
    if reply.status == 0 || Sense::parse(&reply.sense).is_ok_and(recovered) {
        return Ok(CommandTimes {
            sent: reply.sent,
            ended: reply.ended,
        });
    }
    Err(Error::Status {
        command: command.operation().name,
        status: reply.status,
        sense: reply.sense,
    })
}

/// The smallest READ or WRITE that can address these blocks.
fn command_size(at: Lbn, sectors: u16) -> Size {
    if at.0 + u64::from(sectors) <= 1 << 32 {
        Size::Ten
    } else {
        Size::Sixteen
    }
}

fn blocks(at: Lbn, sectors: u16) -> Blocks {
    Blocks {
        at: at.0,
        count: sectors.into(),
    }
}

fn caching(force_unit_access: bool) -> Caching {
    Caching {
        disable_page_out: false,
        force_unit_access,
    }
}
