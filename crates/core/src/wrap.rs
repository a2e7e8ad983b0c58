//! Wrappers: devices that wrap another device and change or observe its requests.
//!
//! | wrapper | what it does |
//! |---|---|
//! | [`ObservedDevice`] | calls an observer for each request and completion |
//! | [`Recorder`] | keeps each request with its completion |
//! | [`Throttle`] | limits requests and bytes per second |
//! | [`Delay`] | adds a latency to every request |
//! | [`Faults`] | injects errors, delays, recalibrations and outages |
//!
//! Each is generic over the wrapped device and is itself a device, so wrappers stack in any order.
//! Around a device that a policy can query ([`Estimate`]) a wrapper forwards the queries, so a host
//! queue can wrap it:
//!
//! ```
//! use diskarm_core::drive::Drive;
//! use diskarm_core::host::Host;
//! use diskarm_core::sched::{Estimate, PolicyConfig};
//! use diskarm_core::wrap::{FaultPlan, Faults, Recorder, Recording};
//!
//! type Stack = Host<Recorder<Faults<Drive>>>;
//!
//! fn stack(drive: Drive, plan: &FaultPlan, policy: &PolicyConfig) -> Stack {
//!     let revolution = drive.shape().revolution;
//!     let faulty = Faults::new(drive, plan, revolution);
//!     let recorded = Recorder::new(faulty, Recording::default());
//!     let policy = policy.policy(&recorded);
//!     Host::new(recorded, policy)
//! }
//! ```
//!
//! [`Estimate`]: crate::sched::Estimate

mod delay;
mod faults;
mod observed;
mod throttle;

pub use delay::{Delay, Latency};
pub use faults::{
    AffectedOps, BadBlocks, FaultPlan, Faults, Outage, PausedRehearsal, RandomErrors,
    Recalibration, Spikes,
};
pub use observed::{ObservedDevice, RecordedRequest, Recorder, Recording};
pub use throttle::{Limits, Throttle};
