//! Disks that take SCSI commands, as sources.

use diskarm_core::units::Lbn;
use diskarm_extract::{Broken, Data, Disk, Reply, Transport};
use diskarm_scan::live::{Fault, Lost, Reader, Size, Source};
use diskarm_wire::Sense;
use diskarm_wire::command::{Blocks, Caching, Command, Size as Length};
use diskarm_wire::sense::Key;

/// How often a command is sent that the disk has not executed, because it was reset, say.
const ATTEMPTS: u32 = 12;

/// CHECK CONDITION (SAM-5).
const CHECK_CONDITION: u8 = 0x02;

/// What opens a transport to the disk.
type Connect = dyn Fn() -> Result<Box<dyn Transport + Send>, Broken> + Send + Sync;

/// A disk that takes SCSI commands through a transport; each connection has one of its own.
pub struct Scsi(pub Box<Connect>);

impl Source for Scsi {
    fn open(&self) -> Result<Box<dyn Reader>, Lost> {
        let mut transport = (self.0)().map_err(lost)?;
        let disk = Disk::new(&mut *transport).map_err(|error| Lost(error.to_string()))?;
        let size = Size {
            sectors: disk.sectors(),
            sector: disk.sector_size(),
        };
        Ok(Box::new(Opened { transport, size }))
    }
}

fn lost(broken: Broken) -> Lost {
    Lost(broken.to_string())
}

struct Opened {
    transport: Box<dyn Transport + Send>,
    size: Size,
}

impl Reader for Opened {
    fn size(&self) -> Size {
        self.size
    }

    fn read(&mut self, first: Lbn, room: &mut [u8]) -> Result<(), Fault> {
        let count = room.len() as u64 / self.size.sector.0;
        let is_near = first.0 + count <= 1 << 32 && count < 1 << 16;
        let command = Command::Read {
            size: if is_near {
                Length::Ten
            } else {
                Length::Sixteen
            },
            blocks: Blocks {
                at: first.0,
                count: count as u32,
            },
            caching: Caching::default(),
        };
        let mut block = [0; 16];
        let length = command.emit(&mut block);
        for _ in 0..ATTEMPTS {
            let read = self.transport.execute(&block[..length], Data::In(room));
            let reply = read.map_err(lost)?;
            match judged(&reply, room.len()) {
                Judged::Done => return Ok(()),
                Judged::Unreadable(at) => return Err(Fault::Unreadable(at)),
                Judged::NotExecuted => {}
                Judged::Failed => break,
            }
        }
        Err(Lost("the disk does not execute a read".to_owned()).into())
    }
}

/// What a reply to a read says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judged {
    Done,
    /// From this block on, if it says so.
    Unreadable(Option<Lbn>),
    /// It may be when it is sent again.
    NotExecuted,
    Failed,
}

fn judged(reply: &Reply, length: usize) -> Judged {
    let is_whole = reply.transferred == length;
    match (reply.status, Sense::parse(&reply.sense)) {
        (0, _) if is_whole => Judged::Done,
        (CHECK_CONDITION, Ok(sense)) if sense.deferred => Judged::NotExecuted,
        (CHECK_CONDITION, Ok(sense)) => match sense.key {
            Key::RecoveredError | Key::Completed if is_whole => Judged::Done,
            Key::UnitAttention | Key::AbortedCommand => Judged::NotExecuted,
            Key::MediumError => Judged::Unreadable(sense.information.map(Lbn)),
            _ => Judged::Failed,
        },
        _ => Judged::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diskarm_core::units::Instant;
    use diskarm_wire::sense::{Code, Format, MAX_LENGTH};

    #[test]
    fn replies_are_judged_by_their_sense_data() {
        let reply = |status, sense: Option<Sense>, transferred| {
            let mut bytes = vec![0; MAX_LENGTH];
            let length = sense.map_or(0, |sense| sense.emit(Format::Fixed, &mut bytes));
            bytes.truncate(length);
            judged(
                &Reply {
                    status,
                    sense: bytes,
                    transferred,
                    sent: Instant::START,
                    ended: Instant::START,
                },
                512,
            )
        };
        let sense = |key| Sense::new(key, Code(0x11, 0));
        let bad = Sense {
            information: Some(70),
            ..sense(Key::MediumError)
        };
        let check = CHECK_CONDITION;
        assert_eq!(reply(0, None, 512), Judged::Done);
        assert_eq!(reply(0, None, 511), Judged::Failed);
        assert_eq!(
            reply(check, Some(sense(Key::RecoveredError)), 512),
            Judged::Done
        );
        assert_eq!(
            reply(check, Some(bad), 0),
            Judged::Unreadable(Some(Lbn(70)))
        );
        let nowhere = Some(sense(Key::MediumError));
        assert_eq!(reply(check, nowhere, 0), Judged::Unreadable(None));
        let reset = Some(sense(Key::UnitAttention));
        assert_eq!(reply(check, reset, 0), Judged::NotExecuted);
        assert_eq!(reply(check, Some(sense(Key::NotReady)), 0), Judged::Failed);
        assert_eq!(reply(0x08, None, 0), Judged::Failed);
    }
}
