//! Random command blocks, and the check that each ends in one response.

use diskarm_core::device::Device;
use diskarm_core::units::{Instant, Span};
use diskarm_emulate::{Attribute, Realism, Recalibration, Single, Status, Task, Unit, WarmUp};
use diskarm_wire::command::{AddressFormat, ReserveOut, Size};
use diskarm_wire::defect::{Address, Extended, Physical, TRANSLATE_LENGTH, Translate};
use diskarm_wire::operation::OPERATIONS;
use diskarm_wire::reservation::Parameters;
use diskarm_wire::sense::Key;
use diskarm_wire::{Command, Sense};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Returns a command block of a known operation whose other bytes are small, random or zero.
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

/// Returns a command with a parameter list, both valid or nearly so.
fn command_with_list(random: &mut Pcg64Mcg, blocks: u64) -> (Vec<u8>, Vec<u8>) {
    // The first two each build a new layout, so they are rare.
    let (command, mut list) = match random.next_u64() % 16 {
        0 => format(random, blocks),
        1 => reassign(random, blocks),
        2..7 => mode_select(random),
        7..12 => reserve_out(random),
        _ => translate(random, blocks),
    };
    let bits = random.next_u64();
    match bits & 7 {
        0 => {
            let at = (bits >> 8) as usize % list.len();
            list[at] ^= 1 << (bits >> 4 & 7);
        }
        1 => list.truncate((bits >> 8) as usize % list.len()),
        _ => {}
    }
    let mut block = [0; 16];
    let length = command.emit(&mut block);
    (block[..length].to_vec(), list)
}

fn below(random: &mut Pcg64Mcg, end: u64) -> u64 {
    random.next_u64() % end
}

/// Returns MODE SELECT with a page whose content is mostly zeros.
fn mode_select(random: &mut Pcg64Mcg) -> (Command, Vec<u8>) {
    let pages: [(u8, usize); 6] = [
        (1, 10),
        (2, 14),
        (8, 18),
        (0x0a, 10),
        (0x0c, 22),
        (0x1c, 10),
    ];
    let (code, length) = pages[below(random, 6) as usize];
    let size = [Size::Six, Size::Ten][below(random, 2) as usize];
    let header = if size == Size::Six { 4 } else { 8 };
    let mut list = vec![0; header];
    list.extend([code, length as u8]);
    for _ in 0..length {
        let byte = random.next_u64() as u8;
        list.push(if byte < 192 {
            0
        } else {
            random.next_u64() as u8
        });
    }
    let command = Command::ModeSelect {
        size,
        page_format: true,
        save: below(random, 2) == 0,
        length: list.len() as u16,
    };
    (command, list)
}

fn reserve_out(random: &mut Pcg64Mcg) -> (Command, Vec<u8>) {
    let actions = [
        ReserveOut::Register,
        ReserveOut::Reserve,
        ReserveOut::Release,
        ReserveOut::Clear,
        ReserveOut::Preempt,
        ReserveOut::PreemptAndAbort,
        ReserveOut::RegisterAndIgnore,
    ];
    let keys = Parameters {
        key: below(random, 3),
        action_key: below(random, 3),
        others: false,
        all_ports: false,
        through_power_loss: false,
    };
    let command = Command::PersistentReserveOut {
        action: actions[below(random, 7) as usize],
        scope: 0,
        kind: [1, 3, 5, 6, 7, 8][below(random, 6) as usize],
        length: Parameters::LENGTH as u32,
    };
    (command, keys.emit().to_vec())
}

/// Returns an address on the medium in the given format.
fn address(random: &mut Pcg64Mcg, blocks: u64, format: AddressFormat) -> Address {
    let position = Physical {
        cylinder: below(random, 3000) as u32,
        head: below(random, 8) as u8,
        offset: below(random, 50) as u32,
    };
    let extended = Extended {
        position,
        begins_run: below(random, 2) == 0,
    };
    let block = below(random, blocks);
    match format {
        AddressFormat::ShortBlock => Address::ShortBlock(block as u32),
        AddressFormat::LongBlock => Address::LongBlock(block),
        AddressFormat::BytesFromIndex => Address::BytesFromIndex(position),
        AddressFormat::ExtendedBytesFromIndex => Address::ExtendedBytesFromIndex(extended),
        AddressFormat::ExtendedPhysicalSector => Address::ExtendedPhysicalSector(extended),
        _ => Address::PhysicalSector(position),
    }
}

/// The address formats of a disk.
pub const FORMATS: [AddressFormat; 6] = [
    AddressFormat::ShortBlock,
    AddressFormat::LongBlock,
    AddressFormat::BytesFromIndex,
    AddressFormat::PhysicalSector,
    AddressFormat::ExtendedBytesFromIndex,
    AddressFormat::ExtendedPhysicalSector,
];

/// Returns a list of addresses.
fn addresses(random: &mut Pcg64Mcg, blocks: u64, format: AddressFormat) -> Vec<u8> {
    let mut list = Vec::new();
    for _ in 0..below(random, 4) {
        let mut data = [0; 8];
        let length = address(random, blocks, format).emit(&mut data);
        list.extend(&data[..length]);
    }
    list
}

fn format(random: &mut Pcg64Mcg, blocks: u64) -> (Command, Vec<u8>) {
    let format = FORMATS[below(random, 6) as usize];
    let addresses = addresses(random, blocks, format);
    let flags = [0, 0x80, 0x82, 0xa0][below(random, 4) as usize];
    let long_list = below(random, 2) == 0;
    let mut list = vec![0, flags];
    if long_list {
        list.extend([0; 2]);
        list.extend((addresses.len() as u32).to_be_bytes());
    } else {
        list.extend((addresses.len() as u16).to_be_bytes());
    }
    list.extend(addresses);
    let command = Command::FormatUnit {
        defects: Some(format),
        long_list,
        complete: false,
        interleave: 0,
    };
    (command, list)
}

fn reassign(random: &mut Pcg64Mcg, blocks: u64) -> (Command, Vec<u8>) {
    let (long_addresses, long_list) = (below(random, 2) == 0, below(random, 2) == 0);
    let format = FORMATS[usize::from(long_addresses)];
    let addresses = addresses(random, blocks, format);
    let mut list = (addresses.len() as u32).to_be_bytes().to_vec();
    list.extend(addresses);
    let command = Command::ReassignBlocks {
        long_addresses,
        long_list,
    };
    (command, list)
}

/// SEND DIAGNOSTIC with the page that translates an address.
pub const TRANSLATE_ADDRESS: Command = Command::SendDiagnostic {
    self_test_code: 0,
    page_format: true,
    self_test: false,
    device_offline: false,
    unit_offline: false,
    length: TRANSLATE_LENGTH as u16,
};

/// Returns a request to translate an address.
fn translate(random: &mut Pcg64Mcg, blocks: u64) -> (Command, Vec<u8>) {
    let from = FORMATS[below(random, 6) as usize];
    let page = Translate {
        address: address(random, blocks, from),
        wanted: FORMATS[below(random, 6) as usize],
    };
    (TRANSLATE_ADDRESS, page.emit().to_vec())
}

/// Returns a realism with all delays and disturbances.
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
            extra: Span::from_ms(1.0),
        }),
        adaptive_ratios: true,
        ..Realism::default()
    }
}

/// The status of aborted tasks, which get no response (SAM-5).
const TASK_ABORTED: usize = 0x40;

/// Longer than any drive takes to format.
const HOURS: Span = Span::from_ns(10 * 3600 * 1_000_000_000);

/// Sends random commands, up to `depth` at a time; returns the number of commands that ended with
/// each status. Commands aborted by other commands count as [`TASK_ABORTED`].
pub fn count_statuses(unit: &mut Unit<Single>, count: u64, depth: usize, seed: u64) -> [u64; 256] {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut statuses = [0; 256];
    let (mut now, mut outstanding) = (Instant::START, Vec::new());
    let blocks = unit.device().capacity().0;
    let data: Vec<u8> = (0..1 << 17).map(|n: u32| (n % 251) as u8).collect();
    for id in 0..count {
        let bits = random.next_u64();
        let (command, list) = match bits >> 56 {
            0..16 => command_with_list(&mut random, blocks),
            _ => (block(&mut random), Vec::new()),
        };
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
                data_out: if list.is_empty() {
                    &data[..length]
                } else {
                    &list
                },
            },
        );
        outstanding.push((bits & 3, id));
        let drains = id % 50 == 0 || id + 1 == count;
        while !outstanding.is_empty() && (outstanding.len() >= depth || drains) {
            let next = unit.next_event().expect("a task is outstanding");
            assert!(next >= now);
            now = next;
            while let Some(response) = unit.advance(now) {
                let task = (response.initiator, response.id);
                let at = outstanding.iter().position(|sent| *sent == task);
                outstanding.swap_remove(at.expect("the response is for an outstanding task"));
                statuses[response.status as usize] += 1;
                let refused = response.status == Status::CheckCondition;
                assert_eq!(refused, !response.sense.is_empty());
                if refused {
                    let sense = Sense::parse(&response.sense).expect("valid sense data");
                    assert!(sense.key != Key::NoSense && sense.code.name().is_some());
                }
            }
            // Commands aborted by PREEMPT AND ABORT get no response.
            let before = outstanding.len();
            outstanding.retain(|(initiator, id)| unit.is_outstanding(*initiator, *id));
            statuses[TASK_ABORTED] += (before - outstanding.len()) as u64;
        }
        if drains {
            // Otherwise a reservation would exclude all other initiators forever.
            unit.reset(now);
            // So would formatting, which continues after a reset.
            now += HOURS;
        }
    }
    assert_eq!(statuses.iter().sum::<u64>(), count);
    statuses
}
