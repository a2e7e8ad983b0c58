//! Power cuts: what survives is what the model says.

mod client;
mod cuts;
mod killed;
mod model;
mod served;
mod wal;
