//! Fitted specifications.
//!
//! A fitted specification is the text of another one, its base, with some values changed:
//! [`rewrite()`] owns the change. What stands in the text, and what to change, is its caller's.

pub mod rewrite;

pub use rewrite::rewrite;
