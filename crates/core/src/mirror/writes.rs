//! The writes that wait for a member of a pair that destages.

use std::collections::VecDeque;

use super::destaging::{BatchOrder, Side};
use crate::sched::{Estimate, Fcfs, OatBatch, Outlook, Pending, Policy, Rule, Satf};
use crate::tower::BoxedDevice;
use crate::units::Instant;

/// Writes in order of arrival, and a batch of them.
#[derive(Default)]
pub(super) struct Writes {
    waiting: VecDeque<Pending>,
    batch: Option<Batch>,
}

/// A batch that is being processed.
struct Batch {
    policy: Box<dyn Policy<BoxedDevice>>,
    left: usize,
}

impl Writes {
    /// Writes that wait, those of the batch included.
    pub fn len(&self) -> usize {
        let of_batch = self.batch.as_ref().map_or(0, |batch| batch.left);
        self.waiting.len() + of_batch
    }

    /// What a scheme looks at.
    pub fn side(&self) -> Side {
        Side {
            writes: self.waiting.len(),
            batch: self.batch.as_ref().map_or(0, |batch| batch.left),
            in_batch: self.batch.is_some(),
        }
    }

    pub fn add(&mut self, pending: Pending) {
        self.waiting.push_back(pending);
    }

    /// Takes out the oldest one.
    pub fn oldest(&mut self) -> Option<Pending> {
        self.waiting.pop_front()
    }

    /// Makes a batch of the `count` oldest, or of all if there are fewer.
    pub fn begin_batch(
        &mut self,
        now: Instant,
        count: usize,
        order: BatchOrder,
        device: &BoxedDevice,
    ) {
        let count = count.min(self.waiting.len());
        let mut oldest: Vec<Pending> = self.waiting.drain(..count).collect();
        let mut policy = match order {
            BatchOrder::Ascending => {
                oldest.sort_by_key(|pending| pending.request.start);
                Fcfs.policy(device)
            }
            BatchOrder::AccessAtStart => {
                let outlook = device.outlook(now);
                let access = |pending: &Pending| {
                    outlook.access(&pending.request, &device.locate(&pending.request))
                };
                oldest.sort_by_cached_key(access);
                Fcfs.policy(device)
            }
            BatchOrder::Nearest => Satf::default().policy(device),
            BatchOrder::Optimal => OatBatch { n: count }.policy(device),
        };
        for pending in oldest {
            policy.add(pending, device);
        }
        let left = count;
        self.batch = Some(Batch { policy, left });
    }

    /// Takes out the next write of the batch.
    pub fn of_batch(&mut self, now: Instant, device: &BoxedDevice) -> Option<Pending> {
        let batch = self.batch.as_mut()?;
        let next = batch.policy.next(now, device)?;
        batch.left -= 1;
        Some(next)
    }

    /// Ends the batch if nothing is left of it, now that the member is idle. Whether it did.
    pub fn end_batch(&mut self) -> bool {
        self.batch.take_if(|batch| batch.left == 0).is_some()
    }

    /// Takes out the write `id`, if it waits.
    pub fn take(&mut self, id: u64) -> Option<Pending> {
        if let Some(batch) = &mut self.batch
            && let Some(taken) = batch.policy.take(id)
        {
            batch.left -= 1;
            return Some(taken);
        }
        let index = self
            .waiting
            .iter()
            .position(|waiting| waiting.request.id == id);
        self.waiting.remove(index?)
    }
}
