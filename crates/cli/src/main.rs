//! Command line of Diskarm.
fn main() {}
