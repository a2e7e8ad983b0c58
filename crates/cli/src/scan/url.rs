//! What can be scanned, by its URL.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

use diskarm_results::output_file::Files;
use diskarm_scan::live::{FileSource, NbdSource, Source};
use diskarm_transport::iscsi::{Address, Session};
use diskarm_transport::sg::Sg;
use diskarm_transport::{Transport, TransportError};

use super::scsi::Scsi;
use crate::drive_arg;
use crate::error::Error;

/// What is scanned.
pub enum Target {
    /// A simulated drive, by its name.
    Simulated(String),
    /// Something that answers in real time.
    Real(Real),
}

/// Something that answers in real time.
pub struct Real {
    /// What opens it.
    pub source: Arc<dyn Source>,
    /// The files that it is read from.
    pub files: Files,
    /// Whether reads may come from the system's page cache.
    pub may_be_cached: bool,
}

impl Real {
    fn far(source: impl Source + 'static) -> Target {
        Target::Real(Self {
            source: Arc::new(source),
            files: Files::default(),
            may_be_cached: false,
        })
    }
}

/// The help of the URL.
pub fn help() -> String {
    format!(
        "{REAL}\n- sim:DRIVE: a simulated drive, in virtual time; one with faults is \
         sim:faults(medium=..., drive=DRIVE)\n\n{}",
        drive_arg::long_help()
    )
}

const REAL: &str = "\
What is scanned:
- a block device such as /dev/sdX, or a plain file: read past the page cache if the system permits
- /dev/sgX: a drive through SG_IO, on Linux
- nbd://HOST[:PORT][/EXPORT], or nbd+unix:///EXPORT?socket=PATH: an export of an NBD server
- iscsi://HOST[:PORT]/TARGET/LUN: a disk behind an iSCSI target";

const ELSEWHERE: &str = "sim:NAME, nbd://HOST/EXPORT or iscsi://HOST/TARGET/LUN";

impl Target {
    /// Reads a URL. `chap` says where the names and secrets for an iSCSI target are.
    pub fn parse(url: &str, chap: Option<&str>) -> Result<Self, Error> {
        if let Some(name) = url.strip_prefix("sim:") {
            return Ok(Self::Simulated(name.to_owned()));
        }
        if url.starts_with("nbd:") || url.starts_with("nbd+") {
            let source = NbdSource::parse(url);
            let source = source.ok_or_else(|| Error::flag("URL", url, NbdSource::EXPECTED))?;
            return Ok(Real::far(source));
        }
        if let Some(rest) = url.strip_prefix("iscsi:") {
            let wrong = || Error::flag("URL", url, Address::EXPECTED);
            let address = Address::parse(rest).filter(|found| !found.target.is_empty());
            let address = address.ok_or_else(wrong)?;
            let credentials = chap.map(crate::chap::credentials).transpose()?;
            return Ok(Real::far(Scsi(Box::new(move || {
                let session = Session::open(&address, credentials.as_ref());
                boxed(session)
            }))));
        }
        if url.contains("://") {
            let expected = format!("the path of a file or a device, {ELSEWHERE}");
            return Err(Error::flag("URL", url, expected));
        }
        let path = Path::new(url);
        if let Err(error) = path.metadata() {
            if diskarm_drives::find(url).is_some() {
                let expected = format!("sim:{url}, or a file of that name ({error})");
                return Err(Error::flag("URL", url, expected));
            }
            let expected = format!("a file or a device that is there ({error}), or {ELSEWHERE}");
            return Err(Error::flag("URL", url, expected));
        }
        if url.ends_with(".toml") {
            let expected = format!("sim:{url} for the drive that it describes");
            return Err(Error::flag("URL", url, expected));
        }
        if is_generic(path) {
            let path = path.to_owned();
            return Ok(Real::far(Scsi(Box::new(move || boxed(Sg::open(&path))))));
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

/// Whether a path is that of a device that takes commands alone: /dev/sgX is a character device.
fn is_generic(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.file_type().is_char_device())
}
