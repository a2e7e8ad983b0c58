//! What the measurements of mechanics and overheads build on.

use diskarm_core::geometry::Layout;

use crate::idle::Idle;
use crate::pairs::Pairs;
use crate::rotation::Rotation;
use crate::{Disk, Error};

/// What must be known of a drive before its seeks and overheads are measured.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// Where its blocks are.
    pub layout: &'a Layout,
    /// How it turns.
    pub rotation: Rotation,
    /// When its arm is free after a read.
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
