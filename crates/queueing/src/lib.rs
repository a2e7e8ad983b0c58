//! Closed forms for the service and response times of a disk, for comparison with simulations, and
//! for the loads and the reliability of mirrored arrays ([`declustering`]).
//!
//! The source is liu05 (A. Liu's thesis on scheduling disks and arrays), cited by section and
//! equation. Where a printed formula is wrong or approximate, the documentation of the function
//! says so, and a test proves it by enumeration.
//!
//! Queueing formulas ([`mg1`], [`exponential`], [`birth_death`]) work in any unit of time, with
//! rates in its inverse. Times computed from a drive ([`service`], [`media`]) are in milliseconds.

pub mod birth_death;
pub mod declustering;
pub mod distance;
pub mod exponential;
pub mod media;
pub mod mg1;
pub mod mirrored;
pub mod moments;
pub mod pivot;
pub mod service;

#[cfg(test)]
mod pair;
#[cfg(test)]
mod queue;

pub use distance::Distances;
pub use media::Media;
pub use moments::Moments;
pub use service::Service;
