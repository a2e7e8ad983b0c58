//! A member of a pair or an array, and what waits for it.

use super::destaging::Destaging;
use super::writes::Writes;
use crate::device::{Completion, Device, Part, Work};
use crate::queue::CommandQueue;
use crate::request::{Op, Request};
use crate::sched::{Estimate, Knowledge, Outlook, Pending, Policy};
use crate::stats::DiskMeter;
use crate::tower::BoxedDevice;
use crate::units::{Instant, Span};

pub(crate) struct Member {
    pub device: BoxedDevice,
    pub queue: CommandQueue<BoxedDevice>,
    /// Reads of the other member that it may take when nothing else waits.
    pub(super) reserve: Option<CommandQueue<BoxedDevice>>,
    /// Copies of requests that wait or are inside; under a shared queue also those that the other
    /// member may take.
    pub load: usize,
    /// Writes that a scheme of destaging holds back; none without one.
    pub(super) writes: Writes,
    /// Writes among the commands that wait.
    pub writes_waiting: usize,
    /// Commands in the device.
    pub inside: usize,
    pub meter: DiskMeter,
}

impl Member {
    pub fn new(device: BoxedDevice, policy: Box<dyn Policy<BoxedDevice>>) -> Self {
        Self {
            device,
            queue: CommandQueue::new(policy),
            reserve: None,
            load: 0,
            writes: Writes::default(),
            writes_waiting: 0,
            inside: 0,
            meter: DiskMeter::default(),
        }
    }

    /// Whether nothing waits and it would take `command` now.
    pub fn is_free(&self, command: &Request) -> bool {
        self.queue.is_empty() && self.device.has_room() && self.device.accepts(command)
    }

    /// Lets a command wait; a write by itself.
    pub fn add_destaged(&mut self, pending: Pending) {
        if pending.request.op == Op::Write && pending.request.is_simple_transfer() {
            self.writes_waiting += 1;
            self.writes.add(pending);
        } else {
            self.add(pending);
        }
    }

    /// Lets a command wait.
    pub fn add(&mut self, pending: Pending) {
        self.writes_waiting += usize::from(pending.request.op == Op::Write);
        if pending.request.is_simple_transfer() {
            self.queue.add(pending, &self.device);
        } else {
            self.queue.add_special(pending, &self.device);
        }
    }

    /// Takes out the command that the device takes next, if it takes one.
    pub fn next(&mut self, now: Instant) -> Option<Request> {
        if self.queue.is_empty() || !self.device.has_room() {
            return None;
        }
        let pending = self.queue.next(now, &self.device)?;
        if !self.device.accepts(&pending.request) {
            self.queue.put_back(pending);
            return None;
        }
        self.queue.note_served(&pending.request, &self.device);
        Some(pending.request)
    }

    /// Takes out the read of the other member that the device takes next, if it takes one.
    pub fn next_of_reserve(&mut self, now: Instant) -> Option<Request> {
        let reserve = self.reserve.as_mut()?;
        if reserve.is_empty() || !self.device.has_room() {
            return None;
        }
        let pending = reserve.next(now, &self.device)?;
        if !self.device.accepts(&pending.request) {
            reserve.put_back(pending);
            return None;
        }
        reserve.note_served(&pending.request, &self.device);
        Some(pending.request)
    }

    /// Begins a batch of writes and takes out its first.
    pub fn begin_batch(&mut self, now: Instant, destaging: &Destaging) -> Option<Pending> {
        let Destaging { batch, order, .. } = *destaging;
        self.writes.begin_batch(now, batch, order, &self.device);
        self.meter.begin_batch(now);
        self.writes.of_batch(now, &self.device)
    }

    /// Takes out the command `id`, if it waits.
    pub fn take(&mut self, id: u64) -> Option<Pending> {
        let taken = self.queue.take(id, &self.device);
        let taken = taken.or_else(|| self.writes.take(id));
        let taken = taken.or_else(|| self.reserve.as_mut()?.take(id, &self.device))?;
        self.writes_waiting -= usize::from(taken.request.op == Op::Write);
        Some(taken)
    }

    /// Counts a command that the device has taken.
    pub fn begin(&mut self, now: Instant, command: &Request) {
        self.inside += 1;
        if command.op != Op::Flush {
            self.meter.begin(now, command.op.is_read());
        }
    }

    /// Counts a command that a device has not completed when it fails.
    pub fn drop_command(&mut self, now: Instant, op: Op) {
        self.inside -= 1;
        if op != Op::Flush {
            self.meter.drop(now, op.is_read());
        }
    }

    /// Counts a command that has completed.
    pub fn end(&mut self, done: &Completion) {
        self.inside -= 1;
        if done.request.op != Op::Flush {
            self.meter.end(done.at, done.request.op.is_read());
        }
        if self.inside == 0 && self.writes.end_batch() {
            self.meter.end_batch(done.at);
        }
    }

    /// What the device takes of a write that was chosen; it is the next if it does not take it.
    pub fn accepted(&mut self, write: Pending) -> Option<Request> {
        if self.device.accepts(&write.request) {
            return Some(write.request);
        }
        self.queue.put_back(write);
        None
    }

    /// Counts a command that waits no more.
    pub fn count_taken(&mut self, now: Instant, command: &Request) {
        self.writes_waiting -= usize::from(command.op == Op::Write);
        self.count_waiting(now);
    }

    /// Counts what waits from now on.
    pub fn count_waiting(&mut self, now: Instant) {
        let waiting = self.queue.len() + self.writes.len();
        self.meter.wait(now, waiting, self.writes_waiting);
    }

    /// What it has done, or what its disks have done if it has several.
    pub fn parts(&self, now: Instant) -> Vec<Part> {
        let mut parts = self.device.parts(now);
        if !parts.iter().any(|part| matches!(part.work, Work::Disk(_))) {
            parts.push(Part {
                name: String::new(),
                work: Work::Disk(self.meter.work(now)),
            });
        }
        parts
    }

    /// How long the device would take to reach and transfer what `command` asks for; nothing if it
    /// has it in its buffer. `None` if that is not known.
    pub fn access(&self, now: Instant, command: &Request) -> Option<Span> {
        if self.device.knowledge() < Knowledge::Times {
            return None;
        }
        let outlook = self.device.outlook(now);
        if outlook.is_buffered(command) {
            return Some(Span::ZERO);
        }
        Some(outlook.access(command, &self.device.locate(command)))
    }
}
