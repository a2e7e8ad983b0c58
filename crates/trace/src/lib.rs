//! Readers and writers of block traces.
//!
//! This crate reads trace formats and yields one [`Record`] per request, in order of arrival, or in
//! file order if a trace has no arrivals. It streams: memory use does not depend on the size of the
//! trace. It does not replay traces and knows nothing about drives. Callers must check that a
//! record fits on the disk, and can report its [`Record::location`] if it does not.
//!
//! A format is one file in `formats`, which implements [`Format`], and one line in [`FORMATS`].
//! Every problem in a file is either reported as an error with the file, location, field, value and
//! what was expected, or counted if [`OnError::Skip`] is set. No row is dropped silently;
//! [`Reader::notes`] lists other remarks.
//!
//! The modules form layers; each imports only those to its left:
//!
//! ```text
//! digits < time < record < error < source < format < lines < text < pairing <
//! columns < formats < plausible < reader < writer < summary < adapt
//! ```

#![warn(missing_docs)]

pub mod adapt;
#[cfg(feature = "parquet")]
mod columns;
mod digits;
mod error;
mod format;
pub mod formats;
mod lines;
mod pairing;
mod plausible;
mod reader;
mod record;
mod source;
mod summary;
mod text;
mod time;
mod writer;

pub use error::{ErrorKind, SkipReason, SkippedRows, TraceError};
pub use format::{
    ArrivalEvent, DisabledFormat, Format, FormatEntry, FormatInfo, OnError, OpenResult, Options,
    RowReader, RowWriter, TimeOrigin, TraceMetadata, Unwritable, disabled_formats,
};
pub use formats::FORMATS;
pub use reader::{Reader, files, open, open_file, open_with, read, read_with};
pub use record::{Location, Observed, Record, Urgency};
pub use source::ByteSource;
pub use summary::{Bins, DeviceSummary, MeasuredTimes, Summary};
pub use time::TimeUnit;
pub use writer::{Writer, writable};
