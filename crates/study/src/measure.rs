//! What is measured of a cell: a table of measures, a file each.

mod access;
mod alone;
mod choices;
mod drain;
mod responses;

use std::ops::ControlFlow;

use diskarm_simulate::Simulation;
use serde::{Serialize, Serializer};

use crate::place::Place;
use diskarm_core::text::InputError;

/// What a measure says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// What `measure` calls it.
    pub name: &'static str,
    /// In one line.
    pub summary: &'static str,
    /// What it measures: names that end in their units, and what figures call them. The first is
    /// the one that `until_ci95` speaks of.
    pub columns: &'static [(&'static str, &'static str)],
}

/// A way to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// What requests took.
    Responses,
    /// What reaching places takes.
    Access,
    /// What policies choose.
    Choices,
    /// What requests take that all wait at once.
    Drain,
}

/// All measures.
const ALL: &[Measure] = &[
    Measure::Responses,
    Measure::Access,
    Measure::Choices,
    Measure::Drain,
];

/// What each of them says about itself.
pub fn infos() -> impl Iterator<Item = &'static Info> {
    ALL.iter().map(|measure| measure.info())
}

impl Measure {
    /// What it says about itself.
    pub fn info(self) -> &'static Info {
        match self {
            Self::Responses => &responses::INFO,
            Self::Access => &access::INFO,
            Self::Choices => &choices::INFO,
            Self::Drain => &drain::INFO,
        }
    }

    /// Runs a cell once: `simulation`, whose requests are those of the run's seed.
    ///
    /// # Errors
    /// Why the cell cannot be simulated, in a line.
    pub(crate) fn run(
        self,
        simulation: &Simulation<'_>,
        stop: Stop<'_>,
    ) -> Result<Figures, String> {
        match self {
            Self::Responses => responses::run(simulation, stop),
            Self::Access => access::run(simulation, stop),
            Self::Choices => choices::run(simulation, stop),
            Self::Drain => drain::run(simulation, stop),
        }
    }

    pub(crate) fn find(name: &str, at: &Place) -> Result<Self, InputError> {
        let found = ALL.iter().find(|measure| measure.info().name == name);
        let known: Vec<&str> = ALL.iter().map(|measure| measure.info().name).collect();
        found
            .copied()
            .ok_or_else(|| at.unknown(name, "a measure", &known))
    }
}

impl Serialize for Measure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.info().name)
    }
}

/// Asked now and then during a run whether to continue.
pub(crate) type Stop<'a> = &'a (dyn Fn() -> ControlFlow<()> + Sync);

/// What a run measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Figures {
    /// A number to each column of the measure; `None` where there is none.
    Measured(Vec<Option<f64>>),
    /// Requests came faster than they were served.
    Saturated,
    /// It was told to stop.
    Stopped,
}
