//! The drives that can be measured, by their URLs.

use std::path::PathBuf;

use diskarm_core::text::InputError;
use diskarm_core::units::Span;
use diskarm_emulate::Realism;
use diskarm_extract::{HostDelay, SimulatedDrive};
use diskarm_results::output_file::Files;
use diskarm_simulate::Model;
use diskarm_transport::iscsi::{self, Address, Credentials, Session};
use diskarm_transport::sg::{self, Sg};
use diskarm_transport::{Disk, Identity, Transport, TransportError};

use super::realism;
use crate::chap;
use crate::error::Error;

/// The help of the URL.
pub fn help() -> String {
    format!("{DRIVES}\n\n{}\n\n{REAL}", realism::HELP)
}

const DRIVES: &str = "\
The drive:
- sim:NAME: a drive of the catalogue, simulated
- sim:FILE.toml: a drive of your own specification, simulated
- /dev/sgX, or a block device such as /dev/sdX: a real drive, on Linux
- iscsi://HOST[:PORT]/TARGET/LUN: a drive behind an iSCSI target; without a target, the \
error lists those that there are

A simulated drive answers as a disk does, in virtual time, through a host that takes 0.05 to 0.15 \
ms between commands. It is measured without a look at its specification, and written to, as \
nothing is lost.";

const REAL: &str = "A real drive is only read, unless --allow-writes permits more.";

/// The host between the commands to a simulated drive.
const HOST: HostDelay = HostDelay {
    min: Span::from_ns(50_000),
    max: Span::from_ns(150_000),
};

/// What is measured.
pub enum Target {
    /// A simulated drive.
    Simulated(Box<Model>, Realism),
    /// A real drive, by the path of its device.
    Real(PathBuf),
    /// A drive behind an iSCSI target.
    Iscsi(Address, Option<Credentials>),
}

/// What may be done to a drive's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// Nothing.
    Forbidden,
    /// They may be overwritten if the drive looks empty.
    Empty,
    /// They may be overwritten.
    Any,
}

impl Target {
    /// Reads a URL. `chap` says where the names and secrets for an iSCSI target are.
    pub fn parse(url: &str, chap: Option<&str>) -> Result<Self, Error> {
        if url.starts_with('/') {
            return Ok(Self::Real(url.into()));
        }
        match url.split_once(':') {
            Some(("sim", name)) => {
                let (name, realism) = realism::of(name)?;
                let model = Model::find(name).map_err(|error| error.calling("URL"))?;
                Ok(Self::Simulated(Box::new(model), realism))
            }
            Some(("iscsi", rest)) => {
                let expected = Address::EXPECTED;
                let wrong = || Error::Input(InputError::new("URL", url, expected));
                let address = Address::parse(rest).ok_or_else(wrong)?;
                let credentials = chap.map(chap::credentials).transpose()?;
                if address.target.is_empty() {
                    return Err(unnamed(url, &address, credentials.as_ref()));
                }
                Ok(Self::Iscsi(address, credentials))
            }
            _ => {
                let expected = "sim:NAME with a drive of the catalogue, sim:FILE.toml, iscsi:// \
                                with a target, or the path of a device such as /dev/sg0";
                Err(Error::Input(InputError::new("URL", url, expected)))
            }
        }
    }

    /// Whether writes lose nothing.
    pub fn is_simulated(&self) -> bool {
        matches!(self, Self::Simulated(..))
    }

    /// The files that it is read from.
    pub fn files(&self) -> Files {
        match self {
            Self::Simulated(model, _) => Files::default().reading("URL", &model.name),
            Self::Real(path) => Files::default().reading("URL", &path.to_string_lossy()),
            Self::Iscsi(..) => Files::default(),
        }
    }

    /// Opens a connection. A simulated drive begins anew, with the seed for its angle and the
    /// delays of its host.
    pub fn connect(&self, writes: Writes, seed: u64) -> Result<Box<dyn Transport>, TransportError> {
        match self {
            Self::Simulated(model, realism) => {
                let realism = Realism { seed, ..*realism };
                let drive = SimulatedDrive::realistic(&model.spec, HOST, seed, realism);
                Ok(Box::new(drive.map_err(|error| {
                    TransportError::Lost(error.to_string())
                })?))
            }
            Self::Real(path) => {
                let lost = |error: sg::Error| TransportError::Lost(error.to_string());
                let mut drive = Sg::open(path).map_err(lost)?;
                if writes != Writes::Forbidden {
                    drive.allow_writes(writes == Writes::Any).map_err(lost)?;
                }
                Ok(Box::new(drive))
            }
            Self::Iscsi(address, credentials) => {
                let lost = |error: iscsi::Error| TransportError::Lost(error.to_string());
                let mut drive = Session::open(address, credentials.as_ref()).map_err(lost)?;
                if writes != Writes::Forbidden {
                    drive.allow_writes(writes == Writes::Any).map_err(lost)?;
                }
                Ok(Box::new(drive))
            }
        }
    }

    /// Whether a connection to a real drive is to the one that was asked before: drives get other
    /// paths when they come and go. A simulated drive cannot.
    pub fn check(
        &self,
        drive: &mut dyn Transport,
        expected: &Identity,
    ) -> Result<(), TransportError> {
        if self.is_simulated() {
            return Ok(());
        }
        let found = Disk::new(drive).and_then(|mut disk| Identity::read(&mut disk));
        let found = found.map_err(|error| TransportError::Lost(error.to_string()))?;
        if found == *expected {
            return Ok(());
        }
        let described = |of: &Identity| {
            let (name, blocks) = (of.name(), of.sectors.0);
            format!("{name}, serial number {:?}, {blocks} blocks", of.serial)
        };
        Err(TransportError::Lost(format!(
            "found another drive ({}), expected {}",
            described(&found),
            described(expected)
        )))
    }
}

/// The error of a URL without a target: which ones there are.
fn unnamed(url: &str, address: &Address, credentials: Option<&Credentials>) -> Error {
    match iscsi::targets(address, credentials) {
        Ok(targets) if targets.is_empty() => Error::Drive(format!("{url}: has no targets")),
        Ok(targets) => {
            let expected = format!("a URL with a target, such as one of {}", targets.join(", "));
            Error::Input(InputError::new("URL", url, expected))
        }
        Err(error) => Error::Drive(format!("{url}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_drive_behind_the_same_path_is_refused() {
        let simulated = |name: &str| Target::parse(&format!("sim:{name}"), None).unwrap();
        let drive = |name: &str| simulated(name).connect(Writes::Forbidden, 1).unwrap();
        let mut first = drive("hp-c2247");
        let identity = Disk::new(&mut *first).and_then(|mut disk| Identity::read(&mut disk));
        let identity = identity.unwrap();
        let real = Target::Real("/dev/sg0".into());
        assert_eq!(real.check(&mut *first, &identity), Ok(()));
        let error = real.check(&mut *drive("hp-c2490a"), &identity).unwrap_err();
        assert!(
            error.to_string().starts_with("found another drive ("),
            "{error}"
        );
        let mut serial = identity;
        serial.serial.push('2');
        assert!(real.check(&mut *first, &serial).is_err());
    }
}
