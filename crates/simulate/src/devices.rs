//! The table of devices that can be put in front of a drive.
//!
//! A device is a file with an [`Entry`], and a row of [`TABLE`]. If the device reports its own
//! metrics, the file also has a [`PartKind`], which is a row of [`PART_KINDS`].

mod declustered;
mod delay;
mod faults;
mod host;
mod members;
mod mirror;
mod nvcache;
mod raid;
mod throttle;

use diskarm_core::text::InputError;

use crate::device::{BUFFER, Entry};
pub use crate::device::{CellFormat, DeviceInfo, PartKind, PartMetric};

const TABLE: &[Entry] = &[
    host::ENTRY,
    throttle::ENTRY,
    delay::ENTRY,
    faults::ENTRY,
    mirror::ENTRY,
    raid::ZERO,
    raid::TEN,
    raid::FIVE,
    nvcache::ENTRY,
    declustered::ENTRY,
];

/// The kinds of parts that report metrics, in the order of tables and studies.
pub const PART_KINDS: &[PartKind] = &[
    members::DISK,
    nvcache::CACHE,
    BUFFER,
    members::REDUNDANCY,
    delay::METRICS,
];

/// Returns the description of each device, in the order of the table.
pub fn infos() -> impl ExactSizeIterator<Item = &'static DeviceInfo> {
    TABLE.iter().map(|entry| &entry.info)
}

/// Finds the entry called `name`, which is the value of `field` in errors.
pub(crate) fn find(name: &str, field: &str) -> Result<&'static Entry, InputError> {
    let entry = TABLE.iter().find(|entry| entry.info.name == name);
    entry.ok_or_else(|| {
        let names: Vec<&str> = infos().map(|info| info.name).collect();
        InputError::one_of(field, name, &names)
    })
}

#[cfg(test)]
mod tests {
    use diskarm_core::device::Device;

    use super::*;
    use crate::system::System;

    #[test]
    fn every_example_can_be_built() {
        for info in infos() {
            let system = System::parse(info.example);
            let system = system.unwrap_or_else(|error| panic!("{}: {error}", info.name));
            assert_eq!(system.name, info.example);
            assert!(info.example.starts_with(&format!("{}(", info.name)));
            let stack = system.stack.as_ref().expect("a stack");
            let built = stack.build(&system.drive, 0, None).expect("a valid stack");
            assert_eq!(built.capacity(), system.disk().sectors, "{}", info.name);
        }
    }

    #[test]
    fn all_parameters_of_the_table_are_known() {
        for info in infos() {
            for (example, _) in info.parameters {
                let (key, _) = example.split_once('=').expect("key=value");
                let text = info.example.replacen('(', &format!("({key}=, "), 1);
                // The value is empty or given twice, which is an error, but the key is known.
                let error = System::parse(&text).expect_err("no value").to_string();
                assert!(error.contains(&format!("{}.{key}: ", info.name)), "{error}");
            }
        }
    }
}
