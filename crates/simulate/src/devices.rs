//! The table of devices that can stand in front of a drive.
//!
//! A device is a file with an [`Entry`], and a row in [`TABLE`].

mod declustered;
mod failures;
mod faults;
mod host;
mod mirror;
mod nvcache;
mod raid;
mod throttle;

use std::fmt;

use diskarm_core::sched::Knowledge;
use diskarm_core::stack::BoxedDevice;
use diskarm_core::text::{Args, InputError, nearest};
use diskarm_core::units::SectorCount;

use crate::model::Model;
use crate::tower::Behind;

const TABLE: &[Entry] = &[
    host::ENTRY,
    throttle::ENTRY,
    faults::ENTRY,
    mirror::ENTRY,
    raid::ZERO,
    raid::TEN,
    raid::FIVE,
    nvcache::ENTRY,
    declustered::ENTRY,
];

/// A row of the table.
pub(crate) struct Entry {
    pub info: DeviceInfo,
    /// Reads all parameters except the device behind it. The drive at the bottom is passed in, with
    /// the number of blocks that the device behind this one has.
    pub read: Read,
}

/// Reads the parameters of one device.
type Read = fn(&mut Args<'_, &Model>) -> Result<Box<dyn Front>, InputError>;

/// A device with its parameters, to be put in front of another.
pub(crate) trait Front: fmt::Debug + Send + Sync {
    /// Puts it in front of the devices that it takes from `behind`; `seed` is for what it does at
    /// random.
    ///
    /// # Errors
    /// A device that needs to know more than the one behind it provides.
    fn build(&self, behind: &Behind<'_>, seed: u64) -> Result<BoxedDevice, InputError>;

    /// How many devices it takes from `behind`, of which each may be of another model.
    fn members(&self) -> usize {
        1
    }

    /// Whether it only makes what is behind it behave differently, so that a drive with it in front
    /// is still one drive.
    fn is_behaviour(&self) -> bool {
        false
    }

    /// Its blocks, if the device behind it has this many.
    fn capacity(&self, behind: SectorCount) -> SectorCount {
        behind
    }
}

/// The description of a device in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Its name in `--drive` and in studies.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Its parameters as the user writes them, such as `rate=100/s`, and their meanings.
    pub parameters: &'static [(&'static str, &'static str)],
    /// What it must know about the device behind it.
    pub needs: Knowledge,
    /// What policies in front of it can learn; `None` if that is the same as from the device behind
    /// it.
    pub provides: Option<Knowledge>,
    /// An example of a tower with it.
    pub example: &'static str,
}

impl DeviceInfo {
    /// Whether the devices behind it may be of several models.
    pub(crate) fn takes_several(&self) -> bool {
        self.parameters.contains(&DRIVES)
    }

    /// The knowledge that it provides, as text for lists.
    pub const fn provided(&self) -> &'static str {
        match self.provides {
            Some(knowledge) => knowledge.name(),
            None => "what the device behind it provides",
        }
    }
}

/// A parameter as the user writes it, and its meaning.
pub(crate) type Parameter = (&'static str, &'static str);

/// The parameter that every device has.
pub(crate) const DRIVE: Parameter = (
    "drive=NAME",
    "the drive or device behind it: a drive in the catalogue, a .toml file, or a device with its \
     parameters",
);

/// The same of a device that has several devices behind it.
pub(crate) const DRIVES: Parameter = (
    "drive=NAME",
    "the drive or device behind it: a drive in the catalogue, a .toml file, or a device with its \
     parameters; may be given several times, up to once for each disk, for drives of equal size, \
     which are assigned to the disks in rotation",
);

/// The description of each device, in the order of the table.
pub fn infos() -> impl ExactSizeIterator<Item = &'static DeviceInfo> {
    TABLE.iter().map(|entry| &entry.info)
}

/// The entry called `name`.
///
/// # Errors
/// If there is none; the error uses `field` as the name of the field.
pub(crate) fn find(name: &str, field: &str) -> Result<&'static Entry, InputError> {
    let entry = TABLE.iter().find(|entry| entry.info.name == name);
    entry.ok_or_else(|| {
        let names: Vec<&str> = infos().map(|info| info.name).collect();
        let near = nearest(&name.to_lowercase(), &names);
        let near = near.map_or_else(String::new, |near| format!("\"{near}\" or "));
        let expected = format!("{near}one of {}", names.join(", "));
        InputError::new(field, name, expected)
    })
}

#[cfg(test)]
mod tests {
    use diskarm_core::device::Device;

    use super::*;

    #[test]
    fn every_example_can_be_built() {
        for info in infos() {
            let model = Model::assemble(info.example);
            let model = model.unwrap_or_else(|error| panic!("{}: {error}", info.name));
            assert_eq!(model.name, info.example);
            assert!(info.example.starts_with(&format!("{}(", info.name)));
            let tower = model.tower.as_ref().expect("a tower");
            let built = tower.build(&model, 0).expect("built before");
            assert_eq!(built.capacity(), model.disk().sectors, "{}", info.name);
        }
    }

    #[test]
    fn all_parameters_of_the_table_are_known() {
        for info in infos() {
            for (written, _) in info.parameters {
                let (key, _) = written.split_once('=').expect("key=value");
                let text = info.example.replacen('(', &format!("({key}=, "), 1);
                // An empty value is invalid, or there are two values, but the key is known.
                let error = Model::assemble(&text).expect_err("no value").to_string();
                assert!(error.contains(&format!("{}.{key}: ", info.name)), "{error}");
            }
        }
    }
}
