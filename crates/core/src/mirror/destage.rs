//! Destaging of a mirrored pair: the order of reads and writes when a non-volatile cache already
//! holds the data of the writes.
//!
//! Whenever a member is free, a scheme chooses its next action from the state of the pair. The
//! state corresponds to tables D.1 and D.2 of liu05, whose flowcharts are lost:
//!
//! | here | thesis | meaning |
//! |---|---|---|
//! | [`PairState::reads`] | RQ | reads that wait for either member |
//! | [`SideState::writes`] | WQ1, WQ2 | writes that wait for a member |
//! | [`SideState::batch`] | BW1, BW2 | writes left in the batch of a member |
//! | [`SideState::is_in_batch`] | Sw1, Sw2 | a member is processing a batch |
//! | [`PairState::turn`] | Turn | the member that processes the next batch (ADU) |
//!
//! Sr, the read switch of AD-CP, is `RQ >= TR`.
//!
//! Two rules go beyond the thesis. While a member is missing or being rebuilt, members do not take
//! turns ([`PairState::is_degraded`]). Writes do not wait for a full batch while the cache needs
//! room or a rebuild waits for them ([`PairState::is_hurrying`]).

use std::collections::VecDeque;

use crate::sched::{Estimate, Fcfs, Knowledge, OatBatch, Outlook, Pending, Policy, Rule, Satf};
use crate::stack::BoxedDevice;
use crate::units::Instant;

/// A scheme of destaging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DestageConfig {
    /// The rules for batches.
    pub scheme: DestageScheme,
    /// TW: the number of writes in a batch, at least one.
    pub batch: usize,
    /// The order within a batch.
    pub order: BatchOrder,
}

/// The rules that decide when a batch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DestageScheme {
    /// Alternating deferred updates (ADU, liu05 section 8.1.1): writes are processed only in
    /// batches, by the members in turn.
    Alternating,
    /// Alternating destages with conditional priority (AD-CP, liu05 section 8.1.2): single writes
    /// are also processed while no read waits, and no batch begins while TR or more reads wait.
    Conditional {
        /// TR, at least one.
        reads: usize,
    },
}

/// The order of the writes in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchOrder {
    /// By ascending address (CSCAN).
    Ascending,
    /// Always the write with the shortest access time (SATF).
    Nearest,
    /// By ascending access time from the position of the arm at the beginning of the batch.
    AccessAtStart,
    /// The order in which the last write completes earliest. For batches of up to ten writes.
    Optimal,
}

impl BatchOrder {
    /// Returns the knowledge about the members that the order needs, and the name of the order.
    pub(super) fn required_knowledge(self) -> (Knowledge, &'static str) {
        match self {
            Self::Ascending => (Knowledge::Blocks, "ascending"),
            Self::Nearest => (Knowledge::Times, "satf"),
            Self::AccessAtStart => (Knowledge::Times, "access-at-start"),
            Self::Optimal => (Knowledge::Times, "optimal"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PairState {
    /// Reads that wait for either member.
    pub reads: usize,
    pub sides: [SideState; 2],
    /// The member that processes the next batch, if both have one.
    pub turn: usize,
    /// True if writes must not wait for a full batch, because the cache needs room or has to be
    /// emptied, or because a rebuild waits for them.
    pub is_hurrying: bool,
    /// True if a member is missing or the spare is incomplete. No member then waits for its turn.
    pub is_degraded: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SideState {
    /// Number of waiting writes that are not in a batch.
    pub writes: usize,
    /// Number of writes in its batch that have not begun.
    pub batch: usize,
    /// True if it is processing a batch, or serving the last write of one.
    pub is_in_batch: bool,
}

/// The next action of a free member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Read,
    Write,
    BeginBatch,
    ContinueBatch,
    Wait,
}

impl DestageConfig {
    pub(super) fn choose(&self, state: &PairState, member: usize) -> Choice {
        let own = &state.sides[member];
        if own.batch > 0 {
            // A batch is not interrupted.
            return Choice::ContinueBatch;
        }
        match self.scheme {
            DestageScheme::Alternating => self.alternate(state, member),
            DestageScheme::Conditional { reads } => self.prefer_reads(state, member, reads),
        }
    }

    /// Returns true if enough writes wait for a member for it to begin a batch.
    fn has_batch(&self, state: &PairState, member: usize) -> bool {
        let writes = state.sides[member].writes;
        writes >= self.batch || (state.is_hurrying && writes > 0)
    }

    /// Applies ADU:
    ///
    /// 1. A member whose turn it is begins a batch once TW writes wait for it. While the other
    ///    member is in a batch, it begins one only if no read waits. If writes must not wait, a
    ///    member without waiting writes loses its turn. A degraded pair does not take turns.
    /// 2. Otherwise it serves a read.
    /// 3. Otherwise it waits: fewer than TW writes are not processed.
    fn alternate(&self, state: &PairState, member: usize) -> Choice {
        let is_other_empty = state.is_hurrying && state.sides[1 - member].writes == 0;
        let is_its_turn = state.turn == member || is_other_empty || state.is_degraded;
        let must_serve_reads = state.sides[1 - member].is_in_batch && state.reads > 0;
        if self.has_batch(state, member) && is_its_turn && !must_serve_reads {
            Choice::BeginBatch
        } else if state.reads > 0 {
            Choice::Read
        } else {
            Choice::Wait
        }
    }

    /// Applies AD-CP:
    ///
    /// 1. A member begins a batch once TW writes wait for it, unless the other member is in a
    ///    batch or TR reads wait. If TW writes wait for both, they take turns, unless the pair is
    ///    degraded.
    /// 2. Otherwise it serves a read.
    /// 3. Otherwise it serves a single write, so that it is never idle while something waits.
    fn prefer_reads(&self, state: &PairState, member: usize, reads: usize) -> Choice {
        let other = &state.sides[1 - member];
        let has_no_rival = state.is_degraded || !self.has_batch(state, 1 - member);
        let is_its_turn = state.turn == member || has_no_rival;
        let must_yield = state.reads >= reads && !state.is_hurrying;
        if self.has_batch(state, member) && is_its_turn && !other.is_in_batch && !must_yield {
            Choice::BeginBatch
        } else if state.reads > 0 {
            Choice::Read
        } else if state.sides[member].writes > 0 {
            Choice::Write
        } else {
            Choice::Wait
        }
    }
}

/// The writes that wait for a member, in order of arrival, and a batch of them.
#[derive(Default)]
pub(super) struct WriteQueue {
    waiting: VecDeque<Pending>,
    batch: Option<Batch>,
}

struct Batch {
    policy: Box<dyn Policy<BoxedDevice>>,
    left: usize,
}

impl WriteQueue {
    /// Returns the number of writes that wait, including the batch.
    pub fn len(&self) -> usize {
        let batch_left = self.batch.as_ref().map_or(0, |batch| batch.left);
        self.waiting.len() + batch_left
    }

    pub fn is_in_batch(&self) -> bool {
        self.batch.is_some()
    }

    pub fn state(&self) -> SideState {
        SideState {
            writes: self.waiting.len(),
            batch: self.batch.as_ref().map_or(0, |batch| batch.left),
            is_in_batch: self.is_in_batch(),
        }
    }

    pub fn add(&mut self, pending: Pending) {
        self.waiting.push_back(pending);
    }

    pub fn take_oldest(&mut self) -> Option<Pending> {
        self.waiting.pop_front()
    }

    /// Starts a batch of the `count` oldest writes, or of all if there are fewer.
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

    /// Removes the next write of the batch.
    pub fn next_of_batch(&mut self, now: Instant, device: &BoxedDevice) -> Option<Pending> {
        let batch = self.batch.as_mut()?;
        let next = batch.policy.next(now, device)?;
        batch.left -= 1;
        Some(next)
    }

    /// If all writes in the batch of an idle member are served, ends the batch and returns true.
    pub fn end_batch(&mut self) -> bool {
        self.batch.take_if(|batch| batch.left == 0).is_some()
    }

    /// Removes and returns the write `id` if it is waiting.
    pub fn take(&mut self, id: u64) -> Option<Pending> {
        if let Some(batch) = &mut self.batch
            && let Some(taken) = batch.policy.take(id)
        {
            batch.left -= 1;
            return Some(taken);
        }
        let mut waiting = self.waiting.iter();
        let index = waiting.position(|write| write.request.id == id)?;
        self.waiting.remove(index)
    }
}

#[cfg(test)]
mod tests;
