//! A store that loses what was not synchronised when the host crashes, and that can fail.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use diskarm_core::testing::Random;
use diskarm_serve::Waker;
use diskarm_serve::store::{Extent, Store, Syncer};

const SECTOR: usize = 512;

/// The state of a host's file, shared by a store, its syncer and the simulation.
#[derive(Clone)]
pub struct Host(Arc<Mutex<State>>);

struct Synchronisation {
    job: usize,
    /// The sectors that were dirty when it was requested, with their content.
    sectors: Vec<(usize, Vec<u8>)>,
    /// The time of the answer.
    at_us: u64,
}

struct State {
    content: Vec<u8>,
    /// The content that survives a crash of the host.
    durable: Vec<u8>,
    /// Sectors written since they were last synchronised.
    dirty: BTreeSet<usize>,
    /// Requested synchronisations, oldest first.
    syncs: VecDeque<Synchronisation>,
    now_us: u64,
    random: Random,
    pub sync_us: u64,
    pub sync_fails: u64,
    pub fails: u64,
    pub sync_count: u64,
}

impl Host {
    pub fn new(bytes: usize, seed: u64) -> Self {
        Self(Arc::new(Mutex::new(State {
            content: vec![0; bytes],
            durable: vec![0; bytes],
            dirty: BTreeSet::new(),
            syncs: VecDeque::new(),
            now_us: 0,
            random: Random::new(seed),
            sync_us: 1,
            sync_fails: 0,
            fails: 0,
            sync_count: 0,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("one thread")
    }

    /// Makes a synchronisation take up to `sync_us`, one in `sync_fails` of them fail, and one in
    /// `fails` of other calls fail; 0 for none.
    pub fn set_faults(&self, sync_us: u64, sync_fails: u64, fails: u64) {
        let mut state = self.lock();
        (state.sync_us, state.sync_fails, state.fails) = (sync_us.max(1), sync_fails, fails);
    }

    pub fn set_time(&self, now_us: u64) {
        self.lock().now_us = now_us;
    }

    /// Returns the time of the next answer of the syncer.
    pub fn next_answer_us(&self) -> Option<u64> {
        self.lock().syncs.front().map(|first| first.at_us)
    }

    pub fn sync_count(&self) -> u64 {
        self.lock().sync_count
    }

    /// Crashes the host: of the sectors that were not synchronised, a random part is lost.
    pub fn crash(&self) {
        let mut state = self.lock();
        let state = &mut *state;
        state.syncs.clear();
        for sector in std::mem::take(&mut state.dirty) {
            let range = sector * SECTOR..(sector + 1) * SECTOR;
            if state.random.one_in(2) {
                let (durable, content) = (&mut state.durable, &state.content);
                durable[range.clone()].copy_from_slice(&content[range]);
            }
        }
        let State {
            content, durable, ..
        } = state;
        content.copy_from_slice(durable);
    }
}

impl State {
    fn check_fault(&mut self) -> io::Result<()> {
        if self.fails > 0 && self.random.one_in(self.fails) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn change(&mut self, offset: u64, data: &[u8]) {
        let at = offset as usize;
        self.content[at..at + data.len()].copy_from_slice(data);
        self.dirty
            .extend(at / SECTOR..(at + data.len()).div_ceil(SECTOR));
    }

    fn synchronise(&mut self, sectors: Vec<(usize, Vec<u8>)>) {
        for (sector, content) in sectors {
            self.durable[sector * SECTOR..][..SECTOR].copy_from_slice(&content);
            if self.content[sector * SECTOR..][..SECTOR] == content[..] {
                self.dirty.remove(&sector);
            }
        }
    }
}

impl Store for Host {
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        let state = self.lock();
        data.copy_from_slice(&state.content[offset as usize..][..data.len()]);
        Ok(())
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.lock();
        if let Err(error) = state.check_fault() {
            // Some of the sectors may have been written.
            let sectors = (data.len() / SECTOR) as u64;
            let written = state.random.below(sectors) as usize * SECTOR;
            state.change(offset, &data[..written]);
            return Err(error);
        }
        state.change(offset, data);
        Ok(())
    }

    fn zero(&mut self, offset: u64, length: u64, _may_free: bool) -> io::Result<()> {
        let mut state = self.lock();
        state.check_fault()?;
        state.change(offset, &vec![0; length as usize]);
        Ok(())
    }

    fn extent(&mut self, offset: u64, length: u64) -> io::Result<Extent> {
        let state = self.lock();
        let sectors = state.content[offset as usize..][..length as usize].chunks(SECTOR);
        let is_hole = |sector: &[u8]| sector.iter().all(|byte| *byte == 0);
        let first = is_hole(&state.content[offset as usize..][..SECTOR]);
        let count = sectors
            .take_while(|sector| is_hole(sector) == first)
            .count();
        Ok(Extent {
            length: (count * SECTOR) as u64,
            is_hole: first,
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.lock();
        let State {
            durable, content, ..
        } = &mut *state;
        durable.copy_from_slice(content);
        state.dirty.clear();
        Ok(())
    }

    fn syncer(&self, _: Waker) -> io::Result<Option<Box<dyn Syncer>>> {
        Ok(Some(Box::new(self.clone())))
    }
}

impl Syncer for Host {
    fn request(&mut self, job: usize) {
        let mut state = self.lock();
        let dirty = state.dirty.iter();
        let sectors =
            dirty.map(|sector| (*sector, state.content[sector * SECTOR..][..SECTOR].to_vec()));
        let sectors = sectors.collect();
        let limit = state.sync_us;
        let at = state.now_us + 1 + state.random.below(limit);
        let last = state.syncs.back().map_or(0, |last| last.at_us);
        state.syncs.push_back(Synchronisation {
            job,
            sectors,
            at_us: at.max(last),
        });
    }

    fn answer(&mut self) -> Option<(usize, bool)> {
        let mut state = self.lock();
        let now = state.now_us;
        let first = state.syncs.pop_front_if(|first| first.at_us <= now)?;
        let Synchronisation { job, sectors, .. } = first;
        state.sync_count += 1;
        let fails = state.sync_fails;
        if fails > 0 && state.random.one_in(fails) {
            // As on Linux, the sectors count as clean although they were not written.
            for (sector, _) in sectors {
                state.dirty.remove(&sector);
            }
            return Some((job, false));
        }
        state.synchronise(sectors);
        Some((job, true))
    }
}
