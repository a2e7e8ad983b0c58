//! Readers of block traces.
//!
//! This crate owns the formats in which traces are written and hands over [`Record`]s, one a
//! request, in the order of the file. It streams: memory stays flat whatever the size of the
//! trace. It decides nothing about replay, and knows no drive: whether a record lies within a
//! disk is for the caller to check, who finds the place to complain about in [`Record::line`].
//!
//! A format is one file in `formats`, which implements [`Format`], and one line in [`FORMATS`].
//! Everything amiss in a file is an error that names file, line, field, value and what was
//! expected; no row is ever dropped.

mod error;
mod format;
pub mod formats;
mod lines;
mod reader;
mod record;
mod time;

pub use error::{ErrorKind, TraceError};
pub use format::{Entry, FORMATS, Format, Info, Input, Records};
pub use reader::{Reader, open, read};
pub use record::{Line, Observed, Record};
pub use time::TimeUnit;
