//! A sans-I/O model of mechanical disk drives, its schedulers and its engine.
//!
//! The modules stand on one another in this order, and an import goes down only:
//! `units` < `request` < `spec` < `geometry` < `mechanics` < `buffer` < `drive` < `sched` < `host` <
//! `workload` < `engine` < `stats`.

pub mod geometry;
pub mod request;
pub mod spec;
pub mod stats;
pub mod units;
