//! A member of an array: a device and the commands that wait for it.

use crate::device::{Completion, ComponentReport, Device, SubmitError, Work};
use crate::queue::CommandQueue;
use crate::request::{Op, Request};
use crate::sched::{Fcfs, Pending, Policy, PolicyConfig, Rule};
use crate::stack::{self, BoxedDevice, InsufficientKnowledge};
use crate::stats::DiskMeter;
use crate::units::{Bytes, Instant, SectorCount};

pub struct Member {
    pub device: BoxedDevice,
    pub queue: CommandQueue<BoxedDevice>,
    pub writes_waiting: usize,
    pub in_service: usize,
    pub meter: DiskMeter,
}

impl Member {
    pub fn new(device: BoxedDevice, policy: Box<dyn Policy<BoxedDevice>>) -> Self {
        Self {
            device,
            queue: CommandQueue::new(policy),
            writes_waiting: 0,
            in_service: 0,
            meter: DiskMeter::default(),
        }
    }

    /// Builds idle members, each of which orders its queue by `policy`.
    ///
    /// # Errors
    /// If the policy needs more knowledge than a device has.
    pub fn build(
        devices: impl IntoIterator<Item = BoxedDevice>,
        policy: &PolicyConfig,
    ) -> Result<Vec<Self>, InsufficientKnowledge> {
        let member = |device| {
            let policy = stack::policy(policy, &device)?;
            Ok(Self::new(device, policy))
        };
        devices.into_iter().map(member).collect()
    }

    /// Returns a member that takes no commands, for the slot of a failed one.
    fn vacant(failed: &BoxedDevice) -> Self {
        let vacant = BoxedDevice::opaque(VacantSlot {
            sectors: failed.capacity(),
            sector_size: failed.sector_size(),
        });
        let policy = Fcfs.policy(&vacant);
        Self::new(vacant, policy)
    }

    /// Returns true if no command waits and the device would accept `command` now.
    pub fn is_free(&self, command: &Request) -> bool {
        self.queue.is_empty() && self.device.has_room() && self.device.accepts(command)
    }

    pub fn add(&mut self, pending: Pending) {
        self.writes_waiting += usize::from(pending.request.op == Op::Write);
        if pending.request.is_simple_transfer() {
            self.queue.add(pending, &self.device);
        } else {
            self.queue.add_special(pending, &self.device);
        }
    }

    /// Removes and returns the command to submit next; `None` if the device accepts none.
    pub fn next(&mut self, now: Instant) -> Option<Request> {
        next_of(&mut self.queue, &self.device, now)
    }

    pub fn take(&mut self, id: u64) -> Option<Pending> {
        let taken = self.queue.take(id, &self.device)?;
        self.writes_waiting -= usize::from(taken.request.op == Op::Write);
        Some(taken)
    }

    pub fn begin(&mut self, now: Instant, command: &Request) {
        self.in_service += 1;
        if command.op != Op::Flush {
            self.meter.begin(now, command.op.is_read());
        }
    }

    /// Counts a command that the device had not completed when it failed.
    pub fn drop_command(&mut self, now: Instant, op: Op) {
        self.in_service -= 1;
        if op != Op::Flush {
            self.meter.drop(now, op.is_read());
        }
    }

    pub fn end(&mut self, done: &Completion) {
        self.in_service -= 1;
        if done.request.op != Op::Flush {
            self.meter.end(done.at, done.request.op.is_read());
        }
    }

    pub fn count_removed(&mut self, now: Instant, command: &Request) {
        self.writes_waiting -= usize::from(command.op == Op::Write);
        self.count_waiting(now);
    }

    pub fn count_waiting(&mut self, now: Instant) {
        let waiting = self.queue.len();
        self.meter.wait(now, waiting, self.writes_waiting);
    }

    /// Reports the work of the device, disk by disk if it has several.
    pub fn components(&self, now: Instant) -> Vec<ComponentReport> {
        let mut parts = self.device.components(now);
        if !parts.iter().any(|part| matches!(part.work, Work::Disk(_))) {
            parts.push(ComponentReport::new(Work::Disk(self.meter.work(now))));
        }
        parts
    }
}

/// Removes and returns the command to submit to `device` next; `None` if it accepts none.
#[inline(always)]
pub fn next_of(
    queue: &mut CommandQueue<BoxedDevice>,
    device: &BoxedDevice,
    now: Instant,
) -> Option<Request> {
    if queue.is_empty() || !device.has_room() {
        return None;
    }
    let pending = queue.next(now, device)?;
    if !device.accepts(&pending.request) {
        queue.put_back(pending);
        return None;
    }
    queue.note_served(&pending.request, device);
    Some(pending.request)
}

/// The devices of an array, by number. A spare is last, and has no slot until it replaces a member.
pub struct Slots {
    numbers: Vec<usize>,
    removed: Vec<(usize, Member)>,
    spare: Option<Member>,
}

impl Slots {
    pub fn new(slots: usize, spare: Option<Member>) -> Self {
        Self {
            numbers: (0..slots).collect(),
            removed: Vec::new(),
            spare,
        }
    }

    pub fn has_spare(&self, slot: usize) -> bool {
        self.numbers[slot] == self.numbers.len()
    }

    #[cfg(test)]
    pub fn numbers(&self) -> Vec<usize> {
        self.numbers.clone()
    }

    /// Removes from its slot a member that has no commands left. Returns true if the spare takes
    /// the slot, which requires `use_spare`.
    pub fn replace(
        &mut self,
        members: &mut [Member],
        slot: usize,
        now: Instant,
        use_spare: bool,
    ) -> bool {
        let number = self.numbers[slot];
        if self.removed.iter().any(|(removed, _)| *removed == number) {
            return false;
        }
        let mut spare = self.spare.take_if(|_| use_spare);
        let has_spare = spare.is_some();
        if let Some(spare) = &mut spare {
            self.numbers[slot] = self.numbers.len();
            // The spare's own events up to now, such as recalibrations, take place first.
            let done = spare.device.advance(now);
            assert_eq!(done, None, "a spare has no requests");
        }
        let successor = spare.unwrap_or_else(|| Member::vacant(&members[slot].device));
        let mut removed = std::mem::replace(&mut members[slot], successor);
        removed.meter.wait(now, 0, 0);
        self.removed.push((number, removed));
        has_spare
    }

    /// Reports the work of all devices, by number. For a device that is still present, `until`
    /// returns the instant at which its report ends.
    pub fn reports(
        &self,
        members: &[Member],
        until: impl Fn(usize) -> Instant,
    ) -> Vec<ComponentReport> {
        let removed = self
            .removed
            .iter()
            .map(|(number, member)| (*number, member, member.meter.last()));
        let is_removed = |number: &usize| self.removed.iter().any(|(removed, _)| removed == number);
        let present = self
            .numbers
            .iter()
            .copied()
            .zip(members)
            .filter(|(number, _)| !is_removed(number));
        let spare = self.spare.iter().map(|spare| (self.numbers.len(), spare));
        let present = present
            .chain(spare)
            .map(|(number, member)| (number, member, until(number)));
        let mut members: Vec<(usize, &Member, Instant)> = removed.chain(present).collect();
        members.sort_unstable_by_key(|(number, ..)| *number);
        let parts = members.into_iter();
        parts
            .flat_map(|(number, member, until)| {
                ComponentReport::within(number, member.components(until))
            })
            .collect()
    }
}

struct VacantSlot {
    sectors: SectorCount,
    sector_size: Bytes,
}

impl Device for VacantSlot {
    fn capacity(&self) -> SectorCount {
        self.sectors
    }

    fn sector_size(&self) -> Bytes {
        self.sector_size
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

/// The next event of each member, as a tournament tree: each inner node holds the earlier of its
/// children's events, so a change costs at most one comparison per level.
pub struct Events {
    /// The root is node 1, the children of node n are 2n and 2n+1, and the leaves are the second
    /// half. An event is an instant with the member in the lower 32 bits, or [`NO_EVENT`].
    nodes: Vec<u128>,
}

const NO_EVENT: u128 = u128::MAX;

impl Events {
    pub fn new(members: usize) -> Self {
        Self {
            nodes: vec![NO_EVENT; 2 * members.next_power_of_two()],
        }
    }

    /// Returns the earliest event and its member; ties go to the first member.
    #[inline]
    pub fn earliest(&self) -> Option<(Instant, usize)> {
        let first = self.nodes[1];
        let at = (first >> 32) as u64;
        (first != NO_EVENT).then(|| (Instant::from_ns(at), first as u32 as usize))
    }

    #[inline]
    pub fn set(&mut self, member: usize, event: Option<Instant>) {
        let mut node = self.nodes.len() / 2 + member;
        let mut first = event.map_or(NO_EVENT, |at| u128::from(at.as_ns()) << 32 | member as u128);
        while self.nodes[node] != first {
            self.nodes[node] = first;
            if node == 1 {
                return;
            }
            first = first.min(self.nodes[node ^ 1]);
            node /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    #[test]
    fn the_tournament_agrees_with_a_scan() {
        let mut seed = 1_u64;
        let mut random = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % bound
        };
        for members in [1, 2, 3, 5, 8, 100] {
            let mut events = Events::new(members);
            let mut expected = vec![None; members];
            for _ in 0..2_000 {
                let member = random(members as u64) as usize;
                let at = Instant::START + Span::from_ns(random(50) as i64);
                expected[member] = (random(4) > 0).then_some(at);
                events.set(member, expected[member]);
                let scanned = expected
                    .iter()
                    .enumerate()
                    .filter_map(|(member, at)| Some(((*at)?, member)));
                assert_eq!(events.earliest(), scanned.min());
            }
        }
    }
}
