//! The state of a unit apart from its tasks, the context in which commands run, and the sequence of
//! device operations of a command that takes time.

use std::collections::BTreeMap;

use diskarm_core::device::{Completion, Status};
use diskarm_core::geometry::Layout;
use diskarm_core::request::Op;
use diskarm_core::spec::Spec;
use diskarm_core::units::{Instant, Lbn, SectorCount};
use diskarm_wire::Sense;
use diskarm_wire::layout::Short;
use diskarm_wire::mode::Control;
use diskarm_wire::sense::{Code, Format, Key, Pointer, Specific};

use crate::backing::{Backing, Store};
use crate::realism::Realism;
use crate::reservation::{Access, Nexus, Reservations};

/// The identity of a unit; longer strings are truncated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// At most 8 characters.
    pub vendor: String,
    /// At most 16 characters.
    pub product: String,
    /// The firmware revision, at most 4 characters.
    pub revision: String,
    pub serial: String,
}

impl Default for Identity {
    fn default() -> Self {
        Self {
            vendor: "DISKARM".into(),
            product: "DISK".into(),
            revision: "1.0".into(),
            serial: "00000001".into(),
        }
    }
}

impl Identity {
    /// Creates an identity with the name of the specification as the product.
    pub(crate) fn from_spec(spec: Option<&Spec>) -> Self {
        let product = spec.map(|spec| spec.name.to_uppercase());
        let named = product.filter(|name| !name.is_empty());
        let default = Self::default();
        Self {
            product: named.unwrap_or(default.product),
            ..default
        }
    }
}

pub(crate) enum CommandFailure {
    Sense(Sense),
    Conflict,
}

impl From<Sense> for CommandFailure {
    fn from(sense: Sense) -> Self {
        Self::Sense(sense)
    }
}

/// Counters of reads or writes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ErrorCounts {
    /// Accesses that succeeded after retries.
    pub recovered: u64,
    pub retries: u64,
    pub blocks: u64,
    pub failed: u64,
}

/// The counters of the unit for LOG SENSE.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub reads: ErrorCounts,
    pub writes: ErrorCounts,
}

impl Counts {
    pub fn record(&mut self, completion: &Completion) {
        let errors = if completion.request.op.is_read() {
            &mut self.reads
        } else {
            &mut self.writes
        };
        match completion.status {
            Status::Good => {}
            Status::Recovered { retries } => {
                errors.recovered += 1;
                errors.retries += u64::from(retries);
            }
            Status::MediumError { .. } => errors.failed += 1,
            Status::NotReady | Status::Aborted => return,
        }
        errors.blocks += completion.request.sectors.0;
    }
}

/// The content of changed mode pages, by page code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Modes {
    pub current: BTreeMap<u8, Vec<u8>>,
    pub saved: BTreeMap<u8, Vec<u8>>,
}

impl Modes {
    /// Returns the current content of a page, if it was changed.
    pub fn page<T>(&self, code: u8, parse: fn(&[u8]) -> Result<T, Short>) -> Option<T> {
        parse(self.current.get(&code)?).ok()
    }

    fn control(&self) -> Option<Control> {
        self.page(Control::CODE, Control::parse)
    }
}

pub(crate) struct State {
    pub identity: Identity,
    /// Size of a block, in bytes.
    pub block: usize,
    pub blocks: u64,
    /// Logical blocks per physical block. The lowest aligned block is 0.
    pub physical: u64,
    pub store: Box<dyn Store>,
    pub modes: Modes,
    pub nexuses: Vec<Nexus>,
    /// The original specification, from which mode pages take their defaults.
    pub original_spec: Option<Spec>,
    pub is_read_only: bool,
    /// True if reads are served from the media (RCD of the caching page).
    pub read_cache_disabled: bool,
    pub reservations: Reservations,
    /// Nexuses whose tasks must be aborted because of a preemption.
    pub preempted: Vec<usize>,
    /// True if the medium is not spinning (START STOP UNIT).
    pub is_stopped: bool,
    /// Start and end of formatting.
    pub formatting: Option<(Instant, Instant)>,
    /// Number of changes to the defect lists.
    pub generation: u16,
    pub counts: Counts,
    pub realism: Realism,
}

impl State {
    /// Creates the state of a unit after power-on.
    pub fn new(device: &dyn Backing, store: Box<dyn Store>) -> Self {
        Self {
            identity: Identity::from_spec(device.spec()),
            block: device.sector_size().0 as usize,
            blocks: device.capacity().0,
            physical: device
                .spec()
                .map_or(1, |spec| spec.geometry.physical_sector.0),
            store,
            modes: Modes::default(),
            nexuses: Vec::new(),
            original_spec: device.spec().cloned(),
            is_read_only: false,
            read_cache_disabled: false,
            reservations: Reservations::default(),
            preempted: Vec::new(),
            is_stopped: false,
            formatting: None,
            generation: 0,
            counts: Counts::default(),
            realism: Realism::default(),
        }
    }

    pub fn reset(&mut self) {
        self.modes.current.clone_from(&self.modes.saved);
        self.reservations.reserved = None;
        self.is_stopped = false;
        for nexus in &mut self.nexuses {
            nexus.query = None;
        }
    }

    /// Clears the state that is lost in a power cycle: everything except the identity, saved mode
    /// parameters, defects, counters and data. Registrations cannot be kept.
    pub fn power_on(&mut self) {
        self.reset();
        self.nexuses.clear();
        self.reservations = Reservations::default();
        self.preempted.clear();
        self.formatting = None;
    }

    /// Checks that the unit is not formatting, stopped or reserved by another initiator.
    #[inline]
    pub fn admits(&self, nexus: usize, access: Access, now: Instant) -> Result<(), CommandFailure> {
        if access == Access::Always {
            return Ok(());
        }
        if let Some(sense) = self.format_in_progress(now) {
            return Err(sense.into());
        }
        if !self.reservations.admit(nexus, access) {
            return Err(CommandFailure::Conflict);
        }
        match self.start_required() {
            Some(sense) if matches!(access, Access::Reads | Access::Writes) => Err(sense.into()),
            _ => Ok(()),
        }
    }

    /// Returns the sense data to report if the unit is stopped.
    pub fn start_required(&self) -> Option<Sense> {
        self.is_stopped
            .then(|| Sense::new(Key::NotReady, Code::START_REQUIRED))
    }

    pub fn format_in_progress(&self, now: Instant) -> Option<Sense> {
        let (begin, end) = self.formatting?;
        let elapsed = now.since_or_zero(begin).as_ns() as u128 * 65_536;
        let total = (end.since_or_zero(begin).as_ns() as u128).max(1);
        Some(Sense {
            specific: Some(Specific::Progress((elapsed / total).min(65_535) as u16)),
            ..Sense::new(Key::NotReady, Code::FORMAT_IN_PROGRESS)
        })
    }

    /// Returns true if the unit is read-only or its control page forbids writes (SWP).
    pub fn is_write_protected(&self) -> bool {
        let control = self.modes.control();
        self.is_read_only || control.is_some_and(|control| control.write_protect)
    }

    /// Returns the nexus of an initiator, creating it if needed.
    pub fn nexus(&mut self, initiator: u64) -> usize {
        if let Some(known) = self.known_nexus(initiator) {
            if std::mem::take(&mut self.nexuses[known].is_gone) {
                self.nexuses[known].add_attention(Code::NEXUS_LOSS);
            }
            return known;
        }
        let new = Nexus::new(initiator);
        let is_free = |index: &usize| self.nexuses[*index].is_gone && !self.is_registered(*index);
        if let Some(index) = (0..self.nexuses.len()).find(is_free) {
            self.nexuses[index] = new;
            return index;
        }
        self.nexuses.push(new);
        self.nexuses.len() - 1
    }

    /// Returns the nexus of an initiator if the unit has state for it.
    pub fn known_nexus(&self, initiator: u64) -> Option<usize> {
        let is_known = |index: &usize| {
            let nexus = &self.nexuses[*index];
            nexus.initiator == initiator && (!nexus.is_gone || self.is_registered(*index))
        };
        (0..self.nexuses.len()).find(is_known)
    }

    fn is_registered(&self, nexus: usize) -> bool {
        self.reservations.key(nexus).is_some()
    }

    /// Establishes a unit attention for all initiators except one.
    pub fn notify_others(&mut self, except: usize, code: Code) {
        for (index, nexus) in self.nexuses.iter_mut().enumerate() {
            if index != except {
                nexus.add_attention(code);
            }
        }
    }

    /// Encodes sense data in the format that the control mode page selects.
    pub fn sense_bytes(&self, sense: &Sense) -> Vec<u8> {
        let control = self.modes.control();
        let has_descriptors = control.is_some_and(|control| control.descriptor_sense);
        encode(sense, has_descriptors)
    }
}

pub(crate) fn encode(sense: &Sense, descriptor: bool) -> Vec<u8> {
    let format = if descriptor {
        Format::Descriptor
    } else {
        Format::Fixed
    };
    sense.emit(format)
}

pub(crate) struct Context<'a> {
    pub state: &'a mut State,
    pub device: &'a mut dyn Backing,
    /// Index of the nexus that sent the command.
    pub nexus: usize,
    pub now: Instant,
    pub data_out: Vec<u8>,
}

impl Context<'_> {
    /// Returns the layout and specification of the drive, or sense data if the unit has none.
    pub fn layout_and_spec(&self) -> Result<(&Layout, &Spec), Sense> {
        let both = self.device.layout().zip(self.device.spec());
        both.ok_or(Sense::new(Key::IllegalRequest, Code::INVALID_OPERATION))
    }

    pub fn check_writable(&self) -> Result<(), Sense> {
        if self.state.is_write_protected() {
            return Err(Sense::new(Key::DataProtect, Code::WRITE_PROTECTED));
        }
        Ok(())
    }

    /// Takes the first `length` bytes of the data from the initiator.
    pub fn take(&mut self, length: usize) -> Result<Vec<u8>, Sense> {
        let mut data = std::mem::take(&mut self.data_out);
        if data.len() < length {
            return Err(too_few_data());
        }
        data.truncate(length);
        Ok(data)
    }

    /// Returns the first `length` bytes of the data from the initiator.
    pub fn list(&self, length: usize) -> Result<&[u8], Sense> {
        self.data_out.get(..length).ok_or(too_few_data())
    }

    /// Returns `at` if the blocks exist; `byte` is the offset of the address in the command block.
    pub fn in_range(&self, at: u64, count: u64, byte: u16) -> Result<Lbn, Sense> {
        let end = at.checked_add(count);
        if at < self.state.blocks && end.is_some_and(|end| end <= self.state.blocks) {
            return Ok(Lbn(at));
        }
        Err(Sense {
            specific: Some(in_command(byte, None)),
            ..Sense::new(Key::IllegalRequest, Code::OUT_OF_RANGE)
        })
    }
}

fn in_command(byte: u16, bit: Option<u8>) -> Specific {
    Specific::Field(Pointer {
        in_command: true,
        byte,
        bit,
    })
}

/// Returns sense data for an unsupported value in a field of the command block.
pub(crate) fn invalid_field(byte: u16, bit: Option<u8>) -> Sense {
    Sense {
        specific: Some(in_command(byte, bit)),
        ..Sense::new(Key::IllegalRequest, Code::INVALID_FIELD)
    }
}

/// Returns sense data for an unsupported value in a field of the parameter list.
pub(crate) fn invalid_parameter(byte: usize, bit: Option<u8>) -> Sense {
    Sense {
        specific: Some(Specific::Field(Pointer {
            in_command: false,
            byte: byte as u16,
            bit,
        })),
        ..Sense::new(Key::IllegalRequest, Code::INVALID_PARAMETER)
    }
}

/// Returns sense data for a truncated parameter list.
pub(crate) fn list_length() -> Sense {
    Sense::new(Key::IllegalRequest, Code::PARAMETER_LIST_LENGTH)
}

/// Returns sense data for a command with less data than it specifies.
pub(crate) fn too_few_data() -> Sense {
    Sense::new(Key::AbortedCommand, Code::DATA_PHASE)
}

pub(crate) enum Action {
    /// Complete the command with these data for the initiator.
    Done(Vec<u8>),
    /// Complete the command with CONDITION MET.
    ConditionMet,
    /// Wait for the device to perform this operation.
    Wait(Operation),
    Until(Instant),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    Transfer(Transfer),
    /// Move the arm, while no request is outstanding.
    Seek(Lbn),
}

/// A request to the device, with the fields that the command determines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub op: Op,
    pub at: Lbn,
    pub sectors: SectorCount,
    pub force_unit_access: bool,
}

impl Action {
    pub fn request(op: Op, at: Lbn, sectors: u64, force_unit_access: bool) -> Self {
        Self::Wait(Operation::Transfer(Transfer {
            op,
            at,
            sectors: SectorCount(sectors),
            force_unit_access,
        }))
    }
}

/// The remaining work of a command.
pub(crate) trait Work: Send {
    /// Returns the next action. Called again when the previous action has completed.
    fn next(&mut self, context: &mut Context<'_>) -> Result<Action, Sense>;

    /// Returns the data to store once the requested write completes; empty if nothing is written.
    fn data(&self) -> Vec<u8> {
        Vec::new()
    }
}

/// Work that consists of `first` and then the action that `then` returns.
pub(crate) struct Steps<F> {
    first: Option<Action>,
    /// See [`Work::data`].
    data: Vec<u8>,
    then: Option<F>,
}

impl<F: FnOnce(&mut Context<'_>, &[u8]) -> Result<Action, Sense> + Send> Steps<F> {
    pub fn new(first: Action, data: Vec<u8>, then: F) -> Self {
        Self {
            first: Some(first),
            data,
            then: Some(then),
        }
    }
}

impl<F: FnOnce(&mut Context<'_>, &[u8]) -> Result<Action, Sense> + Send> Work for Steps<F> {
    fn next(&mut self, context: &mut Context<'_>) -> Result<Action, Sense> {
        if let Some(first) = self.first.take() {
            return Ok(first);
        }
        match self.then.take() {
            Some(then) => then(context, &self.data),
            None => Ok(Action::Done(Vec::new())),
        }
    }

    fn data(&self) -> Vec<u8> {
        self.data.clone()
    }
}

pub(crate) enum Start {
    /// The command has completed with these data.
    Done(Vec<u8>),
    /// The command failed: another initiator has reserved the unit.
    Conflict,
    Work(Box<dyn Work>),
    /// The command takes time, but is answered in advance (IMMED).
    Background(Box<dyn Work>, Answer),
}

/// An answer sent before the work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Good,
    ConditionMet,
}

impl Start {
    pub fn work(work: impl Work + 'static) -> Self {
        Self::Work(Box::new(work))
    }

    pub fn steps<F>(first: Action, data: Vec<u8>, then: F) -> Self
    where
        F: FnOnce(&mut Context<'_>, &[u8]) -> Result<Action, Sense> + Send + 'static,
    {
        Self::work(Steps::new(first, data, then))
    }

    /// Starts work, and answers in advance if `immediate`.
    pub fn immediate(work: impl Work + 'static, immediate: bool) -> Self {
        if immediate {
            Self::Background(Box::new(work), Answer::Good)
        } else {
            Self::work(work)
        }
    }

    /// Completes with the first `length` bytes of `data`.
    pub fn data(mut data: Vec<u8>, length: usize) -> Self {
        data.truncate(length);
        Self::Done(data)
    }
}
