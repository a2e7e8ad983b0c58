//! What transports to real drives share: which commands they let through, what a drive holds that
//! writes would destroy, and how long a command may take.

mod command;
mod content;

use diskarm_core::units::{Instant, Lbn};
use diskarm_wire::Sense;
use diskarm_wire::sense::{Code, Format, Key, MAX_LENGTH};
use diskarm_wire::status;

pub use command::{leaves_data_alone, name, timeout};

use crate::{Disk, Error, Reply, Transport};

/// Blocks that are read with one command.
const PIECE: u64 = 128;

/// What a drive holds, as far as its first and last blocks tell; `None` if it looks erased.
///
/// # Errors
/// The drive could not be asked, or its blocks cannot be read.
pub fn content(drive: &mut dyn Transport) -> Result<Option<&'static str>, Error> {
    // This also asks again if the drive has a reset to report first.
    let mut disk = Disk::new(drive)?;
    let (blocks, size) = (disk.sectors().0, disk.sector_size().0);
    let mut part = |length: usize, at_end: bool| {
        let count = (length as u64).div_ceil(size).min(blocks);
        let first = if at_end { blocks - count } else { 0 };
        let mut data = Vec::with_capacity((count * size) as usize);
        for at in (0..count).step_by(PIECE as usize) {
            let piece = PIECE.min(count - at) as u16;
            data.extend(disk.data(Lbn(first + at), piece)?);
        }
        Ok::<_, Error>(data)
    };
    let front = part(content::FRONT, false)?;
    let end = part(content::END, true)?;
    Ok(content::found(&front, &end))
}

/// The reply to a command that is not sent, at `now` (SBC-3, write protection).
pub fn write_protected(now: Instant) -> Reply {
    let sense = Sense::new(Key::DataProtect, Code::WRITE_PROTECTED);
    let mut data = vec![0; MAX_LENGTH];
    let length = sense.emit(Format::Fixed, &mut data);
    data.truncate(length);
    Reply {
        status: status::CHECK_CONDITION,
        sense: data,
        transferred: 0,
        sent: now,
        ended: now,
    }
}
