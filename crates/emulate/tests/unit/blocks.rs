//! Random command blocks, and what each has to end in.

use diskarm_core::units::{Instant, Span};
use diskarm_emulate::{Attribute, Realism, Recalibration, Single, Status, Task, Unit, WarmUp};
use diskarm_wire::Sense;
use diskarm_wire::operation::OPERATIONS;
use diskarm_wire::sense::Key;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A command block of a known operation whose other bytes are small, random or zero.
fn block(random: &mut Pcg64Mcg) -> Vec<u8> {
    let operation = &OPERATIONS[random.next_u64() as usize % OPERATIONS.len()];
    let bits = random.next_u64();
    let mut block = vec![0; operation.usage.len()];
    block[0] = operation.code;
    for (n, (byte, usage)) in block.iter_mut().zip(operation.usage).enumerate().skip(1) {
        let value = random.next_u64() as u8;
        *byte = match bits >> (2 * n) & 3 {
            0 => value & usage,
            1 if bits >> 60 == 0 => value,
            1 => value & usage & 0x07,
            _ => 0,
        };
    }
    if let Some(action) = operation.service_action {
        block[1] = block[1] & 0xe0 | action;
    }
    if bits >> 58 == 0 {
        block.truncate(random.next_u64() as usize % 16);
    }
    block
}

/// Everything that delays or disturbs.
pub fn realism() -> Realism {
    Realism {
        noise: Span::from_ms(0.1),
        recalibration: Some(Recalibration {
            every: Span::from_s(1.0),
            lasts: Span::from_ms(50.0),
        }),
        warm_up: Some(WarmUp {
            idle: Span::from_ms(50.0),
            commands: 2,
            longer: Span::from_ms(1.0),
        }),
        adaptive_ratios: true,
        ..Realism::default()
    }
}

/// Sends commands, up to `deep` at a time; returns how many ended in which status.
pub fn ended(unit: &mut Unit<Single>, count: u64, deep: usize, seed: u64) -> [u64; 256] {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut statuses = [0; 256];
    let (mut now, mut inside, mut ended) = (Instant::START, 0, 0);
    let data: Vec<u8> = (0..1 << 17).map(|n: u32| (n % 251) as u8).collect();
    for id in 0..count {
        let command = block(&mut random);
        let bits = random.next_u64();
        let length = match bits >> 8 & 3 {
            0 => bits as usize >> 32 & 0x1_ffff,
            1 => bits as usize >> 32 & 0x1f,
            _ => data.len(),
        };
        unit.submit(
            now,
            Task {
                id,
                initiator: bits & 3,
                attribute: match bits >> 4 & 7 {
                    0 => Attribute::Ordered,
                    1 => Attribute::HeadOfQueue,
                    _ => Attribute::Simple,
                },
                command: &command,
                data_out: &data[..length],
            },
        );
        inside += 1;
        let drains = id % 50 == 0 || id + 1 == count;
        while inside > 0 && (inside >= deep || drains) {
            let next = unit.next_event().expect("a task is outstanding");
            assert!(next >= now);
            now = next;
            while let Some(response) = unit.advance(now) {
                inside -= 1;
                ended += 1;
                statuses[response.status as usize] += 1;
                let refused = response.status == Status::CheckCondition;
                assert_eq!(refused, !response.sense.is_empty());
                if refused {
                    let sense = Sense::parse(&response.sense).expect("sense data");
                    assert!(sense.key != Key::NoSense && sense.code.name().is_some());
                }
            }
        }
        if drains {
            // Or a reservation would keep all others out for ever.
            unit.reset(now);
        }
    }
    assert_eq!(ended, count, "each command has one response");
    statuses
}
