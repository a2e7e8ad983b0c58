//! Which requests of a trace, when, and at which blocks.

use clap::ValueEnum;
use diskarm_core::text::quantity;
use diskarm_core::units::{Bytes, Instant, SectorCount};
use diskarm_trace::TraceError;
use diskarm_trace::adapt::{Disks, Factor, Notes, parse_instant};

use super::input::Input;
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
        let part = self.part.meant();
        let taken = || -> Result<Box<dyn Notes>, TraceError> {
            let devices = part.devices(input.open()?);
            let taken = part.pace(part.window(devices));
            Ok(if self.renumber {
                Box::new(Disks::new(taken))
            } else {
                taken
            })
        };
        match (self.room, self.fitting.meant()) {
            (Some(room), fitting) => Ok(fitting.fit(room, input.file(), taken)?),
            (None, diskarm_simulate::Fitting::Refuse) => Ok(taken()?),
            (None, _) => Err(Error::flag("--room", "", "the size of the disk, for --fit")),
        }
    }
}

impl Part {
    /// What was asked for.
    pub fn meant(&self) -> diskarm_simulate::Part {
        diskarm_simulate::Part {
            devices: self.device.clone(),
            from: self.from,
            until: self.until,
            faster: self.faster,
        }
    }
}

impl Fitting {
    /// What was asked for.
    pub fn meant(&self) -> diskarm_simulate::Fitting {
        use diskarm_simulate::Fitting as Meant;
        match self.fit {
            How::Refuse => Meant::Refuse,
            How::Scale => Meant::Scale,
            How::Fold => Meant::Fold,
            // Clap sees to it that the number is given.
            How::Spread => Meant::Spread(self.disks.unwrap_or(1)),
        }
    }
}
