//! Tests of the drive, the policies and the engine: examples worked by hand, a slow second
//! implementation, properties of random drives, and closed forms.

mod aspctf_seq;
mod attributes;
mod bounds;
mod bus;
mod chance;
mod closed_forms;
mod edges;
mod follow;
mod forcing;
mod hits;
mod larger_than_segment;
mod merging;
mod mirror;
mod policies;
mod predictions;
mod properties;
mod queue;
mod random;
mod read_ahead;
mod reads;
mod seek;
mod sequences;
mod settle;
mod stepwise;
mod stepwise_agrees;
mod thresholds;
mod ties;
mod times;
mod times_bounds;
mod tiny;
mod tower;
mod whole_track;
mod wrappers;
mod write_cache;
mod writes;
