//! What `--workload`, and the flags behind `--random`, mean.

use std::path::Path;

use diskarm_core::text::quantity;
use diskarm_core::units::{Bytes, SectorCount, Span};
use diskarm_core::workload::arrivals::{Closed, Deterministic, Poisson};
use diskarm_core::workload::{Arrivals, Disk, Pauses, Sizes, Stream, Workload, sizes};

use super::args::Setting;
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

/// Requests that are drawn, not traced.
pub struct Synthetic {
    pub requests: u64,
    pub workload: Workload,
    pub disk: Disk,
    pub told: Told,
}

/// How a workload was asked for.
pub enum Told {
    /// By the flags behind `--random`.
    Flags {
        sectors: SectorCount,
        read_share: f64,
        arrivals: FlagArrivals,
    },
    /// As the text of `--workload`.
    Text(String),
    /// In the file of this name.
    File(String),
}

/// When requests come that the flags ask for.
#[derive(Clone, Copy)]
pub enum FlagArrivals {
    /// Whatever the drive does.
    Poisson { mean: Span },
    /// When earlier ones are completed.
    Closed { outstanding: usize, think: Span },
}

impl Synthetic {
    /// What `setting` asks for, on the drive `chosen`.
    ///
    /// # Errors
    /// A workload that is wrong, or that the drive has no room for; a warm-up or a run that is
    /// too long.
    pub fn new(setting: &Setting, chosen: &Chosen) -> Result<Self, Error> {
        let disk = disk(chosen);
        let (workload, told) = match &setting.workload {
            Some(text) => written(text, disk)?,
            None => of_flags(setting, disk)?,
        };
        let requests = setting.requests.unwrap_or(REQUESTS);
        let pauses = workload.streams.iter().map(|s| s.arrivals.mean_pause());
        let pause = pauses.min().unwrap_or_default();
        let all = i128::from(requests) * i128::from(setting.replications.unwrap_or(1));
        if all.saturating_mul(pause.as_ns().into()) > LONGEST_NS {
            let together = match setting.replications {
                Some(_) => ", all replications together",
                None => "",
            };
            let expected = format!("a run of less than 146 years at {pause} a request{together}");
            return Err(Error::flag("--requests", requests.to_string(), expected));
        }
        if setting.warmup >= requests {
            let default = if setting.requests.is_none() {
                " (the default)"
            } else {
                ""
            };
            let expected = format!("less than the {requests} of --requests{default}");
            return Err(Error::flag(
                "--warmup",
                setting.warmup.to_string(),
                expected,
            ));
        }
        Ok(Self {
            requests,
            workload,
            disk,
            told,
        })
    }

    /// Whether requests come by themselves, so that they can outrun the drive.
    pub fn is_open(&self) -> bool {
        let mut streams = self.workload.streams.iter();
        streams.any(|stream| matches!(stream.arrivals, Arrivals::Open(_)))
    }
}

/// The workload that `--workload` gives: in the file of a name that ends in `.toml`, or itself.
fn written(text: &str, disk: Disk) -> Result<(Workload, Told), Error> {
    let at = |place: &str| {
        let place = place.to_owned();
        |fault| Error::Workload { place, fault }
    };
    if Path::new(text).extension().is_none_or(|end| end != "toml") {
        let workload = Workload::parse(text, disk).map_err(at("--workload"))?;
        return Ok((workload, Told::Text(text.to_owned())));
    }
    let content = std::fs::read_to_string(text).map_err(|source| Error::Io {
        doing: "read",
        path: text.to_owned(),
        source,
    })?;
    let workload = Workload::parse_toml(&content, disk).map_err(at(text))?;
    Ok((workload, Told::File(text.to_owned())))
}

/// The one stream that the flags describe.
fn of_flags(setting: &Setting, disk: Disk) -> Result<(Workload, Told), Error> {
    let told = match setting.outstanding {
        Some(outstanding) => FlagArrivals::Closed {
            outstanding: outstanding as usize,
            think: setting.think.unwrap_or_default(),
        },
        None => FlagArrivals::Poisson {
            mean: setting
                .interarrival
                .or(setting.rate)
                .unwrap_or(INTERARRIVAL),
        },
    };
    let arrivals = match told {
        FlagArrivals::Poisson { mean } => Arrivals::Open(Pauses::Poisson(Poisson { mean })),
        FlagArrivals::Closed { outstanding, think } => Arrivals::Closed(Closed {
            clients: outstanding,
            think: Pauses::Deterministic(Deterministic { mean: think }),
        }),
    };
    let classic = Stream::worthington94();
    let (flag, text) = match &setting.size {
        Some(typed) => ("--size", typed.as_str()),
        None => ("--size (the default)", SIZE),
    };
    let sectors = size(flag, text, disk)?;
    let read_share = setting.reads.unwrap_or(classic.read_share);
    let stream = Stream {
        arrivals,
        sizes: Sizes::Fixed(sizes::Fixed { sectors }),
        read_share,
        ..classic
    };
    let streams = vec![stream];
    let told = Told::Flags {
        sectors,
        read_share,
        arrivals: told,
    };
    Ok((Workload { streams }, told))
}

/// What requests on a drive can be.
pub fn disk(chosen: &Chosen) -> Disk {
    Disk {
        sectors: chosen.layout.sectors(),
        sector: Bytes(u64::from(chosen.spec.geometry.sector_bytes)),
    }
}

/// The size that `flag` gives, of a command for `disk`.
///
/// # Errors
/// When `text` is no such size.
pub fn size(flag: &'static str, text: &str, disk: Disk) -> Result<SectorCount, Error> {
    let most = disk.most_sectors();
    let size = quantity::sectors(text, disk.sector);
    size.filter(|size| (1..=most.0).contains(&size.0))
        .ok_or_else(|| {
            let expected = format!(
                "1 to {} sectors of {} bytes, with a unit, such as \"8 KiB\"",
                most.0, disk.sector.0
            );
            Error::flag(flag, text, expected)
        })
}
