//! An iSCSI target, mostly without sockets: an initiator's messages in, the target's messages out.

mod bench;
#[path = "../clients/channel.rs"]
mod channel;
mod connections;
mod login;
mod long;
mod memory;
mod pings;
mod served;
mod session;
