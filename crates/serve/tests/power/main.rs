//! Power cuts: the model predicts which data survive.

mod aborted;
mod client;
mod cuts;
mod growth;
mod initiator;
mod killed;
mod limits;
mod model;
mod orders;
mod recorded;
mod served;
mod unit;
mod wal;
