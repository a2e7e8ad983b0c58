//! The specification of a drive, from which the layers above are built.
//!
//! A [`Spec`] is plain data in checked units. It is written as TOML, one file per drive; [`parse`]
//! reads and validates the whole file, and its errors name the file, line, field and value, and
//! what was expected. Without the `toml` feature, a [`Spec`] is built by hand or by [`Key`]s.
//!
//! Keys are the names of the fields below; [`Key::all`] lists them. A quantity is a string with its
//! unit (`"0.89 ms"`, `"5400 rpm"`, `"256 KiB"`, `"75 %"`); a bare number is in the unit that its
//! key names (`surfaces`, `track_skew_sectors`, `first_ms`); a choice is a word (`"until-full"`).
//! `name`, `summary`, `source.origin`, geometry, rotation and seek times must be given; anything
//! else that is omitted is off or zero.

#[macro_use]
mod key;
mod buffer;
mod geometry;
mod mechanics;
#[cfg(feature = "toml")]
mod read;

use key::{A1, A4, A5, DISKSIM, FLAG, TEXT, TIME, count, size, table, word};

use crate::sched::PolicyConfig;
use crate::units::{SectorCount, Span};

pub use buffer::{Buffer, DeliveredBlocks, Invalidation, ReadAhead, WatermarkOf, WriteCache};
pub use geometry::{Geometry, GrownDefects, MAX_CYLINDERS, Sparing, TrackOrder, Zone};
pub use key::{Key, KeyKind, SheetEntry, Value, Variation, milliseconds};
pub use mechanics::{Mechanics, SeekCurve, TwoPiece};
#[cfg(feature = "toml")]
pub use read::{Document, parse};

section! {
    /// A whole drive.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Spec at "" |spec| (Some(spec), spec) {
        /// The name in the catalogue, such as `hp-c2247`.
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
        /// The choice among conflicting values, with the reason; empty if none conflict.
        choices: String = String::new() => TEXT.shown(SheetEntry::Hidden);
        /// `true` for values from a data sheet or an analytic model, `false` for a measured drive.
        nominal: bool = false => FLAG.shown(SheetEntry::Hidden);
    }
}

impl Spec {
    /// Returns true if the drive has random behaviour, so that runs depend on their seeds.
    pub fn is_random(&self) -> bool {
        let mechanics = &self.mechanics;
        mechanics.seek_scatter.is_some()
            || mechanics.write_seek_scatter.is_some()
            || self.overheads.read_miss_in_sequence_scatter > Span::ZERO
            || self.buffer.read_ahead_failures > 0.0
    }

    /// Returns the path of the first key that contradicts another, and what is allowed. Building
    /// the layout may reveal further errors.
    pub fn contradiction(&self) -> Option<(String, String)> {
        let cylinders = self.geometry.cylinders;
        let tables = [
            ("geometry", self.geometry.contradiction()),
            ("mechanics", self.mechanics.contradiction(cylinders)),
            ("buffer", self.buffer.contradiction()),
            ("buffer", self.split_sector()),
        ];
        let mut found = tables.into_iter();
        let (table, (name, expected)) = found.find_map(|(table, found)| Some((table, found?)))?;
        Some((format!("{table}.{name}"), expected))
    }

    /// Returns the name of a buffer size that would split a physical sector, and what is allowed.
    fn split_sector(&self) -> Option<(&'static str, String)> {
        let physical = self.geometry.physical_sector.0;
        let expected = format!("whole physical sectors: a multiple of {physical} sectors");
        let splits = !self.buffer.segment.0.is_multiple_of(physical);
        splits.then_some(("segment", expected))
    }
}

section! {
    /// The path to the host. Each rate is given as the time per sector, at the speed of the drive
    /// or of the host path, whichever is slower.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Bus at "bus." |spec| (Some(&spec.bus), &mut spec.bus) {
        /// Time to send a sector to the host, limited by the drive or the path, whichever is
        /// slower.
        read_sector: Span = Span::ZERO => TIME.fitted(1, 0.05).cited(A1);
        /// Time to receive a sector from the host.
        write_sector: Span = Span::ZERO => TIME.fitted(1, 0.05).cited(A1);
        /// A read that has begun to send keeps the bus even when the buffer runs empty.
        hold_read: bool = false => FLAG.switched(22).cited(A1);
        /// Delay before a read that keeps the bus resumes after the buffer has run empty, measured
        /// from the moment at which the next sector is available.
        ///
        /// On the RZ26 it is about 0.6 ms: reads of up to 22 sectors, whose bus transfer does not
        /// catch up with the media, end this much sooner after their last sector than longer reads.
        read_restart: Span = Span::ZERO => TIME.fitted(1, 0.3);
        /// A write keeps the bus even when the buffer is full.
        hold_write: bool = false => FLAG.switched(22).cited(DISKSIM);
        /// The drive keeps the bus from command to completion.
        never_disconnect: bool = false => FLAG.switched(22).cited(DISKSIM);
        /// A write disconnects when its data have arrived: always, or only if the arm is still
        /// moving.
        write_leaves: WriteLeaves = WriteLeaves::AfterData
            => word(WriteLeaves::WORDS).switched(32);
    }
}

words! {
    /// The point between its data and its completion at which a write disconnects.
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
        /// Number of commands that the drive accepts at a time, including the one in service.
        depth: u32 = 1 => count("commands", 1, 1_000_000).cited(DISKSIM);
        /// The policy that orders the commands.
        policy: PolicyConfig = PolicyConfig::default() => Key::new(KeyKind::Policy);
        /// The instant from which the arm may move to the next command: when the completion is
        /// acknowledged, when it is ready, or when the last sector is off the media.
        preseek: PreSeek = PreSeek::Acknowledged => word(PreSeek::WORDS).cited(DISKSIM);
    }
}

words! {
    /// The instant from which the arm may move to the next command (levels 0, 1, 2).
    pub enum PreSeek {
        /// Level 0: after the host has acknowledged the completion.
        Acknowledged = "acknowledged",
        /// Level 1: the completion message is ready.
        CompletionReady = "completion-ready",
        /// Level 2: the last sector and the required read-ahead are off the media.
        MediaDone = "media-done",
    }
}

section! {
    /// Command processing times (worthington94 table A.4; worthington96 tables 8, 12, 17, 22).
    ///
    /// Some of them can only be observed as a sum. So reconnections, disconnections and data
    /// preparation are not fitted; the fitted overheads and completions compensate for them.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Overheads at "overheads." |spec| (Some(&spec.overheads), &mut spec.overheads) {
        /// Overhead before a buffered read sends its data, if the previous command was a read.
        read_hit_after_read: Span = Span::ZERO => TIME.fitted(0, 0.5).cited(A4);
        /// Like the previous key, if the previous command was a write.
        read_hit_after_write: Span = Span::ZERO => TIME.fitted(0, 0.5).cited(A4);
        /// Overhead before the seek of an unbuffered read, if the previous command was a read.
        read_miss_after_read: Span = Span::ZERO => TIME.fitted(3, 0.5).cited(A4);
        /// Like the previous key, if the previous command was a write.
        read_miss_after_write: Span = Span::ZERO => TIME.fitted(3, 0.5).cited(A4);
        /// Overhead before the data of a write that the write cache will absorb, if the previous
        /// command was a read.
        write_hit_after_read: Span = Span::ZERO => TIME.fitted(2, 0.5).cited(A4);
        /// Like the previous key, if the previous command was a write.
        write_hit_after_write: Span = Span::ZERO => TIME.fitted(2, 0.5).cited(A4);
        /// Time added to a read miss that continues the previous command, if that was also a read.
        read_miss_in_sequence: Span = Span::ZERO => TIME.fitted(3, 0.5);
        /// Standard deviation of the overhead of a read miss that continues a read; it varies at
        /// random with the run's seed.
        read_miss_in_sequence_scatter: Span = Span::ZERO => TIME.varied(32, Variation::Jointly);
        /// Time added to a write that the write cache absorbs while the arm is on another cylinder:
        /// the drive starts the seek before it receives the data. No effect with a `deferred`
        /// cache, which does not move the arm to absorb a write.
        ///
        /// It is 0.16 ms on the Barracuda.
        write_hit_seek: Span = Span::ZERO => TIME.fitted(2, 0.3);
        /// Time added to `write_hit_seek` if the cylinder is in another zone.
        ///
        /// It is 0.10 ms on the Barracuda.
        write_hit_zone: Span = Span::ZERO => TIME.fitted(2, 0.3);
        /// Overhead before the data and the seek of a write that completes when it is on the media,
        /// if the previous command was a read.
        write_miss_after_read: Span = Span::ZERO => TIME.fitted(3, 0.5).cited(A4);
        /// Like the previous key, if the previous command was a write.
        write_miss_after_write: Span = Span::ZERO => TIME.fitted(3, 0.5).cited(A4);
        /// Overhead before the completion message of a read.
        read_completion: Span = Span::ZERO => TIME.fitted(0, 0.3).cited(A4);
        /// Overhead before the completion message of a write.
        write_completion: Span = Span::ZERO => TIME.fitted(0, 0.3).cited(A4);
        /// Overhead after each bus acquisition, before the data transfer.
        data_preparation: Span = Span::ZERO => TIME.cited(A4);
        /// Time of the first reconnection of a request.
        first_reselect: Span = Span::ZERO => TIME.cited(A4);
        /// Time of each later reconnection.
        other_reselect: Span = Span::ZERO => TIME.cited(A4);
        /// Overhead before a read disconnects, if the previous command was a read.
        read_disconnect_after_read: Span = Span::ZERO => TIME.cited(A4);
        /// Like the previous key, if the previous command was a write.
        read_disconnect_after_write: Span = Span::ZERO => TIME.cited(A4);
        /// Overhead before a write disconnects.
        write_disconnect: Span = Span::ZERO => TIME.cited(A4);
        /// The extra disconnect of a write that follows a non-sequential write, if any.
        extra_write_disconnect: Option<ExtraWriteDisconnect> = None
            => table(ExtraWriteDisconnect::KEYS).cited(A4);
        /// Minimum time from the arrival of a write's last block over the bus to the start of its
        /// media write, if the media write waits for all blocks (`write_start`).
        ///
        /// worthington94 table A.5 gives the time (0.6 ms) but not the instant from which it is
        /// measured; the trace of the HP C2247 shows it.
        write_minimum_delay: Span = Span::ZERO => TIME.fitted(4, 0.3).cited(A5);
        /// The number of sectors for which a media write waits.
        write_start: WriteStart = WriteStart::default() => table(WriteStart::KEYS).cited(A5);
    }
}

section! {
    /// The extra disconnect of worthington94 table A.4, "Non-Seq Write". All five times must be
    /// given: a partial measurement is useless.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ExtraWriteDisconnect at "overheads.extra_write_disconnect." |spec| (
        spec.overheads.extra_write_disconnect.as_ref(),
        spec.overheads.extra_write_disconnect.get_or_insert_default()
    ) {
        /// Replaces the write's command overhead.
        command: Span = Span::ZERO => TIME.required().fitted(4, 0.5).cited(A4);
        /// Time for the disconnect itself, in parallel with the mechanism.
        disconnect: Span = Span::ZERO
            => TIME.required().shown(SheetEntry::As("extra_write_disconnect_ms")).cited(A4);
        /// Time from the disconnect to the attempt to reconnect.
        duration: Span = Span::ZERO => TIME.required().cited(A4);
        /// Replaces the write's later disconnect overhead.
        second_disconnect: Span = Span::ZERO
            => TIME.required().shown(SheetEntry::As("extra_write_disconnect_second_ms")).cited(A4);
        /// Time between the command overhead and the start of the seek.
        seek_delay: Span = Span::ZERO => TIME.required().cited(A4);
    }
}

section! {
    /// Sectors that must have arrived over the bus before a media write begins (worthington94 table
    /// A.5): `small` for a request of fewer than `large_from` sectors, otherwise `large`; never
    /// more than the request has. One sector by default, regardless of the size.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct WriteStart at "overheads.write_start." |spec| (
        Some(&spec.overheads.write_start),
        &mut spec.overheads.write_start
    ) {
        /// For small requests.
        small: SectorCount = SectorCount(1)
            => size(1).required().varied(33, Variation::Jointly).cited(A5);
        /// For large requests.
        large: SectorCount = SectorCount(1)
            => size(1).required().varied(33, Variation::Jointly).cited(A5);
        /// The smallest size that counts as large.
        large_from: SectorCount = SectorCount(1)
            => size(1).required().varied(33, Variation::Jointly).cited(A5);
        /// For a write of any size that continues the previous command, if that was also a write.
        /// If this key is absent, the size decides.
        sequential: Option<SectorCount> = None => size(1).varied(33, Variation::Jointly);
    }
}
