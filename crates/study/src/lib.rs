//! Experiments as files: what is varied, what is simulated, what is drawn and what is claimed.
//!
//! A [`Study`] is read from TOML (`docs/studies.md`). A [`Runner`] simulates its cells and keeps
//! each run in a [`Store`], so that no run is repeated. The outcomes are [`Results`], against which
//! each [`Claim`] is checked; a [`Report`] shows everything on one page.
//!
//! The modules form layers; a module imports only those before it:
//!
//! ```text
//! error < expression < axis < metric < measure < cell < results < claim < verdicts < figure < file
//! < studies < job < output < store < runner < report
//! ```

#![warn(missing_docs)]

pub mod axis;
pub mod cell;
pub mod claim;
pub mod error;
pub mod expression;
pub mod figure;
pub mod file;
mod job;
pub mod measure;
pub mod metric;
mod output;
pub mod report;
pub mod results;
pub mod runner;
pub mod store;
pub mod studies;
pub mod verdicts;

pub use claim::{BoundsOf, Cause, Claim, Evidence, Judged, JudgedClaim, Known, Number, Verdict};
pub use error::{BUILD, StudyError, VERSION, VERSION_AND_BUILD};
pub use file::{Study, StudyOptions};
pub use output::{Files, Folder};
pub use report::Report;
pub use results::{Estimate, Results};
pub use runner::{Runner, compute};
pub use store::{Store, StoredRun};
pub use verdicts::Count;
