//! The external scheduler and its background reads in virtual time.

mod background;
mod bench;
mod foreground;
