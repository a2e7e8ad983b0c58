//! The requests of all clients of an export, over the device and the store.

use std::time::Instant as Wall;
use std::{io, mem};

use diskarm_core::device::{Completion, Device, Status};
use diskarm_core::request::{Op, Request};
use diskarm_core::units::{Lbn, SectorCount};
use diskarm_wire::nbd::Error;

use super::active::Active;
use super::{Job, Kind, Next, Session, failure_of};
use crate::export::{Export, Facts};
use crate::figures::Statistics;
use crate::power::{Data, DeviceFactory, PowerConfig, PowerSwitch, TriggerSide, Write};
use crate::service::{self, Broken, Service};
use crate::slots::Slots;
use crate::sockets::Waker;
use crate::store::Store as _;
use crate::syncer::Syncer;
use crate::timeline::Timeline;

type Clients<'a> = dyn service::Clients<Session> + 'a;

pub struct NbdExport {
    pub(super) facts: Facts,
    pub(super) data: Data,
    /// Without it requests take no time.
    pub(super) timeline: Option<Timeline<Box<dyn Device>>>,
    /// Without it the store has nothing to synchronise.
    syncer: Option<Syncer>,
    /// Requests under way, by their ids in the device.
    pub(super) jobs: Slots<Active>,
    /// Jobs with further parts, where parts take no time.
    pub(super) unfinished: Vec<usize>,
    pub(super) power: PowerSwitch,
    /// Builds the device anew.
    pub(super) device: Option<DeviceFactory<Box<dyn Device>>>,
    /// Requests are waiting in their connections until less is kept of what writes replace.
    is_holding: bool,
    pub(super) served: Statistics,
}

impl NbdExport {
    /// Serves `export`.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn new(export: Export, waker: Waker) -> io::Result<Self> {
        let syncer = match export.store.to_sync() {
            Some(file) => Some(Syncer::new(file, waker)?),
            None => None,
        };
        let data = Data::new(export.store, export.facts.sector);
        let (data, device) = match export.power {
            Some(PowerConfig { capacity, device }) => {
                (data.losing(capacity, export.timing.is_some()), device)
            }
            None => (data, None),
        };
        let timeline = export
            .timing
            .map(|timing| Timeline::new(timing.device, timing.speed));
        let mut desk = Self {
            facts: export.facts,
            data,
            timeline,
            syncer,
            jobs: Slots::default(),
            unfinished: Vec::new(),
            power: PowerSwitch::default(),
            device,
            is_holding: false,
            served: Statistics::default(),
        };
        desk.watch_landings();
        Ok(desk)
    }

    /// Takes the files that have been synchronised; returns the connections with replies.
    fn hear_of_syncs(&mut self, clients: &mut Clients<'_>) -> Vec<usize> {
        let mut touched = Vec::new();
        while let Some((id, is_synced)) = self.syncer.as_ref().and_then(Syncer::answered) {
            let Some(active) = self.jobs.get_mut(id) else {
                continue;
            };
            active.is_synced = true;
            if !is_synced {
                active.error = Some((Error::Io, "the store failed"));
            }
            touched.extend(self.settle(id, clients));
        }
        touched
    }

    /// Takes a completion; returns its connection if it has a reply.
    fn completed(
        &mut self,
        completion: &Completion,
        due: Wall,
        now: Wall,
        clients: &mut Clients<'_>,
    ) -> Option<usize> {
        let id = completion.request.id as usize;
        let Some(active) = self.jobs.get_mut(id) else {
            panic!("the device completed {completion:?} twice");
        };
        active.due = Some(due);
        let (job, write, mark) = (active.job, active.write, active.mark);
        self.settle_data(&job, write, mark);
        let active = self.jobs.get_mut(id)?;
        if let Some(error) = failure(completion.status) {
            active.error = Some(error);
            active.give_up();
        }
        if active.left.is_some() {
            // Its next command takes time as well, so no reply is ready.
            self.next_part(id, now, clients);
            return None;
        }
        active.is_served = true;
        self.settle(id, clients)
    }

    /// Ends the job `id` if nothing more is to come; returns its connection if it has a reply.
    fn settle(&mut self, id: usize, clients: &mut Clients<'_>) -> Option<usize> {
        let active = self.end(id)?;
        let number = active.connection?;
        clients.get_mut(number)?.reply(active.job, active.error);
        if active.error.is_none() {
            self.power
                .passes(TriggerSide::After, active.job.kind.access());
        }
        if let Some(due) = active.due {
            clients.due(number, due);
        }
        Some(number)
    }

    /// Takes out the job `id` if nothing more is to come, and counts how it ended.
    pub(super) fn end(&mut self, id: usize) -> Option<Active> {
        let active = self.jobs.get_mut(id)?;
        if !active.is_served || !active.is_synced {
            return None;
        }
        let active = self.jobs.remove(id)?;
        let has_failed = u64::from(active.error.is_some());
        let counts = &mut self.served.counts;
        match active.connection {
            Some(_) => counts.failed += has_failed,
            None => counts.aborted += has_failed,
        }
        Some(active)
    }

    /// Begins a request that has arrived.
    fn begin(&mut self, number: usize, job: Job, now: Wall, clients: &mut Clients<'_>) {
        let access = job.kind.access();
        self.served.counts.count(access, job.length);
        if self.power.passes(TriggerSide::Before, access) {
            return;
        }
        let has_file = self.syncer.is_some();
        let is_write = matches!(job.kind, Kind::Write | Kind::Trim | Kind::Zero { .. });
        let is_flush = job.kind == Kind::Flush;
        let syncs = has_file && (is_flush || is_write && job.force_unit_access);
        let is_timed = self.timeline.is_some();
        let takes_time = match job.kind {
            Kind::Read | Kind::Write | Kind::Flush => is_timed,
            Kind::Zero { .. } => true,
            Kind::Trim | Kind::Status | Kind::Refused(..) => false,
        };
        let mut error = match job.kind {
            Kind::Refused(error, message) => {
                self.data.safe(job.write);
                Some((error, message))
            }
            _ => self.medium_error(&job),
        };
        if job.kind == Kind::Trim
            && let Err(failed) = self.data.trim(job.offset, job.length)
        {
            error = Some(failure_of(&failed));
        }
        let mark = self.data.mark();
        if !takes_time {
            self.settle_data(&job, job.write, mark);
        }
        if !takes_time && !syncs {
            match job.kind {
                _ if error.is_none() => _ = self.power.passes(TriggerSide::After, access),
                Kind::Refused(..) => {}
                _ => self.served.counts.failed += 1,
            }
            if let Some(session) = clients.get_mut(number) {
                session.reply(job, error);
            }
            return;
        }
        let id = self.jobs.insert(Active {
            connection: Some(number),
            job,
            left: matches!(job.kind, Kind::Zero { .. }).then_some((job.offset, job.length)),
            is_served: !takes_time,
            is_synced: !syncs,
            error,
            write: job.write,
            mark,
            due: None,
        });
        match job.kind {
            Kind::Zero { .. } => {
                // If it has ended, its connection is the one that continues anyway.
                self.next_part(id, now, clients);
            }
            _ if takes_time => {
                self.data.submitted(job.write);
                self.submit(id, &job, job.offset, job.length, now);
            }
            _ => {}
        }
        // Zeroes are synchronised after their last part.
        if syncs
            && !matches!(job.kind, Kind::Zero { .. })
            && let Some(syncer) = &self.syncer
        {
            syncer.ask(id);
        }
    }

    /// Hands a command of the job `id` to the device.
    pub(super) fn submit(&mut self, id: usize, job: &Job, offset: u64, length: u64, now: Wall) {
        let sector = self.facts.sector.0;
        let op = match job.kind {
            Kind::Read => Op::Read,
            Kind::Flush => Op::Flush,
            _ => Op::Write,
        };
        let start = Lbn(offset / sector);
        let mut request = Request::new(id as u64, op, start, SectorCount(length / sector));
        request.force_unit_access = op == Op::Write && job.force_unit_access;
        if let Some(timeline) = &mut self.timeline {
            let (device, at) = timeline.at(now);
            let submitted = device.submit(at, request);
            assert_eq!(submitted, Ok(()), "the device refused {request:?}");
        }
    }

    /// Writes the next zeroes of the job `id`; returns its connection if it has a reply now.
    fn next_part(&mut self, id: usize, now: Wall, clients: &mut Clients<'_>) -> Option<usize> {
        let longest = Request::MAX_SECTORS.0 * self.facts.sector.0;
        let active = self.jobs.get_mut(id)?;
        let (job, (offset, left)) = (active.job, active.left?);
        let length = left.min(longest);
        let may_free = matches!(job.kind, Kind::Zero { may_free: true });
        active.left = (left > length).then(|| (offset + length, left - length));
        let write = self.data.open(offset, length);
        active.write = write;
        self.data.submitted(write);
        if let Err(failed) = self.data.zero_part(write, offset, length, may_free) {
            active.error = Some(failure_of(&failed));
            active.give_up();
        }
        let is_last = active.left.is_none();
        if is_last
            && !active.is_synced
            && let Some(syncer) = &self.syncer
        {
            syncer.ask(id);
        }
        if self.timeline.is_some() {
            self.submit(id, &job, offset, length, now);
            return None;
        }
        self.settle_data(&job, write, 0);
        let active = self.jobs.get_mut(id)?;
        if !is_last {
            self.unfinished.push(id);
            return None;
        }
        active.is_served = true;
        self.settle(id, clients)
    }
}

impl Service for NbdExport {
    type Session = Session;

    fn take(
        &mut self,
        number: usize,
        clients: &mut Clients<'_>,
        now: Wall,
    ) -> Result<bool, Broken> {
        let Some(session) = clients.get_mut(number) else {
            return Ok(false);
        };
        if !self.power.takes_requests() {
            return Ok(false);
        }
        if self.data.is_full() && !session.is_arriving() {
            self.is_holding = true;
            return Ok(false);
        }
        match session.next(&mut self.data) {
            Next::Job(job) => self.begin(number, job, now, clients),
            Next::Wait => return Ok(false),
            Next::Broken => return Err(Broken),
        }
        Ok(true)
    }

    fn serve_due(&mut self, clients: &mut Clients<'_>) -> Vec<usize> {
        let mut touched = self.hear_of_syncs(clients);
        while let Some(timeline) = &mut self.timeline
            && self.power.takes_requests()
        {
            let now = Wall::now();
            let Some((completion, due)) = timeline.ended(now) else {
                break;
            };
            self.note_landings(now);
            touched.extend(self.completed(&completion, due, now, clients));
        }
        if self.is_holding && !self.data.is_full() {
            self.is_holding = false;
            touched = clients.numbers();
        }
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    fn go_on(&mut self, clients: &mut Clients<'_>) -> Vec<usize> {
        let unfinished = mem::take(&mut self.unfinished).into_iter();
        let now = Wall::now();
        unfinished
            .filter_map(|id| self.next_part(id, now, clients))
            .collect()
    }

    fn fill(&mut self, session: &mut Session) -> Result<(), Broken> {
        session.fill(&mut self.data)
    }

    fn closed(&mut self, number: usize, mut session: Session) {
        let is_of = |active: &Active| active.connection == Some(number);
        let jobs = self.jobs.iter().filter(|(_, active)| is_of(active));
        let ids: Vec<usize> = jobs.map(|(id, _)| id).collect();
        for &id in &ids {
            let Some(active) = self.jobs.get_mut(id) else {
                continue;
            };
            active.connection = None;
            active.give_up();
            match &mut self.timeline {
                // Its data are in the store, so the drive has to write them.
                Some(_) if active.write != Write::NONE => {}
                Some(timeline) if !active.is_served => {
                    let (device, at) = timeline.at(Wall::now());
                    device.abort(at, id as u64);
                }
                Some(_) => {}
                None => active.is_served = true,
            }
            self.end(id);
        }
        self.unfinished.retain(|id| !ids.contains(id));
        if let Some(job) = session.cut_short() {
            self.write_short(job);
        }
    }

    fn is_answered(&self, _: usize, session: &Session) -> bool {
        session.is_idle()
    }

    fn next(&self) -> Option<Wall> {
        if !self.unfinished.is_empty() {
            return Some(Wall::now());
        }
        let next = self.timeline.as_ref().and_then(Timeline::next);
        next.into_iter().chain(self.power.strikes_at()).min()
    }

    fn is_idle(&self) -> bool {
        self.jobs.len() == 0
    }

    fn end(self) -> Statistics {
        // What was written without a flush is kept, too, if that can be done.
        if let Some(file) = self.data.to_sync() {
            let _ = file.sync_all();
        }
        self.served
    }
}

/// Why a request fails that ended in this way.
fn failure(status: Status) -> Option<(Error, &'static str)> {
    match status {
        Status::Good | Status::Recovered { .. } => None,
        Status::MediumError { .. } => Some((Error::Io, "medium error")),
        Status::NotReady => Some((Error::Io, "the drive is not ready")),
        Status::Aborted => Some((Error::Io, "aborted")),
    }
}
