use super::*;

fn side(writes: usize, batch: usize) -> SideState {
    SideState {
        writes,
        batch,
        is_in_batch: batch > 0,
    }
}

fn state(reads: usize, first: SideState, second: SideState) -> PairState {
    PairState {
        reads,
        sides: [first, second],
        turn: 0,
        is_hurrying: false,
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

/// Key points 1 to 3 of section 8.1.1.
#[test]
fn adu_only_writes_in_batches_and_in_turn() {
    let adu = destaging(DestageScheme::Alternating);
    let quiet = side(3, 0);
    let full = side(4, 0);
    let busy = side(4, 2);
    for (state, member, step) in [
        // Forced idleness: three writes are not enough for a batch.
        (state(0, quiet, quiet), 0, Choice::Wait),
        (state(1, quiet, quiet), 0, Choice::Read),
        // The member whose turn it is begins its batch before it serves reads.
        (state(9, full, full), 0, Choice::BeginBatch),
        (state(9, full, full), 1, Choice::Read),
        (state(0, quiet, full), 1, Choice::Wait),
        // The batch is not interrupted.
        (state(9, busy, full), 0, Choice::ContinueBatch),
    ] {
        assert_eq!(adu.choose(&state, member), step, "{state:?} at {member}");
    }
    // One member remains for reads.
    let second = |reads| PairState {
        turn: 1,
        ..state(reads, side(0, 1), full)
    };
    assert_eq!(adu.choose(&second(1), 1), Choice::Read);
    assert_eq!(adu.choose(&second(0), 1), Choice::BeginBatch);
}

/// Table 8.1 and key points 1 to 3 of section 8.1.2.
#[test]
fn ad_cp_writes_single_blocks_while_no_read_waits() {
    let ad_cp = destaging(DestageScheme::Conditional { reads: 3 });
    let quiet = side(1, 0);
    let full = side(4, 0);
    let busy = side(4, 2);
    for (state, member, step) in [
        (state(0, quiet, quiet), 1, Choice::Write),
        (state(1, quiet, quiet), 1, Choice::Read),
        (state(0, side(0, 0), quiet), 0, Choice::Wait),
        // While fewer than TR reads wait, one member begins a batch, or both do in turn.
        (state(2, full, quiet), 0, Choice::BeginBatch),
        (state(2, quiet, full), 1, Choice::BeginBatch),
        (state(2, full, full), 0, Choice::BeginBatch),
        (state(2, full, full), 1, Choice::Read),
        // When TR reads wait, both members read.
        (state(3, full, full), 0, Choice::Read),
        // The other member is in a batch.
        (state(2, busy, full), 1, Choice::Read),
        (state(0, busy, full), 1, Choice::Write),
        (state(9, busy, full), 0, Choice::ContinueBatch),
    ] {
        assert_eq!(ad_cp.choose(&state, member), step, "{state:?} at {member}");
    }
}

/// The remaining member and the spare do not wait for each other; all other rules apply.
#[test]
fn a_degraded_pair_takes_no_turns() {
    let degraded = |reads, first, second| PairState {
        is_degraded: true,
        ..state(reads, first, second)
    };
    let (none, full) = (side(0, 0), side(4, 0));
    let adu = destaging(DestageScheme::Alternating);
    let ad_cp = destaging(DestageScheme::Conditional { reads: 3 });
    for (state, steps) in [
        // The first member is missing, although it is that member's turn.
        (degraded(2, none, full), [Choice::BeginBatch; 2]),
        (degraded(3, none, full), [Choice::BeginBatch, Choice::Read]),
        (degraded(1, full, full), [Choice::BeginBatch; 2]),
        // One member writes, and the other reads.
        (degraded(1, side(0, 2), full), [Choice::Read; 2]),
        (degraded(0, none, side(3, 0)), [Choice::Wait, Choice::Write]),
    ] {
        assert_eq!(
            [adu.choose(&state, 1), ad_cp.choose(&state, 1)],
            steps,
            "{state:?}"
        );
    }
}

#[test]
fn both_schemes_empty_the_queues_when_they_must_hurry() {
    for scheme in [
        DestageScheme::Alternating,
        DestageScheme::Conditional { reads: 1 },
    ] {
        let destaging = destaging(scheme);
        for turn in [0, 1] {
            for sides in [[1, 0], [0, 1], [1, 1]] {
                let state = PairState {
                    turn,
                    is_hurrying: true,
                    ..state(0, side(sides[0], 0), side(sides[1], 0))
                };
                let begins = [0, 1].map(|m| destaging.choose(&state, m) != Choice::Wait);
                assert!(begins[0] || begins[1], "{state:?}");
            }
        }
    }
}
