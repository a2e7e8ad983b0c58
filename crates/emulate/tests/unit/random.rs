//! Random command blocks from several initiators: no panic, one response each, and what is refused
//! is refused with a reason.

use diskarm_core::units::Angle;
use diskarm_emulate::{Realism, Single, Status, Unit};

use crate::bench::catalogued;
use crate::blocks::{ended, realism};

/// 10 million run with `cargo run --release -p diskarm-emulate --example commands`.
#[test]
fn random_commands_end_in_one_status_each() {
    let mut seen = [0; 256];
    for (name, realism) in [
        ("hp-c2247", Realism::default()),
        ("seagate-st41601n", realism()),
        ("quantum-atlas-10k", Realism::default()),
        ("dec-rz26", realism()),
    ] {
        for deep in [1, 20] {
            let single = Single::new(&catalogued(name), Angle::ZERO, 0).unwrap();
            let mut unit = Unit::new(single).realistic(realism);
            let statuses = ended(&mut unit, 10_000, deep, 1);
            seen.iter_mut()
                .zip(statuses)
                .for_each(|(all, one)| *all += one);
        }
    }
    for status in [
        Status::Good,
        Status::CheckCondition,
        Status::ConditionMet,
        Status::ReservationConflict,
    ] {
        assert!(
            seen[status as usize] > 10,
            "{status:?}: {:?}",
            &seen[..0x30]
        );
    }
    assert_eq!(seen.iter().sum::<u64>(), 80_000);
}
