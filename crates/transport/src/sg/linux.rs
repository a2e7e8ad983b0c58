//! A drive that accepts commands over SG_IO.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use diskarm_core::units::{Instant, Span};
use rustix::fs::OFlags;

use super::ioctl::{Packet, SENSE_LENGTH};
use super::{Error, block_device};
use crate::safety;
use crate::transport::{Data, HostClock, Reply, Transport, TransportError};

/// A drive that accepts commands over SG_IO. Its times are read from `std::time::Instant`
/// (CLOCK_MONOTONIC) right before and after the system call.
#[derive(Debug)]
pub struct Sg {
    path: PathBuf,
    file: File,
    /// Name of the block device of the drive.
    block: Option<String>,
    /// Keeps the system from using the block device while writes are allowed.
    claim: Option<File>,
    can_write: bool,
    clock: HostClock,
}

impl Sg {
    /// Opens a drive (`/dev/sgX` or a block device) and allows commands that change neither its
    /// data nor its settings. Other commands are not sent, but fail as on a write-protected drive.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let block = block_device::name(path)?;
        let file = open(path, OpenOptions::new().read(true), OFlags::empty())?;
        Ok(Self {
            path: path.to_owned(),
            file,
            block,
            claim: None,
            can_write: false,
            clock: HostClock::start(),
        })
    }

    /// Allows all commands from now on, and keeps the system from using the drive until `self` is
    /// dropped. Fails if the drive is in use. Without `overwrite_data`, also fails if the drive
    /// contains a partition table, a file system or other data.
    pub fn allow_writes(&mut self, overwrite_data: bool) -> Result<(), Error> {
        // An earlier claim would make this one fail.
        self.claim = None;
        let claim = self
            .block
            .as_ref()
            .map(|block| self.claim(block))
            .transpose()?;
        if !overwrite_data {
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
        self.can_write = true;
        Ok(())
    }

    /// Opens the block device exclusively. Fails while the device is in use.
    fn claim(&self, block: &str) -> Result<File, Error> {
        let read = |path| fs::read_to_string(path).map_err(Error::file(Path::new(path)));
        let blocks = block_device::blocks(Path::new(block_device::SYSFS), block)
            .map_err(Error::file(&self.path))?;
        let in_use = |by: String| Error::InUse {
            path: self.path.clone(),
            by,
        };
        let (mounts, swaps) = (read("/proc/self/mountinfo")?, read("/proc/swaps")?);
        if let Some(by) = block_device::usage(&blocks, &mounts, &swaps) {
            return Err(in_use(by));
        }
        let path = Path::new("/dev").join(block.replace('!', "/"));
        match open(&path, OpenOptions::new().read(true), OFlags::EXCL) {
            Err(Error::File { source, .. }) if source.kind() == io::ErrorKind::ResourceBusy => Err(
                in_use(format!("another program has opened {block} exclusively")),
            ),
            claimed => claimed,
        }
    }

    /// Executes a command by passing its packet to `submit`.
    fn exchange(
        &self,
        block: &[u8],
        data: Data<'_>,
        submit: impl FnOnce(&mut Packet<'_>) -> rustix::io::Result<()>,
    ) -> Result<Reply, TransportError> {
        let message = |reason: String| format!("{}: {reason}", safety::command_name(block));
        if !self.can_write && !safety::leaves_data_alone(block, data.sent()) {
            return Ok(safety::write_protected(self.now()));
        }
        let timeout = safety::timeout(block, data.len());
        let mut sense = [0; SENSE_LENGTH];
        let mut packet = Packet::new(block, data, &mut sense, timeout);
        let sent = self.now();
        let submitted = submit(&mut packet);
        let ended = self.now();
        let lost = |error| TransportError::Lost(io::Error::from(error).to_string());
        let completed = submitted.map_err(lost).and_then(|()| packet.outcome());
        let outcome = completed.map_err(|error| match error {
            TransportError::Unanswered(reason) => TransportError::Unanswered(message(reason)),
            TransportError::Lost(reason) => TransportError::Lost(message(reason)),
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
    opened.map_err(Error::file(path))
}

impl Transport for Sg {
    fn execute(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, TransportError> {
        self.exchange(command, data, |packet| packet.submit(&self.file))
    }

    fn sleep(&mut self, span: Span) {
        self.clock.sleep(span);
    }

    fn now(&self) -> Instant {
        self.clock.now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diskarm_wire::Sense;
    use diskarm_wire::sense::{Code, Key};

    const READ: [u8; 10] = [0x28, 0, 0, 0, 0, 9, 0, 0, 1, 0];
    const WRITE: [u8; 10] = [0x2a, 0, 0, 0, 0, 9, 0, 0, 1, 0];

    /// Returns a drive whose file accepts no commands.
    fn drive() -> Sg {
        Sg {
            path: "/dev/null".into(),
            file: File::open("/dev/null").unwrap(),
            block: None,
            claim: None,
            can_write: false,
            clock: HostClock::start(),
        }
    }

    #[test]
    fn a_reply_contains_the_outcome_from_the_kernel() {
        let mut data = [0; 512];
        let before = drive().now();
        let drive = drive();
        let exchanged = drive.exchange(&READ, Data::In(&mut data), |packet| {
            packet.end(2, 18, 0, 500);
            Ok(())
        });
        let reply = exchanged.unwrap();
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
        let expected = "READ(10): timed out (host status 0x03)";
        assert_eq!(lost, Err(TransportError::Unanswered(expected.to_owned())));
    }

    #[test]
    fn a_file_that_accepts_no_commands_is_an_error() {
        let error = drive().execute(&READ, Data::None).unwrap_err();
        let TransportError::Lost(error) = error else {
            panic!("{error:?}");
        };
        assert!(error.starts_with("READ(10): "), "{error}");
        assert!(error.contains("ioctl"), "{error}");
    }

    #[test]
    fn writes_are_blocked_until_they_are_allowed() {
        let mut drive = drive();
        let exchanged = drive.exchange(&WRITE, Data::Out(&[0; 512]), |_| panic!("sent"));
        let refused = exchanged.unwrap();
        let sense = Sense::parse(&refused.sense).unwrap();
        assert_eq!((refused.status, refused.transferred), (2, 0));
        let expected = (Key::DataProtect, Code::WRITE_PROTECTED);
        assert_eq!((sense.key, sense.code), expected);
        drive.can_write = true;
        let reply = drive.exchange(&WRITE, Data::Out(&[0; 512]), |_| Ok(()));
        assert_eq!(reply.unwrap().transferred, 512);
    }

    #[test]
    fn sleeping_takes_time() {
        let mut drive = drive();
        let before = drive.now();
        drive.sleep(Span::from_ns(1000));
        assert!(drive.now() - before >= Span::from_ns(1000));
        drive.sleep(Span::from_ns(-1));
    }
}
