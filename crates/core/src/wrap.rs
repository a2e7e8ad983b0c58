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

/// Implements the named methods of a device, or of its estimates, by those of a field.
///
/// ```ignore
/// impl BlockDevice for Wrapper {
///     diskarm_core::forward!(inner: capacity sector_size check);
///     // The methods in which the wrapper differs follow.
/// }
/// ```
#[macro_export]
macro_rules! forward {
    ($field:tt: $($method:ident)+) => {
        $($crate::forward!(@$method $field);)+
    };
    (@capacity $field:tt) => {
        fn capacity(&self) -> $crate::units::SectorCount {
            self.$field.capacity()
        }
    };
    (@sector_size $field:tt) => {
        fn sector_size(&self) -> $crate::units::Bytes {
            self.$field.sector_size()
        }
    };
    (@check $field:tt) => {
        #[inline]
        fn check(
            &self,
            request: &$crate::request::Request,
        ) -> Result<(), $crate::device::SubmitError> {
            self.$field.check(request)
        }
    };
    (@has_room $field:tt) => {
        #[inline]
        fn has_room(&self) -> bool {
            self.$field.has_room()
        }
    };
    (@submit $field:tt) => {
        fn submit(
            &mut self,
            now: $crate::units::Instant,
            request: $crate::request::Request,
        ) -> Result<(), $crate::device::SubmitError> {
            self.$field.submit(now, request)
        }
    };
    (@next_event $field:tt) => {
        #[inline]
        fn next_event(&self) -> Option<$crate::units::Instant> {
            self.$field.next_event()
        }
    };
    (@advance $field:tt) => {
        fn advance(&mut self, now: $crate::units::Instant) -> Option<$crate::device::Completion> {
            self.$field.advance(now)
        }
    };
    (@abort $field:tt) => {
        fn abort(&mut self, now: $crate::units::Instant, id: u64) -> bool {
            self.$field.abort(now, id)
        }
    };
    (@components $field:tt) => {
        fn components(&self, now: $crate::units::Instant) -> Vec<$crate::device::ComponentReport> {
            self.$field.components(now)
        }
    };
    (@persisted $field:tt) => {
        fn persisted(
            &mut self,
            now: $crate::units::Instant,
        ) -> Option<Vec<$crate::device::Persisted>> {
            self.$field.persisted(now)
        }
    };
    (@shape $field:tt) => {
        fn shape(&self) -> $crate::sched::Shape {
            self.$field.shape()
        }
    };
    (@locate $field:tt) => {
        #[inline]
        fn locate(&self, request: &$crate::request::Request) -> $crate::extent::Extent {
            self.$field.locate(request)
        }
    };
    (@outlook $field:tt) => {
        #[inline]
        fn outlook(&self, now: $crate::units::Instant) -> Self::Outlook<'_> {
            self.$field.outlook(now)
        }
    };
    (@rehearse $field:tt) => {
        fn rehearse(&self) -> Self::Rehearsal {
            self.$field.rehearse()
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
