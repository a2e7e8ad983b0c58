//! Towers: devices in front of a drive, parsed from text.

use std::fmt;

use diskarm_core::mechanics::Mechanism;
use diskarm_core::mirror::starting_angle;
use diskarm_core::sched::Knowledge;
use diskarm_core::text::{Args, Call, InputError};
use diskarm_core::tower::{BoxedDevice, Unknown};
use diskarm_core::units::{Angle, SectorCount};

use crate::devices::{self, DeviceInfo, Entry, Front};
use crate::model::Model;

/// Devices in front of a drive: `throttle(rate=100/s, drive=hp-c2247)`. Displays as the user wrote
/// it.
#[derive(Debug)]
pub struct Tower {
    text: String,
    /// The name of the drive behind them.
    drive: String,
    /// Drives of other models: the disks of the lowest device cycle through that one and these.
    others: Vec<Model>,
    levels: Vec<Level>,
}

#[derive(Debug)]
struct Level {
    info: &'static DeviceInfo,
    device: Box<dyn Front>,
}

/// Makes what stands in place of a drive of this mechanism with this seed: a device that knows
/// block numbers alone, as it has a queue of its own.
pub type Disk<'a> = dyn Fn(Mechanism, u64) -> BoxedDevice + 'a;

const BEHIND: &str = "the drive or device behind it, such as \"drive=hp-c2247\"";

/// The devices named in a text, outermost first, and the drive at the bottom.
pub(crate) struct Written<'t> {
    text: &'t str,
    calls: Vec<(&'static Entry, Call<'t>)>,
    pub drive: &'t str,
    /// Further drives of the innermost device.
    pub others: Vec<&'t str>,
}

/// Whether `text` is a tower rather than the name of a drive or a file.
pub(crate) fn is_tower(text: &str) -> bool {
    let name = text.split_whitespace().next();
    let is_device = || devices::infos().any(|info| Some(info.name) == name);
    !text.trim_end().ends_with(".toml") && (text.contains('(') || is_device())
}

impl<'t> Written<'t> {
    /// Finds the devices named in `text`, which is a tower.
    ///
    /// # Errors
    /// An unknown device, reported for `field`; a device with none behind it.
    pub fn read(text: &'t str, field: &str) -> Result<Self, InputError> {
        let (mut drive, mut others, mut calls) = (text, Vec::new(), Vec::new());
        let mut field = field.to_owned();
        while is_tower(drive) {
            let call = Call::read(drive, &field)?;
            let entry = devices::find(call.name, &field)?;
            let mut args = Args::of(&call, ());
            field = args.field("drive");
            let behind = call.given.iter().filter(|(key, _)| *key == "drive");
            let behind: Vec<&str> = behind.map(|(_, value)| *value).collect();
            if behind.len() < 2 || !entry.info.takes_several() {
                args.need("drive", BEHIND, |value| (!value.is_empty()).then_some(()))?;
            } else if let Some(other) = behind.iter().find(|name| !is_drive(name)) {
                let expected = "drives alone, as there are several";
                return Err(InputError::new(field, other, expected));
            }
            drive = behind.first().copied().unwrap_or_default();
            others = behind.into_iter().skip(1).collect();
            calls.push((entry, call));
        }
        Ok(Self {
            text,
            calls,
            drive,
            others,
        })
    }

    /// The tower on top of `drive`.
    ///
    /// # Errors
    /// An invalid parameter; a device that needs to know more than the one behind it provides;
    /// `others` of another size than the drive, or more than there are disks.
    pub fn over(self, drive: &Model, others: Vec<Model>) -> Result<Tower, InputError> {
        for other in &others {
            check_size(drive, other)?;
        }
        let mut levels = Vec::new();
        let mut behind = drive.clone();
        behind.sectors = drive.layout().sectors();
        for (entry, call) in self.calls.iter().rev() {
            let mut args = Args::of(call, &behind);
            let given = args.several("drive", BEHIND, |_| Some(()))?.len();
            let device = (entry.read)(&mut args)?;
            args.finish()?;
            if given > device.members() {
                let found = format_args!("{given} drives");
                let expected = format!("at most {}, one for each disk", device.members());
                return Err(InputError::shown(args.field("drive"), found, expected));
            }
            behind.sectors = device.capacity(behind.sectors);
            levels.push(Level {
                info: &entry.info,
                device,
            });
        }
        let tower = Tower {
            text: self.text.to_owned(),
            drive: self.drive.to_owned(),
            others,
            levels,
        };
        tower.build(drive, 0).map(|_| tower)
    }
}

impl Tower {
    /// The name of the drive behind all devices.
    pub(crate) fn drive(&self) -> &str {
        &self.drive
    }

    /// The drives of other models behind it.
    pub(crate) fn others(&self) -> &[Model] {
        &self.others
    }

    /// Whether it is one drive that behaves differently, without an array or a queue in front of
    /// it.
    pub(crate) fn is_one_drive(&self) -> bool {
        self.levels.iter().all(|level| level.device.is_behaviour())
    }

    /// Whether what stands directly in front of each drive changes how it behaves.
    pub(crate) fn changes_drives(&self) -> bool {
        let lowest = self.levels.first();
        lowest.is_some_and(|level| level.device.is_behaviour())
    }

    /// The blocks of the outermost device, in front of a drive of `sectors`.
    pub(crate) fn capacity(&self, sectors: SectorCount) -> SectorCount {
        let devices = self.levels.iter().map(|level| &level.device);
        devices.fold(sectors, |behind, device| device.capacity(behind))
    }

    /// Builds the devices in front of a drive of `model` for a run with this seed.
    ///
    /// # Errors
    /// A device that needs to know more than the one behind it provides.
    pub(crate) fn build(&self, model: &Model, seed: u64) -> Result<BoxedDevice, InputError> {
        self.behind(model, seed, None).device()
    }

    /// The same with `disk` in place of each drive.
    ///
    /// # Errors
    /// A device that needs to know more than the one behind it provides.
    pub(crate) fn build_over(
        &self,
        model: &Model,
        seed: u64,
        disk: &Disk<'_>,
    ) -> Result<BoxedDevice, InputError> {
        self.behind(model, seed, Some(disk)).device()
    }

    fn behind<'a>(&'a self, model: &'a Model, seed: u64, disk: Option<&'a Disk<'a>>) -> Behind<'a> {
        Behind {
            levels: &self.levels,
            model,
            others: &self.others,
            seed,
            origin: Angle::ZERO,
            disk,
        }
    }

    /// The error that a policy in front of the tower needs to know more than the tower provides.
    /// What hides it has a queue of its own, or its disks do.
    pub(crate) fn refused(&self, unknown: &Unknown) -> InputError {
        let (name, policy) = (hiding(&self.levels), &unknown.policy);
        InputError::message(format!(
            "{unknown}, which {name} does not provide; put it inside: {name}(policy={policy}, ...)"
        ))
    }
}

/// What stands behind a device: the lower devices of its tower, and the drive.
#[derive(Clone, Copy)]
pub(crate) struct Behind<'a> {
    levels: &'a [Level],
    model: &'a Model,
    /// Drives of other models.
    others: &'a [Model],
    seed: u64,
    /// The starting angle of the drive's platter.
    origin: Angle,
    /// What stands in place of the drive, if anything does.
    disk: Option<&'a Disk<'a>>,
}

impl Behind<'_> {
    /// Builds it.
    ///
    /// # Errors
    /// A device that needs to know more than the one behind it provides.
    pub fn device(&self) -> Result<BoxedDevice, InputError> {
        let Some((level, levels)) = self.levels.split_last() else {
            if let Some(disk) = self.disk {
                return Ok(disk(self.model.mechanism.at_angle(self.origin), self.seed));
            }
            let drive = self.model.drive_at(self.origin);
            return Ok(BoxedDevice::new(drive.seeded(self.seed)));
        };
        let behind = Behind { levels, ..*self };
        level.check_needs(behind.knowledge(), levels)?;
        let seed = seed_of(self.seed, levels.len());
        let built = level.device.build(&behind, seed)?;
        let known = self.knowledge();
        assert_eq!(built.knowledge(), known, "of {}", level.info.name);
        Ok(built)
    }

    /// Builds the member `index` of several: it has a seed of its own, and its platter a starting
    /// angle.
    ///
    /// # Errors
    /// A device that needs to know more than the one behind it provides.
    pub fn member(&self, index: u64) -> Result<BoxedDevice, InputError> {
        // Odd, and different from the factors of places, disks and streams.
        let seed = self.seed ^ (index + 1).wrapping_mul(0xe703_7ed1_a0b4_28db);
        let member = Behind {
            model: self.model_of(index),
            seed,
            origin: starting_angle(seed),
            ..*self
        };
        member.device()
    }

    /// The model of the member `index`: in turn, if it is a drive.
    fn model_of(&self, index: u64) -> &Model {
        let turn = index as usize % (self.others.len() + 1);
        let other = turn.checked_sub(1).filter(|_| self.levels.is_empty());
        other.map_or(self.model, |other| &self.others[other])
    }

    /// What policies in front of it can learn.
    fn knowledge(&self) -> Knowledge {
        let mut provided = self.levels.iter().rev().map(|level| level.info.provides);
        let hidden = provided.find_map(|provides| provides);
        hidden.unwrap_or(match self.disk {
            Some(_) => Knowledge::Blocks,
            None => Knowledge::TimesAndBuffer,
        })
    }

    /// The error that a policy in front of it needs to know more than it provides.
    pub fn refused(&self, unknown: &Unknown) -> InputError {
        refused(unknown, self.levels)
    }
}

impl Level {
    /// Checks that it needs to know no more than is `known` about the devices `behind` it.
    ///
    /// # Errors
    /// If it needs to know more.
    fn check_needs(&self, known: Knowledge, behind: &[Self]) -> Result<(), InputError> {
        let DeviceInfo { name, needs, .. } = *self.info;
        // A device that holds a policy checks the policy's needs when it is built.
        if needs == Knowledge::Inner || needs <= known {
            return Ok(());
        }
        let needs = needs.description();
        Err(hidden(&format!("device {name} needs {needs}"), behind))
    }
}

/// Whether `text` can be the name of a drive.
fn is_drive(text: &str) -> bool {
    !text.is_empty() && !is_tower(text)
}

/// Checks that drives of two models can be disks of one array.
fn check_size(drive: &Model, other: &Model) -> Result<(), InputError> {
    let [one, another] = [drive, other].map(Model::disk);
    if one == another {
        return Ok(());
    }
    let (sectors, bytes) = (another.sectors.0, another.sector.0);
    let found = format_args!("{:?}, {sectors} sectors of {bytes} bytes", other.name);
    let (sectors, bytes) = (one.sectors.0, one.sector.0);
    let expected = format!("{sectors} sectors of {bytes} bytes as {:?} has", drive.name);
    Err(InputError::shown("drive".to_owned(), found, expected))
}

/// The seeds of the towers of disks side by side: neighbours must not generate the same numbers
/// as the towers of another run.
pub fn disk_seeds(seed: u64) -> impl Iterator<Item = u64> + Send {
    (0..).map(move |disk: u64| seed ^ disk.wrapping_mul(0xa076_1d64_78bd_642f))
}

/// The seed of the device at `place`, counted from the bottom: devices of one kind must not
/// generate the same numbers.
fn seed_of(seed: u64, place: usize) -> u64 {
    // Odd, and different from the factor of streams.
    seed ^ (place as u64).wrapping_mul(0xd1b5_4a32_d192_ed03)
}

/// The error, with the name of the device that hides what is behind it.
fn refused(unknown: &Unknown, levels: &[Level]) -> InputError {
    hidden(&unknown.to_string(), levels)
}

/// The same, for what a device `lacks`.
fn hidden(lacks: &str, levels: &[Level]) -> InputError {
    let name = hiding(levels);
    InputError::message(format!("{lacks}, which {name} does not provide"))
}

/// The name of the device that hides what is behind it.
fn hiding(levels: &[Level]) -> &'static str {
    let mut outermost_first = levels.iter().rev();
    let hides = outermost_first.find(|level| level.info.provides.is_some());
    hides.map_or("the drive", |level| level.info.name)
}

impl fmt::Display for Tower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that needs positioning times.
    const TIMED: DeviceInfo = DeviceInfo {
        name: "timed",
        summary: "",
        parameters: &[],
        needs: Knowledge::Times,
        provides: None,
        example: "",
    };

    #[derive(Debug)]
    struct Nothing;

    impl Front for Nothing {
        fn build(&self, behind: &Behind<'_>, _: u64) -> Result<BoxedDevice, InputError> {
            behind.device()
        }
    }

    #[test]
    fn a_device_is_refused_what_is_hidden_from_it() {
        let error = |drive| {
            let mut model = Model::assemble(drive).expect("a tower");
            let tower = model.tower.take().expect("a tower");
            let mut tower = std::sync::Arc::into_inner(tower).expect("one owner");
            tower.levels.push(Level {
                info: &TIMED,
                device: Box::new(Nothing),
            });
            tower.build(&model, 0).err().map(|error| error.to_string())
        };
        assert_eq!(error("throttle(rate=1/s, drive=hp-c2247)"), None);
        let expected = "device timed needs positioning times, which host does not provide";
        assert_eq!(error("host(drive=hp-c2247)").as_deref(), Some(expected));
    }
}
