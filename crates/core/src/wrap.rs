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

/// Forwards the named methods of a wrapper to the wrapped device.
macro_rules! forward {
    ($($method:ident)+) => {
        $(forward!(@$method);)+
    };
    (@capacity) => {
        fn capacity(&self) -> crate::units::SectorCount {
            self.device.capacity()
        }
    };
    (@sector_size) => {
        fn sector_size(&self) -> crate::units::Bytes {
            self.device.sector_size()
        }
    };
    (@check) => {
        fn check(
            &self,
            request: &crate::request::Request,
        ) -> Result<(), crate::device::SubmitError> {
            self.device.check(request)
        }
    };
    (@components) => {
        fn components(&self, now: crate::units::Instant) -> Vec<crate::device::ComponentReport> {
            self.device.components(now)
        }
    };
    (@persisted) => {
        fn persisted(
            &mut self,
            now: crate::units::Instant,
        ) -> Option<Vec<crate::device::Persisted>> {
            self.device.persisted(now)
        }
    };
    (@shape) => {
        fn shape(&self) -> crate::sched::Shape {
            self.device.shape()
        }
    };
    (@locate) => {
        #[inline]
        fn locate(&self, request: &crate::request::Request) -> crate::extent::Extent {
            self.device.locate(request)
        }
    };
    (@outlook) => {
        #[inline]
        fn outlook(&self, now: crate::units::Instant) -> Self::Outlook<'_> {
            self.device.outlook(now)
        }
    };
    (@rehearse) => {
        fn rehearse(&self) -> Self::Rehearsal {
            self.device.rehearse()
        }
    };
}

mod delay;
mod faults;
mod observed;
mod recorder;
mod throttle;

pub use delay::{Delay, Latency};
pub use faults::{
    AffectedOps, BadBlocks, FaultPlan, Faults, Outage, PausedRehearsal, RandomErrors,
    Recalibration, Spikes,
};
pub use observed::ObservedDevice;
pub use recorder::{RecordedRequest, Recorder, Recording};
pub use throttle::{Limits, Throttle};
