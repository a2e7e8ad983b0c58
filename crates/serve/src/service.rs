//! The thread that serves an export.
//!
//! It alone has the device and the store. It sleeps until a request or a completion is due, so a
//! reply leaves without passing from thread to thread, and no client can hold another up: sockets
//! never block, and each connection has buffers of its own.

mod active;
mod connection;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant as Wall};
use std::{io, mem};

use diskarm_core::device::Status;
use diskarm_core::request::{Op, Request};
use diskarm_core::units::{Lbn, SectorCount, Span};
use diskarm_wire::nbd::Error;
use rustix::event::{PollFd, PollFlags};

use crate::clock::Clock;
use crate::export::{Export, Facts};
use crate::figures::Served;
use crate::nbd::{Job, Kind, Next, failure_of};
use crate::slots::Slots;
use crate::sockets::{Waker, Woken, wait};
use crate::store::Store;
use crate::syncer::Syncer;
use crate::timeline::Timeline;
use active::Active;
pub use connection::Connection;

/// How long before something is due the thread stops sleeping and watches the clock: longer than it
/// takes most machines to wake up. At a hundred replies per second that is 2 % of a processor.
const AWAKE: Duration = Duration::from_micros(200);

/// How long a service that ends waits for replies to be computed and to leave.
const DRAIN: Duration = Duration::from_secs(10);

/// What a service is told.
enum Message {
    Connect(Box<Connection>),
    Stop,
}

/// The other side of a service.
pub struct Handle {
    messages: Sender<Message>,
    waker: Waker,
    thread: JoinHandle<Served>,
}

impl Handle {
    /// Begins to serve `export`.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn start(export: Export, start: Wall) -> io::Result<Self> {
        let (waker, woken) = Waker::new()?;
        let (messages, inbox) = channel();
        let syncer = match export.store.to_sync() {
            Some(file) => Some(Syncer::new(file, waker.another()?)?),
            None => None,
        };
        let spins = export.timing.as_ref().is_some_and(|timing| timing.spins);
        let timeline = export
            .timing
            .map(|timing| Timeline::new(timing.device, Clock::new(start, timing.speed)));
        let service = Service {
            facts: export.facts,
            store: export.store,
            timeline,
            spins,
            syncer,
            inbox,
            woken,
            connections: Slots::default(),
            jobs: Slots::default(),
            unfinished: Vec::new(),
            served: Served::default(),
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
    pub fn connect(&self, connection: Connection) {
        self.tell(Message::Connect(Box::new(connection)));
    }

    /// Lets it take no more requests, and end when all are answered.
    pub fn stop(&self) {
        self.tell(Message::Stop);
    }

    fn tell(&self, message: Message) {
        // A service that has ended needs to know nothing more.
        let _ = self.messages.send(message);
        self.waker.wake();
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// If it panicked.
    pub fn join(self) -> Served {
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

struct Service {
    facts: Facts,
    store: Box<dyn Store>,
    /// Without it requests take no time.
    timeline: Option<Timeline>,
    spins: bool,
    /// Without it the store has nothing to synchronise.
    syncer: Option<Syncer>,
    inbox: Receiver<Message>,
    woken: Woken,
    connections: Slots<Connection>,
    /// Requests under way, by their ids in the device.
    jobs: Slots<Active>,
    /// Jobs with further parts, where parts take no time.
    unfinished: Vec<usize>,
    served: Served,
    /// When it ends whatever is under way, once it has been stopped.
    stopping: Option<Wall>,
}

impl Service {
    fn run(mut self) -> Served {
        set_timer_slack();
        loop {
            let ready = self.sleep();
            self.read_messages();
            self.hear_of_syncs();
            self.serve_due();
            for ready in ready {
                self.receive(&ready);
                self.serve_due();
            }
            for id in mem::take(&mut self.unfinished) {
                if let Some(number) = self.next_part(id, Wall::now()) {
                    self.pump(number);
                }
            }
            self.close_those_over();
            if self.has_stopped() {
                break;
            }
        }
        // What was written without a flush is kept, too, if that can be done.
        if let Some(file) = self.store.to_sync() {
            let _ = file.sync_all();
        }
        self.served
    }

    /// Waits until something is to be done; returns the connections with something to do.
    fn sleep(&mut self) -> Vec<Ready> {
        let mut sockets = vec![PollFd::new(&self.woken, PollFlags::IN)];
        let mut numbers = Vec::new();
        for (number, connection) in self.connections.iter() {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, self.takes_input(connection));
            flags.set(PollFlags::OUT, !connection.session.output().is_empty());
            sockets.push(PollFd::new(&connection.stream, flags));
            numbers.push(number);
        }
        wait(&mut sockets, self.next());
        let is_woken = !sockets[0].revents().is_empty();
        let ready = numbers.into_iter().zip(&sockets[1..]);
        let ready = ready.filter_map(|(number, socket)| {
            let events = socket.revents();
            let is_gone = events.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
            (!events.is_empty()).then_some(Ready { number, is_gone })
        });
        let ready = ready.collect();
        if is_woken {
            self.woken.clear();
        }
        ready
    }

    /// When to look again if nothing comes before.
    fn next(&self) -> Option<Wall> {
        let is_idle = self.jobs.len() == 0;
        if !self.unfinished.is_empty() || self.spins && !is_idle {
            return Some(Wall::now());
        }
        let next = self.timeline.as_ref().and_then(Timeline::next);
        // What an idle device does by itself can be late.
        let next = match is_idle {
            true => next,
            false => next.map(|at| at.checked_sub(AWAKE).unwrap_or(at)),
        };
        [next, self.stopping].into_iter().flatten().min()
    }

    fn takes_input(&self, connection: &Connection) -> bool {
        self.stopping.is_none() && connection.session.wants_input()
    }

    fn read_messages(&mut self) {
        while let Ok(message) = self.inbox.try_recv() {
            match message {
                Message::Connect(connection) if self.stopping.is_none() => {
                    self.served.connections += 1;
                    let number = self.connections.insert(*connection);
                    // It may have sent requests already.
                    self.pump(number);
                }
                Message::Connect(_) => {}
                Message::Stop => self.stopping = Some(Wall::now() + DRAIN),
            }
        }
    }

    fn hear_of_syncs(&mut self) {
        while let Some((id, is_synced)) = self.syncer.as_ref().and_then(Syncer::answered) {
            let Some(active) = self.jobs.get_mut(id) else {
                continue;
            };
            active.is_synced = true;
            if !is_synced {
                active.error = Some((Error::Io, "the store failed"));
            }
            if let Some(number) = self.settle(id) {
                self.pump(number);
            }
        }
    }

    /// Takes the completions that are due, and sends the replies.
    fn serve_due(&mut self) {
        let mut touched = Vec::new();
        while let Some(timeline) = &mut self.timeline {
            let now = Wall::now();
            let Some((completion, due)) = timeline.completed(now) else {
                break;
            };
            let id = completion.request.id as usize;
            let Some(active) = self.jobs.get_mut(id) else {
                panic!("the device completed {completion:?} twice");
            };
            active.due = Some(due);
            if let Some(error) = failure(completion.status) {
                active.error = Some(error);
                active.give_up();
            }
            if active.left.is_some() {
                // Its next command takes time as well, so no reply is ready.
                self.next_part(id, now);
                continue;
            }
            active.is_served = true;
            if let Some(number) = self.settle(id)
                && !touched.contains(&number)
            {
                touched.push(number);
            }
        }
        for number in touched {
            self.pump(number);
        }
    }

    /// Ends the job `id` if nothing more is to come; returns its connection if it has a reply.
    fn settle(&mut self, id: usize) -> Option<usize> {
        let active = self.jobs.get_mut(id)?;
        if !active.is_served || !active.is_synced {
            return None;
        }
        let active = self.jobs.remove(id)?;
        let Some(number) = active.connection else {
            self.served.counts.aborted += u64::from(active.error.is_some());
            return None;
        };
        self.served.counts.failed += u64::from(active.error.is_some());
        let connection = self.connections.get_mut(number)?;
        connection.session.reply(active.job, active.error);
        connection.due.extend(active.due);
        Some(number)
    }

    /// Reads what a connection has sent, and goes on with it.
    fn receive(&mut self, ready: &Ready) {
        let number = ready.number;
        let is_stopping = self.stopping.is_some();
        let Some(connection) = self.connections.get_mut(number) else {
            return;
        };
        if !is_stopping && connection.session.wants_input() {
            let Connection {
                stream, session, ..
            } = connection;
            match stream.receive(session.room()) {
                Ok(Some(count)) => session.filled(count),
                Ok(None) => {}
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
            let mut has_begun = false;
            while self.stopping.is_none() {
                let Some(connection) = self.connections.get_mut(number) else {
                    return;
                };
                match connection.session.next(&mut *self.store) {
                    Next::Job(job) => self.begin(number, job, now),
                    Next::Wait => break,
                    Next::Broken => return self.close(number),
                }
                has_begun = true;
            }
            let Some(connection) = self.connections.get_mut(number) else {
                return;
            };
            match connection.send(&mut *self.store, &mut self.served.lateness) {
                Err(_) => return self.close(number),
                Ok(false) if !has_begun => return,
                Ok(_) => {}
            }
        }
    }

    /// Begins a request that has arrived.
    fn begin(&mut self, number: usize, job: Job, now: Wall) {
        self.served.counts.count(&job);
        let has_file = self.syncer.is_some();
        let is_write = matches!(job.kind, Kind::Write | Kind::Trim | Kind::Zero { .. });
        let is_flush = job.kind == Kind::Flush;
        let syncs = has_file && (is_flush || is_write && job.force_unit_access);
        let is_timed = self.timeline.is_some();
        let takes_time = match job.kind {
            Kind::Read | Kind::Write | Kind::Flush => is_timed,
            Kind::Zero { .. } => true,
            Kind::Trim | Kind::Status | Kind::Refused(..) => false,
        };
        let mut error = match job.kind {
            Kind::Refused(error, message) => Some((error, message)),
            _ => None,
        };
        if job.kind == Kind::Trim
            && let Err(failed) = self.store.zero(job.offset, job.length, true)
        {
            error = Some(failure_of(&failed));
        }
        if !takes_time && !syncs {
            if let Some(connection) = self.connections.get_mut(number) {
                connection.session.reply(job, error);
            }
            return;
        }
        let id = self.jobs.insert(Active {
            connection: Some(number),
            job,
            left: matches!(job.kind, Kind::Zero { .. }).then_some((job.offset, job.length)),
            is_served: !takes_time,
            is_synced: !syncs,
            error,
            due: None,
        });
        match job.kind {
            Kind::Zero { .. } => {
                // If it has ended, its connection is the one that goes on anyway.
                self.next_part(id, now);
            }
            _ if takes_time => self.submit(id, &job, job.offset, job.length, now),
            _ => {}
        }
        // Zeroes are synchronised after their last part.
        if syncs
            && !matches!(job.kind, Kind::Zero { .. })
            && let Some(syncer) = &self.syncer
        {
            syncer.ask(id);
        }
    }

    /// Hands a command of the job `id` to the device.
    fn submit(&mut self, id: usize, job: &Job, offset: u64, length: u64, now: Wall) {
        let sector = self.facts.sector.0;
        let op = match job.kind {
            Kind::Read => Op::Read,
            Kind::Flush => Op::Flush,
            _ => Op::Write,
        };
        let start = Lbn(offset / sector);
        let mut request = Request::new(id as u64, op, start, SectorCount(length / sector));
        request.force_unit_access = op == Op::Write && job.force_unit_access;
        if let Some(timeline) = &mut self.timeline {
            let submitted = timeline.submit(now, request);
            assert_eq!(submitted, Ok(()), "the device refused {request:?}");
        }
    }

    /// Writes the next zeroes of the job `id`; returns its connection if it has a reply now.
    fn next_part(&mut self, id: usize, now: Wall) -> Option<usize> {
        let longest = Request::MAX_SECTORS.0 * self.facts.sector.0;
        let active = self.jobs.get_mut(id)?;
        let (job, (offset, left)) = (active.job, active.left?);
        let length = left.min(longest);
        let may_free = matches!(job.kind, Kind::Zero { may_free: true });
        active.left = (left > length).then(|| (offset + length, left - length));
        if let Err(failed) = self.store.zero(offset, length, may_free) {
            active.error = Some(failure_of(&failed));
            active.give_up();
        }
        let is_last = active.left.is_none();
        if is_last
            && !active.is_synced
            && let Some(syncer) = &self.syncer
        {
            syncer.ask(id);
        }
        if self.timeline.is_some() {
            self.submit(id, &job, offset, length, now);
            return None;
        }
        if !is_last {
            self.unfinished.push(id);
            return None;
        }
        active.is_served = true;
        self.settle(id)
    }

    /// Ends a connection. Its requests that still wait in the device are taken back.
    fn close(&mut self, number: usize) {
        self.connections.remove(number);
        let is_of = |active: &Active| active.connection == Some(number);
        let jobs = self.jobs.iter().filter(|(_, active)| is_of(active));
        let ids: Vec<usize> = jobs.map(|(id, _)| id).collect();
        for &id in &ids {
            let Some(active) = self.jobs.get_mut(id) else {
                continue;
            };
            active.connection = None;
            active.give_up();
            match &mut self.timeline {
                Some(timeline) if !active.is_served => timeline.abort(Wall::now(), id as u64),
                Some(_) => {}
                None => active.is_served = true,
            }
            self.settle(id);
        }
        self.unfinished.retain(|id| !ids.contains(id));
    }

    fn close_those_over(&mut self) {
        let is_stopping = self.stopping.is_some();
        let over: Vec<usize> = self
            .connections
            .iter()
            .filter(|(_, connection)| {
                let session = &connection.session;
                session.is_over() || is_stopping && session.is_idle()
            })
            .map(|(number, _)| number)
            .collect();
        for number in over {
            self.connections.remove(number);
        }
    }

    /// Nobody waits for a reply any more, or it has been long enough.
    fn has_stopped(&self) -> bool {
        let is_late = |until| Wall::now() >= until;
        self.stopping
            .is_some_and(|until| self.connections.len() == 0 || is_late(until))
    }
}

/// Why a request fails that ended in this way.
fn failure(status: Status) -> Option<(Error, &'static str)> {
    match status {
        Status::Good | Status::Recovered { .. } => None,
        Status::MediumError { .. } => Some((Error::Io, "medium error")),
        Status::NotReady => Some((Error::Io, "the drive is not ready")),
        Status::Aborted => Some((Error::Io, "aborted")),
    }
}

/// Records how late replies left that were `due`.
fn record(due: &mut Vec<Wall>, lateness: &mut diskarm_core::stats::Histogram) {
    if due.is_empty() {
        return;
    }
    let now = Wall::now();
    for due in due.drain(..) {
        let late = now.saturating_duration_since(due).as_nanos();
        lateness.record(Span::from_ns(late as i64));
    }
}

/// Lets the system wake this thread when it asks for it, not up to 50 us later.
fn set_timer_slack() {
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZero::new(1));
    }
}
