//! Independent devices: each request names the device that serves it.

use crate::device::{Completion, ComponentReport, Device, SubmitError, check};
use crate::request::Request;
use crate::units::{Bytes, Instant, SectorCount};

/// Devices of equal size, created on first use. Each request names its device ([`Request::unit`]).
///
/// Each disk serves its requests independently, with its own queue. Each search for the next event
/// examines all disks, so this is meant for tens of disks rather than thousands.
pub struct IndependentDisks<D, F> {
    make: F,
    max: u16,
    disks: Vec<D>,
    /// The instant of the next event of each disk, cached because querying a drive is expensive.
    events: Vec<Option<Instant>>,
}

impl<D: Device, F: FnMut() -> D + Send> IndependentDisks<D, F> {
    /// Creates a set of up to `max` devices, made by `make`. If `max` is zero, it counts as one.
    pub fn new(max: u16, mut make: F) -> Self {
        let first = make();
        Self {
            make,
            max: max.max(1),
            events: vec![first.next_event()],
            disks: vec![first],
        }
    }

    /// Returns the earliest event and its disk; ties go to the first disk.
    #[inline]
    fn earliest(&self) -> Option<(Instant, usize)> {
        if let [only] = self.events[..] {
            return only.map(|at| (at, 0));
        }
        let events = self
            .events
            .iter()
            .enumerate()
            .filter_map(|(disk, event)| Some(((*event)?, disk)));
        events.min()
    }

    /// Creates the devices up to and including `disk`, and advances them to `now`.
    #[cold]
    fn grow(&mut self, disk: usize, now: Instant) {
        while self.disks.len() <= disk {
            let mut device = (self.make)();
            assert_eq!(
                device.capacity(),
                self.capacity(),
                "the disks differ in capacity"
            );
            let done = device.advance(now);
            assert_eq!(done, None, "a new disk has no requests");
            self.events.push(device.next_event());
            self.disks.push(device);
        }
    }

    /// Returns the disk of a request; `None` if the disk has not been created yet.
    fn disk(&self, request: &Request) -> Option<&D> {
        self.disks.get(usize::from(request.unit))
    }
}

impl<D: Device, F: FnMut() -> D + Send> Device for IndependentDisks<D, F> {
    /// Returns the capacity of each disk.
    fn capacity(&self) -> SectorCount {
        self.disks[0].capacity()
    }

    fn sector_size(&self) -> Bytes {
        self.disks[0].sector_size()
    }

    fn check(&self, request: &Request) -> Result<(), SubmitError> {
        check(request, self.capacity())?;
        if request.unit >= self.max {
            return Err(SubmitError::NoSuchUnit {
                units: self.max.into(),
            });
        }
        Ok(())
    }

    fn has_room(&self) -> bool {
        self.disks.len() < usize::from(self.max) || self.disks.iter().any(D::has_room)
    }

    fn accepts(&self, request: &Request) -> bool {
        self.disk(request).is_none_or(|disk| disk.accepts(request))
    }

    #[inline]
    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        let disk = usize::from(request.unit);
        if disk >= self.disks.len() {
            self.check(&request)?;
            self.grow(disk, now);
        }
        let result = self.disks[disk].submit(now, request);
        self.events[disk] = self.disks[disk].next_event();
        result
    }

    #[inline]
    fn next_event(&self) -> Option<Instant> {
        self.earliest().map(|(at, _)| at)
    }

    #[inline]
    fn advance(&mut self, now: Instant) -> Option<Completion> {
        while let Some((at, disk)) = self.earliest().filter(|(at, _)| *at <= now) {
            let done = self.disks[disk].advance(at);
            self.events[disk] = self.disks[disk].next_event();
            if done.is_some() {
                return done;
            }
        }
        None
    }

    fn abort(&mut self, now: Instant, id: u64) -> bool {
        let Some(disk) = self.disks.iter_mut().position(|disk| disk.abort(now, id)) else {
            return false;
        };
        self.events[disk] = self.disks[disk].next_event();
        true
    }

    fn components(&self, now: Instant) -> Vec<ComponentReport> {
        let disks = self.disks.iter().enumerate();
        disks
            .flat_map(|(disk, device)| ComponentReport::within(disk, device.components(now)))
            .collect()
    }
}
