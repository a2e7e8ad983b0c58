//! NBD without sockets: turns the bytes of clients into replies.

mod export;
mod handshake;
mod job;
mod session;

use std::io;

use diskarm_core::device::Device;
use diskarm_wire::nbd::MAX_STRING;

use crate::export::Export;
use crate::nonblocking::Waker;
use crate::server::Protocol;
use crate::sockets::Stream;
use crate::tls::Tls;
use export::NbdExport;
pub use handshake::{Encryption, NbdHandshake, NbdStep};
pub use job::{Job, JobKind, MAX_PAYLOAD, Refusal};
pub use session::{Input, MAX_OUTSTANDING, NbdSession, NegotiatedExport};

#[derive(Clone, Debug, Default)]
pub struct Nbd {
    /// The TLS configuration, if clients may encrypt.
    pub tls: Option<Tls>,
}

impl Protocol for Nbd {
    type Device = Box<dyn Device>;
    type Handshake = NbdHandshake;
    type Service = NbdExport;

    fn accept(&self, _: &Stream) -> NbdHandshake {
        NbdHandshake::new(match &self.tls {
            None => Encryption::Off,
            Some(tls) if tls.is_required => Encryption::Required,
            Some(_) => Encryption::Offered,
        })
    }

    fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }

    fn serve(&self, export: Export, waker: Waker) -> io::Result<NbdExport> {
        let length = export.facts.name.len();
        if length > MAX_STRING {
            return Err(io::Error::other(format!(
                "the name of an export has {length} bytes, and NBD allows {MAX_STRING}: choose a \
                 shorter name"
            )));
        }
        NbdExport::new(export, waker)
    }
}
