//! Layouts that keep two copies of all data on an array of disks (liu05, chapter 9).
//!
//! A [`Layout`] says where the two copies of a block are ([`Layout::place`]). All else follows from
//! this one function by enumeration: which failures lose data ([`Survival`]), what each disk serves
//! ([`Loads`]), and when the first data are lost ([`DataLoss`]). [`equations`] has what the thesis
//! prints; tests compare the two.
//!
//! Disks are numbered from 0. Blocks are striped over all disks, so that each has as many primary
//! copies as any other, and as many secondary ones.

pub mod comparison;
mod data_loss;
pub mod equations;
mod loads;
mod survival;

pub use data_loss::DataLoss;
pub use diskarm_core::declustered::{
    CopyDisks, DiskSet, Layout, LayoutError, LayoutKind, MAX_DISKS,
};
pub use loads::{Load, Loads};
pub use survival::Survival;

#[cfg(test)]
mod tests;
