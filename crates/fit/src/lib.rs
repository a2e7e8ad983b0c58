//! Comparison of a model with measured response times, and fits of its specification to them.

pub mod calibrate;
pub mod validate;
