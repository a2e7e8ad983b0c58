//! An iSCSI target, mostly without sockets: an initiator's messages in, the target's messages out.

mod bench;
mod connections;
mod login;
mod long;
mod served;
mod session;
