//! Readers and writers of block traces.
//!
//! This crate owns the formats in which traces are written and hands over [`Record`]s, one a
//! request, in the order of their arrivals, or of the file where there are none. It streams:
//! memory stays flat whatever the size of the trace. It decides nothing about replay, and knows no
//! drive: whether a record lies within a disk is for the caller to check, who finds the place to
//! complain about in [`Record::place`].
//!
//! A format is one file in `formats`, which implements [`Format`], and one line in [`FORMATS`].
//! Everything amiss in a file is an error that names file, place, field, value and what was
//! expected, or with [`OnError::Skip`] is counted; no row is ever dropped in silence, and
//! [`Reader::notes`] says what else there is to know.
//!
//! The modules form layers; a module imports only those before it:
//!
//! ```text
//! digits < plural < time < record < error < compression < source < format < lines < text <
//! pairing < columns < disabled < formats < order < plausible < skipped < reader < writer <
//! bins < summary < adapt
//! ```

pub mod adapt;
mod bins;
#[cfg(feature = "parquet")]
mod columns;
mod compression;
mod digits;
mod disabled;
mod error;
mod format;
pub mod formats;
mod lines;
mod order;
mod pairing;
mod plausible;
mod plural;
mod reader;
mod record;
mod skipped;
mod source;
mod summary;
mod text;
mod time;
mod writer;

pub use bins::Bins;
pub use disabled::{DisabledFormat, disabled_formats};
pub use error::{ErrorKind, TraceError};
pub use format::{
    ArrivalEvent, Format, FormatEntry, FormatInfo, OnError, OpenResult, Options, RowReader,
    RowWriter, TimeOrigin, TraceMetadata, Unwritable,
};
pub use formats::FORMATS;
pub use reader::{Reader, files, open, open_with, read, read_with};
pub use record::{Location, Observed, Record, Urgency};
pub use skipped::{SkipReason, Skipped};
pub use source::ByteSource;
pub use summary::{DeviceSummary, Measured, Summary};
pub use time::TimeUnit;
pub use writer::{Writer, writable};
