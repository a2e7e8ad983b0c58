//! SCSI commands that arrive.

use std::time::Instant as Wall;

use diskarm_core::request::Request;
use diskarm_emulate::Status;
use diskarm_wire::command::Size;
use diskarm_wire::inquiry::{Inquiry, padded};
use diskarm_wire::iscsi::{self, DataOut, Lengths, Message, Tag, reject_reason};
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense};

use super::desk::{Clients, IscsiTarget, sense_bytes};
use super::messages::By;
use super::task::{Further, Task, WrongData};
use super::window::MAX_COST;
use crate::figures::Access;

/// The longest list of parameters whose length is in its own header, in bytes: all the defects that
/// a list can have are far less.
const MAX_LIST: usize = 1 << 20;

/// What a command means to the server, apart from the unit.
struct Meaning {
    access: Access,
    /// Data of blocks that it reads or writes, in bytes.
    bytes: u64,
    /// What it returns takes this much memory.
    returns: usize,
    /// It is answered when the store's file has been synchronised.
    syncs: bool,
}

impl Meaning {
    fn of(block: &[u8], sector: u64) -> Self {
        let other = Self {
            access: Access::Other,
            bytes: 0,
            returns: 0,
            syncs: false,
        };
        let Ok(command) = Command::parse(block) else {
            return other;
        };
        let whole = |count: u32| u64::from(count) * sector;
        match command {
            Command::Read { blocks, .. } => Self {
                access: Access::Read,
                bytes: whole(blocks.count),
                returns: whole(blocks.count) as usize,
                ..other
            },
            Command::Write {
                blocks, caching, ..
            } => Self {
                access: Access::Write,
                bytes: whole(blocks.count),
                syncs: caching.force_unit_access,
                ..other
            },
            Command::WriteAndVerify { blocks, .. } => Self {
                access: Access::Write,
                bytes: whole(blocks.count),
                syncs: true,
                ..other
            },
            Command::OrWrite { blocks, caching } => Self {
                access: Access::Write,
                bytes: whole(blocks.count),
                syncs: caching.force_unit_access,
                ..other
            },
            Command::WriteSame { blocks, .. } => Self {
                access: Access::Write,
                bytes: whole(blocks.count),
                ..other
            },
            Command::CompareAndWrite { count, caching, .. } => Self {
                access: Access::Write,
                bytes: whole(count.into()),
                syncs: caching.force_unit_access,
                ..other
            },
            Command::SynchronizeCache { .. } => Self {
                access: Access::Flush,
                syncs: true,
                ..other
            },
            _ => other,
        }
    }
}

impl IscsiTarget {
    pub(super) fn command(
        &mut self,
        by: By,
        command: &iscsi::Command,
        data: &[u8],
        clients: &mut Clients<'_>,
        now: Wall,
    ) {
        let (Some(session), Some(connection)) =
            (self.sessions.get_mut(by.place), clients.get_mut(by.number))
        else {
            return;
        };
        let refusal = if session.task(command.tag).is_some() {
            Some(reject_reason::TASK_IN_PROGRESS)
        } else if command.immediate && !session.window.takes_immediate() {
            Some(reject_reason::IMMEDIATE)
        } else {
            None
        };
        if let Some(reason) = refusal {
            let header = Message::Command(*command).emit(Lengths::of_data(data.len()));
            return connection.reject(reason, header);
        }
        let sector = self.facts.sector.0;
        let meaning = Meaning::of(command.unpadded(), sector);
        // Whether data are written is known when the command ends.
        let (read, written) = match meaning.access {
            Access::Write => (0, meaning.bytes),
            _ => (meaning.bytes, 0),
        };
        self.served.counts.count(meaning.access, read);
        let needed = self.timeline.timed().data_out_length(command.unpadded());
        // The unit refuses longer transfers, whatever comes with them.
        let longest = (Request::MAX_SECTORS.0 * sector) as usize;
        let needed = match needed {
            usize::MAX => MAX_LIST.min(command.length as usize),
            needed if needed > longest => 0,
            needed => needed,
        };
        let returns = match meaning.returns {
            returns if returns > longest => 0,
            returns => returns,
        };
        let cost = needed.min(command.length as usize) + returns;
        let mut task = Task::new(by.number, command, meaning.access, needed, cost);
        task.syncs = meaning.syncs && self.file.is_some();
        task.writes_bytes = written;
        if needed > command.length as usize
            && let Some(block) = shortened(&task.block, u64::from(command.length) / sector)
        {
            task.block = block;
            task.writes_bytes = u64::from(command.length) / sector * sector;
        }
        if !session.window.has_memory(cost) {
            task.share.cost = 0;
            session.keep(task);
            if cost > MAX_COST {
                let sense = Sense::new(Key::IllegalRequest, Code::INVALID_FIELD);
                return self.check(by, command.tag, &sense, clients);
            }
            let status = Status::TaskSetFull as u8;
            self.end(
                by.place,
                command.tag,
                status,
                Vec::new(),
                Vec::new(),
                clients,
            );
            return;
        }
        let further = task.immediate(data, &connection.parameters);
        let is_elsewhere = command.lun.number() != Some(0);
        session.keep(task);
        if is_elsewhere && !reports_units(command.unpadded()) {
            return self.elsewhere(by, command, clients);
        }
        self.go_on(by, command.tag, further, clients, now);
    }

    /// Takes data of a command.
    pub(super) fn data(
        &mut self,
        by: By,
        message: &DataOut,
        data: &[u8],
        clients: &mut Clients<'_>,
        now: Wall,
    ) {
        let (Some(session), Some(connection)) =
            (self.sessions.get_mut(by.place), clients.get_mut(by.number))
        else {
            return;
        };
        // Data of tasks that have been aborted, or have failed, are on their way still.
        let task = session.task(message.tag);
        if let Some(task) = task.filter(|task| task.connection == by.number) {
            let further = task.receive(message, data, &connection.parameters);
            self.go_on(by, message.tag, further, clients, now);
        }
    }

    /// Continues with a task after a part of its data.
    fn go_on(
        &mut self,
        by: By,
        tag: Tag,
        further: Result<Further, WrongData>,
        clients: &mut Clients<'_>,
        now: Wall,
    ) {
        match further {
            Ok(Further::Wait) => {}
            Ok(Further::Ask) => {
                let session = self.sessions.get_mut(by.place);
                let task = session.and_then(|session| session.task(tag));
                if let (Some(task), Some(connection)) = (task, clients.get_mut(by.number)) {
                    connection.ask_for_data(task);
                }
            }
            Ok(Further::Ready) => self.begin(by.place, now),
            Err(wrong) => {
                self.served.counts.refused += 1;
                self.check(by, tag, &wrong.sense(), clients);
                // Those behind it may have waited for it.
                self.begin(by.place, now);
            }
        }
    }

    /// Ends a task with CHECK CONDITION.
    fn check(&mut self, by: By, tag: Tag, sense: &Sense, clients: &mut Clients<'_>) {
        let status = Status::CheckCondition as u8;
        self.end(
            by.place,
            tag,
            status,
            sense_bytes(sense),
            Vec::new(),
            clients,
        );
    }

    /// Answers a command to a logical unit that is not there (SAM-5, "incorrect logical unit
    /// numbers").
    fn elsewhere(&mut self, by: By, command: &iscsi::Command, clients: &mut Clients<'_>) {
        let page = match Command::parse(command.unpadded()) {
            Ok(Command::Inquiry { page: None, length }) => Some(length),
            _ => None,
        };
        let Some(length) = page else {
            let sense = Sense::new(Key::IllegalRequest, Code::NO_SUCH_UNIT);
            return self.check(by, command.tag, &sense, clients);
        };
        let mut data = nothing().emit().to_vec();
        data.truncate(length.into());
        let status = Status::Good as u8;
        self.end(by.place, command.tag, status, Vec::new(), data, clients);
    }
}

/// A write of fewer blocks: the initiator has data for no more than `most` (RFC 7143, "SCSI
/// Command": the expected length limits the transfer, and the residual count says by how much).
fn shortened(block: &[u8], max: u64) -> Option<Vec<u8>> {
    let mut command = Command::parse(block).ok()?;
    match &mut command {
        Command::Write { size, blocks, .. } | Command::WriteAndVerify { size, blocks, .. } => {
            blocks.count = u64::from(blocks.count).min(max) as u32;
            if blocks.count == 0 && *size == Size::Six {
                // Six bytes say 256 blocks by zero.
                *size = Size::Ten;
            }
        }
        _ => return None,
    }
    let mut short = [0; 16];
    let length = command.emit(&mut short);
    Some(short[..length].to_vec())
}

/// Whether it is REPORT LUNS, which any logical unit answers (SPC-4).
fn reports_units(block: &[u8]) -> bool {
    matches!(Command::parse(block), Ok(Command::ReportLuns { .. }))
}

/// What INQUIRY says of a logical unit that is not there.
fn nothing() -> Inquiry {
    Inquiry {
        qualifier: 3,
        device_type: 0x1f,
        removable: false,
        version: 6,
        normal_aca: false,
        hierarchical: false,
        response_format: 2,
        additional_length: Inquiry::LENGTH as u8 - 5,
        protect: false,
        multiple_ports: false,
        wide_32: false,
        wide_16: false,
        synchronous: false,
        linked: false,
        command_queueing: false,
        vendor: padded(""),
        product: padded(""),
        revision: padded(""),
    }
}
