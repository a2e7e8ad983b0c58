//! Writes whose data get to the store when the drive has answered them.
//!
//! Their versions of a sector are the last ones, in the order in which the drive got the writes.

use std::collections::BTreeMap;

use super::{Cache, Version, Write, Written};

/// The place of the first version of a sector that is planned. A sector can have thousands that are
/// not, so the search begins at the end.
pub(super) fn first(versions: &[Version], writes: &BTreeMap<u64, Written>) -> usize {
    let is_there = |version: &Version| {
        let write = version.write.and_then(|write| writes.get(&write));
        write.is_none_or(|write| !write.is_planned)
    };
    let last = versions.iter().rposition(is_there);
    last.map_or(0, |last| last + 1)
}

impl Cache {
    /// The write is going to put `data`, in sectors of this many bytes.
    pub fn plan(&mut self, write: Write, data: &[u8], sector: u64) {
        let Some(written) = self.writes.get_mut(&write.0) else {
            return;
        };
        written.is_planned = true;
        for (at, data) in (written.first..).zip(data.chunks_exact(sector as usize)) {
            self.versions += 1;
            self.sectors.entry(at).or_default().push(Version {
                write: Some(write.0),
                before: data.into(),
                is_persisted: false,
            });
        }
    }

    /// The first sector of a write that is planned, and what it is going to put.
    pub fn plan_of(&self, write: Write) -> Option<(u64, Vec<u8>)> {
        let written = self.writes.get(&write.0).filter(|of| of.is_planned)?;
        let range = written.first..written.first + written.sectors;
        let is_own = |version: &&Version| version.write == Some(write.0);
        let sectors = self.sectors.range(range);
        let own = sectors.filter_map(|(_, versions)| versions.iter().rfind(is_own));
        let data = own.flat_map(|version| version.before.iter().copied());
        Some((written.first, data.collect()))
    }

    /// The write has put its data, where `before` was, in sectors of this many bytes.
    pub fn carried_out(&mut self, write: Write, before: &[u8], sector: u64) {
        let Some(&Written { first, sectors, .. }) = self.writes.get(&write.0) else {
            return;
        };
        let range = self.sectors.range_mut(first..first + sectors);
        for ((_, versions), before) in range.zip(before.chunks_exact(sector as usize)) {
            let is_own = |version: &Version| version.write == Some(write.0);
            if let Some(own) = versions.iter().rposition(is_own) {
                let place = self::first(versions, &self.writes);
                let mut version = versions.remove(own);
                version.before = before.into();
                versions.insert(place, version);
            }
        }
        if let Some(written) = self.writes.get_mut(&write.0) {
            written.is_planned = false;
        }
    }

    /// The writes that are planned, in the order in which the drive got them.
    pub fn planned(&self) -> Vec<Write> {
        let writes = self.writes.iter();
        let planned = writes.filter(|(_, written)| written.is_planned);
        planned.map(|(number, _)| Write(*number)).collect()
    }

    /// The drive has failed to write, or was told not to: what was planned does not happen.
    pub fn withdraw(&mut self, write: Write) {
        let Some(&written) = self.writes.get(&write.0) else {
            return;
        };
        if !written.is_planned {
            return self.safe(write);
        }
        self.writes.remove(&write.0);
        for sector in written.first..written.first + written.sectors {
            let Some(versions) = self.sectors.get_mut(&sector) else {
                continue;
            };
            let before = versions.len();
            versions.retain(|version| version.write != Some(write.0));
            self.versions -= (before - versions.len()) as u64;
            if versions.is_empty() {
                self.sectors.remove(&sector);
            }
        }
    }
}
