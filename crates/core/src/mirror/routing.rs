//! Which member a read goes to, if each has a queue of its own.

use super::member::Member;
use crate::random::{Generator, Purpose, below, generator};
use crate::request::Request;
use crate::units::Lbn;

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

    /// The member for a read.
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
            Routing::ShortestQueue => usize::from(loads[1] < loads[0]),
        }
    }

    /// A fair coin.
    fn toss(&mut self) -> usize {
        below(&mut self.generator, 2) as usize
    }
}
