//! A throttle: limits requests and bytes per second.
//!
//! # What it does
//! Forwards requests in order of arrival, each as soon as the limits allow it. There is a token
//! bucket for requests and one for bytes; each fills at its rate, up to the amount for
//! [`Limits::burst`]. A request passes when no bucket is in debt and then takes its tokens, even if
//! that leaves a debt. So a request never waits because of its own size. Waits count as queue time.
//!
//! [`Device::has_room`] is false as long as the next request would have to wait. A queue in front
//! holds its requests during that time, so its policy can still choose among them. A caller that
//! submits anyway is not refused: the request is held.
//!
//! # Cost
//! Constant time for each request, and one event when the limits allow the next one.
//!
//! # When it is bad
//! Held requests pass in order of arrival: a head-of-queue request does not overtake the others, as
//! it would in a queue in front.
//!
//! # Example
//! ```
//! use diskarm_core::device::Device;
//! use diskarm_core::units::Span;
//! use diskarm_core::wrap::{Limits, Throttle};
//!
//! /// At most 100 requests per second; after a pause of 30 ms or more, four at once.
//! fn slowed<D: Device>(device: D) -> Throttle<D> {
//!     let limits = Limits {
//!         requests_per_s: Some(100.0),
//!         burst: Span::from_ms(30.0),
//!         ..Limits::default()
//!     };
//!     Throttle::new(device, limits)
//! }
//! ```

use std::collections::VecDeque;

use crate::device::{Children, Completion, Device, Status, SubmitError};
use crate::request::Request;
use crate::sched::{Estimate, Pending};
use crate::text::InputError;
use crate::units::{Instant, Span};

/// The limits of a [`Throttle`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Requests per second, flushes included.
    pub requests_per_s: Option<f64>,
    /// Bytes per second, at least 100.
    pub bytes_per_s: Option<f64>,
    /// Time by which the flow may run ahead of its rates after a pause.
    pub burst: Span,
}

impl Limits {
    /// Checks that a throttle can enforce the limits.
    ///
    /// # Errors
    /// If they allow less than a request in ten years or 100 bytes a second, or `burst` is
    /// negative.
    pub fn check(&self) -> Result<(), InputError> {
        // Lower rates would exceed the range of instants; the largest request of the largest
        // sectors takes 22 years at 100 bytes a second.
        for (field, rate, min, expected) in [
            (
                "requests_per_s",
                self.requests_per_s,
                3e-9,
                "a rate above 0",
            ),
            (
                "bytes_per_s",
                self.bytes_per_s,
                100.0,
                "at least 100 a second",
            ),
        ] {
            let is_valid = |rate: f64| rate.is_finite() && rate >= min;
            if let Some(rate) = rate.filter(|rate| !is_valid(*rate)) {
                return Err(InputError::shown(field, rate, expected));
            }
        }
        if self.burst < Span::ZERO {
            return Err(InputError::shown("burst", self.burst, "0 s or more"));
        }
        Ok(())
    }

    /// Returns the time that `count` requests or bytes take at `rate`.
    fn time(rate: Option<f64>, count: u64) -> Span {
        rate.map_or(Span::ZERO, |rate| Span::from_s(count as f64 / rate))
    }
}

/// A wrapper that limits the rate of requests and bytes.
pub struct Throttle<D> {
    device: D,
    limits: Limits,
    /// Instants until which past requests use up the rate of requests and the rate of bytes.
    paid_until: [Instant; 2],
    /// Instant at which the limits allow the next request; `None` once it has passed.
    opens_at: Option<Instant>,
    held: VecDeque<Pending>,
    children: Children<Parent>,
    /// Requests that were aborted while they were held.
    due: VecDeque<Completion>,
}

struct Parent {
    id: u64,
    arrived: Instant,
}

impl<D: Device> Throttle<D> {
    /// Wraps `device` to keep it within `limits`.
    ///
    /// # Panics
    /// If the limits are invalid; see [`Limits::check`].
    pub fn new(device: D, limits: Limits) -> Self {
        if let Err(error) = limits.check() {
            panic!("{error}");
        }
        Self {
            device,
            limits,
            paid_until: [Instant::START; 2],
            opens_at: None,
            held: VecDeque::new(),
            children: Children::default(),
            due: VecDeque::new(),
        }
    }

    /// Returns true if the limits and the device allow a request now.
    #[inline]
    fn is_open(&self, request: &Request) -> bool {
        self.opens_at.is_none() && self.device.has_room() && self.device.accepts(request)
    }

    fn submit_held(&mut self, now: Instant) {
        while let Some(Pending { request, arrived }) = self.held.front().copied()
            && self.is_open(&request)
        {
            self.held.pop_front();
            let result = self.pass(now, request, arrived);
            assert_eq!(result, Ok(()), "the device refused {request:?}");
        }
    }

    /// Submits a request and takes its tokens.
    #[inline]
    fn pass(
        &mut self,
        now: Instant,
        request: Request,
        arrived: Instant,
    ) -> Result<(), SubmitError> {
        let id = self.children.insert(Parent {
            id: request.id,
            arrived,
        });
        let result = self.device.submit(now, Request { id, ..request });
        if result.is_err() {
            self.children.remove(id);
            return result;
        }
        let bytes = request.sectors.0 * self.device.sector_size().0;
        let costs = [
            Limits::time(self.limits.requests_per_s, 1),
            Limits::time(self.limits.bytes_per_s, bytes),
        ];
        for (paid_until, cost) in self.paid_until.iter_mut().zip(costs) {
            *paid_until = (*paid_until).max(now) + cost;
        }
        let opens = self.paid_until[0]
            .max(self.paid_until[1])
            .shifted(-self.limits.burst);
        self.opens_at = Some(opens).filter(|opens| *opens > now);
        Ok(())
    }
}

impl<D: Device> Device for Throttle<D> {
    crate::forward!(device: capacity sector_size check components persisted);

    #[inline]
    fn has_room(&self) -> bool {
        self.held.is_empty() && self.opens_at.is_none() && self.device.has_room()
    }

    #[inline]
    fn accepts(&self, request: &Request) -> bool {
        self.held.is_empty() && self.is_open(request)
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        self.device.check(&request)?;
        if self.accepts(&request) {
            return self.pass(now, request, now);
        }
        self.held.push_back(Pending {
            request,
            arrived: now,
        });
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        let due = self.due.front().map(|completion| completion.at);
        // `opens_at` is an event even if nothing is held: a queue in front may be waiting for room.
        let events = [due, self.opens_at, self.device.next_event()];
        events.into_iter().flatten().min()
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        if !self.due.is_empty() {
            return self.due.pop_front();
        }
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            self.opens_at = self.opens_at.filter(|opens| *opens > at);
            let mut done = self.device.advance(at);
            if let Some(completion) = &mut done {
                let parent = self.children.remove(completion.request.id);
                completion.request.id = parent.id;
                completion.breakdown.queue += completion.arrived - parent.arrived;
                completion.arrived = parent.arrived;
            }
            self.submit_held(at);
            if done.is_some() {
                return done;
            }
        }
        None
    }

    fn abort(&mut self, now: Instant, id: u64) -> bool {
        let held = self.held.iter().position(|held| held.request.id == id);
        let Some(Pending { request, arrived }) = held.and_then(|index| self.held.remove(index))
        else {
            let child = self.children.find(|parent| parent.id == id);
            return child.is_some_and(|child| self.device.abort(now, child));
        };
        let aborted = Completion::unserved(request, arrived, now, Status::Aborted);
        self.due.push_back(aborted);
        self.submit_held(now);
        true
    }
}

impl<D: Device + Estimate> Estimate for Throttle<D> {
    type Outlook<'a> = D::Outlook<'a>;
    type Rehearsal = D::Rehearsal;

    crate::forward!(device: shape locate outlook rehearse);
}
