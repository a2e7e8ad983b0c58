//! The measures, which determine what a run of a cell measures, with one file for each family.

mod access;
mod choices;
mod predictions;
mod responses;
mod scan;

use std::ops::Range;

use diskarm_core::sched::PolicyConfig;
use diskarm_core::text::InputError;
use diskarm_core::units::SectorCount;
use diskarm_simulate::Simulation;
use serde::{Serialize, Serializer};

use crate::expression::Location;
use crate::metric::{MeasureInfo, RunOutcome, Stop};
pub(crate) use scan::Scanning;

/// One of the measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Response times and their parts.
    Responses,
    /// Response times, and the disks and caches of the device.
    Parts,
    /// The time to reach blocks.
    Access,
    /// The choices of a policy.
    Choices,
    /// The time to serve requests that are all waiting at the start.
    Drain,
    /// Errors of predictions of a measured trace.
    Predictions,
    /// A scan in the gaps of the requests.
    Scan,
}

const ALL: &[Measure] = &[
    Measure::Responses,
    Measure::Parts,
    Measure::Access,
    Measure::Choices,
    Measure::Drain,
    Measure::Predictions,
    Measure::Scan,
];

/// Returns the descriptions of all measures.
pub fn infos() -> impl Iterator<Item = &'static MeasureInfo> {
    ALL.iter().map(|measure| measure.info())
}

impl Measure {
    /// Returns the description of the measure.
    pub fn info(self) -> &'static MeasureInfo {
        match self {
            Self::Responses => &responses::INFO,
            Self::Parts => &responses::PARTS,
            Self::Access => &access::INFO,
            Self::Choices => &choices::INFO,
            Self::Drain => &access::DRAIN,
            Self::Predictions => &predictions::INFO,
            Self::Scan => &scan::INFO,
        }
    }

    /// Measures a run, with the requests in `simulation`. Only [`Self::Scan`] uses `scanning`, and
    /// only [`Self::Predictions`] uses `sizes`. The error describes a problem with the cell.
    pub(crate) fn run(
        self,
        simulation: &Simulation<'_>,
        policy: &PolicyConfig,
        scanning: &Scanning,
        sizes: &Range<SectorCount>,
        stop: Stop<'_>,
    ) -> Result<RunOutcome, String> {
        match self {
            Self::Responses => responses::run(simulation, stop),
            Self::Parts => responses::parts(simulation, stop),
            Self::Access => access::run(simulation, stop),
            Self::Choices => choices::run(simulation, stop),
            Self::Drain => access::drain(simulation, stop),
            Self::Predictions => predictions::run(simulation, sizes, stop),
            Self::Scan => scan::run(simulation, policy, scanning, stop),
        }
    }

    pub(crate) fn find(name: &str, at: &Location) -> Result<Self, InputError> {
        let mut all = ALL.iter().copied();
        let found = all.find(|measure| measure.info().name == name);
        let known: Vec<&str> = infos().map(|info| info.name).collect();
        found.ok_or_else(|| at.unknown(name, "a measure", &known))
    }
}

impl Serialize for Measure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.info().name)
    }
}
