//! The external scheduler and its background reads, in virtual and in real time.

mod array;
mod away;
mod background;
mod bench;
#[path = "../../src/dice.rs"]
mod dice;
mod foreground;
mod live;
mod predicted;
mod recorded;
