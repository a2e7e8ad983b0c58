//! The streams of a workload, merged in order of time.

use super::{ArrivalStream, ClosedLoop, Load};
use crate::device::Completion;
use crate::request::Request;
use crate::units::Instant;
use crate::workload::{Arrivals, Disk, Requests, Stream, Thinking, Times, Workload};

/// A load that ends after a number of requests, whichever streams they are of. At one instant
/// the stream that was named first goes first.
#[derive(Clone, Debug)]
pub struct Streams {
    streams: Vec<Source>,
    /// Requests yet to come.
    left: u64,
    /// The earliest arrival and its stream, once somebody has asked.
    next: Option<(Instant, usize)>,
}

impl Streams {
    /// `count` requests of `workload` on `disk`, as `seed` gives them. Each says which stream it
    /// belongs to ([`Request::stream`]).
    ///
    /// # Panics
    /// When the disk has no room for a request, or a share is not within 0 and 1.
    pub fn new(workload: &Workload, disk: Disk, seed: u64, count: u64) -> Self {
        let source = |(number, (stream, requests)): (usize, (&_, Requests))| {
            Source::new(stream, requests, seed, number)
        };
        Self {
            streams: workload
                .requests(disk, seed)
                .enumerate()
                .map(source)
                .collect(),
            left: count,
            next: None,
        }
    }

    fn earliest(&mut self) -> Option<(Instant, usize)> {
        let arrivals = self.streams.iter_mut().enumerate();
        let arrivals =
            arrivals.filter_map(|(number, source)| Some((source.next_arrival()?, number)));
        arrivals.min()
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
            panic!("taken before an arrival was asked for");
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
    Closed(ClosedLoop<Requests, Thinking>),
}

impl Source {
    fn new(stream: &Stream, requests: Requests, seed: u64, number: usize) -> Self {
        match &stream.arrivals {
            Arrivals::Open(pauses) => {
                let times = Times::new(pauses, seed, number);
                Self::Open(ArrivalStream::new(times, requests, u64::MAX))
            }
            Arrivals::Closed(closed) => {
                let thinking = Thinking::new(&closed.think, seed, number);
                Self::Closed(ClosedLoop::with_think_times(
                    requests,
                    closed.clients,
                    thinking,
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

    /// Whether this may have changed when its next request arrives.
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
