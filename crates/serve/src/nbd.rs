//! NBD without sockets: what a client sends goes in, and what it is to be sent comes out.

mod active;
mod desk;
mod handshake;
mod job;
mod power;
mod session;
mod writer;

use std::io;

use diskarm_core::device::Device;

use crate::export::{Export, Facts};
use crate::server::{self, Handshake, Protocol};
use crate::sockets::Waker;
use crate::stream::Stream;
use crate::tls::Tls;
use desk::NbdExport;
pub use handshake::{Agreed, Encryption, NbdHandshake, Step};
pub use job::{Job, Kind};
pub(crate) use session::failure_of;
pub use session::{MAX_OUTSTANDING, MAX_PAYLOAD, Next, Session};

/// NBD as the protocol of a server.
#[derive(Clone, Debug, Default)]
pub struct Nbd {
    /// How connections are encrypted, if clients may ask for that.
    pub tls: Option<Tls>,
}

impl Protocol for Nbd {
    type Device = Box<dyn Device>;
    type Handshake = NbdHandshake;
    type Service = NbdExport;

    fn greet(&self, _: &Stream) -> NbdHandshake {
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
        NbdExport::new(export, waker)
    }
}

impl Handshake for NbdHandshake {
    type Session = Session;

    fn room(&self) -> usize {
        Self::room(self)
    }

    fn received(&mut self, data: &[u8]) {
        Self::received(self, data);
    }

    fn output(&self) -> &[u8] {
        Self::output(self)
    }

    fn sent(&mut self, count: usize) {
        Self::sent(self, count);
    }

    fn step(&mut self, exports: &[Facts], is_full: bool) -> server::HandshakeStep<Session> {
        match Self::step(self, exports, is_full) {
            Step::Wait => server::HandshakeStep::Wait,
            Step::Secure => server::HandshakeStep::StartTls,
            Step::Close => server::HandshakeStep::Close,
            Step::Agreed(agreed) => {
                let facts = exports[agreed.export].clone();
                let session = Session::new(facts, &agreed, Self::output(self));
                server::HandshakeStep::Agreed(agreed.export, Box::new(session))
            }
        }
    }
}
