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
mod geometry;
mod key;
mod mechanics;
mod overheads;
#[cfg(feature = "toml")]
mod read;

use key::{A1, DISKSIM, FLAG, TEXT, TIME, count, table, word};

use crate::sched::PolicyConfig;
use crate::units::Span;

pub use buffer::{Buffer, DeliveredBlocks, Invalidation, ReadAhead, WatermarkOf, WriteCache};
pub use geometry::{Geometry, GrownDefects, MAX_CYLINDERS, Sparing, TrackOrder, Zone};
pub use key::{Key, KeyKind, SheetEntry, Variation, milliseconds};
pub use mechanics::{Mechanics, SeekCurve, TwoPiece};
pub use overheads::{ExtraWriteDisconnect, Overheads, WriteStart};
#[cfg(feature = "toml")]
pub use read::{Document, parse};
pub use value::Value;

section! {
    /// A whole drive.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Spec at "" |spec| (Some(spec), spec) {
        /// Its name in the catalogue, such as `hp-c2247`.
        name: String = String::new() => TEXT.required().shown(SheetEntry::Hidden);
        /// A one-line description for lists.
        summary: String = String::new() => TEXT.required().shown(SheetEntry::Hidden);
        /// Origin of the numbers.
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
    /// The origin of a specification.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Source at "source." |spec| (Some(&spec.source), &mut spec.source) {
        /// Author and date of the measurement or publication.
        origin: String = String::new() => TEXT.required().shown(SheetEntry::Hidden);
        /// The choice among conflicting values, with the reason; empty without a conflict.
        choices: String = String::new() => TEXT.shown(SheetEntry::Hidden);
        /// `true` for values from a data sheet or an analytic model, `false` for a measured drive.
        nominal: bool = false => FLAG.shown(SheetEntry::Hidden);
    }
}

impl Spec {
    /// Returns true if the drive has random behaviour: runs of the same requests then depend on
    /// their seeds.
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

    /// Returns the path of the first key that contradicts another, and what is allowed. Building
    /// the layout may reveal further errors.
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

    /// Returns the name of a buffer size that would split a physical sector, and what is allowed.
    fn split_sector(&self) -> Option<(&'static str, String)> {
        let physical = self.geometry.physical_sector.0;
        let splits = !self.buffer.segment.0.is_multiple_of(physical);
        let expected = || format!("whole physical sectors: a multiple of {physical} sectors");
        splits.then(|| ("segment", expected()))
    }
}

section! {
    /// The path to the host. A rate is the time of one sector at the slower of drive and host path.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Bus at "bus." |spec| (Some(&spec.bus), &mut spec.bus) {
        /// Time to send a sector to the host, at the slower of drive and path.
        read_sector: Span = Span::ZERO => TIME.fitted(1, 0.05).cited(A1);
        /// Time to take a sector from the host.
        write_sector: Span = Span::ZERO => TIME.fitted(1, 0.05).cited(A1);
        /// A read that has begun to send keeps the bus even when the buffer runs empty.
        hold_read: bool = false => FLAG.switched(22).cited(A1);
        /// Pause of a read that keeps the bus, each time the buffer has run empty, after the next
        /// sector is available.
        ///
        /// On the RZ26 it is about 0.6 ms: reads of up to 22 sectors, whose bus transfer does not
        /// catch up with the media, end sooner by this time after their last sector.
        read_restart: Span = Span::ZERO => TIME.fitted(1, 0.3);
        /// A write keeps the bus even when the buffer is full.
        hold_write: bool = false => FLAG.switched(22).cited(DISKSIM);
        /// The drive keeps the bus from command to completion.
        never_disconnect: bool = false => FLAG.switched(22).cited(DISKSIM);
        /// A write disconnects when its data have arrived; or only if the arm is still moving then.
        write_leaves: WriteLeaves = WriteLeaves::AfterData
            => word(WriteLeaves::WORDS).switched(32);
    }
}

words! {
    /// The condition for a disconnect of a write between its data and its completion.
    pub enum WriteLeaves {
        /// After its data have arrived.
        AfterData = "after-data",
        /// After its data have arrived, but only if the arm is still moving then.
        IfSeeking = "if-seeking",
    }
}

section! {
    /// The on-board command queue.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Queue at "queue." |spec| (Some(&spec.queue), &mut spec.queue) {
        /// Commands that the drive accepts at one time, including the one in service.
        depth: u32 = 1 => count("commands", 1, 1_000_000).cited(DISKSIM);
        /// The policy that orders them.
        policy: PolicyConfig = PolicyConfig::default() => Key::new(KeyKind::Policy);
        /// The instant from which the arm may move to the next command: completion acknowledged,
        /// ready, or last sector off the media.
        preseek: PreSeek = PreSeek::Acknowledged => word(PreSeek::WORDS).cited(DISKSIM);
    }
}

words! {
    /// The instant from which the arm may move to the next command (levels 0, 1, 2).
    pub enum PreSeek {
        /// Level 0: after the host acknowledged the completion.
        Acknowledged = "acknowledged",
        /// Level 1: the completion message is ready.
        CompletionReady = "completion-ready",
        /// Level 2: the last sector, and the required read-ahead, is off the media.
        MediaDone = "media-done",
    }
}
