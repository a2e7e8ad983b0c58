//! A thread that accepts clients and exchanges messages with them.

use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use crate::exchange::{ExchangeLimits, Exchanges, Host};
use crate::nonblocking::{WakeReceiver, wait};
use crate::sockets::{Listener, Stream};

pub struct Reception<H: Host<Stream>> {
    exchanges: Exchanges<Stream, H>,
    listeners: Vec<Listener>,
    /// `None` if the thread runs until the program ends.
    stopped: Option<WakeReceiver>,
}

impl<H: Host<Stream>> Reception<H> {
    pub const fn new(
        host: H,
        limits: ExchangeLimits,
        listeners: Vec<Listener>,
        stopped: Option<WakeReceiver>,
    ) -> Self {
        Self {
            exchanges: Exchanges::new(host, limits),
            listeners,
            stopped,
        }
    }

    /// Serves clients until it is stopped; returns the host.
    pub fn run(mut self) -> H {
        loop {
            let ready = self.sleep();
            let (stopped, ready) = ready.split_at(self.stopped.iter().count());
            let (listeners, ready) = ready.split_at(self.listeners.len());
            if stopped.contains(&true) {
                return self.exchanges.host;
            }
            let now = Instant::now();
            self.exchanges.turn(ready.iter().copied(), now);
            let listeners = self.listeners.iter().zip(listeners);
            for (listener, _) in listeners.filter(|(_, is_ready)| **is_ready) {
                // If no file descriptor is free, a connection stays in the backlog.
                match listener.accept() {
                    Ok(Some(stream)) => self.exchanges.accept(stream, now),
                    _ => thread::sleep(Duration::from_millis(1)),
                }
            }
        }
    }

    /// Waits until there is work. Returns whether the waker, each listener and each client is
    /// ready.
    fn sleep(&self) -> Vec<bool> {
        let stopped = self.stopped.iter();
        let stopped = stopped.map(|stopped| PollFd::new(stopped, PollFlags::IN));
        let listeners = self.listeners.iter();
        let listeners = listeners.map(|listener| PollFd::new(listener, PollFlags::IN));
        let clients = self.exchanges.pending().iter().map(|pending| {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, pending.takes_input());
            flags.set(PollFlags::OUT, pending.has_output());
            PollFd::new(&pending.channel, flags)
        });
        let mut sockets: Vec<PollFd<'_>> = stopped.chain(listeners).chain(clients).collect();
        wait(&mut sockets, self.exchanges.next_turn(Instant::now()));
        let sockets = sockets.iter();
        sockets.map(|socket| !socket.revents().is_empty()).collect()
    }
}
