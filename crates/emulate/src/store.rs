//! The data of a unit.

use std::collections::BTreeMap;

use diskarm_core::units::{Bytes, Lbn};

/// Holds the data of blocks. Blocks that were never written are zeros.
pub trait Store: Send {
    /// Fills `data`, whole blocks that are zeros, with those from `at` on.
    fn read(&self, at: Lbn, data: &mut [u8]);

    /// Puts `data`, whole blocks, at `at`.
    fn write(&mut self, at: Lbn, data: &[u8]);

    /// Makes all blocks zeros.
    fn clear(&mut self);
}

/// Data in memory: only chunks that hold something but zeros take any.
#[derive(Clone, Debug)]
pub struct Sparse {
    block: usize,
    chunks: BTreeMap<u64, Box<[u8]>>,
}

impl Sparse {
    /// Blocks in a chunk.
    const CHUNK: u64 = 64;

    /// Nothing but zeros, in blocks of this size.
    pub fn new(block: Bytes) -> Self {
        Self {
            block: block.0 as usize,
            chunks: BTreeMap::new(),
        }
    }

    /// The parts of `length` bytes from block `at` on that are in one chunk each: chunk, where the
    /// part begins in it, and where in the data.
    fn parts(
        &self,
        at: Lbn,
        length: usize,
    ) -> impl Iterator<Item = (u64, usize, usize, usize)> + use<> {
        let block = self.block;
        let blocks = (length / block) as u64;
        let mut next = 0;
        std::iter::from_fn(move || {
            let (chunk, within) = ((at.0 + next) / Self::CHUNK, (at.0 + next) % Self::CHUNK);
            let count = (Self::CHUNK - within).min(blocks - next);
            let part = (
                chunk,
                within as usize * block,
                next as usize * block,
                count as usize * block,
            );
            next += count;
            (count > 0).then_some(part)
        })
    }
}

impl Store for Sparse {
    fn read(&self, at: Lbn, data: &mut [u8]) {
        for (chunk, from, to, length) in self.parts(at, data.len()) {
            let data = &mut data[to..to + length];
            if let Some(chunk) = self.chunks.get(&chunk) {
                data.copy_from_slice(&chunk[from..from + length]);
            }
        }
    }

    fn write(&mut self, at: Lbn, data: &[u8]) {
        let size = Self::CHUNK as usize * self.block;
        for (chunk, to, from, length) in self.parts(at, data.len()) {
            let data = &data[from..from + length];
            if let Some(chunk) = self.chunks.get_mut(&chunk) {
                chunk[to..to + length].copy_from_slice(data);
            } else if data.iter().any(|byte| *byte != 0) {
                let mut fresh = vec![0; size].into_boxed_slice();
                fresh[to..to + length].copy_from_slice(data);
                self.chunks.insert(chunk, fresh);
            }
        }
    }

    fn clear(&mut self) {
        self.chunks.clear();
    }
}
