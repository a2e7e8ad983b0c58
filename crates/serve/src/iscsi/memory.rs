//! The memory for the data of sessions, and its limit for all sessions of a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory that each session may use even if others use all of [`SHARED_MEMORY`], in bytes.
pub const SESSION_MEMORY: usize = 4 << 20;
/// Memory that all sessions of a server may use together beyond [`SESSION_MEMORY`], in bytes.
pub const SHARED_MEMORY: usize = 512 << 20;

/// The number of bytes of [`SHARED_MEMORY`] that are in use.
#[derive(Clone, Debug, Default)]
pub struct SharedMemory(Arc<AtomicUsize>);

impl SharedMemory {
    pub fn used(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// The memory that a session uses. It is released on drop.
#[derive(Debug)]
pub struct SessionMemory {
    used: usize,
    shared: SharedMemory,
}

impl SessionMemory {
    pub const fn new(shared: SharedMemory) -> Self {
        Self { used: 0, shared }
    }

    /// Takes `bytes`, unless the session would then use more than `max` or more than there is.
    pub fn try_take(&mut self, bytes: usize, max: usize) -> bool {
        if self.used + bytes > max {
            return false;
        }
        self.take(bytes);
        let fits = self.used <= SESSION_MEMORY || self.shared.used() <= SHARED_MEMORY;
        if !fits {
            self.release(bytes);
        }
        fits
    }

    pub fn take(&mut self, bytes: usize) {
        self.set(self.used + bytes);
    }

    pub fn release(&mut self, bytes: usize) {
        self.set(self.used - bytes);
    }

    fn set(&mut self, used: usize) {
        let shared = |used: usize| used.saturating_sub(SESSION_MEMORY);
        let change = shared(used).wrapping_sub(shared(self.used));
        if change != 0 {
            self.shared.0.fetch_add(change, Ordering::Relaxed);
        }
        self.used = used;
    }
}

impl Drop for SessionMemory {
    fn drop(&mut self) {
        self.set(0);
    }
}
