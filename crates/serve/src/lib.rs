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
pub use figures::{Access, Counts, ExportStatistics, Lateness, Statistics, TOO_SLOW};
pub use metrics::{open_metrics, serve_metrics};
pub use recording::{Recorder, RecordingSummary, Tap, Tappable};
pub use server::{DEFAULT_MAX_CONNECTIONS, Handshake, HandshakeStep, Protocol, Server, Stopper};
pub use service::{Broken, Clients, Service, Session};
pub use setting::{DEFAULT_POLICY, ExportSpec, Pace};
pub use sockets::{Address, Listener, WakeReceiver, Waker};
pub use stream::Stream;
pub use timeline::{EventSource, Timeline};
pub use tls::{Tls, TlsError};
pub use watch::Watcher;
