//! The commands of all initiators of a target, over its logical unit.

use std::fs::File;
use std::io;
use std::time::Instant as Wall;

use diskarm_emulate::{Identity, Response, Status, Unit};
use diskarm_wire::Sense;
use diskarm_wire::iscsi::{Message, Tag};
use diskarm_wire::sense::Key;

use super::disk::{Blocks, Disk};
use super::session::Session;
use super::target_name;
use super::task::State;
use crate::clock::Speed;
use crate::control::{Command, Reply};
use crate::export::{Export, Facts};
use crate::figures::{Access, Served};
use crate::service::{self, Broken, Desk};
use crate::slots::Slots;
use crate::sockets::Waker;
use crate::syncer::Syncer;
use crate::timeline::Timeline;

pub(super) type Clients<'a> = dyn service::Clients<Session> + 'a;

/// See the module.
pub struct IscsiDesk {
    pub(super) facts: Facts,
    pub(super) timeline: Timeline<Unit<Disk>>,
    is_timed: bool,
    /// Without it the store has nothing to synchronise.
    syncer: Option<Syncer>,
    /// Answers that wait for it.
    syncing: Slots<Syncing>,
    /// The store's file.
    file: Option<File>,
    /// Sessions by what the unit calls their initiators.
    sessions: Vec<(u64, usize)>,
    /// Initiators that the unit knows.
    initiators: Vec<Initiator>,
    next_initiator: u64,
    pub(super) served: Served,
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

impl IscsiDesk {
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
        let blocks = Blocks {
            store: export.store,
            sector: facts.sector.0,
            bytes: facts.bytes().0,
        };
        let is_timed = export.timing.is_some();
        let disk = match export.timing {
            Some(timing) => timing.device,
            None => Disk::instantly(facts.sectors, facts.sector),
        };
        let identity = Identity {
            product: facts.description.to_uppercase(),
            serial: serial(&target_name(&facts.name)),
            ..Identity::default()
        };
        let unit = Unit::with_store(disk, Box::new(blocks))
            .identified(identity)
            .read_only(facts.is_read_only);
        Ok(Self {
            timeline: Timeline::new(unit, speed),
            is_timed,
            facts,
            syncer: syncer.transpose()?,
            syncing: Slots::default(),
            file,
            sessions: Vec::new(),
            initiators: Vec::new(),
            next_initiator: NOBODY + 1,
            served: Served::default(),
        })
    }

    /// Begins the tasks of a session that may begin now.
    pub(super) fn begin(&mut self, session: &mut Session, now: Wall) {
        let initiator = session.initiator;
        while let Some(task) = session.next_to_begin() {
            task.state = State::Begun;
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

    /// Takes what the unit answers; returns the session with something to send.
    fn ended(&mut self, response: Response, due: Wall, clients: &mut Clients<'_>) -> Option<usize> {
        let initiator = response.initiator;
        let number = self.number(initiator)?;
        let session = clients.get_mut(number)?;
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
            self.drop_aborted(clients);
        }
        touched
    }

    /// Answers a command; returns its session.
    fn answer(
        &mut self,
        response: Response,
        due: Option<Wall>,
        clients: &mut Clients<'_>,
    ) -> Option<usize> {
        let number = self.number(response.initiator)?;
        self.count_end(&response);
        if let Some(due) = due {
            clients.due(number, due);
        }
        let session = clients.get_mut(number)?;
        if response.status == Status::Good
            && let Some(task) = session.task(Tag(response.id as u32))
        {
            self.served.counts.written_bytes += task.writes_bytes;
        }
        let Response {
            id,
            status,
            sense,
            data_in,
            ..
        } = response;
        session.end(Tag(id as u32), status as u8, sense, data_in);
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

    /// The session of an initiator.
    fn number(&self, initiator: u64) -> Option<usize> {
        let mut sessions = self.sessions.iter();
        let found = sessions.find(|(id, _)| *id == initiator);
        found.map(|(_, number)| *number)
    }

    /// Drops what sessions keep of tasks that the unit does not have any more.
    pub(super) fn drop_aborted(&mut self, clients: &mut Clients<'_>) {
        self.timeline.at(Wall::now());
        let syncing = self.syncing.iter().map(|(_, syncing)| &syncing.response);
        let ended: Vec<(u64, u64)> = syncing
            .chain(self.timeline.untaken())
            .map(|response| (response.initiator, response.id))
            .collect();
        let unit = self.timeline.timed();
        for (initiator, number) in &self.sessions {
            let Some(session) = clients.get_mut(*number) else {
                continue;
            };
            session.drop_tasks(|task| {
                let id = u64::from(task.tag.0);
                task.state == State::Begun
                    && !unit.is_outstanding(*initiator, id)
                    && !ended.contains(&(*initiator, id))
            });
        }
    }

    /// What the unit calls the initiator of a session.
    fn identify(&mut self, session: &Session) -> u64 {
        let (unit, _) = self.timeline.at(Wall::now());
        let sessions = &self.sessions;
        self.initiators.retain(|initiator| {
            let is_here = sessions.iter().any(|(id, _)| *id == initiator.id);
            is_here || unit.knows(initiator.id)
        });
        let origin = &session.origin;
        let mut known = self.initiators.iter();
        let known = known.find(|other| other.name == origin.initiator && other.isid == origin.isid);
        if let Some(known) = known {
            return known.id;
        }
        let id = self.next_initiator;
        self.next_initiator += 1;
        self.initiators.push(Initiator {
            name: origin.initiator.clone(),
            isid: origin.isid,
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

impl Desk for IscsiDesk {
    type Session = Session;

    fn opened(&mut self, number: usize, clients: &mut Clients<'_>) -> Option<usize> {
        let session = clients.get_mut(number)?;
        let initiator = self.identify(session);
        session.initiator = initiator;
        let (name, isid) = (session.origin.initiator.clone(), session.origin.isid);
        // The same session once more: it takes the place of the old one (RFC 7143, "Session
        // Reinstatement").
        let other = self.number(initiator);
        if other.is_some() {
            self.leave(initiator);
        }
        self.sessions.push((initiator, number));
        let (unit, _) = self.timeline.at(Wall::now());
        unit.comes_over_iscsi(initiator, &name, isid);
        other
    }

    fn take(
        &mut self,
        number: usize,
        clients: &mut Clients<'_>,
        now: Wall,
    ) -> Result<bool, Broken> {
        let Some(session) = clients.get_mut(number) else {
            return Ok(false);
        };
        let Some((message, data)) = session.message()? else {
            return Ok(false);
        };
        match message {
            Message::TaskRequest(request) => self.manage(number, &request, clients, now)?,
            message => self.serve(session, &message, data, now)?,
        }
        Ok(true)
    }

    fn serve_due(&mut self, clients: &mut Clients<'_>) -> Vec<usize> {
        let mut touched = self.hear_of_syncs(clients);
        while let Some((response, due)) = self.timeline.ended(Wall::now()) {
            touched.extend(self.ended(response, due, clients));
        }
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    fn fill(&mut self, session: &mut Session) -> Result<(), Broken> {
        session.fill();
        Ok(())
    }

    fn closed(&mut self, number: usize, session: Session) {
        let is_here = |(_, other): &(u64, usize)| *other == number;
        if self.sessions.iter().any(is_here) {
            let begun = session
                .tasks
                .iter()
                .filter(|task| task.state == State::Begun);
            self.served.counts.aborted += begun.count() as u64;
            self.leave(session.initiator);
        }
    }

    fn next(&self) -> Option<Wall> {
        self.timeline.next()
    }

    fn is_idle(&self) -> bool {
        self.timeline.timed().tasks() == 0
    }

    fn control(&mut self, command: &Command) -> Result<Reply, String> {
        match command {
            Command::Figures => Ok(Reply::Served(Box::new(self.served.clone()))),
            _ => Err("iSCSI targets answer figures alone".to_owned()),
        }
    }

    fn served(&mut self) -> &mut Served {
        &mut self.served
    }

    fn end(self) -> Served {
        // What was written without a flush is kept, too, if that can be done.
        if let Some(file) = &self.file {
            let _ = file.sync_all();
        }
        self.served
    }
}

impl IscsiDesk {
    /// An initiator is gone.
    fn leave(&mut self, initiator: u64) {
        let (unit, at) = self.timeline.at(Wall::now());
        unit.disconnect(at, initiator);
        self.sessions.retain(|(id, _)| *id != initiator);
        self.forget_answers(|of, _| of == initiator);
    }

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

    /// Whether the store has a file.
    pub(super) fn has_file(&self) -> bool {
        self.file.is_some()
    }
}
