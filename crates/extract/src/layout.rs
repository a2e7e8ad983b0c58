//! The layout of a drive: a [`Geometry`] whose [`Layout`] maps every block to the same place as
//! the drive does (worthington96 section 4.1).
//!
//! There are two ways. [`translate`] asks the drive where blocks are, and [`timing`] needs nothing
//! but reads. Both follow the blocks of a zone from track to track (`walk`), note the places that
//! hold no block (`chart`), and then look for the sparing scheme that explains these places with
//! the fewest exceptions (`assemble`).
//!
//! [`Layout`]: diskarm_core::geometry::Layout

use diskarm_core::spec::Geometry;

mod assemble;
mod chart;
mod cylinders;
mod pattern;
mod phases;
pub mod timing;
pub mod translate;
mod walk;

/// A layout, and what it leaves open.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The layout.
    pub geometry: Geometry,
    /// What could not be learnt and was assumed, a sentence each.
    pub assumed: Vec<String>,
}
