//! The rows of traces as requests to disks side by side.

use diskarm_core::request::{Op, Request};
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};
use diskarm_trace::adapt::{ClosedLoop, Disks, Merged, Notes};
use diskarm_trace::{Location, Reader, Record, TraceError};

use crate::blocks::Blocks;
use crate::error::Error;
use crate::input::{Issue, Traced};
use crate::model::Model;
use crate::run::TracedFile;

/// Streams traces, each device on its own disk. It ends at the first invalid row, which
/// [`Self::finish`] reports.
pub struct TraceRows {
    trace: Disks<Box<dyn Notes>>,
    files: Vec<String>,
    /// The number of disks over which each device is spread.
    disks_a_device: u32,
    blocks: Blocks,
    /// The record read last.
    record: Record,
    /// Read to determine the kind of trace; not yet returned.
    first: Option<Row>,
    next_id: u64,
    /// How many were widened to whole sectors.
    widened: u64,
    failure: Option<Error>,
}

/// A row of a trace as a request.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub request: Request,
    pub arrival: Option<Instant>,
    pub think: Option<Span>,
}

/// What a disk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The trace, by its position on the command line, from 0.
    pub trace: u32,
    /// The number of the device in the trace.
    pub device: u32,
    /// Which disk, if the device is spread over several.
    pub part: u32,
}

/// More disks than this are refused: the trace has something else in the device column.
pub const MAX_DISKS: u16 = 4096;

impl TraceRows {
    /// Opens the traces of `traced` for replay on drives like `model`.
    ///
    /// # Errors
    /// An error in the traces up to the first row for a drive; no such row.
    pub fn open(traced: &Traced, model: &Model) -> Result<Self, Error> {
        let blocks = Blocks::of(model)?;
        let mut rows = Self {
            trace: Disks::new(changed(traced, blocks.room())?),
            files: traced.files.clone(),
            disks_a_device: traced.fitting.disks_a_device(),
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
        Err(match &traced.selection.devices[..] {
            [] => Error::argument(
                "trace",
                name,
                "a trace with requests from `from` to `until`",
            ),
            [first, ..] => {
                let expected = format!("a device with requests in {name}");
                Error::argument("device", first.to_string(), expected)
            }
        })
    }

    /// Whether its rows have arrival times.
    pub fn has_arrivals(&self) -> bool {
        self.first.is_some_and(|row| row.arrival.is_some())
    }

    /// The files and their formats.
    pub fn files(&self) -> Vec<TracedFile> {
        let files = self.files.iter().cloned().zip(self.trace.readers());
        let file = |(file, reader): (String, &Reader)| TracedFile {
            file,
            format: reader.format().name,
        };
        files.map(file).collect()
    }

    /// The number of requests returned so far.
    pub fn requests_count(&self) -> u64 {
        self.next_id
    }

    /// What each disk holds, for the disks seen so far.
    pub fn origins(&self) -> Vec<Origin> {
        let traces = self.files.len() as u32;
        let origin = |number: &u32| Origin {
            trace: number % traces,
            device: number / traces / self.disks_a_device,
            part: number / traces % self.disks_a_device,
        };
        self.trace.devices().iter().map(origin).collect()
    }

    /// Doubts about the traces, one line each.
    pub fn doubts(&self) -> Vec<String> {
        let readers = self.trace.readers().into_iter();
        let notes = readers.flat_map(|reader| {
            let notes = reader.notes().into_iter();
            notes.map(|note| format!("{}: {note}", reader.name()))
        });
        let widened = (self.widened > 0).then(|| self.blocks.widened(self.widened));
        notes.chain(widened).collect()
    }

    /// Requested changes, one line each.
    pub fn changes(&self) -> Vec<String> {
        // Without the note on the disks, which have their own figures.
        self.trace.inner().changes()
    }

    /// Checks that the rows ended with the trace.
    ///
    /// # Errors
    /// The error in the row at which they ended, if there was one.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// The row of the record read last.
    #[inline]
    fn row(&mut self) -> Result<Row, Error> {
        let (record, name) = (&self.record, self.trace.name());
        check_disk(record, name, self.trace.devices())?;
        let mut request = self.blocks.request(record, self.next_id, name)?;
        self.next_id += 1;
        self.widened += u64::from(self.blocks.widens(record));
        request.unit = record.device as u16;
        Ok(Row {
            request,
            arrival: record.arrival,
            think: record.think,
        })
    }
}

/// Checks the number of the disk of `record`; `devices` are those of all disks so far.
///
/// # Errors
/// If it is one disk too many.
#[inline]
pub(crate) fn check_disk(record: &Record, name: &str, devices: &[u32]) -> Result<(), Error> {
    match record.device < u32::from(MAX_DISKS) {
        true => Ok(()),
        false => Err(too_many(record, name, devices)),
    }
}

/// The last of `devices` is one too many.
#[cold]
fn too_many(record: &Record, name: &str, devices: &[u32]) -> Error {
    let expected = format!("at most {MAX_DISKS} devices, or `device` to choose");
    let found = devices.last().map_or_else(String::new, u32::to_string);
    TraceError::value(name, record.location, "device", &found, &expected).into()
}

/// The requests of `traced` with all requested changes, on disks with `room` blocks.
fn changed(traced: &Traced, room: SectorCount) -> Result<Box<dyn Notes>, Error> {
    let fitted = |file: &String| {
        let taken = || -> Result<Box<dyn Notes>, TraceError> {
            Ok(traced.selection.devices(traced.reading.open(file)?))
        };
        traced.fitting.fit(room, file, taken)
    };
    let traces = traced.files.iter().map(fitted);
    let mut traces = traces.collect::<Result<Vec<_>, Error>>()?;
    let merged: Box<dyn Notes> = match traces.pop() {
        Some(only) if traces.is_empty() => only,
        last => Box::new(Merged::new(traces.into_iter().chain(last))),
    };
    let taken = traced.selection.window(merged);
    Ok(traced.selection.pace(match traced.issue {
        Issue::Pauses => Box::new(ClosedLoop::new(taken)),
        Issue::Traced | Issue::Outstanding { .. } => taken,
    }))
}

impl Iterator for TraceRows {
    type Item = Row;

    #[inline]
    fn next(&mut self) -> Option<Row> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        if self.failure.is_some() {
            return None;
        }
        let read = self.trace.read(&mut self.record)?.map_err(Error::from);
        let row = read.and_then(|()| self.row());
        row.map_err(|error| self.failure = Some(error)).ok()
    }
}
