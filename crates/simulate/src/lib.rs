//! One simulation: a drive, a policy, and requests that are generated or traced.
//!
//! A [`System`] is a drive ([`Model`]), perhaps behind a stack of [`devices`]. An [`Input`]
//! describes the requests. A [`Simulation`] combines both with the policy of the host's queue. Its
//! result is a [`Run`], or one for each replication. A [`Progress`] callback may stop a run, and a
//! [`Sink`] receives every completed request. [`measured`] reads and replays measured traces.
//!
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! use diskarm_simulate::{GeneratedRequests, Input, Simulation, System, never_stop};
//!
//! let system = System::parse("hp-c2247")?;
//! let workload = system.workload("poisson(rate=60/s) uniform size=8KiB reads=67%")?;
//! let mut generated = GeneratedRequests::new(workload);
//! generated.requests = Some(2_000);
//! let input = Input::Generated(generated);
//! let policy: PolicyConfig = "sptf".parse()?;
//! let simulation = Simulation::new(&system, &policy, &input);
//! let run = simulation.run(&never_stop, None)?;
//! assert_eq!(run.report.requests_count(), 2_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod device;
pub mod devices;
mod error;
mod input;
pub mod measured;
mod model;
mod observer;
pub mod parallel;
mod policies;
mod run;
mod simulation;
mod stack;
mod system;
pub mod theory;
mod trace_rows;

pub use device::MakeDisk;
pub use error::Error;
pub use input::{Fitting, GeneratedRequests, Input, Issue, REQUESTS, ReadOptions, STANDARD_INPUT};
pub use input::{TraceReplay, TraceSelection};
pub use model::{Model, changed_name, read_text, size, workload};
pub use observer::{OUTCOMES, Progress, Sink, never_stop, outcome};
pub use policies::{ChoiceCounter, MakePolicy, policy};
pub use run::{ReplayInfo, Run, Speedup, combined_doubts, doubts, remarks, speedup};
pub use simulation::Simulation;
pub use stack::DeviceStack;
pub use system::System;
pub use trace_rows::{Arrivals, BlockConverter, Origin, TraceFile, records, to_record};
