//! Which member a read goes to, if each has a queue of its own.

use super::member::Member;
use super::rehearsed::{Prospect, Totals};
use crate::random::{Generator, Purpose, below, generator};
use crate::request::Request;
use crate::units::{Instant, Lbn};

/// How reads are routed to the members of a pair (liu05 section 7.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Routing {
    /// To either with the same probability.
    Uniform,
    /// By turns.
    #[default]
    Cyclic,
    /// By address: reads that begin before `pivot` to the first, all others to the second.
    Affinity {
        /// The first block of the second member's part.
        pivot: Lbn,
        /// A read goes to the other member if the queue of its own is longer by more than this,
        /// with requests in service counted; `None` is strict.
        relaxed: Option<u64>,
    },
    /// To the shorter queue, with requests in service counted; if they are equal, to either with
    /// the same probability.
    ShortestQueue,
    /// To the member that will complete it sooner. For queues in order of arrival.
    ShortestResponse,
    /// To the member that will serve it faster, from where the last request in its queue leaves the
    /// arm. For queues in order of arrival.
    LastRequest,
    /// So that the mean response of all that waits, it included, is least if nothing more comes.
    /// For queues by shortest access time (`satf`).
    MinResponse,
    /// The same for the mean service.
    MinService,
}

impl Routing {
    /// The policy that the members must have and the name of the routing, if it tries requests on
    /// copies of them.
    pub fn tried(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Uniform | Self::Cyclic | Self::Affinity { .. } | Self::ShortestQueue => None,
            Self::ShortestResponse => Some(("fcfs", "srt")),
            Self::LastRequest => Some(("fcfs", "olr")),
            Self::MinResponse => Some(("satf", "minr")),
            Self::MinService => Some(("satf", "mins")),
        }
    }
}

/// A routing and its state.
pub(super) struct Router {
    routing: Routing,
    generator: Generator,
    /// Whose turn it is.
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

    /// Whether it decides by trying requests: see [`Self::try_out`].
    pub fn tries(&self) -> bool {
        self.routing.tried().is_some()
    }

    /// The member at which a read would take less, by what the routing compares; the first if they
    /// are equal.
    pub fn try_out(&self, now: Instant, prospects: &[Prospect<'_>; 2]) -> usize {
        let [first, second] = prospects;
        let is_second = match self.routing {
            Routing::MinResponse | Routing::MinService => {
                let by = |totals: Totals| match self.routing {
                    Routing::MinService => totals.services,
                    _ => totals.responses,
                };
                let of = |prospect: &Prospect<'_>, with| by(prospect.by_access(now, with));
                let at_first = of(first, true) + of(second, false);
                of(first, false) + of(second, true) < at_first
            }
            Routing::LastRequest => {
                let service = |prospect: &Prospect<'_>| {
                    let (begins, ends) = prospect.in_order(now);
                    ends - begins
                };
                service(second) < service(first)
            }
            _ => second.in_order(now).1 < first.in_order(now).1,
        };
        usize::from(is_second)
    }

    /// The member for a read, if nothing is tried.
    pub fn route(&mut self, members: &[Member; 2], request: &Request) -> usize {
        let loads = [0, 1].map(|member: usize| members[member].load);
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
            // The others are tried.
            _ => usize::from(loads[1] < loads[0]),
        }
    }

    fn toss(&mut self) -> usize {
        below(&mut self.generator, 2) as usize
    }
}
