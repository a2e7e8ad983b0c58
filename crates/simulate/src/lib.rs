//! One simulation: a drive, a policy, and requests that are generated or traced.
//!
//! A [`Model`] is the drive, an [`Input`] the requests, and a [`Simulation`] combines both with the
//! policy of the host's queue. Its result is a [`Run`], or one per replication. A callback
//! follows its progress and may stop it ([`Progress`]); a [`Sink`] gets a row for each request.
//! [`measured`] and [`replays`] compare drives with measurements, [`theory`] with formulas.
//!
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! use diskarm_simulate::{Generated, Input, Model, Simulation, keep_on};
//!
//! let model = Model::find("hp-c2247")?;
//! let workload = model.workload("poisson(rate=60/s) uniform size=8KiB reads=67%")?;
//! let generated = Generated { requests: Some(2_000), ..Generated::new(workload) };
//! let input = Input::Generated(generated);
//! let policy: PolicyConfig = "sptf".parse()?;
//! let simulation = Simulation::new(&model, &policy, &input);
//! let run = simulation.run(&keep_on, None)?;
//! assert_eq!(run.report.requests_count(), 2_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod adapt;
mod arrivals;
mod backlog;
mod blocks;
mod choices;
pub mod devices;
mod doubts;
mod error;
mod input;
mod model;
mod progress;
mod reading;
mod recorded;
mod rows;
mod run;
mod simulation;
mod tower;
mod trace_rows;
mod watched;

pub mod fitted;
pub mod measured;
pub mod parallel;
pub mod replays;
pub mod theory;

pub use adapt::{Fitting, TraceSelection};
pub use arrivals::Arrivals;
pub use blocks::Blocks;
pub use choices::Choices;
pub use error::Error;
pub use input::{Generated, Input, Issue, REQUESTS, Traced};
pub use model::{Model, changed_name, read_text, size};
pub use progress::{Progress, keep_on};
pub use reading::{Reading, STANDARD_INPUT};
pub use recorded::{recorded, records};
pub use rows::{OUTCOMES, Sink, outcome};
pub use run::{Replayed, Run, Speedup, TracedFile, doubts, most_doubts, remarks, speedup};
pub use simulation::{MakePolicy, Simulation, over_disks, policy, queued};
pub use tower::{Disk, Tower};
pub use trace_rows::Origin;
