//! What a drive is: the specification that everything above is built from.
//!
//! A [`Spec`] is plain data in checked units. It is written as TOML, one file a drive; [`parse`]
//! reads and validates it as a whole, and its errors name file, line, field, value and what was
//! expected.
//!
//! Keys are the names of the fields below. A quantity is a string with its unit (`"0.89 ms"`,
//! `"5400 rpm"`, `"256 KiB"`, `"75 %"`); a bare number is a count of what its key names
//! (`surfaces`, `track_skew_sectors`, `first_ms`); a choice is a word (`"until-full"`). `name`,
//! `summary`, `source.origin`, geometry, rotation and seek times must be given; what else is left
//! out is off or zero.

mod buffer;
mod document;
mod electronics;
mod error;
mod field;
mod geometry;
mod mechanics;
mod reader;

pub use document::Document;
pub use error::SpecError;

use crate::sched::PolicyConfig;
use crate::units::{SectorCount, Span};

/// Reads and validates a specification. `file` is the name that errors give.
///
/// # Errors
/// See [`Document::read`].
pub fn parse(text: &str, file: &str) -> Result<Spec, SpecError> {
    Document::read(text, file).map(|document| document.spec)
}

/// A whole drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// The name in the catalogue, for example `hp-c2247`.
    pub name: String,
    /// One line for a list.
    pub summary: String,
    /// Where the numbers come from.
    pub source: Source,
    /// Places: zones, skews, spare space, defects.
    pub geometry: Geometry,
    /// Rotation and arm.
    pub mechanics: Mechanics,
    /// Segments, read-ahead, write caching.
    pub buffer: Buffer,
    /// Command processing times.
    pub overheads: Overheads,
    /// The path to the host.
    pub bus: Bus,
    /// The on-board command queue.
    pub queue: Queue,
}

/// Where a specification comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Source {
    /// Who measured it or published it, and when.
    pub origin: String,
    /// Which of several disagreeing figures was taken, and why; empty when none disagree.
    pub choices: String,
    /// `true` for figures from a data sheet or an analytic model, `false` for a measured drive.
    pub nominal: bool,
}

/// Places on the drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    /// Data surfaces, one head each.
    pub surfaces: u32,
    /// Physical cylinders.
    pub cylinders: u32,
    /// Exported capacity; with [`Self::unused_sectors`], the layout must come out to exactly this.
    pub sectors: SectorCount,
    /// Sectors at the end that the zones map and the drive does not export: spare space under
    /// [`Sparing::SectorsPerDisk`], otherwise unused, as in a drive sold at a round size.
    pub unused_sectors: SectorCount,
    /// Bytes in a sector.
    pub sector_bytes: u32,
    /// The order of tracks.
    pub order: TrackOrder,
    /// Where spare space lies.
    pub sparing: Sparing,
    /// Zones, outermost first, covering ascending ranges of cylinders. Cylinders between two
    /// zones hold no data.
    pub zones: Vec<Zone>,
    /// A slipped place turns every track behind its region of the sparing scheme, to the end of
    /// the zone, by as much: skews are counted from where the data before end. On the ST41601N
    /// the completions behind each of 26 slips come one sector later.
    pub slips_turn_tracks: bool,
    /// Sectors (or tracks, when sparing is by track) that grew defective in use, at random
    /// places, and were reallocated (worthington94 section 5.2).
    pub grown_defects: GrownDefects,
}

/// Defects that grow at random places, on request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GrownDefects {
    /// How many units of sparing (sectors or tracks) are reallocated.
    pub count: u64,
    /// Seed of their places.
    pub seed: u64,
}

/// The order in which tracks follow one another in LBN order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackOrder {
    /// Every cylinder from head 0 up.
    CylinderMajor,
    /// Heads up in one cylinder and down in the next, beginning upward again in each zone.
    SerpentinePerZone,
    /// Heads up in one cylinder and down in the next, through the whole disk.
    Serpentine,
}

/// Where spare space lies, and so the unit in which [`Zone::spares`], [`Zone::slips`] and
/// [`Zone::defects`] count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sparing {
    /// No spare space.
    None,
    /// Spare sectors at the end of each track.
    SectorsPerTrack,
    /// Spare sectors at the end of each cylinder.
    SectorsPerCylinder,
    /// Spare sectors at the front of each cylinder.
    SectorsPerCylinderFront,
    /// Spare sectors at the end of each range of this many cylinders.
    SectorsPerRange(u32),
    /// Spare sectors at the end of each zone.
    SectorsPerZone,
    /// Spare tracks at the end of each zone.
    TracksPerZone,
    /// Spare sectors at the end of the disk.
    SectorsPerDisk,
}

/// A range of cylinders with one number of sectors per track.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone {
    /// First cylinder.
    pub first_cylinder: u32,
    /// One past the last cylinder.
    pub end_cylinder: u32,
    /// Sectors on each track.
    pub sectors_per_track: u32,
    /// Angle of the zone's first sector, in sectors of this zone; less than a track has.
    pub first_offset_sectors: f64,
    /// Sectors at the front of the zone that hold no host data.
    pub reserved_sectors: SectorCount,
    /// Angular shift from one track to the next in a cylinder, in sectors.
    pub track_skew_sectors: f64,
    /// Angular shift from the last track of a cylinder to the first of the next, in sectors.
    pub cylinder_skew_sectors: f64,
    /// Spare units in each region of the sparing scheme (sectors, or tracks for
    /// [`Sparing::TracksPerZone`]).
    pub spares: u64,
    /// Slipped units: skipped when blocks were numbered at format.
    pub slips: Vec<u64>,
    /// Reallocated units: (defective place, place that stands in for it).
    pub defects: Vec<(u64, u64)>,
}

/// Rotation and arm.
#[derive(Clone, Debug, PartialEq)]
pub struct Mechanics {
    /// Nanoseconds in a revolution. This is the definition; rpm is a display.
    pub period_ns: f64,
    /// Seek times.
    pub seek: SeekCurve,
    /// Seek times before a write where they were measured apart; otherwise those of reads.
    /// [`Self::write_settle`] is added to either.
    pub write_seek: Option<SeekCurve>,
    /// Time to another head of the same cylinder. It overlaps a seek: positioning takes the
    /// longer of the two.
    pub head_switch: Span,
    /// Added to a seek inward (to a higher cylinder), taken off one outward. On the HP C2247
    /// this is half a millisecond at all distances.
    pub inward_seek: Span,
    /// Added to any seek or head switch before a write; negative when *effective* (reads wait
    /// to settle too, or the write's setup overlaps), by no more than the shortest movement.
    pub write_settle: Span,
}

/// Time of a seek against its distance in cylinders. Zero distance takes no time.
#[derive(Clone, Debug, PartialEq)]
pub enum SeekCurve {
    /// Square root below the knee, straight above (jacobson91 section 3).
    TwoPiece(TwoPiece),
    /// The same with the shortest seeks from a table: distance 1 first (worthington94
    /// table A.3).
    TwoPieceAndTable(TwoPiece, Vec<Span>),
    /// Measured (distance, time) pairs in ascending distance, linear between.
    Table(Vec<(u32, Span)>),
    /// Track to track, average (at a third of the stroke), full stroke: straight between.
    ThreePoint {
        /// One cylinder.
        single: Span,
        /// A third of all cylinders.
        average: Span,
        /// From the first to the last cylinder.
        full: Span,
    },
}

/// `short + short_sqrt * sqrt(d)` below the knee, `long + long_slope * d` from there on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoPiece {
    /// First distance of the straight piece, in cylinders.
    pub knee: u32,
    /// Milliseconds.
    pub short_ms: f64,
    /// Milliseconds per square root of a cylinder.
    pub short_sqrt_ms: f64,
    /// Milliseconds.
    pub long_ms: f64,
    /// Milliseconds per cylinder.
    pub long_slope_ms: f64,
    /// One cylinder, where it is off the curve.
    pub single: Option<Span>,
}

/// The on-board buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Segments.
    pub segments: u32,
    /// Size of a segment.
    pub segment: SectorCount,
    /// `true`: data stay usable after their request. `false`: the buffer only matches the
    /// speeds of media and bus (worthington94 table 3b); no hits, no read-ahead, no write cache.
    pub caching: bool,
    /// One segment is reserved for writes and never holds read-ahead.
    pub dedicated_write_segment: bool,
    /// How far the drive reads on after a read.
    pub read_ahead: ReadAhead,
    /// Sectors that must be read ahead before another request may have the mechanism.
    pub read_ahead_min: SectorCount,
    /// At most this many sectors beyond the last requested one.
    pub read_ahead_max: SectorCount,
    /// What becomes of the data that a read delivered.
    pub delivered: Delivered,
    /// A read served wholly from the buffer starts read-ahead again.
    pub read_ahead_on_hit: bool,
    /// Read-ahead can be cut within a sector; otherwise it runs to the sector's end.
    pub read_ahead_stops_mid_sector: bool,
    /// A write that the write cache absorbs stops read-ahead at once.
    pub write_stops_read_ahead: bool,
    /// Sectors that pass under the head before the wanted one are kept too.
    pub read_before_requested: bool,
    /// A read whose first sector is just being read ahead counts as a partial hit.
    pub arriving_hits: bool,
    /// The buffered head of a partial hit goes to the host at once.
    pub partial_hits_at_once: bool,
    /// Reads may hit data that a write left behind.
    pub hits_on_written: bool,
    /// What a write does to read data in other segments.
    pub write_invalidates: Invalidation,
    /// Zero-latency reads: sectors are read in the order they pass the head.
    pub read_on_arrival: bool,
    /// Zero-latency writes.
    pub write_on_arrival: bool,
    /// When a write completes before it is on the media.
    pub write_cache: WriteCache,
    /// A write that continues the one before shares its segment and its pass over the media.
    pub combine_writes: bool,
    /// The bus begins to carry a read when this fraction of it is buffered.
    pub read_watermark: f64,
    /// The bus comes back for more write data when less than this fraction is left to write.
    pub write_watermark: f64,
    /// What the watermarks are fractions of.
    pub watermark_of: WatermarkOf,
}

/// How far the drive reads on by itself after a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAhead {
    /// Not at all.
    None,
    /// To the end of the track of the last sector.
    TrackEnd,
    /// To the end of its cylinder.
    CylinderEnd,
    /// Until the segment is full.
    UntilFull,
    /// To the end of the next track, when the previous track was read recently.
    OneTrack,
}

/// What becomes of the data that a read delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// They stay; read-ahead gets what is left of the segment.
    Kept,
    /// Read-ahead gets the whole segment, and a later read never hits them (worthington96
    /// tables 7, 11, 16, 21: "discarded before READ completion", "can be pushed out by
    /// prefetch"). On the Barracuda and the Cheetah 4LP, 80 of 85 repeated reads are misses.
    Dropped,
}

/// What a write drops from the buffer beside the data it replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalidation {
    /// Only blocks that it overlaps.
    Overlap,
    /// Every segment that it overlaps, whole.
    Segment,
    /// Everything.
    All,
}

/// When a write completes before its data are on the media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteCache {
    /// Never.
    Off,
    /// When nothing dirty waits, or when the write appends to what does
    /// ([`Buffer::combine_writes`]): the first of a stream too. Any other write completes after
    /// the media.
    Streams,
    /// Always. As with streams, dirty data are flushed before a request that does not append to
    /// them is served, be it a hit.
    Always,
}

/// What watermarks are fractions of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatermarkOf {
    /// The request.
    Request,
    /// The segment.
    Segment,
}

/// Command processing times (worthington94 table A.4; worthington96 tables 8, 12, 17, 22).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overheads {
    /// Before data of a buffered read are sent; previous command a read.
    pub read_hit_after_read: Span,
    /// The same, previous command a write.
    pub read_hit_after_write: Span,
    /// Before the seek of an unbuffered read.
    pub read_miss_after_read: Span,
    /// The same, previous command a write.
    pub read_miss_after_write: Span,
    /// Before the data of a write that the write cache will absorb.
    pub write_hit_after_read: Span,
    /// The same, previous command a write.
    pub write_hit_after_write: Span,
    /// Before data and seek of a write that completes after the media.
    pub write_miss_after_read: Span,
    /// The same, previous command a write.
    pub write_miss_after_write: Span,
    /// Before the completion message of a read.
    pub read_completion: Span,
    /// Before the completion message of a write.
    pub write_completion: Span,
    /// After each bus acquisition, before data move.
    pub data_preparation: Span,
    /// First reconnection of a request.
    pub first_reselect: Span,
    /// Later reconnections.
    pub other_reselect: Span,
    /// Before a read leaves the bus; previous command a read.
    pub read_disconnect_after_read: Span,
    /// The same, previous command a write.
    pub read_disconnect_after_write: Span,
    /// Before a write leaves the bus.
    pub write_disconnect: Span,
    /// The extra disconnect of a write that follows a non-sequential write, where the drive
    /// has it.
    pub extra_write_disconnect: Option<ExtraWriteDisconnect>,
    /// How long behind its last block's arrival over the bus a media write begins at the
    /// earliest, if it waits for all of its blocks ([`Self::write_start`]); one that waits for
    /// fewer has no such delay. worthington94 table A.5 gives the time (0.6 ms) but not what it
    /// begins with; the trace of the HP C2247 does.
    pub write_minimum_delay: Span,
    /// How many sectors a media write waits for.
    pub write_start: WriteStart,
}

/// The extra disconnect of worthington94 table A.4, "Non-Seq Write".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtraWriteDisconnect {
    /// Replaces the write's command overhead.
    pub command: Span,
    /// Cost of the disconnect itself, beside the mechanism.
    pub disconnect: Span,
    /// From the disconnect to the attempt to reconnect.
    pub duration: Span,
    /// Replaces the write's later disconnect overhead.
    pub second_disconnect: Span,
    /// Between the command overhead and the start of the seek.
    pub seek_delay: Span,
}

/// Sectors that must have come over the bus before a media write begins (worthington94
/// table A.5): `small` of a request of fewer than `large_from` sectors, else `large`; never more
/// than the request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteStart {
    /// For small requests.
    pub small: SectorCount,
    /// For large requests.
    pub large: SectorCount,
    /// The first size that counts as large.
    pub large_from: SectorCount,
}

impl Default for WriteStart {
    /// One sector, whatever the size.
    fn default() -> Self {
        let one = SectorCount(1);
        Self {
            small: one,
            large: one,
            large_from: one,
        }
    }
}

/// The path to the host. A rate is the time of one sector; the slower of drive and host path.
#[derive(Clone, Debug, PartialEq)]
pub struct Bus {
    /// Time to send a sector to the host.
    pub read_sector: Span,
    /// Time to take a sector from the host.
    pub write_sector: Span,
    /// A read keeps the bus once it sends, even when the buffer runs empty.
    pub hold_read: bool,
    /// How long a read that keeps the bus pauses when the buffer has run empty, after the next
    /// sector is there. On the RZ26 it is some 0.6 ms: reads of up to 22 sectors, whose bus does
    /// not catch up with the media, end that much sooner behind their last sector.
    pub read_restart: Span,
    /// A write keeps the bus even when the buffer is full.
    pub hold_write: bool,
    /// The drive keeps the bus from command to completion.
    pub never_disconnect: bool,
    /// When a write leaves the bus.
    pub write_leaves: WriteLeaves,
}

/// When a write leaves the bus between its data and its completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteLeaves {
    /// When its data are in.
    AfterData,
    /// When its data are in, but only if the arm still moves then.
    IfSeeking,
}

/// The on-board command queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// Commands that the drive accepts at one time, the one in service included.
    pub depth: u32,
    /// The policy that orders them.
    pub policy: PolicyConfig,
    /// When the arm may move on to the next command.
    pub preseek: PreSeek,
}

/// When the arm may move on to the next command (levels 0, 1, 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreSeek {
    /// Level 0: after the host acknowledged the completion.
    Acknowledged,
    /// Level 1: when the completion message is ready.
    CompletionReady,
    /// Level 2: when the last sector, and the required read-ahead, is off the media.
    MediaDone,
}
