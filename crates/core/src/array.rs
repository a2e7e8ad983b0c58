//! Several devices as one: disks side by side.

use crate::drive::{Completion, Device, Refused, check};
use crate::request::Request;
use crate::units::{Instant, Lbn, SectorCount};

/// Devices of one size whose blocks follow one another: block `b` of disk `d` is block
/// `d * size + b`. A device is made when the first request for it comes.
///
/// What it does: each disk serves its requests by itself, with a queue of its own. Cost: a look at
/// every disk for each event, so meant for tens of disks rather than thousands.
pub struct SideBySide<D, F> {
    make: F,
    size: SectorCount,
    most: u32,
    disks: Vec<D>,
    /// When something happens by itself in each disk. Kept, as asking a drive costs more.
    events: Vec<Option<Instant>>,
}

impl<D: Device, F: FnMut() -> D> SideBySide<D, F> {
    /// At most `most` devices that `make` makes, each of `size` blocks.
    ///
    /// # Panics
    /// When all of them would have 2^64 blocks or more.
    pub fn new(size: SectorCount, most: u32, make: F) -> Self {
        let all = size.0.checked_mul(most.into());
        assert!(all.is_some(), "{most} disks of {} blocks", size.0);
        Self {
            make,
            size,
            most,
            disks: Vec::new(),
            events: Vec::new(),
        }
    }

    /// How many devices were made.
    pub fn disks_count(&self) -> usize {
        self.disks.len()
    }

    /// The earliest event and its disk, the first of those at one instant.
    #[inline]
    fn earliest(&self) -> Option<(Instant, usize)> {
        let events = self.events.iter().enumerate();
        let events = events.filter_map(|(disk, event)| Some(((*event)?, disk)));
        events.min()
    }

    /// The first block of a disk.
    fn base(&self, disk: usize) -> u64 {
        disk as u64 * self.size.0
    }

    /// Makes the devices up to and including `disk`.
    #[cold]
    fn grow(&mut self, disk: usize) {
        while self.disks.len() <= disk {
            let made = (self.make)();
            assert_eq!(made.sectors(), self.size, "a disk of another size");
            self.disks.push(made);
            self.events.push(None);
        }
    }
}

impl<D: Device, F: FnMut() -> D> Device for SideBySide<D, F> {
    fn sectors(&self) -> SectorCount {
        SectorCount(self.size.0 * u64::from(self.most))
    }

    fn accepts(&self) -> bool {
        self.disks.iter().all(D::accepts)
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Refused> {
        check(&request, self.sectors())?;
        let disk = (request.start.0 / self.size.0) as usize;
        if disk >= self.disks.len() {
            self.grow(disk);
        }
        let start = Lbn(request.start.0 - self.base(disk));
        // The disk refuses what goes on beyond its end.
        let taken = self.disks[disk].submit(now, Request { start, ..request });
        self.events[disk] = self.disks[disk].next_event();
        taken
    }

    fn next_event(&self) -> Option<Instant> {
        self.earliest().map(|(at, _)| at)
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        while let Some((at, disk)) = self.earliest().filter(|(at, _)| *at <= now) {
            let done = self.disks[disk].advance(at);
            self.events[disk] = self.disks[disk].next_event();
            if let Some(mut completion) = done {
                completion.request.start = Lbn(self.base(disk) + completion.request.start.0);
                return Some(completion);
            }
        }
        None
    }
}
