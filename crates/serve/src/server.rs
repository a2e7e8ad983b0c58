//! The thread that accepts connections and runs their handshakes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use crate::control::{Command, ExportHandle, Reply};
use crate::engine::{Channel as _, Connection, Permit, Service, Session};
use crate::export::{Export, Facts};
use crate::nonblocking::{WakeReceiver, Waker, wait};
use crate::sockets::{Listener, Stream};
use crate::statistics::Statistics;
use crate::tls::Tls;
use crate::worker::WorkerHandle;

/// Default maximum number of connections that have completed their handshakes.
pub const DEFAULT_MAX_CONNECTIONS: usize = 64;
/// Maximum number of handshakes in progress; a further one evicts the oldest.
const MAX_HANDSHAKES: usize = 64;
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

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
pub trait Handshake: Send + 'static {
    type Session: Session;

    /// Returns the maximum number of bytes that [`received`](Self::received) accepts now.
    fn room(&self) -> usize;

    fn received(&mut self, data: &[u8]);

    fn output(&self) -> &[u8];

    /// Drops the first `count` bytes of the output, after they have been sent.
    fn sent(&mut self, count: usize);

    /// Answers the next message if it is complete and the previous answer has been sent. If
    /// `is_full`, no connection may complete its handshake.
    fn step(&mut self, exports: &[Facts], is_full: bool) -> HandshakeStep<Self::Session>;
}

pub enum HandshakeStep<S> {
    /// The handshake needs more input, or its output must be sent first.
    Wait,
    /// The index of the chosen export, and the session with the remaining input and output.
    Chosen(usize, Box<S>),
    /// TLS starts once the output has been sent.
    StartTls,
    /// The connection closes once the output has been sent.
    Close,
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
            listeners,
            stopped,
            handshakes: Vec::new(),
            connection_count: Arc::default(),
            max,
        };
        let builder = thread::Builder::new().name("accept".to_owned());
        let thread = builder.spawn(move || acceptor.run())?;
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
    listeners: Vec<Listener>,
    stopped: WakeReceiver,
    /// Handshakes in progress, oldest first.
    handshakes: Vec<PendingHandshake<P::Handshake>>,
    /// Number of connections that have completed their handshakes.
    connection_count: Arc<AtomicUsize>,
    max: usize,
}

struct PendingHandshake<E> {
    stream: Stream,
    handshake: E,
    deadline: Instant,
    next_action: NextAction,
}

/// The action after the output of a handshake has been sent.
#[derive(Clone, Copy)]
enum NextAction {
    Step,
    StartTls,
    Close,
}

impl<P: Protocol> Acceptor<P> {
    fn run(mut self) -> Vec<Statistics> {
        loop {
            let ready = self.sleep();
            if ready.is_stopped {
                break;
            }
            for number in ready.handshakes.into_iter().rev() {
                let pending = self.handshakes.remove(number);
                if let Some(pending) = self.advance(pending) {
                    self.handshakes.insert(number, pending);
                }
            }
            let now = Instant::now();
            self.handshakes.retain(|pending| pending.deadline > now);
            for number in ready.listeners {
                // If no file descriptor is free, a connection stays in the backlog.
                if let Ok(Some(stream)) = self.listeners[number].accept() {
                    self.accept(stream);
                } else {
                    thread::sleep(Duration::from_millis(1));
                }
            }
        }
        drop((self.listeners, self.handshakes));
        for service in &self.services {
            service.stop();
        }
        self.services.into_iter().map(WorkerHandle::join).collect()
    }

    fn sleep(&mut self) -> Ready {
        let mut sockets = vec![PollFd::new(&self.stopped, PollFlags::IN)];
        for listener in &self.listeners {
            sockets.push(PollFd::new(listener, PollFlags::IN));
        }
        for pending in &self.handshakes {
            let has_output = !pending.handshake.output().is_empty();
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, !has_output);
            flags.set(PollFlags::OUT, has_output || pending.stream.has_output());
            sockets.push(PollFd::new(&pending.stream, flags));
        }
        // poll(2) does not see data that are already decrypted.
        let has_more = |pending: &PendingHandshake<P::Handshake>| pending.stream.has_input();
        let deadline = if self.handshakes.iter().any(has_more) {
            Some(Instant::now())
        } else {
            self.handshakes.iter().map(|pending| pending.deadline).min()
        };
        wait(&mut sockets, deadline);
        let is_ready = |socket: &PollFd<'_>| !socket.revents().is_empty();
        let first = 1 + self.listeners.len();
        let ready: Vec<bool> = sockets.iter().map(is_ready).collect();
        let handshakes = ready[first..].iter().zip(&self.handshakes);
        let pending = handshakes.map(|(is_ready, pending)| *is_ready || has_more(pending));
        let numbers = |ready: &mut dyn Iterator<Item = bool>| {
            let numbered = ready.enumerate().filter(|(_, is_ready)| *is_ready);
            numbered.map(|(number, _)| number).collect()
        };
        Ready {
            is_stopped: ready[0],
            listeners: numbers(&mut ready[1..first].iter().copied()),
            handshakes: numbers(&mut pending.into_iter()),
        }
    }

    fn accept(&mut self, stream: Stream) {
        if self.handshakes.len() == MAX_HANDSHAKES {
            self.handshakes.remove(0);
        }
        let pending = PendingHandshake {
            handshake: self.protocol.accept(&stream),
            stream,
            deadline: Instant::now() + HANDSHAKE_TIMEOUT,
            next_action: NextAction::Step,
        };
        if let Some(pending) = self.advance(pending) {
            self.handshakes.push(pending);
        }
    }

    /// Continues a handshake; returns `None` if it has ended.
    fn advance(
        &self,
        mut pending: PendingHandshake<P::Handshake>,
    ) -> Option<PendingHandshake<P::Handshake>> {
        pending.stream.flush().ok()?;
        let mut data = [0; 1 << 12];
        let room = pending.handshake.room().min(data.len());
        if room > 0 && pending.handshake.output().is_empty() {
            match pending.stream.receive(&mut data[..room]) {
                Ok(Some(count)) => pending.handshake.received(&data[..count]),
                Ok(None) => {}
                Err(_) => return None,
            }
        }
        loop {
            let output = pending.handshake.output();
            if !output.is_empty() {
                match pending.stream.send(output) {
                    Ok(Some(count)) => pending.handshake.sent(count),
                    Ok(None) => return Some(pending),
                    Err(_) => return None,
                }
                continue;
            }
            match pending.next_action {
                NextAction::Step => {}
                NextAction::StartTls => {
                    pending.stream.secure(self.protocol.tls()?).ok()?;
                    pending.next_action = NextAction::Step;
                }
                NextAction::Close => return None,
            }
            let is_full = self.connection_count.load(Ordering::Relaxed) >= self.max;
            if is_full {
                self.services.iter().for_each(WorkerHandle::close_idle);
            }
            match pending.handshake.step(&self.facts, is_full) {
                HandshakeStep::Wait if pending.handshake.output().is_empty() => {
                    return Some(pending);
                }
                HandshakeStep::Wait => {}
                HandshakeStep::StartTls => pending.next_action = NextAction::StartTls,
                HandshakeStep::Close => pending.next_action = NextAction::Close,
                HandshakeStep::Chosen(export, session) => {
                    let permit = Permit::new(&self.connection_count);
                    let connection =
                        Connection::new(pending.stream, *session, permit, Instant::now());
                    self.services[export].connect(connection);
                    return None;
                }
            }
        }
    }
}

struct Ready {
    is_stopped: bool,
    listeners: Vec<usize>,
    handshakes: Vec<usize>,
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
