//! The version and the build of the program.

/// The version of the program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A digest of the sources that runs depend on: builds of one version may differ.
pub const BUILD: &str = env!("DISKARM_SOURCES");

/// The version and the build.
pub const VERSION_AND_BUILD: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (sources ",
    env!("DISKARM_SOURCES"),
    ")"
);
