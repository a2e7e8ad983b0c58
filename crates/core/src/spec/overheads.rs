//! Command processing times.

use super::key::{A4, A5, SheetEntry, TIME, Variation, size, table};
use crate::units::{SectorCount, Span};

section! {
    /// Command processing times (worthington94 table A.4; worthington96 tables 8, 12, 17, 22).
    ///
    /// Some of them are only observable as a sum. Therefore reconnections, disconnections and
    /// data preparation are not fitted: the overheads and completions next to them compensate.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Overheads at "overheads." |spec| (Some(&spec.overheads), &mut spec.overheads) {
        /// Before data of a buffered read are sent; previous command a read.
        read_hit_after_read: Span = Span::ZERO => TIME.fitted(0, 0.5).cited(A4);
        /// Like the previous key, but the previous command is a write.
        read_hit_after_write: Span = Span::ZERO => TIME.fitted(0, 0.5).cited(A4);
        /// Before the seek of an unbuffered read; previous command a read.
        read_miss_after_read: Span = Span::ZERO => TIME.fitted(3, 0.5).cited(A4);
        /// Like the previous key, but the previous command is a write.
        read_miss_after_write: Span = Span::ZERO => TIME.fitted(3, 0.5).cited(A4);
        /// Before the data of a write that the write cache will absorb; previous command a read.
        write_hit_after_read: Span = Span::ZERO => TIME.fitted(2, 0.5).cited(A4);
        /// Like the previous key, but the previous command is a write.
        write_hit_after_write: Span = Span::ZERO => TIME.fitted(2, 0.5).cited(A4);
        /// Added to a read that continues the previous command, another read, and is a miss all the
        /// same.
        read_miss_in_sequence: Span = Span::ZERO => TIME.fitted(3, 0.5);
        /// Standard deviation of the time that such a read takes before its seek, at random from
        /// the run's seed.
        read_miss_in_sequence_scatter: Span = Span::ZERO => TIME.varied(32, Variation::Jointly);
        /// Added to a write that the write cache absorbs if the arm is on another cylinder: the
        /// drive starts the seek before it takes the data. Has no effect on a cache that is
        /// `deferred`, as absorbing does not move the arm.
        ///
        /// On the Barracuda 0.16 ms.
        write_hit_seek: Span = Span::ZERO => TIME.fitted(2, 0.3);
        /// Added to that if the cylinder is in another zone.
        ///
        /// On the Barracuda 0.10 ms.
        write_hit_zone: Span = Span::ZERO => TIME.fitted(2, 0.3);
        /// Before data and seek of a write that completes when it is on the media; previous command
        /// a read.
        write_miss_after_read: Span = Span::ZERO => TIME.fitted(3, 0.5).cited(A4);
        /// Like the previous key, but the previous command is a write.
        write_miss_after_write: Span = Span::ZERO => TIME.fitted(3, 0.5).cited(A4);
        /// Before the completion message of a read.
        read_completion: Span = Span::ZERO => TIME.fitted(0, 0.3).cited(A4);
        /// Before the completion message of a write.
        write_completion: Span = Span::ZERO => TIME.fitted(0, 0.3).cited(A4);
        /// After each bus acquisition, before the data transfer.
        data_preparation: Span = Span::ZERO => TIME.cited(A4);
        /// First reconnection of a request.
        first_reselect: Span = Span::ZERO => TIME.cited(A4);
        /// Later reconnections.
        other_reselect: Span = Span::ZERO => TIME.cited(A4);
        /// Before a read disconnects; previous command a read.
        read_disconnect_after_read: Span = Span::ZERO => TIME.cited(A4);
        /// Like the previous key, but the previous command is a write.
        read_disconnect_after_write: Span = Span::ZERO => TIME.cited(A4);
        /// Before a write disconnects.
        write_disconnect: Span = Span::ZERO => TIME.cited(A4);
        /// The extra disconnect of a write that follows a non-sequential write, if the drive
        /// has it.
        extra_write_disconnect: Option<ExtraWriteDisconnect> = None
            => table(ExtraWriteDisconnect::KEYS).cited(A4);
        /// Minimum time from the arrival of a write's last block over the bus to the start of its
        /// media write, if that waits for all blocks (`write_start`).
        ///
        /// worthington94 table A.5 gives the time (0.6 ms) but not what it begins with; the trace
        /// of the HP C2247 does.
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
        /// Cost of the disconnect itself, in parallel with the mechanism.
        disconnect: Span = Span::ZERO
            => TIME.required().shown(SheetEntry::As("extra_write_disconnect_ms")).cited(A4);
        /// From the disconnect to the attempt to reconnect.
        duration: Span = Span::ZERO => TIME.required().cited(A4);
        /// Replaces the write's later disconnect overhead.
        second_disconnect: Span = Span::ZERO
            => TIME.required().shown(SheetEntry::As("extra_write_disconnect_second_ms")).cited(A4);
        /// Between the command overhead and the start of the seek.
        seek_delay: Span = Span::ZERO => TIME.required().cited(A4);
    }
}

section! {
    /// Sectors that must have arrived over the bus before a media write begins (worthington94
    /// table A.5): `small` for a request of fewer than `large_from` sectors, else `large`; never
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
        /// The first size that counts as large.
        large_from: SectorCount = SectorCount(1)
            => size(1).required().varied(33, Variation::Jointly).cited(A5);
        /// For a write of any size that continues the previous command, another write; otherwise
        /// its size decides.
        sequential: Option<SectorCount> = None => size(1).varied(33, Variation::Jointly);
    }
}
