//! The blocks of a write cache that the backing device does not have yet.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::array::overlaps;
use crate::sched::Pending;

/// Blocks on their way to the device, and blocks that follow once a destage that overlaps them has
/// ended. The extents of each are disjoint.
#[derive(Default)]
pub(super) struct Dirty {
    /// Keyed by the first block.
    sent: BTreeMap<u64, Sent>,
    later: BTreeMap<u64, Later>,
    blocks: u64,
}

/// The blocks of a destage.
pub(super) struct Sent {
    pub end: u64,
    /// The id of the destage.
    pub child: u64,
    /// Requests that complete with it.
    pub parents: Vec<Pending>,
}

/// Blocks whose destage has to wait for another.
#[derive(Default)]
pub(super) struct Later {
    pub end: u64,
    /// Requests that complete with it.
    pub parents: Vec<Pending>,
}

impl Dirty {
    /// Returns the number of blocks; those that are in both maps count twice.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    pub fn is_empty(&self) -> bool {
        self.blocks == 0
    }

    /// Returns true if it holds all of `blocks`.
    pub fn covers(&self, blocks: &Range<u64>) -> bool {
        let mut at = blocks.start;
        while at < blocks.end {
            let sent = self.sent.range(..=at).next_back().map(|(_, sent)| sent.end);
            let later = self
                .later
                .range(..=at)
                .next_back()
                .map(|(_, later)| later.end);
            match sent.max(later).filter(|&end| end > at) {
                Some(end) => at = end,
                None => return false,
            }
        }
        true
    }

    /// Returns the extents on their way that overlap or touch `blocks`, with the ids of their
    /// destages.
    pub fn sent_near(&self, blocks: &Range<u64>) -> Vec<(Range<u64>, u64)> {
        let before = self
            .sent
            .range(..blocks.start)
            .next_back()
            .filter(|(_, sent)| sent.end >= blocks.start);
        let others = self.sent.range(blocks.start..=blocks.end);
        let near = before.into_iter().chain(others);
        near.map(|(&start, sent)| (start..sent.end, sent.child))
            .collect()
    }

    /// Adds blocks on their way; none of them may be on its way already.
    pub fn send(&mut self, blocks: &Range<u64>, child: u64, parents: Vec<Pending>) {
        self.blocks += blocks.end - blocks.start;
        let end = blocks.end;
        let sent = Sent {
            end,
            child,
            parents,
        };
        self.sent.insert(blocks.start, sent);
    }

    /// Removes the extent on its way that begins at `start`.
    pub fn sent(&mut self, start: u64) -> Option<Sent> {
        let sent = self.sent.remove(&start)?;
        self.blocks -= sent.end - start;
        Some(sent)
    }

    /// Removes the extent on its way that begins at `start` if it is in the destage `child`.
    pub fn ended(&mut self, start: u64, child: u64) -> Option<Sent> {
        let sent = self.sent.get(&start);
        sent.filter(|sent| sent.child == child)?;
        self.sent(start)
    }

    /// Attaches a request to blocks of its own that are not written yet; returns it without any.
    pub fn attach(&mut self, parent: Pending) -> Result<(), Pending> {
        let start = parent.request.start.0;
        let end = parent.request.end().0;
        let sent = self.sent.range_mut(..end).next_back();
        if let Some((_, sent)) = sent.filter(|(_, sent)| sent.end > start) {
            sent.parents.push(parent);
            return Ok(());
        }
        let later = self.later.range_mut(..end).next_back();
        if let Some((_, later)) = later.filter(|(_, later)| later.end > start) {
            later.parents.push(parent);
            return Ok(());
        }
        Err(parent)
    }

    /// Adds blocks for later, merged with those that they overlap or are adjacent to. Returns how
    /// many of them were already there.
    pub fn postpone(&mut self, blocks: Range<u64>, mut parents: Vec<Pending>) -> u64 {
        let Range { mut start, mut end } = blocks;
        let mut repeated = 0;
        let near = |start: u64, end: u64, later: &BTreeMap<u64, Later>| {
            let (&first, near) = later.range(..=end).next_back()?;
            (near.end >= start).then_some(first)
        };
        let added = start..end;
        while let Some(first) = near(start, end, &self.later) {
            let Later {
                end: last,
                parents: older,
            } = self.later.remove(&first).unwrap_or_default();
            self.blocks -= last - first;
            repeated += last.min(added.end).saturating_sub(first.max(added.start));
            (start, end) = (start.min(first), end.max(last));
            parents.splice(0..0, older);
        }
        self.blocks += end - start;
        self.later.insert(start, Later { end, parents });
        repeated
    }

    /// Removes an extent for later that overlaps or touches `blocks` and overlaps none on its way.
    pub fn ready(&mut self, blocks: &Range<u64>) -> Option<(Range<u64>, Vec<Pending>)> {
        let before = self.later.range(..blocks.start).next_back();
        let others = self.later.range(blocks.start..=blocks.end);
        let near = before.into_iter().chain(others);
        let free = |(start, later): (&u64, &Later)| {
            let own = *start..later.end;
            let near = self.sent_near(&own);
            let is_free = near.iter().all(|(sent, _)| !overlaps(sent, &own));
            is_free.then_some(own)
        };
        let own = near
            .filter(|(_, later)| later.end > blocks.start)
            .find_map(free)?;
        let later = self.later.remove(&own.start)?;
        self.blocks -= own.end - own.start;
        Some((own, later.parents))
    }
}
