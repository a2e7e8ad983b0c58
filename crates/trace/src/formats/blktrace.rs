//! Binary traces of the Linux block layer.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};

use diskarm_core::request::Op;
use diskarm_core::units::{Instant, Lbn, SectorCount};

use crate::error::{ErrorKind, InvalidField, TraceError};
use crate::format::{
    Format, FormatInfo, NAMES, OpenResult, Options, RowReader, TimeOrigin, TraceMetadata,
};
use crate::lines::MAX_SECTORS;
use crate::pairing::{Action, Event, Pairing};
use crate::record::{BLOCK_BYTES, Location, Record, Urgency};
use crate::source::{ByteSource, bytes_at};
use crate::time::TimeUnit;

/// blktrace, binary: the per-processor files of a trace, merged in order of time.
///
/// # What it does
/// Reads records of 48 bytes, each followed by a payload, in the byte order of their magic. A
/// request arrives when it is issued to the device (`D`) and completes with the first completion
/// (`C`) that covers it, or when completions of its parts together cover it; optionally, it arrives
/// when it enters the block layer (`Q`). A requeue cancels an issue. Requests without data, such as
/// discards and flushes, are ignored and counted; other events are not requests. Devices are named
/// `major,minor`. Opening `x.blktrace.0`, or the name `x`, opens all of `x.blktrace.N`. Arrivals
/// are relative to the first request.
///
/// # Origin
/// `struct blk_io_trace` and the action codes of Linux's `include/uapi/linux/blktrace_api.h`,
/// version 7, which blkparse 1.2.0 also reads.
///
/// # Cost
/// One pass; memory for the outstanding requests, at most 4,096.
///
/// # When it is bad
/// A request whose completion the kernel lost has no response and is counted. A record without the
/// magic ends the trace, even if invalid records are skipped.
///
/// # Example
/// ```
/// let event = |action: u32, time: u64| {
///     let mut bytes = 0x6561_7407u32.to_le_bytes().to_vec();
///     bytes.extend(1u32.to_le_bytes());
///     bytes.extend(time.to_le_bytes());
///     bytes.extend(64u64.to_le_bytes());
///     for word in [4096, action, 1, 8 << 20, 0] {
///         bytes.extend(u32::to_le_bytes(word));
///     }
///     bytes.extend([0; 4]);
///     bytes
/// };
/// let bytes = [event(7 | 1 << 16, 500), event(8 | 1 << 16, 90_500)].concat();
/// let record = diskarm_trace::read(std::io::Cursor::new(bytes), "x", None)?.next().unwrap()?;
/// assert_eq!((record.start.0, record.sectors.0), (64, 8));
/// assert_eq!(record.response.unwrap().as_ns(), 90_000);
/// # Ok::<(), diskarm_trace::TraceError>(())
/// ```
pub struct BlkTrace;

/// The number of bytes of a record without its payload.
const RECORD: usize = 48;

/// "eat" in ASCII, followed by the version, 7.
const MAGIC: u32 = 0x6561_7407;

impl Format for BlkTrace {
    const INFO: FormatInfo = FormatInfo {
        name: "blktrace",
        summary: "blktrace, binary; all processors' files are merged",
        first_line: "binary: the magic 0x65617407",
        time_unit: TimeUnit::Nanoseconds,
        time_origin: TimeOrigin::Arbitrary,
        carries: "arrivals, responses, urgency and devices",
    };

    fn sniff(head: &[u8]) -> bool {
        head.len() >= RECORD && order(head).is_some()
    }

    fn open(mut source: ByteSource, options: &Options<'_>) -> OpenResult {
        let siblings = std::mem::take(&mut source.siblings);
        let mut files = Vec::new();
        for source in std::iter::once(source).chain(siblings) {
            // A processor without events has an empty file.
            if source.head().is_empty() {
                continue;
            }
            let Some(order) = order(source.head()) else {
                return Err(magic_error(&source));
            };
            files.push(Events { source, order });
        }
        Ok(Box::new(Merger {
            next: BinaryHeap::with_capacity(files.len()),
            pending: (0..files.len()).rev().collect(),
            files,
            pairing: Pairing::new(options.arrival),
            is_at_end: false,
        }))
    }

    /// Returns all files `x.blktrace.N`, in the order of N, given one of them or `x`.
    fn parts(path: &Path) -> Vec<PathBuf> {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            return Vec::new();
        };
        let base = match name.rsplit_once('.') {
            Some((base, _)) if number(name, base).is_some() => base.to_owned(),
            _ => format!("{name}.blktrace"),
        };
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let entries = std::fs::read_dir(folder.unwrap_or(Path::new(".")));
        let numbered = |entry: std::fs::DirEntry| {
            let name = entry.file_name();
            Some((number(name.to_str()?, &base)?, path.with_file_name(name)))
        };
        let entries = entries.into_iter().flatten().flatten();
        let mut parts: Vec<(u32, PathBuf)> = entries.filter_map(numbered).collect();
        parts.sort();
        parts.into_iter().map(|(_, path)| path).collect()
    }
}

/// Returns the N of a file called `base.N`, where the base ends in `.blktrace`.
fn number(name: &str, base: &str) -> Option<u32> {
    let digits = name.strip_prefix(base)?.strip_prefix('.')?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_part = base.ends_with(".blktrace") && is_number;
    is_part.then(|| digits.parse().ok()).flatten()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

fn order(head: &[u8]) -> Option<Order> {
    let magic = *head.first_chunk()?;
    match (u32::from_le_bytes(magic), u32::from_be_bytes(magic)) {
        (MAGIC, _) => Some(Order::Little),
        (_, MAGIC) => Some(Order::Big),
        _ => None,
    }
}

impl Order {
    #[inline]
    fn u16(self, bytes: &[u8; RECORD], start: usize) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes_at(bytes, start)),
            Self::Big => u16::from_be_bytes(bytes_at(bytes, start)),
        }
    }

    #[inline]
    fn u32(self, bytes: &[u8; RECORD], start: usize) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes_at(bytes, start)),
            Self::Big => u32::from_be_bytes(bytes_at(bytes, start)),
        }
    }

    #[inline]
    fn u64(self, bytes: &[u8; RECORD], start: usize) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes_at(bytes, start)),
            Self::Big => u64::from_be_bytes(bytes_at(bytes, start)),
        }
    }
}

struct Events {
    source: ByteSource,
    order: Order,
}

impl Events {
    /// Returns the time of the next event; `None` at the end of the file.
    #[inline]
    fn next_time(&mut self) -> Result<Option<u64>, TraceError> {
        let order = self.order;
        if self.source.buffered().len() < RECORD && self.source.require(RECORD)? == 0 {
            return Ok(None);
        }
        let Some(bytes) = self.source.buffered().first_chunk::<RECORD>() else {
            return Ok(None);
        };
        if order.u32(bytes, 0) != MAGIC {
            return Err(magic_error(&self.source));
        }
        Ok(Some(order.u64(bytes, 8)))
    }

    /// Takes the next event, which is buffered. Returns `None` if it does not concern data.
    #[inline]
    fn take(&mut self, metadata: &mut TraceMetadata) -> Result<Option<Event>, TraceError> {
        let location = Location::Byte(self.source.offset());
        let order = self.order;
        let Some(bytes) = self.source.record::<RECORD>()? else {
            return Ok(None);
        };
        let payload = order.u16(bytes, 46).into();
        let event = event(order, bytes, location, metadata);
        self.source.skip(payload)?;
        event.map_err(|invalid| invalid.at(self.source.name(), location))
    }
}

/// Returns the error for a record without the magic at the current position of `source`.
#[cold]
fn magic_error(source: &ByteSource) -> TraceError {
    let detail = format!("magic: found another value, expected 0x{MAGIC:x}");
    let location = Some(Location::Byte(source.offset()));
    TraceError::new(ErrorKind::Framing, source.name(), location, detail)
}

/// The categories of an action, as bits in the high half of its word.
const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const SYNC: u32 = 1 << 19;
const PASSTHROUGH: u32 = 1 << 25;
const NOTIFY: u32 = 1 << 26;
const AHEAD: u32 = 1 << 27;
const DISCARD: u32 = 1 << 29;

/// Returns the event of a record, if it is about a request for data.
#[inline]
fn event(
    order: Order,
    bytes: &[u8; RECORD],
    location: Location,
    metadata: &mut TraceMetadata,
) -> Result<Option<Event>, Box<InvalidField>> {
    let word = order.u32(bytes, 28);
    let action = match word & 0xff {
        1 => Action::Queue,
        6 => Action::Requeue,
        7 => Action::Issue,
        8 => Action::Complete,
        _ => return Ok(None),
    };
    if word & NOTIFY != 0 {
        return Ok(None);
    }
    let length = u64::from(order.u32(bytes, 24));
    // A command that a process sent directly to the device does not name blocks.
    if length == 0 || word & (READ | WRITE) == 0 || word & (DISCARD | PASSTHROUGH) != 0 {
        if action == Action::Issue {
            metadata.ignore(match word {
                _ if word & PASSTHROUGH != 0 => "passthrough command",
                _ if word & DISCARD != 0 => "discard",
                _ if word & FLUSH != 0 => "flush",
                _ => "request without data",
            });
        }
        return Ok(None);
    }
    let sectors = length.div_ceil(BLOCK_BYTES);
    if sectors > MAX_SECTORS {
        let expected = format!("a length in bytes of at most {MAX_SECTORS} blocks");
        return Err(InvalidField::new("bytes", length, expected));
    }
    let (start, time) = (order.u64(bytes, 16), order.u64(bytes, 8));
    if start.checked_add(sectors).is_none() {
        let expected = "a request that ends below block 2^64";
        return Err(InvalidField::new("sector", start, expected));
    }
    if i64::try_from(time).is_err() {
        return Err(InvalidField::new("time", time, "nanoseconds below 2^63"));
    }
    let op = if word & WRITE != 0 {
        Op::Write
    } else {
        Op::Read
    };
    let is_awaited = word & SYNC != 0 || word & (READ | AHEAD) == READ;
    let kernel = order.u32(bytes, 36);
    let device = metadata.block_device(kernel);
    let device = device.ok_or_else(|| InvalidField::new("device", kernel.into(), NAMES))?;
    Ok(Some(Event {
        action,
        location,
        at: Instant::from_ns(time),
        device,
        op,
        urgency: Some(Urgency::new(is_awaited)),
        start: Lbn(start),
        sectors: SectorCount(sectors),
    }))
}

struct Merger {
    files: Vec<Events>,
    /// The time of each file's next event, and the file's index, which breaks ties.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    /// The files whose next event is not in `next` yet.
    pending: Vec<usize>,
    pairing: Pairing,
    is_at_end: bool,
}

impl Merger {
    /// Processes the earliest event of all files. An error concerns one event or the end of one
    /// file: the next call continues with the others.
    #[inline]
    fn advance(&mut self, metadata: &mut TraceMetadata) -> Result<(), TraceError> {
        while let Some(index) = self.pending.pop() {
            if let Some(time) = self.files[index].next_time()? {
                self.next.push(Reverse((time, index)));
            }
        }
        let Some(Reverse((_, index))) = self.next.pop() else {
            self.is_at_end = true;
            return Ok(());
        };
        self.pending.push(index);
        if let Some(event) = self.files[index].take(metadata)? {
            self.pairing.put(&event, metadata);
        }
        Ok(())
    }
}

impl RowReader for Merger {
    fn next(&mut self, metadata: &mut TraceMetadata) -> Result<Option<Record>, TraceError> {
        loop {
            if let Some(record) = self.pairing.take(self.is_at_end, metadata) {
                return Ok(Some(record));
            }
            if self.is_at_end {
                return Ok(None);
            }
            self.advance(metadata)?;
        }
    }
}
