//! The member with the next event.

use crate::units::Instant;

/// A tournament: each inner node holds the earlier of the two below it, so that a change costs one
/// comparison for each level, and the winner is at the top.
pub(crate) struct Events {
    /// The top is node 1, and those below node n are 2n and 2n+1; the leaves are the second half.
    /// `None` loses against all.
    nodes: Vec<Option<(Instant, u32)>>,
}

impl Events {
    /// Of `members` without an event.
    pub fn new(members: usize) -> Self {
        Self {
            nodes: vec![None; 2 * members.next_power_of_two()],
        }
    }

    /// The earliest event and its member; the first if several have one at the same instant.
    #[inline]
    pub fn earliest(&self) -> Option<(Instant, usize)> {
        self.nodes[1].map(|(at, member)| (at, member as usize))
    }

    /// Notes the next event of a member.
    #[inline]
    pub fn set(&mut self, member: usize, event: Option<Instant>) {
        let mut node = self.nodes.len() / 2 + member;
        let event = event.map(|at| (at, member as u32));
        if self.nodes[node] == event {
            return;
        }
        self.nodes[node] = event;
        while node > 1 {
            node /= 2;
            let winner = match (self.nodes[2 * node], self.nodes[2 * node + 1]) {
                (Some(left), Some(right)) => Some(left.min(right)),
                (left, right) => left.or(right),
            };
            if self.nodes[node] == winner {
                return;
            }
            self.nodes[node] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    #[test]
    fn the_earliest_is_that_of_a_scan() {
        let mut seed = 1_u64;
        let mut random = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % bound
        };
        for members in [1, 2, 3, 5, 8, 100] {
            let mut events = Events::new(members);
            let mut plain = vec![None; members];
            for _ in 0..2_000 {
                let member = random(members as u64) as usize;
                let at = Instant::START + Span::from_ns(random(50) as i64);
                plain[member] = (random(4) > 0).then_some(at);
                events.set(member, plain[member]);
                let scanned = plain.iter().enumerate();
                let scanned = scanned.filter_map(|(member, at)| Some(((*at)?, member)));
                assert_eq!(events.earliest(), scanned.min());
            }
        }
    }
}
