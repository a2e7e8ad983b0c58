//! The commands that measurements need.

mod send;

use diskarm_core::units::{Bytes, Instant, Lbn, SectorCount, Span};

use diskarm_wire::Command;
use diskarm_wire::capacity::{Capacity10, Capacity16};
use diskarm_wire::command::{AddressFormat, Blocks, Caching, Size};
use diskarm_wire::defect::{Address, TRANSLATE, TRANSLATE_LENGTH, Translate, Translated};
use diskarm_wire::inquiry::Inquiry;
use diskarm_wire::vital;
use serde::{Deserialize, Serialize};

use crate::{Cost, Data, Error, Limits, Transport, identity};

/// No disk has larger blocks.
const MAX_BLOCK_BYTES: u32 = 1 << 16;

/// When a command was sent, and when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// When it was sent.
    pub sent: Instant,
    /// When it ended.
    pub ended: Instant,
}

impl Timed {
    /// From its sending to its end.
    pub fn service(&self) -> Span {
        self.ended - self.sent
    }
}

/// A place on the media in physical sector format (SBC-3), as TRANSLATE ADDRESS
/// and READ DEFECT DATA give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Cylinder, 24 bits.
    pub cylinder: u32,
    /// Head.
    pub head: u8,
    /// Sector of the track, as the drive counts them: from the index mark on most drives.
    pub sector: u32,
}

/// A drive under test.
pub struct Disk<'a> {
    transport: &'a mut dyn Transport,
    sectors: SectorCount,
    sector_size: Bytes,
    buffer: Vec<u8>,
    commands: u64,
    repeated: u64,
    /// Whether the drive has executed none of them yet.
    is_first: bool,
    began: Instant,
    limits: Option<Limits>,
}

impl<'a> Disk<'a> {
    /// Asks the drive for its capacity (READ CAPACITY).
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

    /// The last block and the bytes per block (READ CAPACITY). With a block, the last one from it
    /// on before a substantial delay, which drives that know PMI take for the end of a cylinder
    /// (worthington96 section 4.1.3).
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

    /// The size of a sector on the media, if the drive tells it (READ CAPACITY(16)).
    ///
    /// # Errors
    /// The transport failed.
    pub fn physical_sector(&mut self) -> Result<Option<Bytes>, Error> {
        match self.capacity16(0, false) {
            Ok(capacity) => {
                let blocks = 1 << capacity.physical_block_exponent;
                Ok(Some(Bytes(self.sector_size.0 * blocks)))
            }
            Err(error @ Error::Broken(_)) => Err(error),
            Err(_) => Ok(None),
        }
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

    /// The same drive, which refuses to send anything beyond these limits
    /// ([`Error::Undecided`]).
    #[must_use]
    pub fn limited(self, limits: Limits) -> Self {
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

    /// What all commands so far have cost.
    pub fn cost(&self) -> Cost {
        Cost {
            commands: self.commands,
            repeated: self.repeated,
            time: self.transport.now() - self.began,
        }
    }

    /// Lets the drive idle.
    pub fn rest(&mut self, span: Span) {
        self.transport.rest(span);
    }

    /// Reads blocks, from the buffer if the drive has them there.
    ///
    /// # Errors
    /// The command failed, as with all that follow.
    pub fn read(&mut self, at: Lbn, sectors: u16) -> Result<Timed, Error> {
        self.reads(at, sectors, false)
    }

    /// Reads blocks from the media, whatever the buffer holds (force unit access).
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn read_media(&mut self, at: Lbn, sectors: u16) -> Result<Timed, Error> {
        self.reads(at, sectors, true)
    }

    /// Writes zeros: what the blocks held is lost.
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn write(&mut self, at: Lbn, sectors: u16) -> Result<Timed, Error> {
        self.writes(at, sectors, false)
    }

    /// Writes zeros to the media before it ends, whatever the write cache does (force unit access).
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn write_media(&mut self, at: Lbn, sectors: u16) -> Result<Timed, Error> {
        self.writes(at, sectors, true)
    }

    /// Moves the arm to the place of a block below 2^32 (SEEK).
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn seek(&mut self, at: Lbn) -> Result<Timed, Error> {
        if at.0 > u64::from(u32::MAX) {
            let reason = format!("SEEK cannot address block {}", at.0);
            return Err(Error::Undecided(reason));
        }
        self.execute(
            &Command::Seek {
                size: Size::Ten,
                at: at.0,
            },
            Data::None,
        )
    }

    /// Where a block is (SEND DIAGNOSTIC and RECEIVE DIAGNOSTIC RESULTS, translate address).
    ///
    /// # Errors
    /// See [`Self::read`]; drives that cannot tell end it with ILLEGAL REQUEST.
    pub fn place(&mut self, at: Lbn) -> Result<Place, Error> {
        const RECEIVE: Command = Command::ReceiveDiagnosticResults {
            page: Some(TRANSLATE),
            length: TRANSLATE_LENGTH as u16,
        };
        let asked = Translate {
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
        self.execute(&send, Data::Out(&asked.emit()))?;
        let mut data = [0; TRANSLATE_LENGTH];
        self.data_in(&RECEIVE, &mut data)?;
        match Translated::parse(&data).map(|translated| translated.address) {
            Ok(Address::PhysicalSector(place)) => Ok(Place {
                cylinder: place.cylinder,
                head: place.head,
                sector: place.offset,
            }),
            Ok(_) | Err(_) => Err(Error::Malformed {
                command: RECEIVE.operation().name,
                reason: format!("{data:02x?} is no physical sector"),
            }),
        }
    }

    /// Who the drive is (INQUIRY).
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn inquiry(&mut self) -> Result<Inquiry, Error> {
        let mut data = [0; Inquiry::LENGTH];
        let command = Command::Inquiry {
            page: None,
            length: Inquiry::LENGTH as u16,
        };
        self.data_in(&command, &mut data)?;
        Ok(Inquiry::parse(&data).expect("all its bytes"))
    }

    /// The drive's serial number (INQUIRY, vital product data page 0x80).
    ///
    /// # Errors
    /// See [`Self::read`]; drives that have none end it with ILLEGAL REQUEST.
    pub fn serial_number(&mut self) -> Result<String, Error> {
        let mut data = [0; 255];
        let command = Command::Inquiry {
            page: Some(vital::code::SERIAL_NUMBER),
            length: data.len() as u16,
        };
        let (_, transferred) = self.data_up_to(&command, &mut data)?;
        match vital::Page::parse(&data[..transferred]) {
            Ok(page) if page.code == vital::code::SERIAL_NUMBER => {
                Ok(identity::ascii_text(page.content))
            }
            _ => Err(Error::Malformed {
                command: command.operation().name,
                reason: "returned no page 0x80".to_owned(),
            }),
        }
    }

    /// The data of blocks.
    pub(crate) fn data(&mut self, at: Lbn, sectors: u16) -> Result<&[u8], Error> {
        self.read(at, sectors)?;
        Ok(&self.buffer)
    }

    fn reads(&mut self, at: Lbn, sectors: u16, from_media: bool) -> Result<Timed, Error> {
        let command = Command::Read {
            size: size(at, sectors),
            blocks: blocks(at, sectors),
            caching: caching(from_media),
        };
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(usize::from(sectors) * self.sector_size.0 as usize, 0);
        let timed = self.data_in(&command, &mut buffer);
        self.buffer = buffer;
        timed
    }

    fn writes(&mut self, at: Lbn, sectors: u16, to_media: bool) -> Result<Timed, Error> {
        let command = Command::Write {
            size: size(at, sectors),
            blocks: blocks(at, sectors),
            caching: caching(to_media),
        };
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        buffer.resize(usize::from(sectors) * self.sector_size.0 as usize, 0);
        let timed = self.execute(&command, Data::Out(&buffer));
        self.buffer = buffer;
        timed
    }
}

/// The shortest size of READ and WRITE that can address blocks.
fn size(at: Lbn, sectors: u16) -> Size {
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
