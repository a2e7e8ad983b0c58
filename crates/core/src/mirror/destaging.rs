//! When a pair writes what a non-volatile cache has already taken, so that writes need not hurry.
//!
//! Both schemes look at the state of the pair whenever a member is free, and say what it does next.
//! The names of the state are those of tables D.1 and D.2 of liu05, whose flowcharts are lost:
//!
//! | here | there | |
//! |---|---|---|
//! | [`State::reads`] | RQ | reads that wait for either member |
//! | [`Side::writes`] | WQ1, WQ2 | writes that wait for a member |
//! | [`Side::batch`] | BW1, BW2 | writes left in the batch of a member |
//! | [`Side::in_batch`] | Sw1, Sw2 | whether a member is processing a batch |
//! | [`State::turn`] | Turn | which member processes the next batch (ADU) |
//!
//! Sr, the switch for reads of AD-CP, is `RQ >= TR`.
//!
//! Beyond the thesis: while a member is missing, or has not all data yet, members take no turns
//! ([`State::is_degraded`]); and writes do not wait for a full batch while the cache needs room, or
//! a rebuild waits for them ([`State::hurries`]).

use crate::sched::Knowledge;

/// A scheme of destaging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DestageConfig {
    /// When batches begin.
    pub scheme: DestageScheme,
    /// TW: the number of writes in a batch, at least one.
    pub batch: usize,
    /// The order within a batch.
    pub order: BatchOrder,
}

/// When batches begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DestageScheme {
    /// Alternating deferred updates (ADU, liu05 section 8.1.1): writes go in batches only, which
    /// the members process in turn.
    Alternating,
    /// Alternating destages with conditional priority (AD-CP, liu05 section 8.1.2): single writes
    /// too while no read waits, and no batch begins while `reads` or more (TR) wait.
    Conditional {
        /// TR, at least one.
        reads: usize,
    },
}

/// The order of the writes of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchOrder {
    /// By address from the lowest upward (CSCAN).
    Ascending,
    /// At each step the one with the shortest access time (SATF).
    Nearest,
    /// By access time from where the arm is when the batch begins.
    AccessAtStart,
    /// The order whose last completes earliest. For batches of up to ten.
    Optimal,
}

impl BatchOrder {
    /// What it must know of the members, and its name.
    pub(super) fn needed(self) -> (Knowledge, &'static str) {
        match self {
            Self::Ascending => (Knowledge::Blocks, "ascending"),
            Self::Nearest => (Knowledge::Times, "satf"),
            Self::AccessAtStart => (Knowledge::Times, "access-at-start"),
            Self::Optimal => (Knowledge::Times, "optimal"),
        }
    }
}

/// The state of the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// Reads that wait for either member.
    pub reads: usize,
    pub sides: [Side; 2],
    /// The member that processes the next batch, if both have one.
    pub turn: usize,
    /// Writes must not wait for a full batch: the cache needs room or has to be emptied, or a
    /// rebuild waits for them.
    pub hurries: bool,
    /// A member is missing, or is a spare that does not have all data: neither waits for its turn.
    pub is_degraded: bool,
}

/// The state of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Side {
    /// Writes that wait, without those of a batch.
    pub writes: usize,
    /// Writes of its batch that it has not begun.
    pub batch: usize,
    /// It is processing a batch: also while it serves the last write of it.
    pub in_batch: bool,
}

/// What a free member does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Read,
    /// Serves the oldest write.
    Write,
    /// Begins a batch of the oldest writes.
    BeginBatch,
    /// Serves the next write of its batch.
    OfBatch,
    Nothing,
}

impl DestageConfig {
    /// What `member`, which is free, does next.
    pub(super) fn step(&self, state: &State, member: usize) -> Step {
        let own = &state.sides[member];
        if own.batch > 0 {
            // A batch is not interrupted.
            return Step::OfBatch;
        }
        match self.scheme {
            DestageScheme::Alternating => self.alternate(state, member),
            DestageScheme::Conditional { reads } => self.prefer_reads(state, member, reads),
        }
    }

    /// Whether the writes that wait for a member make a batch.
    fn is_attained(&self, state: &State, member: usize) -> bool {
        let writes = state.sides[member].writes;
        writes >= self.batch || (state.hurries && writes > 0)
    }

    /// ADU.
    ///
    /// 1. A member whose turn it is begins a batch once TW writes wait for it. While the other
    ///    member is in a batch, it does so only if no read waits. If writes must not wait, a member
    ///    for which none waits loses its turn. In a degraded pair there are no turns.
    /// 2. Otherwise it serves a read.
    /// 3. Otherwise it waits: fewer writes than TW are not processed.
    fn alternate(&self, state: &State, member: usize) -> Step {
        let passes = state.hurries && state.sides[1 - member].writes == 0;
        let is_its_turn = state.turn == member || passes || state.is_degraded;
        let leaves_reads = state.sides[1 - member].in_batch && state.reads > 0;
        if self.is_attained(state, member) && is_its_turn && !leaves_reads {
            Step::BeginBatch
        } else if state.reads > 0 {
            Step::Read
        } else {
            Step::Nothing
        }
    }

    /// AD-CP.
    ///
    /// 1. A member begins a batch once TW writes wait for it, unless the other member is in a
    ///    batch or TR reads wait. If TW writes wait for both, they take turns, unless the pair is
    ///    degraded.
    /// 2. Otherwise it serves a read.
    /// 3. Otherwise it serves a single write, so that it is never idle while something waits.
    fn prefer_reads(&self, state: &State, member: usize, reads: usize) -> Step {
        let other = &state.sides[1 - member];
        let has_no_rival = state.is_degraded || !self.is_attained(state, 1 - member);
        let is_its_turn = state.turn == member || has_no_rival;
        let yields = state.reads >= reads && !state.hurries;
        if self.is_attained(state, member) && is_its_turn && !other.in_batch && !yields {
            Step::BeginBatch
        } else if state.reads > 0 {
            Step::Read
        } else if state.sides[member].writes > 0 {
            Step::Write
        } else {
            Step::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(writes: usize, batch: usize) -> Side {
        Side {
            writes,
            batch,
            in_batch: batch > 0,
        }
    }

    fn state(reads: usize, first: Side, second: Side) -> State {
        State {
            reads,
            sides: [first, second],
            turn: 0,
            hurries: false,
            is_degraded: false,
        }
    }

    fn destaging(scheme: DestageScheme) -> DestageConfig {
        DestageConfig {
            scheme,
            batch: 4,
            order: BatchOrder::Nearest,
        }
    }

    /// Each row of key points 1 to 3 of section 8.1.1.
    #[test]
    fn adu_writes_in_batches_only_and_by_turns() {
        let adu = destaging(DestageScheme::Alternating);
        let quiet = side(3, 0);
        let full = side(4, 0);
        let busy = side(4, 2);
        for (state, member, step) in [
            // Forced idleness: three writes are no batch.
            (state(0, quiet, quiet), 0, Step::Nothing),
            (state(1, quiet, quiet), 0, Step::Read),
            // A batch goes before reads, at the member whose turn it is.
            (state(9, full, full), 0, Step::BeginBatch),
            (state(9, full, full), 1, Step::Read),
            (state(0, quiet, full), 1, Step::Nothing),
            // It is not interrupted.
            (state(9, busy, full), 0, Step::OfBatch),
        ] {
            assert_eq!(adu.step(&state, member), step, "{state:?} at {member}");
        }
        // One member remains for reads.
        let second = |reads| State {
            turn: 1,
            ..state(reads, side(0, 1), full)
        };
        assert_eq!(adu.step(&second(1), 1), Step::Read);
        assert_eq!(adu.step(&second(0), 1), Step::BeginBatch);
    }

    /// Table 8.1 and key points 1 to 3 of section 8.1.2.
    #[test]
    fn ad_cp_writes_single_blocks_while_no_read_waits() {
        let ad_cp = destaging(DestageScheme::Conditional { reads: 3 });
        let quiet = side(1, 0);
        let full = side(4, 0);
        let busy = side(4, 2);
        for (state, member, step) in [
            (state(0, quiet, quiet), 1, Step::Write),
            (state(1, quiet, quiet), 1, Step::Read),
            (state(0, side(0, 0), quiet), 0, Step::Nothing),
            // A batch at one, or in turn at both, while fewer than TR reads wait.
            (state(2, full, quiet), 0, Step::BeginBatch),
            (state(2, quiet, full), 1, Step::BeginBatch),
            (state(2, full, full), 0, Step::BeginBatch),
            (state(2, full, full), 1, Step::Read),
            // TR attained: both members read.
            (state(3, full, full), 0, Step::Read),
            // The other member is in a batch.
            (state(2, busy, full), 1, Step::Read),
            (state(0, busy, full), 1, Step::Write),
            (state(9, busy, full), 0, Step::OfBatch),
        ] {
            assert_eq!(ad_cp.step(&state, member), step, "{state:?} at {member}");
        }
    }

    /// The one that is left, or the spare, does not wait for the other; all other rules hold.
    #[test]
    fn a_degraded_pair_takes_no_turns() {
        let degraded = |reads, first, second| State {
            is_degraded: true,
            ..state(reads, first, second)
        };
        let (none, full) = (side(0, 0), side(4, 0));
        let adu = destaging(DestageScheme::Alternating);
        let ad_cp = destaging(DestageScheme::Conditional { reads: 3 });
        for (state, steps) in [
            // The first is missing, and it is its turn.
            (degraded(2, none, full), [Step::BeginBatch; 2]),
            (degraded(3, none, full), [Step::BeginBatch, Step::Read]),
            (degraded(1, full, full), [Step::BeginBatch; 2]),
            // One writes, the other reads.
            (degraded(1, side(0, 2), full), [Step::Read; 2]),
            (degraded(0, none, side(3, 0)), [Step::Nothing, Step::Write]),
        ] {
            assert_eq!(
                [adu.step(&state, 1), ad_cp.step(&state, 1)],
                steps,
                "{state:?}"
            );
        }
    }

    #[test]
    fn both_schemes_end_with_nothing_left_when_they_must_hurry() {
        for scheme in [
            DestageScheme::Alternating,
            DestageScheme::Conditional { reads: 1 },
        ] {
            let destaging = destaging(scheme);
            for turn in [0, 1] {
                for sides in [[1, 0], [0, 1], [1, 1]] {
                    let state = State {
                        turn,
                        hurries: true,
                        ..state(0, side(sides[0], 0), side(sides[1], 0))
                    };
                    let begins = [0, 1].map(|m| destaging.step(&state, m) != Step::Nothing);
                    assert!(begins[0] || begins[1], "{state:?}");
                }
            }
        }
    }
}
