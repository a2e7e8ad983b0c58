//! Sends random command blocks, ten million by default, to units over drives of the catalogue, and
//! then the same number of reads and writes. Prints how many are executed per second.
//!
//! `cargo run --release -p diskarm-emulate --example commands [COUNT]`

#[path = "../tests/unit/blocks.rs"]
mod blocks;

use std::process::ExitCode;
use std::time::Instant as Clock;

use diskarm_core::spec::{self, Spec};
use diskarm_core::units::{Angle, Instant};
use diskarm_emulate::{Attribute, Realism, Single, Status, Task, Unit};
use diskarm_wire::Command;
use diskarm_wire::command::{Blocks, Caching, Size};

/// The drives for random command blocks, and whether they are disturbed.
const DRIVES: [(&str, bool); 4] = [
    ("hp-c2247", false),
    ("seagate-st41601n", true),
    ("quantum-atlas-10k", false),
    ("dec-rz26", true),
];

fn main() -> ExitCode {
    let count = match std::env::args().nth(1).map(|count| count.parse()) {
        None => 10_000_000,
        Some(Ok(count)) => count,
        Some(Err(_)) => {
            eprintln!("usage: commands [COUNT]");
            return ExitCode::from(2);
        }
    };
    transfers(count);
    random(count);
    ExitCode::SUCCESS
}

fn unit(name: &str) -> Unit<Single> {
    let entry = diskarm_drives::find(name).expect("the drive is in the catalogue");
    let spec: Spec = spec::parse(entry.text, name).expect("valid specification");
    Unit::new(Single::new(&spec, Angle::ZERO, 0).expect("valid layout"))
}

fn random(count: u64) {
    let begin = Clock::now();
    let mut statuses = [0; 256];
    for (seed, (name, disturbed)) in DRIVES.into_iter().enumerate() {
        let realism = if disturbed {
            blocks::realism()
        } else {
            Realism::default()
        };
        for depth in [1, 20] {
            let mut unit = unit(name).with_realism(realism);
            let counts = blocks::count_statuses(&mut unit, count / 8, depth, seed as u64);
            statuses
                .iter_mut()
                .zip(counts)
                .for_each(|(sum, count)| *sum += count);
        }
    }
    let sent: u64 = statuses.iter().sum();
    let rate = sent as f64 / begin.elapsed().as_secs_f64();
    println!("{sent} random command blocks, {rate:.0} a second");
    for (status, count) in statuses.iter().enumerate().filter(|(_, count)| **count > 0) {
        println!("  status {status:#04x}: {count}");
    }
}

/// Reads and writes random blocks, one at a time.
fn transfers(count: u64) {
    let mut unit = unit("hp-c2247");
    let mut now = Instant::START;
    let mut serve = |id: u64, command: Command| {
        let mut block = [0; 16];
        let length = command.emit(&mut block);
        let task = Task {
            id,
            initiator: 0,
            attribute: Attribute::Simple,
            command: &block[..length],
            data_out: &[7; 512],
        };
        unit.submit(now, task);
        loop {
            now = unit.next_event().expect("a task is outstanding");
            if let Some(response) = unit.advance(now) {
                return response.status;
            }
        }
    };
    serve(0, Command::TestUnitReady);
    let begin = Clock::now();
    for id in 1..=count {
        let (size, caching) = (Size::Ten, Caching::default());
        let blocks = Blocks {
            at: id.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 100_000,
            count: 1,
        };
        let command = if id % 4 == 0 {
            Command::Write {
                size,
                blocks,
                caching,
            }
        } else {
            Command::Read {
                size,
                blocks,
                caching,
            }
        };
        assert_eq!(serve(id, command), Status::Good);
    }
    let rate = count as f64 / begin.elapsed().as_secs_f64();
    println!("{count} reads and writes, {rate:.0} a second");
}
