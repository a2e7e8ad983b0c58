//! Initiators (I_T nexuses), and their SCSI-2 and persistent reservations (SPC-4).

use std::collections::VecDeque;

use diskarm_wire::defect::Translate;
use diskarm_wire::reservation::TransportId;
use diskarm_wire::sense::Code;

/// The initiator port of an iSCSI session (RFC 7143, "iSCSI Names" and "SSID").
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IscsiPort {
    pub name: String,
    /// The initiator's part of the session identifier (ISID), in hexadecimal.
    pub session: String,
}

/// The unit's side of an I_T nexus.
#[derive(Clone, Debug)]
pub(crate) struct Nexus {
    pub initiator: u64,
    /// The name and session identifier of the initiator, if it uses iSCSI.
    pub port: Option<IscsiPort>,
    /// The last address that the initiator sent for translation.
    pub query: Option<Translate>,
    /// True if the connection is lost and only a registration remains.
    pub is_gone: bool,
    /// Unit attentions that have not been reported yet.
    attentions: VecDeque<Code>,
}

impl Nexus {
    /// Creates the state of a new initiator, with a pending unit attention for the power-on.
    pub fn new(initiator: u64) -> Self {
        Self {
            initiator,
            port: None,
            query: None,
            is_gone: false,
            attentions: VecDeque::from([Code::POWER_ON_OR_RESET]),
        }
    }

    /// Returns the identity for READ FULL STATUS: the iSCSI port, or a SAS address if the initiator
    /// does not use iSCSI.
    pub fn transport_id(&self) -> TransportId<'_> {
        match &self.port {
            Some(port) => TransportId::IscsiSession(&port.name, &port.session),
            None => TransportId::Sas(self.initiator),
        }
    }

    /// Queues a unit attention, unless the same one is pending; a reset replaces all others.
    pub fn add_attention(&mut self, code: Code) {
        if matches!(code, Code::POWER_ON_OR_RESET | Code::DEVICE_RESET) {
            self.attentions.clear();
        }
        if !self.attentions.contains(&code) {
            self.attentions.push_back(code);
        }
    }

    /// Removes and returns the oldest unit attention. It counts as reported from then on.
    pub fn take_attention(&mut self) -> Option<Code> {
        self.attentions.pop_front()
    }
}

/// The behaviour of a command when another initiator holds a reservation (SPC-4 and SBC-3, tables
/// of commands allowed in the presence of reservations).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Executed in any state of the unit.
    Always,
    /// Concerns only the reservations or registrations of the initiator that sent it.
    Own,
    /// Only returns a report; persistent reservations always allow this.
    Reports,
    Reads,
    /// Reads or changes the state of the unit; reservations treat it as a write.
    Configures,
    /// Writes the medium or depends on it.
    Writes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReservationType {
    WriteExclusive = 1,
    ExclusiveAccess = 3,
    WriteExclusiveRegistrants = 5,
    ExclusiveAccessRegistrants = 6,
    WriteExclusiveAll = 7,
    ExclusiveAccessAll = 8,
}

impl ReservationType {
    /// All types, with their bits in REPORT CAPABILITIES.
    pub const ALL: [(Self, u16); 6] = [
        (Self::WriteExclusive, 0x0200),
        (Self::ExclusiveAccess, 0x0800),
        (Self::WriteExclusiveRegistrants, 0x2000),
        (Self::ExclusiveAccessRegistrants, 0x4000),
        (Self::WriteExclusiveAll, 0x8000),
        (Self::ExclusiveAccessAll, 0x0001),
    ];

    pub fn from_code(code: u8) -> Option<Self> {
        let mut kinds = Self::ALL.into_iter().map(|(kind, _)| kind);
        kinds.find(|kind| *kind as u8 == code)
    }

    fn allows_reads(self) -> bool {
        matches!(
            self,
            Self::WriteExclusive | Self::WriteExclusiveRegistrants | Self::WriteExclusiveAll
        )
    }

    pub fn is_all_registrants(self) -> bool {
        matches!(self, Self::WriteExclusiveAll | Self::ExclusiveAccessAll)
    }

    /// Returns true if all registrants have the rights of the holder.
    pub fn is_for_registrants(self) -> bool {
        !matches!(self, Self::WriteExclusive | Self::ExclusiveAccess)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registrant {
    pub nexus: usize,
    pub key: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Reservations {
    /// The initiator that holds a SCSI-2 reservation.
    pub reserved: Option<usize>,
    /// Registered initiators, in order of registration.
    pub registered: Vec<Registrant>,
    /// The holder and type of the persistent reservation. For an all-registrants type, the holder
    /// is the initiator that made the reservation.
    pub held: Option<(usize, ReservationType)>,
    /// Number of changes to the registrations.
    pub generation: u32,
}

impl Reservations {
    /// Maximum number of registered initiators.
    pub const MAX: usize = 256;

    /// Returns true if reservations allow a command of this initiator (SPC-4 and SBC-3, tables of
    /// commands allowed in the presence of reservations; SPC-2 for RESERVE).
    #[inline]
    pub fn admit(&self, nexus: usize, access: Access) -> bool {
        if access == Access::Own {
            return true;
        }
        if self.reserved.is_some_and(|holder| holder != nexus) {
            return false;
        }
        let Some((_, kind)) = self.held else {
            return true;
        };
        match access {
            _ if self.is_holder(nexus) => true,
            _ if kind.is_for_registrants() && self.key(nexus).is_some() => true,
            Access::Always | Access::Own | Access::Reports => true,
            Access::Reads => kind.allows_reads(),
            Access::Configures | Access::Writes => false,
        }
    }

    pub fn key(&self, nexus: usize) -> Option<u64> {
        let mut registered = self.registered.iter();
        registered.find(|r| r.nexus == nexus).map(|r| r.key)
    }

    pub fn is_holder(&self, nexus: usize) -> bool {
        self.held.is_some_and(|(holder, kind)| {
            holder == nexus || kind.is_all_registrants() && self.key(nexus).is_some()
        })
    }

    /// Registers an initiator with a key; a key of zero removes its registration and reservation.
    pub fn register(&mut self, nexus: usize, key: u64, nexuses: &mut [Nexus]) {
        self.generation = self.generation.wrapping_add(1);
        if key == 0 {
            return self.unregister(nexus, nexuses);
        }
        match self.registered.iter_mut().find(|r| r.nexus == nexus) {
            Some(known) => known.key = key,
            None => self.registered.push(Registrant { nexus, key }),
        }
    }

    fn unregister(&mut self, nexus: usize, nexuses: &mut [Nexus]) {
        let Some((holder, kind)) = self.held else {
            return self.registered.retain(|r| r.nexus != nexus);
        };
        self.registered.retain(|r| r.nexus != nexus);
        if kind.is_all_registrants() {
            match self.registered.first() {
                None => self.held = None,
                Some(next) if holder == nexus => self.held = Some((next.nexus, kind)),
                Some(_) => {}
            }
        } else if holder == nexus {
            self.held = None;
            if kind.is_for_registrants() {
                self.notify_registrants(nexuses, nexus, Code::RESERVATIONS_RELEASED);
            }
        }
    }

    pub fn release(&mut self, nexus: usize, nexuses: &mut [Nexus]) {
        if let Some((_, kind)) = self.held.take()
            && kind.is_for_registrants()
        {
            self.notify_registrants(nexuses, nexus, Code::RESERVATIONS_RELEASED);
        }
    }

    pub fn clear(&mut self, nexus: usize, nexuses: &mut [Nexus]) {
        self.generation = self.generation.wrapping_add(1);
        self.notify_registrants(nexuses, nexus, Code::RESERVATIONS_PREEMPTED);
        self.registered.clear();
        self.held = None;
    }

    /// Removes the registrations with `key`, or all others if `key` is zero, and takes over their
    /// reservation as type `kind`. Returns the removed initiators; `None` if nothing matches.
    pub fn preempt(
        &mut self,
        nexus: usize,
        key: u64,
        kind: ReservationType,
        nexuses: &mut [Nexus],
    ) -> Option<Vec<usize>> {
        let held = self.held;
        let is_victim = |r: &Registrant| key == 0 || r.key == key;
        let takes_over = match held {
            Some((_, kind)) if kind.is_all_registrants() => key == 0,
            Some((holder, _)) => self.key(holder) == Some(key),
            None => false,
        };
        if !takes_over && !self.registered.iter().any(is_victim) {
            return None;
        }
        let others = self.registered.iter();
        let victims = others.filter(|r| r.nexus != nexus && is_victim(r));
        let removed: Vec<usize> = victims.map(|r| r.nexus).collect();
        self.registered.retain(|r| !removed.contains(&r.nexus));
        self.generation = self.generation.wrapping_add(1);
        for index in &removed {
            nexuses[*index].add_attention(Code::REGISTRATIONS_PREEMPTED);
        }
        if takes_over {
            self.held = Some((nexus, kind));
            if held.is_some_and(|(_, previous)| previous != kind) {
                self.notify_registrants(nexuses, nexus, Code::RESERVATIONS_RELEASED);
            }
        } else if let Some((holder, kind)) = held
            && removed.contains(&holder)
        {
            // An all-registrants reservation continues with the remaining registrants.
            self.held = Some((nexus, kind));
        }
        Some(removed)
    }

    /// Establishes a unit attention for all registrants except one.
    fn notify_registrants(&self, nexuses: &mut [Nexus], except: usize, code: Code) {
        for registrant in &self.registered {
            if registrant.nexus != except {
                nexuses[registrant.nexus].add_attention(code);
            }
        }
    }
}
