//! The power of a target. Without it there is no target: sessions end, and new ones end after
//! their login, as those of a disk whose port has no power either.

use std::io;
use std::time::Instant as Wall;

use super::desk::IscsiDesk;
use super::disk::Disk;
use crate::control::Powered;
use crate::export::Facts;
use crate::figures::Served;
use crate::power::{Cut, Lost, Switch, Unwritten};

impl IscsiDesk {
    /// Hears what has reached the media by now.
    fn record_persisted(&mut self) {
        let (unit, at) = self.timeline.at(Wall::now());
        unit.follow(at);
    }
}

impl Powered for IscsiDesk {
    fn switch(&mut self) -> &mut Switch {
        &mut self.power
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn can_lose(&self) -> bool {
        self.blocks.media().data.can_lose()
    }

    fn unwritten(&mut self) -> Vec<Unwritten> {
        self.record_persisted();
        self.blocks.media().data.unwritten()
    }

    fn lose(&mut self, cut: &Cut) -> io::Result<Lost> {
        self.record_persisted();
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

    fn served(&mut self) -> &mut Served {
        &mut self.served
    }
}
