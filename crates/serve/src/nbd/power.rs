//! The power of an export, and what is told about its data.

use std::io;
use std::time::Instant as Wall;

use diskarm_core::request::{Op, Request};
use diskarm_core::units::{Instant, Lbn, SectorCount};
use diskarm_wire::nbd::Error;

use super::active::Active;
use super::desk::NbdExport;
use super::{Job, Kind};
use crate::control::PowerControl;
use crate::export::Facts;
use crate::figures::Statistics;
use crate::power::{Losses, PendingWrite, PowerCut, PowerSwitch, Write};

impl NbdExport {
    /// Begins to hear what has reached the media.
    pub(super) fn watch_landings(&mut self) {
        if let Some(timeline) = &mut self.timeline
            && self.data.can_lose()
        {
            let told = timeline.timed_mut().landed(Instant::START);
            assert!(told.is_some(), "a device that cannot tell what has landed");
        }
    }

    /// Hears what has reached the media by now.
    pub(super) fn note_landings(&mut self, now: Wall) {
        if let Some(timeline) = &mut self.timeline
            && self.data.can_lose()
        {
            let (device, at) = timeline.at(now);
            self.data.landed(&device.landed(at).unwrap_or_default());
        }
    }

    /// The drive has answered a command of `job`, which was `write`.
    pub(super) fn settle_data(&mut self, job: &Job, write: Write, mark: u64) {
        match job.kind {
            Kind::Write | Kind::Zero { .. } => {
                self.data.acknowledged(write);
                if job.force_unit_access {
                    self.data.safe(write);
                }
            }
            Kind::Flush => self.data.flushed(mark),
            _ => {}
        }
    }

    /// Writes what has arrived of a write whose client is gone.
    pub(super) fn write_short(&mut self, job: Job) {
        if !self.data.can_lose() || !self.power.is_on() {
            return;
        }
        self.data.shorten(job.write, job.length);
        self.data.submitted(job.write);
        if self.timeline.is_none() || job.length == 0 {
            return self.settle_data(&job, job.write, 0);
        }
        let id = self.jobs.insert(Active {
            connection: None,
            job,
            left: None,
            is_served: false,
            is_synced: true,
            error: None,
            write: job.write,
            mark: 0,
            due: None,
        });
        self.submit(id, &job, job.offset, job.length, Wall::now());
    }

    /// Why a request fails that meets a bad block.
    pub(super) fn medium_error(&self, job: &Job) -> Option<(Error, &'static str)> {
        let op = match job.kind {
            Kind::Read => Op::Read,
            Kind::Write | Kind::Zero { .. } => Op::Write,
            _ => return None,
        };
        let sector = self.facts.sector.0;
        let (first, sectors) = (job.offset / sector, job.length / sector);
        let request = Request::new(0, op, Lbn(first), SectorCount(sectors));
        self.power.injections().fails(&request)?;
        Some((Error::Io, "medium error"))
    }
}

impl PowerControl for NbdExport {
    fn switch(&mut self) -> &mut PowerSwitch {
        &mut self.power
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn can_lose(&self) -> bool {
        self.data.can_lose()
    }

    fn unwritten(&mut self) -> Vec<PendingWrite> {
        self.note_landings(Wall::now());
        self.data.unwritten()
    }

    fn lose(&mut self, cut: &PowerCut) -> io::Result<Losses> {
        self.note_landings(Wall::now());
        let lost = self.data.cut(cut);
        self.unfinished.clear();
        let ids: Vec<usize> = self.jobs.iter().map(|(id, _)| id).collect();
        for id in ids {
            if let Some(active) = self.jobs.get_mut(id) {
                self.served.counts.aborted += u64::from(active.connection.is_some());
                active.connection = None;
                active.error = None;
                active.give_up();
                active.is_served = true;
            }
            self.end(id);
        }
        if let Some((timeline, device)) = self.timeline.as_mut().zip(self.device.as_ref()) {
            timeline.replace(device());
        }
        self.watch_landings();
        lost
    }

    fn served(&mut self) -> &mut Statistics {
        &mut self.served
    }
}
