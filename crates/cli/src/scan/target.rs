//! The devices that can be scanned, with their URLs, and a reader for SCSI disks.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

use diskarm_core::units::{Lbn, Span};
use diskarm_results::output_file::Files;
use diskarm_scan::live::{Fault, FileSource, Lost, NbdSource, Reader, Size, Source};
use diskarm_transport::iscsi::{Address, Session};
use diskarm_transport::sg::Sg;
use diskarm_transport::{Data, Disk, MAX_ATTEMPTS, Reply, Transport, TransportError, retry_delay};
use diskarm_wire::command::{Blocks, Caching, Command, Size as Length};
use diskarm_wire::sense::Key;
use diskarm_wire::{Sense, status};

use crate::args;
use crate::error::Error;

pub enum Target {
    /// A simulated drive, given by its name.
    Simulated(String),
    Real(Real),
}

/// A device or file that answers in real time.
pub struct Real {
    pub source: Arc<dyn Source>,
    pub files: Files,
    /// True if reads may come from the system's page cache.
    pub may_be_cached: bool,
}

impl Real {
    fn remote(source: impl Source + 'static) -> Target {
        Target::Real(Self {
            source: Arc::new(source),
            files: Files::default(),
            may_be_cached: false,
        })
    }
}

pub fn help() -> String {
    format!(
        "{REAL}\n- sim:DRIVE: a simulated drive, in virtual time; with faults: \
         sim:faults(medium=..., drive=DRIVE)\n\n{}",
        args::drive_help()
    )
}

const REAL: &str = "\
The device:
- a block device such as /dev/sdX, or a regular file: read without the page cache if possible
- /dev/sgX: a drive through SG_IO, on Linux
- nbd://HOST[:PORT][/EXPORT], or nbd+unix:///EXPORT?socket=PATH: an export of an NBD server
- iscsi://HOST[:PORT]/TARGET/LUN: a disk of an iSCSI target";

const OTHER_URLS: &str = "sim:NAME, nbd://HOST/EXPORT or iscsi://HOST/TARGET/LUN";

impl Target {
    /// Parses a URL; `chap` is the source of names and secrets for an iSCSI target.
    pub fn parse(url: &str, chap: Option<&str>) -> Result<Self, Error> {
        if let Some(name) = url.strip_prefix("sim:") {
            return Ok(Self::Simulated(name.to_owned()));
        }
        if url.starts_with("nbd:") || url.starts_with("nbd+") {
            let invalid = || Error::option("URL", url, NbdSource::EXPECTED);
            return Ok(Real::remote(NbdSource::parse(url).ok_or_else(invalid)?));
        }
        if let Some(rest) = url.strip_prefix("iscsi:") {
            let invalid = || Error::option("URL", url, Address::EXPECTED);
            let address = Address::parse(rest).filter(|found| !found.target.is_empty());
            let address = address.ok_or_else(invalid)?;
            let credentials = chap.map(crate::args::credentials).transpose()?;
            return Ok(Real::remote(Scsi(Box::new(move || {
                boxed(Session::open(&address, credentials.as_ref()))
            }))));
        }
        if url.contains("://") {
            let expected = format!("the path of a file or a device, {OTHER_URLS}");
            return Err(Error::option("URL", url, expected));
        }
        let path = Path::new(url);
        if let Err(error) = path.metadata() {
            let expected = if diskarm_drives::find(url).is_some() {
                format!("sim:{url}, or a file of that name ({error})")
            } else {
                format!("an existing file or device ({error}), or {OTHER_URLS}")
            };
            return Err(Error::option("URL", url, expected));
        }
        if url.ends_with(".toml") {
            let expected = format!("sim:{url} for the drive that it describes");
            return Err(Error::option("URL", url, expected));
        }
        if is_generic(path) {
            let path = path.to_owned();
            return Ok(Real::remote(Scsi(Box::new(move || boxed(Sg::open(&path))))));
        }
        let source = FileSource::new(path);
        Ok(Self::Real(Real {
            may_be_cached: !source.is_direct(),
            files: Files::default().with_input_file("URL", url),
            source: Arc::new(source),
        }))
    }
}

fn boxed<T: Transport + Send + 'static>(
    opened: Result<T, impl std::fmt::Display>,
) -> Result<Box<dyn Transport + Send>, TransportError> {
    match opened {
        Ok(transport) => Ok(Box::new(transport)),
        Err(error) => Err(TransportError::Lost(error.to_string())),
    }
}

/// Returns true for a device that accepts only commands: /dev/sgX is a character device.
fn is_generic(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.file_type().is_char_device())
}

type Connect = dyn Fn() -> Result<Box<dyn Transport + Send>, TransportError> + Send + Sync;

/// A SCSI disk; each connection has its own transport.
pub struct Scsi(pub Box<Connect>);

impl Source for Scsi {
    fn open(&self) -> Result<Box<dyn Reader>, Lost> {
        let mut transport = (self.0)().map_err(to_lost)?;
        let disk = Disk::new(&mut *transport).map_err(|error| Lost(error.to_string()))?;
        let size = Size {
            sectors: disk.sectors(),
            sector: disk.sector_size(),
        };
        Ok(Box::new(Connection { transport, size }))
    }
}

fn to_lost(error: TransportError) -> Lost {
    Lost(error.to_string())
}

struct Connection {
    transport: Box<dyn Transport + Send>,
    size: Size,
}

impl Reader for Connection {
    fn size(&self) -> Size {
        self.size
    }

    fn read(&mut self, first: Lbn, room: &mut [u8]) -> Result<(), Fault> {
        let count = room.len() as u64 / self.size.sector.0;
        let fits_ten_bytes = first.0 + count <= 1 << 32 && count < 1 << 16;
        let command = Command::Read {
            size: if fits_ten_bytes {
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
        let mut attempt = 1;
        loop {
            let read = self.transport.execute(&block[..length], Data::In(room));
            let reply = read.map_err(to_lost)?;
            // A deferred error does not matter to a scan, but the read was not executed. If the
            // disk's parameters have changed, its block size may have too, so it is opened again.
            let pause = if is_deferred(&reply) {
                Some(Span::ZERO)
            } else {
                retry_delay(&reply, false)
            };
            match pause.filter(|_| attempt < MAX_ATTEMPTS) {
                Some(pause) => self.transport.sleep(pause),
                None => return outcome(&reply, room.len()),
            }
            attempt += 1;
        }
    }
}

/// Returns true if a reply is about an earlier command.
fn is_deferred(reply: &Reply) -> bool {
    let sense = Sense::parse(&reply.sense);
    reply.status == status::CHECK_CONDITION && sense.is_ok_and(|sense| sense.deferred)
}

fn outcome(reply: &Reply, length: usize) -> Result<(), Fault> {
    let is_whole = reply.transferred == length;
    let failed = |status: &str| Lost(format!("the disk answers a read with {status}"));
    match (reply.status, Sense::parse(&reply.sense)) {
        (status::GOOD, _) if is_whole => Ok(()),
        (status::CHECK_CONDITION, Ok(sense)) => match sense.key {
            _ if sense.deferred => Err(failed(&sense.to_string()).into()),
            Key::RecoveredError | Key::Completed if is_whole => Ok(()),
            Key::MediumError => Err(Fault::Unreadable(sense.information.map(Lbn))),
            _ => Err(failed(&sense.to_string()).into()),
        },
        (status::GOOD, _) => Err(failed("too little data").into()),
        (status, _) => Err(failed(&status_name(status)).into()),
    }
}

fn status_name(status: u8) -> String {
    match (status, status::name(status)) {
        (status::CHECK_CONDITION, _) => "CHECK CONDITION without valid sense data".to_owned(),
        (_, Some(name)) => name.to_owned(),
        (_, None) => format!("status 0x{status:02x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diskarm_core::units::{Bytes, Instant, SectorCount, Span};
    use diskarm_wire::sense::{Code, Format};
    use std::sync::{Arc, Mutex};

    fn answer(status: u8, sense: Option<Sense>, transferred: usize) -> Reply {
        Reply {
            status,
            sense: sense.map_or_else(Vec::new, |sense| sense.emit(Format::Fixed)),
            transferred,
            sent: Instant::START,
            ended: Instant::START,
        }
    }

    /// A disk that gives the same reply to every command; it counts commands and calls to `sleep`.
    struct Same(Reply, Arc<Mutex<(u32, u32)>>);

    impl Transport for Same {
        fn execute(&mut self, _: &[u8], _: Data<'_>) -> Result<Reply, TransportError> {
            self.1.lock().expect("no thread panicked").0 += 1;
            Ok(self.0.clone())
        }

        fn sleep(&mut self, _: Span) {
            self.1.lock().expect("no thread panicked").1 += 1;
        }

        fn now(&self) -> Instant {
            Instant::START
        }
    }

    /// Returns the outcome of a read, and the numbers of commands and of calls to `sleep`.
    fn read(reply: Reply) -> (Result<(), Fault>, (u32, u32)) {
        let counts = Arc::default();
        let size = Size {
            sectors: SectorCount(10),
            sector: Bytes(512),
        };
        let mut opened = Connection {
            transport: Box::new(Same(reply, Arc::clone(&counts))),
            size,
        };
        let read = opened.read(Lbn(0), &mut [0; 512]);
        let counts = *counts.lock().expect("no thread panicked");
        (read, counts)
    }

    fn because(why: &str) -> Result<(), Fault> {
        let why = format!("the disk answers a read with {why}");
        Err(Lost(why).into())
    }

    #[test]
    fn a_disk_with_changed_parameters_is_opened_again() {
        for (code, name) in [
            (Code::CAPACITY_CHANGED, "CAPACITY DATA HAS CHANGED"),
            (Code::MODE_PARAMETERS_CHANGED, "MODE PARAMETERS CHANGED"),
        ] {
            let sense = Sense::new(Key::UnitAttention, code);
            let (read, counts) = read(answer(status::CHECK_CONDITION, Some(sense), 0));
            assert_eq!(read, because(&format!("UNIT ATTENTION, {name}")));
            assert_eq!(counts, (1, 0));
        }
    }

    #[test]
    fn the_last_reply_of_a_disk_that_executes_no_read_is_reported() {
        let counts = (MAX_ATTEMPTS, MAX_ATTEMPTS - 1);
        let becoming = Sense::new(Key::NotReady, Code::BECOMING_READY);
        let why = "NOT READY, LOGICAL UNIT IS IN PROCESS OF BECOMING READY";
        let reply = answer(status::CHECK_CONDITION, Some(becoming), 0);
        assert_eq!(read(reply), (because(why), counts));
        assert_eq!(
            read(answer(status::BUSY, None, 0)),
            (because("BUSY"), counts)
        );
        // A deferred error does not concern the blocks of this read.
        let deferred = Sense {
            deferred: true,
            ..Sense::new(Key::MediumError, Code::WRITE_ERROR)
        };
        let reply = answer(status::CHECK_CONDITION, Some(deferred), 0);
        let why = "MEDIUM ERROR, WRITE ERROR (from an earlier command)";
        assert_eq!(read(reply), (because(why), counts));
    }

    #[test]
    fn sense_data_determine_the_outcome() {
        let reply = |status, sense, transferred| outcome(&answer(status, sense, transferred), 512);
        let sense = |key| Sense::new(key, Code(0x11, 0));
        let bad = Sense {
            information: Some(70),
            ..sense(Key::MediumError)
        };
        let check = status::CHECK_CONDITION;
        assert_eq!(reply(0, None, 512), Ok(()));
        assert_eq!(reply(check, Some(sense(Key::RecoveredError)), 512), Ok(()));
        let at = Some(Lbn(70));
        assert_eq!(reply(check, Some(bad), 0), Err(Fault::Unreadable(at)));
        let nowhere = Some(sense(Key::MediumError));
        assert_eq!(reply(check, nowhere, 0), Err(Fault::Unreadable(None)));
        for (status, sense, transferred) in [
            (0, None, 511),
            (check, Some(sense(Key::RecoveredError)), 511),
            (check, Some(sense(Key::NotReady)), 0),
            (status::RESERVATION_CONFLICT, None, 0),
        ] {
            let outcome = reply(status, sense, transferred);
            assert!(matches!(outcome, Err(Fault::Lost(_))), "{outcome:?}");
        }
    }
}
