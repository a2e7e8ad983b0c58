//! NBD without sockets: what a client sends goes in, and what it is to be sent comes out.

mod buffer;
mod handshake;
mod job;
mod session;

pub use handshake::{Agreed, Handshake, Step};
pub use job::{Job, Kind};
pub(crate) use session::failure_of;
pub use session::{Broken, MAX_OUTSTANDING, MAX_PAYLOAD, Next, Session};
