//! Towers: devices in front of a drive, as somebody wrote them.

use std::fmt;

use diskarm_core::drive::Drive;
use diskarm_core::text::{Args, Call, InputError};
use diskarm_core::tower::{BoxedDevice, Unknown};
use diskarm_core::units::Angle;

use crate::devices::{self, Entry, Front};
use crate::model::Model;

/// Devices in front of a drive: `throttle(rate=100/s, drive=hp-c2247)`. Displays as it was written.
#[derive(Debug)]
pub struct Tower {
    text: String,
    /// The lowest first.
    levels: Vec<Level>,
}

#[derive(Debug)]
struct Level {
    info: &'static devices::DeviceInfo,
    device: Box<dyn Front>,
}

const BEHIND: &str = "what stands behind it, such as \"drive=hp-c2247\"";

/// The devices that a text names, the outermost first, and the drive at the bottom.
pub(crate) struct Written<'t> {
    text: &'t str,
    calls: Vec<(&'static Entry, Call<'t>)>,
    pub drive: &'t str,
}

/// Whether `text` is a tower, and not the name of a drive or of a file.
pub(crate) fn is_tower(text: &str) -> bool {
    let is_device = || devices::infos().any(|info| info.name == text.trim());
    !text.trim_end().ends_with(".toml") && (text.contains('(') || is_device())
}

impl<'t> Written<'t> {
    /// Finds the devices that `text` names, which is a tower.
    ///
    /// # Errors
    /// An unknown device, which the error calls `field`; one without a device behind it.
    pub fn read(text: &'t str, field: &str) -> Result<Self, InputError> {
        let (mut drive, mut calls) = (text, Vec::new());
        let mut field = field.to_owned();
        while is_tower(drive) {
            let entry = devices::find(Call::name_of(drive), &field)?;
            let call = Call::read(drive, &field)?;
            let mut args = Args::of(&call, ());
            args.need("drive", BEHIND, |value| (!value.is_empty()).then_some(()))?;
            field = args.field("drive");
            let behind = call.given.iter().find(|(key, _)| *key == "drive");
            drive = behind.map_or("", |(_, value)| value);
            calls.push((entry, call));
        }
        Ok(Self { text, calls, drive })
    }

    /// The tower, over `drive`.
    ///
    /// # Errors
    /// A wrong parameter; a device that needs to know what the one behind it does not.
    pub fn over(self, drive: &Model) -> Result<Tower, InputError> {
        let mut levels = Vec::new();
        for (entry, call) in self.calls.iter().rev() {
            let mut args = Args::of(call, drive);
            args.need("drive", BEHIND, |_| Some(()))?;
            let device = (entry.read)(&mut args)?;
            args.finish()?;
            levels.push(Level {
                info: &entry.info,
                device,
            });
        }
        let tower = Tower {
            text: self.text.to_owned(),
            levels,
        };
        let trial = Drive::with_layout(&drive.spec, drive.layout.clone(), Angle::ZERO);
        tower.build(trial, 0).map(|_| tower)
    }
}

impl Tower {
    /// The devices, in front of `drive`, for a run with this seed.
    ///
    /// # Errors
    /// A device that needs to know what the one behind it does not.
    pub(crate) fn build(&self, drive: Drive, seed: u64) -> Result<BoxedDevice, InputError> {
        let mut built = BoxedDevice::new(drive);
        for (place, level) in self.levels.iter().enumerate() {
            let behind = &self.levels[..place];
            let front = level.device.build(built, seed);
            built = front.map_err(|unknown| refused(&unknown, behind))?;
        }
        Ok(built)
    }

    /// The error that a policy in front of the tower needs to know more than it does.
    pub(crate) fn refused(&self, unknown: &Unknown) -> InputError {
        refused(unknown, &self.levels)
    }
}

/// Names the device that hides what is behind it.
fn refused(unknown: &Unknown, levels: &[Level]) -> InputError {
    let hides = levels
        .iter()
        .rev()
        .find(|level| level.info.provides.is_some());
    let name = hides.map_or("the drive", |level| level.info.name);
    InputError::message(format!("{unknown}, which {name} does not provide"))
}

impl fmt::Display for Tower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
