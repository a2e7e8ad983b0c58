//! Commands that change their blocks before the drive receives the write, and are aborted then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use diskarm_core::device::Device;
use diskarm_core::units::{Bytes, Instant, Lbn, SectorCount};
use diskarm_emulate::{Attribute, Status, Store as _, Task, Unit};
use diskarm_serve::iscsi::{Disk, UnitStore};
use diskarm_serve::power::{DataPath, PowerCut};
use diskarm_serve::store::SparseStore;
use diskarm_wire::command::{Blocks as Range, Caching, Command, Size};

use super::cuts::drive_factory;

const SECTOR: u64 = 512;
const SECTORS: u64 = 64;
/// The block that all commands change.
const AT: u64 = 10;

/// A drive that accepts no requests while its gate is closed.
struct GatedDrive {
    drive: Box<dyn Device>,
    is_closed: Arc<AtomicBool>,
}

impl Device for GatedDrive {
    diskarm_core::forward!(drive: capacity sector_size submit next_event advance abort persisted);

    fn has_room(&self) -> bool {
        self.drive.has_room() && !self.is_closed.load(Ordering::Relaxed)
    }
}

struct Bench {
    unit: Unit<Disk>,
    blocks: UnitStore,
    is_closed: Arc<AtomicBool>,
    now: Instant,
}

impl Bench {
    fn new() -> Self {
        let store = SparseStore::empty(SECTORS * SECTOR);
        let data = DataPath::new(
            Box::new(store),
            Bytes(SECTOR),
            Some(SectorCount(1 << 20)),
            true,
        );
        let blocks = UnitStore::new(data, SECTOR, SECTORS * SECTOR);
        let is_closed = Arc::default();
        let gated = GatedDrive {
            drive: drive_factory("sata-4tb-7200", "fcfs")(),
            is_closed: Arc::clone(&is_closed),
        };
        let disk = Disk::from_device(Box::new(gated), SectorCount(SECTORS));
        let mut bench = Self {
            unit: Unit::with_store(disk, Box::new(blocks.clone())),
            blocks,
            is_closed,
            now: Instant::START,
        };
        // The first command reports the power-on.
        bench.submit(0, &Command::TestUnitReady, &[]);
        assert_eq!(bench.run(), [(0, Status::CheckCondition)]);
        bench
    }

    fn submit(&mut self, id: u64, command: &Command, data_out: &[u8]) {
        let mut block = [0; 16];
        let length = command.emit(&mut block);
        let task = Task {
            id,
            initiator: 1,
            attribute: Attribute::Simple,
            command: &block[..length],
            data_out,
        };
        self.unit.submit(self.now, task);
    }

    /// Sets bits of the block.
    fn or_write(&mut self, id: u64, bits: u8) {
        let or_write = Command::OrWrite {
            blocks: Range { at: AT, count: 1 },
            caching: Caching::default(),
        };
        self.submit(id, &or_write, &[bits; SECTOR as usize]);
    }

    /// Replaces zeros in the block.
    fn compare_and_write(&mut self, id: u64, fill: u8) {
        let command = Command::CompareAndWrite {
            at: AT,
            count: 1,
            caching: Caching::default(),
        };
        let data = [[0; SECTOR as usize], [fill; SECTOR as usize]].concat();
        self.submit(id, &command, &data);
    }

    /// Runs the unit without further input; returns the completed commands.
    fn run(&mut self) -> Vec<(u64, Status)> {
        let mut all = Vec::new();
        while let Some(next) = self.unit.next_event() {
            let ended = self.unit.advance(next);
            all.extend(ended.map(|response| (response.id, response.status)));
            self.now = next;
        }
        all
    }

    fn set_closed(&self, is_closed: bool) {
        self.is_closed.store(is_closed, Ordering::Relaxed);
    }

    fn flush(&mut self, id: u64) {
        let flush = Command::SynchronizeCache {
            size: Size::Ten,
            blocks: Range { at: 0, count: 0 },
            immediate: false,
        };
        self.submit(id, &flush, &[]);
        assert_eq!(self.run(), [(id, Status::Good)]);
    }

    fn first_byte(&mut self) -> u8 {
        let mut block = [0; SECTOR as usize];
        self.blocks.read(Lbn(AT), &mut block).expect("memory");
        block[0]
    }

    fn cut(&mut self) {
        self.unit.follow(self.now);
        self.blocks.cut(&PowerCut::default()).expect("memory");
    }
}

/// An aborted command's data must not be mistaken for the next one's, which survive a flush and
/// cut.
#[test]
fn flushed_writes_after_an_aborted_command_survive() {
    let commands: [fn(&mut Bench, u64, u8); 2] = [Bench::or_write, Bench::compare_and_write];
    for command in commands {
        let mut bench = Bench::new();
        command(&mut bench, 1, 1);
        bench.set_closed(true);
        assert_eq!(bench.run(), []);
        assert_eq!(bench.first_byte(), 1);
        assert!(bench.unit.abort(bench.now, 1, 1));
        bench.set_closed(false);
        bench.or_write(2, 2);
        assert_eq!(bench.run(), [(2, Status::Good)]);
        bench.flush(3);
        bench.cut();
        assert_eq!(bench.first_byte(), 3);
    }
}

/// Two commands change the same block, and the second is aborted: its change remains.
#[test]
fn the_change_of_an_aborted_command_remains() {
    let mut bench = Bench::new();
    bench.or_write(1, 1);
    bench.or_write(2, 2);
    // Both have to read before either may write.
    bench.set_closed(true);
    assert_eq!(bench.run(), []);
    assert_eq!(bench.first_byte(), 3);
    assert!(bench.unit.abort(bench.now, 1, 2));
    bench.cut();
    assert_eq!(bench.first_byte(), 3);
}
