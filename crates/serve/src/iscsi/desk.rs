//! The commands of all initiators of a target, over its logical unit.

use std::fs::File;
use std::io;
use std::time::Instant as Wall;

use diskarm_core::units::SectorCount;
use diskarm_emulate::{Identity, Response, Status, Unit};
use diskarm_wire::Sense;
use diskarm_wire::iscsi::Tag;
use diskarm_wire::sense::Key;

use super::connection::Connection;
use super::disk::Disk;
use super::media::UnitStore;
use super::messages::By;
use super::register::Name;
use super::session::Session;
use super::target_name;
use super::task::State;
use crate::clock::Speed;
use crate::export::{Export, Facts};
use crate::figures::{Access, Statistics};
use crate::power::{Data, DeviceFactory, PowerConfig, PowerSwitch, TriggerSide};
use crate::service::{self, Broken, Service};
use crate::slots::Slots;
use crate::sockets::Waker;
use crate::syncer::Syncer;
use crate::timeline::Timeline;

pub(super) type Clients<'a> = dyn service::Clients<Connection> + 'a;

/// See the module.
pub struct IscsiTarget {
    pub(super) facts: Facts,
    pub(super) timeline: Timeline<Unit<Disk>>,
    is_timed: bool,
    pub(super) blocks: UnitStore,
    pub(super) power: PowerSwitch,
    /// Makes the disk anew; without it requests take no time, or the power cannot be cut.
    pub(super) make_disk: Option<DeviceFactory<Disk>>,
    /// Commands are waiting in their sessions until less is kept of what writes replace.
    is_holding: bool,
    /// Without it the store has nothing to synchronise.
    syncer: Option<Syncer>,
    /// Answers that wait for it.
    syncing: Slots<Syncing>,
    pub(super) file: Option<File>,
    pub(super) sessions: Slots<Session>,
    /// Connections with something to send that others have brought about.
    pub(super) touched: Vec<usize>,
    /// Initiators that the unit knows.
    initiators: Vec<Initiator>,
    next_initiator: u64,
    pub(super) served: Statistics,
}

/// An initiator: its name, and its part of the name of the session.
struct Initiator {
    name: String,
    isid: [u8; 6],
    id: u64,
}

/// An answer that waits until the store's file has been synchronised.
struct Syncing {
    response: Response,
    /// When it was due, if it takes time.
    due: Option<Wall>,
}

impl IscsiTarget {
    /// Serves `export`.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn new(export: Export<Disk>, waker: Waker) -> io::Result<Self> {
        let file = export.store.to_sync().map(File::try_clone).transpose()?;
        let syncer = file.as_ref().map(|file| Syncer::new(file, waker));
        let speed = export
            .timing
            .as_ref()
            .map_or(Speed::REAL, |timing| timing.speed);
        let facts = export.facts;
        let is_timed = export.timing.is_some();
        let data = Data::new(export.store, facts.sector);
        let (data, make_disk) = match export.power {
            Some(PowerConfig { capacity, device }) => (data.losing(capacity, is_timed), device),
            None => (data, None),
        };
        let blocks = UnitStore::new(data, facts.sector.0, facts.bytes().0);
        let disk = match export.timing {
            Some(timing) => timing.device,
            None => Disk::instantly(facts.sectors, facts.sector),
        };
        let power = PowerSwitch::default();
        let disk = disk.failing(power.injections().clone());
        let identity = Identity {
            product: facts.description.to_uppercase(),
            serial: serial(&target_name(&facts.name)),
            ..Identity::default()
        };
        let unit = Unit::with_store(disk, Box::new(blocks.clone()))
            .identified(identity)
            .physical_blocks(SectorCount(facts.physical.0 / facts.sector.0))
            .read_only(facts.is_read_only);
        Ok(Self {
            timeline: Timeline::new(unit, speed),
            is_timed,
            blocks,
            power,
            make_disk,
            is_holding: false,
            facts,
            syncer: syncer.transpose()?,
            syncing: Slots::default(),
            file,
            sessions: Slots::default(),
            touched: Vec::new(),
            initiators: Vec::new(),
            next_initiator: NOBODY + 1,
            served: Statistics::default(),
        })
    }

    /// Begins the tasks of a session that may begin now.
    pub(super) fn begin(&mut self, place: usize, now: Wall) {
        let Some(session) = self.sessions.get_mut(place) else {
            return;
        };
        let initiator = session.initiator;
        while self.power.takes_requests()
            && let Some(task) = session.next_to_begin()
        {
            task.state = State::Begun;
            if self.power.passes(TriggerSide::Before, task.access) {
                return;
            }
            let data = std::mem::take(&mut task.data);
            let (unit, at) = self.timeline.at(now);
            unit.submit(
                at,
                diskarm_emulate::Task {
                    id: task.tag.0.into(),
                    initiator,
                    attribute: task.attribute,
                    command: &task.block,
                    data_out: &data,
                },
            );
        }
    }

    /// Takes what the unit answers; returns the connection with something to send.
    fn ended(&mut self, response: Response, due: Wall, clients: &mut Clients<'_>) -> Option<usize> {
        let place = self.place(response.initiator)?;
        let session = self.sessions.get_mut(place)?;
        let task = session.task(Tag(response.id as u32))?;
        let takes_time = self.is_timed && task.access != Access::Other;
        let due = takes_time.then_some(due);
        let syncs = task.syncs;
        let may_preempt = task.block[0] == PERSISTENT_RESERVE_OUT;
        let is_good = response.status == Status::Good;
        if syncs
            && is_good
            && let Some(syncer) = &self.syncer
        {
            syncer.ask(self.syncing.insert(Syncing { response, due }));
            return None;
        }
        let touched = self.answer(response, due, clients);
        if may_preempt {
            self.drop_aborted();
        }
        touched
    }

    /// Answers a command; returns the connection by which it came.
    fn answer(
        &mut self,
        response: Response,
        due: Option<Wall>,
        clients: &mut Clients<'_>,
    ) -> Option<usize> {
        let place = self.place(response.initiator)?;
        self.count_end(&response);
        let session = self.sessions.get_mut(place)?;
        if response.status == Status::Good
            && let Some(task) = session.task(Tag(response.id as u32))
        {
            self.served.counts.written_bytes += task.writes_bytes;
            self.power.passes(TriggerSide::After, task.access);
        }
        let Response {
            id,
            status,
            sense,
            data_in,
            ..
        } = response;
        let number = self.end(place, Tag(id as u32), status as u8, sense, data_in, clients)?;
        if let Some(due) = due {
            clients.due(number, due);
        }
        Some(number)
    }

    /// A command of a session has ended; returns the connection that answers it.
    pub(super) fn end(
        &mut self,
        place: usize,
        tag: Tag,
        scsi_status: u8,
        sense: Vec<u8>,
        data: Vec<u8>,
        clients: &mut Clients<'_>,
    ) -> Option<usize> {
        let session = self.sessions.get_mut(place)?;
        let (number, end) = session.end(tag, scsi_status, sense, data)?;
        clients.get_mut(number)?.end(end);
        Some(number)
    }

    fn count_end(&mut self, response: &Response) {
        if response.status != Status::CheckCondition {
            return;
        }
        let counts = &mut self.served.counts;
        match Sense::parse(&response.sense).map(|sense| sense.key) {
            Ok(Key::IllegalRequest) => counts.refused += 1,
            Ok(Key::UnitAttention) => {}
            _ => counts.failed += 1,
        }
    }

    /// Takes the files that have been synchronised.
    fn hear_of_syncs(&mut self, clients: &mut Clients<'_>) -> Vec<usize> {
        let mut touched = Vec::new();
        while let Some((id, is_synced)) = self.syncer.as_ref().and_then(Syncer::answered) {
            let Some(mut syncing) = self.syncing.remove(id) else {
                continue;
            };
            if !is_synced {
                let failed: Sense = diskarm_emulate::Unavailable.into();
                syncing.response.status = Status::CheckCondition;
                syncing.response.sense = sense_bytes(&failed);
            }
            touched.extend(self.answer(syncing.response, syncing.due, clients));
        }
        touched
    }

    /// The place of the session of an initiator.
    pub(super) fn place(&self, initiator: u64) -> Option<usize> {
        self.place_where(|session| session.initiator == initiator)
    }

    /// The place of the first session that is wanted.
    pub(super) fn place_where(&self, is_wanted: impl Fn(&Session) -> bool) -> Option<usize> {
        let mut sessions = self.sessions.iter();
        let found = sessions.find(|(_, session)| is_wanted(session));
        found.map(|(place, _)| place)
    }

    /// Drops what sessions keep of tasks that the unit does not have any more.
    fn drop_aborted(&mut self) {
        self.timeline.at(Wall::now());
        let syncing = self.syncing.iter().map(|(_, syncing)| &syncing.response);
        let ended: Vec<(u64, u64)> = syncing
            .chain(self.timeline.untaken())
            .map(|response| (response.initiator, response.id))
            .collect();
        let unit = self.timeline.timed();
        for session in self.sessions.iter_mut() {
            let initiator = session.initiator;
            session.drop_tasks(|task| {
                let id = u64::from(task.tag.0);
                task.state == State::Begun
                    && !unit.is_outstanding(initiator, id)
                    && !ended.contains(&(initiator, id))
            });
        }
    }

    /// What the unit calls the initiator of a session.
    pub(super) fn identify(&mut self, session: &Name) -> u64 {
        let (unit, _) = self.timeline.at(Wall::now());
        let sessions = &self.sessions;
        self.initiators.retain(|initiator| {
            let mut sessions = sessions.iter();
            let is_here = sessions.any(|(_, session)| session.initiator == initiator.id);
            is_here || unit.knows(initiator.id)
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
}

/// No initiator has this number.
const NOBODY: u64 = 0;

/// The code of the command that may abort the tasks of others.
const PERSISTENT_RESERVE_OUT: u8 = 0x5f;

/// Sense data in the fixed format.
pub(super) fn sense_bytes(sense: &Sense) -> Vec<u8> {
    use diskarm_wire::sense::{Format, MAX_LENGTH};
    let mut data = vec![0; MAX_LENGTH];
    let length = sense.emit(Format::Fixed, &mut data);
    data.truncate(length);
    data
}

/// A serial number for the unit of a target: a digest of its name (FNV-1a), so that no two of a
/// server are alike and each is the same in the next run.
fn serial(name: &str) -> String {
    let mix = |sum: u32, byte: u8| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    format!("{:08X}", name.bytes().fold(0x811c_9dc5, mix))
}

impl Service for IscsiTarget {
    type Session = Connection;

    fn opened(&mut self, number: usize, clients: &mut Clients<'_>) -> Vec<usize> {
        let Some(connection) = clients.get_mut(number) else {
            return Vec::new();
        };
        match connection.first {
            Some(first) => self.begin_session(number, connection, first),
            None => self.join_session(number, clients),
        }
    }

    fn take(
        &mut self,
        number: usize,
        clients: &mut Clients<'_>,
        now: Wall,
    ) -> Result<bool, Broken> {
        let Some(connection) = clients.get_mut(number) else {
            return Ok(false);
        };
        if !self.power.takes_requests() {
            return Ok(false);
        }
        if self.blocks.media().data.is_full() {
            self.is_holding = true;
            return Ok(false);
        }
        let Some(place) = connection.session else {
            return Ok(false);
        };
        let Some((message, data)) = connection.message()? else {
            return Ok(false);
        };
        let by = By { place, number };
        self.arrived(by, message, data, clients, now)?;
        Ok(true)
    }

    fn serve_due(&mut self, clients: &mut Clients<'_>) -> Vec<usize> {
        let mut touched = std::mem::take(&mut self.touched);
        touched.extend(self.hear_of_syncs(clients));
        while self.power.takes_requests()
            && let Some((response, due)) = self.timeline.ended(Wall::now())
        {
            touched.extend(self.ended(response, due, clients));
        }
        if self.is_holding && !self.blocks.media().data.is_full() {
            self.is_holding = false;
            touched = clients.numbers();
        }
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    fn fill(&mut self, connection: &mut Connection) -> Result<(), Broken> {
        let place = connection.session;
        if let Some(session) = place.and_then(|place| self.sessions.get_mut(place)) {
            connection.fill(&mut session.window);
        }
        Ok(())
    }

    fn closed(&mut self, number: usize, mut connection: Connection) {
        self.leave(number, &mut connection);
    }

    fn is_answered(&self, number: usize, connection: &Connection) -> bool {
        let waits = |session: &Session| {
            let mut tasks = session.tasks.iter();
            tasks.any(|task| task.connection == number && task.state != State::Arriving)
        };
        let mut sessions = self.sessions.iter();
        connection.has_sent() && !sessions.any(|(_, session)| waits(session))
    }

    fn next(&self) -> Option<Wall> {
        let next = self.timeline.next().into_iter();
        next.chain(self.power.strikes_at()).min()
    }

    fn is_idle(&self) -> bool {
        self.timeline.timed().tasks() == 0
    }

    fn end(self) -> Statistics {
        // What was written without a flush is kept, too, if that can be done.
        if let Some(file) = &self.file {
            let _ = file.sync_all();
        }
        self.served
    }
}

impl IscsiTarget {
    /// Lets answers to these initiators' tasks go nowhere, so that none is taken for that of a
    /// newer task with the same name. Those that wait for the file keep their places there.
    pub(super) fn forget_answers(&mut self, of: impl Fn(u64, u64) -> bool) {
        self.timeline
            .forget(|response| of(response.initiator, response.id));
        for syncing in self.syncing.iter_mut() {
            if of(syncing.response.initiator, syncing.response.id) {
                syncing.response.initiator = NOBODY;
            }
        }
    }
}
