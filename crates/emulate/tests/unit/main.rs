//! Commands to a unit over one drive, and what it answers.

mod bench;
mod blocks;
mod commands;
mod defects;
mod faults;
mod integrity;
mod physical;
mod random;
mod realism;
mod reservations;
mod sg3_utils;
mod tasks;
mod writes;
