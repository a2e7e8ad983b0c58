//! From a trace to drives: which of its requests, when, on which disk, at which blocks.
//!
//! Each change is an iterator of records around another one, so that they stack in any order, and
//! says in its [`Notes`] what it did; nothing is changed unless it was asked for.

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

/// Records, and what there is to say about them.
pub trait Notes: Iterator<Item = Result<Record, TraceError>> {
    /// The trace's name, as errors give it.
    fn name(&self) -> &str;

    /// The traces that the records come from.
    fn readers(&self) -> Vec<&Reader>;

    /// What was changed on request, one line each; complete when all are read.
    fn changes(&self) -> Vec<String>;

    /// What someone who trusts the records should know, one line each: what the readers say, then
    /// the changes.
    fn notes(&self) -> Vec<String> {
        let readers = self.readers();
        let mut notes: Vec<String> = readers.iter().flat_map(|reader| reader.notes()).collect();
        notes.extend(self.changes());
        notes
    }
}

impl Notes for Reader {
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

/// The notes of what lies below, and one more.
fn and(mut notes: Vec<String>, note: Option<String>) -> Vec<String> {
    notes.extend(note);
    notes
}
