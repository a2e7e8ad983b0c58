//! Contents of log pages (SPC-4), beyond what [`crate::report`] knows of all of them.

use crate::layout::Place;

/// Codes of pages.
pub mod page {
    /// Which pages there are: a list of their codes.
    pub const SUPPORTED: u8 = 0x00;
    /// Write error counters: parameters of [`super::ErrorCounter`].
    pub const WRITE_ERRORS: u8 = 0x02;
    /// Read error counters.
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
    /// Retries.
    Repeated = 2,
    /// Errors corrected in all.
    Corrected = 3,
    /// How often the correction algorithm was tried.
    Algorithm = 4,
    /// Bytes read or written.
    Bytes = 5,
    /// Errors that were not corrected.
    Uncorrected = 6,
}

layout! {
    /// Parameter 0 of the page of informational exceptions.
    pub struct Exceptions: 3 {
        /// Additional sense code; 0 if there is no exception.
        code: u8 = Place::bytes(0, 1);
        /// Its qualifier.
        qualifier: u8 = Place::bytes(1, 1);
        /// In degrees Celsius; 0xff if not known.
        temperature: u8 = Place::bytes(2, 1);
    }
}
