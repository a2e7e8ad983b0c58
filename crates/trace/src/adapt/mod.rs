//! Adapts a trace to drives: which requests, when, on which disk, at which blocks.
//!
//! Each change is an iterator of records that wraps another one, so they can be stacked in any
//! order. It reports in its [`Notes`] what it did; nothing is changed without being requested.

mod closed;
mod devices;
mod fit;
mod merged;
mod pace;
mod window;

pub use closed::ClosedLoop;
pub use devices::{DeviceFilter, Disks};
pub use fit::{Fit, Fitted};
pub use merged::Merged;
pub use pace::{Factor, Paced};
pub use window::{Window, parse_instant};

use crate::error::TraceError;
use crate::reader::Reader;
use crate::record::Record;

/// Records, with notes about them.
pub trait Notes: Iterator<Item = Result<Record, TraceError>> {
    /// Replaces `record` by the next one; `None` at the end. The same as the iterator, without a
    /// copy in each of several changes.
    fn read(&mut self, record: &mut Record) -> Option<Result<(), TraceError>> {
        Some(self.next()?.map(|next| *record = next))
    }

    /// The name of the trace, as in its errors.
    fn name(&self) -> &str;

    /// The traces that the records come from.
    fn readers(&self) -> Vec<&Reader>;

    /// The changes that were made, one line each; complete when all records are read.
    fn changes(&self) -> Vec<String>;

    /// What users of the records should know, one line each: the notes of the readers, then the
    /// changes.
    fn notes(&self) -> Vec<String> {
        let readers = self.readers();
        let mut notes: Vec<String> = readers.iter().flat_map(|reader| reader.notes()).collect();
        notes.extend(self.changes());
        notes
    }
}

impl Notes for Reader {
    #[inline]
    fn read(&mut self, record: &mut Record) -> Option<Result<(), TraceError>> {
        self.read(record)
    }

    fn name(&self) -> &str {
        self.name()
    }

    fn readers(&self) -> Vec<&Reader> {
        vec![self]
    }

    fn changes(&self) -> Vec<String> {
        Vec::new()
    }
}

impl<N: Notes + ?Sized> Notes for Box<N> {
    fn read(&mut self, record: &mut Record) -> Option<Result<(), TraceError>> {
        (**self).read(record)
    }

    fn name(&self) -> &str {
        (**self).name()
    }

    fn readers(&self) -> Vec<&Reader> {
        (**self).readers()
    }

    fn changes(&self) -> Vec<String> {
        (**self).changes()
    }
}

/// The notes of the wrapped iterator, and one more.
fn with(mut notes: Vec<String>, note: Option<String>) -> Vec<String> {
    notes.extend(note);
    notes
}
