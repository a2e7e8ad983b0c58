//! The thread that runs the engine of an export.
//!
//! It sleeps until a request arrives or a completion is due, so replies are sent without a thread
//! switch.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant as HostInstant};

use rustix::event::{PollFd, PollFlags};

use crate::control::{Command, ExportHandle, Reply};
use crate::engine::{Clock, Connection, Engine, Ready, Service, Session};
use crate::nonblocking::{WakeReceiver, Waker, wait};
use crate::panics::contain;
use crate::sockets::Stream;
use crate::statistics::Statistics;

/// The thread stops sleeping and polls the clock this long before something is due. Most machines
/// wake up faster. At a hundred replies per second, polling takes 2 % of a processor.
const WAKE_EARLY: Duration = Duration::from_micros(200);

enum Message<S> {
    Connect(Box<Connection<S, Stream>>),
    Control(Command, Sender<Result<Reply, String>>),
    CloseIdle,
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
            engine: Engine::new(make(waker.try_clone()?)?),
            spins,
            inbox,
            woken,
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

    pub fn connect(&self, connection: Connection<S, Stream>) {
        self.send(Message::Connect(Box::new(connection)));
    }

    /// Disconnects the clients that have been idle for long, because others want to connect.
    pub fn close_idle(&self) {
        self.send(Message::CloseIdle);
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

struct Worker<D: Service> {
    engine: Engine<D, Stream>,
    spins: bool,
    inbox: Receiver<Message<D::Session>>,
    woken: WakeReceiver,
}

impl<D: Service> Worker<D> {
    fn run(mut self) -> Statistics {
        set_timer_slack();
        let name = match &*self.engine.service.facts().name {
            "" => "the export".to_owned(),
            name => format!("the export {name:?}"),
        };
        let consequence = format!("{name} has ended, and its clients were disconnected");
        contain(&consequence, || self.serve());
        let is_stopping = self.engine.is_stopping();
        let service = self.engine.into_service();
        let consequence = format!("the last writes to {name} may be lost");
        let statistics = contain(&consequence, || service.finish()).unwrap_or_default();
        if is_stopping {
            return statistics;
        }
        for message in self.inbox {
            match message {
                Message::Control(command, answer) => {
                    // The caller may have stopped waiting.
                    let _ = answer.send(match command {
                        Command::Statistics => Ok(Reply::Statistics(Box::new(statistics.clone()))),
                        _ => Err(format!(
                            "{name} has ended because of a fault in this program"
                        )),
                    });
                }
                Message::Stop => break,
                Message::Connect(_) | Message::CloseIdle => {}
            }
        }
        statistics
    }

    fn serve(&mut self) {
        let clock = &HostInstant::now;
        loop {
            let ready = self.sleep();
            self.read_messages(clock);
            self.engine.turn(ready, clock);
            if self.engine.has_stopped(clock()) {
                break;
            }
        }
    }

    /// Waits until there is work; returns the connections that are ready.
    fn sleep(&mut self) -> Vec<Ready> {
        let mut sockets = vec![PollFd::new(&self.woken, PollFlags::IN)];
        let mut numbers = Vec::new();
        for (number, connection) in self.engine.connections() {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, self.engine.takes_input(connection));
            flags.set(PollFlags::OUT, connection.has_output());
            sockets.push(PollFd::new(&connection.channel, flags));
            numbers.push(number);
        }
        wait(&mut sockets, self.wake_time(HostInstant::now()));
        let is_woken = !sockets[0].revents().is_empty();
        let ready = numbers
            .into_iter()
            .zip(&sockets[1..])
            .filter(|(_, socket)| !socket.revents().is_empty())
            .map(|(number, socket)| Ready {
                number,
                has_disconnected: socket
                    .revents()
                    .intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL),
            })
            .collect();
        if is_woken {
            self.woken.clear();
        }
        ready
    }

    /// Returns the time at which to wake if there is no input.
    fn wake_time(&self, now: HostInstant) -> Option<HostInstant> {
        let next = self.engine.next_turn(now);
        // Events of an idle device are background work, which may be late.
        if self.engine.service.is_idle() {
            return next;
        }
        if self.spins {
            return Some(now);
        }
        next.map(|at| at.checked_sub(WAKE_EARLY).unwrap_or(at))
    }

    fn read_messages(&mut self, clock: Clock<'_>) {
        while let Ok(message) = self.inbox.try_recv() {
            match message {
                Message::Connect(connection) => _ = self.engine.connect(*connection, clock),
                Message::Control(command, answer) => {
                    let reply = self.engine.execute(&command, clock);
                    // The caller may have stopped waiting.
                    let _ = answer.send(reply);
                }
                Message::CloseIdle => self.engine.close_idle(clock()),
                Message::Stop => self.engine.stop(clock()),
            }
        }
    }
}

/// Makes the system wake this thread on time instead of up to 50 us late.
fn set_timer_slack() {
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZero::new(1));
    }
}
