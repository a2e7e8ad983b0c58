//! The thread that serves an export, whatever the protocol.
//!
//! It alone has the [`Service`], with the device and the store. It sleeps until a request or a
//! completion is due, so a reply leaves without passing from thread to thread, and no client can
//! hold another up: sockets never block, and each connection has buffers of its own.

mod connection;
mod desk;

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant as Wall};

use rustix::event::{PollFd, PollFlags};

use crate::control::{Command, ExportHandle, Reply};
use crate::figures::Statistics;
use crate::sockets::{WakeReceiver, Waker, wait};
pub use connection::Connection;
use desk::Connections;
pub use desk::{Broken, Clients, Service, Session};

/// How long before something is due the thread stops sleeping and watches the clock: longer than it
/// takes most machines to wake up. At a hundred replies per second that is 2 % of a processor.
const AWAKE: Duration = Duration::from_micros(200);

/// How long a service that ends waits for replies to be computed and to leave.
const DRAIN: Duration = Duration::from_secs(10);

/// How long a client may be silent before it is asked whether it is there, and then before its
/// connection ends.
const SILENCE: Duration = Duration::from_secs(30);

/// What a service is told.
enum Message<S> {
    Connect(Box<Connection<S>>),
    Control(Command, Sender<Result<Reply, String>>),
    Stop,
}

/// The other side of a service.
pub struct WorkerHandle<S> {
    messages: Sender<Message<S>>,
    waker: Waker,
    thread: JoinHandle<Statistics>,
}

impl<S: Session> WorkerHandle<S> {
    /// Begins to serve what `make` makes, which may wake the thread by the waker. With `spins` it
    /// never sleeps while requests are under way.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn start<D: Service<Session = S>>(
        spins: bool,
        make: impl FnOnce(Waker) -> io::Result<D>,
    ) -> io::Result<Self> {
        let (waker, woken) = Waker::new()?;
        let (messages, inbox) = channel();
        let service = Worker {
            desk: make(waker.another()?)?,
            spins,
            inbox,
            woken,
            connections: Connections::default(),
            stopping: None,
        };
        let thread = thread::Builder::new().name("serve".to_owned());
        let thread = thread.spawn(move || service.run())?;
        Ok(Self {
            messages,
            waker,
            thread,
        })
    }

    /// Hands it a connection that has chosen its export.
    pub fn connect(&self, connection: Connection<S>) {
        self.tell(Message::Connect(Box::new(connection)));
    }

    /// What hands it commands; it calls the export `name`.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn remote(&self, name: &str) -> io::Result<ExportHandle> {
        let (messages, waker) = (self.messages.clone(), self.waker.another()?);
        Ok(ExportHandle::new(
            name.to_owned(),
            move |command, answer| {
                // If it has ended, nobody answers.
                let _ = messages.send(Message::Control(command, answer));
                waker.wake();
            },
        ))
    }

    /// Lets it take no more requests, and end when all are answered.
    pub fn stop(&self) {
        self.tell(Message::Stop);
    }

    fn tell(&self, message: Message<S>) {
        // A service that has ended needs to know nothing more.
        let _ = self.messages.send(message);
        self.waker.wake();
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// If it panicked.
    pub fn join(self) -> Statistics {
        let served = self.thread.join();
        served.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// A connection with something to do.
struct Ready {
    number: usize,
    /// The client is gone.
    is_gone: bool,
}

struct Worker<D: Service> {
    desk: D,
    spins: bool,
    inbox: Receiver<Message<D::Session>>,
    woken: WakeReceiver,
    connections: Connections<D::Session>,
    /// When it ends whatever is under way, once it has been stopped.
    stopping: Option<Wall>,
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
            for number in self.desk.go_on(&mut self.connections) {
                self.pump(number);
            }
            self.follow_power();
            self.ask_silent();
            self.close_those_over();
            if self.has_stopped() {
                break;
            }
        }
        self.desk.end()
    }

    /// Waits until something is to be done; returns the connections with something to do.
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
            // Of what has been read and decrypted the socket says nothing.
            let has_more = takes_input && connection.stream.has_input();
            if has_more {
                until = Some(Wall::now());
            }
            numbers.push((number, has_more));
        }
        wait(&mut sockets, until);
        let is_woken = !sockets[0].revents().is_empty();
        let ready = numbers.into_iter().zip(&sockets[1..]);
        let ready = ready.filter_map(|((number, has_more), socket)| {
            let events = socket.revents();
            let is_gone = events.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
            (!events.is_empty() || has_more).then_some(Ready { number, is_gone })
        });
        let ready = ready.collect();
        if is_woken {
            self.woken.clear();
        }
        ready
    }

    /// When to look again if nothing comes before.
    fn next(&self) -> Option<Wall> {
        let is_idle = self.desk.is_idle();
        if self.spins && !is_idle {
            return Some(Wall::now());
        }
        let next = self.desk.next();
        // What an idle device does by itself can be late.
        let next = match is_idle {
            true => next,
            false => next.map(|at| at.checked_sub(AWAKE).unwrap_or(at)),
        };
        let silent = self.connections.iter();
        let silent = silent.map(|(_, connection)| connection.heard + SILENCE);
        [next, self.stopping, silent.min()]
            .into_iter()
            .flatten()
            .min()
    }

    fn takes_input(&self, connection: &Connection<D::Session>) -> bool {
        self.stopping.is_none() && connection.session.wants_input()
    }

    fn read_messages(&mut self) {
        while let Ok(message) = self.inbox.try_recv() {
            match message {
                Message::Connect(connection)
                    if self.stopping.is_none() && !self.desk.goes_off() =>
                {
                    self.desk.served().connections += 1;
                    let number = self.connections.insert(*connection);
                    for other in self.desk.opened(number, &mut self.connections) {
                        self.close(other);
                    }
                    // It may have sent requests already.
                    self.pump(number);
                }
                Message::Connect(_) => {}
                Message::Control(command, answer) => {
                    let reply = self.desk.obey(&command);
                    self.follow_power();
                    // Who has asked may be gone.
                    let _ = answer.send(reply);
                }
                Message::Stop => self.stopping = Some(Wall::now() + DRAIN),
            }
        }
    }

    /// Takes what has ended by now, and sends the replies.
    fn serve_due(&mut self) {
        for number in self.desk.serve_due(&mut self.connections) {
            self.pump(number);
        }
    }

    /// Reads what a connection has sent, and continues with it.
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

    /// Serves the requests that a connection has sent, and sends its replies, as far as possible.
    fn pump(&mut self, number: usize) {
        let now = Wall::now();
        loop {
            while self.stopping.is_none() {
                match self.desk.take(number, &mut self.connections, now) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(Broken) => return self.close(number),
                }
            }
            let Some(connection) = self.connections.get_mut(number) else {
                return;
            };
            match connection.send(&mut self.desk) {
                Err(_) => return self.close(number),
                // What could be taken now would wait for room to answer.
                Ok(false) => return,
                Ok(true) => {}
            }
        }
    }

    /// Ends a connection. Its requests that still wait in the device are taken back.
    fn close(&mut self, number: usize) {
        if let Some(connection) = self.connections.remove(number) {
            self.desk.closed(number, connection.session);
        }
    }

    /// Asks clients that have been silent for long whether they are there, and closes the
    /// connections of those that do not answer.
    fn ask_silent(&mut self) {
        let now = Wall::now();
        let is_silent = |connection: &Connection<_>| connection.heard + SILENCE <= now;
        let silent = self.connections.iter();
        let silent = silent.filter(|(_, connection)| is_silent(connection));
        let numbers: Vec<usize> = silent.map(|(number, _)| number).collect();
        for number in numbers {
            let Some(connection) = self.connections.get_mut(number) else {
                continue;
            };
            if connection.is_asked {
                self.close(number);
                continue;
            }
            connection.is_asked = connection.session.ask();
            connection.heard = now;
            self.pump(number);
        }
    }

    /// Ends all connections if the power is off.
    fn follow_power(&mut self) {
        if self.desk.goes_off() {
            for number in self.connections.numbers() {
                self.close(number);
            }
        }
    }

    fn close_those_over(&mut self) {
        let is_stopping = self.stopping.is_some();
        let over: Vec<usize> = self
            .connections
            .iter()
            .filter(|(number, connection)| {
                let session = &connection.session;
                let is_answered = || self.desk.is_answered(*number, session);
                let may_end = session.is_over() || is_stopping && is_answered();
                may_end && !connection.stream.has_output()
            })
            .map(|(number, _)| number)
            .collect();
        for number in over {
            self.close(number);
        }
    }

    /// Nobody waits for a reply any more, or it has been long enough.
    fn has_stopped(&self) -> bool {
        let is_late = |until| Wall::now() >= until;
        self.stopping
            .is_some_and(|until| self.connections.len() == 0 || is_late(until))
    }
}

/// Lets the system wake this thread when it asks for it, not up to 50 us later.
fn set_timer_slack() {
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZero::new(1));
    }
}
