//! The thread that serves an export over any protocol, and its interface to protocols.
//!
//! The thread is the sole owner of the [`Service`], with the device and the store. It sleeps until
//! a request arrives or a completion is due, so replies are sent without a thread switch. No client
//! can delay another: sockets never block, and each connection has its own buffers.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant as HostInstant};

use diskarm_core::units::Span;
use rustix::event::{PollFd, PollFlags};
use slab::Slab;

use crate::control::{Command, ExportHandle, PowerControl, Reply};
use crate::nonblocking::{WakeReceiver, Waker, wait};
use crate::sockets::Stream;
use crate::statistics::Statistics;

/// The thread stops sleeping and polls the clock this long before something is due. Most machines
/// wake up faster. At a hundred replies per second, polling takes 2 % of a processor.
const WAKE_EARLY: Duration = Duration::from_micros(200);

/// Time limit for outstanding replies when the service stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// A client that is silent for this long is pinged; after twice this time, it is disconnected.
const PING_AFTER: Duration = Duration::from_secs(30);

enum Message<S> {
    Connect(Box<Connection<S>>),
    Control(Command, Sender<Result<Reply, String>>),
    Stop,
}

pub struct WorkerHandle<S> {
    messages: Sender<Message<S>>,
    waker: Waker,
    thread: JoinHandle<Statistics>,
}

impl<S: Session> WorkerHandle<S> {
    /// Starts a thread for the service that `make` returns. The service can use the waker to wake
    /// the thread. If `spins` is true, the thread never sleeps while requests are in progress.
    pub fn start<D: Service<Session = S>>(
        spins: bool,
        make: impl FnOnce(Waker) -> io::Result<D>,
    ) -> io::Result<Self> {
        let (waker, woken) = Waker::new()?;
        let (messages, inbox) = channel();
        let worker = Worker {
            service: make(waker.try_clone()?)?,
            spins,
            inbox,
            woken,
            connections: Connections::new(),
            stop_deadline: None,
        };
        let thread = thread::Builder::new()
            .name("serve".to_owned())
            .spawn(move || worker.run())?;
        Ok(Self {
            messages,
            waker,
            thread,
        })
    }

    pub fn connect(&self, connection: Connection<S>) {
        self.send(Message::Connect(Box::new(connection)));
    }

    /// Returns a handle with which any thread can send commands to the export `name`.
    pub fn handle(&self, name: &str) -> io::Result<ExportHandle> {
        let (messages, waker) = (self.messages.clone(), self.waker.try_clone()?);
        Ok(ExportHandle::new(
            name.to_owned(),
            move |command, answer| {
                // A service that has ended does not answer.
                let _ = messages.send(Message::Control(command, answer));
                waker.wake();
            },
        ))
    }

    /// Stops accepting requests; the service ends when all requests have been answered.
    pub fn stop(&self) {
        self.send(Message::Stop);
    }

    fn send(&self, message: Message<S>) {
        // A service that has ended needs no messages.
        let _ = self.messages.send(message);
        self.waker.wake();
    }

    pub fn join(self) -> Statistics {
        let statistics = self.thread.join();
        statistics.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

struct Ready {
    number: usize,
    has_disconnected: bool,
}

struct Worker<D: Service> {
    service: D,
    spins: bool,
    inbox: Receiver<Message<D::Session>>,
    woken: WakeReceiver,
    connections: Connections<D::Session>,
    /// The time by which the service must end; `None` until it is stopped.
    stop_deadline: Option<HostInstant>,
}

impl<D: Service> Worker<D> {
    fn run(mut self) -> Statistics {
        set_timer_slack();
        loop {
            let ready = self.sleep();
            self.read_messages();
            self.serve_due();
            for ready in ready {
                self.receive(&ready);
                self.serve_due();
            }
            for number in self.service.continue_work(&mut self.connections) {
                self.pump(number);
            }
            self.close_if_off();
            self.ping_silent();
            self.close_ended();
            if self.has_stopped() {
                break;
            }
        }
        self.service.finish()
    }

    /// Waits until there is work; returns the connections that are ready.
    fn sleep(&mut self) -> Vec<Ready> {
        let mut sockets = vec![PollFd::new(&self.woken, PollFlags::IN)];
        let mut numbers = Vec::new();
        let mut wake_at = self.next_wake();
        for (number, connection) in self.connections.iter() {
            let takes_input = self.takes_input(connection);
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, takes_input);
            flags.set(PollFlags::OUT, connection.has_output());
            sockets.push(PollFd::new(&connection.stream, flags));
            // poll(2) does not see data that are already decrypted.
            let has_more = takes_input && connection.stream.has_input();
            if has_more {
                wake_at = Some(HostInstant::now());
            }
            numbers.push((number, has_more));
        }
        wait(&mut sockets, wake_at);
        let is_woken = !sockets[0].revents().is_empty();
        let ready = numbers
            .into_iter()
            .zip(&sockets[1..])
            .filter_map(|((number, has_more), socket)| {
                let events = socket.revents();
                let has_disconnected =
                    events.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
                (!events.is_empty() || has_more).then_some(Ready {
                    number,
                    has_disconnected,
                })
            })
            .collect();
        if is_woken {
            self.woken.clear();
        }
        ready
    }

    /// Returns the time at which to wake if there is no input.
    fn next_wake(&self) -> Option<HostInstant> {
        let is_idle = self.service.is_idle();
        if self.spins && !is_idle {
            return Some(HostInstant::now());
        }
        let next = self.service.next_due();
        // Events of an idle device are background work, which may be late.
        let next = if is_idle {
            next
        } else {
            next.map(|at| at.checked_sub(WAKE_EARLY).unwrap_or(at))
        };
        let connections = self.connections.iter();
        let pings = connections.map(|(_, connection)| connection.last_heard + PING_AFTER);
        pings.chain(next).chain(self.stop_deadline).min()
    }

    fn takes_input(&self, connection: &Connection<D::Session>) -> bool {
        self.stop_deadline.is_none() && connection.session.wants_input()
    }

    fn read_messages(&mut self) {
        while let Ok(message) = self.inbox.try_recv() {
            match message {
                Message::Connect(connection)
                    if self.stop_deadline.is_none() && !self.service.cut_if_due() =>
                {
                    self.service.statistics().connections += 1;
                    let number = self.connections.insert(*connection);
                    for other in self.service.open(number, &mut self.connections) {
                        self.close(other);
                    }
                    // Requests may already have arrived.
                    self.pump(number);
                }
                Message::Connect(_) => {}
                Message::Control(command, answer) => {
                    let reply = self.service.execute_command(&command);
                    self.close_if_off();
                    // The caller may have stopped waiting.
                    let _ = answer.send(reply);
                }
                Message::Stop => self.stop_deadline = Some(HostInstant::now() + DRAIN_TIMEOUT),
            }
        }
    }

    /// Handles the requests that have completed, and sends the replies.
    fn serve_due(&mut self) {
        for number in self.service.serve_due(&mut self.connections) {
            self.pump(number);
        }
    }

    fn receive(&mut self, ready: &Ready) {
        let number = ready.number;
        let is_stopping = self.stop_deadline.is_some();
        let Some(connection) = self.connections.get_mut(number) else {
            return;
        };
        if !is_stopping && connection.session.wants_input() {
            match connection.receive() {
                Ok(()) => {}
                Err(_) => return self.close(number),
            }
        } else if ready.has_disconnected {
            return self.close(number);
        }
        self.pump(number);
    }

    /// Handles the requests of a connection and sends the replies, until input or room runs out.
    fn pump(&mut self, number: usize) {
        let now = HostInstant::now();
        loop {
            while self.stop_deadline.is_none() {
                match self.service.handle_next(number, &mut self.connections, now) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(ConnectionError) => return self.close(number),
                }
            }
            let Some(connection) = self.connections.get_mut(number) else {
                return;
            };
            match connection.send(&mut self.service) {
                Err(_) => return self.close(number),
                // There is no room for further replies.
                Ok(false) => return,
                Ok(true) => {}
            }
        }
    }

    fn close(&mut self, number: usize) {
        if let Some(connection) = self.connections.try_remove(number) {
            self.service.close(number, connection.session);
        }
    }

    /// Pings clients that have been silent for too long, and disconnects those that did not answer.
    fn ping_silent(&mut self) {
        let now = HostInstant::now();
        let is_silent = |connection: &Connection<_>| connection.last_heard + PING_AFTER <= now;
        let all = self.connections.iter();
        let silent = all.filter(|(_, connection)| is_silent(connection));
        let numbers: Vec<usize> = silent.map(|(number, _)| number).collect();
        for number in numbers {
            let Some(connection) = self.connections.get_mut(number) else {
                continue;
            };
            if connection.is_pinged {
                self.close(number);
                continue;
            }
            connection.is_pinged = connection.session.ping();
            connection.last_heard = now;
            self.pump(number);
        }
    }

    fn close_if_off(&mut self) {
        if self.service.cut_if_due() {
            for number in self.connections.numbers() {
                self.close(number);
            }
        }
    }

    fn close_ended(&mut self) {
        let is_stopping = self.stop_deadline.is_some();
        let ended: Vec<usize> = self
            .connections
            .iter()
            .filter(|(number, connection)| {
                let session = &connection.session;
                let is_answered = || self.service.is_answered(*number, session);
                let may_end = session.has_ended() || is_stopping && is_answered();
                may_end && !connection.stream.has_output()
            })
            .map(|(number, _)| number)
            .collect();
        for number in ended {
            self.close(number);
        }
    }

    /// Returns true if all clients have been answered or the time limit has passed.
    fn has_stopped(&self) -> bool {
        let is_late = |deadline| HostInstant::now() >= deadline;
        self.stop_deadline
            .is_some_and(|deadline| self.connections.is_empty() || is_late(deadline))
    }
}

/// Makes the system wake this thread on time instead of up to 50 us late.
fn set_timer_slack() {
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZero::new(1));
    }
}

/// The sessions of a service, by connection number.
pub trait Clients<S> {
    fn get_mut(&mut self, number: usize) -> Option<&mut S>;

    /// Records that a reply to the client of session `number` was due at `at`.
    fn record_due(&mut self, number: usize, at: HostInstant);

    fn numbers(&self) -> Vec<usize>;
}

pub(crate) type Connections<S> = Slab<Connection<S>>;

impl<S> Clients<S> for Connections<S> {
    fn get_mut(&mut self, number: usize) -> Option<&mut S> {
        Self::get_mut(self, number).map(|connection| &mut connection.session)
    }

    fn record_due(&mut self, number: usize, at: HostInstant) {
        if let Some(connection) = Self::get_mut(self, number) {
            connection.due.push(at);
        }
    }

    fn numbers(&self) -> Vec<usize> {
        self.iter().map(|(number, _)| number).collect()
    }
}

/// An error after which the connection must be closed.
#[derive(Debug)]
pub struct ConnectionError;

/// The server's side of a connection after its handshake, without the socket.
pub trait Session: Send + 'static {
    /// Returns the free space for input. The caller passes the number of bytes read to
    /// [`Self::filled`].
    fn room(&mut self) -> &mut [u8];

    fn filled(&mut self, count: usize);

    /// Returns true if the session can use more input now.
    fn wants_input(&self) -> bool;

    fn output(&self) -> &[u8];

    /// Drops the first `count` bytes of the output, after they have been sent.
    fn sent(&mut self, count: usize);

    /// Returns true if the connection has ended as its protocol specifies.
    fn has_ended(&self) -> bool;

    /// Pings the client; returns false if the protocol has no ping.
    fn ping(&mut self) -> bool {
        false
    }
}

/// Serves the requests of all clients of an export.
pub trait Service: PowerControl + Send + 'static {
    type Session: Session;

    /// Adds a connection; returns the numbers of the connections that it replaces.
    fn open(&mut self, _: usize, _: &mut dyn Clients<Self::Session>) -> Vec<usize> {
        Vec::new()
    }

    /// Handles the next message that has arrived on a connection; returns false if there is none.
    /// Fails if the client has violated the protocol in a way that requires closing the connection.
    fn handle_next(
        &mut self,
        number: usize,
        clients: &mut dyn Clients<Self::Session>,
        now: HostInstant,
    ) -> Result<bool, ConnectionError>;

    /// Handles the requests that have completed; returns the connections that have replies to send.
    fn serve_due(&mut self, clients: &mut dyn Clients<Self::Session>) -> Vec<usize>;

    /// Continues long-running work that takes no device time; returns the connections with replies.
    fn continue_work(&mut self, _: &mut dyn Clients<Self::Session>) -> Vec<usize> {
        Vec::new()
    }

    /// Moves replies to the output of a session while there is room. Fails if the store fails in
    /// the middle of a reply, when it is too late to report an error.
    fn fill(&mut self, session: &mut Self::Session) -> Result<(), ConnectionError>;

    /// Removes a connection and aborts its requests.
    fn close(&mut self, number: usize, session: Self::Session);

    /// Returns true if every complete request of a connection has been answered.
    fn is_answered(&self, number: usize, session: &Self::Session) -> bool;

    /// Returns the next time at which something is due.
    fn next_due(&self) -> Option<HostInstant>;

    /// Returns true if no request is in progress.
    fn is_idle(&self) -> bool;

    fn finish(self) -> Statistics;
}

/// A connection that has chosen its export.
pub struct Connection<S> {
    pub stream: Stream,
    pub session: S,
    /// The due times of replies that have not been sent yet.
    pub due: Vec<HostInstant>,
    /// The last time that the client sent something or was pinged.
    pub last_heard: HostInstant,
    /// True if the client has been pinged and has not answered yet.
    pub is_pinged: bool,
    _permit: Permit,
}

impl<S: Session> Connection<S> {
    pub fn new(stream: Stream, session: S, permit: Permit) -> Self {
        Self {
            stream,
            session,
            due: Vec::new(),
            last_heard: HostInstant::now(),
            is_pinged: false,
            _permit: permit,
        }
    }

    /// Reads input from the client. Fails if the connection is lost.
    pub fn receive(&mut self) -> io::Result<()> {
        if let Some(count) = self.stream.receive(self.session.room())? {
            self.session.filled(count);
            self.last_heard = HostInstant::now();
            self.is_pinged = false;
        }
        Ok(())
    }

    pub fn has_output(&self) -> bool {
        !self.session.output().is_empty() || self.stream.has_output()
    }

    /// Sends replies; returns true if any were sent. Fails if the connection must be closed.
    pub fn send(&mut self, service: &mut impl Service<Session = S>) -> io::Result<bool> {
        let mut has_sent = false;
        self.stream.flush()?;
        let mut sent_at = HostInstant::now();
        loop {
            let filled = service.fill(&mut self.session);
            filled.map_err(|_| io::Error::other("I/O error in the store during a reply"))?;
            if self.session.output().is_empty() {
                break;
            }
            // The clock is read first, because sending includes the time taken to wake the client.
            sent_at = HostInstant::now();
            match self.stream.send(self.session.output())? {
                Some(count) => self.session.sent(count),
                None => break,
            }
            has_sent = true;
        }
        // Replies that a client does not read do not count as late.
        record_lateness(&mut self.due, sent_at, service.statistics());
        Ok(has_sent)
    }
}

/// Records the lateness of replies that were due at the times `due` and were sent at `sent_at`.
fn record_lateness(due: &mut Vec<HostInstant>, sent_at: HostInstant, statistics: &mut Statistics) {
    for due in due.drain(..) {
        let late = sent_at.saturating_duration_since(due).as_nanos();
        statistics.record_lateness(Span::from_ns(late as i64));
    }
}

/// One of the permitted connections, released on drop.
pub struct Permit(Arc<AtomicUsize>);

impl Permit {
    pub fn new(connection_count: &Arc<AtomicUsize>) -> Self {
        connection_count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(connection_count))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
