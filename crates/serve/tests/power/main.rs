//! Power cuts: what survives is what the model says.

mod aborted;
mod client;
mod cuts;
mod initiator;
mod killed;
mod model;
mod recorded;
mod served;
mod unit;
mod wal;
