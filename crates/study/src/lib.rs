//! Experiments as files: what is varied, what is simulated, what is drawn and what is claimed.
//!
//! A [`Study`] is read from TOML (`docs/studies.md`); its cells are simulated by a [`Runner`],
//! which keeps every run in a [`Store`] as it ends and never repeats one; what comes of them are
//! [`Results`], against which each [`Claim`] is held.

pub mod axis;
pub mod cell;
pub mod claim;
pub mod error;
pub mod figure;
pub mod file;
mod files;
mod job;
pub mod map;
pub mod measure;
pub mod metric;
mod place;
pub mod report;
pub mod results;
pub mod runner;
pub mod scalar;
pub mod select;
pub mod store;
pub mod studies;
mod template;
pub mod verdicts;

pub use claim::{Claim, Judged, Told, Verdict};
pub use error::StudyError;
pub use file::{Asked, Study};
pub use report::Report;
pub use results::{Estimate, Results};
pub use runner::{Runner, compute};
pub use store::{Store, Stored};
pub use verdicts::Count;

/// The version of the program, which is part of what a run depends on.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A digest of the sources that simulate, as two states of the program may bear one version.
pub const BUILD: &str = env!("DISKARM_SOURCES");

/// Both.
pub const VERSION_AND_BUILD: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (sources ",
    env!("DISKARM_SOURCES"),
    ")"
);
