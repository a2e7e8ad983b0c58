//! The positions of a zone and which of them hold blocks, before any sparing scheme explains it.
//!
//! A position is the number of a sector within its zone, counted from 0 in the order of the tracks
//! as in [`diskarm_core::geometry`], whether or not it holds a block.

use std::ops::Range;

/// The tracks of a zone: the angle, cylinder and head of each position.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tracks {
    /// Cylinder of position 0.
    pub first_cylinder: u32,
    /// Tracks per cylinder.
    pub surfaces: u32,
    /// Sectors per track.
    pub sectors: u64,
    /// Angle of position 0 from the index mark, in sectors.
    pub offset: f64,
    /// Skew between the tracks of a cylinder, in sectors.
    pub track_skew: f64,
    /// Skew from the last track of a cylinder to the first of the next one, in sectors.
    pub cylinder_skew: f64,
    /// True if the first cylinder runs from the last head to the first.
    pub begins_down: bool,
    /// True if every other cylinder runs in the other direction.
    pub alternates: bool,
    /// Rotations, in sectors, of all tracks from a position on, in ascending order.
    pub rotations: Vec<(u64, u64)>,
}

impl Tracks {
    /// Positions per cylinder.
    pub fn cylinder(&self) -> u64 {
        u64::from(self.surfaces) * self.sectors
    }

    /// Returns the angle of the first position of a track, in sectors, below one revolution.
    pub fn track_angle(&self, track: u64) -> f64 {
        let (cylinder, within) = self.split(track);
        let revolution = self.sectors as f64;
        let per_cylinder = self.track_skew * f64::from(self.surfaces - 1) + self.cylinder_skew;
        let first = track * self.sectors;
        let count = self.rotations.partition_point(|&(from, _)| from <= first);
        let turned = count.checked_sub(1).map_or(0, |at| self.rotations[at].1);
        // Reduced at each step so that whole skews stay exact.
        let angle = self.offset
            + (per_cylinder % revolution) * cylinder as f64
            + self.track_skew * within as f64
            + turned as f64;
        angle.rem_euclid(revolution)
    }

    /// Inserts cylinders in front of position 0, so that the former position 0 follows them.
    pub fn insert_cylinders(&mut self, cylinders: u32) {
        let revolution = self.sectors as f64;
        let skews = self.track_skew * f64::from(self.surfaces - 1) + self.cylinder_skew;
        let turned = (skews % revolution) * f64::from(cylinders);
        self.offset = (self.offset - turned).rem_euclid(revolution);
    }

    /// Returns the angle of a position, in revolutions.
    pub fn angle(&self, position: u64) -> f64 {
        let track = position / self.sectors;
        let within = position % self.sectors;
        ((self.track_angle(track) + within as f64) / self.sectors as f64).fract()
    }

    /// Returns the positions from `min` on whose angle is within `tolerance` of `angle`, at most
    /// one per track, in sectors.
    pub fn aligned_positions(
        &self,
        tracks: Range<u64>,
        angle: f64,
        tolerance: f64,
        min: u64,
    ) -> Vec<u64> {
        let on_track = |track: u64| {
            let within = (angle - self.track_angle(track)).rem_euclid(self.sectors as f64);
            let whole = within.round();
            let position = track * self.sectors + whole as u64 % self.sectors;
            ((within - whole).abs() < tolerance && position >= min).then_some(position)
        };
        tracks.filter_map(on_track).collect()
    }

    /// Splits a track number into the cylinder within the zone and the track within the cylinder.
    fn split(&self, track: u64) -> (u64, u64) {
        let surfaces = u64::from(self.surfaces);
        (track / surfaces, track % surfaces)
    }

    /// Returns the track at a cylinder and head, counted from the first track of the zone.
    pub fn track(&self, cylinder: u32, head: u32) -> Option<u64> {
        let number = cylinder.checked_sub(self.first_cylinder)?;
        if head >= self.surfaces {
            return None;
        }
        let down = self.begins_down != (self.alternates && number % 2 == 1);
        let within = if down { self.surfaces - 1 - head } else { head };
        Some(u64::from(number) * u64::from(self.surfaces) + u64::from(within))
    }

    /// One past the last position of the track that contains `position`.
    pub fn track_end(&self, position: u64) -> u64 {
        (position / self.sectors + 1) * self.sectors
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    pub start: u64,
    pub length: u64,
}

impl Gap {
    pub fn end(self) -> u64 {
        self.start + self.length
    }
}

/// A zone and the positions in it that hold no block.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ZoneMap {
    pub tracks: Tracks,
    pub first: u64,
    pub blocks: u64,
    /// Positions without blocks before the last block, in ascending order.
    pub gaps: Vec<Gap>,
    /// Reallocated blocks: the position in line and the actual position.
    pub moved: Vec<(u64, u64)>,
    /// Reallocated blocks whose position is unknown.
    pub lost: Vec<u64>,
}

impl ZoneMap {
    /// Drops all blocks from a position on.
    pub fn truncate(&mut self, position: u64) {
        self.gaps.retain(|gap| gap.start < position);
        let missing: u64 = self.gaps.iter().map(|gap| gap.length).sum();
        match self.gaps.last_mut() {
            Some(gap) if gap.end() >= position => {
                let kept = missing - gap.length;
                self.blocks = gap.start - kept;
                self.gaps.pop();
            }
            _ => self.blocks = position - missing,
        }
        self.moved.retain(|&(from, _)| from < position);
        let end = self.first + self.blocks;
        self.lost.retain(|&block| block < end);
        self.tracks.rotations.retain(|&(from, _)| from < position);
    }

    /// Drops this many blocks at the end.
    pub fn drop_last(&mut self, blocks: u64) {
        self.blocks -= blocks;
        let mut missing = 0;
        let held = self.blocks;
        self.gaps.retain(|gap| {
            let is_before = gap.start - missing < held;
            missing += gap.length;
            is_before
        });
        self.truncate(self.end());
    }

    /// Inserts cylinders without blocks in front of all positions.
    pub fn insert_cylinders(&mut self, cylinders: u32) {
        if cylinders == 0 {
            return;
        }
        let tracks = &mut self.tracks;
        let by = u64::from(cylinders) * tracks.cylinder();
        tracks.insert_cylinders(cylinders);
        tracks
            .rotations
            .iter_mut()
            .for_each(|(from, _)| *from += by);
        for gap in &mut self.gaps {
            gap.start += by;
        }
        match self.gaps.first_mut() {
            Some(gap) if gap.start == by => {
                *gap = Gap {
                    start: 0,
                    length: gap.length + by,
                }
            }
            _ => self.gaps.insert(
                0,
                Gap {
                    start: 0,
                    length: by,
                },
            ),
        }
        for (from, to) in &mut self.moved {
            (*from, *to) = (*from + by, *to + by);
        }
    }

    /// Returns the block that is in line at a position.
    pub fn block(&self, position: u64) -> Option<u64> {
        let before = self.gaps.iter().take_while(|gap| gap.start <= position);
        let mut missing = 0;
        for gap in before {
            if gap.end() > position {
                return None;
            }
            missing += gap.length;
        }
        let block = position - missing;
        (block < self.blocks).then_some(self.first + block)
    }

    /// One past the position of the last block.
    pub fn end(&self) -> u64 {
        self.blocks + self.gaps.iter().map(|gap| gap.length).sum::<u64>()
    }

    /// One past the last cylinder that contains a block or the position of a reallocated block.
    pub fn end_cylinder(&self) -> u32 {
        let elsewhere = self.moved.iter().map(|(_, to)| to + 1).max();
        let end = self.end().max(elsewhere.unwrap_or(0));
        self.tracks.first_cylinder + end.div_ceil(self.tracks.cylinder()) as u32
    }
}
