//! The simulated system: a drive, perhaps with a stack of devices in front of it.

use std::sync::Arc;

use diskarm_core::device::Device;
use diskarm_core::drive::Drive;
use diskarm_core::host::Host;
use diskarm_core::stack::{BoxedDevice, InsufficientKnowledge};
use diskarm_core::units::{Bytes, SectorCount};
use diskarm_core::workload::{Disk, Workload};
use diskarm_drives::text::Edit;

use crate::device::MakeDisk;
use crate::error::Error;
use crate::input::MAX_DISKS;
use crate::model::{Model, changed_name, not_single, workload};
use crate::policies::MakePolicy;
use crate::stack::{DeviceStack, StackExpression, is_stack};

/// A drive, or a stack of devices in front of one or several drives.
#[derive(Clone, Debug)]
pub struct System {
    /// The name that the caller used: the name of the drive, or the expression of the stack.
    pub name: String,
    /// The model of the drive, or of the first disk of an array.
    pub drive: Model,
    /// The devices in front of the drive.
    pub stack: Option<Arc<DeviceStack>>,
    /// The blocks that requests may address.
    pub sectors: SectorCount,
}

impl From<Model> for System {
    fn from(drive: Model) -> Self {
        Self {
            name: drive.name.clone(),
            sectors: drive.layout().sectors(),
            drive,
            stack: None,
        }
    }
}

impl System {
    /// Parses the name of a drive, as [`Model::find`] accepts it, or a stack of devices such as
    /// `throttle(rate=100/s, drive=hp-c2247)`. Fails like [`Model::find`], for an unknown device or
    /// parameter, or for a policy that needs to know more than the device below it provides.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if !is_stack(text) {
            return Model::find(text).map(Self::from);
        }
        let expression = read_stack(text)?;
        Self::new(Model::find(expression.drive)?, expression)
    }

    fn new(drive: Model, expression: StackExpression<'_>) -> Result<Self, Error> {
        let others = expression.others.iter().map(|name| Model::find(name));
        let others = others.collect::<Result<Vec<_>, _>>()?;
        let resolved = expression.resolve(&drive, others);
        let stack = resolved.map_err(|error| error.in_argument("drive"))?;
        Ok(Self {
            name: stack.to_string(),
            sectors: stack.capacity(drive.layout().sectors()),
            stack: Some(Arc::new(stack)),
            drive,
        })
    }

    /// Returns the name of the drive, without the devices in front of it.
    pub fn drive_name(&self) -> &str {
        let stack = self.stack.as_ref();
        stack.map_or(&self.name, |stack| &stack.drive)
    }

    /// Returns the other models of an array's disks, which cycle through [`Self::drive`] and these.
    pub fn others(&self) -> &[Model] {
        self.stack.as_ref().map_or(&[], |stack| &stack.others)
    }

    /// Returns the maximum number of copies of the system in a simulation.
    pub(crate) fn max_copies(&self) -> u16 {
        let drives = self.stack.as_ref().map_or(1, |stack| stack.drives);
        MAX_DISKS / drives as u16
    }

    /// Returns true if runs with the same requests depend on their seeds.
    pub fn is_random(&self) -> bool {
        self.stack.is_some() || self.drive.spec.is_random()
    }

    /// Sets values like [`Model::with_values`]. Also fails for drives of several models.
    pub fn with_values(&self, edits: &[Edit], origin: &str) -> Result<Self, Error> {
        let drive = self.drive.with_values(edits, origin)?;
        let name = format!("{} with {origin}", self.name);
        let changed = self.with_drive(drive)?;
        Ok(Self { name, ..changed })
    }

    /// Like [`Self::with_values`], but names the system after the edits, if any.
    pub fn with_edits(self, edits: &[Edit], origin: &str) -> Result<Self, Error> {
        if edits.is_empty() {
            return Ok(self);
        }
        let name = changed_name(&self.name, edits);
        let mut changed = self.with_values(edits, origin)?;
        if changed.stack.is_none() {
            changed.drive.name.clone_from(&name);
        }
        Ok(Self { name, ..changed })
    }

    /// Puts the same devices in front of another `drive`. Fails if the devices do not fit the
    /// drive, or if the stack has drives of several models.
    pub fn with_drive(&self, drive: Model) -> Result<Self, Error> {
        let Some(stack) = &self.stack else {
            return Ok(Self::from(drive));
        };
        if !stack.others.is_empty() {
            let expected = "drives of one model, so that its specification can be changed";
            return Err(Error::argument("drive", stack.to_string(), expected));
        }
        Self::with_devices(drive, &stack.to_string())
    }

    /// Puts the devices of the expression `stack` in front of `drive` instead of the drive that it
    /// names. Fails if the expression is not a stack, or if the devices do not fit the drive.
    pub fn with_devices(drive: Model, stack: &str) -> Result<Self, Error> {
        Self::new(drive, read_stack(stack)?)
    }

    /// Returns the drive. Fails if there are devices in front of it; the error names `argument`.
    pub fn single_drive(&self, argument: &'static str) -> Result<&Model, Error> {
        match self.stack {
            None => Ok(&self.drive),
            Some(_) => Err(not_single(argument, &self.name)),
        }
    }

    /// Returns true if the system is one drive, perhaps with faults or delays.
    pub fn is_one_drive(&self) -> bool {
        let stack = self.stack.as_ref();
        stack.is_none_or(|stack| stack.is_one_drive())
    }

    /// Returns the number and size of the blocks that requests may address.
    pub fn disk(&self) -> Disk {
        Disk {
            sectors: self.sectors,
            sector: Bytes(u64::from(self.drive.spec.geometry.sector_bytes)),
        }
    }

    /// Parses `text` as a workload for this system, like [`workload`](crate::workload).
    pub fn workload(&self, text: &str) -> Result<Workload, Error> {
        workload(text, self.disk())
    }

    /// Builds the system behind a host's queue in the order of `policy`. `seed` is for random
    /// behaviour. Fails if the policy needs to know more than the devices provide.
    pub fn queued(&self, policy: &dyn MakePolicy, seed: u64) -> Result<Box<dyn Device>, Error> {
        Ok(match &self.stack {
            None => Box::new(self.drive_host(policy, seed)),
            Some(stack) => Box::new(self.stack_host(stack, policy, seed)?),
        })
    }

    /// Builds the stack with a device made by `disk` in place of each of its drives. Fails if there
    /// is no stack, if its drives are of several models or have faults (replacements have none), or
    /// if a device of the stack needs to know more than a replacement provides.
    pub fn over_disks(&self, seed: u64, disk: &MakeDisk<'_>) -> Result<BoxedDevice, Error> {
        let is_plain =
            |stack: &&Arc<DeviceStack>| stack.others.is_empty() && !stack.changes_drives();
        let Some(stack) = self.stack.as_ref().filter(is_plain) else {
            let expected = "an array of drives of one model, without faults in front of the drives";
            return Err(Error::argument("drive", self.name.as_str(), expected));
        };
        Ok(stack.build(&self.drive, seed, Some(disk))?)
    }

    /// Returns the drive, without the devices in front of it, below a host's queue.
    pub(crate) fn drive_host(&self, policy: &dyn MakePolicy, seed: u64) -> Host<Drive> {
        let drive = self.drive.drive().with_seed(seed);
        let policy = policy.policy(&drive);
        Host::new(drive, policy)
    }

    /// Returns `stack` below a host's queue. Fails if `stack` hides what the policy needs to know.
    pub(crate) fn stack_host(
        &self,
        stack: &DeviceStack,
        policy: &dyn MakePolicy,
        seed: u64,
    ) -> Result<Host<BoxedDevice>, Error> {
        let device = stack.build(&self.drive, seed, None)?;
        let refused = |unknown: InsufficientKnowledge| stack.refused(&unknown);
        let policy = policy.boxed(&device).map_err(refused)?;
        Ok(Host::new(device, policy))
    }
}

fn read_stack(text: &str) -> Result<StackExpression<'_>, Error> {
    StackExpression::read(text, "drive").map_err(|error| error.in_argument("drive").into())
}
