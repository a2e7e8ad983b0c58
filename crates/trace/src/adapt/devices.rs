//! Which devices, and which disks they become.

use std::collections::BTreeSet;

use super::{Notes, and};
use crate::error::TraceError;
use crate::plural::counted;
use crate::reader::Reader;
use crate::record::Record;

/// The requests of some devices only.
pub struct DeviceFilter<I> {
    inner: I,
    devices: BTreeSet<u32>,
    disabled: u64,
}

impl<I: Notes> DeviceFilter<I> {
    /// Of `inner`, those of `devices`.
    pub fn new(inner: I, devices: impl IntoIterator<Item = u32>) -> Self {
        Self {
            inner,
            devices: devices.into_iter().collect(),
            disabled: 0,
        }
    }
}

impl<I: Notes> Iterator for DeviceFilter<I> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.inner.next()? {
                Ok(record) if !self.devices.contains(&record.device) => self.disabled += 1,
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
        let requests = counted(self.disabled, "request");
        let note = format!("{requests} of other devices left out");
        and(self.inner.changes(), (self.disabled > 0).then_some(note))
    }
}

/// Every device a disk of its own, numbered from 0 in the order of first appearance.
pub struct Disks<I> {
    inner: I,
    /// The device of each disk.
    devices: Vec<u32>,
}

impl<I: Notes> Disks<I> {
    /// Those of `inner`.
    pub fn new(inner: I) -> Self {
        Self {
            inner,
            devices: Vec::new(),
        }
    }

    /// What they are numbered of.
    pub fn inner(&self) -> &I {
        &self.inner
    }

    /// The device of each disk, of those read so far.
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
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn readers(&self) -> Vec<&Reader> {
        self.inner.readers()
    }

    fn changes(&self) -> Vec<String> {
        let devices: Vec<String> = self.devices.iter().map(u32::to_string).collect();
        let note = format!("devices {} became disks from 0 on", devices.join(", "));
        and(self.inner.changes(), (!devices.is_empty()).then_some(note))
    }
}
