//! One simulation: a drive, a policy, and requests that are drawn or traced.
//!
//! A [`Model`] is the drive, an [`Input`] the requests, and a [`Simulation`] both with the policy
//! of the host's queue. It hands over a [`Run`], or one for each replication. Whoever waits for it
//! hears how far it has come and may stop it ([`Look`]); whoever wants each request gets a row of
//! it ([`Sink`]). [`measured`] and [`replays`] are for drives beside what was measured on them.
//!
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! use diskarm_simulate::{Drawn, Input, Model, Simulation, keep_on};
//!
//! let model = Model::find("hp-c2247")?;
//! let workload = model.workload("poisson(rate=60/s) uniform size=8KiB reads=67%")?;
//! let drawn = Drawn { requests: Some(2_000), ..Drawn::new(workload) };
//! let input = Input::Drawn(drawn);
//! let policy: PolicyConfig = "sptf".parse()?;
//! let simulation = Simulation::new(&model, &policy, &input);
//! let run = simulation.run(&keep_on, None)?;
//! assert_eq!(run.report.requests_count(), 2_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod adapt;
mod backlog;
mod blocks;
pub mod devices;
mod error;
mod input;
mod look;
mod model;
mod reading;
mod recorded;
mod rows;
mod run;
mod simulation;
mod tower;
mod trace_rows;
mod watched;

pub mod measured;
pub mod parallel;
pub mod replays;

pub use adapt::{Fitting, Part};
pub use error::Error;
pub use input::{Drawn, Input, Issue, REQUESTS, Traced};
pub use look::{Look, keep_on};
pub use model::{Model, size};
pub use reading::{Reading, STANDARD_INPUT};
pub use recorded::records;
pub use rows::Sink;
pub use run::{Replayed, Run, TracedFile};
pub use simulation::{MakePolicy, Simulation, policy};
pub use tower::Tower;
pub use trace_rows::Origin;
