//! Which devices are in the places of a pair or an array, and which were.

use super::Member;
use crate::device::{Completion, ComponentReport, Device, SubmitError};
use crate::request::Request;
use crate::sched::{Fcfs, Rule};
use crate::stack::BoxedDevice;
use crate::units::{Bytes, Instant, SectorCount};

/// The devices of a pair or an array, by number: a spare has the last.
pub(crate) struct Places {
    /// The numbers of those in the places.
    numbers: Vec<usize>,
    /// Those that are in no place any more.
    gone: Vec<(usize, Member)>,
    /// The spare, before it takes a place.
    spare: Option<Member>,
}

impl Places {
    /// `places` places, each with a device.
    pub fn new(places: usize, spare: Option<Member>) -> Self {
        Self {
            numbers: (0..places).collect(),
            gone: Vec::new(),
            spare,
        }
    }

    /// Whether the spare is in a place.
    pub fn has_spare_at(&self, place: usize) -> bool {
        self.numbers[place] == self.numbers.len()
    }

    /// The number of the device in a place.
    #[cfg(test)]
    pub fn number(&self, place: usize) -> usize {
        self.numbers[place]
    }

    /// Takes a member, which has no command inside that counts, out of its place. The spare takes
    /// it, if any and it `may`; whether it did.
    pub fn take_out(
        &mut self,
        members: &mut [Member],
        place: usize,
        now: Instant,
        may: bool,
    ) -> bool {
        let number = self.numbers[place];
        if self.gone.iter().any(|(gone, _)| *gone == number) {
            return false;
        }
        let mut spare = self.spare.take_if(|_| may);
        let has_spare = spare.is_some();
        if let Some(spare) = &mut spare {
            self.numbers[place] = self.numbers.len();
            // Its own events until now, such as recalibrations, are past.
            let done = spare.device.advance(now);
            assert_eq!(done, None, "a spare has no requests");
        }
        let successor = spare.unwrap_or_else(|| nothing(&members[place].device));
        let mut gone = std::mem::replace(&mut members[place], successor);
        gone.meter.wait(now, 0, 0);
        self.gone.push((number, gone));
        has_spare
    }

    /// The parts of the devices, by number.
    pub fn parts(&self, members: &[Member], now: Instant) -> Vec<ComponentReport> {
        let gone = self.gone.iter();
        let gone = gone.map(|(number, member)| (*number, member, member.meter.last()));
        let is_gone = |number: &usize| self.gone.iter().any(|(gone, _)| gone == number);
        let left = self.numbers.iter().copied().zip(members);
        let left = left.filter(|(number, _)| !is_gone(number));
        let spare = self.spare.iter().map(|spare| (self.numbers.len(), spare));
        let there = left
            .chain(spare)
            .map(|(number, member)| (number, member, now));
        let mut members: Vec<(usize, &Member, Instant)> = gone.chain(there).collect();
        members.sort_unstable_by_key(|(number, ..)| *number);
        let parts = members.into_iter();
        parts
            .flat_map(|(number, member, until)| {
                ComponentReport::within(number, member.components(until))
            })
            .collect()
    }
}

/// What is in the place of a device that has failed.
fn nothing(device: &BoxedDevice) -> Member {
    let nothing = BoxedDevice::opaque(Nothing {
        sectors: device.capacity(),
        sector: device.sector_size(),
    });
    let policy = Fcfs.policy(&nothing);
    Member::new(nothing, policy)
}

/// A device that takes no requests.
struct Nothing {
    sectors: SectorCount,
    sector: Bytes,
}

impl Device for Nothing {
    fn capacity(&self) -> SectorCount {
        self.sectors
    }

    fn sector_size(&self) -> Bytes {
        self.sector
    }

    fn has_room(&self) -> bool {
        false
    }

    fn submit(&mut self, _: Instant, _: Request) -> Result<(), SubmitError> {
        Err(SubmitError::Full)
    }

    fn next_event(&self) -> Option<Instant> {
        None
    }

    fn advance(&mut self, _: Instant) -> Option<Completion> {
        None
    }

    fn abort(&mut self, _: Instant, _: u64) -> bool {
        false
    }
}
