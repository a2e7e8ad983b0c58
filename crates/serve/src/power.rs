//! Power cuts, and which data survive them.
//!
//! A drive acknowledges a write once the data are in its cache, and loses them if the power fails
//! before they reach the media. A [`DataPath`] keeps the previous content of each sector until
//! the write is safe; the model of the device reports when data reach the media. A [`PowerCut`]
//! reverts the writes that do not survive.

mod cache;
mod data;
mod switch;

pub use cache::{Losses, PendingWrite, PowerCut, WriteId};
pub use data::{DataPath, MAX_UNACKNOWLEDGED};
pub use switch::{
    AFFECTED, InjectedFault, InjectedFaults, PowerSwitch, Trigger, TriggerEvent, TriggerStage,
    affected_name,
};
