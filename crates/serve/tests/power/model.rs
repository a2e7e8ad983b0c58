//! An independent implementation of power cuts, which keeps every write.

use std::collections::BTreeMap;

use diskarm_core::device::Persisted;

/// A write of sectors that are filled with one byte each.
pub struct ModelWrite {
    pub first: u64,
    pub sectors: u64,
    pub fill: u8,
    /// True for the sectors that are on the media.
    pub persisted: Vec<bool>,
    pub is_acknowledged: bool,
    /// True if no power cut can undo it.
    pub is_safe: bool,
}

impl ModelWrite {
    pub fn holds(&self, sector: u64) -> bool {
        (self.first..self.first + self.sectors).contains(&sector)
    }

    fn is_persisted(&self, sector: u64) -> bool {
        self.persisted[(sector - self.first) as usize]
    }

    pub fn is_on_media(&self) -> bool {
        self.persisted.iter().all(|persisted| *persisted)
    }
}

/// All writes since the last power cut, and the content of the sectors at that time.
#[derive(Default)]
pub struct Model {
    pub base: BTreeMap<u64, u8>,
    pub writes: Vec<ModelWrite>,
}

impl Model {
    /// Adds a write; returns its number.
    pub fn write(&mut self, first: u64, sectors: u64, fill: u8) -> usize {
        self.writes.push(ModelWrite {
            first,
            sectors,
            fill,
            persisted: vec![false; sectors as usize],
            is_acknowledged: false,
            is_safe: false,
        });
        self.writes.len() - 1
    }

    /// Marks blocks as persisted, each in the first write whose block is not.
    pub fn mark_persisted(&mut self, persisted: &[Persisted]) {
        for run in persisted {
            for sector in run.first.0..run.first.0 + run.sectors.0 {
                let is_next =
                    |write: &&mut ModelWrite| write.holds(sector) && !write.is_persisted(sector);
                if let Some(write) = self.writes.iter_mut().find(is_next) {
                    write.persisted[(sector - write.first) as usize] = true;
                }
            }
        }
    }

    /// Returns the possible contents of a sector after a power cut, oldest first, from the last
    /// safe write on.
    pub fn allowed(&self, sector: u64) -> Vec<u8> {
        let mut allowed = vec![self.base.get(&sector).copied().unwrap_or(0)];
        for write in self.writes.iter().filter(|write| write.holds(sector)) {
            if write.is_safe {
                allowed.clear();
            }
            allowed.push(write.fill);
        }
        allowed
    }

    /// Returns the content of a sector after a power cut, if `survives` selects the surviving
    /// writes.
    pub fn after(&self, sector: u64, survives: impl Fn(&ModelWrite) -> bool) -> u8 {
        let mut writes = self.writes.iter().rev();
        let last = writes.find(|write| write.holds(sector) && survives(write));
        let base = || self.base.get(&sector).copied().unwrap_or(0);
        last.map_or_else(base, |write| write.fill)
    }

    /// Like [`Self::after`], if only writes that are entirely on the media survive.
    pub fn after_plain(&self, sector: u64) -> u8 {
        self.after(sector, |write| write.is_on_media() || write.is_safe)
    }

    /// Like [`Self::after_plain`], but writes survive sector by sector.
    pub fn after_torn(&self, sector: u64) -> u8 {
        self.after(sector, |write| write.is_persisted(sector) || write.is_safe)
    }
}
