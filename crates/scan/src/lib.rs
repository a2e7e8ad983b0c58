//! Schedules requests outside the drive, and reads in its rotational gaps (lumb01).
//!
//! [`ExternalScheduler`] is a queue in front of a device that can only be watched: the scheduler's knowledge
//! of positions comes from a model of the drive that follows its completions. It gives the device
//! one or two requests at a time, so that the order is its own. With [`Background`] tasks it also
//! reads what they want in the gaps that the foreground's rotational waits leave.
//!
//! The scheduler reads no clock: times are handed in, so the same code runs in virtual time and in
//! real time. What reads one is [`live`]: files, block devices, servers and whatever else is read
//! by threads, as a device. An [`ScanRecord`] is what a scan has read, from which it continues.
//!
//! ```
//! use diskarm_core::device::Device;
//! use diskarm_core::drive::Drive;
//! use diskarm_core::sched::PolicyConfig;
//! use diskarm_core::spec::Spec;
//! use diskarm_core::text::InputError;
//! use diskarm_core::units::Angle;
//! use diskarm_scan::{ExternalScheduler, Model};
//!
//! /// A drive behind an external scheduler that knows its specification and nothing else.
//! fn scheduled(spec: &Spec, policy: &PolicyConfig) -> Result<impl Device, InputError> {
//!     let drive = Drive::new(spec, Angle::of(1, 3))?;
//!     Ok(ExternalScheduler::new(drive, Model::new(spec)?, policy, 2))
//! }
//! ```

mod account;
mod array;
mod background;
mod checksums;
#[cfg(test)]
mod dice;
mod external;
mod foreground;
mod gap;
mod lag;
pub mod live;
mod predicted;
mod rebuild;
mod requests;
mod run;
mod watch;

pub use account::{CHUNK, InvalidCheckpoint, ScanRecord};
pub use array::Disk;
pub use background::{Background, BackgroundSettings};
pub use checksums::Checksums;
pub use external::ExternalScheduler;
pub use predicted::{OnPrediction, Prediction};
pub use requests::Requests;
pub use run::{Foreground, OnProgress, PARTS, Scan, ScanReport, SchedulerLocation};
pub use watch::{Model, Observations, Surprises};
