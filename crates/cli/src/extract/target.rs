//! The drives that can be measured, and their URLs.

use std::path::PathBuf;

use diskarm_core::text::{Args, Call, InputError};
use diskarm_core::units::Span;
use diskarm_emulate::{Places, Realism};
use diskarm_extract::{HostDelay, SimulatedDrive};
use diskarm_results::output_file::Files;
use diskarm_simulate::Model;
use diskarm_transport::iscsi::{self, Address, Credentials, Session};
use diskarm_transport::sg::Sg;
use diskarm_transport::{Disk, Identity, Transport, TransportError};

use crate::args;
use crate::error::Error;

pub fn help() -> String {
    format!("{DRIVES}\n\n{REALISM}\n\n{REAL}")
}

const DRIVES: &str = "\
The drive:
- sim:NAME: a simulated drive from the catalogue
- sim:FILE.toml: a simulated drive with your own specification
- /dev/sgX, or a block device such as /dev/sdX: a real drive, on Linux
- iscsi://HOST[:PORT]/TARGET/LUN: an iSCSI drive; if TARGET is missing, the error lists the \
targets of the host

A simulated drive answers SCSI commands in virtual time, with 0.05 to 0.15 ms of host time between \
commands. Measurements never read its specification. They may write to the drive, because no data \
can be lost.";

const REAL: &str = "A real drive is only read, unless --allow-writes permits more.";

/// The host's delay between commands to a simulated drive.
const HOST_DELAY: HostDelay = HostDelay {
    min: Span::from_ns(50_000),
    max: Span::from_ns(150_000),
};

pub enum Target {
    Simulated(Box<Model>, Realism),
    /// A real drive, given by the path of its device.
    Real(PathBuf),
    Iscsi(Address, Option<Credentials>),
}

/// Permission to overwrite the data of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    Forbidden,
    /// Allowed if the drive looks empty.
    Empty,
    Any,
}

impl Target {
    /// Parses a URL; `chap` is the source of names and secrets for an iSCSI target.
    pub fn parse(url: &str, chap: Option<&str>) -> Result<Self, Error> {
        if url.starts_with('/') {
            return Ok(Self::Real(url.into()));
        }
        match url.split_once(':') {
            Some(("sim", name)) => {
                let (name, realism) = split_realism(name)?;
                let model = Model::find(name).map_err(|error| error.with_field("URL"))?;
                Ok(Self::Simulated(Box::new(model), realism))
            }
            Some(("iscsi", rest)) => {
                let invalid = || Error::option("URL", url, Address::EXPECTED);
                let address = Address::parse(rest).ok_or_else(invalid)?;
                let credentials = chap.map(args::credentials).transpose()?;
                if address.target.is_empty() {
                    return Err(missing_target(url, &address, credentials.as_ref()));
                }
                Ok(Self::Iscsi(address, credentials))
            }
            _ => {
                let expected = "sim:NAME with a drive from the catalogue, sim:FILE.toml, iscsi:// \
                                with a target, or the path of a device such as /dev/sg0";
                Err(Error::option("URL", url, expected))
            }
        }
    }

    /// Returns true if writes destroy no data.
    pub fn is_simulated(&self) -> bool {
        matches!(self, Self::Simulated(..))
    }

    pub fn files(&self) -> Files {
        match self {
            Self::Simulated(model, _) => Files::default().with_input("URL", &model.name),
            Self::Real(path) => Files::default().with_input("URL", &path.to_string_lossy()),
            Self::Iscsi(..) => Files::default(),
        }
    }

    /// Opens a connection. A simulated drive starts anew, with random delays and angle.
    pub fn connect(&self, writes: Writes, seed: u64) -> Result<Box<dyn Transport>, TransportError> {
        match self {
            Self::Simulated(model, realism) => {
                let realism = Realism { seed, ..*realism };
                let drive = SimulatedDrive::with_realism(&model.spec, HOST_DELAY, seed, realism);
                Ok(Box::new(drive.map_err(to_lost)?))
            }
            Self::Real(path) => {
                let mut drive = Sg::open(path).map_err(to_lost)?;
                if writes != Writes::Forbidden {
                    drive.allow_writes(writes == Writes::Any).map_err(to_lost)?;
                }
                Ok(Box::new(drive))
            }
            Self::Iscsi(address, credentials) => {
                let mut drive = Session::open(address, credentials.as_ref()).map_err(to_lost)?;
                if writes != Writes::Forbidden {
                    drive.allow_writes(writes == Writes::Any).map_err(to_lost)?;
                }
                Ok(Box::new(drive))
            }
        }
    }

    /// Checks that the drive is the expected one; a path may later lead to a different drive.
    pub fn check(
        &self,
        drive: &mut dyn Transport,
        expected: &Identity,
    ) -> Result<(), TransportError> {
        if self.is_simulated() {
            return Ok(());
        }
        let found = Disk::new(drive).and_then(|mut disk| Identity::read(&mut disk));
        let found = found.map_err(to_lost)?;
        if found == *expected {
            return Ok(());
        }
        let describe = |identity: &Identity| {
            let (name, blocks) = (identity.name(), identity.sectors.0);
            format!(
                "{name}, serial number {:?}, {blocks} blocks",
                identity.serial
            )
        };
        Err(TransportError::Lost(format!(
            "found another drive ({}), expected {}",
            describe(&found),
            describe(expected)
        )))
    }
}

fn to_lost(error: impl std::fmt::Display) -> TransportError {
    TransportError::Lost(error.to_string())
}

/// Returns the error for a URL without a target. The message lists the available targets.
fn missing_target(url: &str, address: &Address, credentials: Option<&Credentials>) -> Error {
    match iscsi::targets(address, credentials) {
        Ok(targets) if targets.is_empty() => Error::Failed(format!("{url}: no targets found")),
        Ok(targets) => {
            let expected = format!("a URL with a target, such as one of {}", targets.join(", "));
            Error::option("URL", url, expected)
        }
        Err(error) => Error::Failed(format!("{url}: {error}")),
    }
}

/// Help for the parameters that make a simulated drive harder to measure.
const REALISM: &str = "\
Parameters in parentheses make a simulated drive and its host more realistic, as in \
sim:hp-c2247(noise=0.1ms, places=notches):
- noise: standard deviation of the measured completion times
- places: how the drive reports the positions of blocks: translated, by TRANSLATE ADDRESS (the \
default); notches, by notch pages and READ CAPACITY; hidden, not at all
- nominal=yes: the mode pages of the drive have nominal values
- adaptive=yes: the drive chooses its buffer ratios itself";

/// Splits the text after `sim:` into the drive and the parameters in parentheses.
fn split_realism(url: &str) -> Result<(&str, Realism), InputError> {
    let parameters = |url| str::strip_suffix(url, ")").and_then(|url| url.rsplit_once('('));
    let Some((drive, parameters)) = parameters(url) else {
        if url.contains('(') && !url.ends_with(".toml") {
            return Err(InputError::new("URL", url, "a closing parenthesis"));
        }
        return Ok((url, Realism::default()));
    };
    let call = format!("sim({parameters})");
    let call = Call::read(&call, "URL")?;
    let mut args = Args::new(&call, ());
    let expected = "translated, notches or hidden";
    let places = args.maybe("places", expected, |word| match word {
        "translated" => Some(Places::Translated),
        "notches" => Some(Places::Notches),
        // `untold` was the name up to version 0.1.
        "hidden" | "untold" => Some(Places::Hidden),
        _ => None,
    })?;
    let realism = Realism {
        noise: args.time_or_none("noise")?,
        places: places.unwrap_or_default(),
        nominal: args.maybe_yes("nominal")?.unwrap_or_default(),
        adaptive_ratios: args.maybe_yes("adaptive")?.unwrap_or_default(),
        ..Realism::default()
    };
    args.finish()?;
    Ok((drive, realism))
}

#[cfg(test)]
mod tests {
    use diskarm_core::units::Span;

    use super::*;

    #[test]
    fn a_different_drive_at_the_same_path_is_refused() {
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

    #[test]
    fn parameters_are_read_from_parentheses() {
        for name in ["hp-c2247", "./a(1).toml"] {
            assert_eq!(split_realism(name), Ok((name, Realism::default())));
        }
        let (drive, realism) = split_realism("./a.toml(noise=0.1ms, places=hidden)").unwrap();
        assert_eq!(drive, "./a.toml");
        assert_eq!(realism.noise, Span::from_us(100.0));
        assert_eq!(realism.places, Places::Hidden);
        for wrong in ["a(noise=1)", "a(places=here)", "a(hum=1ms)", "a(noise=1ms"] {
            assert!(split_realism(wrong).is_err(), "{wrong}");
        }
    }
}
