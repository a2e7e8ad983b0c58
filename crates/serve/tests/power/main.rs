//! Power cuts: the model predicts which data survive.

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
