//! The external scheduler and its background reads, in virtual and in real time.

mod array;
mod away;
mod background;
mod bench;
mod foreground;
mod live;
mod predicted;
mod recorded;
