//! Reads `[buffer]`.

use super::error::SpecError;
use super::field;
use super::reader::{Table, Value};
use super::{Buffer, Delivered, Invalidation, ReadAhead, WatermarkOf, WriteCache};
use crate::units::{Bytes, SectorCount};

/// Left out, the buffer is one segment of this size that does no more than match speeds.
const PLAIN_SEGMENT: SectorCount = SectorCount(128);

pub(super) fn read(mut table: Table<'_>, sector: Bytes) -> Result<Buffer, SpecError> {
    let size = |v: &Value<'_>| field::size(v, sector);
    let segments = table.or("segments", 1, |v| field::count_u32(v, 1..=1_000_000))?;
    let segment = table.or("segment", PLAIN_SEGMENT, |v| field::some_size(v, sector))?;
    let buffer = Buffer {
        segments,
        segment,
        caching: table.or("caching", false, field::flag)?,
        dedicated_write_segment: table.or("dedicated_write_segment", false, field::flag)?,
        read_ahead: table.or("read_ahead", ReadAhead::None, read_ahead)?,
        read_ahead_min: table.or("read_ahead_min", SectorCount(0), size)?,
        read_ahead_max: table.or("read_ahead_max", segment, size)?,
        delivered: table.or("delivered", Delivered::Kept, delivered)?,
        read_ahead_on_hit: table.or("read_ahead_on_hit", false, field::flag)?,
        read_ahead_stops_mid_sector: table.or("read_ahead_stops_mid_sector", false, field::flag)?,
        write_stops_read_ahead: table.or("write_stops_read_ahead", false, field::flag)?,
        read_before_requested: table.or("read_before_requested", false, field::flag)?,
        arriving_hits: table.or("arriving_hits", false, field::flag)?,
        partial_hits_at_once: table.or("partial_hits_at_once", false, field::flag)?,
        hits_on_written: table.or("hits_on_written", false, field::flag)?,
        write_invalidates: table.or("write_invalidates", Invalidation::Segment, invalidation)?,
        read_on_arrival: table.or("read_on_arrival", false, field::flag)?,
        write_on_arrival: table.or("write_on_arrival", false, field::flag)?,
        write_cache: table.or("write_cache", WriteCache::Off, write_cache)?,
        combine_writes: table.or("combine_writes", false, field::flag)?,
        read_watermark: table.or("read_watermark", 0.0, field::fraction)?,
        write_watermark: table.or("write_watermark", 0.0, field::fraction)?,
        watermark_of: table.or("watermark_of", WatermarkOf::Request, watermark_of)?,
    };
    let contradiction = contradiction(&buffer).map(|(key, rule)| table.value(key).error(rule));
    // A misspelt key first: the default that stands in for it is what contradicts the others.
    table.finish()?;
    contradiction.map_or(Ok(buffer), Err)
}

impl Buffer {
    /// Whether no field forbids another: what the reader of specifications asks for.
    pub fn is_sound(&self) -> bool {
        contradiction(self).is_none()
    }
}

/// The first field that another one forbids, and what it may be.
fn contradiction(buffer: &Buffer) -> Option<(&'static str, String)> {
    let at_most = |sectors: SectorCount| format!("at most {} sectors", sectors.0);
    if buffer.dedicated_write_segment && buffer.segments < 2 {
        let expected = "two segments or more, or no dedicated_write_segment";
        return Some(("segments", expected.to_owned()));
    }
    if !buffer.caching && buffer.read_ahead != ReadAhead::None {
        return Some(("read_ahead", "\"none\", unless caching = true".to_owned()));
    }
    if !buffer.caching && buffer.write_cache != WriteCache::Off {
        return Some(("write_cache", "\"off\", unless caching = true".to_owned()));
    }
    if buffer.read_ahead_max > buffer.segment {
        return Some(("read_ahead_max", at_most(buffer.segment)));
    }
    if buffer.read_ahead_min > buffer.read_ahead_max {
        return Some(("read_ahead_min", at_most(buffer.read_ahead_max)));
    }
    None
}

fn read_ahead(value: &Value<'_>) -> Result<ReadAhead, SpecError> {
    field::word(
        value,
        &[
            ("none", ReadAhead::None),
            ("track-end", ReadAhead::TrackEnd),
            ("cylinder-end", ReadAhead::CylinderEnd),
            ("until-full", ReadAhead::UntilFull),
            ("one-track", ReadAhead::OneTrack),
        ],
    )
}

fn write_cache(value: &Value<'_>) -> Result<WriteCache, SpecError> {
    field::word(
        value,
        &[
            ("off", WriteCache::Off),
            ("streams", WriteCache::Streams),
            ("always", WriteCache::Always),
        ],
    )
}

fn delivered(value: &Value<'_>) -> Result<Delivered, SpecError> {
    let words = [("kept", Delivered::Kept), ("dropped", Delivered::Dropped)];
    field::word(value, &words)
}

fn invalidation(value: &Value<'_>) -> Result<Invalidation, SpecError> {
    field::word(
        value,
        &[
            ("overlap", Invalidation::Overlap),
            ("segment", Invalidation::Segment),
            ("all", Invalidation::All),
        ],
    )
}

fn watermark_of(value: &Value<'_>) -> Result<WatermarkOf, SpecError> {
    field::word(
        value,
        &[
            ("request", WatermarkOf::Request),
            ("segment", WatermarkOf::Segment),
        ],
    )
}
