//! The specification of a drive, from which everything above is built.
//!
//! A [`Spec`] is plain data in checked units. It is written as TOML, one file per drive; [`parse`]
//! reads and validates it as a whole, and its errors name file, line, field, value and what was
//! expected. Without the feature `toml`, a [`Spec`] is built by hand or through its [`Key`]s.
//!
//! Keys are the names of the fields below; [`Key::all`] lists them. A quantity is a string with
//! its unit (`"0.89 ms"`, `"5400 rpm"`, `"256 KiB"`, `"75 %"`); a bare number is a count of what
//! its key names (`surfaces`, `track_skew_sectors`, `first_ms`); a choice is a word
//! (`"until-full"`). `name`, `summary`, `source.origin`, geometry, rotation and seek times must be
//! given; anything else that is left out is off or zero.

#[macro_use]
mod value;
mod buffer;
mod bus;
mod geometry;
mod key;
mod mechanics;
mod overheads;
mod queue;
#[cfg(feature = "toml")]
mod read;

pub use buffer::{Buffer, DeliveredBlocks, Invalidation, ReadAhead, WatermarkOf, WriteCache};
pub use bus::{Bus, WriteLeaves};
pub use geometry::{Geometry, GrownDefects, MAX_CYLINDERS, Sparing, TrackOrder, Zone};
pub use key::{Key, KeyKind, SheetEntry, Variation, milliseconds};
pub use mechanics::{Mechanics, SeekCurve, TwoPiece};
pub use overheads::{ExtraWriteDisconnect, Overheads, WriteStart};
pub use queue::{PreSeek, Queue};
#[cfg(feature = "toml")]
pub use read::{Document, parse};
pub use value::Value;

use crate::units::Span;
use key::{FLAG, TEXT, table};

section! {
    /// A whole drive.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Spec at "" |spec| (Some(spec), spec) {
        /// Its name in the catalogue, such as `hp-c2247`.
        name: String = String::new() => TEXT.required().shown(SheetEntry::Hidden);
        /// A one-line description for lists.
        summary: String = String::new() => TEXT.required().shown(SheetEntry::Hidden);
        /// Where the numbers come from.
        source: Source = Source::default() => table(Source::KEYS).required();
        /// Layout: zones, skews, spare space, defects.
        geometry: Geometry = Geometry::default() => table(Geometry::KEYS).required();
        /// Rotation and arm.
        mechanics: Mechanics = Mechanics::default() => table(Mechanics::KEYS).required();
        /// Segments, read-ahead, write caching.
        buffer: Buffer = Buffer::default() => table(Buffer::KEYS);
        /// Command processing times.
        overheads: Overheads = Overheads::default() => table(Overheads::KEYS);
        /// The path to the host.
        bus: Bus = Bus::default() => table(Bus::KEYS);
        /// The on-board command queue.
        queue: Queue = Queue::default() => table(Queue::KEYS);
    }
}

section! {
    /// Where a specification comes from.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Source at "source." |spec| (Some(&spec.source), &mut spec.source) {
        /// Who measured or published it, and when.
        origin: String = String::new() => TEXT.required().shown(SheetEntry::Hidden);
        /// Which of several conflicting figures was used, and why; empty if there is no conflict.
        choices: String = String::new() => TEXT.shown(SheetEntry::Hidden);
        /// `true` for figures from a data sheet or an analytic model, `false` for a measured
        /// drive.
        nominal: bool = false => FLAG.shown(SheetEntry::Hidden);
    }
}

impl Spec {
    /// Whether the drive does something at random: runs then depend on their seeds, even on the
    /// same requests.
    pub fn is_random(&self) -> bool {
        let Mechanics {
            seek_scatter,
            write_seek_scatter,
            ..
        } = &self.mechanics;
        let scatters = seek_scatter.is_some() || write_seek_scatter.is_some();
        scatters
            || self.overheads.read_miss_in_sequence_scatter > Span::ZERO
            || self.buffer.read_ahead_failures > 0.0
    }

    /// The path of the first key that others forbid, and what it may be. A layout may find more
    /// that is wrong.
    pub fn contradiction(&self) -> Option<(String, String)> {
        let cylinders = self.geometry.cylinders;
        let (table, found) = [
            ("geometry", self.geometry.contradiction()),
            ("mechanics", self.mechanics.contradiction(cylinders)),
            ("buffer", self.buffer.contradiction()),
        ]
        .into_iter()
        .chain([("buffer", self.split_sector())])
        .find_map(|(table, found)| Some((table, found?)))?;
        let (name, expected) = found;
        Some((format!("{table}.{name}"), expected))
    }

    /// The name of a size of the buffer that would split a physical sector, and what is allowed.
    fn split_sector(&self) -> Option<(&'static str, String)> {
        let physical = self.geometry.physical_sector.0;
        let splits = !self.buffer.segment.0.is_multiple_of(physical);
        let expected = || format!("whole physical sectors: a multiple of {physical} sectors");
        splits.then(|| ("segment", expected()))
    }
}
