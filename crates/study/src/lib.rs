//! Runs experiments described in files, which say what to vary, simulate, draw and claim.
//!
//! A [`Study`] is read from TOML (`docs/studies.md`). A [`Runner`] simulates its cells and keeps
//! each run in a [`Store`], so that no run is repeated. The outcomes are [`Results`], against which
//! each [`Claim`] is checked; a [`Report`] shows everything on one page.
//!
//! The modules form layers; a module imports only those before it:
//!
//! ```text
//! error < expression < axis < metric < measure < cell < results < claim < figure < file < studies
//! < job < output < store < runner < report
//! ```

#![warn(missing_docs)]

mod axis;
mod cell;
pub mod claim;
mod error;
mod expression;
mod figure;
mod file;
mod job;
pub mod measure;
mod metric;
mod output;
mod report;
mod results;
mod runner;
mod store;
pub mod studies;

pub use cell::CellInput;
pub use claim::{Claim, Count, JudgedClaim, Judgement, Verdict};
pub use error::{BUILD, StudyError, VERSION, VERSION_AND_BUILD};
pub use expression::Scalar;
pub use file::{Study, StudyOptions};
pub use metric::Metric;
pub use output::{Files, Folder};
pub use report::Report;
pub use results::{Estimate, Results};
pub use runner::{Runner, compute};
pub use store::{Store, StoredRun};
