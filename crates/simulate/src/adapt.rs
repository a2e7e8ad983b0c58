//! Which requests of a trace are used, when, and at which blocks.

use diskarm_core::units::{Instant, SectorCount};
use diskarm_trace::TraceError;
use diskarm_trace::adapt::{DeviceFilter, Disks, Factor, Fit, Fitted, Notes, Paced, Window};

use crate::error::Error;
use crate::reading::STANDARD_INPUT;
use crate::trace_rows::check_disk;

/// Which requests of a trace are used, and when they arrive.
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
    /// The requests of the selected devices.
    pub fn devices(&self, trace: impl Notes + 'static) -> Box<dyn Notes> {
        if self.devices.is_empty() {
            return Box::new(trace);
        }
        Box::new(DeviceFilter::new(trace, self.devices.iter().copied()))
    }

    /// The requests of the selected period.
    pub fn window(&self, trace: Box<dyn Notes>) -> Box<dyn Notes> {
        if self.from.is_none() && self.until.is_none() {
            return trace;
        }
        let from = self.from.unwrap_or(Instant::START);
        let until = self.until.unwrap_or(Instant::NEVER);
        Box::new(Window::new(trace, from, until))
    }

    /// The requests at the requested rate.
    pub fn pace(&self, trace: Box<dyn Notes>) -> Box<dyn Notes> {
        match self.faster {
            Some(factor) => Box::new(Paced::new(trace, factor)),
            None => trace,
        }
    }
}

/// How blocks are mapped if the traced disk and the target disk differ in size:
/// [`Fit`] before the trace is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fitting {
    /// A request beyond the end ends the run.
    #[default]
    Refuse,
    /// Blocks keep their relative position on the disk. The traced disk ends at the last block in
    /// the trace, which is read twice.
    Scale,
    /// Blocks beyond the end wrap around to block 0.
    Fold,
    /// Blocks beyond the end continue at block 0 of the next of this many disks.
    Spread(u32),
}

impl Fitting {
    /// The requests of `taken`, which come from `file`, mapped to disks with `room`.
    ///
    /// # Errors
    /// The errors of `taken`; for [`Self::Scale`] also an invalid record, and a file that can be
    /// read only once.
    pub fn fit(
        self,
        room: SectorCount,
        file: &str,
        taken: impl Fn() -> Result<Box<dyn Notes>, TraceError>,
    ) -> Result<Box<dyn Notes>, Error> {
        let fit = match self {
            Self::Refuse => Fit::Refuse,
            Self::Fold => Fit::Fold,
            Self::Spread(disks) => Fit::Spread(disks),
            Self::Scale => Fit::Scale(traced(file, &taken)?),
        };
        Ok(Box::new(Fitted::new(taken()?, room, fit)))
    }

    /// The number of disks over which a device is spread.
    pub fn disks_a_device(self) -> u32 {
        match self {
            Self::Spread(disks) => disks,
            _ => 1,
        }
    }
}

/// The smallest number of blocks that the traced disk can have had. Too many devices are refused
/// here already, before the rest of the trace is read for nothing.
fn traced(
    file: &str,
    taken: impl Fn() -> Result<Box<dyn Notes>, TraceError>,
) -> Result<SectorCount, Error> {
    if file == STANDARD_INPUT {
        let expected = "a trace in a file, which is read twice";
        return Err(Error::argument("fit", "scale", expected));
    }
    let mut end = 1;
    let mut disks = Disks::new(taken()?);
    while let Some(record) = disks.next() {
        let record = record?;
        check_disk(&record, disks.name(), disks.devices())?;
        end = end.max(record.end().0);
    }
    Ok(SectorCount(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of a trace of this many devices, 10 blocks each, followed by an invalid row.
    fn end_of(devices: u32) -> Result<SectorCount, String> {
        let rows = (0..devices).map(|n| format!("{n}.0 {n} 0 10 1\n"));
        let text: String = rows.chain(["x\n".to_owned()]).collect();
        let taken = || -> Result<Box<dyn Notes>, TraceError> {
            let input = std::io::Cursor::new(text.clone());
            Ok(Box::new(diskarm_trace::read(
                input,
                "many",
                Some("disksim"),
            )?))
        };
        traced("many", taken).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_pass_ends_at_the_device_that_is_one_too_many() {
        // As many as there may be: it continues to the invalid row.
        let error = end_of(4096).unwrap_err();
        assert!(error.starts_with("many:4097: found 1 field"), "{error}");
        let error = end_of(4097).unwrap_err();
        let expected = "many:4097: device: found \"4096\", expected at most 4096 devices";
        assert!(error.starts_with(expected), "{error}");
    }
}
