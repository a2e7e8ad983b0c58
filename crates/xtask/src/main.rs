//! Checks and generated documents of the workspace.
fn main() {}
