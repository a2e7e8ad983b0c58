//! The power of a target. Without it there is no target: sessions end, and new ones end after
//! their login, as those of a disk whose port has no power either.

use std::io;
use std::time::Instant as Wall;

use super::desk::IscsiTarget;
use super::disk::Disk;
use crate::control::PowerControl;
use crate::export::Facts;
use crate::figures::Statistics;
use crate::power::{Losses, PendingWrite, PowerCut, PowerSwitch};

impl IscsiTarget {
    /// Hears what has reached the media by now.
    fn note_landings(&mut self) {
        let (unit, at) = self.timeline.at(Wall::now());
        unit.follow(at);
    }
}

impl PowerControl for IscsiTarget {
    fn switch(&mut self) -> &mut PowerSwitch {
        &mut self.power
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn can_lose(&self) -> bool {
        self.blocks.media().data.can_lose()
    }

    fn unwritten(&mut self) -> Vec<PendingWrite> {
        self.note_landings();
        self.blocks.media().data.unwritten()
    }

    fn lose(&mut self, cut: &PowerCut) -> io::Result<Losses> {
        self.note_landings();
        let lost = self.blocks.cut(cut);
        self.forget_answers(|_, _| true);
        let disk = match &self.make_disk {
            Some(make) => make(),
            None => Disk::instantly(self.facts.sectors, self.facts.sector),
        };
        let disk = disk.failing(self.power.injections().clone());
        let (unit, at) = self.timeline.at(Wall::now());
        unit.power_cycle(at, disk);
        lost
    }

    fn served(&mut self) -> &mut Statistics {
        &mut self.served
    }
}
