//! A drive model: commands in, completions out, without I/O or a clock.
//!
//! A [`Drive`] is a command queue in front of a [`Core`], which computes how one command is served.

mod arm;
mod bus;
mod core;
mod costs;
mod deferred;
mod estimate;
mod gaps;
mod ranges;
mod read;
mod write;

pub use self::core::Core;
pub use estimate::{Rehearsal, View};
pub use gaps::GapReader;

use self::core::{Command, Dirty, Last, overheads};
use arm::Arm;
use bus::HostPath;
use costs::{Costs, Fate};
use deferred::Deferred;
use std::collections::VecDeque;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::device::{
    Completion, ComponentReport, Device, Outcome, Persisted, Status, SubmitError, Work, check,
};
use crate::geometry::Layout;
use crate::mechanics::{Mechanism, Position};
use crate::queue::CommandQueue;
use crate::request::{Op, Ordering, Request};
use crate::sched::{Estimate, Pending};
use crate::spec::{self, Spec};
use crate::text::InputError;
use crate::units::{Angle, Bytes, Instant, Lbn, SectorCount};

/// A drive with its on-board queue.
pub struct Drive {
    core: Core,
    sector_size: Bytes,
    queue: CommandQueue<Core>,
    depth: usize,
    outstanding: usize,
    /// The next completion, kept separately because drives rarely have several commands in service.
    next: Option<Completion>,
    later: VecDeque<Completion>,
    /// Instant at which the command that began last completes.
    last: Instant,
    open: Instant,
    now: Instant,
    gaps: Option<Box<GapReader>>,
    deferred: Option<Box<Deferred>>,
}

impl Drive {
    /// Creates a drive from `spec`, with its platter at angle `origin` at [`Instant::START`].
    ///
    /// # Errors
    /// If the geometry is inconsistent.
    pub fn new(spec: &Spec, origin: Angle) -> Result<Self, InputError> {
        let layout = Arc::new(Layout::new(&spec.geometry)?);
        Ok(Self::with_layout(spec, layout, origin))
    }

    /// Like [`Self::new`], but with an existing layout, which several drives can share.
    pub fn with_layout(spec: &Spec, layout: Arc<Layout>, origin: Angle) -> Self {
        Self::with_mechanism(spec, Mechanism::new(spec, layout, origin))
    }

    /// Like [`Self::new`], but with a copy of an existing mechanism. Copies share their tables.
    pub fn with_mechanism(spec: &Spec, mechanism: Mechanism) -> Self {
        let mut core = Core::new(spec, mechanism);
        core.fate = Fate::new(spec);
        Self {
            queue: CommandQueue::new(spec.queue.policy.policy(&core)),
            deferred: Deferred::new(spec, &core),
            core,
            sector_size: Bytes(u64::from(spec.geometry.sector_bytes)),
            depth: spec.queue.depth as usize,
            outstanding: 0,
            next: None,
            later: VecDeque::new(),
            last: Instant::START,
            open: Instant::START,
            now: Instant::START,
            gaps: None,
        }
    }

    /// Sets the seed of the drive's random behaviour, 0 by default.
    pub fn with_seed(mut self, seed: u64) -> Self {
        if let Some(fate) = &mut self.core.fate {
            fate.seed(seed);
        }
        self
    }

    /// Returns the layout of blocks on the media.
    pub fn layout(&self) -> &Layout {
        &self.core.mechanism.layout
    }

    #[inline(always)]
    fn set_now(&mut self, now: Instant) {
        let last = self.now;
        assert!(now >= last, "time runs backwards: {now:?} after {last:?}");
        self.now = now;
    }

    #[inline]
    fn begin(&mut self, now: Instant) {
        if self.deferred.is_some() {
            return self.begin_deferred(now);
        }
        self.begin_queued(now);
    }

    #[inline]
    fn begin_queued(&mut self, now: Instant) {
        while !self.queue.is_empty() && self.begins() <= now {
            self.begin_next();
        }
    }

    /// Returns the instant at which the next command may begin. An ordered command waits for the
    /// previous completion.
    #[inline]
    fn begins(&self) -> Instant {
        if self.queue.is_special() && self.queue.next_is_ordered() {
            return self.open.max(self.last);
        }
        self.open
    }

    fn begin_next(&mut self) {
        self.open = self.begins();
        let next = self.queue.next(self.open, &self.core);
        if let Some(Pending { request, arrived }) = next {
            if !request.is_simple_transfer() {
                self.queue.note_served(&request, &self.core);
            }
            self.begin_one(request, arrived);
            if request.ordering == Ordering::Ordered {
                self.open = self.open.max(self.last);
            }
        }
    }

    /// Calls [`Self::begin_one`] without inlining it, for use outside the hot path.
    #[cold]
    #[inline(never)]
    fn begin_one_cold(&mut self, request: Request, arrived: Instant) -> (Outcome, Instant) {
        self.begin_one(request, arrived)
    }

    /// Starts a command. Returns its buffer outcome and the instant of its completion.
    #[inline(always)]
    fn begin_one(&mut self, request: Request, arrived: Instant) -> (Outcome, Instant) {
        if self.gaps.is_some() {
            self.read_in_gap(&request, arrived);
        }
        let command = Command::new(request, arrived, self.open);
        let served = self.core.serve(&command);
        let completion = &served.completion;
        if completion.breakdown.total() != completion.response() {
            breakdown_mismatch(completion);
        }
        let is_ordered = completion.at >= self.last && served.open >= self.open;
        assert!(
            is_ordered,
            "out of order: {completion:?} after {:?}",
            self.last
        );
        self.last = completion.at;
        self.open = served.open;
        if self.next.is_none() {
            self.next = Some(served.completion);
        } else {
            self.later.push_back(served.completion);
        }
        (served.completion.outcome, served.completion.at)
    }
}

/// A separate function, so that the message does not slow down the hot path.
#[cold]
#[inline(never)]
fn breakdown_mismatch(completion: &Completion) -> ! {
    panic!("the breakdown does not add up to the response time: {completion:?}")
}

impl Device for Drive {
    fn capacity(&self) -> SectorCount {
        self.core.mechanism.layout.sectors()
    }

    fn sector_size(&self) -> Bytes {
        self.sector_size
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.outstanding < self.depth
    }

    #[inline(always)]
    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        check(&request, self.capacity())?;
        if !self.has_room() {
            return Err(SubmitError::Full);
        }
        self.set_now(now);
        self.outstanding += 1;
        // This command does not affect the choice of commands that begin before it arrives.
        if self.deferred.is_some() {
            self.begin_deferred(now);
            self.submit_deferred(now, request);
            return Ok(());
        }
        self.begin_queued(now);
        if self.queue.is_empty() && self.open <= now && request.is_simple_transfer() {
            self.queue.note_bypass(&request, &self.core);
            self.begin_one(request, now);
            return Ok(());
        }
        let arrived = now;
        let pending = Pending { request, arrived };
        if request.is_simple_transfer() {
            self.queue.add(pending, &self.core);
        } else {
            self.queue.add_special(pending, &self.core);
            self.begin_queued(now);
        }
        Ok(())
    }

    #[inline]
    fn next_event(&self) -> Option<Instant> {
        let completes = self.next.as_ref().map(|c| c.at);
        if self.deferred.is_some() {
            return self.next_deferred(completes);
        }
        if self.queue.is_empty() {
            return completes;
        }
        let begins = self.begins();
        Some(completes.map_or(begins, |at| at.min(begins)))
    }

    #[inline(always)]
    fn advance(&mut self, now: Instant) -> Option<Completion> {
        self.set_now(now);
        self.begin(now);
        self.next.as_ref().filter(|next| next.at <= now)?;
        self.outstanding -= 1;
        let done = self.next.take();
        if !self.later.is_empty() {
            self.next = self.later.pop_front();
        }
        done
    }

    fn abort(&mut self, now: Instant, id: u64) -> bool {
        self.set_now(now);
        self.begin(now);
        let deferred = self.deferred.as_mut();
        let pending = deferred
            .and_then(|deferred| deferred.take(id))
            .or_else(|| self.queue.take(id, &self.core));
        let Some(Pending { request, arrived }) = pending else {
            return false;
        };
        if request.ordering == Ordering::Ordered {
            // Commands that waited for the aborted one may begin, but not in the past.
            self.open = self.open.max(now);
        }
        let aborted = Completion::unserved(request, arrived, now, Status::Aborted);
        // Completions of commands in service may be due later.
        if let Some(next) = self.next.take() {
            self.later.push_front(next);
        }
        let index = self.later.partition_point(|c| c.at <= now);
        self.later.insert(index, aborted);
        self.next = self.later.pop_front();
        true
    }

    fn components(&self, _: Instant) -> Vec<ComponentReport> {
        let buffer = self.deferred.as_ref().map(|deferred| ComponentReport {
            name: String::new(),
            work: Work::Buffer(deferred.work),
        });
        buffer.into_iter().collect()
    }

    fn persisted(&mut self, now: Instant) -> Option<Vec<Persisted>> {
        self.set_now(now);
        if self.deferred.is_some() {
            self.begin_deferred(now);
        }
        let log = &mut self.core.persist_log;
        Some(log.get_or_insert_default().by(now))
    }
}

impl Estimate for Drive {
    type Outlook<'a> = View<'a>;
    type Rehearsal = Rehearsal;

    crate::forward!(core: shape locate);

    #[inline]
    fn outlook(&self, now: Instant) -> View<'_> {
        self.core.view(now, now)
    }

    fn rehearse(&self) -> Rehearsal {
        self.core.rehearse_outside(self.open)
    }
}

// Operations for a logical unit that contains the drive: moving the arm and changing the buffer
// rules or the layout.
impl Drive {
    /// Returns true if no request is outstanding.
    pub fn is_idle(&self) -> bool {
        self.outstanding == 0
    }

    /// Moves the arm to the track of a block (SCSI: SEEK). Returns the instant of the completion.
    ///
    /// No published parameters describe this command. It is modelled as a read miss that ends when
    /// the head has settled: the command overhead of a read, everything that the arm must do first,
    /// the arm movement, and the completion of a read.
    ///
    /// # Panics
    /// If a request is outstanding, the block does not exist, or time runs backwards.
    pub fn seek(&mut self, now: Instant, at: Lbn) -> Instant {
        assert!(self.is_idle(), "the drive is not idle");
        self.set_now(now);
        self.begin(now);
        let request = Request::new(0, Op::Read, at, SectorCount(1));
        let end = self.core.seek(&Command::new(request, now, self.open));
        self.open = end;
        self.last = end;
        if let Some(deferred) = &mut self.deferred {
            deferred.arm_is_busy(end);
        }
        end
    }

    /// Applies the buffer rules of `spec` to all commands that begin from now on. Dirty data reach
    /// the media as scheduled; a `deferred` cache is written out first. New segments are empty.
    pub fn set_buffer(&mut self, now: Instant, spec: &Spec) {
        self.set_now(now);
        self.begin(now);
        self.set_deferred(now, spec);
        self.core.set_buffer(now, spec);
    }

    /// Switches to another layout with the same numbers of cylinders, surfaces and blocks. The
    /// buffer is emptied, because blocks may have moved.
    ///
    /// # Panics
    /// If a request is outstanding, or the layout belongs to another drive.
    pub fn set_layout(&mut self, now: Instant, layout: Arc<Layout>) {
        assert!(self.is_idle(), "the drive is not idle");
        let old = self.layout();
        assert!(
            (old.cylinders(), old.surfaces(), old.sectors())
                == (layout.cylinders(), layout.surfaces(), layout.sectors()),
            "the layout belongs to another drive"
        );
        self.set_now(now);
        self.begin(now);
        self.destage_all(now);
        self.core.set_layout(now, layout);
    }
}

impl Core {
    fn seek(&mut self, command: &Command) -> Instant {
        let start = self.ready(command, self.costs.read_miss.after(self.last.op));
        let from = self.call(start);
        let to = self.mechanism.layout.extent(command.request.start);
        let arrival = from.since + (self.mechanism).movement(Op::Read, from, to.cylinder, to.head);
        self.arm = Arm::Free(Position {
            cylinder: to.cylinder,
            head: to.head,
            since: arrival,
        });
        self.dirty.destaged = Lbn(u64::MAX);
        self.last = Last::NONE;
        let end = arrival.max(self.bus_free) + self.overheads.read_completion;
        self.bus_free = end;
        end
    }

    fn set_buffer(&mut self, now: Instant, spec: &Spec) {
        let (old, new) = (&self.rules, &spec.buffer);
        let segments = (old.segments, old.segment, old.dedicated_write_segment);
        if segments != (new.segments, new.segment, new.dedicated_write_segment) {
            self.empty(now, &spec.buffer);
        }
        self.buffer.set_invalidation(new.write_invalidates);
        self.path = HostPath::new(spec);
        self.costs = Costs::new(spec);
        self.overheads = overheads(spec, self.mechanism.layout.physical());
        self.rules = spec.buffer.clone();
    }

    fn set_layout(&mut self, now: Instant, layout: Arc<Layout>) {
        let rules = self.rules.clone();
        self.empty(now, &rules);
        self.mechanism.layout = layout;
        self.dirty = Dirty::none(self.dirty.on_media);
        self.last.end = Lbn(u64::MAX);
    }

    fn empty(&mut self, now: Instant, rules: &spec::Buffer) {
        self.arm = Arm::Free(self.call(now));
        self.buffer = Buffer::new(rules);
    }
}
