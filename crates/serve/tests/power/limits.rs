//! What is kept of writes that a power cut can revert is limited, also if the store fails.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use diskarm_core::device::Persisted;
use diskarm_core::units::{Bytes, Lbn, SectorCount};
use diskarm_serve::Waker;
use diskarm_serve::power::{DataPath, PowerCut, WriteId};
use diskarm_serve::store::{Extent, SparseStore, Store, Syncer};

const SECTOR: u64 = 512;
/// Number of sectors kept for writes in progress, and beyond the buffer for others.
const MAX_KEPT: u64 = 1 << 16;

fn data(store: Box<dyn Store>, capacity: u64, is_timed: bool) -> DataPath {
    DataPath::new(store, Bytes(SECTOR), Some(SectorCount(capacity)), is_timed)
}

fn empty_store() -> Box<SparseStore> {
    Box::new(SparseStore::empty(1 << 30))
}

/// Fills `sectors` sectors from `first` on.
fn write(data: &mut DataPath, first: u64, sectors: u64, fill: u8) -> WriteId {
    let write = data.open(first * SECTOR, sectors * SECTOR);
    let filled = vec![fill; (sectors * SECTOR) as usize];
    let written = data.write_part(write, first * SECTOR, &filled);
    written.expect("the store works");
    data.mark_submitted(write);
    write
}

fn persisted(first: u64, sectors: u64) -> Persisted {
    Persisted {
        first: Lbn(first),
        sectors: SectorCount(sectors),
    }
}

fn first_byte(data: &mut DataPath, sector: u64) -> u8 {
    let mut byte = [0];
    data.store.read(sector * SECTOR, &mut byte).expect("memory");
    byte[0]
}

/// A drive may acknowledge writes of one sector without end, and write the sector once.
#[test]
fn a_sector_that_is_written_without_end_has_limited_versions() {
    let capacity = 10;
    let mut data = data(empty_store(), capacity, true);
    let limit = 2 * capacity + MAX_KEPT;
    // The fill is the number of the write, or a later one if fewer versions were kept.
    for number in 0..limit + 50 {
        let write = write(&mut data, 3, 1, (number % 251) as u8);
        data.mark_acknowledged(write, false);
        assert_eq!(data.version_count(), (number + 1).min(limit));
    }
    assert_eq!(data.pending_writes().len() as u64, limit);
    let losses = data.cut(&PowerCut::default()).expect("memory");
    assert_eq!((losses.lost_writes, losses.reverted_sectors), (limit, 1));
    assert_eq!(first_byte(&mut data, 3), 49);
}

#[test]
fn writes_in_progress_fill_the_data_path_until_they_are_acknowledged() {
    let mut data = data(empty_store(), 10, true);
    let half = MAX_KEPT / 2;
    let first = write(&mut data, 0, half, 1);
    let planned = data.plan(half * SECTOR, &vec![2; (half * SECTOR) as usize]);
    assert!(!data.is_full());
    let last = write(&mut data, MAX_KEPT, 1, 3);
    assert!(data.is_full());
    data.mark_acknowledged(last, false);
    assert!(!data.is_full());
    let another = write(&mut data, MAX_KEPT + 1, 1, 4);
    assert!(data.is_full());
    // What is carried out is still in progress.
    data.carry_out(planned).expect("memory");
    assert!(data.is_full());
    data.withdraw(another);
    assert!(!data.is_full());
    // A safe write that replaces others leaves nothing of them to keep.
    let replacing = write(&mut data, 0, half, 5);
    assert!(data.is_full());
    data.mark_acknowledged(replacing, true);
    assert!(!data.is_full());
    data.mark_acknowledged(first, false);
    data.mark_acknowledged(planned, false);
    assert_eq!(data.version_count(), half + 1);
}

#[test]
fn trims_are_not_kept() {
    let mut data = data(empty_store(), 10, true);
    let write = write(&mut data, 0, 4, 1);
    data.mark_acknowledged(write, false);
    for _ in 0..3 {
        data.trim(0, 1 << 29).expect("memory");
        assert_eq!(data.version_count(), 4);
    }
    assert!(!data.is_full());
}

/// Part of the data of a client that went away may already have been replaced by a write with FUA.
#[test]
fn a_shortened_write_reaches_the_media_without_its_replaced_sectors() {
    let mut data = data(empty_store(), 10, true);
    let partial = data.open(0, 8 * SECTOR);
    let filled = [1; 4 * SECTOR as usize];
    data.write_part(partial, 0, &filled).expect("memory");
    let replacing = write(&mut data, 0, 1, 2);
    data.mark_persisted(&[persisted(0, 1)]);
    data.mark_acknowledged(replacing, true);
    data.shorten(partial, 4 * SECTOR);
    data.mark_submitted(partial);
    data.mark_persisted(&[persisted(1, 3)]);
    assert_eq!(data.pending_writes(), []);
    data.cut(&PowerCut::default()).expect("memory");
    let content = [0, 1, 2, 3, 4].map(|sector| first_byte(&mut data, sector));
    assert_eq!(content, [2, 1, 1, 1, 0]);
}

#[test]
fn a_write_whose_client_sent_nothing_is_forgotten() {
    let mut data = data(empty_store(), 10, true);
    let nothing = data.open(0, 8 * SECTOR);
    data.shorten(nothing, 0);
    data.mark_submitted(nothing);
    data.mark_acknowledged(nothing, false);
    let losses = data.cut(&PowerCut::default()).expect("memory");
    assert_eq!(losses.unfinished_writes, 0);
}

/// A store that refuses writes while its disk is full.
struct FullStore {
    store: SparseStore,
    is_full: Arc<AtomicBool>,
}

impl Store for FullStore {
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        self.store.read(offset, data)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        if self.is_full.load(Ordering::Relaxed) && data[0] >= 100 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.store.write(offset, data)
    }

    fn zero(&mut self, offset: u64, length: u64, may_free: bool) -> io::Result<()> {
        self.store.zero(offset, length, may_free)
    }

    fn extent(&mut self, offset: u64, length: u64) -> io::Result<Extent> {
        self.store.extent(offset, length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.store.sync()
    }

    fn syncer(&self, waker: Waker) -> io::Result<Option<Box<dyn Syncer>>> {
        self.store.syncer(waker)
    }
}

fn full_store() -> (Box<FullStore>, Arc<AtomicBool>) {
    let is_full = Arc::new(AtomicBool::new(false));
    let store = FullStore {
        store: SparseStore::empty(1 << 30),
        is_full: Arc::clone(&is_full),
    };
    (Box::new(store), is_full)
}

#[test]
fn planned_writes_that_the_store_refuses_do_not_fill_the_data_path() {
    let (store, is_full) = full_store();
    let mut data = data(store, 10, true);
    is_full.store(true, Ordering::Relaxed);
    let refused = data.plan(0, &[100; 4 * SECTOR as usize]);
    assert!(data.carry_out(refused).is_err());
    assert_eq!((data.version_count(), data.pending_writes()), (0, vec![]));
    is_full.store(false, Ordering::Relaxed);
    data.cut(&PowerCut::default()).expect("no write is left");
    assert_eq!(first_byte(&mut data, 0), 0);
}

/// The sectors that can be reverted are reverted.
#[test]
fn a_power_cut_empties_the_cache_even_if_the_store_fails() {
    for is_planned in [false, true] {
        let (store, is_full) = full_store();
        let mut data = data(store, 10, true);
        let refused = if is_planned { 3 } else { 100 };
        for (first, fill) in [(0, refused), (1, 1)] {
            let safe = write(&mut data, first, 1, fill);
            data.mark_persisted(&[persisted(first, 1)]);
            data.mark_acknowledged(safe, true);
            let lost = write(&mut data, first, 1, 2);
            data.mark_acknowledged(lost, false);
        }
        if is_planned {
            data.plan(2 * SECTOR, &[100; SECTOR as usize]);
        }
        is_full.store(true, Ordering::Relaxed);
        assert!(data.cut(&PowerCut::default()).is_err());
        assert_eq!(data.version_count(), 0);
        let content = [0, 1, 2].map(|sector| first_byte(&mut data, sector));
        assert_eq!(content, [if is_planned { 3 } else { 2 }, 1, 0]);
    }
}
