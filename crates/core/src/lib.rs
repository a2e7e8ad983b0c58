//! A sans-I/O model of mechanical disk drives, with schedulers and a simulation engine.
//!
//! The modules form layers; a module imports only those before it:
//!
//! ```text
//! units < random < testing < request < device < stats < text < extent < sched < queue < spec <
//! geometry < mechanics < freeblock < buffer < drive < predict < host < stack < array < mirror <
//! raid < declustered < nvcache < workload < engine < wrap < report
//! ```

#![warn(missing_docs)]
// The model does no I/O: see `clippy.toml` next to the manifest.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod array;
pub mod buffer;
pub mod declustered;
pub mod device;
pub mod drive;
pub mod engine;
pub mod extent;
pub mod freeblock;
pub mod geometry;
pub mod host;
pub mod mechanics;
pub mod mirror;
pub mod nvcache;
pub mod predict;
pub mod queue;
pub mod raid;
pub mod random;
pub mod report;
pub mod request;
pub mod sched;
pub mod spec;
pub mod stack;
pub mod stats;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
pub mod units;
pub mod workload;
pub mod wrap;
