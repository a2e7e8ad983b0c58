//! The iSCSI target of an export: one logical unit, and the sessions of all initiators.
//!
//! When the power goes off, all sessions end. Until it is back, new sessions end right after their
//! login, as if the disk's port had no power.

mod messages;

use std::io;
use std::time::Instant as HostInstant;

use diskarm_core::units::SectorCount;
use diskarm_emulate::{Identity, Response, Status, Unit};
use diskarm_wire::Sense;
use diskarm_wire::iscsi::{Serial, Tag};
use diskarm_wire::sense::{Format, Key};
use slab::Slab;

use super::connection::Connection;
use super::memory::{SessionMemory, SharedMemory};
use super::parameters::target_name;
use super::register::SessionName;
use super::session::{Session, SessionConnection, TaskState, Window};
use super::unit::{Disk, UnitStore};
use crate::control::PowerControl;
use crate::engine::{self, ConnectionError, Service};
use crate::export::{DeviceFactory, Export, Facts};
use crate::nonblocking::Waker;
use crate::power::{
    DataPath, Losses, MAX_UNACKNOWLEDGED, PendingWrite, PowerCut, PowerSwitch, TriggerStage,
};
use crate::statistics::{Access, Statistics};
use crate::store::Synchronisations;
use crate::timeline::{Speed, Timeline};

type Clients<'a> = dyn engine::Clients<Connection> + 'a;

pub struct IscsiTarget {
    facts: Facts,
    timeline: Timeline<Unit<Disk>>,
    is_timed: bool,
    blocks: UnitStore,
    power: PowerSwitch,
    /// Builds a new disk; `None` if requests take no time or the power cannot be cut.
    make_disk: Option<DeviceFactory<Disk>>,
    /// True while commands wait in their connections because too many sector versions are kept.
    is_holding: bool,
    synchronisations: Synchronisations,
    /// Responses that wait for the store to be synchronised.
    syncing: Slab<Syncing>,
    sessions: Slab<Session>,
    memory: SharedMemory,
    /// Connections that have output because of messages on other connections.
    touched: Vec<usize>,
    initiators: Vec<Initiator>,
    next_initiator: u64,
    statistics: Statistics,
}

/// An initiator port: its name, and its part of the session id.
struct Initiator {
    name: String,
    isid: [u8; 6],
    id: u64,
}

/// A response that waits until the store's file has been synchronised.
struct Syncing {
    response: Response,
    /// The due time of the response, if the command takes time.
    due: Option<HostInstant>,
}

impl IscsiTarget {
    pub fn new(export: Export<Disk>, waker: Waker) -> io::Result<Self> {
        let synchronisations = Synchronisations::new(&*export.store, waker)?;
        let timing = export.timing.as_ref();
        let speed = timing.map_or(Speed::REAL, |timing| timing.speed);
        let facts = export.facts;
        let is_timed = export.timing.is_some();
        let power = export.power.as_ref();
        let (capacity, max) = power
            .map(|power| (power.capacity, power.max_unacknowledged))
            .unzip();
        let data = DataPath::new(export.store, facts.sector, capacity, is_timed)
            .with_max_unacknowledged(max.unwrap_or(MAX_UNACKNOWLEDGED));
        let blocks = UnitStore::new(data, facts.sector.0, facts.bytes().0);
        let device = match export.timing {
            Some(timing) => timing.device,
            None => Disk::instant(facts.sectors, facts.sector),
        };
        let power = PowerSwitch::default();
        let disk = device.with_faults(power.faults.clone());
        let identity = Identity {
            product: facts.description.to_uppercase(),
            serial: serial(&target_name(&facts.name)),
            ..Identity::default()
        };
        let unit = Unit::with_store(disk, Box::new(blocks.clone()))
            .with_identity(identity)
            .physical_blocks(SectorCount(facts.physical.0 / facts.sector.0))
            .read_only(facts.is_read_only);
        Ok(Self {
            timeline: Timeline::new(unit, speed),
            is_timed,
            blocks,
            power,
            make_disk: export.power.and_then(|power| power.device),
            is_holding: false,
            facts,
            synchronisations,
            syncing: Slab::new(),
            sessions: Slab::new(),
            memory: SharedMemory::default(),
            touched: Vec::new(),
            initiators: Vec::new(),
            next_initiator: NO_INITIATOR + 1,
            statistics: Statistics::default(),
        })
    }

    /// Makes the sessions share memory with those of other targets.
    pub fn with_memory(self, memory: SharedMemory) -> Self {
        Self { memory, ..self }
    }

    fn start_tasks(&mut self, index: usize, now: HostInstant) {
        let Some(session) = self.sessions.get_mut(index) else {
            return;
        };
        let initiator = session.initiator;
        while self.power.takes_requests()
            && let Some(task) = session.next_to_start()
        {
            task.state = TaskState::Started;
            if self.power.count_request(TriggerStage::Before, task.access) {
                return;
            }
            let data = std::mem::take(&mut task.data);
            let (unit, at) = self.timeline.advance_to(now);
            let task = diskarm_emulate::Task {
                id: task.tag.0.into(),
                initiator,
                attribute: task.attribute,
                command: &task.block,
                data_out: &data,
            };
            unit.submit(at, task);
        }
    }

    /// Handles a response from the unit; returns the connection that now has output.
    fn handle_response(
        &mut self,
        response: Response,
        due: HostInstant,
        now: HostInstant,
        clients: &mut Clients<'_>,
    ) -> Option<usize> {
        let index = self.session_index(response.initiator)?;
        let session = self.sessions.get_mut(index)?;
        let task = session.task_mut(Tag(response.id as u32))?;
        let takes_time = self.is_timed && task.access != Access::Other;
        let due = takes_time.then_some(due);
        // A unit without a write cache has nothing to lose.
        let is_durable = task.access == Access::Write && !self.timeline.model.has_write_cache();
        let syncs = task.syncs || is_durable;
        let may_preempt = task.block[0] == PERSISTENT_RESERVE_OUT;
        let is_good = response.status == Status::Good;
        if syncs && is_good && self.synchronisations.is_needed() {
            let id = self.syncing.insert(Syncing { response, due });
            self.synchronisations.request(id);
            return None;
        }
        let touched = self.answer(response, due, clients);
        if may_preempt {
            self.drop_aborted(now);
        }
        touched
    }

    /// Answers a command; returns its connection.
    fn answer(
        &mut self,
        response: Response,
        due: Option<HostInstant>,
        clients: &mut Clients<'_>,
    ) -> Option<usize> {
        let index = self.session_index(response.initiator)?;
        self.count_end(&response);
        let session = self.sessions.get_mut(index)?;
        if response.status == Status::Good
            && let Some(task) = session.task_mut(Tag(response.id as u32))
        {
            self.statistics.counts.written_bytes += task.writes_bytes;
            self.power.count_request(TriggerStage::After, task.access);
        }
        let Response {
            id,
            status,
            sense,
            data_in,
            ..
        } = response;
        let number = self.end(index, Tag(id as u32), status, sense, data_in, clients)?;
        if let Some(due) = due {
            clients.record_due(number, due);
        }
        Some(number)
    }

    /// Ends a command of a session; returns the connection with its response.
    fn end(
        &mut self,
        index: usize,
        tag: Tag,
        status: Status,
        sense: Vec<u8>,
        data: Vec<u8>,
        clients: &mut Clients<'_>,
    ) -> Option<usize> {
        let session = self.sessions.get_mut(index)?;
        let (number, outcome) = session.end(tag, status as u8, sense, data)?;
        clients.get_mut(number)?.respond(outcome);
        Some(number)
    }

    fn count_end(&mut self, response: &Response) {
        if response.status != Status::CheckCondition {
            return;
        }
        let counts = &mut self.statistics.counts;
        match Sense::parse(&response.sense).map(|sense| sense.key) {
            Ok(Key::IllegalRequest) => counts.refused += 1,
            Ok(Key::UnitAttention) => {}
            _ => counts.failed += 1,
        }
    }

    fn handle_syncs(&mut self, clients: &mut Clients<'_>) -> Vec<usize> {
        let mut touched = Vec::new();
        while let Some((id, is_synced)) = self.synchronisations.answer() {
            let Some(mut syncing) = self.syncing.try_remove(id) else {
                continue;
            };
            if !is_synced {
                let failed: Sense = diskarm_emulate::Unavailable.into();
                syncing.response.status = Status::CheckCondition;
                syncing.response.sense = failed.emit(Format::Fixed);
            }
            touched.extend(self.answer(syncing.response, syncing.due, clients));
        }
        touched
    }

    fn session_index(&self, initiator: u64) -> Option<usize> {
        self.find_session(|session| session.initiator == initiator)
    }

    fn find_session(&self, is_wanted: impl Fn(&Session) -> bool) -> Option<usize> {
        let mut sessions = self.sessions.iter();
        let found = sessions.find(|(_, session)| is_wanted(session));
        found.map(|(index, _)| index)
    }

    fn drop_aborted(&mut self, now: HostInstant) {
        self.timeline.advance_to(now);
        let syncing = self.syncing.iter().map(|(_, syncing)| &syncing.response);
        let ended: Vec<(u64, u64)> = syncing
            .chain(&self.timeline.outputs)
            .map(|response| (response.initiator, response.id))
            .collect();
        let unit = &self.timeline.model;
        for (_, session) in &mut self.sessions {
            let initiator = session.initiator;
            session.drop_tasks(|task| {
                let id = u64::from(task.tag.0);
                task.state == TaskState::Started
                    && !unit.is_outstanding(initiator, id)
                    && !ended.contains(&(initiator, id))
            });
        }
    }

    /// Returns the unit's id for the initiator of a session.
    fn initiator_id(&mut self, session: &SessionName, now: HostInstant) -> u64 {
        let (unit, _) = self.timeline.advance_to(now);
        let sessions = &self.sessions;
        self.initiators.retain(|initiator| {
            let mut sessions = sessions.iter();
            let has_session = sessions.any(|(_, session)| session.initiator == initiator.id);
            has_session || unit.knows(initiator.id)
        });
        let mut known = self.initiators.iter();
        let known =
            known.find(|other| other.name == session.initiator && other.isid == session.isid);
        if let Some(known) = known {
            return known.id;
        }
        let id = self.next_initiator;
        self.next_initiator += 1;
        self.initiators.push(Initiator {
            name: session.initiator.clone(),
            isid: session.isid,
            id,
        });
        id
    }

    /// Drops the responses that `is_dropped` selects, so that none is mistaken for the response to
    /// a newer task with the same tag. Responses that wait for the file keep their slots.
    fn drop_responses(&mut self, is_dropped: impl Fn(u64, u64) -> bool) {
        let responses = &mut self.timeline.outputs;
        responses.retain(|response| !is_dropped(response.initiator, response.id));
        for (_, syncing) in &mut self.syncing {
            if is_dropped(syncing.response.initiator, syncing.response.id) {
                syncing.response.initiator = NO_INITIATOR;
            }
        }
    }

    /// Starts a session with a connection. If another session has the same name, ends it (RFC 7143,
    /// "Session Reinstatement") and returns its connections.
    fn start_session(
        &mut self,
        number: usize,
        connection: &mut Connection,
        first: Serial,
        now: HostInstant,
    ) -> Vec<usize> {
        let name = &connection.member.name;
        let initiator = self.initiator_id(name, now);
        let index = self.session_index(initiator);
        let old = index.and_then(|index| self.end_session(index, now));
        let max = connection.parameters.max_connections;
        let window = Window::new(first, SessionMemory::new(self.memory.clone()));
        let mut session = Session::new(initiator, connection.member.tsih, max, window);
        session.connections.push(SessionConnection {
            number,
            name: connection.member.connection,
        });
        let (unit, _) = self.timeline.advance_to(now);
        unit.set_iscsi_port(initiator, &name.initiator, name.isid);
        connection.session = Some(self.sessions.insert(session));
        let replaced = old.map(|old| old.connections).unwrap_or_default();
        replaced.into_iter().map(|other| other.number).collect()
    }

    /// Adds a connection to a session. Returns the connections to close: one with the same id,
    /// which is replaced (RFC 7143, "Connection Reinstatement"), or the new one if the session has
    /// ended.
    fn join_session(
        &mut self,
        number: usize,
        clients: &mut Clients<'_>,
        now: HostInstant,
    ) -> Vec<usize> {
        let Some(connection) = clients.get_mut(number) else {
            return Vec::new();
        };
        let (tsih, name) = (connection.member.tsih, connection.member.connection);
        let index = self.find_session(|session| session.tsih == tsih);
        let other = index.and_then(|index| Some((index, self.sessions.get_mut(index)?)));
        let Some((index, session)) = other else {
            return vec![number];
        };
        connection.session = Some(index);
        let old = session.connection_number(name);
        session.connections.push(SessionConnection { number, name });
        if let Some(old) = old {
            self.cut_off(old, clients, now);
        }
        old.into_iter().collect()
    }

    /// Ends a connection immediately and drops its output.
    fn cut_off(&mut self, number: usize, clients: &mut Clients<'_>, now: HostInstant) {
        if let Some(connection) = clients.get_mut(number) {
            self.leave(number, connection, now);
        }
    }

    /// Removes a connection and aborts its tasks. A session without connections ends.
    fn leave(&mut self, number: usize, connection: &mut Connection, now: HostInstant) {
        let Some(index) = connection.session.take() else {
            return;
        };
        let Some(session) = self.sessions.get_mut(index) else {
            return;
        };
        // The slot may belong to a newer session.
        if !session.has_connection(number) {
            return;
        }
        session.connections.retain(|other| other.number != number);
        connection.cut_off(&mut session.window);
        session.drop_early(number);
        let tasks = session.tasks.iter();
        let running =
            tasks.filter(|task| task.connection == number && task.state == TaskState::Started);
        let started: Vec<u64> = running.map(|task| task.tag.0.into()).collect();
        self.statistics.counts.aborted += started.len() as u64;
        if session.connections.is_empty() {
            self.end_session(index, now);
            return;
        }
        session.drop_tasks(|task| task.connection == number);
        let initiator = session.initiator;
        for id in started {
            let (unit, at) = self.timeline.advance_to(now);
            unit.abort(at, initiator, id);
            self.drop_responses(|other, task| (other, task) == (initiator, id));
        }
        // Tasks that waited for the aborted ones can now start.
        self.start_tasks(index, now);
    }

    /// Ends a session and disconnects its initiator from the unit.
    fn end_session(&mut self, index: usize, now: HostInstant) -> Option<Session> {
        let session = self.sessions.try_remove(index)?;
        let initiator = session.initiator;
        let (unit, at) = self.timeline.advance_to(now);
        unit.disconnect(at, initiator);
        self.drop_responses(|other, _| other == initiator);
        Some(session)
    }

    fn update_persisted(&mut self, now: HostInstant) {
        let (unit, at) = self.timeline.advance_to(now);
        unit.follow(at);
    }
}

const NO_INITIATOR: u64 = 0;

/// Operation code of the command that may abort other initiators' tasks.
const PERSISTENT_RESERVE_OUT: u8 = 0x5f;

/// Returns the serial number of a target's unit: an FNV-1a digest of the target's name, unique on
/// the server and the same in each run.
fn serial(name: &str) -> String {
    let mix = |sum: u32, byte: u8| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    format!("{:08X}", name.bytes().fold(0x811c_9dc5, mix))
}

impl Service for IscsiTarget {
    type Session = Connection;

    fn open(&mut self, number: usize, clients: &mut Clients<'_>, now: HostInstant) -> Vec<usize> {
        let Some(connection) = clients.get_mut(number) else {
            return Vec::new();
        };
        match connection.first {
            Some(first) => self.start_session(number, connection, first, now),
            None => self.join_session(number, clients, now),
        }
    }

    fn handle_next(
        &mut self,
        number: usize,
        clients: &mut Clients<'_>,
        now: HostInstant,
    ) -> Result<bool, ConnectionError> {
        let client = clients.get_mut(number);
        let Some(connection) = client.filter(|_| self.power.takes_requests()) else {
            return Ok(false);
        };
        if self.blocks.lock().data.is_full() {
            self.is_holding = true;
            return Ok(false);
        }
        let Some(index) = connection.session else {
            return Ok(false);
        };
        let Some((message, data)) = connection.message()? else {
            return Ok(false);
        };
        let origin = Origin {
            session: index,
            connection: number,
        };
        self.handle_message(origin, message, data, clients, now)?;
        Ok(true)
    }

    fn serve_due(&mut self, clients: &mut Clients<'_>, now: HostInstant) -> Vec<usize> {
        let mut touched = std::mem::take(&mut self.touched);
        touched.extend(self.handle_syncs(clients));
        while self.power.takes_requests()
            && let Some((response, due)) = self.timeline.pop_due(now)
        {
            touched.extend(self.handle_response(response, due, now, clients));
        }
        if self.is_holding && !self.blocks.lock().data.is_full() {
            self.is_holding = false;
            touched = clients.numbers();
        }
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    fn fill(&mut self, connection: &mut Connection) -> Result<(), ConnectionError> {
        let index = connection.session;
        if let Some(session) = index.and_then(|index| self.sessions.get_mut(index)) {
            connection.fill(&mut session.window);
        }
        Ok(())
    }

    fn close(&mut self, number: usize, mut connection: Connection, now: HostInstant) {
        self.leave(number, &mut connection, now);
    }

    fn is_answered(&self, number: usize, connection: &Connection) -> bool {
        let waits = |session: &Session| {
            let mut tasks = session.tasks.iter();
            tasks.any(|task| task.connection == number && task.state != TaskState::Arriving)
        };
        let mut sessions = self.sessions.iter();
        connection.has_sent() && !sessions.any(|(_, session)| waits(session))
    }

    fn next_due(&self) -> Option<HostInstant> {
        let next = self.timeline.next_due().into_iter();
        next.chain(self.power.trigger_time).min()
    }

    fn is_idle(&self) -> bool {
        self.timeline.model.tasks() == 0
    }

    fn finish(mut self) -> Statistics {
        // Also preserve data that were written without a flush.
        let synced = self.blocks.lock().data.store.sync();
        self.statistics.record_last_sync(synced);
        self.statistics
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Origin {
    pub session: usize,
    pub connection: usize,
}

impl PowerControl for IscsiTarget {
    fn switch(&mut self) -> &mut PowerSwitch {
        &mut self.power
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn can_lose_writes(&self) -> bool {
        self.blocks.lock().data.can_lose_writes()
    }

    fn pending_writes(&mut self, now: HostInstant) -> Vec<PendingWrite> {
        self.update_persisted(now);
        self.blocks.lock().data.pending_writes()
    }

    fn revert_writes(&mut self, cut: &PowerCut, now: HostInstant) -> io::Result<Losses> {
        self.update_persisted(now);
        let losses = self.blocks.cut(cut);
        self.drop_responses(|_, _| true);
        let new = match &self.make_disk {
            Some(make) => make(),
            None => Disk::instant(self.facts.sectors, self.facts.sector),
        };
        let disk = new.with_faults(self.power.faults.clone());
        let (unit, at) = self.timeline.advance_to(now);
        unit.power_cycle(at, disk);
        losses
    }

    fn statistics(&mut self) -> &mut Statistics {
        &mut self.statistics
    }
}
