//! Which requests of a trace are used, when, and at which blocks.

use clap::ValueEnum;
use diskarm_core::text::quantity;
use diskarm_core::units::{Bytes, Instant, SectorCount};
use diskarm_trace::TraceError;
use diskarm_trace::adapt::{Disks, Factor, Notes, parse_instant};

use super::input::Input;
use crate::error::Error;

/// Changes to a trace before it is written.
#[derive(clap::Args)]
pub struct Adapt {
    #[command(flatten)]
    part: Part,

    /// Renumber the devices from 0, in order of first appearance
    #[arg(long)]
    renumber: bool,

    /// Size of the target disk, in sectors of 512 bytes, KiB, MiB or GiB
    #[arg(long, alias = "room", value_name = "SIZE", value_parser = size)]
    target_size: Option<SectorCount>,

    #[command(flatten)]
    fitting: Fitting,
}

/// Which requests are used, and when they arrive.
#[derive(clap::Args)]
pub struct Part {
    /// Keep only the requests of this device; list several as 0,2 or repeat the flag
    #[arg(long, value_name = "N", value_delimiter = ',')]
    device: Vec<u32>,

    /// Keep requests that arrive at or after this time (ns, us, ms, s, min or h), which becomes 0
    #[arg(long, value_name = "TIME", value_parser = instant, allow_hyphen_values = true)]
    from: Option<Instant>,

    /// Keep requests that arrive before this time
    #[arg(long, value_name = "TIME", value_parser = instant, allow_hyphen_values = true)]
    until: Option<Instant>,

    /// Divide the times between requests by FACTOR: 2 doubles the rate, 0.5 halves it
    #[arg(long, value_name = "FACTOR", value_parser = factor, allow_hyphen_values = true)]
    faster: Option<Factor>,
}

/// How their blocks are mapped.
#[derive(clap::Args)]
pub struct Fitting {
    /// How to map blocks if the traced disk and the target disk differ in size
    #[arg(long, value_name = "HOW", value_enum, default_value_t = How::Refuse)]
    fit: How,

    /// Number of disks over which --fit spread distributes each device
    #[arg(long, value_name = "N", required_if_eq("fit", "spread"))]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    disks: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum How {
    /// A request beyond the end ends the run
    Refuse,
    /// Scale block numbers so that the last block of the trace is the last of the disk (reads the
    /// trace twice)
    Scale,
    /// Blocks beyond the end wrap around to block 0
    Fold,
    /// Blocks beyond the end continue at block 0 of the next of --disks disks
    Spread,
}

fn instant(text: &str) -> Result<Instant, &'static str> {
    parse_instant(text).ok_or("expected a time with its unit, such as \"90 s\" or \"1.5 h\"")
}

fn factor(text: &str) -> Result<Factor, &'static str> {
    Factor::parse(text).ok_or("expected a number above 0 with at most nine decimals, such as 1.5")
}

fn size(text: &str) -> Result<SectorCount, &'static str> {
    const BLOCK: Bytes = Bytes(512);
    let size = quantity::sectors(text, BLOCK).filter(|size| size.0 > 0);
    size.ok_or("expected a size with its unit, such as \"2054864 sectors\" or \"1 GiB\"")
}

impl Adapt {
    /// The trace of `input` with the requested changes.
    ///
    /// # Errors
    /// An invalid trace up to its first record, or anywhere for `scale`; a fit without the
    /// size of the disk.
    pub fn open(&self, input: &Input) -> Result<Box<dyn Notes>, Error> {
        let part = self.part.meant()?;
        let taken = || -> Result<Box<dyn Notes>, TraceError> {
            let devices = part.devices(input.open()?);
            let taken = part.pace(part.window(devices));
            Ok(if self.renumber {
                Box::new(Disks::new(taken))
            } else {
                taken
            })
        };
        match (self.target_size, self.fitting.meant()?) {
            (Some(size), fitting) => Ok(fitting.fit(size, input.file(), taken)?),
            (None, diskarm_simulate::Fitting::Refuse) => Ok(taken()?),
            (None, _) => Err(Error::flag(
                "--target-size",
                "",
                "the size of the disk, for --fit",
            )),
        }
    }
}

impl Part {
    /// # Errors
    /// If its interval ends before it begins.
    pub fn meant(&self) -> Result<diskarm_simulate::TraceSelection, Error> {
        if let (Some(from), Some(until)) = (self.from, self.until)
            && until <= from
        {
            let expected = format!("a time after that of --from, {} s", from.as_s());
            return Err(Error::flag(
                "--until",
                format!("{} s", until.as_s()),
                expected,
            ));
        }
        Ok(diskarm_simulate::TraceSelection {
            devices: self.device.clone(),
            from: self.from,
            until: self.until,
            faster: self.faster,
        })
    }
}

impl Fitting {
    /// # Errors
    /// If it has a number of disks that the fit does not use.
    pub fn meant(&self) -> Result<diskarm_simulate::Fitting, Error> {
        use diskarm_simulate::Fitting as Meant;
        if let (Some(disks), false) = (self.disks, self.fit == How::Spread) {
            let expected = "--fit spread with it, or no --disks";
            return Err(Error::flag("--disks", disks.to_string(), expected));
        }
        Ok(match self.fit {
            How::Refuse => Meant::Refuse,
            How::Scale => Meant::Scale,
            How::Fold => Meant::Fold,
            // Clap ensures that the number is given.
            How::Spread => Meant::Spread(self.disks.unwrap_or(1)),
        })
    }
}
