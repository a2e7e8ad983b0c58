//! Which build of the program this is.

/// The version of the program, which is part of what a run depends on.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A digest of the sources that simulate, as two states of the program may bear one version.
pub const BUILD: &str = env!("DISKARM_SOURCES");

/// Both.
pub const VERSION_AND_BUILD: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (sources ",
    env!("DISKARM_SOURCES"),
    ")"
);
