//! Measured response times: how close a model comes to them, and the specification that explains
//! them best.

pub mod calibrate;
pub mod validate;
