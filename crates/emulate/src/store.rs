//! The data of a unit.

use std::collections::BTreeMap;

use diskarm_core::device::Persisted;
use diskarm_core::request::Request;
use diskarm_core::units::{Bytes, Lbn};
use diskarm_wire::Sense;
use diskarm_wire::sense::{Code, Key};

/// Holds the data of blocks. Blocks that were never written are zeros.
pub trait Store: Send {
    /// Fills `data`, whole blocks that are zeros, with those from `at` on.
    ///
    /// # Errors
    /// If that is not possible.
    fn read(&mut self, at: Lbn, data: &mut [u8]) -> Result<(), Unavailable>;

    /// Stores `data`, whole blocks, at `at`.
    ///
    /// # Errors
    /// If that is not possible.
    fn write(&mut self, at: Lbn, data: &[u8]) -> Result<(), Unavailable>;

    /// Makes all blocks zeros.
    ///
    /// # Errors
    /// If that is not possible.
    fn clear(&mut self) -> Result<(), Unavailable>;

    /// Returns true if the store wants the notifications below.
    fn follows(&self) -> bool {
        false
    }

    /// The device has received a write or a flush. `data` are what [`Self::write`] will store once
    /// the device has completed the write; empty if they are already stored.
    fn submitted(&mut self, _request: &Request, _data: Vec<u8>) {}

    /// The device has completed a write or a flush. If it `counts`, the data of a write follow now,
    /// unless they have been there before; otherwise it has failed or was aborted.
    fn completed(&mut self, _request: &Request, _counts: bool) {}

    /// The write of data that were stored at `at` in advance was aborted before the device received
    /// it. `before` earlier writes at `at` are still pending. The data stay.
    fn left_over(&mut self, _at: Lbn, _before: usize) {}

    /// These blocks have reached the media.
    fn persisted(&mut self, _blocks: &[Persisted]) {}
}

/// A failure of the store itself, independent of the modelled drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unavailable;

impl From<Unavailable> for Sense {
    fn from(_: Unavailable) -> Self {
        Self::new(Key::HardwareError, Code::INTERNAL_FAILURE)
    }
}

/// Data in memory, allocated only for chunks that do not consist of zeros.
#[derive(Clone, Debug)]
pub struct Sparse {
    block: usize,
    chunks: BTreeMap<u64, Box<[u8]>>,
}

impl Sparse {
    /// Blocks in a chunk.
    const CHUNK: u64 = 64;

    /// Creates a store of zeros with blocks of this size.
    pub fn new(block: Bytes) -> Self {
        Self {
            block: block.0 as usize,
            chunks: BTreeMap::new(),
        }
    }

    /// Splits `length` bytes from block `at` at chunk boundaries: the chunk, the offset in it, the
    /// offset in the data, and the length.
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
    fn read(&mut self, at: Lbn, data: &mut [u8]) -> Result<(), Unavailable> {
        for (chunk, from, to, length) in self.parts(at, data.len()) {
            let data = &mut data[to..to + length];
            if let Some(chunk) = self.chunks.get(&chunk) {
                data.copy_from_slice(&chunk[from..from + length]);
            }
        }
        Ok(())
    }

    fn write(&mut self, at: Lbn, data: &[u8]) -> Result<(), Unavailable> {
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
        Ok(())
    }

    fn clear(&mut self) -> Result<(), Unavailable> {
        self.chunks.clear();
        Ok(())
    }
}
