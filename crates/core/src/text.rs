//! How people write things: quantities with their units, names, and calls with parameters.
//!
//! Specifications, workloads and policies are written in these; what the words mean is decided
//! where they are read.

mod args;
mod call;
mod error;
mod nearest;
pub mod quantity;

pub use args::Args;
pub(crate) use args::{NO_PARAMETERS, no_share, percent, share};
pub(crate) use call::words;
pub use call::{Call, list};
pub use error::{InputError, line_of};
pub use nearest::nearest;
