//! Which requests of a trace, when, and at which blocks.

use diskarm_core::units::{Instant, SectorCount};
use diskarm_trace::TraceError;
use diskarm_trace::adapt::{DeviceFilter, Factor, Fit, Fitted, Notes, Paced, Window};

use crate::error::Error;
use crate::reading::STANDARD_INPUT;

/// Which requests, and when.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// The devices that are taken; none stand for all.
    pub devices: Vec<u32>,
    /// What arrives from this time on is taken, and times count from it.
    pub from: Option<Instant>,
    /// What arrives before this time is taken.
    pub until: Option<Instant>,
    /// What the times between requests are divided by.
    pub faster: Option<Factor>,
}

impl Part {
    /// The requests of the devices that are taken.
    pub fn devices(&self, trace: impl Notes + 'static) -> Box<dyn Notes> {
        if self.devices.is_empty() {
            return Box::new(trace);
        }
        Box::new(DeviceFilter::new(trace, self.devices.iter().copied()))
    }

    /// The requests of the time that is taken.
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

/// What becomes of blocks where the traced disk has more or fewer than the one that they are meant
/// for: [`Fit`] before the trace was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fitting {
    /// A request beyond the end ends the run.
    #[default]
    Refuse,
    /// Blocks keep their share of the disk, whose last block is that of the trace, which is read
    /// twice.
    Scale,
    /// Blocks beyond the end begin again at block 0.
    Fold,
    /// Blocks beyond the end go on at block 0 of the next of so many disks.
    Spread(u32),
}

impl Fitting {
    /// The requests of `taken`, which are those of `file`, on disks with `room`.
    ///
    /// # Errors
    /// Those of `taken`; for a scale also what is wrong with any record, and a file that can be
    /// read but once.
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

    /// How many disks a device is spread over.
    pub fn disks_a_device(self) -> u32 {
        match self {
            Self::Spread(disks) => disks,
            _ => 1,
        }
    }
}

/// How many blocks the traced disk had at least.
fn traced(
    file: &str,
    taken: impl Fn() -> Result<Box<dyn Notes>, TraceError>,
) -> Result<SectorCount, Error> {
    if file == STANDARD_INPUT {
        let expected = "a trace in a file, which is read twice";
        return Err(Error::argument("fit", "scale", expected));
    }
    let mut end = 1;
    for record in taken()? {
        end = end.max(record?.end().0);
    }
    Ok(SectorCount(end))
}
