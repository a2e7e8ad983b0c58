//! The requests of a simulation: generated, or read from traces.

use diskarm_core::units::{Instant, SectorCount, Span};
use diskarm_core::workload::{Arrivals, Workload, replication_seeds};
use diskarm_trace::adapt::{DeviceFilter, Disks, Factor, Fit, Fitter, Notes, Pacer, Window};
use diskarm_trace::{ArrivalEvent, OnError, Options, Reader, Record, TraceError};

use crate::error::Error;

/// Default number of requests of a run.
pub const REQUESTS: u64 = 100_000;

/// The requests of a simulation.
#[derive(Clone, Debug)]
pub enum Input {
    /// Requests that a workload generates.
    Generated(GeneratedRequests),
    /// Requests that are read from traces.
    Traced(TraceReplay),
}

/// Requests that a workload generates.
#[derive(Clone, Debug)]
pub struct GeneratedRequests {
    /// The workload that generates them.
    pub workload: Workload,
    /// The number of requests, including the warm-up; [`REQUESTS`] by default.
    pub requests: Option<u64>,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The number of replications, each with its own seed; by default one run, with `seed`.
    pub replications: Option<u64>,
}

impl GeneratedRequests {
    /// Generates the requests of `workload` for one run, with seed 1.
    pub fn new(workload: Workload) -> Self {
        Self {
            workload,
            requests: None,
            seed: 1,
            replications: None,
        }
    }

    /// Returns the number of requests in a run.
    pub fn requests_count(&self) -> u64 {
        self.requests.unwrap_or(REQUESTS)
    }

    /// Returns the seeds of its runs.
    pub fn seeds(&self) -> Vec<u64> {
        let count = self.replications.unwrap_or(1);
        replication_seeds(self.seed).take(count as usize).collect()
    }

    /// Returns true if requests arrive regardless of completions and can thus saturate the drive.
    pub fn is_open(&self) -> bool {
        let mut streams = self.workload.streams.iter();
        streams.any(|stream| matches!(stream.arrivals, Arrivals::Open(_)))
    }

    /// Checks that the run is not too long for the clock, and does not end within the warm-up.
    pub(crate) fn check(&self, warm_up: u64) -> Result<(), Error> {
        let requests = self.requests_count();
        let streams = self.workload.streams.iter();
        let pauses = streams.map(|stream| stream.arrivals.mean_pause());
        let pause = pauses.min().unwrap_or_default();
        let all = i128::from(requests) * i128::from(self.replications.unwrap_or(1));
        if all.saturating_mul(pause.as_ns().into()) >= i128::from(Instant::LIMIT.as_ns()) {
            let several = self.replications;
            let over = several.map_or("", |_| ", over all replications");
            let expected = format!("less than 146 years of requests at {pause} each{over}");
            return Err(Error::argument("requests", requests.to_string(), expected));
        }
        if warm_up >= requests {
            let kind = self.requests.map_or("default", |_| "value");
            let expected = format!("less than {requests}, the {kind} of `requests`");
            return Err(Error::argument("warm_up", warm_up.to_string(), expected));
        }
        Ok(())
    }
}

/// Requests from traces, with a drive for each device of each trace.
#[derive(Clone, Debug)]
pub struct TraceReplay {
    /// The traces; several are merged.
    pub files: Vec<String>,
    /// The options for reading them.
    pub reading: ReadOptions,
    /// The selection of requests, and their pace.
    pub selection: TraceSelection,
    /// The mapping of their blocks to the drive.
    pub fitting: Fitting,
    /// The times at which they are issued.
    pub issue: Issue,
    /// The seed of all random numbers in a stack of devices.
    pub seed: u64,
}

impl TraceReplay {
    /// Replays the requests of `files`, unchanged, at their arrival times, with seed 1.
    pub fn new(files: Vec<String>) -> Self {
        Self {
            files,
            reading: ReadOptions::default(),
            selection: TraceSelection::default(),
            fitting: Fitting::default(),
            issue: Issue::default(),
            seed: 1,
        }
    }
}

/// The times at which the requests of a trace are issued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Issue {
    /// At their arrival times; like [`Self::Pauses`] if the trace has no arrival times.
    #[default]
    Traced,
    /// One at a time, with the measured pauses between each completion and the next arrival.
    Pauses,
    /// A fixed number at a time, regardless of the times in the trace.
    Outstanding {
        /// The number of clients. Each issues its next request when its previous one is complete.
        clients: u32,
        /// The pause before a client issues its next request.
        think: Span,
    },
}

/// The file name that means standard input.
pub const STANDARD_INPUT: &str = "-";

/// Options for reading a trace.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The format of the trace; `None` to detect it from the content.
    pub format: Option<String>,
    /// The reaction to an invalid row.
    pub on_error: OnError,
    /// The event that counts as the arrival in a trace of Linux's block layer.
    pub arrival: ArrivalEvent,
}

impl ReadOptions {
    /// Opens the trace in `file`. Fails on an error before the first record.
    pub fn open(&self, file: &str) -> Result<Reader, TraceError> {
        let options = Options {
            format: self.format.as_deref(),
            on_error: self.on_error,
            arrival: self.arrival,
        };
        if file == STANDARD_INPUT {
            return diskarm_trace::read_with(std::io::stdin(), "standard input", &options);
        }
        diskarm_trace::open_with(file, &options)
    }
}

/// A selection of the requests of a trace, and their pace.
#[derive(Clone, Debug, Default)]
pub struct TraceSelection {
    /// The devices to keep; if empty, all of them.
    pub devices: Vec<u32>,
    /// Keeps requests that arrive at or after this time, which becomes time 0.
    pub from: Option<Instant>,
    /// Keeps requests that arrive before this time.
    pub until: Option<Instant>,
    /// Divides the times between requests.
    pub faster: Option<Factor>,
}

impl TraceSelection {
    /// Keeps the requests of the selected devices.
    pub fn devices(&self, trace: impl Notes + 'static) -> Box<dyn Notes> {
        if self.devices.is_empty() {
            return Box::new(trace);
        }
        Box::new(DeviceFilter::new(trace, self.devices.iter().copied()))
    }

    /// Keeps the requests of the selected period.
    pub fn window(&self, trace: Box<dyn Notes>) -> Box<dyn Notes> {
        if self.from.is_none() && self.until.is_none() {
            return trace;
        }
        let from = self.from.unwrap_or(Instant::START);
        let until = self.until.unwrap_or(Instant::NEVER);
        Box::new(Window::new(trace, from, until))
    }

    /// Scales the times between requests.
    pub fn pace(&self, trace: Box<dyn Notes>) -> Box<dyn Notes> {
        match self.faster {
            Some(factor) => Box::new(Pacer::new(trace, factor)),
            None => trace,
        }
    }
}

/// The mapping of blocks from a traced disk to a target disk of another size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fitting {
    /// A request beyond the end of the target disk is an error.
    #[default]
    Refuse,
    /// Block numbers are scaled as if the traced disk ended at the last block used.
    Scale,
    /// Blocks beyond the end wrap around to block 0.
    Fold,
    /// Blocks beyond the end continue at block 0 of the next disk; there are this many disks.
    Spread(u32),
}

impl Fitting {
    /// Maps the requests of `file`, which `read` opens, to disks with `room` blocks. Fails if
    /// `read` fails; with [`Self::Scale`], also if a record is invalid or the file can be read only
    /// once.
    pub fn fit(
        self,
        room: SectorCount,
        file: &str,
        read: impl Fn() -> Result<Box<dyn Notes>, TraceError>,
    ) -> Result<Box<dyn Notes>, Error> {
        let fit = match self {
            Self::Refuse => Fit::Refuse,
            Self::Fold => Fit::Fold,
            Self::Spread(disks) => Fit::Spread(disks),
            Self::Scale => Fit::Scale(traced_size(file, &read)?),
        };
        Ok(Box::new(Fitter::new(read()?, room, fit)))
    }

    /// Returns the number of disks over which each device is spread.
    pub fn disks_per_device(self) -> u32 {
        match self {
            Self::Spread(disks) => disks,
            _ => 1,
        }
    }
}

/// Returns the minimum number of blocks of the traced disk. Fails at the first device beyond the
/// maximum number, without reading the rest of the trace.
fn traced_size(
    file: &str,
    read: impl Fn() -> Result<Box<dyn Notes>, TraceError>,
) -> Result<SectorCount, Error> {
    if file == STANDARD_INPUT {
        let expected = "a trace in a file, because scaling reads the trace twice";
        return Err(Error::argument("fit", "scale", expected));
    }
    let mut end = 1;
    let mut disks = Disks::new(read()?);
    while let Some(record) = disks.next() {
        let record = record?;
        check_disk(&record, MAX_DISKS, disks.name(), disks.devices())?;
        end = end.max(record.end().0);
    }
    Ok(SectorCount(end))
}

/// The maximum number of disks in a simulation. If a trace has more, its device column probably
/// means something else.
pub const MAX_DISKS: u16 = 4096;

/// Checks the disk number of `record`, one of at most `max`; `devices` are the devices of all disks
/// so far.
#[inline]
pub(crate) fn check_disk(
    record: &Record,
    max: u16,
    name: &str,
    devices: &[u32],
) -> Result<(), Error> {
    if record.device < u32::from(max) {
        Ok(())
    } else {
        Err(too_many_devices(record, max, name, devices))
    }
}

#[cold]
fn too_many_devices(record: &Record, max: u16, name: &str, devices: &[u32]) -> Error {
    let expected = format!("at most {max} devices; use `device` to choose some");
    let found = devices.last().map_or_else(String::new, u32::to_string);
    TraceError::value(name, record.location, "device", &found, &expected).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a trace of `devices` devices with 10 blocks each, followed by an invalid row.
    fn traced_end(devices: u32) -> Result<SectorCount, String> {
        let rows = (0..devices).map(|n| format!("{n}.0 {n} 0 10 1\n"));
        let text: String = rows.chain(["x\n".to_owned()]).collect();
        let read = || -> Result<Box<dyn Notes>, TraceError> {
            let input = std::io::Cursor::new(text.clone());
            let reader = diskarm_trace::read(input, "many", Some("disksim"))?;
            Ok(Box::new(reader))
        };
        traced_size("many", read).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_pass_ends_when_there_are_too_many_devices() {
        // With the maximum number, it continues to the invalid row.
        let error = traced_end(4096).unwrap_err();
        assert!(error.starts_with("many:4097: found 1 field"), "{error}");
        let error = traced_end(4097).unwrap_err();
        let expected = "many:4097: device: found \"4096\", expected at most 4096 devices";
        assert!(error.starts_with(expected), "{error}");
    }
}
