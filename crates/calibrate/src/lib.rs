//! Fits a drive's specification to a measured trace.
//!
//! A fitted specification is the text of another one, its base, with some values changed:
//! [`rewrite()`] owns the change. What stands in the text, and what to change, is its caller's.

pub mod candidate;
mod curve;
pub mod edits;
pub mod fit;
pub mod likelihood;
pub mod parameter;
pub mod rewrite;
pub mod switch;
pub mod trace;

pub use rewrite::rewrite;
