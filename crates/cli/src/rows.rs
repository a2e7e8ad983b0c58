//! CSV files that are written during a run, row by row.

use std::io::{self, Write};

use diskarm_core::device::{Breakdown, Completion};
use diskarm_core::request::{Op, Request};
use diskarm_simulate::{OUTCOMES, Sink, outcome};

use crate::error::Error;
use crate::output::{OpenOutput, Target};

/// A CSV file that gets its name when it is complete.
pub struct RowFile {
    file: OpenOutput,
    /// The first error; nothing is written after it.
    failure: Option<io::Error>,
}

impl RowFile {
    /// Creates the file with the names of its columns.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn create(target: Target, names: &str) -> Result<Self, Error> {
        let mut rows = Self {
            file: target.create()?,
            failure: None,
        };
        rows.write(names.as_bytes());
        rows.write(b"\n");
        Ok(rows)
    }

    pub fn write(&mut self, bytes: &[u8]) {
        if self.failure.is_none() {
            self.failure = self.file.out.write_all(bytes).err();
        }
    }

    /// Renames the complete file.
    ///
    /// # Errors
    /// If any part of it could not be written; the file at the final path is then unchanged.
    pub fn finish(self) -> Result<(), Error> {
        self.file.finish(self.failure.map_or(Ok(()), Err))
    }
}

/// Appends a request between commas: operation (R, W or F), first block, number of blocks.
pub fn request_cells(row: &mut Vec<u8>, request: &Request) {
    row.extend(match request.op {
        Op::Read => b",R,",
        Op::Write => b",W,",
        Op::Flush => b",F,",
    });
    number(row, request.start.0);
    row.push(b',');
    number(row, request.sectors.0);
    row.push(b',');
}

/// Appends a number in decimal, in a third of the time of `write!`.
pub fn number(row: &mut Vec<u8>, number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut left = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    row.extend(&digits[at..]);
}

/// Appends nanoseconds as microseconds with three decimals.
pub fn microseconds(row: &mut Vec<u8>, ns: i64) {
    if ns < 0 {
        row.push(b'-');
    }
    let ns = ns.unsigned_abs();
    number(row, ns / 1_000);
    let rest = ns % 1_000;
    row.push(b'.');
    row.extend([rest / 100, rest / 10 % 10, rest % 10].map(|digit| b'0' + digit as u8));
}

/// The file of `simulate --per-request`: a row for each request.
pub struct RequestRows(RowFile);

/// Enough for the longest row: 14 numbers of 20 digits and their separators.
const ROW_BYTES: usize = 512;

impl RequestRows {
    pub fn create(target: Target) -> Result<Self, Error> {
        let parts = Breakdown::NAMES.map(|name| format!("{name}_us")).join(",");
        let first = "id,disk,op,lbn,sectors,outcome,arrived_us,completed_us,response_us";
        Ok(Self(RowFile::create(target, &format!("{first},{parts}"))?))
    }

    /// Renames the complete file.
    ///
    /// # Errors
    /// If any part of it could not be written; the file at the final path is then unchanged.
    pub fn finish(self) -> Result<(), Error> {
        self.0.finish()
    }
}

impl Sink for RequestRows {
    fn take(&mut self, completion: &Completion) {
        let request = &completion.request;
        let mut row = Vec::with_capacity(ROW_BYTES);
        number(&mut row, request.id);
        row.push(b',');
        number(&mut row, request.unit.into());
        request_cells(&mut row, request);
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
        self.0.write(&row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_by_the_standard_library() {
        for n in [0, 7, 10, 999, 1_000, 1_234_567_890, u64::MAX] {
            let mut row = Vec::new();
            number(&mut row, n);
            assert_eq!(row, n.to_string().as_bytes());
        }
        for (ns, text) in [
            (0, "0.000"),
            (1, "0.001"),
            (-483_000, "-483.000"),
            (-20, "-0.020"),
            (i64::MAX, "9223372036854775.807"),
        ] {
            let mut row = Vec::new();
            microseconds(&mut row, ns);
            assert_eq!(row, text.as_bytes());
        }
    }
}
