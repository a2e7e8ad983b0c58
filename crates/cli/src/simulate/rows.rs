//! A CSV row per request, written during the run.

use diskarm_core::device::{Breakdown, Completion};
use diskarm_simulate::{OUTCOMES, Sink, outcome};

use crate::error::Error;
use crate::output::Target;
use crate::rows::{RowFile, asked, microseconds, number};

/// The file of rows; it gets its name when it is complete.
pub struct Rows(RowFile);

/// Enough for the longest row: 14 numbers of 20 digits and their separators.
const ROW_BYTES: usize = 512;

impl Rows {
    /// Begins the file.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn create(target: Target) -> Result<Self, Error> {
        let parts = Breakdown::NAMES.map(|name| format!("{name}_us")).join(",");
        let first = "id,disk,op,lbn,sectors,outcome,arrived_us,completed_us,response_us";
        Ok(Self(RowFile::begin(target, &format!("{first},{parts}"))?))
    }

    /// Renames the complete file.
    ///
    /// # Errors
    /// If any part of it could not be written; the file at the final path is then unchanged.
    pub fn finish(self) -> Result<(), Error> {
        self.0.finish()
    }
}

impl Sink for Rows {
    fn take(&mut self, completion: &Completion) {
        let request = &completion.request;
        let mut row = Vec::with_capacity(ROW_BYTES);
        number(&mut row, request.id);
        row.push(b',');
        number(&mut row, request.unit.into());
        asked(&mut row, request);
        row.extend(OUTCOMES[outcome(completion)].as_bytes());
        let times = [
            completion.arrived.as_ns() as i64,
            completion.at.as_ns() as i64,
            completion.response().as_ns(),
        ];
        let parts = completion.breakdown.parts().map(|part| part.as_ns());
        for ns in times.into_iter().chain(parts) {
            row.push(b',');
            microseconds(&mut row, ns);
        }
        row.push(b'\n');
        self.0.put(&row);
    }
}
