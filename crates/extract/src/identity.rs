//! Which drive it is.

use diskarm_core::units::{Bytes, SectorCount};
use serde::{Deserialize, Serialize};

use crate::{Disk, Error};

/// Which drive it is, in its own words. A text is empty where the drive does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its vendor (INQUIRY).
    pub vendor: String,
    /// Its product name (INQUIRY).
    pub product: String,
    /// Revision of its firmware (INQUIRY).
    pub revision: String,
    /// Its serial number (vital product data page 0x80).
    pub serial: String,
    /// Number of blocks (READ CAPACITY).
    pub sectors: SectorCount,
    /// Size of a block (READ CAPACITY).
    pub sector_size: Bytes,
}

impl Identity {
    /// Asks the drive.
    ///
    /// # Errors
    /// The transport failed, or the drive answered with data that the standard does not allow.
    pub fn read(disk: &mut Disk<'_>) -> Result<Self, Error> {
        let inquiry = told(disk.inquiry())?;
        let text = |of: Option<&[u8]>| of.map_or_else(String::new, ascii_text);
        Ok(Self {
            vendor: text(inquiry.as_ref().map(|data| &data.vendor[..])),
            product: text(inquiry.as_ref().map(|data| &data.product[..])),
            revision: text(inquiry.as_ref().map(|data| &data.revision[..])),
            serial: told(disk.serial_number())?.unwrap_or_default(),
            sectors: disk.sectors(),
            sector_size: disk.sector_size(),
        })
    }

    /// Its name in a sentence.
    pub fn name(&self) -> String {
        let words = [&self.vendor, &self.product, &self.revision];
        let words: Vec<&str> = words.iter().map(|word| word.as_str()).collect();
        let name = words.join(" ");
        match name.trim() {
            "" => "a drive that does not tell its name".to_owned(),
            name => name.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }
}

/// `None` if the drive refused the question.
fn told<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(Error::Status { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// ASCII without the spaces that pad it; bytes that are not graphic are left out.
pub(crate) fn ascii_text(bytes: &[u8]) -> String {
    let graphic = bytes.iter().filter(|byte| (b' '..=b'~').contains(byte));
    let text: String = graphic.map(|byte| char::from(*byte)).collect();
    text.trim().to_owned()
}
