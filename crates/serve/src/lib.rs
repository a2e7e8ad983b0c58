//! Serves drives of the model to other programs, in the drives' own time.
//!
//! An [`Export`] is data in a [`Store`](store::Store) with a device of the model that says how long
//! requests take. A [`Server`] has a thread that accepts connections, and one for each export. The
//! protocol ([`nbd`]) does no input or output of its own. Clocks of the wall are read here and not
//! in the model: a [`Timeline`] tells the device the time.

mod buffer;
mod clock;
pub mod control;
mod export;
mod figures;
pub mod iscsi;
mod metrics;
pub mod nbd;
pub mod power;
mod recording;
mod server;
mod service;
mod setting;
mod slots;
mod sockets;
pub mod store;
mod stream;
mod syncer;
mod timeline;
mod tls;
mod watch;

pub use clock::{Clock, Speed};
pub use export::{Export, Facts, Timing};
pub use figures::{Access, Counts, ExportFigures, Lateness, Served, TOO_SLOW};
pub use metrics::{open_metrics, serve_metrics};
pub use recording::{Recorded, Recorder, Tap, Tapped};
pub use server::{CONNECTIONS, Entry, Protocol, Server, Step, Stopper};
pub use service::{Broken, Clients, Desk, Session};
pub use setting::{POLICY, Pace, Setting};
pub use sockets::{Address, Listener, Waker, Woken};
pub use stream::Stream;
pub use timeline::{Timed, Timeline};
pub use tls::{Tls, TlsError};
pub use watch::Watcher;
