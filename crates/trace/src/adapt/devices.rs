//! Selects devices, and maps devices to disks.

use std::collections::BTreeSet;

use super::{Notes, with};
use crate::error::TraceError;
use crate::plural::counted;
use crate::reader::Reader;
use crate::record::Record;

/// Keeps only the requests of some devices.
pub struct DeviceFilter<I> {
    inner: I,
    devices: BTreeSet<u32>,
    removed: u64,
}

impl<I: Notes> DeviceFilter<I> {
    /// Wraps `inner`; keeps the requests of `devices`.
    pub fn new(inner: I, devices: impl IntoIterator<Item = u32>) -> Self {
        Self {
            inner,
            devices: devices.into_iter().collect(),
            removed: 0,
        }
    }
}

impl<I: Notes> Iterator for DeviceFilter<I> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.inner.next()? {
                Ok(record) if !self.devices.contains(&record.device) => self.removed += 1,
                kept => return Some(kept),
            }
        }
    }
}

impl<I: Notes> Notes for DeviceFilter<I> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn readers(&self) -> Vec<&Reader> {
        self.inner.readers()
    }

    fn changes(&self) -> Vec<String> {
        let requests = counted(self.removed, "request");
        let note = format!("{requests} of other devices removed");
        with(self.inner.changes(), (self.removed > 0).then_some(note))
    }
}

/// Maps each device to its own disk, numbered from 0 in order of first appearance.
pub struct Disks<I> {
    inner: I,
    /// The device of each disk.
    devices: Vec<u32>,
}

impl<I: Notes> Disks<I> {
    /// Wraps `inner`.
    pub fn new(inner: I) -> Self {
        Self {
            inner,
            devices: Vec::new(),
        }
    }

    /// The wrapped iterator.
    pub fn inner(&self) -> &I {
        &self.inner
    }

    /// The device of each disk, in the records read so far.
    pub fn devices(&self) -> &[u32] {
        &self.devices
    }

    fn disk(&mut self, device: u32) -> u32 {
        let known = self.devices.iter().position(|known| *known == device);
        let disk = known.unwrap_or_else(|| {
            self.devices.push(device);
            self.devices.len() - 1
        });
        disk as u32
    }
}

impl<I: Notes> Iterator for Disks<I> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.inner.next()?;
        Some(record.map(|record| Record {
            device: self.disk(record.device),
            ..record
        }))
    }
}

impl<I: Notes> Notes for Disks<I> {
    #[inline]
    fn read(&mut self, record: &mut Record) -> Option<Result<(), TraceError>> {
        let read = self.inner.read(record)?;
        if read.is_ok() {
            record.device = self.disk(record.device);
        }
        Some(read)
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn readers(&self) -> Vec<&Reader> {
        self.inner.readers()
    }

    fn changes(&self) -> Vec<String> {
        let devices: Vec<String> = self.devices.iter().map(u32::to_string).collect();
        let note = format!("devices {} renumbered as disks from 0", devices.join(", "));
        with(self.inner.changes(), (!devices.is_empty()).then_some(note))
    }
}
