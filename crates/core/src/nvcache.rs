//! A non-volatile write cache in front of a device.
//!
//! # What it does
//! A write completes once its data are in the cache, which then destages them to the backing
//! device. The device orders destages by the policy of its queue, which may prefer reads; a
//! mirrored pair with a [`DestageConfig`] writes them in batches. A read of blocks that are all in
//! the cache completes immediately. Any other read goes to the device, and the cache supplies the
//! blocks that it has. A block leaves the cache when the device has written it.
//!
//! A write to blocks whose destage is still waiting replaces that destage, so the blocks are
//! written once. If their destage has begun, they are destaged again after it ends, so that the
//! newest data are written last. Adjacent destages are merged, up to [`NvCacheConfig::merge`].
//!
//! When the cache is full, writes wait for room in order of arrival; the wait is part of their
//! queue time. A write larger than the cache bypasses the cache, and completes when the device has
//! written it.
//!
//! Data in the cache are safe, so flushes and writes with force unit access complete immediately.
//! Once the battery has failed ([`NvCacheConfig::battery_fails`]), a write completes when the
//! device has written it, a flush completes when all earlier data in the cache have been written,
//! and writes do not wait for full batches.
//!
//! An ordered request waits in the cache until all others have completed, and requests that arrive
//! meanwhile wait for it.
//!
//! # Cost
//! Each request takes time logarithmic in the number of extents in the cache.
//!
//! # When it is bad
//! If a destage fails, its data are lost: the device has already retried if it could, and the cache
//! only counts the failure. A block that is repeatedly overwritten before its destage begins stays
//! in the cache.
//!
//! # Origin
//! liu05 chapter 8. Overwriting, the limited size, merging and the battery are additions.
//!
//! [`DestageConfig`]: crate::mirror::DestageConfig

use std::collections::{BTreeMap, VecDeque};
use std::iter;
use std::ops::Range;

use crate::array::{blocks_of, overlaps};
use crate::device::{
    CacheWork, Children, Completion, ComponentReport, Device, Outcome, Status, SubmitError, Work,
};
use crate::mirror::Mirror;
use crate::queue::Gate;
use crate::request::{Op, Ordering, Request};
use crate::sched::Pending;
use crate::stack::BoxedDevice;
use crate::stats::OverTime;
use crate::units::{Instant, Lbn, SectorCount};

/// The parameters of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NvCacheConfig {
    /// The maximum number of blocks in the cache, at least one.
    pub size: SectorCount,
    /// The maximum size of a destage that is merged from adjacent ones; `None` for no merging.
    pub merge: Option<SectorCount>,
    /// The time at which the battery fails; `None` if it never does.
    pub battery_fails: Option<Instant>,
}

/// The device behind a cache.
pub enum CacheBacking {
    /// Any device other than a mirrored pair.
    Device(BoxedDevice),
    /// A mirrored pair, which does not wait for full batches if the cache asks it not to.
    Pair(Box<Mirror>),
}

enum Child {
    /// A read that the cache could not serve, or a flush that is passed to the device.
    Passed(Pending),
    /// A destage of the blocks that begin with this one.
    Destage(u64),
}

/// A device with a non-volatile write cache; see the [module](self).
pub struct NvCache {
    config: NvCacheConfig,
    backing: CacheBacking,
    dirty: Dirty,
    children: Children<Child>,
    /// Children that the device does not accept yet.
    queued: VecDeque<Request>,
    waiting_writes: VecDeque<Pending>,
    /// The number of writes that complete when the device has written them.
    write_through: usize,
    /// Flushes that wait until the cache is empty.
    flushes: Vec<Pending>,
    gate: Gate,
    /// The number of requests that have begun and have not completed.
    outstanding: usize,
    is_hurrying: bool,
    due: VecDeque<Completion>,
    work: CacheWork,
    blocks: OverTime,
    at: Instant,
}

impl NvCache {
    /// Creates an empty cache in front of `backing`.
    pub fn new(backing: CacheBacking, config: NvCacheConfig) -> Self {
        Self {
            config,
            backing,
            dirty: Dirty::default(),
            children: Children::default(),
            queued: VecDeque::new(),
            waiting_writes: VecDeque::new(),
            write_through: 0,
            flushes: Vec::new(),
            gate: Gate::default(),
            outstanding: 0,
            is_hurrying: false,
            due: VecDeque::new(),
            work: CacheWork::default(),
            blocks: OverTime::new(Instant::START, 0),
            at: Instant::START,
        }
    }

    /// Returns true if the backing device does not yet have the newest data of a block.
    pub fn holds(&self, block: Lbn) -> bool {
        self.dirty.covers(&(block.0..block.0 + 1))
    }

    fn has_failed(&self, now: Instant) -> bool {
        self.config.battery_fails.is_some_and(|at| at <= now)
    }

    fn release(&mut self, now: Instant) {
        while let Some(pending) = self.gate.release(self.outstanding == 0) {
            self.begin(now, pending);
        }
    }

    fn begin(&mut self, now: Instant, pending: Pending) {
        self.outstanding += 1;
        if pending.request.ordering == Ordering::Ordered {
            self.gate.enter(pending.request.id);
        }
        match pending.request.op {
            Op::Read => self.read(now, pending),
            Op::Write if self.waiting_writes.is_empty() => self.write(now, pending),
            Op::Write => self.wait_for_room(now, pending),
            Op::Flush => self.flush(now, pending),
        }
    }

    fn read(&mut self, now: Instant, pending: Pending) {
        if self.dirty.covers(&blocks_of(&pending.request)) {
            self.work.hits += 1;
            return self.complete(now, pending, Outcome::Hit, Status::Good);
        }
        self.pass(now, pending);
    }

    fn pass(&mut self, now: Instant, pending: Pending) {
        let id = self.children.insert(Child::Passed(pending));
        let mut request = pending.request;
        request.id = id;
        if request.ordering == Ordering::Ordered {
            // No other request is outstanding, so the device does not have to order this one.
            request.ordering = Ordering::default();
        }
        self.submit(now, request);
    }

    fn write(&mut self, now: Instant, pending: Pending) {
        let size = self.config.size.0;
        let sectors = pending.request.sectors.0;
        if sectors <= size && self.dirty.blocks() + sectors > size {
            return self.wait_for_room(now, pending);
        }
        let blocks = blocks_of(&pending.request);
        if sectors > size || self.has_failed(now) {
            self.write_through += 1;
            self.destage(now, blocks, vec![pending]);
            return self.hurry(now);
        }
        self.work.absorbed += 1;
        self.complete(now, pending, Outcome::Absorbed, Status::Good);
        self.destage(now, blocks, Vec::new());
    }

    fn wait_for_room(&mut self, now: Instant, pending: Pending) {
        self.work.waited += 1;
        self.waiting_writes.push_back(pending);
        self.hurry(now);
    }

    fn flush(&mut self, now: Instant, pending: Pending) {
        if !self.has_failed(now) {
            return self.complete(now, pending, Outcome::Miss, Status::Good);
        }
        self.flushes.push(pending);
        self.flush_emptied(now);
    }

    fn flush_emptied(&mut self, now: Instant) {
        if self.dirty.is_empty() {
            for pending in std::mem::take(&mut self.flushes) {
                self.pass(now, pending);
            }
        }
    }

    /// Sends `blocks` to the device. The `parents` complete when the device has written the blocks.
    fn destage(&mut self, now: Instant, blocks: Range<u64>, mut parents: Vec<Pending>) {
        let mut merged = blocks.clone();
        let mut near = self.dirty.sent_near(&blocks);
        near.retain(|(sent, _)| overlaps(sent, &blocks) || self.may_merge(sent, &blocks));
        let mut is_free = true;
        for (sent, child) in near {
            let union = merged.start.min(sent.start)..merged.end.max(sent.end);
            let fits = union.end - union.start <= Request::MAX_SECTORS.0;
            if fits && self.take_back(now, child) {
                let taken = self.dirty.remove_sent(sent.start);
                parents.splice(0..0, taken.into_iter().flat_map(|sent| sent.parents));
                self.work.overwritten += overlap_len(&sent, &blocks);
                merged = union;
            } else if overlaps(&sent, &merged) {
                is_free = false;
            }
        }
        if is_free {
            self.send(now, &merged, parents);
        } else {
            self.work.overwritten += self.dirty.postpone(merged, parents);
        }
        self.count(now);
    }

    /// Returns true if the destages of `sent` and of the adjacent `blocks` may be merged.
    fn may_merge(&self, sent: &Range<u64>, blocks: &Range<u64>) -> bool {
        let sectors = blocks.end.max(sent.end) - blocks.start.min(sent.start);
        self.config.merge.is_some_and(|max| sectors <= max.0)
    }

    /// Takes a destage back from the device if it has not begun. Returns true if it succeeds.
    fn take_back(&mut self, now: Instant, child: u64) -> bool {
        let queued = self.queued.iter().position(|request| request.id == child);
        let Some(index) = queued else {
            // The completion of an aborted destage still arrives, and is ignored.
            return self.backing.device_mut().abort(now, child);
        };
        self.queued.remove(index);
        self.children.remove(child);
        true
    }

    /// Sends a destage to the device, or its first part if it is too large for one command.
    fn send(&mut self, now: Instant, blocks: &Range<u64>, mut parents: Vec<Pending>) {
        let end = blocks.end.min(blocks.start + Request::MAX_SECTORS.0);
        if end < blocks.end {
            let parents = std::mem::take(&mut parents);
            self.dirty.postpone(end..blocks.end, parents);
        }
        let id = self.children.insert(Child::Destage(blocks.start));
        self.dirty.send(&(blocks.start..end), id, parents);
        let sectors = SectorCount(end - blocks.start);
        let request = Request {
            force_unit_access: true,
            ..Request::new(id, Op::Write, Lbn(blocks.start), sectors)
        };
        self.submit(now, request);
    }

    /// Submits a child once the device accepts it.
    fn submit(&mut self, now: Instant, child: Request) {
        self.queued.push_back(child);
        if self.queued.len() == 1 {
            self.feed(now);
        }
    }

    fn feed(&mut self, now: Instant) {
        while let Some(child) = self.queued.pop_front() {
            let device = self.backing.device_mut();
            if !device.accepts(&child) {
                self.queued.push_front(child);
                return;
            }
            let result = device.submit(now, child);
            assert_eq!(result, Ok(()), "rejected despite `accepts`: {child:?}");
        }
    }

    fn child_completed(&mut self, done: &Completion) {
        match self.children.remove(done.request.id) {
            Child::Passed(parent) => self.complete_parent(parent, done, done.status),
            Child::Destage(start) => self.end_destage(start, done),
        }
    }

    fn end_destage(&mut self, start: u64, done: &Completion) {
        let Some(sent) = self.dirty.remove_ended(start, done.request.id) else {
            return;
        };
        let now = done.at;
        self.work.destages += 1;
        self.work.failed += u64::from(!done.status.is_success());
        for parent in sent.parents {
            let status = status_in_destage(done.status, start, &parent.request);
            let attached = if status.is_success() {
                self.dirty.attach(parent)
            } else {
                Err(parent)
            };
            if let Err(parent) = attached {
                self.write_through -= 1;
                self.complete_parent(parent, done, status);
            }
        }
        let blocks = start..sent.end;
        while let Some((later, parents)) = self.dirty.take_ready(&blocks) {
            self.send(now, &later, parents);
        }
        self.count(now);
        self.flush_emptied(now);
        self.admit_waiting(now);
    }

    fn admit_waiting(&mut self, now: Instant) {
        while let Some(next) = self.waiting_writes.front() {
            let room = self.config.size.0.saturating_sub(self.dirty.blocks());
            let sectors = next.request.sectors.0;
            if sectors <= self.config.size.0 && sectors > room {
                return;
            }
            if let Some(next) = self.waiting_writes.pop_front() {
                self.write(now, next);
            }
        }
        self.hurry(now);
    }

    /// Asks a pair not to wait for full batches while the cache has to be emptied.
    fn hurry(&mut self, now: Instant) {
        let is_hurrying =
            !self.waiting_writes.is_empty() || self.write_through > 0 || self.has_failed(now);
        if is_hurrying != self.is_hurrying
            && let CacheBacking::Pair(pair) = &mut self.backing
        {
            pair.hurry(now, is_hurrying);
        }
        self.is_hurrying = is_hurrying;
    }

    fn complete(&mut self, now: Instant, pending: Pending, outcome: Outcome, status: Status) {
        let Pending { request, arrived } = pending;
        let unserved = Completion::unserved(request, arrived, now, status);
        self.end(Completion {
            outcome,
            ..unserved
        });
    }

    /// Completes a request after its child or a destage of its blocks has completed.
    fn complete_parent(&mut self, parent: Pending, done: &Completion, status: Status) {
        let Pending { request, arrived } = parent;
        if done.arrived < arrived {
            // The destage had begun before the request arrived.
            return self.complete(done.at, parent, Outcome::Miss, status);
        }
        let mut breakdown = done.breakdown;
        breakdown.queue += done.arrived - arrived;
        self.end(Completion {
            request,
            arrived,
            breakdown,
            status,
            ..*done
        });
    }

    fn end(&mut self, completion: Completion) {
        self.outstanding -= 1;
        self.gate.leave(completion.request.id);
        self.due.push_back(completion);
    }

    fn count(&mut self, now: Instant) {
        self.at = now;
        self.blocks.set(now, self.dirty.blocks());
    }

    /// Returns the instant at which the battery fails, if its failure has an effect.
    fn battery_event(&self) -> Option<Instant> {
        let has_effect = !self.is_hurrying && !self.dirty.is_empty();
        self.config.battery_fails.filter(|_| has_effect)
    }
}

impl CacheBacking {
    fn device(&self) -> &dyn Device {
        match self {
            Self::Device(device) => device,
            Self::Pair(pair) => &**pair,
        }
    }

    fn device_mut(&mut self) -> &mut dyn Device {
        match self {
            Self::Device(device) => device,
            Self::Pair(pair) => &mut **pair,
        }
    }
}

impl Device for NvCache {
    crate::forward!(self, self.backing.device(); capacity sector_size check);

    fn has_room(&self) -> bool {
        true
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        self.check(&request)?;
        let arrived = now;
        let pending = Pending { request, arrived };
        if let Some(pending) = self.gate.admit(pending, self.outstanding == 0) {
            self.begin(now, pending);
        }
        self.release(now);
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        let due = self.due.front().map(|completion| completion.at);
        let backing = self.backing.device().next_event();
        let battery = self.battery_event();
        [due, battery, backing].into_iter().flatten().min()
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        loop {
            if let Some(completion) = self.due.pop_front() {
                return Some(completion);
            }
            let at = self.next_event().filter(|at| *at <= now)?;
            if self.battery_event().is_some_and(|fails| fails <= at) {
                self.hurry(at);
            }
            if let Some(done) = self.backing.device_mut().advance(at) {
                self.child_completed(&done);
                self.release(at);
            }
            self.feed(at);
        }
    }

    fn abort(&mut self, now: Instant, id: u64) -> bool {
        let is_own = |pending: &Pending| pending.request.id == id;
        if let Some(Pending { request, arrived }) = self.gate.take(id) {
            let aborted = Completion::unserved(request, arrived, now, Status::Aborted);
            self.due.push_back(aborted);
            self.release(now);
            return true;
        }
        let write = self.waiting_writes.iter().position(is_own);
        let flush = self.flushes.iter().position(is_own);
        let held = match (write, flush) {
            (Some(index), _) => self.waiting_writes.remove(index),
            (None, index) => index.map(|index| self.flushes.remove(index)),
        };
        if let Some(held) = held {
            self.complete(now, held, Outcome::Miss, Status::Aborted);
            self.admit_waiting(now);
            self.release(now);
            return true;
        }
        let is_passed =
            |child: &Child| matches!(child, Child::Passed(pending) if pending.request.id == id);
        let Some(child) = self.children.find(is_passed) else {
            return false;
        };
        let queued = self.queued.iter().position(|request| request.id == child);
        let Some(index) = queued else {
            return self.backing.device_mut().abort(now, child);
        };
        self.queued.remove(index);
        if let Child::Passed(pending) = self.children.remove(child) {
            self.complete(now, pending, Outcome::Miss, Status::Aborted);
            self.release(now);
        }
        true
    }

    /// Reports on the cache, and on the components of the backing device.
    fn components(&self, now: Instant) -> Vec<ComponentReport> {
        let own = ComponentReport::new(Work::Cache(CacheWork {
            dirty_mean_count: self.blocks.average_count(self.at.max(now)).unwrap_or(0.0),
            dirty_max: self.blocks.max(),
            ..self.work.clone()
        }));
        let inner = self.backing.device().components(now);
        iter::once(own).chain(inner).collect()
    }
}

/// Returns the status of a request whose destage begins at `start` and has ended with `status`.
fn status_in_destage(status: Status, start: u64, request: &Request) -> Status {
    let Status::MediumError { offset } = status else {
        return status;
    };
    // The blocks before the bad one were written.
    let bad = start + u64::from(offset);
    if request.end().0 <= bad {
        return Status::Good;
    }
    let offset = bad.saturating_sub(request.start.0) as u16;
    Status::MediumError { offset }
}

fn overlap_len(one: &Range<u64>, other: &Range<u64>) -> u64 {
    let end = one.end.min(other.end);
    end.saturating_sub(one.start.max(other.start))
}

/// Blocks in flight to the device, and blocks that are postponed until an overlapping destage has
/// ended. The extents of each map are disjoint.
#[derive(Default)]
struct Dirty {
    /// Keyed by the first block.
    sent: BTreeMap<u64, Destage>,
    later: BTreeMap<u64, PostponedDestage>,
    blocks: u64,
}

struct Destage {
    end: u64,
    child: u64,
    /// Requests that complete when the destage ends.
    parents: Vec<Pending>,
}

/// Blocks whose destage has to wait for another destage.
#[derive(Default)]
struct PostponedDestage {
    end: u64,
    /// Requests that complete when the destage ends.
    parents: Vec<Pending>,
}

impl Dirty {
    /// Returns the number of blocks; those that are in both maps count twice.
    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn is_empty(&self) -> bool {
        self.blocks == 0
    }

    /// Returns true if all of `blocks` are in the cache.
    fn covers(&self, blocks: &Range<u64>) -> bool {
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

    /// Returns the extents in flight that overlap or touch `blocks`, with their destages.
    fn sent_near(&self, blocks: &Range<u64>) -> Vec<(Range<u64>, u64)> {
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

    /// Adds blocks in flight. None of them may be in flight already.
    fn send(&mut self, blocks: &Range<u64>, child: u64, parents: Vec<Pending>) {
        self.blocks += blocks.end - blocks.start;
        let end = blocks.end;
        let sent = Destage {
            end,
            child,
            parents,
        };
        self.sent.insert(blocks.start, sent);
    }

    fn remove_sent(&mut self, start: u64) -> Option<Destage> {
        let sent = self.sent.remove(&start)?;
        self.blocks -= sent.end - start;
        Some(sent)
    }

    /// Removes the extent in flight that begins at `start` if it belongs to the destage `child`.
    fn remove_ended(&mut self, start: u64, child: u64) -> Option<Destage> {
        let sent = self.sent.get(&start);
        sent.filter(|sent| sent.child == child)?;
        self.remove_sent(start)
    }

    /// Attaches a request to its blocks that are still to be written; returns it if none are.
    fn attach(&mut self, parent: Pending) -> Result<(), Pending> {
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

    /// Adds postponed blocks, and merges them with the postponed extents that they overlap or
    /// touch. Returns the number of added blocks that were already postponed.
    fn postpone(&mut self, blocks: Range<u64>, mut parents: Vec<Pending>) -> u64 {
        let Range { mut start, mut end } = blocks;
        let mut repeated = 0;
        let near = |start: u64, end: u64, later: &BTreeMap<u64, PostponedDestage>| {
            let (&first, near) = later.range(..=end).next_back()?;
            (near.end >= start).then_some(first)
        };
        let added = start..end;
        while let Some(first) = near(start, end, &self.later) {
            let PostponedDestage {
                end: last,
                parents: older,
            } = self.later.remove(&first).unwrap_or_default();
            self.blocks -= last - first;
            repeated += last.min(added.end).saturating_sub(first.max(added.start));
            (start, end) = (start.min(first), end.max(last));
            parents.splice(0..0, older);
        }
        self.blocks += end - start;
        self.later.insert(start, PostponedDestage { end, parents });
        repeated
    }

    /// Removes a postponed extent that overlaps or touches `blocks`, but no blocks in flight.
    fn take_ready(&mut self, blocks: &Range<u64>) -> Option<(Range<u64>, Vec<Pending>)> {
        let before = self.later.range(..blocks.start).next_back();
        let others = self.later.range(blocks.start..=blocks.end);
        let near = before.into_iter().chain(others);
        let free = |(start, later): (&u64, &PostponedDestage)| {
            let blocks = *start..later.end;
            let near = self.sent_near(&blocks);
            let is_free = near.iter().all(|(sent, _)| !overlaps(sent, &blocks));
            is_free.then_some(blocks)
        };
        let ready = near
            .filter(|(_, later)| later.end > blocks.start)
            .find_map(free)?;
        let later = self.later.remove(&ready.start)?;
        self.blocks -= ready.end - ready.start;
        Some((ready, later.parents))
    }
}
