//! A drive under test: commands that read, write, seek and query the drive, with retries, limits
//! and a record of what they cost.

use diskarm_core::units::{Bytes, Instant, Lbn, SectorCount, Span};
use diskarm_wire::command::{AddressFormat, Blocks, Caching, Size, Values};
use diskarm_wire::defect::{Address, TRANSLATE, TRANSLATE_LENGTH, Translate, Translated};
use diskarm_wire::mode::{Header6, Page};
use diskarm_wire::report::{self, Inquiry};
use diskarm_wire::report::{Capacity10, Capacity16};
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense, status};
use serde::{Deserialize, Serialize};

use crate::transport::{Data, Error, Reply, Transport};

/// Maximum size of a block, in bytes. No disk has larger blocks.
const MAX_BLOCK_BYTES: u32 = 1 << 16;

/// Maximum number of times a command is sent.
pub const MAX_ATTEMPTS: u32 = 12;

/// The longest possible mode page, in bytes: the length field is one byte.
const MAX_PAGE_LENGTH: usize = 255;

/// The instants at which a command was sent and completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandTimes {
    pub sent: Instant,
    pub ended: Instant,
}

impl CommandTimes {
    pub fn service(&self) -> Span {
        self.ended - self.sent
    }
}

/// The cost of measurements so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    pub commands: u64,
    /// Commands that were repeated because the drive was busy or had an event to report.
    pub repeated: u64,
    /// Time from the first command to the completion of the last, including pauses.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub commands: u64,
    /// Time since the first command, including pauses.
    pub time: Span,
}

/// A location on the media in physical sector format (SBC-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PhysicalAddress {
    /// The cylinder, below 2^24.
    pub cylinder: u32,
    pub head: u8,
    /// Sector number on the track. Most drives count from the index mark.
    pub sector: u32,
}

/// The identity of a drive. Strings that the drive does not report are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub vendor: String,
    pub product: String,
    pub revision: String,
    /// Serial number, from vital product data page 0x80.
    pub serial: String,
    pub sectors: SectorCount,
    pub sector_size: Bytes,
}

impl Identity {
    pub fn read(disk: &mut Disk<'_>) -> Result<Self, Error> {
        let inquiry = none_if_refused(disk.inquiry())?;
        let text = |field: Option<&[u8]>| field.map_or_else(String::new, ascii_text);
        Ok(Self {
            vendor: text(inquiry.as_ref().map(|data| &data.vendor[..])),
            product: text(inquiry.as_ref().map(|data| &data.product[..])),
            revision: text(inquiry.as_ref().map(|data| &data.revision[..])),
            serial: none_if_refused(disk.serial_number())?.unwrap_or_default(),
            sectors: disk.sectors(),
            sector_size: disk.sector_size(),
        })
    }

    /// Returns the name of the drive for use in a sentence.
    pub fn name(&self) -> String {
        let all = [&*self.vendor, &*self.product, &*self.revision].join(" ");
        let words: Vec<&str> = all.split_whitespace().collect();
        if words.is_empty() {
            return "a drive that does not report its name".to_owned();
        }
        words.join(" ")
    }
}

/// Returns `None` if the drive rejected the command.
fn none_if_refused<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Err(Error::Status { .. }) => Ok(None),
        answer => answer.map(Some),
    }
}

/// Returns the graphic ASCII characters of a field, without padding.
fn ascii_text(bytes: &[u8]) -> String {
    let graphic = bytes.iter().filter(|byte| (b' '..=b'~').contains(byte));
    let text: String = graphic.map(|byte| char::from(*byte)).collect();
    text.trim().to_owned()
}

/// A drive under test. Its commands fail if the transport does, if the drive completes them with an
/// error, or if the limits are reached ([`Error::Undecided`]).
pub struct Disk<'a> {
    transport: &'a mut dyn Transport,
    sectors: SectorCount,
    sector_size: Bytes,
    buffer: Vec<u8>,
    commands: u64,
    repeated: u64,
    awaits_first_command: bool,
    began: Instant,
    limits: Option<Limits>,
}

impl<'a> Disk<'a> {
    /// Creates a disk and reads its capacity (READ CAPACITY).
    pub fn new(transport: &'a mut dyn Transport) -> Result<Self, Error> {
        let began = transport.now();
        let mut disk = Self {
            transport,
            sectors: SectorCount(0),
            sector_size: Bytes(0),
            buffer: Vec::new(),
            commands: 0,
            repeated: 0,
            awaits_first_command: true,
            began,
            limits: None,
        };
        let (last, block_bytes) = disk.capacity(None)?;
        if !(1..=MAX_BLOCK_BYTES).contains(&block_bytes) || last == u64::MAX {
            return Err(Error::Malformed {
                command: "READ CAPACITY",
                reason: format!("invalid last block {last} or block size {block_bytes}"),
            });
        }
        disk.sectors = SectorCount(last + 1);
        disk.sector_size = Bytes(u64::from(block_bytes));
        Ok(disk)
    }

    /// Makes commands fail once one of these limits is reached.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    pub fn sectors(&self) -> SectorCount {
        self.sectors
    }

    pub fn sector_size(&self) -> Bytes {
        self.sector_size
    }

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

    pub fn sleep(&mut self, span: Span) {
        self.transport.sleep(span);
    }

    /// Reads blocks; the drive may take the data from its buffer.
    pub fn read(&mut self, at: Lbn, sectors: u16) -> Result<CommandTimes, Error> {
        self.read_with(at, sectors, false)
    }

    /// Reads blocks from the media, bypassing the buffer (force unit access).
    pub fn read_media(&mut self, at: Lbn, sectors: u16) -> Result<CommandTimes, Error> {
        self.read_with(at, sectors, true)
    }

    /// Overwrites blocks with zeros.
    pub fn write(&mut self, at: Lbn, sectors: u16) -> Result<CommandTimes, Error> {
        self.write_with(at, sectors, false)
    }

    /// Writes zeros to the media, bypassing the write cache (force unit access).
    pub fn write_media(&mut self, at: Lbn, sectors: u16) -> Result<CommandTimes, Error> {
        self.write_with(at, sectors, true)
    }

    /// Moves the arm to a block below 2^32 (SEEK).
    pub fn seek(&mut self, at: Lbn) -> Result<CommandTimes, Error> {
        if at.0 > u64::from(u32::MAX) {
            let reason = format!("SEEK cannot address block {}", at.0);
            return Err(Error::Undecided(reason));
        }
        let size = Size::Ten;
        self.execute(&Command::Seek { size, at: at.0 }, Data::None)
    }

    pub(crate) fn read_data(&mut self, at: Lbn, sectors: u16) -> Result<&[u8], Error> {
        self.read(at, sectors)?;
        Ok(&self.buffer)
    }

    fn read_with(&mut self, at: Lbn, sectors: u16, fua: bool) -> Result<CommandTimes, Error> {
        let (size, blocks, caching) = addressing(at, sectors, fua);
        let command = Command::Read {
            size,
            blocks,
            caching,
        };
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(usize::from(sectors) * self.sector_size.0 as usize, 0);
        let times = self.data_in(&command, &mut buffer);
        self.buffer = buffer;
        times
    }

    fn write_with(&mut self, at: Lbn, sectors: u16, fua: bool) -> Result<CommandTimes, Error> {
        let (size, blocks, caching) = addressing(at, sectors, fua);
        let command = Command::Write {
            size,
            blocks,
            caching,
        };
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        buffer.resize(usize::from(sectors) * self.sector_size.0 as usize, 0);
        let times = self.execute(&command, Data::Out(&buffer));
        self.buffer = buffer;
        times
    }

    /// Returns the last block and the bytes per block (READ CAPACITY). Given a block, returns the
    /// last block that can be reached from it without a substantial delay. Drives that support PMI
    /// return the end of a cylinder (worthington96 section 4.1.3).
    pub fn capacity(&mut self, from: Option<Lbn>) -> Result<(u64, u32), Error> {
        let at = from.map_or(0, |at| at.0);
        let partial = from.is_some();
        if let Ok(at) = u32::try_from(at) {
            let mut data = [0; Capacity10::LENGTH];
            self.data_in(&Command::ReadCapacity10 { at, partial }, &mut data)?;
            let capacity = Capacity10::parse(&data).expect("a buffer of the full length");
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
        Ok(Capacity16::parse(&data).expect("a buffer of the full length"))
    }

    /// Returns the size of a sector on the media if the drive reports it (READ CAPACITY(16)).
    pub fn physical_sector(&mut self) -> Result<Option<Bytes>, Error> {
        match self.capacity16(0, false) {
            Ok(capacity) => {
                let blocks = 1 << capacity.physical_block_exponent;
                Ok(Some(Bytes(self.sector_size.0 * blocks)))
            }
            Err(error @ Error::Transport(_)) => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Translates a block to its physical address (the translate address page of SEND DIAGNOSTIC
    /// and RECEIVE DIAGNOSTIC RESULTS). Drives without that page respond with ILLEGAL REQUEST.
    pub fn physical_address(&mut self, at: Lbn) -> Result<PhysicalAddress, Error> {
        const RECEIVE: Command = Command::ReceiveDiagnosticResults {
            page: Some(TRANSLATE),
            length: TRANSLATE_LENGTH as u16,
        };
        let request = Translate {
            address: u32::try_from(at.0).map_or(Address::LongBlock(at.0), Address::ShortBlock),
            wanted: AddressFormat::PhysicalSector,
        };
        let send = Command::SendDiagnostic {
            self_test_code: 0,
            page_format: true,
            self_test: false,
            device_offline: false,
            unit_offline: false,
            length: TRANSLATE_LENGTH as u16,
        };
        self.execute(&send, Data::Out(&request.emit()))?;
        let mut data = [0; TRANSLATE_LENGTH];
        self.data_in(&RECEIVE, &mut data)?;
        match Translated::parse(&data).map(|translated| translated.address) {
            Ok(Address::PhysicalSector(address)) => Ok(PhysicalAddress {
                cylinder: address.cylinder,
                head: address.head,
                sector: address.offset,
            }),
            _ => {
                let reason = format!("{data:02x?} is not the address of a physical sector");
                Err(malformed(&RECEIVE, reason))
            }
        }
    }

    pub fn inquiry(&mut self) -> Result<Inquiry, Error> {
        let mut data = [0; Inquiry::LENGTH];
        let command = Command::Inquiry {
            page: None,
            length: Inquiry::LENGTH as u16,
        };
        self.data_in(&command, &mut data)?;
        Ok(Inquiry::parse(&data).expect("a buffer of the full length"))
    }

    /// Reads the serial number (INQUIRY, vital product data page 0x80).
    pub fn serial_number(&mut self) -> Result<String, Error> {
        let mut data = [0; 255];
        let command = Command::Inquiry {
            page: Some(report::page_code::SERIAL_NUMBER),
            length: data.len() as u16,
        };
        let (_, transferred) = self.data_up_to(&command, &mut data)?;
        match report::VitalPage::parse(&data[..transferred]) {
            Ok(page) if page.code == report::page_code::SERIAL_NUMBER => {
                Ok(ascii_text(page.content))
            }
            _ => Err(malformed(&command, "returned no page 0x80".to_owned())),
        }
    }

    /// Reads the current values of a mode page, without its header.
    pub fn mode_page(&mut self, code: u8) -> Result<Vec<u8>, Error> {
        let command = Command::ModeSense {
            size: Size::Six,
            page: code,
            subpage: 0,
            values: Values::Current,
            no_block_descriptors: true,
            long_addresses: false,
            length: MAX_PAGE_LENGTH as u16,
        };
        let mut data = [0; MAX_PAGE_LENGTH];
        let (_, transferred) = self.data_up_to(&command, &mut data)?;
        let content = || {
            let header = Header6::parse(&data[..transferred]).ok()?;
            let begin = Header6::LENGTH + usize::from(header.descriptors_length);
            let end = transferred.min(usize::from(header.data_length) + 1);
            let (page, _) = Page::parse(data.get(begin..end)?).ok()?;
            (page.code == code && page.subpage.is_none()).then(|| page.content.to_vec())
        };
        let missing = || malformed(&command, format!("returned no mode page 0x{code:02x}"));
        content().ok_or_else(missing)
    }

    /// Changes a mode page until the next reset. Panics if `content` is too long for a page.
    pub fn select_mode_page(&mut self, code: u8, content: &[u8]) -> Result<(), Error> {
        let page = Page {
            saveable: false,
            code,
            subpage: None,
            content,
        };
        let list = [vec![0; Header6::LENGTH], page.emit()].concat();
        let command = Command::ModeSelect {
            size: Size::Six,
            page_format: true,
            save: false,
            length: u8::try_from(list.len()).expect("a short page").into(),
        };
        self.execute(&command, Data::Out(&list)).map(|_| ())
    }

    /// Executes a command that must fill all of `data`.
    fn data_in(&mut self, command: &Command, data: &mut [u8]) -> Result<CommandTimes, Error> {
        let expected = data.len();
        let (times, transferred) = self.data_up_to(command, data)?;
        if transferred < expected {
            let reason = format!("returned {transferred} bytes, expected {expected}");
            return Err(malformed(command, reason));
        }
        Ok(times)
    }

    /// Executes a command that may fill only a part of `data`; also returns the number of bytes.
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
        completion(command, self.send(command, data)?)
    }

    /// Sends a command until the drive executes it, at most [`MAX_ATTEMPTS`] times.
    fn send(&mut self, command: &Command, mut data: Data<'_>) -> Result<Reply, Error> {
        let mut block = [0; 16];
        let length = command.emit(&mut block);
        for _ in 1..MAX_ATTEMPTS {
            let reply = self.send_once(&block[..length], data.reborrow())?;
            let Some(delay) = retry_delay(&reply, self.awaits_first_command) else {
                self.awaits_first_command = false;
                return Ok(reply);
            };
            self.repeated += 1;
            self.transport.sleep(delay);
        }
        self.send_once(&block[..length], data)
    }

    fn send_once(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, Error> {
        if self.is_spent() {
            let Cost { commands, time, .. } = self.cost();
            let s = time.as_s();
            let reason = format!("reached the limits after {commands} commands and {s:.0} s");
            return Err(Error::Undecided(reason));
        }
        let reply = self.transport.execute(command, data)?;
        self.commands += 1;
        Ok(reply)
    }
}

/// Returns the delay before a command must be sent again, or `None` if the reply is final.
///
/// A drive that is busy, becoming ready, or reporting a reset has not executed the command (SAM-5,
/// SPC-4). All other statuses are results. A measurement fails if the drive reports that its
/// parameters or capacity have changed, because measurements taken before and after the change
/// describe different drives. It also fails if the drive reports that an earlier command failed
/// after its completion. Both reports are harmless before the first command on a connection has
/// been executed (`awaits_first_command`).
pub fn retry_delay(reply: &Reply, awaits_first_command: bool) -> Option<Span> {
    match reply.status {
        status::BUSY | status::TASK_SET_FULL => Some(Span::from_ms(100.0)),
        status::CHECK_CONDITION => {
            let sense = Sense::parse(&reply.sense).ok()?;
            if sense.deferred {
                let retries = awaits_first_command || sense.key == Key::RecoveredError;
                return retries.then_some(Span::ZERO);
            }
            match (sense.key, sense.code) {
                (Key::UnitAttention, Code::MODE_PARAMETERS_CHANGED | Code::CAPACITY_CHANGED) => {
                    awaits_first_command.then_some(Span::ZERO)
                }
                (Key::UnitAttention | Key::AbortedCommand, _) => Some(Span::ZERO),
                (Key::NotReady, Code::BECOMING_READY) => Some(Span::from_s(1.0)),
                _ => None,
            }
        }
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

fn malformed(command: &Command, reason: String) -> Error {
    Error::Malformed {
        command: command.operation().name,
        reason,
    }
}

/// Returns the parameters of the shortest READ or WRITE that can address these blocks.
fn addressing(at: Lbn, sectors: u16, force_unit_access: bool) -> (Size, Blocks, Caching) {
    let is_short = at.0 + u64::from(sectors) <= 1 << 32;
    let size = if is_short { Size::Ten } else { Size::Sixteen };
    let blocks = Blocks {
        at: at.0,
        count: sectors.into(),
    };
    let caching = Caching {
        disable_page_out: false,
        force_unit_access,
    };
    (size, blocks, caching)
}
