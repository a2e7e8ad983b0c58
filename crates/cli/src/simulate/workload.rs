//! The workload that `--workload`, or `--random` and its flags, describe.

use diskarm_core::text::InputError;
use diskarm_core::units::{SectorCount, Span};
use diskarm_core::workload::arrivals::{Closed, Deterministic, Poisson};
use diskarm_core::workload::{Arrivals, Disk, Pauses, Sizes, Stream, Workload, sizes};
use diskarm_results::simulated::{FlagArrivals, Given};
use diskarm_simulate::{Error, Generated, System, size};

use super::args::Setting;

/// Keeps the drives of the classic studies busy but far from saturated: hp-c2247 is busy 70 % of
/// the time under FCFS.
const INTERARRIVAL: Span = Span::from_ns(31_200_000);

/// The default size of a request.
pub const SIZE: &str = "8 KiB";

/// The requests that `setting` describes, on `system`, and how they were specified.
///
/// # Errors
/// If the workload is invalid or does not fit on the drive.
pub fn generated(setting: &Setting, system: &System) -> Result<(Generated, Given), Error> {
    let (workload, given) = match &setting.workload {
        Some(text) => (system.workload(text)?, Given::of(text)),
        None => of_flags(setting, system.disk())?,
    };
    let generated = Generated {
        workload,
        requests: setting.requests,
        seed: setting.seed,
        replications: setting.replications,
    };
    Ok((generated, given))
}

/// The size of requests for `disk`, as it was typed or by default.
///
/// # Errors
/// If it is not a valid size of a request.
pub fn size_of(typed: Option<&str>, disk: Disk) -> Result<SectorCount, Error> {
    if let Some(typed) = typed {
        return size("--size", typed, disk);
    }
    size("--size", SIZE, disk).map_err(|_| {
        let expected = format!("a size that divides the default --size, {SIZE}, or another --size");
        InputError::shown("geometry.sector_bytes", disk.sector.0, expected).into()
    })
}

/// The single stream that the flags describe.
fn of_flags(setting: &Setting, disk: Disk) -> Result<(Workload, Given), Error> {
    let given = match setting.outstanding {
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
    let arrivals = match given {
        FlagArrivals::Poisson { mean } => Arrivals::Open(Pauses::Poisson(Poisson { mean })),
        FlagArrivals::Closed { outstanding, think } => Arrivals::Closed(Closed {
            clients: outstanding,
            think: Pauses::Deterministic(Deterministic { mean: think }),
        }),
    };
    let classic = Stream::worthington94();
    let sectors = size_of(setting.size.as_deref(), disk)?;
    let read_share = setting.reads.unwrap_or(classic.read_share);
    let stream = Stream {
        arrivals,
        sizes: Sizes::Fixed(sizes::Fixed { sectors }),
        read_share,
        ..classic
    };
    let streams = vec![stream];
    let given = Given::Flags {
        sectors,
        read_share,
        arrivals: given,
    };
    Ok((Workload { streams }, given))
}
