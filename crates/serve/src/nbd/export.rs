//! The NBD service of an export: executes the requests of all clients on the device and the store.

use std::collections::VecDeque;
use std::io;
use std::time::Instant as HostInstant;

use diskarm_core::device::{Completion, Device, Status};
use diskarm_core::request::{Op, Request};
use diskarm_core::units::{Instant, Lbn, SectorCount};
use diskarm_wire::nbd::Error;
use slab::Slab;

use super::job::{Job, JobKind, MAX_PAYLOAD, Refusal, store_error};
use super::session::{Input, NbdSession};
use crate::control::PowerControl;
use crate::engine::{self, ConnectionError, Service};
use crate::export::{DeviceFactory, Export, Facts};
use crate::nonblocking::Waker;
use crate::power::{DataPath, Losses, PendingWrite, PowerCut, PowerSwitch, TriggerStage, WriteId};
use crate::statistics::Statistics;
use crate::store::Synchronisations;
use crate::timeline::Timeline;

/// Length in bytes up to which a connection may change data even if other connections keep too many
/// sector versions. Otherwise, those connections could stop it by stalling in the middle of writes.
const RESERVE: u64 = 1 << 20;

type Clients<'a> = dyn engine::Clients<NbdSession> + 'a;

struct ActiveJob {
    /// The connection that sent the job; `None` once it has closed.
    connection: Option<usize>,
    job: Job,
    /// Offset and length of the remaining parts.
    remaining: Option<(u64, u64)>,
    /// True if the device has completed the current part, or the job does not need the device.
    is_served: bool,
    /// True if the store's file has been synchronised, or need not be.
    is_synced: bool,
    error: Option<Refusal>,
    /// The write of the current part.
    write: WriteId,
    flush_mark: u64,
    /// The due time of the reply, if the job takes time.
    due: Option<HostInstant>,
}

impl ActiveJob {
    /// Drops the remaining parts. The last of them would have requested the synchronisation.
    fn drop_remaining(&mut self) {
        if self.remaining.take().is_some() {
            self.is_synced = true;
        }
    }
}

pub struct NbdExport {
    facts: Facts,
    data: DataPath,
    /// `None` if requests take no time.
    timeline: Option<Timeline<Box<dyn Device>>>,
    synchronisations: Synchronisations,
    /// Jobs in progress, by their request ids in the device.
    jobs: Slab<ActiveJob>,
    /// Jobs with remaining parts that take no time.
    unfinished: VecDeque<usize>,
    power: PowerSwitch,
    make_device: Option<DeviceFactory<Box<dyn Device>>>,
    /// Connections whose next change waits until fewer are arriving or in progress.
    held: VecDeque<usize>,
    /// Limit on the total length in bytes of changes that are arriving or in progress, but for one
    /// small change of each connection.
    max_changes: u64,
    statistics: Statistics,
}

impl NbdExport {
    pub fn new(export: Export, waker: Waker) -> io::Result<Self> {
        let synchronisations = Synchronisations::new(&*export.store, waker)?;
        let is_timed = export.timing.is_some();
        let power = export.power.as_ref();
        let (capacity, max) = power
            .map(|power| (power.capacity, power.max_unacknowledged))
            .unzip();
        let timeline = export
            .timing
            .map(|timing| Timeline::new(timing.device, timing.speed));
        let mut service = Self {
            data: DataPath::new(export.store, export.facts.sector, capacity, is_timed),
            max_changes: max.map_or(u64::MAX, |max| max.0 * export.facts.sector.0),
            facts: export.facts,
            timeline,
            synchronisations,
            jobs: Slab::new(),
            unfinished: VecDeque::new(),
            power: PowerSwitch::default(),
            make_device: export.power.and_then(|power| power.device),
            held: VecDeque::new(),
            statistics: Statistics::default(),
        };
        service.start_persistence_reports();
        Ok(service)
    }

    /// Makes the device report which data have reached the media.
    fn start_persistence_reports(&mut self) {
        if let Some(timeline) = &mut self.timeline
            && self.data.can_lose_writes()
        {
            let report = timeline.model.persisted(Instant::START);
            assert!(report.is_some(), "the device does not report persistence");
        }
    }

    fn update_persisted(&mut self, now: HostInstant) {
        if let Some(timeline) = &mut self.timeline
            && self.data.can_lose_writes()
        {
            let (device, at) = timeline.advance_to(now);
            let persisted = device.persisted(at).unwrap_or_default();
            self.data.mark_persisted(&persisted);
        }
    }

    /// Handles completed synchronisations of the file; returns the connections with replies.
    fn handle_syncs(&mut self, clients: &mut Clients<'_>) -> Vec<usize> {
        let mut touched = Vec::new();
        while let Some((id, is_synced)) = self.synchronisations.answer() {
            let Some(active) = self.jobs.get_mut(id) else {
                continue;
            };
            active.is_synced = true;
            if !is_synced {
                active.error = Some((Error::Io, "I/O error in the store"));
            }
            touched.extend(self.reply_if_done(id, clients));
        }
        touched
    }

    /// Handles a completion; returns the job's connection if a reply is ready.
    fn complete(
        &mut self,
        completion: &Completion,
        due: HostInstant,
        now: HostInstant,
        clients: &mut Clients<'_>,
    ) -> Option<usize> {
        let id = completion.request.id as usize;
        let Some(active) = self.jobs.get_mut(id) else {
            panic!("the device completed {completion:?} twice");
        };
        active.due = Some(due);
        let (job, write, mark) = (active.job, active.write, active.flush_mark);
        self.acknowledge(&job, write, mark);
        let active = self.jobs.get_mut(id)?;
        if let Some(error) = completion_error(completion.status) {
            active.error = Some(error);
            active.drop_remaining();
        }
        if active.remaining.is_some() {
            // The next part takes time as well, so no reply is ready.
            self.start_next_part(id, now, clients);
            return None;
        }
        active.is_served = true;
        self.reply_if_done(id, clients)
    }

    /// Updates the state of the data when the drive has completed a part of `job`, or all of it.
    fn acknowledge(&mut self, job: &Job, write: WriteId, flush_mark: u64) {
        match job.kind {
            JobKind::Write | JobKind::Zero { .. } => {
                self.data.mark_acknowledged(write, job.force_unit_access);
            }
            JobKind::Flush => self.data.complete_flush(flush_mark),
            _ => {}
        }
    }

    /// If the job has ended, queues the reply to it and returns its connection.
    fn reply_if_done(&mut self, id: usize, clients: &mut Clients<'_>) -> Option<usize> {
        let active = self.remove_if_done(id)?;
        let number = active.connection?;
        clients.get_mut(number)?.reply(active.job, active.error);
        if active.error.is_none() {
            let access = active.job.kind.access();
            self.power.count_request(TriggerStage::After, access);
        }
        if let Some(due) = active.due {
            clients.record_due(number, due);
        }
        Some(number)
    }

    /// If the job has ended, removes it and counts its outcome.
    fn remove_if_done(&mut self, id: usize) -> Option<ActiveJob> {
        let active = self.jobs.get(id)?;
        if !active.is_served || !active.is_synced {
            return None;
        }
        let active = self.jobs.remove(id);
        let has_failed = u64::from(active.error.is_some());
        let counts = &mut self.statistics.counts;
        match active.connection {
            Some(_) => counts.failed += has_failed,
            None => counts.aborted += has_failed,
        }
        Some(active)
    }

    fn start(&mut self, number: usize, job: Job, now: HostInstant, clients: &mut Clients<'_>) {
        let access = job.kind.access();
        self.statistics.counts.count(access, job.length);
        if self.power.count_request(TriggerStage::Before, access) {
            return;
        }
        let has_parts = matches!(job.kind, JobKind::Zero { .. } | JobKind::Trim);
        let is_write = has_parts || job.kind == JobKind::Write;
        let syncs = self.synchronisations.is_needed()
            && (job.kind == JobKind::Flush || is_write && job.force_unit_access);
        let takes_time = match job.kind {
            JobKind::Read | JobKind::Write | JobKind::Flush => self.timeline.is_some(),
            JobKind::Zero { .. } | JobKind::Trim => true,
            JobKind::Status | JobKind::Refused(..) => false,
        };
        let error = self.execute_untimed(&job);
        let flush_mark = self.data.flush_mark();
        if !takes_time {
            self.acknowledge(&job, job.write, flush_mark);
        }
        if !takes_time && !syncs {
            match job.kind {
                _ if error.is_none() => _ = self.power.count_request(TriggerStage::After, access),
                JobKind::Refused(..) => {}
                _ => self.statistics.counts.failed += 1,
            }
            if let Some(session) = clients.get_mut(number) {
                session.reply(job, error);
            }
            return;
        }
        let id = self.jobs.insert(ActiveJob {
            connection: Some(number),
            job,
            remaining: has_parts.then_some((job.offset, job.length)),
            is_served: !takes_time,
            is_synced: !syncs,
            error,
            write: job.write,
            flush_mark,
            due: None,
        });
        if has_parts {
            // The last part requests the synchronisation. The result can be ignored, because the
            // caller continues with this connection anyway.
            self.start_next_part(id, now, clients);
            return;
        }
        if takes_time {
            self.data.mark_submitted(job.write);
            self.submit(id, &job, job.offset, job.length, now);
        }
        if syncs {
            self.synchronisations.request(id);
        }
    }

    /// Returns true if a connection may change `length` bytes now. Otherwise, holds it until it is
    /// the first of those held and there is room.
    fn may_change(&mut self, number: usize, length: u64, clients: &mut Clients<'_>) -> bool {
        let jobs = self.jobs.iter().map(|(_, active)| &active.job);
        let limited = jobs.filter(|job| job.is_limited).map(|job| job.length);
        let active: u64 = limited.sum();
        let sessions = clients.numbers().into_iter();
        let arriving: u64 = sessions
            .filter_map(|other| {
                clients
                    .get_mut(other)
                    .map(|session| session.limited_length())
            })
            .sum();
        let (total, length) = (active + arriving, length.min(MAX_PAYLOAD));
        let has_room = total == 0 || total + length <= self.max_changes;
        let is_first = self.held.front().is_none_or(|first| *first == number);
        if has_room && is_first {
            self.held.pop_front();
            return true;
        }
        if !self.held.contains(&number) {
            self.held.push_back(number);
        }
        false
    }

    /// Performs the work of a job that does not involve the device; returns the error, if any.
    fn execute_untimed(&mut self, job: &Job) -> Option<Refusal> {
        match job.kind {
            JobKind::Refused(error, message) => {
                self.data.withdraw(job.write);
                Some((error, message))
            }
            JobKind::Read => self.injected_error(job, Op::Read),
            JobKind::Write | JobKind::Zero { .. } => self.injected_error(job, Op::Write),
            JobKind::Flush | JobKind::Trim | JobKind::Status => None,
        }
    }

    /// Returns the error for a request that touches an injected bad block.
    fn injected_error(&self, job: &Job, op: Op) -> Option<Refusal> {
        let sector = self.facts.sector.0;
        let (first, sectors) = (job.offset / sector, job.length / sector);
        let request = Request::new(0, op, Lbn(first), SectorCount(sectors));
        self.power.faults.first_failure(&request)?;
        Some((Error::Io, "medium error"))
    }

    fn submit(&mut self, id: usize, job: &Job, offset: u64, length: u64, now: HostInstant) {
        let sector = self.facts.sector.0;
        let op = match job.kind {
            JobKind::Read => Op::Read,
            JobKind::Flush => Op::Flush,
            _ => Op::Write,
        };
        let start = Lbn(offset / sector);
        let mut request = Request::new(id as u64, op, start, SectorCount(length / sector));
        request.force_unit_access = op == Op::Write && job.force_unit_access;
        if let Some(timeline) = &mut self.timeline {
            let (device, at) = timeline.advance_to(now);
            let submitted = device.submit(at, request);
            assert_eq!(submitted, Ok(()), "the device refused {request:?}");
        }
    }

    /// Starts to zero or trim the next part of a job; returns the job's connection if a reply is
    /// ready.
    fn start_next_part(
        &mut self,
        id: usize,
        now: HostInstant,
        clients: &mut Clients<'_>,
    ) -> Option<usize> {
        let max_length = Request::MAX_SECTORS.0 * self.facts.sector.0;
        let active = self.jobs.get_mut(id)?;
        let (job, (offset, left)) = (active.job, active.remaining?);
        let length = left.min(max_length);
        active.remaining = (left > length).then(|| (offset + length, left - length));
        let changed = match job.kind {
            JobKind::Zero { may_free } => {
                active.write = self.data.open(offset, length);
                self.data.mark_submitted(active.write);
                self.data.zero_part(active.write, offset, length, may_free)
            }
            _ => self.data.trim(offset, length),
        };
        let write = active.write;
        if let Err(error) = changed {
            active.error = Some(store_error(&error));
            active.drop_remaining();
        }
        let is_last = active.remaining.is_none();
        if is_last && !active.is_synced {
            self.synchronisations.request(id);
        }
        if self.timeline.is_some() && job.kind != JobKind::Trim {
            self.submit(id, &job, offset, length, now);
            return None;
        }
        self.acknowledge(&job, write, 0);
        if !is_last {
            self.unfinished.push_back(id);
            return None;
        }
        self.jobs.get_mut(id)?.is_served = true;
        self.reply_if_done(id, clients)
    }

    /// Writes the data that had arrived for a write when its connection closed.
    fn write_partial(&mut self, job: Job, now: HostInstant) {
        if !self.data.can_lose_writes() || !self.power.is_on {
            return;
        }
        if job.kind != JobKind::Write {
            return self.data.withdraw(job.write);
        }
        self.data.shorten(job.write, job.length);
        self.data.mark_submitted(job.write);
        if self.timeline.is_none() || job.length == 0 {
            return self.acknowledge(&job, job.write, 0);
        }
        let id = self.jobs.insert(ActiveJob {
            connection: None,
            job,
            remaining: None,
            is_served: false,
            is_synced: true,
            error: None,
            write: job.write,
            flush_mark: 0,
            due: None,
        });
        self.submit(id, &job, job.offset, job.length, now);
    }
}

impl Service for NbdExport {
    type Session = NbdSession;

    fn handle_next(
        &mut self,
        number: usize,
        clients: &mut Clients<'_>,
        now: HostInstant,
    ) -> Result<bool, ConnectionError> {
        let client = clients.get_mut(number);
        let Some(session) = client.filter(|_| self.power.takes_requests()) else {
            return Ok(false);
        };
        let change = session
            .next_change()
            .filter(|_| self.data.can_lose_writes());
        let is_limited =
            change.is_some_and(|length| length > RESERVE || !session.has_answered_all());
        if is_limited && !self.may_change(number, change.unwrap_or(0), clients) {
            return Ok(false);
        }
        let Some(session) = clients.get_mut(number) else {
            return Ok(false);
        };
        match session.next_input() {
            Input::Request(mut job) => {
                job.is_limited |= is_limited;
                self.start(number, job, now, clients);
            }
            Input::WriteStart { offset, length } => {
                let write = self.data.open(offset, length);
                session.identify_write(write, is_limited);
            }
            Input::WriteData {
                write,
                offset,
                data,
            } => {
                if let Err(error) = self.data.write_part(write, offset, data) {
                    session.refuse_write(store_error(&error));
                }
            }
            Input::Wait => return Ok(false),
            Input::Invalid => return Err(ConnectionError),
        }
        Ok(true)
    }

    fn serve_due(&mut self, clients: &mut Clients<'_>, now: HostInstant) -> Vec<usize> {
        let mut touched = self.handle_syncs(clients);
        while let Some(timeline) = &mut self.timeline
            && self.power.takes_requests()
            && let Some((completion, due)) = timeline.pop_due(now)
        {
            self.update_persisted(now);
            touched.extend(self.complete(&completion, due, now, clients));
        }
        touched.extend(self.held.front());
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    fn has_work(&self) -> bool {
        !self.unfinished.is_empty()
    }

    fn continue_work(&mut self, clients: &mut Clients<'_>, now: HostInstant) -> Option<usize> {
        let id = self.unfinished.pop_front()?;
        self.start_next_part(id, now, clients)
    }

    fn fill(&mut self, session: &mut NbdSession) -> Result<(), ConnectionError> {
        session.fill(&mut *self.data.store)
    }

    fn close(&mut self, number: usize, mut session: NbdSession, now: HostInstant) {
        let is_own = |active: &ActiveJob| active.connection == Some(number);
        let jobs = self.jobs.iter().filter(|(_, active)| is_own(active));
        let ids: Vec<usize> = jobs.map(|(id, _)| id).collect();
        for &id in &ids {
            let Some(active) = self.jobs.get_mut(id) else {
                continue;
            };
            active.connection = None;
            active.drop_remaining();
            match &mut self.timeline {
                // The store already contains the data, so the drive must write them, too.
                Some(_) if active.write != WriteId::NONE => {}
                Some(timeline) if !active.is_served && active.job.kind != JobKind::Trim => {
                    let (device, at) = timeline.advance_to(now);
                    device.abort(at, id as u64);
                }
                _ => active.is_served = true,
            }
            self.remove_if_done(id);
        }
        self.unfinished.retain(|id| !ids.contains(id));
        self.held.retain(|held| *held != number);
        if let Some(job) = session.take_partial_write() {
            self.write_partial(job, now);
        }
    }

    fn is_answered(&self, _: usize, session: &NbdSession) -> bool {
        session.is_idle()
    }

    fn next_due(&self) -> Option<HostInstant> {
        let next = self.timeline.as_ref().and_then(Timeline::next_due);
        next.into_iter().chain(self.power.trigger_time).min()
    }

    fn is_idle(&self) -> bool {
        self.jobs.is_empty()
    }

    fn finish(mut self) -> Statistics {
        // Also preserve data that were written without a flush.
        self.statistics.record_last_sync(self.data.store.sync());
        self.statistics
    }
}

impl PowerControl for NbdExport {
    fn switch(&mut self) -> &mut PowerSwitch {
        &mut self.power
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn can_lose_writes(&self) -> bool {
        self.data.can_lose_writes()
    }

    fn pending_writes(&mut self, now: HostInstant) -> Vec<PendingWrite> {
        self.update_persisted(now);
        self.data.pending_writes()
    }

    fn revert_writes(&mut self, cut: &PowerCut, now: HostInstant) -> io::Result<Losses> {
        self.update_persisted(now);
        let losses = self.data.cut(cut);
        self.unfinished.clear();
        let ids: Vec<usize> = self.jobs.iter().map(|(id, _)| id).collect();
        for id in ids {
            if let Some(active) = self.jobs.get_mut(id) {
                self.statistics.counts.aborted += u64::from(active.connection.is_some());
                active.connection = None;
                active.error = None;
                active.drop_remaining();
                active.is_served = true;
            }
            self.remove_if_done(id);
        }
        if let Some((timeline, make)) = self.timeline.as_mut().zip(self.make_device.as_ref()) {
            timeline.replace(make());
        }
        self.start_persistence_reports();
        losses
    }

    fn statistics(&mut self) -> &mut Statistics {
        &mut self.statistics
    }
}

fn completion_error(status: Status) -> Option<Refusal> {
    match status {
        Status::Good | Status::Recovered { .. } => None,
        Status::MediumError { .. } => Some((Error::Io, "medium error")),
        Status::NotReady => Some((Error::Io, "the drive is not ready")),
        Status::Aborted => Some((Error::Io, "aborted")),
    }
}
