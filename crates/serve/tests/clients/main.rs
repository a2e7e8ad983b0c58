//! Clients that are silent, slow or hostile, and faults in the server, without sockets and in
//! virtual time.

mod channel;
mod exchanges;
mod faults;
mod silence;
