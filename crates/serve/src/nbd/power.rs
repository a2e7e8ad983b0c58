//! The power of an export, and what is told about its data.

use std::ops::{Deref, DerefMut};
use std::time::Instant as Wall;

use diskarm_core::device::Device;
use diskarm_core::request::{Op, Request};
use diskarm_core::units::{Instant, Lbn, SectorCount};
use diskarm_wire::nbd::Error;

use super::active::Active;
use super::desk::NbdDesk;
use super::{Job, Kind};
use crate::control::{Command, Pending, Reply};
use crate::power::{Cut, Data, Power, Switch, Write};

type Maker = Box<dyn Fn() -> Box<dyn Device> + Send>;

/// The switch of an export, and what it needs to be switched on.
pub(super) struct Switched {
    switch: Switch,
    /// Builds the device anew.
    device: Option<Maker>,
}

impl Deref for Switched {
    type Target = Switch;

    fn deref(&self) -> &Switch {
        &self.switch
    }
}

impl DerefMut for Switched {
    fn deref_mut(&mut self) -> &mut Switch {
        &mut self.switch
    }
}

impl Switched {
    /// The switch, and `data` that can be lost by it.
    pub fn new(power: Option<Power<Box<dyn Device>>>, is_timed: bool, data: Data) -> (Self, Data) {
        let switch = Switch::default();
        let Some(power) = power else {
            let device = None;
            return (Self { switch, device }, data);
        };
        let data = data.losing(power.capacity, is_timed);
        let device = power.device;
        (Self { switch, device }, data)
    }
}

impl NbdDesk {
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
            && timeline.has_begun()
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
        let fails = self.power.fails(&request);
        fails.then_some((Error::Io, "medium error"))
    }

    /// Cuts the power if that is due.
    pub(super) fn cut_if_due(&mut self) {
        if let Some(cut) = self.power.take_due(Wall::now()) {
            // If that fails, the next command says so.
            let _ = self.cut(&cut);
        }
    }

    /// Cuts the power: requests under way end without replies.
    fn cut(&mut self, cut: &Cut) -> Result<Reply, String> {
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
        if let Some((timeline, device)) = self.timeline.as_mut().zip(self.power.device.as_ref()) {
            timeline.replace(device());
        }
        self.watch_landings();
        self.power
            .went_off(lost.as_ref().copied().unwrap_or_default());
        let lost = lost.map_err(|error| format!("the store failed: {error}"))?;
        Ok(Reply::Cut(lost))
    }

    /// Does what the control socket asks for.
    pub(super) fn obey(&mut self, command: &Command) -> Result<Reply, String> {
        let needs_power = matches!(
            command,
            Command::PowerCut(_) | Command::Pending | Command::Strike(_)
        );
        if needs_power && !self.data.can_lose() {
            return Err("nothing tells when data of this device reach the media".to_owned());
        }
        match command {
            Command::PowerCut(_) | Command::Strike(_) if !self.power.is_on() => {
                Err("the power is off".to_owned())
            }
            Command::PowerCut(cut) => self.cut(cut),
            Command::PowerRestore if self.power.is_on() => Err("the power is on".to_owned()),
            Command::PowerRestore => {
                self.power.restore();
                Ok(Reply::Done)
            }
            Command::Pending => {
                self.note_landings(Wall::now());
                Ok(Reply::Pending(Pending {
                    is_powered: self.power.is_on(),
                    pending: self.data.unwritten(),
                    last_cut: self.power.lost(),
                }))
            }
            Command::Strike(strike) => {
                self.power.arm(*strike, Wall::now());
                Ok(Reply::Done)
            }
            Command::Inject(bad) => {
                self.power.inject(*bad);
                Ok(Reply::Done)
            }
            Command::Heal { first, end } => {
                self.power.heal(*first, *end);
                Ok(Reply::Done)
            }
            Command::Figures => Ok(Reply::Served(Box::new(self.served.clone()))),
        }
    }
}
