//! Scheduling policies: which pending request is served next.
//!
//! Each [`Policy`] owns the data structure that holds its pending requests, so that it can be as
//! fast as possible. It learns about the drive through [`Estimate`], which estimates how long a
//! request would take; inside a drive the estimate is exact. Policies are a layer below the drive,
//! because a drive's on-board queue contains one.
//!
//! A policy is written as its name, with optional parameters: `vscan(r=0.2, by=map)`. A
//! [`PolicyConfig`] is a parsed policy; it creates the policy for a given drive.
//!
//! # Ties, identical and overlapping requests
//! Requests that a policy cannot distinguish are served in order of arrival. Requests with the same
//! direction, first block and number of blocks differ only in age, and the older one is served
//! first: they complete in order of arrival, both in the host's queue (with or without merging) and
//! in the drive's. Exceptions are `satfdf`, `satfgdf` and `lbsatf`: the first two postpone an old
//! request until it is due and meanwhile may serve a younger identical one; the third sets aside a
//! request that does not fit into its batch, although a younger identical one may fit later.
//! Policies that only know block numbers cannot distinguish requests that merely begin at the same
//! block; other policies distinguish them by transfer, direction and buffer.
//!
//! Nothing protects overlapping requests. As in the classic studies, whose requests carry no data,
//! no policy checks for overlap: if the policy prefers it, a read overtakes an earlier write of the
//! same blocks, and the later of two writes reaches the media first. Only `fcfs` never reorders
//! them. This corresponds to unrestricted reordering in a drive (SPC, Control mode page, QUEUE
//! ALGORITHM MODIFIER 1): a host that needs an order submits the second request after the first
//! completes. Preserving the order of overlapping requests would make each policy differ from its
//! published form.
//!
//! Sequential requests stay separate unless the host's queue merges them ([`Host::merging`]).
//!
//! [`Host::merging`]: crate::host::Host::merging

mod aspctf_seq;
mod asptf;
mod bsatf;
mod clook;
mod cscan_la;
mod fcfs;
mod field;
mod forced;
mod gstf;
mod hol;
mod limited;
mod line;
mod look;
mod mq_deadline;
mod oat;
mod policy;
mod saptf;
mod satf_la;
mod satfdf;
mod satfgdf;
mod satfuf;
mod sptf;
mod sptf_cp;
mod sptf_sw;
mod sstf;
mod sw_sptf;
mod table;
mod vscan;
mod waiting;
mod wb_sptf;
mod wscan;
mod wstf;

pub(crate) use fcfs::Fcfs;
pub(crate) use oat::OatBatch;
pub use policy::{Estimate, Knowledge, Outlook, Pending, Policy, PolicyInfo, Rehearse, Shape};
pub(crate) use policy::{Rule, take};
pub(crate) use sptf::Satf;
pub use table::{INFOS, PolicyConfig};
