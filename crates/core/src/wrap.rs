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
//! Each wrapper is generic over the wrapped device and is itself a device, so wrappers stack in any
//! order. If a policy can query the wrapped device ([`Estimate`]), the wrapper forwards the
//! queries, so a host queue can wrap it:
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

/// Implements the named methods of `Device` or `Estimate` by forwarding them to a field, to the
/// expression that follows `self`, or to one expression for shared and one for exclusive access.
///
/// ```ignore
/// impl Device for Wrapper {
///     diskarm_core::forward!(inner: capacity sector_size check);
///     // The methods that the wrapper changes follow.
/// }
/// ```
#[macro_export]
macro_rules! forward {
    ($field:tt: $($method:ident)+) => {
        $($crate::forward!(@$method self, self.$field, self.$field);)+
    };
    ($self:ident, $device:expr; $($method:ident)+) => {
        $($crate::forward!(@$method $self, $device, $device);)+
    };
    ($self:ident, $device:expr, $device_mut:expr; $($method:ident)+) => {
        $($crate::forward!(@$method $self, $device, $device_mut);)+
    };
    (@capacity $self:ident, $device:expr, $_mut:expr) => {
        fn capacity(&$self) -> $crate::units::SectorCount {
            $device.capacity()
        }
    };
    (@sector_size $self:ident, $device:expr, $_mut:expr) => {
        fn sector_size(&$self) -> $crate::units::Bytes {
            $device.sector_size()
        }
    };
    (@check $self:ident, $device:expr, $_mut:expr) => {
        #[inline]
        fn check(
            &$self,
            request: &$crate::request::Request,
        ) -> Result<(), $crate::device::SubmitError> {
            $device.check(request)
        }
    };
    (@has_room $self:ident, $device:expr, $_mut:expr) => {
        #[inline]
        fn has_room(&$self) -> bool {
            $device.has_room()
        }
    };
    (@accepts $self:ident, $device:expr, $_mut:expr) => {
        #[inline]
        fn accepts(&$self, request: &$crate::request::Request) -> bool {
            $device.accepts(request)
        }
    };
    (@submit $self:ident, $device:expr, $device_mut:expr) => {
        #[inline]
        fn submit(
            &mut $self,
            now: $crate::units::Instant,
            request: $crate::request::Request,
        ) -> Result<(), $crate::device::SubmitError> {
            $device_mut.submit(now, request)
        }
    };
    (@next_event $self:ident, $device:expr, $_mut:expr) => {
        #[inline]
        fn next_event(&$self) -> Option<$crate::units::Instant> {
            $device.next_event()
        }
    };
    (@advance $self:ident, $device:expr, $device_mut:expr) => {
        #[inline]
        fn advance(&mut $self, now: $crate::units::Instant) -> Option<$crate::device::Completion> {
            $device_mut.advance(now)
        }
    };
    (@abort $self:ident, $device:expr, $device_mut:expr) => {
        fn abort(&mut $self, now: $crate::units::Instant, id: u64) -> bool {
            $device_mut.abort(now, id)
        }
    };
    (@components $self:ident, $device:expr, $_mut:expr) => {
        fn components(&$self, now: $crate::units::Instant) -> Vec<$crate::device::ComponentReport> {
            $device.components(now)
        }
    };
    (@persisted $self:ident, $device:expr, $device_mut:expr) => {
        fn persisted(
            &mut $self,
            now: $crate::units::Instant,
        ) -> Option<Vec<$crate::device::Persisted>> {
            $device_mut.persisted(now)
        }
    };
    (@shape $self:ident, $device:expr, $_mut:expr) => {
        fn shape(&$self) -> $crate::sched::Shape {
            $device.shape()
        }
    };
    (@locate $self:ident, $device:expr, $_mut:expr) => {
        #[inline]
        fn locate(&$self, request: &$crate::request::Request) -> $crate::extent::Extent {
            $device.locate(request)
        }
    };
    (@outlook $self:ident, $device:expr, $_mut:expr) => {
        #[inline]
        fn outlook(&$self, now: $crate::units::Instant) -> Self::Outlook<'_> {
            $device.outlook(now)
        }
    };
    (@rehearse $self:ident, $device:expr, $_mut:expr) => {
        fn rehearse(&$self) -> Self::Rehearsal {
            $device.rehearse()
        }
    };
}

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
