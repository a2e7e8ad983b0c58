//! A waiting request, as a policy in Python sees it.

use diskarm_core::extent::Extent;
use diskarm_core::sched::{Outlook, Pending as Waiting};
use pyo3::prelude::*;

use crate::requests::microseconds;

/// A waiting request at the time of a decision.
#[pyclass(frozen, get_all, module = "diskarm")]
pub struct Pending {
    /// The request's number; a workload counts from 0.
    pub id: u64,
    /// Its first block.
    pub lbn: u64,
    /// Its number of blocks.
    pub sectors: u64,
    /// True for a read, False for a write.
    pub is_read: bool,
    /// Time of arrival in the queue, in microseconds.
    pub arrived_us: f64,
    /// The cylinder of its first block.
    pub cylinder: u32,
    /// Time until its media transfer would begin, in microseconds.
    pub positioning_us: f64,
    /// True if the drive's buffer holds the start of its data, or is reading it.
    pub is_buffered: bool,
}

impl Pending {
    /// Describes a request at `place`, as the drive of `outlook` would serve it.
    pub fn at(waiting: &Waiting, place: &Extent, outlook: &impl Outlook) -> Self {
        let request = &waiting.request;
        Self {
            id: request.id,
            lbn: request.start.0,
            sectors: request.sectors.0,
            is_read: request.op.is_read(),
            arrived_us: microseconds(waiting.arrived.as_ns() as i64),
            cylinder: place.cylinder.0,
            positioning_us: microseconds(outlook.positioning(request, place).as_ns()),
            is_buffered: outlook.is_buffered(request),
        }
    }
}

#[pymethods]
impl Pending {
    fn __repr__(&self) -> String {
        let op = if self.is_read { "read" } else { "write" };
        let (id, sectors, lbn) = (self.id, self.sectors, self.lbn);
        format!("<Pending {id}: {op} of {sectors} sectors at {lbn}>")
    }
}
