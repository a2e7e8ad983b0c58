//! Background reads in the rotational gaps of foreground requests (lumb01, section 2).
//!
//! While a head would wait for the first sector of a foreground request, it can read other sectors
//! and still arrive in time. [`Tasks`] are sets of blocks that are wanted in the background.
//! [`Tasks::search`] finds the read in a [`Gap`] that yields the most of them, and a [`GapPlanner`]
//! plans all reads of a gap. [`DirtySearch`] finds writes of dirty data. The module works with
//! tracks, angles and arm movements rather than commands, so that both a scheduler in front of a
//! drive and the drive's firmware can use it.

mod block_set;
mod dirty;
mod gap;
mod plan;
mod search;
mod tasks;
mod track_map;

pub use block_set::BlockSet;
pub use dirty::DirtySearch;
pub use gap::{Gap, GapTransfer, SearchLimits, Track};
pub use plan::{GapPlan, GapPlanner, LeadTarget, PlanOutcome};
pub use tasks::{BackgroundStats, Claim, ClaimPart, Delivery, TaskId, Tasks};
