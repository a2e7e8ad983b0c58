//! A sans-I/O model of mechanical disk drives, its schedulers and its engine.
//!
//! The modules stand on one another in this order, and an import goes down only:
//! `units` < `request` < `stats` < `spec` < `geometry` < `mechanics` < `sched` < `buffer` <
//! `drive` < `predict` < `host` < `workload` < `engine` < `report` < `validate`.

pub mod buffer;
pub mod drive;
pub mod engine;
pub mod geometry;
pub mod host;
pub mod mechanics;
pub mod predict;
pub mod report;
pub mod request;
pub mod sched;
pub mod spec;
pub mod stats;
pub mod units;
pub mod validate;
pub mod workload;
