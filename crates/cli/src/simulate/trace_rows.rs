//! The rows of a trace as requests to one drive.

use std::path::Path;

use diskarm_core::request::Request;
use diskarm_trace::{Place, Reader, Record, TraceError};

use super::args::Args;
use crate::blocks::Blocks;
use crate::drive_arg::Chosen;
use crate::error::Error;

/// Streams a trace. It ends at the first row that is wrong; [`Self::finish`] tells.
pub struct TraceRows {
    reader: Reader,
    /// The device that `--device` chose, or that the first row is of.
    device: Device,
    blocks: Blocks,
    /// Read to learn of what kind the trace is, not handed out yet.
    first: Option<(Record, Request)>,
    next_id: u64,
    failure: Option<Error>,
}

#[derive(Clone, Copy)]
enum Device {
    /// Others are left out.
    Chosen(u32),
    /// Others are an error.
    Only(u32),
    /// The next row tells.
    Unknown,
}

impl TraceRows {
    /// Opens the trace at `path`, to be replayed on the drive `chosen`.
    ///
    /// # Errors
    /// What the reader finds wrong up to the first row for the drive; no such row.
    pub fn open(args: &Args, path: &Path, chosen: &Chosen) -> Result<Self, Error> {
        let mut rows = Self {
            reader: diskarm_trace::open(path, args.format.as_deref())?,
            device: args.device.map_or(Device::Unknown, Device::Chosen),
            blocks: Blocks::of(chosen)?,
            first: None,
            next_id: 0,
            failure: None,
        };
        rows.first = rows.next();
        if rows.first.is_some() {
            return Ok(rows);
        }
        rows.finish()?;
        let found = args.device.map_or_else(String::new, |n| n.to_string());
        let expected = format!("a device with requests in {}", rows.name());
        Err(Error::flag("--device", found, expected))
    }

    /// Whether its rows say when they arrived.
    pub fn has_arrivals(&self) -> bool {
        let first = self.first.as_ref();
        first.is_some_and(|(record, _)| record.arrival.is_some())
    }

    /// The file, as typed.
    pub fn name(&self) -> &str {
        self.reader.name()
    }

    /// How many requests it has handed out.
    pub fn requests_count(&self) -> u64 {
        self.next_id
    }

    /// The format's name.
    pub fn format(&self) -> &'static str {
        self.reader.format().name
    }

    /// The number of the device that is replayed.
    pub fn device(&self) -> Option<u32> {
        match self.device {
            Device::Chosen(n) | Device::Only(n) => Some(n),
            Device::Unknown => None,
        }
    }

    /// Whether the rows ended where the trace does.
    ///
    /// # Errors
    /// What was wrong with the row at which they ended, if it was that.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// The next row for the drive.
    fn read(&mut self) -> Result<Option<(Record, Request)>, Error> {
        while let Some(record) = self.reader.next() {
            let record = record?;
            match self.device {
                Device::Unknown => self.device = Device::Only(record.device),
                Device::Chosen(n) if n != record.device => continue,
                Device::Only(n) if n != record.device => {
                    let expected = format!("{n} as before, or --device to choose one");
                    let found = record.device.to_string();
                    return Err(self.wrong(record.place, "device", &found, &expected));
                }
                Device::Chosen(_) | Device::Only(_) => {}
            }
            return self.request(&record).map(|request| Some((record, request)));
        }
        Ok(None)
    }

    fn request(&mut self, record: &Record) -> Result<Request, Error> {
        let request = self.blocks.request(record, self.next_id, self.name())?;
        self.next_id += 1;
        Ok(request)
    }

    fn wrong(&self, place: Place, field: &str, found: &str, expected: &str) -> Error {
        TraceError::value(self.name(), place, field, found, expected).into()
    }
}

impl Iterator for TraceRows {
    type Item = (Record, Request);

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        if self.failure.is_some() {
            return None;
        }
        match self.read() {
            Ok(row) => row,
            Err(error) => {
                self.failure = Some(error);
                None
            }
        }
    }
}
