//! Serves simulated drives to other programs, with the timing of the drives.
//!
//! An [`Export`] consists of data in a [`Store`](store::Store) and a simulated device, which
//! determines how long requests take. A [`Server`] has one thread that accepts connections, and one
//! for each export. The protocols ([`nbd`] and [`iscsi`]) perform no input or output themselves.
//! The model does not read the wall clock: a [`Timeline`] advances the device.

pub mod control;
pub mod control_socket;
mod engine;
mod exchange;
mod export;
mod export_spec;
pub mod iscsi;
mod metrics;
pub mod nbd;
mod nonblocking;
mod panics;
pub mod power;
mod reception;
mod recording;
mod server;
mod sockets;
mod statistics;
pub mod store;
mod text_server;
mod timeline;
mod tls;
mod worker;

pub use engine::{
    Channel, Clients, Connection, ConnectionError, Engine, MAX_IDLE, MAX_SILENCE, MAX_TURN, Permit,
    Ready, Service, Session,
};
pub use exchange::{Exchange, ExchangeLimits, ExchangeStep, Exchanges, Host, PendingExchange};
pub use export::{DeviceFactory, Export, Facts, PowerConfig, Timing};
pub use export_spec::{DEFAULT_POLICY, ExportSpec, Pace};
pub use metrics::{open_metrics, serve_metrics};
pub use nonblocking::{WakeReceiver, Waker};
pub use recording::{Recorder, Tap, Tappable};
pub use server::{
    DEFAULT_MAX_CONNECTIONS, HANDSHAKE_LIMITS, Handshake, Protocol, Server, Stopper, Watcher,
};
pub use sockets::{Address, Listener, SocketFile, Stream};
pub use statistics::{
    Access, Counts, ExportStatistics, Lateness, RecordingSummary, Statistics, TOO_SLOW,
};
pub use text_server::{TEXT_LIMITS, TextAnswer, TextServer};
pub use timeline::{Clock, EventSource, Speed, Timeline};
pub use tls::{Tls, TlsError};
