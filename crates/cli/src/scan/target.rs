//! The devices that can be scanned, by their URLs.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

use diskarm_results::output_file::Files;
use diskarm_scan::live::{FileSource, NbdSource, Source};
use diskarm_transport::iscsi::{Address, Session};
use diskarm_transport::sg::Sg;
use diskarm_transport::{Transport, TransportError};

use super::scsi::Scsi;
use crate::args;
use crate::error::Error;

/// A device to scan.
pub enum Target {
    /// A simulated drive, by its name.
    Simulated(String),
    /// Something that answers in real time.
    Real(Real),
}

/// Something that answers in real time.
pub struct Real {
    pub source: Arc<dyn Source>,
    /// Its input files.
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

/// Returns the help of the URL.
pub fn help() -> String {
    format!(
        "{REAL}\n- sim:DRIVE: a simulated drive, in virtual time; one with faults is \
         sim:faults(medium=..., drive=DRIVE)\n\n{}",
        args::drive_help()
    )
}

const REAL: &str = "\
The device:
- a block device such as /dev/sdX, or a plain file: read past the page cache if the system permits
- /dev/sgX: a drive through SG_IO, on Linux
- nbd://HOST[:PORT][/EXPORT], or nbd+unix:///EXPORT?socket=PATH: an export of an NBD server
- iscsi://HOST[:PORT]/TARGET/LUN: a disk of an iSCSI target";

const ELSEWHERE: &str = "sim:NAME, nbd://HOST/EXPORT or iscsi://HOST/TARGET/LUN";

impl Target {
    /// Parses a URL; `chap` is the source of names and secrets for an iSCSI target.
    pub fn parse(url: &str, chap: Option<&str>) -> Result<Self, Error> {
        if let Some(name) = url.strip_prefix("sim:") {
            return Ok(Self::Simulated(name.to_owned()));
        }
        if url.starts_with("nbd:") || url.starts_with("nbd+") {
            let source = NbdSource::parse(url);
            let source = source.ok_or_else(|| Error::option("URL", url, NbdSource::EXPECTED))?;
            return Ok(Real::remote(source));
        }
        if let Some(rest) = url.strip_prefix("iscsi:") {
            let wrong = || Error::option("URL", url, Address::EXPECTED);
            let address = Address::parse(rest).filter(|found| !found.target.is_empty());
            let address = address.ok_or_else(wrong)?;
            let credentials = chap.map(crate::chap::credentials).transpose()?;
            return Ok(Real::remote(Scsi(Box::new(move || {
                let session = Session::open(&address, credentials.as_ref());
                boxed(session)
            }))));
        }
        if url.contains("://") {
            let expected = format!("the path of a file or a device, {ELSEWHERE}");
            return Err(Error::option("URL", url, expected));
        }
        let path = Path::new(url);
        if let Err(error) = path.metadata() {
            if diskarm_drives::find(url).is_some() {
                let expected = format!("sim:{url}, or a file of that name ({error})");
                return Err(Error::option("URL", url, expected));
            }
            let expected = format!("an existing file or device ({error}), or {ELSEWHERE}");
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
            files: Files::default().reading_file("URL", url),
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

/// Returns true if a path is that of a device that accepts only commands: /dev/sgX is a character
/// device.
fn is_generic(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.file_type().is_char_device())
}
