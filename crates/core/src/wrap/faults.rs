//! An injector of random or scheduled faults: errors, delays, recalibrations and outages.
//!
//! # What it does
//! Injects the faults of a [`FaultPlan`] into the wrapped device:
//!
//! * Medium errors: the device serves the request, tries again for some revolutions and gives up
//!   ([`Status::MediumError`] with the first bad block).
//! * Recovered errors: like medium errors, but the last attempt succeeds ([`Status::Recovered`]).
//! * Spikes: a request takes longer.
//! * Recalibration: at regular intervals the device serves nothing for a while. It finishes the
//!   current request first; requests that arrive meanwhile wait.
//! * Outages: during a period the device cannot be reached. Requests in the device at its start
//!   fail with [`Status::NotReady`], and requests that arrive during it fail immediately. The
//!   device keeps its state, as if a cable had been pulled.
//!
//! The extra time keeps the device busy: its clock pauses, and so do all requests in it. For the
//! affected request, retries count as rotation and a spike as `owed` time; for all other requests
//! the time counts as queue time.
//!
//! # Cost
//! For each request, a comparison with each listed range of blocks, and a random number for each
//! kind of random fault in the plan.
//!
//! # When it is bad
//! * The platter pauses with the clock. Retries are whole revolutions, so this does not matter for
//!   them; after a spike or a recalibration the platter has the same angle as before.
//! * It does not matter whether the buffer holds a bad block. A write that the write cache absorbed
//!   fails immediately, whereas a drive would report a deferred error with a later request.
//! * Nothing is reallocated: a bad block stays bad.
//! * Requests fail immediately during an outage. Clients that issue the next request without a
//!   pause use up all their requests at one instant.
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

mod plan;

use std::collections::VecDeque;

use crate::device::{Children, Completion, Device, Status, SubmitError};
use crate::random::{Chance, Generator, Purpose, below, generator};
use crate::request::{Op, Request};
use crate::sched::{Estimate, Rehearse};
use crate::units::{Instant, Span};

pub use plan::{AffectedOps, BadBlocks, FaultPlan, Outage, RandomErrors, Recalibration, Spikes};

/// A wrapper that injects faults into a device.
pub struct Faults<D> {
    device: D,
    judge: Judge,
    revolution: Span,
    clock: Clock,
    children: Children<Child>,
    submitted: u64,
    /// Requests that have not ended, `retried` included.
    live: usize,
    /// A request that the device has served and that is taking its extra time.
    retried: Option<Completion>,
    /// Completions produced here rather than by the device.
    due: VecDeque<Completion>,
    recalibration: Option<Recalibration>,
    next_recalibration: Instant,
    /// The current outage and future ones.
    outages: VecDeque<Outage>,
    is_lost: bool,
}

#[derive(Clone, Copy)]
struct Child {
    request: Request,
    arrived: Instant,
    /// Number of requests submitted earlier.
    number: u64,
    /// False once the request has ended; the device may still be serving it.
    is_live: bool,
}

impl<D: Device> Faults<D> {
    /// Wraps `device` to inject the faults of `plan`; a retry takes one `revolution`.
    ///
    /// # Panics
    /// If the plan is inconsistent; see [`FaultPlan::check`].
    pub fn new(device: D, plan: &FaultPlan, revolution: Span) -> Self {
        if let Err(error) = plan.check() {
            panic!("{error}");
        }
        let every = plan.recalibration.map_or(Span::ZERO, |plan| plan.every);
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
            next_recalibration: Instant::START + every,
            outages: plan.outages.iter().copied().collect(),
            is_lost: false,
        }
    }

    /// Pauses the device at `at`, between two requests, if a recalibration is due. On an idle
    /// device, the recalibration started when it was due.
    #[inline]
    fn recalibrate(&mut self, at: Instant, is_idle: bool) {
        let Some(Recalibration { every, lasts }) = self.recalibration else {
            return;
        };
        if at < self.next_recalibration {
            return;
        }
        let since_due = Span::from_ns((at.as_ns() % every.as_ns() as u64) as i64);
        self.next_recalibration = at - since_due + every;
        let left = if is_idle { lasts - since_due } else { lasts };
        self.clock.pause(at, left.or_zero());
    }

    /// Starts and ends the outages due by `now`.
    #[inline]
    fn update_outages(&mut self, now: Instant) {
        while let Some(&Outage { from, until }) = self.outages.front()
            && from <= now
        {
            if !self.is_lost {
                self.is_lost = true;
                self.fail_all(from);
            }
            if now < until {
                return;
            }
            self.is_lost = false;
            self.outages.pop_front();
        }
    }

    /// Fails all requests that have not ended, in order of arrival.
    #[cold]
    fn fail_all(&mut self, at: Instant) {
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
            self.children[id].is_live = false;
            self.due.push_back(not_ready(child.request, child.arrived));
            // A request that can no longer be aborted completes unnoticed.
            self.device.abort(self.clock.device_time(at), id);
        }
        self.live = 0;
    }

    /// Converts a completion of the device into one of its request, unless the request has ended. A
    /// completion that takes extra time becomes `retried`.
    #[inline]
    fn convert(&mut self, mut completion: Completion) -> Option<Completion> {
        let child = self.children.remove(completion.request.id);
        let device_response = completion.response();
        let at = self.clock.simulated_time(completion.at);
        if !child.is_live {
            self.recalibrate(at, false);
            return None;
        }
        completion.request = child.request;
        completion.arrived = child.arrived;
        completion.at = at;
        completion.breakdown.queue += completion.response() - device_response;
        if completion.status.is_success() {
            let verdict = self.judge.judge(&completion);
            completion.status = verdict.status;
            let retries = self.revolution * verdict.retries.into();
            completion.breakdown.rotation += retries;
            completion.breakdown.owed += verdict.delay;
            completion.at += retries + verdict.delay;
        }
        let extra = completion.at - at;
        self.clock.pause(at, extra);
        self.recalibrate(completion.at, false);
        if extra > Span::ZERO {
            self.retried = Some(completion);
            return None;
        }
        self.live -= 1;
        Some(completion)
    }
}

impl<D: Device> Device for Faults<D> {
    crate::forward!(device: capacity sector_size check components);

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
        self.update_outages(now);
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
        let device_now = self.clock.device_time(now);
        let result = self.device.submit(device_now, Request { id, ..request });
        match result {
            Ok(()) => {
                self.submitted += 1;
                self.live += 1;
            }
            Err(_) => {
                self.children.remove(id);
            }
        }
        result
    }

    fn next_event(&self) -> Option<Instant> {
        let due = self.due.front().map(|completion| completion.at);
        let retried = self.retried.as_ref().map(|completion| completion.at);
        let in_device = self
            .device
            .next_event()
            .map(|at| self.clock.simulated_time(at));
        let outage = self.outages.front().and_then(|outage| {
            if self.is_lost {
                // This is an event even without live requests: the device may have no room then.
                Some(outage.until)
            } else {
                (self.live > 0).then_some(outage.from)
            }
        });
        let events = [due, retried, in_device, outage];
        events.into_iter().flatten().min()
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            if !self.due.is_empty() {
                return self.due.pop_front();
            }
            if let Some(retried) = self.retried.take_if(|retried| retried.at <= at) {
                self.live -= 1;
                return Some(retried);
            }
            let event = self.device.next_event();
            if event.is_some_and(|event| self.clock.simulated_time(event) <= at) {
                let done = self.device.advance(self.clock.device_time(at));
                if let Some(completion) = done.and_then(|done| self.convert(done)) {
                    return Some(completion);
                }
            } else {
                self.update_outages(at);
            }
        }
        None
    }

    fn abort(&mut self, now: Instant, id: u64) -> bool {
        self.update_outages(now);
        let child = self
            .children
            .find(|child| child.is_live && child.request.id == id);
        let Some(child) = child else {
            return false;
        };
        if !self.device.abort(self.clock.device_time(now), child) {
            return false;
        }
        // If the device's clock is paused, the request would complete later.
        let child = &mut self.children[child];
        child.is_live = false;
        self.live -= 1;
        let aborted = Completion::unserved(child.request, child.arrived, now, Status::Aborted);
        self.due.push_back(aborted);
        true
    }
}

impl<D: Device + Estimate> Estimate for Faults<D> {
    type Outlook<'a> = D::Outlook<'a>;
    type Rehearsal = PausedRehearsal<D::Rehearsal>;

    crate::forward!(device: shape locate);

    #[inline]
    fn outlook(&self, now: Instant) -> Self::Outlook<'_> {
        self.device.outlook(self.clock.device_time(now))
    }

    fn rehearse(&self) -> Self::Rehearsal {
        PausedRehearsal {
            device: self.device.rehearse(),
            clock: self.clock,
        }
    }
}

/// Converts between simulated time and the time of the wrapped device, whose clock may pause.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    lag: Span,
    resumes: Instant,
}

impl Clock {
    /// Returns the device's time at `now`.
    #[inline]
    pub fn device_time(&self, now: Instant) -> Instant {
        now.max(self.resumes) - self.lag
    }

    /// Returns the instant at which the device's clock shows `at`, which must not be in the past.
    #[inline]
    pub fn simulated_time(&self, at: Instant) -> Instant {
        at + self.lag
    }

    /// Pauses the clock for `lasts`, from `from` or the end of the last pause.
    pub fn pause(&mut self, from: Instant, lasts: Span) {
        self.resumes = self.resumes.max(from) + lasts;
        self.lag += lasts;
    }
}

/// A copy of a device with a paused clock, for trying requests.
#[derive(Clone, Debug)]
pub struct PausedRehearsal<R> {
    device: R,
    clock: Clock,
}

impl<R: Rehearse> Estimate for PausedRehearsal<R> {
    type Outlook<'a> = R::Outlook<'a>;
    type Rehearsal = PausedRehearsal<R::Rehearsal>;

    crate::forward!(device: shape locate);

    fn outlook(&self, now: Instant) -> Self::Outlook<'_> {
        self.device.outlook(self.clock.device_time(now))
    }

    fn rehearse(&self) -> Self::Rehearsal {
        PausedRehearsal {
            device: self.device.rehearse(),
            clock: self.clock,
        }
    }
}

impl<R: Rehearse> Rehearse for PausedRehearsal<R> {
    fn serve(&mut self, now: Instant, request: &Request) -> Instant {
        let next = self.device.serve(self.clock.device_time(now), request);
        self.clock.simulated_time(next)
    }

    fn completed_at(&self) -> Instant {
        self.clock.simulated_time(self.device.completed_at())
    }
}

/// Random numbers for one kind of fault; kinds are independent of each other.
struct Random {
    generator: Generator,
    chance: Chance,
}

impl Random {
    fn new(seed: u64, kind: usize, share: f64) -> Self {
        Self {
            generator: generator(seed, kind, Purpose::Faults),
            chance: Chance::new(share),
        }
    }

    fn hits(&mut self) -> bool {
        self.chance.hits(&mut self.generator)
    }

    fn below(&mut self, bound: u64) -> u64 {
        below(&mut self.generator, bound)
    }
}

/// Decides the faults of each request in turn.
pub(super) struct Judge {
    plan: FaultPlan,
    medium: Random,
    recovered: Random,
    spikes: Random,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    pub status: Status,
    pub retries: u16,
    pub delay: Span,
}

impl Judge {
    pub fn new(plan: &FaultPlan) -> Self {
        let share = |errors: Option<RandomErrors>| errors.map_or(0.0, |errors| errors.share);
        Self {
            medium: Random::new(plan.seed, 0, share(plan.random_medium_errors)),
            recovered: Random::new(plan.seed, 1, share(plan.random_recovered_errors)),
            spikes: Random::new(plan.seed, 2, plan.spikes.map_or(0.0, |spikes| spikes.share)),
            plan: plan.clone(),
        }
    }

    pub fn judge(&mut self, completion: &Completion) -> Verdict {
        let request = &completion.request;
        let (status, retries) = match request.op {
            Op::Read | Op::Write => self.errors(request, completion.status),
            Op::Flush => (completion.status, 0),
        };
        let delay = match self.plan.spikes {
            Some(spikes) if self.spikes.hits() => spikes.delay,
            _ => Span::ZERO,
        };
        Verdict {
            status,
            retries,
            delay,
        }
    }

    /// Returns the most severe of several errors, preferring a listed one to a random one. Random
    /// numbers are always consumed, so that later ones do not depend on the list.
    fn errors(&mut self, request: &Request, status: Status) -> (Status, u16) {
        let random_medium = self.random_medium(request);
        let random_recovered = self.random_recovered();
        let listed = self
            .plan
            .medium_errors
            .iter()
            .filter_map(|blocks| Some((blocks.first_in(request)?, blocks.retries)))
            .min()
            .map(|(bad, retries)| {
                let offset = (bad - request.start).0 as u16;
                (Status::MediumError { offset }, retries)
            });
        let medium = listed.or(random_medium);
        medium.unwrap_or_else(|| {
            let listed = self
                .plan
                .recovered_errors
                .iter()
                .filter(|blocks| blocks.first_in(request).is_some());
            let retries = listed.map(|blocks| blocks.retries).max();
            match (retries.or(random_recovered), status) {
                (None, _) => (status, 0),
                (Some(more), Status::Recovered { retries }) => {
                    let retries = retries.saturating_add(more);
                    (Status::Recovered { retries }, more)
                }
                (Some(retries), _) => (Status::Recovered { retries }, retries),
            }
        })
    }

    fn random_medium(&mut self, request: &Request) -> Option<(Status, u16)> {
        let errors = self.plan.random_medium_errors?;
        let offset = self.medium.below(request.sectors.0) as u16;
        let status = Status::MediumError { offset };
        self.medium.hits().then_some((status, errors.retries))
    }

    fn random_recovered(&mut self) -> Option<u16> {
        let errors = self.plan.random_recovered_errors?;
        let retries = 1 + self.recovered.below(errors.retries.into()) as u16;
        self.recovered.hits().then_some(retries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paused_clock_resumes_where_it_stopped() {
        let at = Instant::from_ns;
        let mut clock = Clock::default();
        clock.pause(at(100), Span::from_ns(50));
        for (now, device_time) in [(100, 100), (120, 100), (150, 100), (151, 101)] {
            assert_eq!(clock.device_time(at(now)), at(device_time));
        }
        assert_eq!(clock.simulated_time(at(101)), at(151));
        // A pause that is due during another one follows it.
        clock.pause(at(130), Span::from_ns(20));
        assert_eq!(clock.device_time(at(169)), at(100));
        assert_eq!(clock.simulated_time(at(100)), at(170));
    }
}
