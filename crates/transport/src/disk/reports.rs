//! What a drive reports about itself: identity, sector size, mode pages, physical addresses.

use diskarm_core::units::{Bytes, Lbn, SectorCount};
use diskarm_wire::Command;
use diskarm_wire::command::{AddressFormat, Size, Values};
use diskarm_wire::defect::{Address, TRANSLATE, TRANSLATE_LENGTH, Translate, Translated};
use diskarm_wire::inquiry;
use diskarm_wire::inquiry::Inquiry;
use diskarm_wire::mode::{Header6, Page};
use serde::{Deserialize, Serialize};

use super::Disk;
use crate::transport::{Data, Error};

/// The longest mode page in bytes: its length field is one byte.
const MAX_PAGE_LENGTH: usize = 255;

/// A location on the media in physical sector format (SBC-3), as returned by TRANSLATE ADDRESS and
/// READ DEFECT DATA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PhysicalAddress {
    /// 24 bits.
    pub cylinder: u32,
    pub head: u8,
    /// Sector of the track as the drive counts them: from the index mark on most drives.
    pub sector: u32,
}

/// The identity of a drive. A text is empty if the drive does not report it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// From INQUIRY.
    pub vendor: String,
    /// From INQUIRY.
    pub product: String,
    /// Firmware revision, from INQUIRY.
    pub revision: String,
    /// Serial number, from vital product data page 0x80.
    pub serial: String,
    /// Number of blocks (READ CAPACITY).
    pub sectors: SectorCount,
    /// Size of a block (READ CAPACITY).
    pub sector_size: Bytes,
}

impl Identity {
    /// Reads the identity of the drive.
    ///
    /// # Errors
    /// The transport failed, or the drive answered with data that the standard does not allow.
    pub fn read(disk: &mut Disk<'_>) -> Result<Self, Error> {
        let inquiry = unless_refused(disk.inquiry())?;
        let text = |field: Option<&[u8]>| field.map_or_else(String::new, ascii_text);
        Ok(Self {
            vendor: text(inquiry.as_ref().map(|data| &data.vendor[..])),
            product: text(inquiry.as_ref().map(|data| &data.product[..])),
            revision: text(inquiry.as_ref().map(|data| &data.revision[..])),
            serial: unless_refused(disk.serial_number())?.unwrap_or_default(),
            sectors: disk.sectors(),
            sector_size: disk.sector_size(),
        })
    }

    /// The name of the drive in a sentence.
    pub fn name(&self) -> String {
        let words = [&self.vendor, &self.product, &self.revision];
        let words: Vec<&str> = words
            .iter()
            .flat_map(|word| word.split_whitespace())
            .collect();
        if words.is_empty() {
            return "a drive that does not report its name".to_owned();
        }
        words.join(" ")
    }
}

/// Returns `None` if the drive rejected the command.
fn unless_refused<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(Error::Status { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the graphic ASCII characters of a field, without padding.
fn ascii_text(bytes: &[u8]) -> String {
    let graphic = bytes.iter().filter(|byte| (b' '..=b'~').contains(byte));
    let text: String = graphic.map(|byte| char::from(*byte)).collect();
    text.trim().to_owned()
}

impl Disk<'_> {
    /// Returns the size of a sector on the media if the drive reports it (READ CAPACITY(16)).
    ///
    /// # Errors
    /// The transport failed.
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

    /// Translates a block to its physical address (SEND DIAGNOSTIC and RECEIVE DIAGNOSTIC RESULTS,
    /// translate address page).
    ///
    /// # Errors
    /// See [`Self::read`]; drives without that page reject it with ILLEGAL REQUEST.
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
            Ok(_) | Err(_) => Err(Error::Malformed {
                command: RECEIVE.operation().name,
                reason: format!("{data:02x?} is not a physical sector"),
            }),
        }
    }

    /// Reads the standard inquiry data (INQUIRY).
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

    /// Reads the serial number (INQUIRY, vital product data page 0x80).
    ///
    /// # Errors
    /// See [`Self::read`]; drives without one reject the page with ILLEGAL REQUEST.
    pub fn serial_number(&mut self) -> Result<String, Error> {
        let mut data = [0; 255];
        let command = Command::Inquiry {
            page: Some(inquiry::page_code::SERIAL_NUMBER),
            length: data.len() as u16,
        };
        let (_, transferred) = self.data_up_to(&command, &mut data)?;
        match inquiry::VitalPage::parse(&data[..transferred]) {
            Ok(page) if page.code == inquiry::page_code::SERIAL_NUMBER => {
                Ok(ascii_text(page.content))
            }
            _ => Err(Error::Malformed {
                command: command.operation().name,
                reason: "returned no page 0x80".to_owned(),
            }),
        }
    }

    /// Reads the current values of a mode page, without its header.
    ///
    /// # Errors
    /// The drive has no such page, or returns another one.
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
        let page = Header6::parse(&data[..transferred])
            .ok()
            .and_then(|header| {
                let begin = Header6::LENGTH + usize::from(header.descriptors_length);
                let end = transferred.min(usize::from(header.data_length) + 1);
                let (page, _) = Page::parse(data.get(begin..end)?).ok()?;
                (page.code == code && page.subpage.is_none()).then(|| page.content.to_vec())
            });
        page.ok_or_else(|| Error::Malformed {
            command: command.operation().name,
            reason: format!("returned no mode page 0x{code:02x}"),
        })
    }

    /// Changes a mode page until the next reset.
    ///
    /// # Errors
    /// The drive rejects the content.
    ///
    /// # Panics
    /// If the content is longer than a page can be.
    pub fn select_mode_page(&mut self, code: u8, content: &[u8]) -> Result<(), Error> {
        let page = Page {
            saveable: false,
            code,
            subpage: None,
            content,
        };
        let mut list = vec![0; Header6::LENGTH + 2 + content.len()];
        page.emit(&mut list[Header6::LENGTH..]);
        let command = Command::ModeSelect {
            size: Size::Six,
            page_format: true,
            save: false,
            length: u8::try_from(list.len()).expect("a page").into(),
        };
        self.execute(&command, Data::Out(&list)).map(|_| ())
    }
}
