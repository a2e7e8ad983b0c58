//! Requests under way.

use std::time::Instant as Wall;

use diskarm_wire::nbd::Error;

use super::Job;
use crate::power::Write;

/// A request under way.
pub struct Active {
    /// The connection that it came from; `None` once that is gone.
    pub connection: Option<usize>,
    pub job: Job,
    /// Where its next part begins, and how many bytes are left, if it has further parts.
    pub left: Option<(u64, u64)>,
    /// The device has completed it, or has nothing to do with it.
    pub is_served: bool,
    /// The store's file has been synchronised, if it needs that.
    pub is_synced: bool,
    pub error: Option<(Error, &'static str)>,
    /// The store's number of what its command in the device writes.
    pub write: Write,
    /// What it is for, if it is a flush.
    pub mark: u64,
    /// When its reply is due, if it takes time.
    pub due: Option<Wall>,
}

impl Active {
    /// Leaves out its further parts, after which alone it would be synchronised.
    pub fn give_up(&mut self) {
        if self.left.take().is_some() {
            self.is_synced = true;
        }
    }
}
