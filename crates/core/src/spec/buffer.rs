//! The on-board buffer.

use super::key::{A1, CACHES, DISKSIM, FLAG, FRACTION, TIME, Variation, count, size, word};
use crate::units::{SectorCount, Span};

/// If this table is omitted, the buffer is a single segment of this size without caching.
const PLAIN_SEGMENT: SectorCount = SectorCount(128);

section! {
    /// The on-board buffer.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Buffer at "buffer." |spec| (Some(&spec.buffer), &mut spec.buffer) {
        /// Number of segments; two or more with `dedicated_write_segment`.
        segments: u32 = 1
            => count("segments", 1, 4096).varied(31, Variation::Jointly).cited(CACHES);
        /// Size of a segment.
        segment: SectorCount = PLAIN_SEGMENT
            => size(1).varied(31, Variation::Jointly).cited(CACHES);
        /// Data stay in the buffer after the request that transferred them. If off, the buffer only
        /// matches the speeds of the media and the bus: no hits, no read-ahead, no write cache.
        caching: bool = false => FLAG.cited("worthington94 table 3b");
        /// One segment is reserved for writes and never holds read-ahead.
        dedicated_write_segment: bool = false => FLAG.switched(21).cited(DISKSIM);
        /// The extent of read-ahead after a read; needs `caching`.
        read_ahead: ReadAhead = ReadAhead::None
            => word(ReadAhead::WORDS).switched(30).cited(CACHES);
        /// Read-ahead that is completed before another request may use the mechanism; at most
        /// `read_ahead_max`.
        read_ahead_min: SectorCount = SectorCount(0) => size(0).cited(A1);
        /// Maximum read-ahead beyond the last requested sector; at most `segment`.
        read_ahead_max: SectorCount = PLAIN_SEGMENT
            => size(0).same_as("buffer.segment").varied(31, Variation::Jointly).cited(A1);
        /// Whether data that a read has delivered stay in the segment or make room for read-ahead.
        delivered: DeliveredBlocks = DeliveredBlocks::Kept
            => word(DeliveredBlocks::WORDS).switched(30).cited(CACHES);
        /// Read-ahead follows a read only if the previous command was a read that it continues: the
        /// firmware waits until it has detected a sequential run.
        read_ahead_on_run: bool = false => FLAG.switched(20);
        /// Fraction of buffer hits that go to the media anyway because read-ahead failed, chosen at
        /// random from the run's seed.
        ///
        /// It is 2 to 3 % on the Cheetah 4LP.
        read_ahead_failures: f64 = 0.0 => FRACTION.varied(32, Variation::Jointly);
        /// A read served entirely from the buffer restarts read-ahead.
        read_ahead_on_hit: bool = false => FLAG.switched(20).cited(DISKSIM);
        /// Read-ahead can be aborted within a sector; otherwise it continues to the sector's end.
        read_ahead_stops_mid_sector: bool = false => FLAG.cited(DISKSIM);
        /// A write absorbed by the write cache stops read-ahead immediately; with a `deferred`
        /// cache it always does.
        write_stops_read_ahead: bool = false => FLAG.switched(20).cited(DISKSIM);
        /// Sectors that pass under the head before the requested one are kept too.
        read_before_requested: bool = false => FLAG.switched(20).cited(DISKSIM);
        /// Read-ahead that reaches the end of a track continues at its beginning: a revolution
        /// after the read, the whole track is in the buffer, if the segment has room for it. Needs
        /// `delivered = "kept"`.
        ///
        /// On the Atlas 10K, all 508 reads of blocks before the last one read on a track were hits.
        read_whole_track: bool = false => FLAG.switched(20);
        /// A read whose first sector is being read ahead at that moment counts as a partial hit.
        arriving_hits: bool = false => FLAG.switched(20).cited(DISKSIM);
        /// The buffered part of a partial hit goes to the host immediately.
        partial_hits_at_once: bool = false => FLAG.switched(20).cited(DISKSIM);
        /// Reads may hit data that a write has left in the buffer.
        hits_on_written: bool = false => FLAG.switched(20).cited(CACHES);
        /// Buffer contents that a write drops: blocks or segments that it overlaps, or everything.
        write_invalidates: Invalidation = Invalidation::Segment
            => word(Invalidation::WORDS).switched(30);
        /// Zero-latency reads: sectors are read in the order in which they pass the head.
        read_on_arrival: bool = false => FLAG.switched(20).cited(CACHES);
        /// Zero-latency writes.
        write_on_arrival: bool = false => FLAG.switched(20).cited(CACHES);
        /// Which writes complete before they are on the media: none; those that find no dirty data
        /// or append to them; all; or all, with `queue.policy` choosing what is destaged next.
        /// Needs `caching`.
        write_cache: WriteCache = WriteCache::Off
            => word(WriteCache::WORDS).switched(30).cited(DISKSIM);
        /// Maximum amount of dirty data in a `deferred` write cache, in addition to the segments. A
        /// write waits until there is room for it; a write that can never fit goes to the media.
        dirty_max: SectorCount = SectorCount(0) => size(0);
        /// Dirty data of a `deferred` write cache are also destaged during the rotational wait of a
        /// command, if that does not delay the command. Like `dirty_max`, it has no effect while
        /// `write_cache` is `off`.
        destage_in_gaps: bool = false => FLAG;
        /// Safety margin for variation in seek times, added to the predicted time of the seek from
        /// a destaged range to the waiting command; needs `destage_in_gaps`.
        destage_conservatism: Span = Span::ZERO => TIME;
        /// A write that continues the previous one uses the same segment and the same pass over the
        /// media.
        combine_writes: bool = false => FLAG.switched(20).cited(DISKSIM);
        /// A read's bus transfer begins when this fraction of its data is buffered.
        read_watermark: f64 = 0.0 => FRACTION.varied(30, Variation::Jointly).cited(A1);
        /// The drive reconnects for more write data when less than this fraction is left to write.
        write_watermark: f64 = 0.0 => FRACTION.cited(A1);
        /// The size of which the watermarks are fractions.
        watermark_of: WatermarkOf = WatermarkOf::Request
            => word(WatermarkOf::WORDS).varied(30, Variation::Jointly).cited(DISKSIM);
    }
}

words! {
    /// The extent of read-ahead after a read.
    pub enum ReadAhead {
        /// No read-ahead.
        None = "none",
        /// To the end of the track of the last sector.
        TrackEnd = "track-end",
        /// To the end of the cylinder of the last sector.
        CylinderEnd = "cylinder-end",
        /// Until the segment is full.
        UntilFull = "until-full",
        /// To the end of the next track, if the previous track was read recently.
        OneTrack = "one-track",
    }
}

words! {
    /// Whether data stay in the segment after a read has delivered them.
    pub enum DeliveredBlocks {
        /// They stay; read-ahead gets the rest of the segment.
        Kept = "kept",
        /// Read-ahead gets the whole segment, and a later read never hits those data (worthington96
        /// tables 7, 11, 16, 21: "discarded before READ completion", "can be pushed out by
        /// prefetch"). On the Barracuda and the Cheetah 4LP, 80 of 85 repeated reads are misses.
        Dropped = "dropped",
    }
}

words! {
    /// Buffer contents that a write drops in addition to the data it replaces.
    pub enum Invalidation {
        /// Only blocks that the write overlaps.
        Overlap = "overlap",
        /// Every segment that the write overlaps, entirely.
        Segment = "segment",
        /// Everything.
        All = "all",
    }
}

words! {
    /// The writes that complete before their data are on the media.
    pub enum WriteCache {
        /// None.
        Off = "off",
        /// Writes that find no dirty data or append to them ([`Buffer::combine_writes`]), such as
        /// the first write of a stream. Any other write completes when it is on the media.
        Streams = "streams",
        /// All. As with [`Self::Streams`], dirty data are flushed before a request that does not
        /// append to them is served, even if it is a hit.
        Always = "always",
        /// All, as long as there is room ([`Buffer::dirty_max`]). There may be any number of dirty
        /// ranges; when no command needs the arm, the policy of the drive's queue chooses one of
        /// them to write to the media.
        Deferred = "deferred",
    }
}

words! {
    /// The size of which watermarks are fractions.
    pub enum WatermarkOf {
        /// The request.
        Request = "request",
        /// The segment.
        Segment = "segment",
    }
}

impl Buffer {
    /// Returns the name of the first key that conflicts with another one, and what is allowed.
    pub fn contradiction(&self) -> Option<(&'static str, String)> {
        let at_most = |sectors: SectorCount| format!("at most {} sectors", sectors.0);
        let serves_a_stream = matches!(self.write_cache, WriteCache::Streams | WriteCache::Always);
        let has_room = self.dirty_max > SectorCount(0);
        let (key, expected) = if self.dedicated_write_segment && self.segments < 2 {
            (
                "segments",
                "two segments or more, or no dedicated_write_segment",
            )
        } else if !self.caching && self.read_ahead != ReadAhead::None {
            ("read_ahead", "\"none\", unless caching = true")
        } else if !self.caching && self.write_cache != WriteCache::Off {
            ("write_cache", "\"off\", unless caching = true")
        } else if self.write_cache == WriteCache::Deferred && !has_room {
            let expected = "1 sector or more, such as \"128 KiB\", with write_cache = \"deferred\"";
            ("dirty_max", expected)
        } else if serves_a_stream && has_room {
            let expected = "0 sectors, unless write_cache is \"deferred\" or \"off\"";
            ("dirty_max", expected)
        } else if self.destage_in_gaps && !has_room {
            let expected = "false, unless there is room for dirty data (dirty_max)";
            ("destage_in_gaps", expected)
        } else if !self.destage_in_gaps && self.destage_conservatism > Span::ZERO {
            (
                "destage_conservatism",
                "0 ms, unless destage_in_gaps = true",
            )
        } else if self.read_ahead == ReadAhead::None && self.read_ahead_failures > 0.0 {
            ("read_ahead_failures", "0 %, unless read_ahead is enabled")
        } else if self.read_whole_track && self.delivered != DeliveredBlocks::Kept {
            ("read_whole_track", "false, unless delivered = \"kept\"")
        } else if self.read_ahead_max > self.segment {
            return Some(("read_ahead_max", at_most(self.segment)));
        } else if self.read_ahead_min > self.read_ahead_max {
            return Some(("read_ahead_min", at_most(self.read_ahead_max)));
        } else {
            return None;
        };
        Some((key, expected.to_owned()))
    }
}
