//! Reads `[buffer]`.

use super::error::SpecError;
use super::field;
use super::reader::{Table, Value};
use super::{Buffer, Invalidation, ReadAhead, WatermarkOf, WriteCache};
use crate::units::{Bytes, SectorCount};

/// Left out, the buffer is one segment of this size that does no more than match speeds.
const PLAIN_SEGMENT: SectorCount = SectorCount(128);

pub(super) fn read(mut table: Table<'_>, sector: Bytes) -> Result<Buffer, SpecError> {
    let size = |v: &Value<'_>| field::size(v, sector);
    let segments = table.or("segments", 1, |v| field::count_u32(v, 1..=1_000_000))?;
    let segment = table.or("segment", PLAIN_SEGMENT, |v| field::some_size(v, sector))?;
    let caching = table.or("caching", false, field::flag)?;
    let max = table.or("read_ahead_max", segment, |v| at_most(v, size(v)?, segment))?;
    let buffer = Buffer {
        segments,
        segment,
        caching,
        dedicated_write_segment: table.or("dedicated_write_segment", false, |v| {
            let dedicated = field::flag(v)?;
            refuse(v, dedicated && segments == 1, "false, with segments = 1")?;
            Ok(dedicated)
        })?,
        read_ahead: table.or("read_ahead", ReadAhead::None, |v| read_ahead(v, caching))?,
        read_ahead_min: table.or("read_ahead_min", SectorCount(0), |v| {
            at_most(v, size(v)?, max)
        })?,
        read_ahead_max: max,
        read_ahead_over_requested: table.or("read_ahead_over_requested", false, field::flag)?,
        read_ahead_on_hit: table.or("read_ahead_on_hit", false, field::flag)?,
        read_ahead_stops_mid_sector: table.or("read_ahead_stops_mid_sector", false, field::flag)?,
        write_stops_read_ahead: table.or("write_stops_read_ahead", false, field::flag)?,
        read_before_requested: table.or("read_before_requested", false, field::flag)?,
        arriving_hits: table.or("arriving_hits", false, field::flag)?,
        partial_hits_at_once: table.or("partial_hits_at_once", false, field::flag)?,
        hits_on_written: table.or("hits_on_written", false, field::flag)?,
        write_invalidates: table.or("write_invalidates", Invalidation::Overlap, invalidation)?,
        read_on_arrival: table.or("read_on_arrival", false, field::flag)?,
        write_on_arrival: table.or("write_on_arrival", false, field::flag)?,
        write_cache: table.or("write_cache", WriteCache::Off, |v| write_cache(v, caching))?,
        combine_writes: table.or("combine_writes", false, field::flag)?,
        read_watermark: table.or("read_watermark", 0.0, field::fraction)?,
        write_watermark: table.or("write_watermark", 0.0, field::fraction)?,
        watermark_of: table.or("watermark_of", WatermarkOf::Request, watermark_of)?,
    };
    table.finish()?;
    Ok(buffer)
}

fn at_most(
    value: &Value<'_>,
    size: SectorCount,
    most: SectorCount,
) -> Result<SectorCount, SpecError> {
    let expected = format!("at most {} sectors", most.0);
    refuse(value, size > most, &expected)?;
    Ok(size)
}

fn refuse(value: &Value<'_>, wrong: bool, expected: &str) -> Result<(), SpecError> {
    if wrong {
        Err(value.error(expected))
    } else {
        Ok(())
    }
}

fn read_ahead(value: &Value<'_>, caching: bool) -> Result<ReadAhead, SpecError> {
    let read_ahead = field::word(
        value,
        &[
            ("none", ReadAhead::None),
            ("track-end", ReadAhead::TrackEnd),
            ("cylinder-end", ReadAhead::CylinderEnd),
            ("until-full", ReadAhead::UntilFull),
            ("one-track", ReadAhead::OneTrack),
        ],
    )?;
    let wrong = read_ahead != ReadAhead::None && !caching;
    refuse(value, wrong, "\"none\", unless caching = true")?;
    Ok(read_ahead)
}

fn write_cache(value: &Value<'_>, caching: bool) -> Result<WriteCache, SpecError> {
    let write_cache = field::word(
        value,
        &[
            ("off", WriteCache::Off),
            ("streams", WriteCache::Streams),
            ("always", WriteCache::Always),
        ],
    )?;
    let wrong = write_cache != WriteCache::Off && !caching;
    refuse(value, wrong, "\"off\", unless caching = true")?;
    Ok(write_cache)
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
