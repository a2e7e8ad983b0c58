//! Which requests of a trace, when, and at which blocks.

use clap::ValueEnum;
use diskarm_core::text::quantity;
use diskarm_core::units::{Bytes, Instant, SectorCount};
use diskarm_trace::adapt::{Disks, Factor, Fit, Fitted, Notes, Only, Paced, Window, parse_instant};

use super::input::{Input, STANDARD_INPUT};
use crate::error::Error;

/// What is changed between the trace and what is written.
#[derive(clap::Args)]
pub struct Adapt {
    #[command(flatten)]
    part: Part,

    /// Number the devices from 0 on, in the order of first appearance
    #[arg(long)]
    renumber: bool,

    /// Room of the disk for which the requests are meant, in sectors of 512 bytes, KiB, MiB or GiB
    #[arg(long, value_name = "SIZE", value_parser = room)]
    room: Option<SectorCount>,

    #[command(flatten)]
    fitting: Fitting,
}

/// Which requests, and when.
#[derive(clap::Args)]
pub struct Part {
    /// Take this device's requests only; several as 0,2 or each with a flag of its own
    #[arg(long, value_name = "N", value_delimiter = ',')]
    device: Vec<u32>,

    /// Take what arrives from this time on, in ns, us, ms, s, min or h, and count from it
    #[arg(long, value_name = "TIME", value_parser = instant, allow_hyphen_values = true)]
    from: Option<Instant>,

    /// Take what arrives before this time
    #[arg(long, value_name = "TIME", value_parser = instant, allow_hyphen_values = true)]
    until: Option<Instant>,

    /// Divide the times between requests by this: 2 is twice the rate, 0.5 half of it
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    faster: Option<Factor>,
}

/// At which blocks.
#[derive(clap::Args)]
pub struct Fitting {
    /// What becomes of blocks where the traced disk has more or fewer than the one that they are
    /// meant for
    #[arg(long, value_name = "HOW", value_enum, default_value_t = How::Refuse)]
    fit: How,

    /// Over how many disks --fit spread lays the blocks of each device
    #[arg(long, value_name = "N", required_if_eq("fit", "spread"))]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    disks: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum How {
    /// A request beyond the end ends the run
    Refuse,
    /// Blocks keep their share of the disk, whose last block is that of the trace (which is read
    /// twice)
    Scale,
    /// Blocks beyond the end begin again at block 0
    Fold,
    /// Blocks beyond the end go on at block 0 of the next of --disks
    Spread,
}

fn instant(text: &str) -> Result<Instant, &'static str> {
    parse_instant(text).ok_or("expected a time with its unit, such as \"90 s\" or \"1.5 h\"")
}

fn factor(text: &str) -> Result<Factor, &'static str> {
    Factor::parse(text).ok_or("expected a number above 0 with at most nine decimals, such as 1.5")
}

fn room(text: &str) -> Result<SectorCount, &'static str> {
    const BLOCK: Bytes = Bytes(512);
    let room = quantity::sectors(text, BLOCK).filter(|room| room.0 > 0);
    room.ok_or("expected a size with its unit, such as \"2054864 sectors\" or \"1 GiB\"")
}

impl Adapt {
    /// The trace of `input` with all that was asked for.
    ///
    /// # Errors
    /// What is wrong with the trace before its first record, or for a scale anywhere; a way to fit
    /// without a room.
    pub fn open(&self, input: &Input) -> Result<Box<dyn Notes>, Error> {
        let taken = || -> Result<Box<dyn Notes>, Error> {
            let devices = self.part.devices(input.open()?);
            let taken = self.part.pace(self.part.window(devices));
            Ok(if self.renumber {
                Box::new(Disks::new(taken))
            } else {
                taken
            })
        };
        self.fitting.fit(self.room, input.file(), taken)
    }
}

impl Part {
    /// The requests of the devices that are taken.
    pub fn devices(&self, trace: impl Notes + 'static) -> Box<dyn Notes> {
        if self.device.is_empty() {
            return Box::new(trace);
        }
        Box::new(Only::new(trace, self.device.iter().copied()))
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

    /// The requests at the rate that is asked for.
    pub fn pace(&self, trace: Box<dyn Notes>) -> Box<dyn Notes> {
        match self.faster {
            Some(factor) => Box::new(Paced::new(trace, factor)),
            None => trace,
        }
    }

    /// The devices that are taken; none stand for all.
    pub fn chosen(&self) -> &[u32] {
        &self.device
    }
}

impl Fitting {
    /// The requests of `taken`, which are those of `file`, on disks with `room`.
    ///
    /// # Errors
    /// Those of `taken`; a way to fit without a room; for a scale also what is wrong with any
    /// record, and a file that can be read but once.
    pub fn fit(
        &self,
        room: Option<SectorCount>,
        file: &str,
        taken: impl Fn() -> Result<Box<dyn Notes>, Error>,
    ) -> Result<Box<dyn Notes>, Error> {
        let fit = match (self.fit, self.disks) {
            (How::Refuse, _) => Fit::Refuse,
            (How::Fold, _) => Fit::Fold,
            (How::Spread, disks) => Fit::Spread(disks.unwrap_or(1)),
            (How::Scale, _) => Fit::Scale(traced(file, &taken)?),
        };
        match room {
            Some(room) => Ok(Box::new(Fitted::new(taken()?, room, fit))),
            None if fit == Fit::Refuse => taken(),
            None => Err(Error::flag("--room", "", "the size of the disk, for --fit")),
        }
    }

    /// How many disks a device is spread over.
    pub fn disks_a_device(&self) -> u32 {
        match self.fit {
            How::Spread => self.disks.unwrap_or(1),
            _ => 1,
        }
    }
}

/// How many blocks the traced disk had at least.
fn traced(
    file: &str,
    taken: impl Fn() -> Result<Box<dyn Notes>, Error>,
) -> Result<SectorCount, Error> {
    if file == STANDARD_INPUT {
        let expected = "a trace in a file, which is read twice";
        return Err(Error::flag("--fit", "scale", expected));
    }
    let mut end = 1;
    for record in taken()? {
        end = end.max(record?.end().0);
    }
    Ok(SectorCount(end))
}
