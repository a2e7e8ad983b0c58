//! Commands to a unit over one drive, and its responses.

mod bench;
mod blocks;
mod commands;
mod defects;
mod faults;
mod integrity;
mod physical;
mod realism;
mod reservations;
mod sg3_utils;
mod tasks;
