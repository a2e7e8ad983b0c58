//! What the flags behind `--random` mean.

use diskarm_core::request::Request;
use diskarm_core::spec::quantity;
use diskarm_core::units::{Bytes, SectorCount, Span};
use diskarm_core::workload::Random;

use super::args::Args;
use crate::drive_arg::Chosen;
use crate::error::Error;

/// Keeps the drives of the classic studies busy but far from saturated: hp-c2247 for 70 % of the
/// time under FCFS.
const INTERARRIVAL: Span = Span::from_ns(31_200_000);

/// Requests of a run, unless told otherwise.
const REQUESTS: u64 = 100_000;

/// Size of a request, unless told otherwise.
const SIZE: &str = "8 KiB";

/// The longest run that its clock is trusted with: 146 years.
const LONGEST_NS: i128 = 1 << 62;

/// Random requests and when they come.
pub struct Synthetic {
    pub requests: u64,
    pub what: Random,
    pub arrivals: Arrivals,
}

/// When random requests come.
#[derive(Clone, Copy)]
pub enum Arrivals {
    /// Whatever the drive does.
    Poisson { mean: Span },
    /// When earlier ones are completed.
    Closed { outstanding: usize, think: Span },
}

impl Synthetic {
    /// What `args` ask for, on the drive `chosen`.
    ///
    /// # Errors
    /// A size that the drive has no room for; a warm-up or a run that is too long.
    pub fn new(args: &Args, chosen: &Chosen) -> Result<Self, Error> {
        let arrivals = match args.outstanding {
            Some(outstanding) => Arrivals::Closed {
                outstanding: outstanding as usize,
                think: args.think.unwrap_or_default(),
            },
            None => Arrivals::Poisson {
                mean: args.interarrival.or(args.rate).unwrap_or(INTERARRIVAL),
            },
        };
        let (Arrivals::Poisson { mean: pause } | Arrivals::Closed { think: pause, .. }) = arrivals;
        let requests = args.requests.unwrap_or(REQUESTS);
        if i128::from(requests) * i128::from(pause.as_ns()) > LONGEST_NS {
            let expected = format!("a run of less than 146 years at {pause} a request");
            return Err(Error::flag("--requests", requests.to_string(), expected));
        }
        if args.warmup >= requests {
            let default = if args.requests.is_none() {
                " (the default)"
            } else {
                ""
            };
            let expected = format!("less than the {requests} of --requests{default}");
            return Err(Error::flag("--warmup", args.warmup.to_string(), expected));
        }
        Ok(Self {
            requests,
            what: Random {
                sectors: size(args, chosen)?,
                read_fraction: args.reads.unwrap_or(2.0 / 3.0),
                disk: chosen.layout.sectors(),
            },
            arrivals,
        })
    }
}

fn size(args: &Args, chosen: &Chosen) -> Result<SectorCount, Error> {
    let most = chosen.layout.sectors().0.min(Request::MOST_SECTORS.0);
    let sector = Bytes(u64::from(chosen.spec.geometry.sector_bytes));
    let (flag, text) = match &args.size {
        Some(typed) => ("--size", typed.as_str()),
        None => ("--size (the default)", SIZE),
    };
    let size = quantity::sectors(text, sector);
    size.filter(|size| (1..=most).contains(&size.0))
        .ok_or_else(|| {
            let expected = format!(
                "1 to {most} sectors of {} bytes, with a unit, such as \"8 KiB\"",
                sector.0
            );
            Error::flag(flag, text, expected)
        })
}
