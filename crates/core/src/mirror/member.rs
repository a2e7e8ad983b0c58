//! A member of a pair or an array, and what waits for it.

use crate::device::Device;
use crate::queue::CommandQueue;
use crate::request::Request;
use crate::sched::{Estimate, Knowledge, Outlook, Pending, Policy};
use crate::tower::BoxedDevice;
use crate::units::{Instant, Span};

pub(crate) struct Member {
    pub device: BoxedDevice,
    pub queue: CommandQueue<BoxedDevice>,
    /// Copies of requests that wait or are inside; under a shared queue also those that the other
    /// member may take.
    pub load: usize,
}

impl Member {
    pub fn new(device: BoxedDevice, policy: Box<dyn Policy<BoxedDevice>>) -> Self {
        Self {
            device,
            queue: CommandQueue::new(policy),
            load: 0,
        }
    }

    /// Whether nothing waits and it would take `command` now.
    pub fn is_free(&self, command: &Request) -> bool {
        self.queue.is_empty() && self.device.has_room() && self.device.accepts(command)
    }

    /// Lets a command wait.
    pub fn add(&mut self, pending: Pending) {
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
        self.queue.served(&pending.request, &self.device);
        Some(pending.request)
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
