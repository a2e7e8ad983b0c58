//! Contents of log pages (SPC-4), beyond what [`crate::report`] knows of all of them.

use crate::layout::FieldPosition;

pub mod page {
    /// The list of supported pages: their codes.
    pub const SUPPORTED: u8 = 0x00;
    /// Write error counters: parameters of [`super::ErrorCounter`].
    pub const WRITE_ERRORS: u8 = 0x02;
    pub const READ_ERRORS: u8 = 0x03;
    /// Informational exceptions: [`super::Exceptions`] as parameter 0.
    pub const EXCEPTIONS: u8 = 0x2f;
}

/// Parameters of the pages of error counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCounter {
    /// Errors corrected without substantial delay.
    CorrectedAtOnce = 0,
    /// Errors corrected with possible delays.
    CorrectedWithDelay = 1,
    Repeated = 2,
    /// Errors corrected in all.
    Corrected = 3,
    /// Number of uses of the correction algorithm.
    Algorithm = 4,
    /// Bytes read or written.
    Bytes = 5,
    /// Errors that were not corrected.
    Uncorrected = 6,
}

layout! {
    /// Parameter 0 of the page of informational exceptions.
    pub struct Exceptions: 3 {
        /// Additional sense code; 0 means no exception.
        code: u8 = FieldPosition::bytes(0, 1);
        qualifier: u8 = FieldPosition::bytes(1, 1);
        /// In degrees Celsius; 0xff if not known.
        temperature: u8 = FieldPosition::bytes(2, 1);
    }
}
