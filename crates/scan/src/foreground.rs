//! The foreground's queue: a policy that knows positions, and one that does without.

use diskarm_core::predict::Predictor;
use diskarm_core::queue::CommandQueue;
use diskarm_core::request::Request;
use diskarm_core::sched::{Knowledge, Pending, PolicyConfig};
use diskarm_core::units::Instant;

pub(crate) struct Foreground {
    policy: PolicyConfig,
    /// By block number, for when positions are not known.
    instead: PolicyConfig,
    queue: CommandQueue<Predictor>,
    /// The same requests, in order of arrival.
    waiting: Vec<Pending>,
    is_blind: bool,
}

impl Foreground {
    /// A queue in the order of `policy`, which holds nothing yet.
    ///
    /// # Panics
    /// Never: the policy that it falls back to exists.
    pub fn new(policy: &PolicyConfig, drive: &Predictor) -> Self {
        let Ok(instead) = PolicyConfig::parse("clook", "policy") else {
            unreachable!("the table of policies has it");
        };
        Self {
            queue: CommandQueue::new(policy.policy(drive)),
            policy: policy.clone(),
            instead,
            waiting: Vec::new(),
            is_blind: false,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn next_is_ordered(&self) -> bool {
        self.queue.next_is_ordered()
    }

    pub fn add(&mut self, pending: Pending, drive: &Predictor) {
        self.waiting.push(pending);
        add(&mut self.queue, pending, drive);
    }

    /// Takes out the request to serve next. If the policy needs positions and they are not known,
    /// it is chosen by block number; also returns whether it was.
    pub fn next(
        &mut self,
        now: Instant,
        drive: &Predictor,
        is_known: bool,
    ) -> (Option<Pending>, bool) {
        let blind = !is_known && self.policy.knowledge() > Knowledge::Cylinders;
        if blind != self.is_blind {
            self.is_blind = blind;
            let policy = if blind { &self.instead } else { &self.policy };
            self.queue = CommandQueue::new(policy.policy(drive));
            for pending in &self.waiting {
                add(&mut self.queue, *pending, drive);
            }
        }
        let next = self.queue.next(now, drive);
        if let Some(pending) = &next {
            self.forget(pending.request.id);
            self.queue.note_served(&pending.request, drive);
        }
        (next, blind && next.is_some())
    }

    /// Notes a request that is sent without waiting.
    pub fn passed(&mut self, request: &Request, drive: &Predictor) {
        self.queue.note_bypass(request, drive);
    }

    pub fn take(&mut self, id: u64, drive: &Predictor) -> Option<Pending> {
        let taken = self.queue.take(id, drive)?;
        self.forget(id);
        Some(taken)
    }

    fn forget(&mut self, id: u64) {
        self.waiting.retain(|waiting| waiting.request.id != id);
    }
}

fn add(queue: &mut CommandQueue<Predictor>, pending: Pending, drive: &Predictor) {
    match pending.request.is_simple_transfer() && !queue.is_special() {
        true => queue.add(pending, drive),
        false => queue.add_special(pending, drive),
    }
}
