//! The thread that accepts connections and runs their handshakes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::control::{Command, ExportHandle, Reply};
use crate::engine::{Connection, Permit, Service, Session};
use crate::exchange::{Exchange, ExchangeLimits, ExchangeStep, Host};
use crate::export::{Export, Facts};
use crate::nonblocking::Waker;
use crate::reception::Reception;
use crate::sockets::{Listener, Stream};
use crate::statistics::Statistics;
use crate::tls::Tls;
use crate::worker::WorkerHandle;

/// Default maximum number of connections that have completed their handshakes.
pub const DEFAULT_MAX_CONNECTIONS: usize = 64;
/// Limits on the handshakes in progress.
pub const HANDSHAKE_LIMITS: ExchangeLimits = ExchangeLimits {
    clients: 64,
    time: Duration::from_secs(10),
};

pub trait Protocol: Send + 'static {
    type Device;
    type Handshake: Handshake<Session = <Self::Service as Service>::Session>;
    type Service: Service;

    /// Starts the handshake of a connection that has just been accepted.
    fn accept(&self, stream: &Stream) -> Self::Handshake;

    fn tls(&self) -> Option<&Tls> {
        None
    }

    /// Starts serving `export`; `waker` wakes the thread of the service.
    fn serve(&self, export: Export<Self::Device>, waker: Waker) -> io::Result<Self::Service>;
}

/// The start of a connection, until its client has chosen an export.
pub trait Handshake: Exchange + Send + 'static {
    type Session: Session;

    /// Answers the next message if it is complete and the previous answer has been sent. If
    /// `is_full`, no connection may complete its handshake.
    fn step(&mut self, exports: &[Facts], is_full: bool) -> ExchangeStep<Self::Session>;
}

pub struct Server {
    stopper: Stopper,
    handles: Arc<[ExportHandle]>,
    thread: JoinHandle<Vec<Statistics>>,
}

pub struct Stopper {
    waker: Waker,
}

impl Stopper {
    /// Stops accepting connections; the server ends when all requests have been answered.
    pub fn stop(&self) {
        self.waker.wake();
    }
}

impl Server {
    /// Serves `exports`, whose names must differ, to at most `max` connections at a time.
    pub fn start<P: Protocol>(
        protocol: P,
        mut exports: Vec<Export<P::Device>>,
        listeners: Vec<Listener>,
        max: usize,
    ) -> io::Result<Self> {
        for export in &mut exports {
            export.power = None;
        }
        Self::start_controlled(protocol, exports, listeners, max)
    }

    /// Starts a server whose exports can lose power. Unlike [`Self::start`], it keeps the previous
    /// content of sectors whose writes can still be lost.
    pub fn start_controlled<P: Protocol>(
        protocol: P,
        exports: Vec<Export<P::Device>>,
        listeners: Vec<Listener>,
        max: usize,
    ) -> io::Result<Self> {
        let (waker, stopped) = Waker::new()?;
        let facts: Vec<Facts> = exports.iter().map(|export| export.facts.clone()).collect();
        let start = |export: Export<P::Device>| {
            let spins = export.timing.as_ref().is_some_and(|timing| timing.spins);
            WorkerHandle::start(spins, |waker| protocol.serve(export, waker))
        };
        let services: Vec<_> = exports.into_iter().map(start).collect::<io::Result<_>>()?;
        let handles = services
            .iter()
            .zip(&facts)
            .map(|(service, facts)| service.handle(&facts.name))
            .collect::<io::Result<_>>()?;
        let acceptor = Acceptor {
            protocol,
            facts,
            services,
            connection_count: Arc::default(),
            max,
        };
        let reception = Reception::new(acceptor, HANDSHAKE_LIMITS, listeners, Some(stopped));
        let builder = thread::Builder::new().name("accept".to_owned());
        let thread = builder.spawn(move || reception.run().stop())?;
        Ok(Self {
            stopper: Stopper { waker },
            handles,
            thread,
        })
    }

    pub fn handles(&self) -> Arc<[ExportHandle]> {
        Arc::clone(&self.handles)
    }

    pub fn watcher(&self) -> Watcher {
        let exports = self.handles();
        Watcher { exports }
    }

    /// Returns a handle with which another thread can stop the server.
    pub fn stopper(&self) -> io::Result<Stopper> {
        let waker = self.stopper.waker.try_clone()?;
        Ok(Stopper { waker })
    }

    /// Waits until the server is stopped; returns the statistics of each export.
    pub fn wait(self) -> Vec<Statistics> {
        let statistics = self.thread.join();
        statistics.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

struct Acceptor<P: Protocol> {
    protocol: P,
    facts: Vec<Facts>,
    services: Vec<WorkerHandle<<P::Service as Service>::Session>>,
    /// Number of connections that have completed their handshakes.
    connection_count: Arc<AtomicUsize>,
    max: usize,
}

impl<P: Protocol> Acceptor<P> {
    /// Stops the services; returns their statistics.
    fn stop(self) -> Vec<Statistics> {
        for service in &self.services {
            service.stop();
        }
        self.services.into_iter().map(WorkerHandle::join).collect()
    }
}

impl<P: Protocol> Host<Stream> for Acceptor<P> {
    type Exchange = P::Handshake;
    type Session = <P::Service as Service>::Session;

    fn start(&self, stream: &Stream) -> P::Handshake {
        self.protocol.accept(stream)
    }

    fn step(&self, handshake: &mut P::Handshake) -> ExchangeStep<Self::Session> {
        let is_full = self.connection_count.load(Ordering::Relaxed) >= self.max;
        if is_full {
            self.services.iter().for_each(WorkerHandle::close_idle);
        }
        handshake.step(&self.facts, is_full)
    }

    fn start_tls(&self, stream: &mut Stream) -> io::Result<()> {
        let tls = self.protocol.tls().ok_or(io::ErrorKind::Unsupported)?;
        stream.secure(tls)
    }

    fn hand_over(&self, stream: Stream, export: usize, session: Self::Session, now: Instant) {
        let permit = Permit::new(&self.connection_count);
        self.services[export].connect(Connection::new(stream, session, permit, now));
    }
}

/// Reads the statistics of a running server.
#[derive(Clone)]
pub struct Watcher {
    exports: Arc<[ExportHandle]>,
}

impl Watcher {
    /// Returns the statistics of each export so far; `None` once the server has ended.
    pub fn statistics(&self) -> Option<Vec<Statistics>> {
        let ask = |export: &ExportHandle| match export.ask(Command::Statistics) {
            Ok(Reply::Statistics(statistics)) => Some(*statistics),
            _ => None,
        };
        self.exports.iter().map(ask).collect()
    }
}
