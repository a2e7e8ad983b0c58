//! What a format is, and the table of those that are known.

use std::io::BufRead;

use crate::error::TraceError;
use crate::formats::{disksim::DiskSim, measured::Measured};
use crate::record::Record;
use crate::time::TimeUnit;

/// Every format, in the order in which help lists them.
pub static FORMATS: &[Entry] = &[Entry::of::<Measured>(), Entry::of::<DiskSim>()];

/// The bytes of a trace.
pub type Input = Box<dyn BufRead + Send>;

/// The records of a trace, one a request, in the order of the file. Nothing follows an error.
pub type Records = Box<dyn Iterator<Item = Result<Record, TraceError>> + Send>;

/// What a format says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// The name by which it is asked for.
    pub name: &'static str,
    /// One line for a list.
    pub summary: &'static str,
    /// What its first line looks like, for someone whose file was not recognised.
    pub first_line: &'static str,
    /// The unit of its times.
    pub time_unit: TimeUnit,
    /// What it gives beside direction, first block and number of blocks.
    pub carries: &'static str,
}

/// A way to write traces down.
pub trait Format {
    /// What it says of itself.
    const INFO: Info;

    /// Whether a file that begins with `head` looks like this format: a guess that must not take
    /// another format's file, while a broken file of this format may pass so as to be refused
    /// with a precise error. `head` is the whole of a short file and ends anywhere in a long one.
    fn sniff(head: &[u8]) -> bool;

    /// Starts to read. `name` is the file's, for errors.
    ///
    /// # Errors
    ///
    /// What is wrong before the first record, such as in a header.
    fn open(input: Input, name: &str) -> Result<Records, TraceError>;
}

/// A [`Format`] in the table [`FORMATS`].
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// [`Format::INFO`].
    pub info: Info,
    /// [`Format::sniff`].
    pub sniff: fn(&[u8]) -> bool,
    /// [`Format::open`].
    pub open: fn(Input, &str) -> Result<Records, TraceError>,
}

impl Entry {
    /// The table's entry for the format `F`.
    pub const fn of<F: Format>() -> Self {
        Self {
            info: F::INFO,
            sniff: F::sniff,
            open: F::open,
        }
    }
}
