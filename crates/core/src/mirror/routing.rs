//! Routing of reads to the members of a pair, each with its own queue.

use std::collections::BTreeMap;

use crate::array::part_of;
use crate::device::Device;
use crate::random::{Generator, Purpose, below, generator};
use crate::request::Request;
use crate::sched::{Estimate, Pending, Rehearse, Rule, Satf};
use crate::stack::{BoxedDevice, BoxedRehearsal};
use crate::units::{Instant, Lbn, Span};

/// The routing of reads to the members of a pair (liu05 section 7.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Routing {
    /// To either member, with equal probability.
    Uniform,
    /// To the members in turn.
    #[default]
    Cyclic,
    /// By address: reads that begin before `pivot` go to the first member, others to the second.
    Affinity {
        /// The first block of the second member's half.
        pivot: Lbn,
        /// A read goes to the other member if the queue of its own member, including requests in
        /// service, is longer by more than this; with `None`, it never does.
        relaxed: Option<u64>,
    },
    /// To the member with the shorter queue, including requests in service; at random in a tie.
    ShortestQueue,
    /// To the member that will complete the read sooner. Requires queues in order of arrival.
    ShortestResponse,
    /// To the member that will serve the read faster from the position in which the last request in
    /// its queue leaves the arm. Requires queues in order of arrival.
    LastRequest,
    /// To the member that minimizes the mean response time of all waiting requests and the read, if
    /// no more arrive. Requires queues by shortest access time (`satf`).
    MinResponse,
    /// Like [`Self::MinResponse`], but for the mean service time.
    MinService,
}

impl Routing {
    /// If the routing rehearses requests on copies of the members, returns the policy that the
    /// members must have and the name of the routing.
    pub fn rehearsed(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Uniform | Self::Cyclic | Self::Affinity { .. } | Self::ShortestQueue => None,
            Self::ShortestResponse => Some(("fcfs", "srt")),
            Self::LastRequest => Some(("fcfs", "olr")),
            Self::MinResponse => Some(("satf", "minr")),
            Self::MinService => Some(("satf", "mins")),
        }
    }
}

pub(super) struct Router {
    routing: Routing,
    generator: Generator,
    turn: usize,
}

impl Router {
    pub fn new(routing: Routing, seed: u64) -> Self {
        Self {
            routing,
            generator: generator(seed, 0, Purpose::Routing),
            turn: 0,
        }
    }

    /// Returns true if the routing decides by rehearsals: see [`Self::compare`].
    pub fn rehearses(&self) -> bool {
        self.routing.rehearsed().is_some()
    }

    /// Returns the member on which a read costs less by the routing's measure; the first in a tie.
    pub fn compare(&self, now: Instant, prospects: &[Prospect<'_>; 2]) -> usize {
        let [first, second] = prospects;
        let is_second = match self.routing {
            Routing::MinResponse | Routing::MinService => {
                let measure = |totals: Totals| match self.routing {
                    Routing::MinService => totals.services,
                    _ => totals.responses,
                };
                let total =
                    |prospect: &Prospect<'_>, added| measure(prospect.by_access(now, added));
                let at_first = total(first, true) + total(second, false);
                total(first, false) + total(second, true) < at_first
            }
            Routing::LastRequest => {
                let service = |prospect: &Prospect<'_>| {
                    let (begin, end) = prospect.in_order(now);
                    end - begin
                };
                service(second) < service(first)
            }
            _ => second.in_order(now).1 < first.in_order(now).1,
        };
        usize::from(is_second)
    }

    /// Returns the member for a read, without a rehearsal. `loads` are the lengths of the queues,
    /// including requests in service.
    pub fn route(&mut self, loads: [usize; 2], request: &Request) -> usize {
        match self.routing {
            Routing::Uniform => self.toss(),
            Routing::Cyclic => {
                let turn = self.turn;
                self.turn = 1 - turn;
                turn
            }
            Routing::Affinity { pivot, relaxed } => {
                let own = usize::from(request.start >= pivot);
                let longer = loads[own].saturating_sub(loads[1 - own]) as u64;
                match relaxed {
                    Some(threshold) if longer > threshold => 1 - own,
                    _ => own,
                }
            }
            Routing::ShortestQueue if loads[0] == loads[1] => self.toss(),
            // The other routings need a rehearsal.
            _ => usize::from(loads[1] < loads[0]),
        }
    }

    fn toss(&mut self) -> usize {
        below(&mut self.generator, 2) as usize
    }
}

/// The commands that wait for a member, in order of arrival, and those that a read would add.
pub(super) struct Prospect<'a> {
    pub device: &'a BoxedDevice,
    pub waiting: Vec<Pending>,
    pub read: Vec<Request>,
}

/// Totals over the requests of a member that serves them by shortest access time.
#[derive(Clone, Copy, Default)]
struct Totals {
    /// Sum of the times from now to the completion of the last command of each request.
    responses: Span,
    /// Sum of the times from the choice of each command to its completion.
    services: Span,
}

impl Prospect<'_> {
    /// Returns a copy of the member, and the time at which it takes its next command.
    fn trial(&self, now: Instant) -> (BoxedRehearsal, Instant) {
        let is_busy = !self.device.has_room();
        let busy_until = self.device.next_event().filter(|_| is_busy);
        let begin = busy_until.map_or(now, |until| until.max(now));
        (self.device.rehearse(), begin)
    }

    /// Returns the instants at which the read would begin and end if requests were served in order
    /// of arrival and no more arrived.
    fn in_order(&self, now: Instant) -> (Instant, Instant) {
        let (mut trial, mut at) = self.trial(now);
        for waiting in &self.waiting {
            at = trial.serve(at, &waiting.request);
        }
        let begin = at;
        for command in &self.read {
            at = trial.serve(at, command);
        }
        (begin, trial.completed_at())
    }

    /// Returns the totals of the waiting commands in SATF order, including the read if `added`.
    fn by_access(&self, now: Instant, added: bool) -> Totals {
        let (mut trial, mut at) = self.trial(now);
        let mut policy = Satf::default().policy(&trial);
        let read = self.read.iter().filter(|_| added).map(|&request| Pending {
            request,
            arrived: now,
        });
        // For each request, the number of commands that are left.
        let mut left: BTreeMap<u64, u32> = BTreeMap::new();
        for pending in self.waiting.iter().copied().chain(read) {
            policy.add(pending, &trial);
            *left.entry(part_of(pending.request.id).0).or_default() += 1;
        }
        let mut totals = Totals::default();
        while let Some(next) = policy.next(at, &trial) {
            let begin = at;
            at = trial.serve(at, &next.request);
            let left = left.entry(part_of(next.request.id).0).or_default();
            *left -= 1;
            if *left == 0 {
                totals.responses += trial.completed_at() - now;
            }
            totals.services += trial.completed_at() - begin;
        }
        totals
    }
}
