//! Systems without SG_IO.

use std::path::Path;

use diskarm_core::units::{Instant, Span};
use diskarm_extract::{Broken, Data, Reply, Transport};

use crate::Error;

/// A drive of Linux, which nothing else can open.
pub struct Sg(std::convert::Infallible);

impl Sg {
    /// Says that there is no SG_IO here.
    ///
    /// # Errors
    /// Always.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Err(Error::File {
            path: path.to_owned(),
            source: std::io::Error::new(
                std::io::ErrorKind::Unsupported,
                "SCSI commands reach drives on Linux only (SG_IO)",
            ),
        })
    }

    /// As on Linux; there is no drive to call it on.
    ///
    /// # Errors
    /// Never.
    pub fn allow_writes(&mut self, _over_content: bool) -> Result<(), Error> {
        match self.0 {}
    }
}

impl Transport for Sg {
    fn execute(&mut self, _command: &[u8], _data: Data<'_>) -> Result<Reply, Broken> {
        match self.0 {}
    }

    fn rest(&mut self, _span: Span) {
        match self.0 {}
    }

    fn now(&self) -> Instant {
        match self.0 {}
    }
}
