//! Closed forms, for comparison with simulations: service and response times of a disk, and loads
//! and reliability of mirrored arrays ([`declustering`]).
//!
//! The source is liu05 (A. Liu's thesis on scheduling disks and arrays), cited by section and
//! equation. Where a printed formula is wrong or approximate, the documentation of the function
//! says so, and a test proves it by enumeration.
//!
//! Queueing formulas ([`queues`]) work in any unit of time, with rates in its inverse. Times
//! computed from a drive ([`service`]) are in milliseconds.

pub mod declustering;
pub mod distance;
pub mod mirrored;
pub mod moments;
pub mod queues;
pub mod service;

#[cfg(test)]
mod simulated;

pub use distance::Distances;
pub use moments::Moments;
pub use service::Service;
