//! The thread that accepts connections and leads them through their handshakes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use crate::control::ExportHandle;
use crate::export::{Export, Facts};
use crate::figures::Statistics;
use crate::service::{Connection, Service, Session, WorkerHandle};
use crate::sockets::{Listener, WakeReceiver, Waker, wait};
use crate::stream::Stream;
use crate::tls::Tls;
use crate::watch::Watcher;

/// How many connections may be beyond their handshakes, unless somebody says otherwise.
pub const DEFAULT_MAX_CONNECTIONS: usize = 64;
/// How many handshakes may be under way; with one more, the oldest ends.
const HANDSHAKES: usize = 64;
/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How a server talks to its clients.
pub trait Protocol: Send + 'static {
    /// What stands behind an export.
    type Device;
    /// How a connection begins.
    type Handshake: Handshake<Session = <Self::Service as Service>::Session>;
    /// Who serves an export.
    type Service: Service;

    /// Begins with a connection that was just accepted.
    fn greet(&self, stream: &Stream) -> Self::Handshake;

    /// How connections are encrypted whose [`Handshake`] asks for it.
    fn tls(&self) -> Option<&Tls> {
        None
    }

    /// Begins to serve `export`; `waker` wakes the thread that does.
    ///
    /// # Errors
    /// Those of the operating system.
    fn serve(&self, export: Export<Self::Device>, waker: Waker) -> io::Result<Self::Service>;
}

/// The beginning of a connection, until its client has chosen an export.
pub trait Handshake: Send + 'static {
    /// What it becomes.
    type Session: Session;

    /// How many bytes may be [`received`](Self::received) now.
    fn room(&self) -> usize;

    /// Takes what the client has sent.
    fn received(&mut self, data: &[u8]);

    /// What is to be sent.
    fn output(&self) -> &[u8];

    /// `count` bytes of the output have been sent.
    fn sent(&mut self, count: usize);

    /// Answers the next message, if it is there and the answer before has been sent. `is_full` says
    /// that no connection may go beyond its beginning.
    fn step(&mut self, exports: &[Facts], is_full: bool) -> HandshakeStep<Self::Session>;
}

/// What has become of the beginning of a connection.
pub enum HandshakeStep<S> {
    /// It needs more input, or its output has to be sent first.
    Wait,
    /// The client has chosen the export at this place of the list; the session has what is to be
    /// sent and what has arrived.
    Agreed(usize, Box<S>),
    /// What follows is encrypted, once the output has been sent.
    StartTls,
    /// The connection ends, once the output has been sent.
    Close,
}

/// Exports that are being served.
pub struct Server {
    stopper: Stopper,
    remotes: Arc<[ExportHandle]>,
    thread: JoinHandle<Vec<Statistics>>,
}

/// Ends a server.
pub struct Stopper {
    waker: Waker,
}

impl Stopper {
    /// Lets the server accept nothing more, and end when all requests have been answered.
    pub fn stop(&self) {
        self.waker.wake();
    }
}

/// A connection that is allowed, until it is dropped.
pub struct Permit(Arc<AtomicUsize>);

impl Permit {
    fn new(used: &Arc<AtomicUsize>) -> Self {
        used.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(used))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Server {
    /// Serves `exports`, each with a name of its own, to at most `most` connections at once.
    ///
    /// # Errors
    /// Those of the operating system.
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

    /// The same for exports whose power may be cut: what sectors held before writes that can be
    /// lost then is kept.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn start_controlled<P: Protocol>(
        protocol: P,
        exports: Vec<Export<P::Device>>,
        listeners: Vec<Listener>,
        max: usize,
    ) -> io::Result<Self> {
        let (waker, stopped) = Waker::new()?;
        let facts: Vec<Facts> = exports.iter().map(|export| export.facts.clone()).collect();
        let services = exports.into_iter().map(|export| {
            let spins = export.timing.as_ref().is_some_and(|timing| timing.spins);
            WorkerHandle::start(spins, |waker| protocol.serve(export, waker))
        });
        let services: Vec<_> = services.collect::<io::Result<_>>()?;
        let named = services.iter().zip(&facts);
        let remotes = named.map(|(service, facts)| service.remote(&facts.name));
        let remotes = remotes.collect::<io::Result<_>>()?;
        let front = Front {
            protocol,
            facts,
            services,
            listeners,
            stopped,
            greeted: Vec::new(),
            used: Arc::default(),
            max,
        };
        let thread = thread::Builder::new().name("accept".to_owned());
        let thread = thread.spawn(move || front.run())?;
        Ok(Self {
            stopper: Stopper { waker },
            remotes,
            thread,
        })
    }

    /// What hands commands to the exports, in their order.
    pub fn remotes(&self) -> Arc<[ExportHandle]> {
        Arc::clone(&self.remotes)
    }

    /// What asks what it has served so far.
    pub fn watcher(&self) -> Watcher {
        Watcher::new(self.remotes())
    }

    /// What ends it, for another thread.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn stopper(&self) -> io::Result<Stopper> {
        let waker = self.stopper.waker.another()?;
        Ok(Stopper { waker })
    }

    /// Waits until somebody stops it; returns what each export has served.
    ///
    /// # Panics
    /// If one of its threads panicked.
    pub fn wait(self) -> Vec<Statistics> {
        let served = self.thread.join();
        served.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

struct Front<P: Protocol> {
    protocol: P,
    facts: Vec<Facts>,
    services: Vec<WorkerHandle<<P::Service as Service>::Session>>,
    listeners: Vec<Listener>,
    stopped: WakeReceiver,
    /// Handshakes under way, the oldest first.
    greeted: Vec<Greeted<P::Handshake>>,
    /// How many connections are beyond their handshakes.
    used: Arc<AtomicUsize>,
    max: usize,
}

struct Greeted<E> {
    stream: Stream,
    handshake: E,
    until: Instant,
    then: Then,
}

/// What comes once the output of a handshake has been sent.
#[derive(Clone, Copy)]
enum Then {
    Step,
    /// The beginning of TLS.
    Secure,
    /// The end: the client has nothing more to say.
    Close,
}

impl<P: Protocol> Front<P> {
    fn run(mut self) -> Vec<Statistics> {
        loop {
            let ready = self.sleep();
            if ready.is_stopped {
                break;
            }
            for number in ready.greeted.into_iter().rev() {
                let greeted = self.greeted.remove(number);
                if let Some(greeted) = self.advance(greeted) {
                    self.greeted.insert(number, greeted);
                }
            }
            let now = Instant::now();
            self.greeted.retain(|greeted| greeted.until > now);
            for number in ready.listeners {
                // What cannot be accepted now, for want of descriptors, waits.
                if let Ok(Some(stream)) = self.listeners[number].accept() {
                    self.greet(stream);
                } else {
                    thread::sleep(Duration::from_millis(1));
                }
            }
        }
        drop((self.listeners, self.greeted));
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
        for greeted in &self.greeted {
            let has_output = !greeted.handshake.output().is_empty();
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, !has_output);
            flags.set(PollFlags::OUT, has_output || greeted.stream.has_output());
            sockets.push(PollFd::new(&greeted.stream, flags));
        }
        // Of what has been read and decrypted the socket says nothing.
        let has_more = |greeted: &Greeted<P::Handshake>| greeted.stream.has_input();
        let until = match self.greeted.iter().any(has_more) {
            true => Some(Instant::now()),
            false => self.greeted.iter().map(|greeted| greeted.until).min(),
        };
        wait(&mut sockets, until);
        let is_ready = |socket: &PollFd<'_>| !socket.revents().is_empty();
        let first = 1 + self.listeners.len();
        let ready: Vec<bool> = sockets.iter().map(is_ready).collect();
        let greeted = ready[first..].iter().zip(&self.greeted);
        let greeted = greeted.map(|(is_ready, greeted)| *is_ready || has_more(greeted));
        let numbers = |ready: &mut dyn Iterator<Item = bool>| {
            let numbered = ready.enumerate().filter(|(_, is_ready)| *is_ready);
            numbered.map(|(number, _)| number).collect()
        };
        Ready {
            is_stopped: ready[0],
            listeners: numbers(&mut ready[1..first].iter().copied()),
            greeted: numbers(&mut greeted.into_iter()),
        }
    }

    /// Begins the handshake of a new connection.
    fn greet(&mut self, stream: Stream) {
        if self.greeted.len() == HANDSHAKES {
            self.greeted.remove(0);
        }
        let greeted = Greeted {
            handshake: self.protocol.greet(&stream),
            stream,
            until: Instant::now() + HANDSHAKE,
            then: Then::Step,
        };
        if let Some(greeted) = self.advance(greeted) {
            self.greeted.push(greeted);
        }
    }

    /// Continues with a handshake; `None` if it has ended.
    fn advance(&self, mut greeted: Greeted<P::Handshake>) -> Option<Greeted<P::Handshake>> {
        greeted.stream.flush().ok()?;
        let mut data = [0; 1 << 12];
        let room = greeted.handshake.room().min(data.len());
        if room > 0 && greeted.handshake.output().is_empty() {
            match greeted.stream.receive(&mut data[..room]) {
                Ok(Some(count)) => greeted.handshake.received(&data[..count]),
                Ok(None) => {}
                Err(_) => return None,
            }
        }
        loop {
            let output = greeted.handshake.output();
            if !output.is_empty() {
                match greeted.stream.send(output) {
                    Ok(Some(count)) => greeted.handshake.sent(count),
                    Ok(None) => return Some(greeted),
                    Err(_) => return None,
                }
                continue;
            }
            match greeted.then {
                Then::Step => {}
                Then::Secure => {
                    greeted.stream.secure(self.protocol.tls()?).ok()?;
                    greeted.then = Then::Step;
                }
                Then::Close => return None,
            }
            let is_full = self.used.load(Ordering::Relaxed) >= self.max;
            match greeted.handshake.step(&self.facts, is_full) {
                HandshakeStep::Wait if greeted.handshake.output().is_empty() => {
                    return Some(greeted);
                }
                HandshakeStep::Wait => {}
                HandshakeStep::StartTls => greeted.then = Then::Secure,
                HandshakeStep::Close => greeted.then = Then::Close,
                HandshakeStep::Agreed(export, session) => {
                    let permit = Permit::new(&self.used);
                    let connection = Connection::new(greeted.stream, *session, permit);
                    self.services[export].connect(connection);
                    return None;
                }
            }
        }
    }
}

/// What is to be done.
struct Ready {
    is_stopped: bool,
    listeners: Vec<usize>,
    greeted: Vec<usize>,
}
