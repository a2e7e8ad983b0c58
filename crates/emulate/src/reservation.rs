//! Reservations of SCSI-2 and persistent reservations (SPC-4).

use diskarm_wire::sense::Code;

use crate::command::Access;
use crate::nexus::Nexus;

/// Types of persistent reservations (SPC-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    WriteExclusive = 1,
    ExclusiveAccess = 3,
    WriteExclusiveRegistrants = 5,
    ExclusiveAccessRegistrants = 6,
    WriteExclusiveAll = 7,
    ExclusiveAccessAll = 8,
}

impl Kind {
    /// All, with the bit that REPORT CAPABILITIES has for each.
    pub const ALL: [(Self, u16); 6] = [
        (Self::WriteExclusive, 0x0200),
        (Self::ExclusiveAccess, 0x0800),
        (Self::WriteExclusiveRegistrants, 0x2000),
        (Self::ExclusiveAccessRegistrants, 0x4000),
        (Self::WriteExclusiveAll, 0x8000),
        (Self::ExclusiveAccessAll, 0x0001),
    ];

    pub fn of(code: u8) -> Option<Self> {
        let mut kinds = Self::ALL.into_iter().map(|(kind, _)| kind);
        kinds.find(|kind| *kind as u8 == code)
    }

    fn lets_read(self) -> bool {
        matches!(
            self,
            Self::WriteExclusive | Self::WriteExclusiveRegistrants | Self::WriteExclusiveAll
        )
    }

    /// All that are registered hold it.
    pub fn is_of_all(self) -> bool {
        matches!(self, Self::WriteExclusiveAll | Self::ExclusiveAccessAll)
    }

    /// All that are registered may do as the holder.
    pub fn is_for_registrants(self) -> bool {
        !matches!(self, Self::WriteExclusive | Self::ExclusiveAccess)
    }
}

/// An initiator that is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registrant {
    pub nexus: usize,
    pub key: u64,
}

/// All reservations of the unit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reservations {
    /// The initiator that holds a SCSI-2 reservation.
    pub reserved: Option<usize>,
    /// Registered initiators, in order of registration.
    pub registered: Vec<Registrant>,
    /// The holder of the persistent reservation, and its type. For types of all registrants it is
    /// the initiator that took it.
    pub held: Option<(usize, Kind)>,
    /// Counts changes of registrations.
    pub generation: u32,
}

impl Reservations {
    /// Maximum number of registered initiators.
    pub const MAX: usize = 256;

    /// Returns true if a command of this initiator is executed (SPC-4 and SBC-3, tables of commands
    /// allowed in the presence of reservations; SPC-2 for RESERVE).
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
            Access::Always | Access::Own | Access::Tells => true,
            Access::Reads => kind.lets_read(),
            Access::Settles | Access::Writes => false,
        }
    }

    /// The key of an initiator that is registered.
    pub fn key(&self, nexus: usize) -> Option<u64> {
        let mut registered = self.registered.iter();
        registered.find(|r| r.nexus == nexus).map(|r| r.key)
    }

    pub fn is_holder(&self, nexus: usize) -> bool {
        self.held.is_some_and(|(holder, kind)| {
            holder == nexus || kind.is_of_all() && self.key(nexus).is_some()
        })
    }

    /// A reset releases what RESERVE has reserved.
    pub fn reset(&mut self) {
        self.reserved = None;
    }

    /// Registers an initiator with a key; zero removes it, and what it holds.
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
        if kind.is_of_all() {
            match self.registered.first() {
                None => self.held = None,
                Some(next) if holder == nexus => self.held = Some((next.nexus, kind)),
                Some(_) => {}
            }
        } else if holder == nexus {
            self.held = None;
            if kind.is_for_registrants() {
                self.tell(nexuses, nexus, Code::RESERVATIONS_RELEASED);
            }
        }
    }

    /// Releases the reservation.
    pub fn release(&mut self, nexus: usize, nexuses: &mut [Nexus]) {
        if let Some((_, kind)) = self.held.take()
            && kind.is_for_registrants()
        {
            self.tell(nexuses, nexus, Code::RESERVATIONS_RELEASED);
        }
    }

    pub fn clear(&mut self, nexus: usize, nexuses: &mut [Nexus]) {
        self.generation = self.generation.wrapping_add(1);
        self.tell(nexuses, nexus, Code::RESERVATIONS_PREEMPTED);
        self.registered.clear();
        self.held = None;
    }

    /// Removes the registrations with `key`, or all others if it is zero, and takes over their
    /// reservation with type `kind`. Returns the removed initiators; `None` if no registration
    /// matches.
    pub fn preempt(
        &mut self,
        nexus: usize,
        key: u64,
        kind: Kind,
        nexuses: &mut [Nexus],
    ) -> Option<Vec<usize>> {
        let held = self.held;
        let is_victim = |r: &Registrant| key == 0 || r.key == key;
        let takes_over = match held {
            Some((_, kind)) if kind.is_of_all() => key == 0,
            Some((holder, _)) => self.key(holder) == Some(key),
            None => false,
        };
        if !takes_over && !self.registered.iter().any(is_victim) {
            return None;
        }
        let others = self.registered.iter();
        let removed = others.filter(|r| r.nexus != nexus && is_victim(r));
        let removed: Vec<usize> = removed.map(|r| r.nexus).collect();
        self.registered.retain(|r| !removed.contains(&r.nexus));
        self.generation = self.generation.wrapping_add(1);
        for index in &removed {
            nexuses[*index].attention(Code::REGISTRATIONS_PREEMPTED);
        }
        if takes_over {
            self.held = Some((nexus, kind));
            if held.is_some_and(|(_, before)| before != kind) {
                self.tell(nexuses, nexus, Code::RESERVATIONS_RELEASED);
            }
        } else if let Some((holder, kind)) = held
            && removed.contains(&holder)
        {
            // One of all registrants, who are fewer now.
            self.held = Some((nexus, kind));
        }
        Some(removed)
    }

    /// Tells all that are registered but one.
    fn tell(&self, nexuses: &mut [Nexus], but: usize, code: Code) {
        for registrant in &self.registered {
            if registrant.nexus != but {
                nexuses[registrant.nexus].attention(code);
            }
        }
    }
}
