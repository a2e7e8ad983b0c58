//! An iSCSI target without sockets: an initiator's messages in, the target's messages out.

mod bench;
mod login;
mod session;
