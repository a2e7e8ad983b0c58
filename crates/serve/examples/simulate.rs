//! Runs whole servers with simulated clients, network, storage, time and power cuts, one for each
//! seed, on all processors; stops at the first violation.
//!
//! `cargo xtask simulate --seeds 1000` runs a thousand. A violation prints the command that repeats
//! it.

#[path = "../tests/simulation/channel.rs"]
mod channel;
#[path = "../tests/simulation/expected.rs"]
mod expected;
#[path = "../tests/simulation/iscsi.rs"]
mod iscsi;
#[path = "../tests/simulation/nbd.rs"]
mod nbd;
#[path = "../tests/simulation/protocol.rs"]
mod protocol;
#[path = "../tests/simulation/store.rs"]
mod store;
#[path = "../tests/simulation/world.rs"]
mod world;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use diskarm_serve::iscsi::Iscsi;
use diskarm_serve::nbd::Nbd;
use world::{Summary, World};

const USAGE: &str = "\
usage: simulate [--first SEED] [--seeds N] [--seconds N] [--steps N] [--watch SECTOR]
  --first    the first seed (default 0); even seeds serve NBD, odd ones iSCSI
  --seeds    number of seeds (default: no limit)
  --seconds  time after which no further seed starts (default 60)
  --steps    steps for each seed (default 100000)
  --watch    print what happens to a sector";

struct Options {
    first: u64,
    seeds: u64,
    time: Duration,
    steps: u64,
    watched: Option<usize>,
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Option<Options> {
    let mut options = Options {
        first: 0,
        seeds: u64::MAX,
        time: Duration::from_secs(60),
        steps: 100_000,
        watched: None,
    };
    while let Some(name) = arguments.next() {
        let value: u64 = arguments.next()?.parse().ok()?;
        match name.as_str() {
            "--first" => options.first = value,
            "--seeds" => {
                options.seeds = value;
                options.time = Duration::MAX;
            }
            "--seconds" => options.time = Duration::from_secs(value),
            "--steps" => options.steps = value,
            "--watch" => options.watched = Some(value as usize),
            _ => return None,
        }
    }
    Some(options)
}

fn run(seed: u64, options: &Options) -> Summary {
    if seed.is_multiple_of(2) {
        World::new(Nbd::default(), seed, options.watched).run(options.steps)
    } else {
        World::new(Iscsi::new(None), seed, options.watched).run(options.steps)
    }
}

fn main() -> ExitCode {
    let Some(options) = parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let (started, next, has_failed) = (Instant::now(), AtomicU64::new(0), AtomicBool::new(false));
    let total = Mutex::new(Summary::default());
    let work = || {
        while started.elapsed() < options.time && !has_failed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= options.seeds {
                break;
            }
            let seed = options.first + number;
            match std::panic::catch_unwind(|| run(seed, &options)) {
                Ok(summary) => total.lock().expect("no panic").add(&summary),
                Err(_) => {
                    has_failed.store(true, Ordering::Relaxed);
                    let steps = options.steps;
                    eprintln!(
                        "again: cargo xtask simulate --first {seed} --seeds 1 --steps {steps}"
                    );
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    println!("{}", total.into_inner().expect("no panic"));
    ExitCode::from(u8::from(has_failed.into_inner()))
}
