//! A drive behind SG_IO.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use diskarm_core::units::{Instant, Span};
use diskarm_extract::{Broken, Data, Reply, Transport, safety};
use rustix::fs::OFlags;

use crate::packet::{Packet, SENSE_LENGTH};
use crate::{Error, device, ioctl, occupied};

/// A drive that takes commands through SG_IO. Times are those of CLOCK_MONOTONIC right before and
/// after the call into the kernel, as `std::time::Instant` reads it.
#[derive(Debug)]
pub struct Sg {
    path: PathBuf,
    file: File,
    /// The block device of the drive, if it has one.
    block: Option<String>,
    /// Keeps others from using the block device while writes are allowed.
    claim: Option<File>,
    writes: bool,
    opened: std::time::Instant,
}

impl Sg {
    /// Opens a drive, `/dev/sgX` or a block device, for commands that leave its data and settings
    /// alone. Others do not reach it: they end as on a write-protected drive.
    ///
    /// # Errors
    /// There is no such file, it is no whole disk, or the user may not open it.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let block = device::block_name(path)?;
        let file = open(path, OpenOptions::new().read(true), OFlags::empty())?;
        Ok(Self {
            path: path.to_owned(),
            file,
            block,
            claim: None,
            writes: false,
            opened: std::time::Instant::now(),
        })
    }

    /// Lets all commands through from now on, and keeps the system from using the drive as long as
    /// it is open. `over_content` allows it on a drive that holds a partition table, a file system
    /// or the like; nothing allows it on one that is in use.
    ///
    /// # Errors
    /// The drive is in use or holds something, this cannot be found out, or the user may not open
    /// it for writing.
    pub fn allow_writes(&mut self, over_content: bool) -> Result<(), Error> {
        // An earlier claim would exclude this one.
        self.claim = None;
        let claim = match &self.block {
            None => None,
            Some(block) => Some(self.claim(block)?),
        };
        if !over_content {
            let path = self.path.clone();
            match safety::content(self) {
                Ok(None) => {}
                Ok(Some(what)) => return Err(Error::Content { path, what }),
                Err(source) => return Err(Error::Command { path, source }),
            }
        }
        let mut options = OpenOptions::new();
        self.file = open(&self.path, options.read(true).write(true), OFlags::empty())?;
        self.claim = claim;
        self.writes = true;
        Ok(())
    }

    /// Takes the block device for this process alone, which the kernel refuses while it is in use.
    fn claim(&self, block: &str) -> Result<File, Error> {
        let read = |path: &str| {
            fs::read_to_string(path).map_err(|source| Error::File {
                path: path.into(),
                source,
            })
        };
        let blocks = occupied::blocks(Path::new(device::SYSTEM), block);
        let blocks = blocks.map_err(|source| Error::File {
            path: self.path.clone(),
            source,
        })?;
        let in_use = |by: String| Error::InUse {
            path: self.path.clone(),
            by,
        };
        let user = occupied::user(
            &blocks,
            &read("/proc/self/mountinfo")?,
            &read("/proc/swaps")?,
        );
        if let Some(by) = user {
            return Err(in_use(by));
        }
        let path = Path::new("/dev").join(block.replace('!', "/"));
        match open(&path, OpenOptions::new().read(true), OFlags::EXCL) {
            Err(Error::File { source, .. }) if source.kind() == io::ErrorKind::ResourceBusy => {
                Err(in_use(format!("something keeps {block} for itself")))
            }
            claimed => claimed,
        }
    }

    /// Executes a command with whatever takes its packet.
    fn exchange(
        &self,
        block: &[u8],
        data: Data<'_>,
        submit: impl FnOnce(&mut Packet<'_>) -> rustix::io::Result<()>,
    ) -> Result<Reply, Broken> {
        let named = |why: String| format!("{}: {why}", safety::name(block));
        let list = match &data {
            Data::Out(bytes) => bytes,
            Data::None | Data::In(_) => &[][..],
        };
        if !self.writes && !safety::leaves_data_alone(block, list) {
            return Ok(safety::write_protected(self.now()));
        }
        let length = match &data {
            Data::None => 0,
            Data::In(bytes) => bytes.len(),
            Data::Out(bytes) => bytes.len(),
        };
        let timeout = safety::timeout(block, length);
        let mut sense = [0; SENSE_LENGTH];
        let mut packet = Packet::new(block, data, &mut sense, timeout);
        let sent = self.now();
        let submitted = submit(&mut packet);
        let ended = self.now();
        submitted.map_err(|error| Broken::Transport(named(io::Error::from(error).to_string())))?;
        let outcome = packet.outcome().map_err(|lost| match lost {
            Broken::Command(why) => Broken::Command(named(why)),
            Broken::Transport(why) => Broken::Transport(named(why)),
        })?;
        Ok(Reply {
            status: outcome.status,
            sense: sense[..outcome.sense_length.min(SENSE_LENGTH)].to_vec(),
            transferred: outcome.transferred,
            sent,
            ended,
        })
    }
}

/// Opens a device without waiting for it to be ready.
fn open(path: &Path, options: &mut OpenOptions, flags: OFlags) -> Result<File, Error> {
    let flags = flags | OFlags::NONBLOCK;
    let opened = options.custom_flags(flags.bits() as i32).open(path);
    opened.map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })
}

impl Transport for Sg {
    fn execute(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, Broken> {
        self.exchange(command, data, |packet| ioctl::submit(&self.file, packet))
    }

    fn rest(&mut self, span: Span) {
        let ns = u64::try_from(span.as_ns()).unwrap_or(0);
        std::thread::sleep(std::time::Duration::from_nanos(ns));
    }

    fn now(&self) -> Instant {
        let ns = self.opened.elapsed().as_nanos();
        Instant::from_ns(u64::try_from(ns).expect("less than 584 years"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diskarm_wire::Sense;
    use diskarm_wire::sense::{Code, Key};

    const READ: [u8; 10] = [0x28, 0, 0, 0, 0, 9, 0, 0, 1, 0];
    const WRITE: [u8; 10] = [0x2a, 0, 0, 0, 0, 9, 0, 0, 1, 0];

    /// A drive whose file is none.
    fn drive() -> Sg {
        Sg {
            path: "/dev/null".into(),
            file: File::open("/dev/null").unwrap(),
            block: None,
            claim: None,
            writes: false,
            opened: std::time::Instant::now(),
        }
    }

    #[test]
    fn a_reply_has_what_the_kernel_filled_in() {
        let mut data = [0; 512];
        let before = drive().now();
        let drive = drive();
        let reply = drive.exchange(&READ, Data::In(&mut data), |packet| {
            packet.end(2, 18, 0, 500);
            Ok(())
        });
        let reply = reply.unwrap();
        assert_eq!((reply.status, reply.transferred), (2, 12));
        assert_eq!(reply.sense, [0; 18]);
        assert!(before <= reply.sent && reply.sent <= reply.ended);
    }

    #[test]
    fn a_command_without_an_answer_is_lost() {
        let drive = drive();
        let lost = drive.exchange(&READ, Data::None, |packet| {
            packet.end(0, 0, 3, 0);
            Ok(())
        });
        let expected = "READ(10): no end in time (host status 0x03)";
        assert_eq!(lost.unwrap_err(), Broken::Command(expected.to_owned()));
    }

    /// This asks the kernel.
    #[test]
    fn a_file_that_takes_no_commands_breaks_the_transport() {
        let error = drive().execute(&READ, Data::None).unwrap_err();
        let Broken::Transport(error) = error else {
            panic!("{error:?}");
        };
        assert!(error.starts_with("READ(10): "), "{error}");
        assert!(error.contains("ioctl"), "{error}");
    }

    #[test]
    fn writes_are_not_sent_unless_they_are_allowed() {
        let mut drive = drive();
        let refused = drive.exchange(&WRITE, Data::Out(&[0; 512]), |_| panic!("sent"));
        let refused = refused.unwrap();
        let sense = Sense::parse(&refused.sense).unwrap();
        assert_eq!((refused.status, refused.transferred), (2, 0));
        assert_eq!(
            (sense.key, sense.code),
            (Key::DataProtect, Code::WRITE_PROTECTED)
        );
        drive.writes = true;
        let reply = drive.exchange(&WRITE, Data::Out(&[0; 512]), |_| Ok(()));
        assert_eq!(reply.unwrap().transferred, 512);
    }

    #[test]
    fn a_rest_passes_time() {
        let mut drive = drive();
        let before = drive.now();
        drive.rest(Span::from_ns(1000));
        assert!(drive.now() - before >= Span::from_ns(1000));
        drive.rest(Span::from_ns(-1));
    }
}
