//! Random commands: reads and writes compared with a shadow copy of the data, and command blocks
//! from several initiators, each of which gets one response without a panic.

use std::collections::BTreeMap;

use diskarm_core::units::{Angle, Instant};
use diskarm_emulate::{Attribute, Realism, Single, Status, Task, Unit};
use diskarm_wire::Command;
use diskarm_wire::command::{Blocks, Caching, Check, Size};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::bench::{Bench, catalogue_spec};
use crate::blocks::{count_statuses, realism};

const BLOCK: usize = 512;
const BLOCKS: u64 = 200;
const MAX: u64 = 12;

/// The effect of an outstanding command when it ends.
enum Effect {
    /// It returns blocks: the first one, and how many.
    Reads(u64, u64),
    /// It writes these blocks.
    Writes(u64, Vec<u8>),
    /// It writes the second half if the blocks contain the first.
    Compares(u64, Vec<u8>),
    /// It compares the blocks with these.
    Verifies(u64, Vec<u8>),
}

fn random_command(random: &mut Pcg64Mcg, shadow: &[u8]) -> (Command, Vec<u8>, Effect) {
    let count = 1 + random.next_u64() % MAX;
    let at = random.next_u64() % (BLOCKS - count);
    let blocks = Blocks {
        at,
        count: count as u32,
    };
    let caching = Caching {
        disable_page_out: false,
        force_unit_access: random.next_u64() >> 62 == 0,
    };
    let size = [Size::Ten, Size::Twelve, Size::Sixteen][random.next_u64() as usize % 3];
    let byte = random.next_u64() as u8;
    let data: Vec<u8> = (0..count as usize * BLOCK)
        .map(|n| byte ^ (n / 100) as u8)
        .collect();
    let command = (size, blocks, caching);
    let here = &shadow[at as usize * BLOCK..(at + count) as usize * BLOCK];
    command_of(random.next_u64() % 8, command, data, here)
}

/// Returns a command of a kind; `here` is the content of its blocks when it is sent.
fn command_of(
    kind: u64,
    (size, blocks, caching): (Size, Blocks, Caching),
    data: Vec<u8>,
    here: &[u8],
) -> (Command, Vec<u8>, Effect) {
    let (at, count) = (blocks.at, u64::from(blocks.count));
    let disable_page_out = false;
    match kind {
        0..3 => (
            Command::Read {
                size,
                blocks,
                caching,
            },
            vec![],
            Effect::Reads(at, count),
        ),
        3 => {
            let command = Command::Write {
                size,
                blocks,
                caching,
            };
            (command, data.clone(), Effect::Writes(at, data))
        }
        4 => {
            let check = Check::Data;
            let command = Command::WriteAndVerify {
                size,
                blocks,
                disable_page_out,
                check,
            };
            (command, data.clone(), Effect::Writes(at, data))
        }
        5 => {
            let size = if size == Size::Twelve {
                Size::Ten
            } else {
                size
            };
            let command = Command::WriteSame {
                size,
                blocks,
                no_data: false,
            };
            let all = data[..BLOCK].repeat(count as usize);
            (command, data, Effect::Writes(at, all))
        }
        6 => {
            let command = Command::CompareAndWrite {
                at,
                count: count as u8,
                caching,
            };
            let data = [here, &data[..]].concat();
            (command, data.clone(), Effect::Compares(at, data))
        }
        _ => {
            let check = Check::Data;
            let command = Command::Verify {
                size,
                blocks,
                disable_page_out,
                check,
            };
            let data = here.to_vec();
            (command, data.clone(), Effect::Verifies(at, data))
        }
    }
}

/// Commands take effect in the order in which they end. COMPARE AND WRITE takes effect before its
/// write, so the test runs it alone.
#[test]
fn data_match_a_shadow_copy() {
    let mut bench = Bench::new(&catalogue_spec("quantum-atlas-10k"));
    let mut random = Pcg64Mcg::seed_from_u64(5);
    let mut shadow = vec![0; BLOCKS as usize * BLOCK];
    let mut outstanding: BTreeMap<u64, Effect> = BTreeMap::new();
    let (mut misses, mut compared) = (0, 0);
    for id in 0..6_000 {
        let (command, data, effect) = random_command(&mut random, &shadow);
        let mut block = [0; 16];
        let length = command.emit(&mut block);
        let is_alone = matches!(effect, Effect::Compares(..));
        bench.unit.submit(
            bench.now,
            Task {
                id: 1_000 + id,
                initiator: 7,
                attribute: if is_alone {
                    Attribute::Ordered
                } else {
                    Attribute::Simple
                },
                command: &block[..length],
                data_out: &data,
            },
        );
        outstanding.insert(1_000 + id, effect);
        let max_outstanding = random.next_u64() as usize % 40;
        while outstanding.len() > max_outstanding {
            let next = bench.unit.next_event().expect("a task is outstanding");
            bench.now = next.max(bench.now);
            let Some(response) = bench.unit.advance(next) else {
                continue;
            };
            let part = |at: u64, length: usize| at as usize * BLOCK..at as usize * BLOCK + length;
            match outstanding
                .remove(&response.id)
                .expect("the response is for an outstanding task")
            {
                Effect::Reads(at, count) => {
                    let here = part(at, count as usize * BLOCK);
                    assert!(response.data_in == shadow[here], "{at} {count}");
                }
                Effect::Writes(at, data) => shadow[part(at, data.len())].copy_from_slice(&data),
                Effect::Compares(at, data) => {
                    let (expected, new) = data.split_at(data.len() / 2);
                    let here = part(at, new.len());
                    let is_equal = shadow[here.clone()] == *expected;
                    assert_eq!(response.status == Status::Good, is_equal);
                    compared += u64::from(is_equal);
                    if is_equal {
                        shadow[here].copy_from_slice(new);
                    }
                }
                Effect::Verifies(at, data) => {
                    let is_equal = shadow[part(at, data.len())] == data;
                    assert_eq!(response.status == Status::Good, is_equal);
                    misses += u64::from(!is_equal);
                }
            }
        }
    }
    assert!(misses > 20 && compared > 20, "{misses} {compared}");
    assert!(bench.now > Instant::START);
}

/// `cargo run --release -p diskarm-emulate --example commands` runs 10 million of them.
#[test]
fn each_random_command_ends_with_one_status() {
    let mut seen = [0; 256];
    for (name, realism) in [
        ("hp-c2247", Realism::default()),
        ("seagate-st41601n", realism()),
        ("quantum-atlas-10k", Realism::default()),
        ("dec-rz26", realism()),
    ] {
        for depth in [1, 20] {
            let single = Single::new(&catalogue_spec(name), Angle::ZERO, 0).unwrap();
            let mut unit = Unit::new(single).with_realism(realism);
            let statuses = count_statuses(&mut unit, 10_000, depth, 1);
            seen.iter_mut()
                .zip(statuses)
                .for_each(|(sum, count)| *sum += count);
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
