//! Background reads in the rotational gaps of foreground requests (lumb01, section 2).
//!
//! While a head would wait for the first sector of a foreground request, it can read other sectors
//! and still be in place in time. [`Tasks`] are the sets of blocks that are wanted in the
//! background; [`Tasks::search`] finds the read that gains most of them in a [`Gap`]. [`DirtySearch`]
//! finds writes that put dirty data on the media. The module knows tracks, angles and movements of
//! the arm, and nothing of commands: the scheduler in front of a drive and the one in its firmware
//! both use it.

mod best;
mod blocks;
mod chart;
mod dirty;
mod figures;
mod fill;
mod search;
mod tasks;

pub use blocks::BlockSet;
pub use dirty::DirtySearch;
pub use figures::{BackgroundStats, Delivery};
pub use search::{Gap, GapTransfer, SearchLimits, Track};
pub use tasks::{Claim, ClaimPart, TaskId, Tasks};
