//! The event loop of one device, which merges arrivals with the events of the device.
//!
//! A [`Load`] supplies the arrivals. In a closed system, completions trigger them.

use std::collections::VecDeque;
use std::iter::{Fuse, Repeat, repeat};

use crate::device::{Completion, Device, SubmitError};
use crate::random::Purpose;
use crate::request::Request;
use crate::text::InputError;
use crate::units::{Instant, Lbn, SectorCount, Span};
use crate::workload::{Arrivals, Disk, PauseStream, Requests, Stream, Times, Workload};

/// A source of requests.
pub trait Load {
    /// Returns the instant of the next known arrival. Completions may trigger further arrivals.
    fn next_arrival(&mut self) -> Option<Instant>;

    /// Removes and returns the request whose arrival [`Load::next_arrival`] has returned.
    fn take(&mut self) -> Request;

    /// Notifies the load of a completion.
    fn completed(&mut self, completion: &Completion);
}

impl<L: Load + ?Sized> Load for Box<L> {
    fn next_arrival(&mut self) -> Option<Instant> {
        (**self).next_arrival()
    }

    fn take(&mut self) -> Request {
        (**self).take()
    }

    fn completed(&mut self, completion: &Completion) {
        (**self).completed(completion);
    }
}

/// The reason why a run ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The device did not accept a request.
    Rejected {
        /// The request, as it was submitted.
        request: Request,
        /// The reason for the rejection.
        why: SubmitError,
    },
    /// The next request arrives at [`Instant::LIMIT`] or later.
    LateArrival,
    /// The device is busy until [`Instant::LIMIT`] or later.
    LateEvent,
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (when, instead) = match self {
            Self::Rejected { request, why } => {
                let (Lbn(start), SectorCount(sectors)) = (request.start, request.sectors);
                return write!(f, "request of {sectors} sectors at block {start}: {why}");
            }
            Self::LateArrival => ("before the next request arrives", "faster arrivals"),
            Self::LateEvent => ("while the device is busy", "a faster device"),
        };
        write!(
            f,
            "the run takes longer than 146 years of simulated time, its limit, {when}: simulate \
             fewer requests, or {instead}"
        )
    }
}

impl std::error::Error for RunError {}

impl From<RunError> for InputError {
    fn from(error: RunError) -> Self {
        Self::message(error.to_string())
    }
}

/// A receiver of the events of a run.
pub trait Observer {
    /// Notifies the observer that a request has entered the device.
    fn arrived(&mut self, now: Instant, request: &Request);

    /// Notifies the observer that a request has completed.
    fn completed(&mut self, completion: &Completion);

    /// Notifies the observer that the last request has completed and no more will arrive. `device`
    /// is in its state at that instant; its own work, such as a rebuild, may continue.
    fn all_completed(&mut self, _device: &dyn Device) {}

    /// Returns true to end the run. It is called after each completion.
    #[inline]
    fn is_over(&self) -> bool {
        false
    }
}

/// Runs `load` on `device` until all requests have completed and the device is idle, or until the
/// observer ends the run. Completions precede simultaneous arrivals.
///
/// # Errors
/// If the device does not accept a request, or the run is too long; earlier observations remain
/// valid.
///
/// # Panics
/// If the device completes a request that was not submitted here.
pub fn run(
    device: &mut impl Device,
    load: &mut impl Load,
    observer: &mut impl Observer,
) -> Result<(), RunError> {
    let mut outstanding = 0_u64;
    loop {
        let arrival = load.next_arrival();
        match (device.next_event(), arrival) {
            (_, None) if outstanding == 0 => break,
            (Some(event), arrival) if arrival.is_none_or(|at| event <= at) => {
                // Borrowed, because moving it would copy the whole completion.
                if let Some(completion) = &device.advance(event) {
                    if event >= Instant::LIMIT {
                        return Err(RunError::LateEvent);
                    }
                    assert!(outstanding > 0, "was not outstanding: {completion:?}");
                    outstanding -= 1;
                    observer.completed(completion);
                    if observer.is_over() {
                        return Ok(());
                    }
                    load.completed(completion);
                }
            }
            (_, Some(at)) => {
                if at >= Instant::LIMIT {
                    return Err(RunError::LateArrival);
                }
                let request = load.take();
                device
                    .submit(at, request)
                    .map_err(|why| RunError::Rejected { request, why })?;
                outstanding += 1;
                observer.arrived(at, &request);
            }
            (_, None) => return Ok(()),
        }
    }
    observer.all_completed(device);
    while let Some(event) = device.next_event() {
        if event >= Instant::LIMIT {
            return Err(RunError::LateEvent);
        }
        let done = device.advance(event);
        assert!(done.is_none(), "was not outstanding: {done:?}");
    }
    Ok(())
}

/// A known number of requests that arrive at successive times. It executes half as many
/// instructions as an [`OpenLoop`], because it generates a request when the request is taken, and
/// stores none.
#[derive(Clone, Debug)]
pub struct ArrivalStream {
    times: Times,
    requests: Requests,
    /// Instant of the next arrival.
    at: Instant,
    /// Number of requests still to generate.
    left: u64,
}

impl ArrivalStream {
    /// Creates a load of the first `count` requests, which arrive at successive `times`.
    pub fn new(mut times: Times, requests: Requests, count: u64) -> Self {
        let at = times.next_instant();
        Self {
            times,
            requests,
            at,
            left: count,
        }
    }
}

impl Load for ArrivalStream {
    #[inline]
    fn next_arrival(&mut self) -> Option<Instant> {
        (self.left > 0).then_some(self.at)
    }

    #[inline]
    fn take(&mut self) -> Request {
        assert!(self.left > 0, "no request left to take");
        self.left -= 1;
        self.at = self.times.next_instant();
        self.requests.next_request()
    }

    #[inline]
    fn completed(&mut self, _: &Completion) {}
}

/// A closed system of clients. Each waits for its request to complete, thinks, and issues another.
#[derive(Clone, Debug)]
pub struct ClosedLoop<I: Iterator<Item = Request>, T: Iterator<Item = Span> = Repeat<Span>> {
    remaining: I,
    next: Option<Request>,
    think: T,
    /// Instants at which the thinking clients issue their next requests, ascending.
    wakeups: VecDeque<Instant>,
}

impl<I: Iterator<Item = Request>> ClosedLoop<I> {
    /// Creates `clients` clients that issue a request at the start and after each think time.
    pub fn new(requests: I, clients: usize, think: Span) -> Self {
        Self::with_think_times(requests, clients, repeat(think))
    }
}

impl<I: Iterator<Item = Request>, T: Iterator<Item = Span>> ClosedLoop<I, T> {
    /// Like [`Self::new`], but takes the think times from `think`. Clients stop when `think` ends.
    pub fn with_think_times(mut requests: I, clients: usize, think: T) -> Self {
        let next = requests.next();
        Self {
            remaining: requests,
            next,
            think,
            wakeups: vec![Instant::START; clients].into(),
        }
    }
}

impl<I: Iterator<Item = Request>, T: Iterator<Item = Span>> Load for ClosedLoop<I, T> {
    #[inline]
    fn next_arrival(&mut self) -> Option<Instant> {
        self.next.and(self.wakeups.front().copied())
    }

    #[inline]
    fn take(&mut self) -> Request {
        self.wakeups.pop_front();
        match std::mem::replace(&mut self.next, self.remaining.next()) {
            Some(request) => request,
            None => panic!("no request left to take"),
        }
    }

    #[inline]
    fn completed(&mut self, completion: &Completion) {
        let Some(think) = self.think.next() else {
            return;
        };
        let at = completion.at + think;
        if self.wakeups.back().is_some_and(|last| *last > at) {
            let index = self.wakeups.partition_point(|wakeup| *wakeup <= at);
            self.wakeups.insert(index, at);
        } else {
            self.wakeups.push_back(at);
        }
    }
}

/// Arrivals that do not depend on the device: an iterator of (instant, request), in order.
#[derive(Clone, Debug)]
pub struct OpenLoop<I: Iterator<Item = (Instant, Request)>> {
    remaining: Fuse<I>,
    /// The next arrival, if it has been taken from the iterator.
    next: Option<(Instant, Request)>,
}

impl<I: Iterator<Item = (Instant, Request)>> OpenLoop<I> {
    /// Creates a load of all `arrivals`.
    pub fn new(arrivals: I) -> Self {
        Self {
            remaining: arrivals.fuse(),
            next: None,
        }
    }
}

impl<I: Iterator<Item = (Instant, Request)>> Load for OpenLoop<I> {
    #[inline]
    fn next_arrival(&mut self) -> Option<Instant> {
        if self.next.is_none() {
            self.next = self.remaining.next();
        }
        self.next.as_ref().map(|&(at, _)| at)
    }

    #[inline]
    fn take(&mut self) -> Request {
        match self.next.take() {
            Some((_, request)) => request,
            None => panic!("no request left to take"),
        }
    }

    #[inline]
    fn completed(&mut self, _: &Completion) {}
}

/// A request to replay, and the pause that follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayStep {
    /// The request to submit next.
    pub request: Request,
    /// Pause between its completion and the next request.
    pub think: Span,
}

/// Replays a trace as it was measured: one request at a time, each issued when the measured pause
/// after the completion of the previous request has passed.
#[derive(Clone, Debug)]
pub struct Replay<I: Iterator<Item = ReplayStep>> {
    remaining: I,
    next: Option<ReplayStep>,
    /// Pause after the outstanding request.
    think: Span,
    /// Instant of the next request; `None` while one is outstanding.
    at: Option<Instant>,
}

impl<I: Iterator<Item = ReplayStep>> Replay<I> {
    /// Creates a load of all `steps`, the first at `start`.
    pub fn new(mut steps: I, start: Instant) -> Self {
        let next = steps.next();
        Self {
            remaining: steps,
            next,
            think: Span::ZERO,
            at: Some(start),
        }
    }
}

impl<I: Iterator<Item = ReplayStep>> Load for Replay<I> {
    #[inline]
    fn next_arrival(&mut self) -> Option<Instant> {
        self.next.and(self.at)
    }

    #[inline]
    fn take(&mut self) -> Request {
        self.at = None;
        match std::mem::replace(&mut self.next, self.remaining.next()) {
            Some(ReplayStep { request, think }) => {
                self.think = think;
                request
            }
            None => panic!("no request left to take"),
        }
    }

    #[inline]
    fn completed(&mut self, completion: &Completion) {
        // A pause of a trace may be as long as an instant can be.
        self.at = Some(completion.at.saturating_add(self.think));
    }
}

/// The streams of a workload, merged by time and then by position in the workload, up to a total
/// number of requests.
#[derive(Clone, Debug)]
pub struct Streams {
    streams: Vec<Source>,
    /// Number of requests still to generate.
    left: u64,
    /// The earliest arrival and its stream, if they are known.
    next: Option<(Instant, usize)>,
}

impl Streams {
    /// Creates a load of `count` requests of `workload` on `disk`, generated from `seed`.
    ///
    /// # Panics
    /// If a request does not fit on the disk, or a share is not between 0 and 1.
    pub fn new(workload: &Workload, disk: Disk, seed: u64, count: u64) -> Self {
        let streams = workload.requests(disk, seed).enumerate();
        let source = |(number, (stream, requests))| Source::new(stream, requests, seed, number);
        Self {
            streams: streams.map(source).collect(),
            left: count,
            next: None,
        }
    }

    fn earliest(&mut self) -> Option<(Instant, usize)> {
        let streams = self.streams.iter_mut().enumerate();
        let next = streams.filter_map(|(number, source)| Some((source.next_arrival()?, number)));
        next.min()
    }
}

impl Load for Streams {
    #[inline]
    fn next_arrival(&mut self) -> Option<Instant> {
        if self.left == 0 {
            return None;
        }
        if self.next.is_none() {
            self.next = self.earliest();
        }
        self.next.map(|(at, _)| at)
    }

    #[inline]
    fn take(&mut self) -> Request {
        let Some((_, number)) = self.next.take() else {
            panic!("`take` called before `next_arrival`");
        };
        self.left -= 1;
        self.streams[number].take()
    }

    #[inline]
    fn completed(&mut self, completion: &Completion) {
        let number = usize::from(completion.request.stream);
        if self.streams[number].completed(completion) {
            self.next = None;
        }
    }
}

#[derive(Clone, Debug)]
enum Source {
    Open(ArrivalStream),
    Closed(ClosedLoop<Requests, PauseStream>),
}

impl Source {
    fn new(stream: &Stream, requests: Requests, seed: u64, number: usize) -> Self {
        match &stream.arrivals {
            Arrivals::Open(pauses) => {
                let times = Times::new(pauses, seed, number);
                Self::Open(ArrivalStream::new(times, requests, u64::MAX))
            }
            Arrivals::Closed(closed) => {
                let think = PauseStream::new(&closed.think, seed, number, Purpose::Thinking);
                Self::Closed(ClosedLoop::with_think_times(
                    requests,
                    closed.clients,
                    think,
                ))
            }
        }
    }

    #[inline]
    fn next_arrival(&mut self) -> Option<Instant> {
        match self {
            Self::Open(open) => open.next_arrival(),
            Self::Closed(closed) => closed.next_arrival(),
        }
    }

    #[inline]
    fn take(&mut self) -> Request {
        match self {
            Self::Open(open) => open.take(),
            Self::Closed(closed) => closed.take(),
        }
    }

    /// Returns true if the completion may have changed the next arrival.
    #[inline]
    fn completed(&mut self, completion: &Completion) -> bool {
        match self {
            Self::Open(_) => false,
            Self::Closed(closed) => {
                closed.completed(completion);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests;
