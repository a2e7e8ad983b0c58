//! A small database in a loop of load, power cut, recovery and check, with and without bugs.
//!
//! It keeps a number on each of a few pages. A transaction changes two of them: it writes a record
//! of two blocks to a log, flushes, and is committed. At checkpoints the pages are written, and
//! then the header, which states where the valid log begins.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::client::{Client, Running};

const BLOCK: usize = 4096;
const PAGES: usize = 8;
/// Two headers. The older one is overwritten, as a power cut may leave it incomplete.
const HEADERS: [u64; 2] = [0, 1 + PAGES as u64];
/// Start of the log, in blocks.
const LOG: u64 = 16;
/// Capacity of the log, in records.
const RECORDS: u64 = 16;
/// Number of records after which the pages are written.
const CHECKPOINT: u64 = 6;

/// An omitted flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// The flush of the log before a commit.
    Commit,
    /// The flush of the pages before the header drops the log.
    Checkpoint,
}

/// The content of two pages after a transaction.
type Change = [(usize, u64); 2];

/// The transactions of a seed, which are always the same.
struct Load(Pcg64Mcg);

impl Load {
    fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    fn next(&mut self) -> Change {
        let page = self.0.next_u64() as usize % PAGES;
        let other = (page + 1) % PAGES;
        [(page, self.0.next_u64()), (other, self.0.next_u64())]
    }
}

/// Formats numbers as a block, with an FNV-1a checksum of all of it.
fn format_record(numbers: &[u64]) -> Vec<u8> {
    let mut block = vec![0; BLOCK];
    for (bytes, number) in block.chunks_exact_mut(8).zip(numbers) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
    // Every sector differs from its previous content.
    for sector in block.chunks_exact_mut(512) {
        sector[504..].copy_from_slice(&numbers[0].to_le_bytes());
    }
    let sum = checksum(&block);
    block[BLOCK - 16..BLOCK - 8].copy_from_slice(&sum.to_le_bytes());
    block
}

fn checksum(block: &[u8]) -> u64 {
    let covered = block[..BLOCK - 16].iter().chain(&block[BLOCK - 8..]);
    let mix = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    covered.fold(0xcbf2_9ce4_8422_2325, mix)
}

/// Returns the numbers in a block if its checksum is valid.
fn parse_record(block: &[u8]) -> Option<[u64; 3]> {
    let number = |at: usize| {
        let bytes = block[at..at + 8].try_into();
        u64::from_le_bytes(bytes.expect("eight bytes"))
    };
    let is_valid = number(BLOCK - 16) == checksum(block);
    is_valid.then(|| [0, 8, 16].map(number))
}

struct Database {
    client: Client,
    bug: Bug,
    values: [u64; PAGES],
    /// Pages that have changed since they were written.
    changed: [bool; PAGES],
}

impl Database {
    /// Creates a database of zeroes.
    fn format(client: Client, bug: Bug) -> std::io::Result<Self> {
        let mut this = Self {
            client,
            bug,
            values: [0; PAGES],
            changed: [true; PAGES],
        };
        this.write_pages(0)?;
        for block in LOG..LOG + 2 * RECORDS {
            this.write(block, &[0], false)?;
        }
        this.client.flush()?;
        for header in HEADERS {
            this.write(header, &[0], true)?;
        }
        Ok(this)
    }

    fn write(&mut self, block: u64, numbers: &[u64], fua: bool) -> std::io::Result<()> {
        let data = format_record(numbers);
        self.client.write(block * BLOCK as u64, &data, fua)
    }

    fn read(&mut self, block: u64) -> Option<[u64; 3]> {
        let data = self.client.read(block * BLOCK as u64, BLOCK as u64);
        parse_record(&data.expect("a disk with power"))
    }

    fn write_pages(&mut self, number: u64) -> std::io::Result<()> {
        for page in 0..PAGES {
            if self.changed[page] {
                self.write(1 + page as u64, &[number, self.values[page]], false)?;
            }
        }
        self.changed = [false; PAGES];
        Ok(())
    }

    fn commit(&mut self, number: u64, change: Change) -> std::io::Result<()> {
        let block = LOG + 2 * (number % RECORDS);
        for (block, (page, value)) in (block..).zip(change) {
            self.write(block, &[number, page as u64, value], false)?;
        }
        if self.bug != Bug::Commit {
            self.client.flush()?;
        }
        for (page, value) in change {
            self.values[page] = value;
            self.changed[page] = true;
        }
        Ok(())
    }

    fn checkpoint(&mut self, number: u64) -> std::io::Result<()> {
        self.write_pages(number)?;
        if self.bug != Bug::Checkpoint {
            self.client.flush()?;
        }
        let header = HEADERS[(number / CHECKPOINT) as usize % 2];
        self.write(header, &[number], true)
    }

    /// Commits transactions until the power fails; returns their number.
    fn run(&mut self, load: &mut Load) -> u64 {
        for number in 1.. {
            if self.commit(number, load.next()).is_err() {
                return number - 1;
            }
            if number % CHECKPOINT == 0 && self.checkpoint(number).is_err() {
                return number;
            }
        }
        unreachable!("no power cut")
    }

    /// Recovers the database; returns its pages, and the number of recovered transactions.
    fn recover(client: Client) -> Result<(Vec<Option<u64>>, u64), String> {
        let mut this = Self {
            client,
            bug: Bug::None,
            values: [0; PAGES],
            changed: [false; PAGES],
        };
        let headers = HEADERS.map(|header| this.read(header));
        let newest = headers
            .into_iter()
            .flatten()
            .map(|[number, ..]| number)
            .max();
        let mut number = newest.ok_or("no header")?;
        let page = |page: usize| this.read(1 + page as u64).map(|[_, value, _]| value);
        let mut values: Vec<_> = (0..PAGES).map(page).collect();
        loop {
            let block = LOG + 2 * ((number + 1) % RECORDS);
            let parts = [this.read(block), this.read(block + 1)];
            for part in parts {
                match part {
                    Some([found, ..]) if found == number + 1 => {}
                    _ => return Ok((values, number)),
                }
            }
            for [_, page, value] in parts.into_iter().flatten() {
                values[page as usize] = Some(value);
            }
            number += 1;
        }
    }
}

/// Runs a seed; returns an error if the recovered state is wrong.
fn check_seed(running: &Running, bug: Bug, seed: u64) -> Result<(), String> {
    let mut database = Database::format(running.client(), bug).expect("a disk with power");
    let nth = 1 + seed * 7 % 60;
    let side = ["before", "after"][seed as usize % 2];
    let torn = ["yes", "no"][seed as usize / 2 % 2];
    running.ask(&format!(
        "trigger(export=db, {side}=write, nth={nth}, worst=yes, torn={torn}, seed={seed})"
    ));
    let committed = database.run(&mut Load::new(seed));
    running.ask("power-restore(export=db)");
    let (values, number) = Database::recover(running.client())?;
    if number < committed {
        return Err(format!(
            "{committed} were committed, {number} were recovered"
        ));
    }
    let mut expected = [0; PAGES];
    let mut load = Load::new(seed);
    for _ in 0..number {
        for (page, value) in load.next() {
            expected[page] = value;
        }
    }
    match values == expected.map(Some) {
        true => Ok(()),
        false => Err(format!("after {number}: {values:?}, expected {expected:?}")),
    }
}

/// Returns the failing seeds.
fn failing_seeds(running: &Running, bug: Bug, seeds: u64) -> Vec<u64> {
    let fails = |seed: &u64| check_seed(running, bug, *seed).is_err();
    (0..seeds).filter(fails).collect()
}

#[test]
fn only_a_log_without_flushes_loses_transactions() {
    let running = Running::start("wal", "sata-4tb-7200", None);
    let failed = failing_seeds(&running, Bug::None, 100);
    assert!(
        failed.is_empty(),
        "{:?}",
        check_seed(&running, Bug::None, failed[0])
    );
    for bug in [Bug::Commit, Bug::Checkpoint] {
        let found = failing_seeds(&running, bug, 100);
        eprintln!("{bug:?}: {} of 100 seeds fail", found.len());
        assert!(!found.is_empty(), "{bug:?}");
        // A failing seed fails again.
        assert!(check_seed(&running, bug, found[0]).is_err());
    }
    running.stop();
}
