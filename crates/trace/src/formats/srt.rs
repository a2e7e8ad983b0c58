//! Binary traces from HP Laboratories, in the SRT 1.3 format.

use diskarm_core::request::Op;
use diskarm_core::units::{Instant, Span};
use memchr::memchr;

use crate::error::{ErrorKind, InvalidField, TraceError};
use crate::format::{
    Format, FormatInfo, OpenResult, Options, RowReader, TimeOrigin, TraceMetadata,
};
use crate::lines::{MAX_SECTORS, overlapped_blocks};
use crate::record::{Location, Record, Urgency};
use crate::source::ByteSource;
use crate::time::TimeUnit;

/// HP SRT 1.3: a text header, a form feed, and big-endian records of 32-bit words.
///
/// # What it does
/// Reads records of type 1 (an I/O) and 4 (a suspect one, with one more word). Word 0 is the size
/// in bytes, so later versions with more words can be read; word 1 has the version and type;
/// words 2 and 3 are the time when the request entered the driver's queue, in seconds and
/// microseconds since the trace's date; words 4 and 5 are the start and end of its service, in
/// microseconds after that. Word 6 is the size in bytes and word 7 the address in sectors, whose
/// size the header gives; both are converted to 512-byte blocks. Bits 8 to 15 of word 8 are the
/// unit, which becomes the device. The sections of a disk belong to one unit, because they share
/// one address space. Word 11 has flags: bit 0 means read, bit 8 asynchronous. Word 13, in version
/// 4, is the queue length on arrival, including the request itself. Records of other types are
/// ignored and counted.
///
/// # Origin
/// The traces of C. Ruemmler and J. Wilkes: UNIX disk access patterns (USENIX Winter 1993), of
/// which worthington94 used cello and snake; the fields were checked with one week of hplajw. In
/// that week, 44,482 of the 44,519 queue lengths are one more than the number of requests that had
/// arrived but not yet completed.
///
/// # Cost
/// One pass, no allocation per record; memory for the header.
///
/// # When it is bad
/// Disks of several sector sizes in one trace are refused. A record with an invalid size ends the
/// trace, even if invalid records are skipped, because the start of the next one is unknown.
///
/// # Example
/// ```
/// let words = [56u32, 4 << 16 | 1, 1, 500_000, 10, 35, 8192, 64, 0x0800_0108, 4, 0, 1, 0, 2];
/// let mut bytes = b"$$TR_IOREC-1.3\nsectorsize = 256;\n\x0c".to_vec();
/// bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
/// let mut trace = diskarm_trace::read(std::io::Cursor::new(bytes), "one.srt", None)?;
/// let record = trace.next().unwrap()?;
/// assert_eq!((record.device, record.start.0, record.sectors.0), (1, 32, 16));
/// assert_eq!(record.arrival.unwrap().as_ns(), 1_500_000_000);
/// assert_eq!(record.response.unwrap().as_ns(), 35_000);
/// assert_eq!(record.service.unwrap().as_ns(), 25_000);
/// # Ok::<(), diskarm_trace::TraceError>(())
/// ```
pub struct Srt;

const MAGIC: &[u8] = b"$$TR_IOREC-1.3";

/// The maximum size of a header in bytes.
const MAX_HEADER: usize = 128 * 1024;

/// The number of words in an I/O record without the queue length.
const MIN_WORDS: usize = 13;
/// The maximum number of words in a record; known records have fewer.
const MAX_WORDS: usize = 64;

const FORM_FEED: u8 = 0x0c;

impl Format for Srt {
    const INFO: FormatInfo = FormatInfo {
        name: "srt",
        summary: "HP SRT 1.3, binary",
        first_line: "$$TR_IOREC-1.3",
        time_unit: TimeUnit::Microseconds,
        time_origin: TimeOrigin::Start,
        carries: "arrivals, responses, service times, queue lengths, urgency and devices",
    };

    fn sniff(head: &[u8]) -> bool {
        head.starts_with(MAGIC)
    }

    fn open(mut source: ByteSource, _: &Options<'_>) -> OpenResult {
        let header = match source.peek(MAX_HEADER) {
            Ok(header) => header,
            Err(error) => return Err(source.io_error("read", error)),
        };
        let Some(end) = memchr(FORM_FEED, header) else {
            return Err(wrong_header(
                &source,
                "no form feed",
                "one after the header",
            ));
        };
        let sector_bytes = sector_bytes(&header[..end]).map_err(|found| {
            let expected = "sectorsize = N with the same N for all disks";
            wrong_header(&source, &found, expected)
        })?;
        source.skip(end + 1)?;
        Ok(Box::new(Records {
            source,
            sector_bytes,
        }))
    }
}

fn wrong_header(source: &ByteSource, found: &str, expected: &str) -> TraceError {
    let detail = format!("header: found {found}, expected {expected}");
    TraceError::new(ErrorKind::Header, source.name(), None, detail)
}

/// Returns the sector size of all disks, or a description of the invalid header.
fn sector_bytes(header: &[u8]) -> Result<u64, String> {
    let text = String::from_utf8_lossy(header);
    let mut sizes: Vec<u64> = Vec::new();
    for (start, key) in text.match_indices("sectorsize") {
        let rest = text[start + key.len()..].trim_start();
        let value = rest.strip_prefix('=').unwrap_or(rest).trim_start();
        let end = value.find(|c: char| !c.is_ascii_digit());
        let end = end.unwrap_or(value.len());
        match value[..end].parse() {
            Ok(size @ 1..=65_536) => sizes.push(size),
            _ => return Err(format!("sectorsize {:?}", &value[..end])),
        }
    }
    sizes.dedup();
    match sizes[..] {
        [size] => Ok(size),
        [] => Err("no sectorsize".to_owned()),
        [a, b, ..] => Err(format!("sectors of {a} and of {b} bytes")),
    }
}

struct Records {
    source: ByteSource,
    sector_bytes: u64,
}

impl RowReader for Records {
    fn next(&mut self, metadata: &mut TraceMetadata) -> Result<Option<Record>, TraceError> {
        loop {
            let location = Location::Byte(self.source.offset());
            let Some(size) = self.size(location)? else {
                return Ok(None);
            };
            self.source.skip(size)?;
            let words = Words(self.source.last_consumed(size));
            match words.get(1) & 0xffff {
                1 | 4 => {}
                other => {
                    metadata.ignore(&format!("records of type {other}"));
                    continue;
                }
            }
            let record = record(&words, location, self.sector_bytes, metadata);
            return record
                .map(Some)
                .map_err(|invalid| invalid.at(self.source.name(), location));
        }
    }
}

impl Records {
    /// Returns the size in bytes of the next record, and buffers all of it.
    #[inline]
    fn size(&mut self, location: Location) -> Result<Option<usize>, TraceError> {
        let held = self.source.buffered();
        let size = match held.first_chunk() {
            Some(word) => u32::from_be_bytes(*word) as usize,
            None => match self.first_word()? {
                Some(size) => size,
                None => return Ok(None),
            },
        };
        if !size.is_multiple_of(4) || !(MIN_WORDS * 4..=MAX_WORDS * 4).contains(&size) {
            let (min, max) = (MIN_WORDS * 4, MAX_WORDS * 4);
            let detail =
                format!("record size: found {size}, expected a multiple of 4 from {min} to {max}");
            let (name, location) = (self.source.name(), Some(location));
            return Err(TraceError::new(ErrorKind::Framing, name, location, detail));
        }
        if self.source.buffered().len() < size {
            self.source.require(size)?;
        }
        Ok(Some(size))
    }

    #[cold]
    fn first_word(&mut self) -> Result<Option<usize>, TraceError> {
        if self.source.require(4)? == 0 {
            return Ok(None);
        }
        let word = self.source.buffered().first_chunk();
        Ok(word.map(|word| u32::from_be_bytes(*word) as usize))
    }
}

/// A record's bytes, a whole number of words.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    #[inline]
    fn get(&self, index: usize) -> u32 {
        match self.0.get(index * 4..).and_then(<[u8]>::first_chunk) {
            Some(word) => u32::from_be_bytes(*word),
            None => 0,
        }
    }
}

#[inline]
fn record(
    words: &Words<'_>,
    location: Location,
    sector_bytes: u64,
    metadata: &mut TraceMetadata,
) -> Result<Record, Box<InvalidField>> {
    let invalid = |index: usize, field, expected: String| {
        InvalidField::new(field, words.get(index).into(), expected)
    };
    let (seconds, micros) = (words.get(2), words.get(3));
    if micros >= 1_000_000 {
        return Err(invalid(3, "microseconds", "less than 1000000".to_owned()));
    }
    let (start_us, stop_us) = (words.get(4), words.get(5));
    if stop_us < start_us {
        let expected = format!("at least {start_us} us, the start of service");
        return Err(invalid(5, "stop", expected));
    }
    let first = u64::from(words.get(7)) * sector_bytes;
    let Some((start, sectors)) = overlapped_blocks(first, words.get(6).into(), metadata) else {
        let expected = format!("a length in bytes of 1 to {MAX_SECTORS} blocks");
        return Err(invalid(6, "size", expected));
    };
    let flags = words.get(11);
    let op = if flags & 1 == 1 { Op::Read } else { Op::Write };
    let is_asynchronous = flags & 1 << 8 != 0;
    let has_queue = words.get(1) >> 16 >= 4 && words.0.len() > MIN_WORDS * 4;
    let us = |us: u32| Span::from_ns(i64::from(us) * 1_000);
    let arrival_ns = u64::from(seconds) * 1_000_000_000 + u64::from(micros) * 1_000;
    Ok(Record {
        arrival: Some(Instant::from_ns(arrival_ns)),
        device: words.get(8) >> 8 & 0xff,
        response: Some(us(stop_us)),
        service: Some(us(stop_us - start_us)),
        queue: has_queue.then(|| words.get(13).saturating_sub(1)),
        urgency: Some(Urgency::new(!is_asynchronous)),
        ..Record::new(location, op, start, sectors)
    })
}
