//! The counters of the unit for LOG SENSE.

use diskarm_core::device::{Completion, Status};

/// Counters of one kind of access.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Errors {
    /// Accesses that succeeded after retries.
    pub recovered: u64,
    pub retries: u64,
    /// Blocks that were accessed.
    pub blocks: u64,
    pub failed: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub reads: Errors,
    pub writes: Errors,
}

impl Counts {
    pub fn note(&mut self, completion: &Completion) {
        let errors = if completion.request.op.is_read() {
            &mut self.reads
        } else {
            &mut self.writes
        };
        match completion.status {
            Status::Good => {}
            Status::Recovered { retries } => {
                errors.recovered += 1;
                errors.retries += u64::from(retries);
            }
            Status::MediumError { .. } => errors.failed += 1,
            Status::NotReady | Status::Aborted => return,
        }
        errors.blocks += completion.request.sectors.0;
    }
}
