//! The work for a write does not grow with the number of kept writes. Callgrind counts it, because
//! instructions do not depend on the machine's load.

use std::process::Command;

use diskarm_core::device::Persisted;
use diskarm_core::units::{Bytes, Lbn, SectorCount};
use diskarm_serve::power::{DataPath, WriteId};
use diskarm_serve::store::SparseStore;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

const SECTOR: u64 = 512;
/// A buffer of 128 MiB.
const LARGE: u64 = 1 << 18;

/// Tells the workload which case to run, and the number of writes.
const VARIABLE: &str = "DISKARM_GROWTH";

/// Runs a case with a number of writes.
type Case = fn(u64);

const CASES: [(&str, Case); 6] = [
    ("rewrites", |count| write_all(count, LARGE, |_| 0, 0)),
    ("sequential", |count| write_all(count, LARGE, |n| n, 0)),
    ("random", |count| {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        write_all(count, LARGE, |_| random.next_u64() % 4096, 0);
    }),
    // The first version of the sector stays: its write never reaches the drive.
    ("rewrites-behind-a-stalled-write", |count| {
        write_all(count, LARGE, |_| 0, 1);
    }),
    // The buffer is full, and the oldest writes are not acknowledged.
    ("full-behind-stalled-writes", |count| {
        write_all(count, 8, |n| n, count);
    }),
    ("planned", plan_all),
];

fn data(capacity: u64) -> DataPath {
    let store = Box::new(SparseStore::empty(1 << 30));
    DataPath::new(store, Bytes(SECTOR), Some(SectorCount(capacity)), true)
}

fn write(data: &mut DataPath, sector: u64) -> WriteId {
    let write = data.open(sector * SECTOR, SECTOR);
    let written = data.write_part(write, sector * SECTOR, &[1; SECTOR as usize]);
    written.expect("memory");
    write
}

/// Writes `count` sectors, which reach the media before or after their acknowledgement, while
/// `stalled` writes never reach the drive. Flushes that arrived earlier complete.
fn write_all(count: u64, capacity: u64, mut sector: impl FnMut(u64) -> u64, stalled: u64) {
    let mut data = data(capacity);
    for n in 0..stalled {
        write(&mut data, n);
    }
    for n in 0..count {
        let sector = sector(n);
        let persisted = [Persisted {
            first: Lbn(sector),
            sectors: SectorCount(1),
        }];
        let write = write(&mut data, sector);
        data.mark_submitted(write);
        if n % 2 == 0 {
            data.mark_persisted(&persisted);
        }
        data.mark_acknowledged(write, false);
        if n % 2 == 1 {
            data.mark_persisted(&persisted);
        }
        data.complete_flush(0);
    }
}

/// Plans `count` writes of one sector, and carries them out in reverse order.
fn plan_all(count: u64) {
    let mut data = data(LARGE);
    let planned: Vec<WriteId> = (0..count)
        .map(|_| data.plan(0, &[1; SECTOR as usize]))
        .collect();
    for write in planned.into_iter().rev() {
        data.carry_out(write).expect("memory");
        data.mark_acknowledged(write, false);
    }
}

/// Runs one case, only for the test below.
#[test]
#[ignore = "a part of another test"]
fn workload() {
    let variable = std::env::var(VARIABLE).unwrap_or_default();
    let Some((name, count)) = variable.split_once('=') else {
        return;
    };
    let (_, case) = CASES.iter().find(|(case, _)| *case == name).expect(name);
    case(count.parse().expect("a number"));
}

/// Returns the instructions of the workload above, or `None` if they cannot be counted.
fn count_instructions(name: &str, writes: u64) -> Option<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().expect("a path"))
        .args(["growth::workload", "--exact", "--ignored"])
        .args(["--test-threads=1"])
        .env(VARIABLE, format!("{name}={writes}"))
        .output()
        .ok()?;
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    let (_, after) = message.split_once("Collected : ").expect("a count");
    let digits = after.split_whitespace().next();
    digits.and_then(|digits| digits.parse().ok())
}

#[test]
fn twice_the_writes_are_twice_the_work() {
    // Starting is the same work in all cases.
    let Some(none) = count_instructions("rewrites", 0) else {
        println!("skipped, valgrind is not installed");
        return;
    };
    for (name, _) in CASES {
        let counts = [1000, 2000].map(|writes| count_instructions(name, writes));
        let [Some(once), Some(twice)] = counts else {
            panic!("valgrind has counted before");
        };
        let (once, twice) = (once - none, twice - none);
        println!("{name}: {once} and {twice} instructions");
        assert!(twice * 2 <= once * 5, "{name}: {once} and {twice}");
    }
}
