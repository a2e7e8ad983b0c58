//! Prerequisites of measurements of mechanics and overheads.

use diskarm_core::geometry::Layout;

use crate::idle::Idle;
use crate::pairs::Pairs;
use crate::rotation::Rotation;
use crate::{Disk, Error};

/// The properties that measurements of seeks and overheads need.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    pub layout: &'a Layout,
    pub rotation: Rotation,
    /// The time after a read until the arm is free.
    pub idle: Idle,
}

impl<'a> Setup<'a> {
    pub(crate) fn pairs<'d>(
        &self,
        disk: &'a mut Disk<'d>,
        seed: u64,
    ) -> Result<Pairs<'a, 'd>, Error> {
        let mut pairs = Pairs::new(disk, self.layout, &self.rotation, seed)?;
        pairs.idle = self.idle.rest;
        pairs.rests = self.idle.rests(self.layout);
        Ok(pairs)
    }
}
