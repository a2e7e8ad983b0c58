//! Commands to a unit over one drive, and what it answers.

mod bench;
mod commands;
mod defects;
mod integrity;
mod random;
mod realism;
mod reservations;
mod tasks;
