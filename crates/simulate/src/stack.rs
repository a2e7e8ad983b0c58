//! Stacks of devices in front of a drive, parsed from text.

use std::fmt;

use diskarm_core::stack::{BoxedDevice, InsufficientKnowledge};
use diskarm_core::text::{Args, Call, InputError};
use diskarm_core::units::{Angle, SectorCount};

use crate::device::{Below, Context, Entry, Level, MakeDisk, hiding_device};
use crate::devices;
use crate::input::MAX_DISKS;
use crate::model::Model;

/// Devices in front of a drive: `throttle(rate=100/s, drive=hp-c2247)`. Displays as written.
#[derive(Debug)]
pub struct DeviceStack {
    text: String,
    pub(crate) drive: String,
    /// Drives of other models: the disks of the lowest device cycle through `drive` and these.
    pub(crate) others: Vec<Model>,
    /// The devices, from the lowest to the highest.
    levels: Vec<Level>,
    /// The number of its drives, spares included; at most [`MAX_DISKS`].
    pub(crate) drives: usize,
}

/// The maximum number of devices in front of each other.
const MAX_LEVELS: usize = 16;

const BELOW: &str = "the drive or device below it, such as \"drive=hp-c2247\"";

/// The devices in an expression, outermost first, and the drive at the bottom.
pub(crate) struct StackExpression<'t> {
    text: &'t str,
    calls: Vec<(&'static Entry, Call<'t>)>,
    pub drive: &'t str,
    /// Further drives of the innermost device.
    pub others: Vec<&'t str>,
}

/// Returns true if `text` is a stack of devices rather than the name of a drive or a file.
pub(crate) fn is_stack(text: &str) -> bool {
    let name = text.split_whitespace().next();
    let is_device = || devices::infos().any(|info| Some(info.name) == name);
    !text.trim_end().ends_with(".toml") && (text.contains('(') || is_device())
}

impl<'t> StackExpression<'t> {
    /// Finds the devices in `text`, a stack. Fails if a device is unknown or has nothing below it,
    /// or if there are too many in front of each other.
    pub fn read(text: &'t str, field: &str) -> Result<Self, InputError> {
        let (mut drive, mut others, mut calls) = (text, Vec::new(), Vec::new());
        let mut field = field.to_owned();
        while is_stack(drive) {
            let call = Call::read(drive, &field)?;
            let entry = devices::find(call.name, &field)?;
            if calls.len() == MAX_LEVELS {
                let found = format_args!("a device {}", call.name);
                let expected = format!("a drive, below at most {MAX_LEVELS} devices");
                return Err(InputError::shown(field, found, expected));
            }
            let mut args = Args::new(&call, ());
            field = args.field("drive");
            let given = call.parameters.iter().filter(|(key, _)| *key == "drive");
            let below: Vec<&str> = given.map(|(_, value)| *value).collect();
            if below.len() < 2 || !entry.info.takes_several() {
                args.need("drive", BELOW, |value| (!value.is_empty()).then_some(()))?;
            } else if let Some(other) = below.iter().find(|name| name.is_empty() || is_stack(name))
            {
                let expected = "a drive: only drives can be given several times";
                return Err(InputError::new(field, other, expected));
            }
            drive = below.first().copied().unwrap_or_default();
            others = below.into_iter().skip(1).collect();
            calls.push((entry, call));
        }
        Ok(Self {
            text,
            calls,
            drive,
            others,
        })
    }

    /// Reads the parameters of the devices for a stack in front of `drive`. Fails for an invalid
    /// parameter, an unmet need, too many drives or blocks, or `others` that differ in size or
    /// outnumber the disks.
    pub fn resolve(self, drive: &Model, others: Vec<Model>) -> Result<DeviceStack, InputError> {
        for other in &others {
            check_size(drive, other)?;
        }
        let (mut levels, mut drives) = (Vec::new(), 1_usize);
        let mut sectors = drive.layout().sectors();
        for (entry, call) in self.calls.iter().rev() {
            let mut args = Args::new(call, Context { drive, sectors });
            let given = args.several("drive", BELOW, |_| Some(()))?.len();
            let config = (entry.read)(&mut args)?;
            args.finish()?;
            if given > config.members() {
                let found = format_args!("{given} drives");
                let expected = format!("at most {}, one for each disk", config.members());
                return Err(InputError::shown(args.field("drive"), found, expected));
            }
            // Before anything is built.
            drives = drives.saturating_mul(config.copies());
            if drives > usize::from(MAX_DISKS) {
                let expected = format!("at most {MAX_DISKS}");
                let found = format_args!("{drives} drives");
                return Err(InputError::shown(call.name, found, expected));
            }
            sectors = config.capacity(sectors);
            levels.push(Level {
                info: &entry.info,
                config,
            });
        }
        let stack = DeviceStack {
            text: self.text.to_owned(),
            drive: self.drive.to_owned(),
            others,
            levels,
            drives,
        };
        // Checks that all needs are met.
        stack.build(drive, 0, None)?;
        Ok(stack)
    }
}

impl DeviceStack {
    /// Returns true if the stack is one drive that behaves differently, without array or queue.
    pub(crate) fn is_one_drive(&self) -> bool {
        self.levels.iter().all(|level| level.config.is_behaviour())
    }

    pub(crate) fn changes_drives(&self) -> bool {
        let lowest = self.levels.first();
        lowest.is_some_and(|level| level.config.is_behaviour())
    }

    pub(crate) fn capacity(&self, sectors: SectorCount) -> SectorCount {
        let configs = self.levels.iter().map(|level| &level.config);
        configs.fold(sectors, |below, config| config.capacity(below))
    }

    /// Builds the devices in front of `drive`, or of replacements made by `disk`, for a run with
    /// this seed. Fails if a device needs to know more than the one below it provides.
    pub(crate) fn build(
        &self,
        drive: &Model,
        seed: u64,
        disk: Option<&MakeDisk<'_>>,
    ) -> Result<BoxedDevice, InputError> {
        let below = Below {
            levels: &self.levels,
            drive,
            others: &self.others,
            seed,
            origin: Angle::ZERO,
            disk,
        };
        below.device()
    }

    /// Returns the error for a policy in front of the stack that needs to know more than the stack
    /// provides. The device that hides this knowledge has a queue itself, or its disks do.
    pub(crate) fn refused(&self, unknown: &InsufficientKnowledge) -> InputError {
        let (name, policy) = (hiding_device(&self.levels), &unknown.policy);
        InputError::message(format!(
            "{unknown}, which {name} does not provide; put the policy inside: \
             {name}(policy={policy}, ...)"
        ))
    }
}

/// Checks that drives of two models can be disks of the same array.
fn check_size(drive: &Model, other: &Model) -> Result<(), InputError> {
    let [drive_size, other_size] = [drive, other].map(Model::disk);
    if drive_size == other_size {
        return Ok(());
    }
    let (sectors, bytes) = (other_size.sectors.0, other_size.sector.0);
    let found = format_args!("{:?}, {sectors} sectors of {bytes} bytes", other.name);
    let (sectors, bytes) = (drive_size.sectors.0, drive_size.sector.0);
    let expected = format!("{sectors} sectors of {bytes} bytes, like {:?}", drive.name);
    Err(InputError::shown("drive".to_owned(), found, expected))
}

impl fmt::Display for DeviceStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use diskarm_core::sched::Knowledge;

    use super::*;
    use crate::device::{Config, DeviceInfo};
    use crate::system::System;

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
    struct PassThrough;

    impl Config for PassThrough {
        fn build(&self, below: &Below<'_>, _: u64) -> Result<BoxedDevice, InputError> {
            below.device()
        }
    }

    #[test]
    fn a_device_that_needs_hidden_knowledge_is_refused() {
        let error = |drive| {
            let mut system = System::parse(drive).expect("a stack");
            let stack = system.stack.take().expect("a stack");
            let mut stack = std::sync::Arc::into_inner(stack).expect("one owner");
            stack.levels.push(Level {
                info: &TIMED,
                config: Box::new(PassThrough),
            });
            let built = stack.build(&system.drive, 0, None);
            built.err().map(|error| error.to_string())
        };
        assert_eq!(error("throttle(rate=1/s, drive=hp-c2247)"), None);
        let expected = "device timed needs positioning times, which host does not provide";
        assert_eq!(error("host(drive=hp-c2247)").as_deref(), Some(expected));
    }
}
