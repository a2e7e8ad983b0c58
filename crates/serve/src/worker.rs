//! The thread that serves an export by any protocol.
//!
//! It alone owns the [`Service`], with the device and the store. It sleeps until a request or a
//! completion is due, so replies leave without crossing threads, and no client can delay another:
//! sockets never block, and each connection has its own buffers.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant as HostInstant};

use rustix::event::{PollFd, PollFlags};

use crate::control::{Command, ExportHandle, Reply};
use crate::nonblocking::{WakeReceiver, Waker, wait};
use crate::service::{Clients as _, Connection, ConnectionError, Connections, Service, Session};
use crate::statistics::Statistics;

/// The thread stops sleeping and polls the clock this long before something is due: longer than
/// most machines take to wake up. At a hundred replies per second that is 2 % of a processor.
const AWAKE: Duration = Duration::from_micros(200);

/// Time limit for outstanding replies when the service stops.
const DRAIN: Duration = Duration::from_secs(10);

/// A client that is silent for this long is pinged, and disconnected if it does not answer within
/// the same time.
const SILENCE: Duration = Duration::from_secs(30);

/// A message to a service.
enum Message<S> {
    Connect(Box<Connection<S>>),
    Control(Command, Sender<Result<Reply, String>>),
    Stop,
}

/// A handle to a service and its thread.
pub struct WorkerHandle<S> {
    messages: Sender<Message<S>>,
    waker: Waker,
    thread: JoinHandle<Statistics>,
}

impl<S: Session> WorkerHandle<S> {
    /// Starts the service that `make` returns, which may wake the thread by the waker. With `spins`
    /// the thread never sleeps while requests are in progress.
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
            stopping: None,
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

    /// Adds a connection that has chosen this export.
    pub fn connect(&self, connection: Connection<S>) {
        self.send(Message::Connect(Box::new(connection)));
    }

    /// A handle by which any thread sends commands to the export, called `name`.
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

    /// Stops taking requests; the service ends when all have been answered.
    pub fn stop(&self) {
        self.send(Message::Stop);
    }

    fn send(&self, message: Message<S>) {
        // A service that has ended needs no messages.
        let _ = self.messages.send(message);
        self.waker.wake();
    }

    /// Waits for the end of the thread, and passes on its panic.
    pub fn join(self) -> Statistics {
        let statistics = self.thread.join();
        statistics.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// A connection with something to do.
struct Ready {
    number: usize,
    /// The client has disconnected.
    is_gone: bool,
}

struct Worker<D: Service> {
    service: D,
    spins: bool,
    inbox: Receiver<Message<D::Session>>,
    woken: WakeReceiver,
    connections: Connections<D::Session>,
    /// Once stopped, the time at which the service ends in any case.
    stopping: Option<HostInstant>,
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

    /// Waits until there is work; returns the connections that have some.
    fn sleep(&mut self) -> Vec<Ready> {
        let mut sockets = vec![PollFd::new(&self.woken, PollFlags::IN)];
        let mut numbers = Vec::new();
        let mut until = self.next();
        for (number, connection) in self.connections.iter() {
            let takes_input = self.takes_input(connection);
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, takes_input);
            flags.set(PollFlags::OUT, connection.has_output());
            sockets.push(PollFd::new(&connection.stream, flags));
            // poll(2) does not see data that are already decrypted.
            let has_more = takes_input && connection.stream.has_input();
            if has_more {
                until = Some(HostInstant::now());
            }
            numbers.push((number, has_more));
        }
        wait(&mut sockets, until);
        let is_woken = !sockets[0].revents().is_empty();
        let ready = numbers
            .into_iter()
            .zip(&sockets[1..])
            .filter_map(|((number, has_more), socket)| {
                let events = socket.revents();
                let is_gone = events.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
                (!events.is_empty() || has_more).then_some(Ready { number, is_gone })
            })
            .collect();
        if is_woken {
            self.woken.clear();
        }
        ready
    }

    /// The time at which to wake without input.
    fn next(&self) -> Option<HostInstant> {
        let is_idle = self.service.is_idle();
        if self.spins && !is_idle {
            return Some(HostInstant::now());
        }
        let next = self.service.next_due();
        // The background work of an idle device may be late.
        let next = if is_idle {
            next
        } else {
            next.map(|at| at.checked_sub(AWAKE).unwrap_or(at))
        };
        let next_ping = self
            .connections
            .iter()
            .map(|(_, connection)| connection.last_heard + SILENCE)
            .min();
        [next, self.stopping, next_ping].into_iter().flatten().min()
    }

    fn takes_input(&self, connection: &Connection<D::Session>) -> bool {
        self.stopping.is_none() && connection.session.wants_input()
    }

    fn read_messages(&mut self) {
        while let Ok(message) = self.inbox.try_recv() {
            match message {
                Message::Connect(connection)
                    if self.stopping.is_none() && !self.service.cut_if_due() =>
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
                    // The caller may have hung up.
                    let _ = answer.send(reply);
                }
                Message::Stop => self.stopping = Some(HostInstant::now() + DRAIN),
            }
        }
    }

    /// Handles what has completed by now, and sends the replies.
    fn serve_due(&mut self) {
        for number in self.service.serve_due(&mut self.connections) {
            self.pump(number);
        }
    }

    /// Reads the input of a connection and handles it.
    fn receive(&mut self, ready: &Ready) {
        let number = ready.number;
        let is_stopping = self.stopping.is_some();
        let Some(connection) = self.connections.get_mut(number) else {
            return;
        };
        if !is_stopping && connection.session.wants_input() {
            match connection.receive() {
                Ok(()) => {}
                Err(_) => return self.close(number),
            }
        } else if ready.is_gone {
            return self.close(number);
        }
        self.pump(number);
    }

    /// Handles the requests of a connection and sends its replies while there is input and room.
    fn pump(&mut self, number: usize) {
        let now = HostInstant::now();
        loop {
            while self.stopping.is_none() {
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
                // There would be no room for further replies.
                Ok(false) => return,
                Ok(true) => {}
            }
        }
    }

    /// Closes a connection and aborts its requests.
    fn close(&mut self, number: usize) {
        if let Some(connection) = self.connections.try_remove(number) {
            self.service.close(number, connection.session);
        }
    }

    /// Pings clients that have been silent for long, and disconnects those that did not answer.
    fn ping_silent(&mut self) {
        let now = HostInstant::now();
        let is_silent = |connection: &Connection<_>| connection.last_heard + SILENCE <= now;
        let numbers: Vec<usize> = self
            .connections
            .iter()
            .filter(|(_, connection)| is_silent(connection))
            .map(|(number, _)| number)
            .collect();
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

    /// Closes all connections if the power is off.
    fn close_if_off(&mut self) {
        if self.service.cut_if_due() {
            for number in self.connections.numbers() {
                self.close(number);
            }
        }
    }

    fn close_ended(&mut self) {
        let is_stopping = self.stopping.is_some();
        let over: Vec<usize> = self
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
        for number in over {
            self.close(number);
        }
    }

    /// Returns true if all clients have been answered, or the time limit has passed.
    fn has_stopped(&self) -> bool {
        let is_late = |until| HostInstant::now() >= until;
        self.stopping
            .is_some_and(|until| self.connections.is_empty() || is_late(until))
    }
}

/// Makes the system wake this thread on time, not up to 50 us later.
fn set_timer_slack() {
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZero::new(1));
    }
}
