//! Generates requests of a workload and does nothing else; `cargo xtask bench` and `counts` measure
//! it.
//!
//! `generate COUNT WORKLOAD` prints the requests per second of wall time.

use std::process::ExitCode;
use std::time;

use diskarm_core::device::{Breakdown, Completion, Outcome, Status};
use diskarm_core::engine::{Load, Streams};
use diskarm_core::units::{Bytes, SectorCount};
use diskarm_core::workload::{Disk, Workload};

/// The number and the size of the sectors of the HP C2247.
const DISK: Disk = Disk {
    sectors: SectorCount(2_054_864),
    sector: Bytes(512),
};

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let count = words.next().and_then(|word| word.parse().ok());
    let (Some(count), Some(text), None) = (count, words.next(), words.next()) else {
        eprintln!("usage: generate COUNT WORKLOAD");
        return ExitCode::from(2);
    };
    let workload = match Workload::parse(&text, DISK) {
        Ok(workload) => workload,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let began = time::Instant::now();
    let generated = draw(&workload, count);
    let wall_s = began.elapsed().as_secs_f64();
    assert_eq!(generated.0, count);
    println!("{:.0}", count as f64 / wall_s);
    ExitCode::SUCCESS
}

/// Takes `count` requests, each completed when it arrives; returns their number, and a sum that
/// keeps the optimiser from dropping unused results.
fn draw(workload: &Workload, count: u64) -> (u64, u64) {
    let mut load = Streams::new(workload, DISK, 1, count);
    let (mut generated, mut sum) = (0, 0u64);
    while let Some(at) = load.next_arrival() {
        let request = load.take();
        generated += 1;
        sum = sum.wrapping_add(request.start.0 ^ request.sectors.0 ^ at.as_ns());
        load.completed(&Completion {
            request,
            arrived: at,
            at,
            breakdown: Breakdown::default(),
            outcome: Outcome::Miss,
            status: Status::Good,
        });
    }
    (generated, std::hint::black_box(sum))
}
