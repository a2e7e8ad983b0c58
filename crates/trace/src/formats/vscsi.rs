//! Binary traces of VMware vscsi, as collected by CloudPhysics.

use diskarm_core::request::Op;
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};

use crate::error::{ErrorKind, InvalidField, TraceError};
use crate::format::{
    Format, FormatInfo, OpenResult, Options, RowReader, TimeOrigin, TraceMetadata,
};
use crate::lines::MAX_SECTORS;
use crate::record::{BLOCK_BYTES, Location, Record};
use crate::source::{ByteSource, bytes_at};
use crate::time::TimeUnit;

/// VMware vscsi, version 1 (32 bytes per record) and 2 (40 bytes), little-endian.
///
/// # What it does
/// Reads version 1: serial number, bytes, scatter-gather entries (32 bits each), SCSI command and
/// version (16 each), first 512-byte block, microseconds (64 each); and version 2: command,
/// version, serial number, bytes, entries, first block, microseconds, response in microseconds.
/// Commands other than reads and writes are ignored and counted by operation code. Arrivals are
/// relative to the first record.
///
/// # Origin
/// C. Waldspurger, N. Park, A. Garthwaite, I. Ahmad: Efficient MRC Construction with SHARDS (FAST
/// 2015) describes the traces; version 1 was checked with trace w106, version 2 follows
/// published readers. Operation codes: SBC-4, table 33.
///
/// # Cost
/// One pass, no allocation per record.
///
/// # When it is bad
/// Records do not name devices. Version 1 has no responses. A record of another version ends the
/// trace, even if invalid records are skipped.
///
/// # Example
/// ```
/// let mut bytes = Vec::new();
/// bytes.extend([7u32, 4096, 1].iter().flat_map(|word| word.to_le_bytes()));
/// bytes.extend([0x28u16, 0x0100].iter().flat_map(|half| half.to_le_bytes()));
/// bytes.extend([42u64, 5_000_000].iter().flat_map(|long| long.to_le_bytes()));
/// let record = diskarm_trace::read(std::io::Cursor::new(bytes), "one", None)?.next().unwrap()?;
/// assert_eq!((record.start.0, record.sectors.0), (42, 8));
/// # Ok::<(), diskarm_trace::TraceError>(())
/// ```
pub struct Vscsi;

impl Format for Vscsi {
    const INFO: FormatInfo = FormatInfo {
        name: "vscsi",
        summary: "VMware vscsi, version 1 or 2, binary",
        first_line: "binary: 0x01 or 0x02 as byte 15 or byte 3 of a record",
        time_unit: TimeUnit::Microseconds,
        time_origin: TimeOrigin::Arbitrary,
        carries: "arrivals; responses in version 2; one device",
    };

    fn sniff(head: &[u8]) -> bool {
        version(head).is_some()
    }

    fn open(source: ByteSource, _: &Options<'_>) -> OpenResult {
        Ok(match version(source.head()) {
            Some(Version::V2) => Box::new(Records::<40, 0x0200, _> {
                source,
                parse: parse_v2,
            }),
            _ => Box::new(Records::<32, 0x0100, _> {
                source,
                parse: parse_v1,
            }),
        })
    }
}

#[derive(Clone, Copy)]
enum Version {
    V1,
    V2,
}

/// Returns the version of all complete records of `head`, if they agree and have valid commands.
fn version(head: &[u8]) -> Option<Version> {
    let all = |size: usize, version: u8, at: usize, command_at: usize| {
        head.len() >= size
            && head.chunks_exact(size).all(|record| {
                record[at] == version && record[command_at + 1] == 0 && record[at - 1] == 0
            })
    };
    if all(32, 1, 15, 12) {
        Some(Version::V1)
    } else {
        all(40, 2, 3, 0).then_some(Version::V2)
    }
}

/// Records of `N` bytes, each of which names the same version.
struct Records<const N: usize, const VERSION: u32, P: Fn(&[u8; N]) -> RawRecord> {
    source: ByteSource,
    parse: P,
}

/// The fields of a record of either version.
#[derive(Clone, Copy)]
struct RawRecord {
    bytes: u32,
    /// The version above the command, 16 bits each.
    command: u32,
    lbn: u64,
    time_us: u64,
    response_us: Option<u64>,
}

fn parse_v1(bytes: &[u8; 32]) -> RawRecord {
    RawRecord {
        bytes: u32::from_le_bytes(bytes_at(bytes, 4)),
        command: u32::from_le_bytes(bytes_at(bytes, 12)),
        lbn: u64::from_le_bytes(bytes_at(bytes, 16)),
        time_us: u64::from_le_bytes(bytes_at(bytes, 24)),
        response_us: None,
    }
}

fn parse_v2(bytes: &[u8; 40]) -> RawRecord {
    RawRecord {
        command: u32::from_le_bytes(bytes_at(bytes, 0)),
        bytes: u32::from_le_bytes(bytes_at(bytes, 8)),
        lbn: u64::from_le_bytes(bytes_at(bytes, 16)),
        time_us: u64::from_le_bytes(bytes_at(bytes, 24)),
        response_us: Some(u64::from_le_bytes(bytes_at(bytes, 32))),
    }
}

impl<const N: usize, const VERSION: u32, P: Fn(&[u8; N]) -> RawRecord + Send> RowReader
    for Records<N, VERSION, P>
{
    fn next(&mut self, metadata: &mut TraceMetadata) -> Result<Option<Record>, TraceError> {
        loop {
            let location = Location::Byte(self.source.offset());
            let Some(bytes) = self.source.record::<N>()? else {
                return Ok(None);
            };
            let raw = (self.parse)(bytes);
            let op = match raw.command ^ VERSION << 16 {
                // READ (6), (10), (12), (16); WRITE and WRITE AND VERIFY of the same sizes.
                0x08 | 0x28 | 0xa8 | 0x88 => Op::Read,
                0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Op::Write,
                other @ 0..=0xffff => {
                    metadata.ignore(&format!("SCSI command 0x{other:02x}"));
                    continue;
                }
                // Not a record: an endless device has no other end.
                _ => {
                    let found = raw.command >> 16;
                    let detail = format!("version: found 0x{found:04x}, expected 0x{VERSION:04x}");
                    let (name, location) = (self.source.name(), Some(location));
                    return Err(TraceError::new(ErrorKind::Framing, name, location, detail));
                }
            };
            let record = record(&raw, op, location, metadata);
            return record
                .map(Some)
                .map_err(|invalid| invalid.at(self.source.name(), location));
        }
    }
}

#[inline]
fn record(
    raw: &RawRecord,
    op: Op,
    location: Location,
    metadata: &mut TraceMetadata,
) -> Result<Record, Box<InvalidField>> {
    let bytes = u64::from(raw.bytes);
    let sectors = bytes.div_ceil(BLOCK_BYTES);
    if !(1..=MAX_SECTORS).contains(&sectors) {
        let expected = format!("a length in bytes of 1 to {MAX_SECTORS} blocks");
        return Err(InvalidField::new("length", bytes, expected));
    }
    if raw.lbn.checked_add(sectors).is_none() {
        let expected = "a request that ends below block 2^64";
        return Err(InvalidField::new("lbn", raw.lbn, expected));
    }
    metadata.widened += u64::from(!bytes.is_multiple_of(BLOCK_BYTES));
    let response_ns = raw.response_us.map(|us| ns("response", us)).transpose()?;
    let arrival_ns = ns("timestamp", raw.time_us)?;
    Ok(Record {
        arrival: Some(Instant::from_ns(arrival_ns.unsigned_abs())),
        response: response_ns.map(Span::from_ns),
        ..Record::new(location, op, Lbn(raw.lbn), SectorCount(sectors))
    })
}

#[inline]
fn ns(field: &'static str, us: u64) -> Result<i64, Box<InvalidField>> {
    const MAX_US: u64 = i64::MAX as u64 / 1_000;
    match us {
        0..=MAX_US => Ok(us as i64 * 1_000),
        _ => Err(InvalidField::new(field, us, "microseconds below 2^63 ns")),
    }
}
