//! The interface between the table of devices and the stacks built from them, and the metrics of a
//! stack's parts, in one list that serves JSON, tables and studies.

use std::fmt;

use diskarm_core::device::Work;
use diskarm_core::mechanics::Mechanism;
use diskarm_core::mirror::starting_angle;
use diskarm_core::sched::Knowledge;
use diskarm_core::stack::{BoxedDevice, InsufficientKnowledge};
use diskarm_core::text::{Args, InputError};
use diskarm_core::units::{Angle, Bytes, SectorCount};
use diskarm_core::workload::Disk;

use crate::model::Model;

pub(crate) struct Entry {
    pub info: DeviceInfo,
    /// Reads all parameters except the device below.
    pub read: ReadParameters,
}

pub(crate) type ReadParameters = fn(&mut Parameters<'_>) -> Result<Box<dyn Config>, InputError>;

/// The parameters of a device as written, with the values that they may depend on.
pub(crate) type Parameters<'a> = Args<'a, Context<'a>>;

/// The values that the parameters of a device may depend on.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    /// The drive at the bottom of the stack.
    pub drive: &'a Model,
    /// The number of blocks of the device below this one.
    pub sectors: SectorCount,
}

impl Context<'_> {
    pub fn disk(&self) -> Disk {
        Disk {
            sectors: self.sectors,
            sector: Bytes(u64::from(self.drive.spec.geometry.sector_bytes)),
        }
    }

    /// Returns true if the device below is a single drive.
    pub fn is_drive(&self) -> bool {
        self.sectors == self.drive.layout().sectors()
    }
}

/// A device with its parameters, ready to be put in front of others.
pub(crate) trait Config: fmt::Debug + Send + Sync {
    /// Builds the members from `below`, and the device in front of them; `seed` seeds its random
    /// behaviour. Fails if the device needs to know more than the one below it provides.
    fn build(&self, below: &Below<'_>, seed: u64) -> Result<BoxedDevice, InputError>;

    /// Returns the number of the device's members, whose models may differ.
    fn members(&self) -> usize {
        1
    }

    /// Returns the number of copies of the device below, with all spares.
    fn copies(&self) -> usize {
        self.members()
    }

    /// Returns true if the device only changes how one drive behaves.
    fn is_behaviour(&self) -> bool {
        false
    }

    /// Returns the number of the device's blocks if the device below has `sectors`.
    fn capacity(&self, sectors: SectorCount) -> SectorCount {
        sectors
    }
}

/// The description of a device in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Its name in `--drive` and in studies.
    pub name: &'static str,
    /// A one-line summary for lists.
    pub summary: &'static str,
    /// Examples of its parameters, such as `rate=100/s`, and their meanings.
    pub parameters: &'static [(&'static str, &'static str)],
    /// The knowledge that it needs about the device below it.
    pub needs: Knowledge,
    /// The knowledge that it provides to policies in front of it; `None` if it hides nothing.
    pub provides: Option<Knowledge>,
    /// An example of a stack with this device.
    pub example: &'static str,
}

impl DeviceInfo {
    /// Returns true if the devices below it may be of several models.
    pub(crate) fn takes_several(&self) -> bool {
        self.parameters.contains(&DRIVES)
    }

    /// Returns a description of the knowledge that it provides, for lists.
    pub const fn provided(&self) -> &'static str {
        match self.provides {
            Some(knowledge) => knowledge.name(),
            None => "what the device below it provides",
        }
    }
}

/// An example of a parameter, such as `rate=100/s`, and its meaning.
pub(crate) type Parameter = (&'static str, &'static str);

/// The parameter that every device has.
pub(crate) const DRIVE: Parameter = (
    "drive=NAME",
    "the drive or device below it: a drive in the catalogue, a .toml file, or a device with its \
     parameters",
);

/// The same parameter for devices with several members.
pub(crate) const DRIVES: Parameter = (
    "drive=NAME",
    "the drive or device below it: a drive in the catalogue, a .toml file, or a device with its \
     parameters; may be given several times, at most once for each disk, to combine drives of \
     equal size: they are assigned to the disks in rotation",
);

#[derive(Debug)]
pub(crate) struct Level {
    pub info: &'static DeviceInfo,
    pub config: Box<dyn Config>,
}

/// Makes a device with its own queue, in place of a drive with this mechanism and seed.
pub type MakeDisk<'a> = dyn Fn(Mechanism, u64) -> BoxedDevice + 'a;

/// The devices below a level of a stack, and the drive.
#[derive(Clone, Copy)]
pub(crate) struct Below<'a> {
    /// The devices, from the lowest to the highest.
    pub levels: &'a [Level],
    pub drive: &'a Model,
    /// Drives of other models.
    pub others: &'a [Model],
    pub seed: u64,
    /// The starting angle of the drive's platter.
    pub origin: Angle,
    /// Makes replacements for the drives, if given.
    pub disk: Option<&'a MakeDisk<'a>>,
}

impl Below<'_> {
    /// Builds the whole stack. Fails if a device needs to know more than the one below it provides.
    pub fn device(&self) -> Result<BoxedDevice, InputError> {
        let Some((level, levels)) = self.levels.split_last() else {
            if let Some(disk) = self.disk {
                return Ok(disk(self.drive.mechanism.at_angle(self.origin), self.seed));
            }
            let drive = self.drive.drive_starting_at(self.origin);
            return Ok(BoxedDevice::new(drive.with_seed(self.seed)));
        };
        let below = Below { levels, ..*self };
        level.check_needs(below.knowledge(), levels)?;
        let seed = level_seed(self.seed, levels.len());
        let built = level.config.build(&below, seed)?;
        assert_eq!(built.knowledge(), self.knowledge(), "{}", level.info.name);
        Ok(built)
    }

    /// Builds member `index` of several, with its own seed and starting angle.
    pub fn member(&self, index: u64) -> Result<BoxedDevice, InputError> {
        // This factor is odd, and differs from those of levels, disks and streams.
        let seed = self.seed ^ (index + 1).wrapping_mul(0xe703_7ed1_a0b4_28db);
        let member = Below {
            drive: self.drive_of(index),
            seed,
            origin: starting_angle(seed),
            ..*self
        };
        member.device()
    }

    /// Returns the model of member `index`: models alternate if the members are drives.
    fn drive_of(&self, index: u64) -> &Model {
        let turn = index as usize % (self.others.len() + 1);
        let other = turn.checked_sub(1).filter(|_| self.levels.is_empty());
        other.map_or(self.drive, |other| &self.others[other])
    }

    /// Returns the knowledge that is available to policies in front of the devices.
    fn knowledge(&self) -> Knowledge {
        let mut provided = self.levels.iter().rev().map(|level| level.info.provides);
        let hidden = provided.find_map(|provides| provides);
        hidden.unwrap_or(match self.disk {
            Some(_) => Knowledge::Blocks,
            None => Knowledge::TimesAndBuffer,
        })
    }

    /// Returns the error for a policy that needs to know more than the devices below it provide.
    pub fn refused(&self, unknown: &InsufficientKnowledge) -> InputError {
        not_provided(&unknown.to_string(), self.levels)
    }
}

impl Level {
    /// Checks that the device needs no more knowledge than is `known` about the levels `below` it.
    fn check_needs(&self, known: Knowledge, below: &[Self]) -> Result<(), InputError> {
        let DeviceInfo { name, needs, .. } = *self.info;
        // Building a device with a policy checks the needs of the policy.
        if needs == Knowledge::Inner || needs <= known {
            return Ok(());
        }
        let needs = needs.description();
        Err(not_provided(&format!("device {name} needs {needs}"), below))
    }
}

/// Returns the seed of the device at `level`, counted from the bottom; all seeds differ.
fn level_seed(seed: u64, level: usize) -> u64 {
    // This factor is odd, and differs from that of streams.
    seed ^ (level as u64).wrapping_mul(0xd1b5_4a32_d192_ed03)
}

/// Returns the error for a need that `levels` do not meet.
fn not_provided(need: &str, levels: &[Level]) -> InputError {
    let name = hiding_device(levels);
    InputError::message(format!("{need}, which {name} does not provide"))
}

/// Returns the name of the outermost device that hides what is below it.
pub(crate) fn hiding_device(levels: &[Level]) -> &'static str {
    let mut outermost_first = levels.iter().rev();
    let hides = outermost_first.find(|level| level.info.provides.is_some());
    hides.map_or("the drive", |level| level.info.name)
}

/// A kind of part, with its metrics.
#[derive(Debug)]
pub struct PartKind {
    /// Its name, as [`Work::kind`] returns it.
    pub name: &'static str,
    /// Its metrics, in the order in which JSON lists them.
    pub metrics: &'static [PartMetric],
}

/// A number that describes a part. In studies, and in JSON for several runs, it is a mean.
#[derive(Clone, Copy, Debug)]
pub struct PartMetric {
    /// Its key in JSON.
    pub key: &'static str,
    /// The heading of its column in tables, and its format; `None` if it is not in tables.
    pub cell: Option<(&'static str, CellFormat)>,
    /// The name of its column in studies, with the unit at the end, and its title in charts.
    pub column: Option<(&'static str, &'static str)>,
    /// Returns its value in the unit of its name; `None` if it does not exist.
    pub value: fn(&Work) -> Option<f64>,
}

/// The format of a number in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellFormat {
    /// A whole number, without decimals.
    Count,
    /// A share from 0 to 1, shown as a percentage.
    Percent,
    /// A number with three decimals.
    Decimals,
}

/// Makes the metrics of the parts that match `$part`: the key and the value of each, the heading
/// and format of its cell, and the name and title of its column, if it has them.
macro_rules! metrics {
    ($part:pat => $(
        $key:literal => $value:expr
            $(, cell $head:literal $format:ident)?
            $(, column $name:literal $title:literal)?;
    )*) => {
        &[$($crate::device::PartMetric {
            key: $key,
            cell: metrics!(@option $(($head, $crate::device::CellFormat::$format))?),
            column: metrics!(@option $(($name, $title))?),
            value: |work| match work {
                $part => $value,
                _ => None,
            },
        }),*]
    };
    (@option) => { None };
    (@option $some:expr) => { Some($some) };
}
pub(crate) use metrics;

/// The buffer of a drive whose write cache chooses what to destage.
pub(crate) const BUFFER: PartKind = PartKind {
    name: "buffer",
    metrics: metrics! { Work::Buffer(w) =>
        "destaged_blocks" => Some(w.destaged.0 as f64), cell "destaged" Count;
        "destaged_in_gaps_blocks" => Some(w.in_gaps.0 as f64), cell "in gaps" Count;
        "writes_in_gaps" => Some(w.writes_in_gaps as f64), cell "gap writes" Count;
    },
};
