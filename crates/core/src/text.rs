//! The text syntax of quantities with their units, names, and calls with parameters.
//!
//! Specifications, workloads and policies are written in it; their readers define the meaning.

mod args;
mod call;
mod error;
pub mod quantity;

pub use args::Args;
pub(crate) use args::{NO_PARAMETERS, no_share, percent, share};
pub(crate) use call::words;
pub use call::{Call, list};
pub use error::{InputError, line_of, nearest};
