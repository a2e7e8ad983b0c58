//! Closed forms of a disk's service and response times, to hold beside a simulation, and of the
//! loads and the reliability of arrays with two copies of all data ([`declustering`]).
//!
//! The source is liu05 (A. Liu's thesis on scheduling disks and arrays), by section and equation.
//! Where the thesis prints a formula that is wrong or approximate, the function says so, and a test
//! shows it by enumeration.
//!
//! Formulas of queues ([`mg1`], [`priority`], [`e2m1`], [`mmc`], [`birth_death`]) hold in any unit
//! of time: rates are in its inverse. What is computed from a drive ([`service`], [`media`]) is in
//! milliseconds.

pub mod birth_death;
pub mod declustering;
pub mod distance;
pub mod e2m1;
pub mod media;
pub mod mg1;
pub mod mirrored;
pub mod mmc;
pub mod moments;
pub mod pivot;
pub mod priority;
pub mod rotation;
pub mod service;

#[cfg(test)]
mod pair;
#[cfg(test)]
mod queue;

pub use distance::Distances;
pub use media::Media;
pub use moments::Moments;
pub use service::Service;
