//! The rows of traces as requests to independent disks, and requests as rows of traces.

use diskarm_core::request::{Op, Request};
use diskarm_core::text::with_noun;
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};
use diskarm_core::workload::Disk;
use diskarm_core::wrap::{RecordedRequest, Recording};
use diskarm_trace::adapt::{ClosedLoop, Disks, Merger, Notes};
use diskarm_trace::{Location, Record, TraceError};

use crate::error::Error;
use crate::input::{Fitting, Issue, TraceReplay, check_disk};
use crate::system::System;

/// The requests of traces up to an invalid row ([`Self::finish`]), with a disk for each device.
pub struct TraceRows {
    trace: Disks<Box<dyn Notes>>,
    files: Vec<String>,
    /// The number of disks over which each device is spread.
    disks_per_device: u32,
    max_disks: u16,
    blocks: BlockConverter,
    record: Record,
    /// The first request, read to determine the kind of trace and not yet returned.
    first: Option<TraceRequest>,
    next_id: u64,
    widened: u64,
    failure: Option<Error>,
}

/// A request with its times in the trace.
#[derive(Clone, Copy, Debug)]
pub struct TraceRequest {
    pub request: Request,
    pub arrival: Option<Instant>,
    pub think: Option<Span>,
}

/// The traced device whose requests a disk serves. Results use the names of these fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Origin {
    /// The position of the trace on the command line, from 0.
    pub trace: u32,
    /// The number of the device in the trace.
    pub device: u32,
    /// The number of the disk, from 0, if the device is spread over several.
    pub part: u32,
}

impl TraceRows {
    /// Opens traces for replay on disks like `system`. Fails if there is no valid first row.
    pub fn open(traced: &TraceReplay, system: &System) -> Result<Self, Error> {
        let blocks = BlockConverter::new(system.disk(), &system.name)?;
        let mut rows = Self {
            trace: Disks::new(read_changed(traced, blocks.capacity())?),
            files: traced.files.clone(),
            disks_per_device: traced.fitting.disks_per_device(),
            max_disks: system.max_copies(),
            blocks,
            record: Record::new(Location::Line(0), Op::Read, Lbn(0), SectorCount(0)),
            first: None,
            next_id: 0,
            widened: 0,
            failure: None,
        };
        rows.first = rows.next();
        if rows.first.is_some() {
            return Ok(rows);
        }
        rows.finish()?;
        let name = rows.trace.name();
        let Some(first) = traced.selection.devices.first() else {
            let expected = "a trace with requests from `from` to `until`";
            return Err(Error::argument("trace", name, expected));
        };
        let expected = format!("a device with requests in {name}");
        Err(Error::argument("device", first.to_string(), expected))
    }

    pub fn has_arrivals(&self) -> bool {
        self.first.is_some_and(|row| row.arrival.is_some())
    }

    pub fn files(&self) -> Vec<TraceFile> {
        let files = self.files.iter().cloned().zip(self.trace.readers());
        let files = files.map(|(file, reader)| {
            let format = reader.format().name;
            TraceFile { file, format }
        });
        files.collect()
    }

    pub fn requests_count(&self) -> u64 {
        self.next_id
    }

    /// Returns the origins of all disks so far.
    pub fn origins(&self) -> Vec<Origin> {
        let traces = self.files.len() as u32;
        let origin = |number: &u32| Origin {
            trace: number % traces,
            device: number / traces / self.disks_per_device,
            part: number / traces % self.disks_per_device,
        };
        self.trace.devices().iter().map(origin).collect()
    }

    /// Returns warnings about the traces, one line each.
    pub fn warnings(&self) -> Vec<String> {
        let readers = self.trace.readers().into_iter();
        let notes = readers.flat_map(|reader| {
            let notes = reader.notes().into_iter();
            notes.map(|note| format!("{}: {note}", reader.name()))
        });
        let widened = (self.widened > 0).then(|| self.blocks.widened(self.widened));
        notes.chain(widened).collect()
    }

    /// Returns the requested changes, one line each.
    pub fn changes(&self) -> Vec<String> {
        // The note on the disks is left out: they have their own metrics.
        self.trace.inner().changes()
    }

    /// Returns an error if the rows ended at an invalid row.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Converts the last record read.
    #[inline]
    fn request(&mut self) -> Result<TraceRequest, Error> {
        let (record, name) = (&self.record, self.trace.name());
        check_disk(record, self.max_disks, name, self.trace.devices())?;
        let mut request = self.blocks.request(record, self.next_id, name)?;
        self.next_id += 1;
        self.widened += u64::from(self.blocks.widens(record));
        request.unit = record.device as u16;
        Ok(TraceRequest {
            request,
            arrival: record.arrival,
            think: record.think,
        })
    }
}

/// Reads the requests of `traced` with all requested changes, for disks with `room` blocks.
fn read_changed(traced: &TraceReplay, room: SectorCount) -> Result<Box<dyn Notes>, Error> {
    let fitted = |file: &String| {
        let selected = || -> Result<Box<dyn Notes>, TraceError> {
            Ok(traced.selection.devices(traced.reading.open(file)?))
        };
        traced.fitting.fit(room, file, selected)
    };
    let traces = traced.files.iter().map(fitted);
    let mut traces = traces.collect::<Result<Vec<_>, Error>>()?;
    let merged: Box<dyn Notes> = match traces.pop() {
        Some(only) if traces.is_empty() => only,
        last => Box::new(Merger::new(traces.into_iter().chain(last))),
    };
    let window = traced.selection.window(merged);
    Ok(traced.selection.pace(match traced.issue {
        Issue::Pauses => Box::new(ClosedLoop::new(window)),
        Issue::Traced | Issue::Outstanding { .. } => window,
    }))
}

impl Iterator for TraceRows {
    type Item = TraceRequest;

    #[inline]
    fn next(&mut self) -> Option<TraceRequest> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        if self.failure.is_some() {
            return None;
        }
        let read = self.trace.read(&mut self.record)?.map_err(Error::from);
        let row = read.and_then(|()| self.request());
        row.map_err(|error| self.failure = Some(error)).ok()
    }
}

/// A trace that was replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFile {
    /// The name that the user gave.
    pub file: String,
    /// The name of its format.
    pub format: &'static str,
}

/// The size of a block of a trace.
const BLOCK_BYTES: u32 = 512;

/// Converts between the blocks of traces and the sectors of a drive.
#[derive(Clone, Copy)]
pub struct BlockConverter {
    /// The number of blocks that fit on the drive.
    count: u64,
    /// The drive's sectors per block, or 1 if sectors are larger than blocks.
    sectors_per_block: u64,
    /// Blocks per sector of the drive, or 1 if blocks are at least as large.
    blocks_per_sector: u64,
}

impl BlockConverter {
    /// Returns the conversion for `disk`; errors call it `name`. Fails unless the block size is a
    /// multiple of the disk's sector size or vice versa.
    pub fn new(disk: Disk, name: &str) -> Result<Self, Error> {
        let sector_bytes = disk.sector.0 as u32;
        let is_divisor = BLOCK_BYTES.is_multiple_of(sector_bytes);
        if !is_divisor && !sector_bytes.is_multiple_of(BLOCK_BYTES) {
            let expected = format!(
                "a drive whose sector size divides or is a multiple of a trace's block size, \
                 {BLOCK_BYTES} bytes; this drive has sectors of {sector_bytes} bytes"
            );
            return Err(Error::argument("drive", name, expected));
        }
        let sectors_per_block = u64::from(BLOCK_BYTES / sector_bytes).max(1);
        let blocks_per_sector = u64::from(sector_bytes / BLOCK_BYTES).max(1);
        Ok(Self {
            count: disk.sectors.0 * blocks_per_sector / sectors_per_block,
            sectors_per_block,
            blocks_per_sector,
        })
    }

    /// Returns the number of blocks that fit on the drive.
    pub fn capacity(self) -> SectorCount {
        SectorCount(self.count)
    }

    /// Returns the first block that a request touches, and the number of blocks.
    pub fn touched(self, request: &Request) -> (Lbn, SectorCount) {
        let first = request.start.0 * self.blocks_per_sector / self.sectors_per_block;
        let end = (request.end().0 * self.blocks_per_sector).div_ceil(self.sectors_per_block);
        (Lbn(first), SectorCount(end - first))
    }

    /// Returns true unless `record` begins and ends at sector boundaries of the drive.
    #[inline]
    pub fn widens(self, record: &Record) -> bool {
        let size = self.blocks_per_sector;
        size > 1 && !(record.start.0.is_multiple_of(size) && record.sectors.0.is_multiple_of(size))
    }

    /// Returns a note that `count` requests were widened.
    pub fn widened(self, count: u64) -> String {
        let bytes = u64::from(BLOCK_BYTES) * self.blocks_per_sector;
        let requests = with_noun(count, "request");
        format!("{requests} widened to whole sectors of {bytes} bytes")
    }

    /// Converts `record`, a row of `file`, to whole sectors. Fails if it exceeds the drive.
    #[inline(always)]
    pub fn request(self, record: &Record, id: u64, file: &str) -> Result<Request, Error> {
        if record.end().0 > self.count {
            return Err(self.beyond_the_end(record, file));
        }
        // Avoids two divisions, which almost no drive needs.
        let (first, end) = match self.blocks_per_sector {
            1 => (record.start.0, record.end().0),
            size => (record.start.0 / size, record.end().0.div_ceil(size)),
        };
        let sectors = SectorCount((end - first) * self.sectors_per_block);
        let first = Lbn(first * self.sectors_per_block);
        Ok(Request::new(id, record.op, first, sectors))
    }

    #[cold]
    fn beyond_the_end(self, record: &Record, file: &str) -> Error {
        let found = format!("{} sectors from {}", record.sectors.0, record.start.0);
        let expected = format!("at most {} blocks", self.count);
        TraceError::value(file, record.location, "lbn", &found, &expected).into()
    }
}

/// The requests of a trace for a single device, in order of arrival.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// Each request with its arrival time.
    pub requests: Vec<(Instant, Request)>,
    /// Warnings about the trace, one line each.
    pub warnings: Vec<String>,
    /// Requested changes, one line each.
    pub changes: Vec<String>,
}

impl Arrivals {
    /// Reads `traced` for a device like `system`. Fails if the trace is invalid, lacks arrivals or
    /// has several devices, or if requests are not issued at their arrival times or are spread over
    /// several disks.
    pub fn read(traced: &TraceReplay, system: &System) -> Result<Self, Error> {
        let name = traced.files.join(", ");
        if let Issue::Outstanding { clients, .. } = traced.issue {
            let expected = "nothing, because requests are issued at their arrival times";
            let found = clients.to_string();
            return Err(Error::argument("outstanding", found, expected));
        }
        if let Fitting::Spread(disks) = traced.fitting {
            let expected = "refuse, scale or fold, as the requests are for one device";
            return Err(Error::argument("fit", format!("spread {disks}"), expected));
        }
        let mut rows = TraceRows::open(traced, system)?;
        let requests = rows.by_ref().map(|row| Some((row.arrival?, row.request)));
        let requests: Option<Vec<_>> = requests.collect();
        rows.finish()?;
        let Some(requests) = requests else {
            let expected = "a trace with the time of each arrival";
            return Err(Error::argument("trace", name, expected));
        };
        if rows.origins().len() > 1 {
            let expected = "a trace of one device; use `device` to choose one";
            return Err(Error::argument("trace", name, expected));
        }
        Ok(Self {
            warnings: rows.warnings(),
            changes: rows.changes(),
            requests,
        })
    }
}

/// Returns the successful reads and writes in a recording of `system`, in order of arrival, with
/// their responses. Fails if traces cannot express the sectors of `system`.
pub fn records(recording: &Recording, system: &System) -> Result<Vec<Record>, Error> {
    let blocks = BlockConverter::new(system.disk(), &system.name)?;
    let recorded = recording.requests().iter().zip(1..);
    let records = recorded.filter_map(|(one, row)| to_record(blocks, one, Location::Row(row)));
    Ok(records.collect())
}

/// Converts a request to a row of a trace, if it is a successful read or write.
pub fn to_record(
    blocks: BlockConverter,
    recorded: &RecordedRequest,
    location: Location,
) -> Option<Record> {
    let completion = recorded.completion?;
    let request = &recorded.request;
    if request.op == Op::Flush || !completion.status.is_success() {
        return None;
    }
    let (start, sectors) = blocks.touched(request);
    Some(Record {
        arrival: Some(recorded.arrived),
        device: request.unit.into(),
        response: Some(completion.response()),
        service: Some(completion.service()),
        ..Record::new(location, request.op, start, sectors)
    })
}
