//! A stand-in on systems without SG_IO.

use std::path::Path;

use diskarm_core::units::{Instant, Span};

use super::error::Error;
use crate::transport::{Data, Reply, Transport, TransportError};

/// A drive that cannot be opened on this system.
pub struct Sg(std::convert::Infallible);

impl Sg {
    /// # Errors
    /// Always.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Err(Error::File {
            path: path.to_owned(),
            source: std::io::Error::new(
                std::io::ErrorKind::Unsupported,
                "SCSI commands to local drives need Linux (SG_IO)",
            ),
        })
    }

    /// # Errors
    /// Never.
    pub fn allow_writes(&mut self, _overwrite_data: bool) -> Result<(), Error> {
        match self.0 {}
    }
}

impl Transport for Sg {
    fn execute(&mut self, _command: &[u8], _data: Data<'_>) -> Result<Reply, TransportError> {
        match self.0 {}
    }

    fn rest(&mut self, _span: Span) {
        match self.0 {}
    }

    fn now(&self) -> Instant {
        match self.0 {}
    }
}
