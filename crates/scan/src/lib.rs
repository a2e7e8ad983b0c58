//! Schedules requests outside the drive, and reads in its rotational gaps (lumb01).
//!
//! [`ExternalScheduler`] is a queue in front of a device that can only be watched. It knows
//! positions from a model of the drive, which completions keep correct. It gives the device one or
//! two requests at a time, so that the device does not reorder them. It also reads the blocks of
//! [`Background`] tasks during the rotational waits of the foreground.
//!
//! The scheduler reads no clock: instants are passed in, so the same code runs in virtual time and
//! in real time. The module [`live`] runs it in real time in front of files, block devices, servers
//! and other sources. A [`ScanRecord`] holds the progress of a scan, so that it can be resumed.
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
//! /// Creates a drive with an external scheduler that only knows the specification.
//! fn schedule_externally(spec: &Spec, policy: &PolicyConfig) -> Result<impl Device, InputError> {
//!     let drive = Drive::new(spec, Angle::from_fraction(1, 3))?;
//!     Ok(ExternalScheduler::new(drive, Model::new(spec)?, policy, 2))
//! }
//! ```

mod array;
mod background;
mod external;
pub mod live;
mod rebuild;
mod record;
mod run;
mod watch;

pub use array::DiskFactory;
pub use background::{Background, BackgroundSettings};
pub use external::ExternalScheduler;
pub use record::{CHUNK, Checksums, InvalidCheckpoint, ScanRecord};
pub use run::{ForegroundReport, OnProgress, PARTS, Requests, Scan, ScanReport, SchedulerLocation};
pub use watch::{Model, Observations, OnPrediction, Prediction, Surprises};
