//! An injector of faults: errors, delays, recalibrations and outages, by seed or by schedule.
//!
//! # What it does
//! Spoils what the device behind it does as a [`FaultPlan`] says:
//!
//! * Medium errors: the device serves the request, tries again for some revolutions and gives up
//!   ([`Status::MediumError`] with the first bad block).
//! * Recovered errors: the same, but the last attempt succeeds ([`Status::Recovered`]).
//! * Spikes: a request takes longer.
//! * Recalibration: at regular times the device serves nothing for a while. It finishes the request
//!   under way first; requests that come meanwhile wait.
//! * Outages: from one instant to another the device cannot be reached. Whatever is inside when it
//!   is lost ends there with [`Status::NotReady`], and so does at once whatever comes until it
//!   returns. The device keeps its state, as if a cable was pulled.
//!
//! The extra time keeps the device busy: its clock stands still until it is over, and with it
//! everything that waits or is under way inside. Retries count as rotation and the delay of a spike
//! as owed time of their own request; for all others the time counts as queue time.
//!
//! # Cost
//! A comparison with each listed range of blocks for each request, and a random number for each
//! kind of random fault in the plan.
//!
//! # When it is bad
//! * The platter stands still with the clock. Retries are whole revolutions, which does not matter;
//!   after a spike or a recalibration the platter is where it was before.
//! * Whether the buffer holds a bad block plays no part. A write that the write cache absorbed
//!   fails at once, where a drive would report a deferred error with a later request.
//! * Nothing is reallocated: a bad block stays bad.
//! * Requests to a lost device fail at once. Clients that issue the next request without a pause
//!   spend all of them at one instant.
//!
//! # Example
//! ```
//! use diskarm_core::drive::Drive;
//! use diskarm_core::sched::Estimate;
//! use diskarm_core::units::{Lbn, Span};
//! use diskarm_core::wrap::{AffectedOps, BadBlocks, FaultPlan, Faults, Recalibration};
//!
//! fn faulty(drive: Drive) -> Faults<Drive> {
//!     let plan = FaultPlan {
//!         medium_errors: vec![BadBlocks {
//!             first: Lbn(1000),
//!             end: Lbn(1010),
//!             affected: AffectedOps::Reads,
//!             retries: 16,
//!         }],
//!         recalibration: Some(Recalibration {
//!             every: Span::from_s(600.0),
//!             lasts: Span::from_s(0.5),
//!         }),
//!         ..FaultPlan::default()
//!     };
//!     let revolution = drive.shape().revolution;
//!     Faults::new(drive, &plan, revolution)
//! }
//! ```

mod clock;
mod judge;
mod plan;

pub use clock::PausedRehearsal;
pub use plan::{AffectedOps, BadBlocks, FaultPlan, Outage, RandomErrors, Recalibration, Spikes};

use std::collections::VecDeque;

use clock::Clock;
use judge::Judge;

use crate::device::{Children, Completion, Device, Status, SubmitError};
use crate::request::Request;
use crate::sched::Estimate;
use crate::units::{Instant, Span};

/// See the module's documentation.
pub struct Faults<D> {
    device: D,
    judge: Judge,
    /// Time of a retry.
    revolution: Span,
    clock: Clock,
    /// Requests inside the device.
    children: Children<Child>,
    /// How many requests were submitted to it.
    submitted: u64,
    /// Requests that have not ended, `retried` included.
    live: usize,
    /// A request that the device has served, during the extra time that it takes.
    retried: Option<Completion>,
    /// Requests that ended otherwise.
    due: VecDeque<Completion>,
    recalibration: Option<Recalibration>,
    /// When the next recalibration is due.
    recalibrates: Instant,
    /// The outage under way, if any, and those to come.
    outages: VecDeque<Outage>,
    is_lost: bool,
}

/// A request inside the device.
#[derive(Clone, Copy)]
struct Child {
    request: Request,
    arrived: Instant,
    /// How many were submitted before it.
    number: u64,
    /// It has not ended. What has ended may be still under way inside.
    is_live: bool,
}

impl<D: Device> Faults<D> {
    /// `device` with the faults of `plan`; a retry takes one `revolution`.
    ///
    /// # Panics
    /// When the plan contradicts itself; see [`FaultPlan::check`].
    pub fn new(device: D, plan: &FaultPlan, revolution: Span) -> Self {
        if let Err(error) = plan.check() {
            panic!("{error}");
        }
        let every = plan.recalibration.map_or(Span::ZERO, |often| often.every);
        Self {
            device,
            judge: Judge::new(plan),
            revolution,
            clock: Clock::default(),
            children: Children::default(),
            submitted: 0,
            live: 0,
            retried: None,
            due: VecDeque::new(),
            recalibration: plan.recalibration,
            recalibrates: Instant::START + every,
            outages: plan.outages.iter().copied().collect(),
            is_lost: false,
        }
    }

    /// Stops the device at `at`, between two requests, if a recalibration was due by then. An idle
    /// device began in time.
    #[inline]
    fn recalibrate(&mut self, at: Instant, is_idle: bool) {
        let Some(Recalibration { every, lasts }) = self.recalibration else {
            return;
        };
        if at < self.recalibrates {
            return;
        }
        let since_due = Span::from_ns((at.as_ns() % every.as_ns() as u64) as i64);
        self.recalibrates = at - since_due + every;
        let left = if is_idle { lasts - since_due } else { lasts };
        self.clock.stop(at, left.or_zero());
    }

    /// Begins and ends outages by `now`.
    #[inline]
    fn lose_and_return(&mut self, now: Instant) {
        while let Some(&Outage { from, until }) = self.outages.front()
            && from <= now
        {
            if !self.is_lost {
                self.is_lost = true;
                self.end_all(from);
            }
            if now < until {
                return;
            }
            self.is_lost = false;
            self.outages.pop_front();
        }
    }

    /// Ends everything that has not ended, in order of arrival.
    #[cold]
    fn end_all(&mut self, at: Instant) {
        let mut ended: Vec<(u64, Child)> = self
            .children
            .iter()
            .filter(|(_, child)| child.is_live)
            .map(|(id, child)| (id, *child))
            .collect();
        ended.sort_by_key(|(_, child)| child.number);
        let not_ready =
            |request, arrived| Completion::unserved(request, arrived, at, Status::NotReady);
        let retried = self.retried.take();
        self.due
            .extend(retried.map(|retried| not_ready(retried.request, retried.arrived)));
        for (id, child) in ended {
            self.end(id);
            self.due.push_back(not_ready(child.request, child.arrived));
            // What cannot be taken back any more completes without notice.
            self.device.abort(self.clock.inside(at), id);
        }
        self.live = 0;
    }

    /// The child's request has ended, whatever the device does with it.
    fn end(&mut self, id: u64) {
        if let Some(child) = self.children.get_mut(id) {
            child.is_live = false;
        }
    }

    /// Turns a completion of the device into one of its request, if that has not ended before; if
    /// it takes extra time, it is `retried` meanwhile.
    #[inline]
    fn lift(&mut self, mut completion: Completion) -> Option<Completion> {
        let child = self.children.remove(completion.request.id);
        let inside = completion.response();
        let at = self.clock.outside(completion.at);
        if !child.is_live {
            self.recalibrate(at, false);
            return None;
        }
        completion.request = child.request;
        completion.arrived = child.arrived;
        completion.at = at;
        completion.breakdown.queue += completion.response() - inside;
        if completion.status.is_success() {
            let verdict = self.judge.judge(&completion);
            completion.status = verdict.status;
            let retries = self.revolution * verdict.retries.into();
            completion.breakdown.rotation += retries;
            completion.breakdown.owed += verdict.delay;
            completion.at += retries + verdict.delay;
        }
        let extra = completion.at - at;
        self.clock.stop(at, extra);
        self.recalibrate(completion.at, false);
        if extra > Span::ZERO {
            self.retried = Some(completion);
            return None;
        }
        self.live -= 1;
        Some(completion)
    }

    fn take_retried(&mut self) -> Option<Completion> {
        self.live -= 1;
        self.retried.take()
    }
}

impl<D: Device> Device for Faults<D> {
    forward!(capacity sector_size check components);

    #[inline]
    fn has_room(&self) -> bool {
        self.is_lost || (self.retried.is_none() && self.device.has_room())
    }

    #[inline]
    fn accepts(&self, request: &Request) -> bool {
        self.is_lost || (self.retried.is_none() && self.device.accepts(request))
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        self.device.check(&request)?;
        self.lose_and_return(now);
        if self.is_lost {
            let not_ready = Completion::unserved(request, now, now, Status::NotReady);
            self.due.push_back(not_ready);
            return Ok(());
        }
        if self.children.is_empty() && self.retried.is_none() {
            self.recalibrate(now, true);
        }
        let id = self.children.insert(Child {
            request,
            arrived: now,
            number: self.submitted,
            is_live: true,
        });
        let inside = self.clock.inside(now);
        let taken = self.device.submit(inside, Request { id, ..request });
        match taken {
            Ok(()) => {
                self.submitted += 1;
                self.live += 1;
            }
            Err(_) => {
                self.children.remove(id);
            }
        }
        taken
    }

    fn next_event(&self) -> Option<Instant> {
        let due = self.due.front().map(|completion| completion.at);
        let retried = self.retried.as_ref().map(|completion| completion.at);
        let inside = self.device.next_event();
        let inside = inside.map(|at| self.clock.outside(at));
        let outage = self.outages.front().and_then(|outage| {
            if self.is_lost {
                // Also with nothing inside: from then on the device may have no room.
                Some(outage.until)
            } else {
                (self.live > 0).then_some(outage.from)
            }
        });
        let events = [due, retried, inside, outage];
        events.into_iter().flatten().min()
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            if !self.due.is_empty() {
                return self.due.pop_front();
            }
            if self
                .retried
                .as_ref()
                .is_some_and(|retried| retried.at <= at)
            {
                return self.take_retried();
            }
            let event = self.device.next_event();
            if event.is_some_and(|event| self.clock.outside(event) <= at) {
                let done = self.device.advance(self.clock.inside(at));
                if let Some(completion) = done.and_then(|done| self.lift(done)) {
                    return Some(completion);
                }
            } else {
                self.lose_and_return(at);
            }
        }
        None
    }

    fn abort(&mut self, now: Instant, id: u64) -> bool {
        self.lose_and_return(now);
        let child = self
            .children
            .find(|child| child.is_live && child.request.id == id);
        let Some(child) = child else {
            return false;
        };
        if !self.device.abort(self.clock.inside(now), child) {
            return false;
        }
        // The device's clock may stand still: it would complete only later.
        if let Some(Child {
            request, arrived, ..
        }) = self.children.get_mut(child).copied()
        {
            self.end(child);
            self.live -= 1;
            let aborted = Completion::unserved(request, arrived, now, Status::Aborted);
            self.due.push_back(aborted);
        }
        true
    }
}

impl<D: Device + Estimate> Estimate for Faults<D> {
    type Outlook<'a> = D::Outlook<'a>;
    type Rehearsal = PausedRehearsal<D::Rehearsal>;

    forward!(shape locate);

    #[inline]
    fn outlook(&self, now: Instant) -> Self::Outlook<'_> {
        self.device.outlook(self.clock.inside(now))
    }

    fn rehearse(&self) -> Self::Rehearsal {
        PausedRehearsal::new(self.device.rehearse(), self.clock)
    }
}
