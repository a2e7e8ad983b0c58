//! Places with and without blocks, before any sparing scheme explains them.

/// The tracks of a zone: where each place is, were it to hold a block or not.
///
/// Places count the sectors of a zone from 0 in the order of its tracks, as in
/// [`diskarm_core::geometry`].
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tracks {
    /// Cylinder of place 0.
    pub first_cylinder: u32,
    /// Tracks in a cylinder.
    pub surfaces: u32,
    /// Sectors in a track.
    pub sectors: u64,
    /// Angle of place 0 from the index mark, in sectors.
    pub offset: f64,
    /// From one track of a cylinder to the next, in sectors.
    pub track_skew: f64,
    /// From the last track of a cylinder to the first of the next, in sectors.
    pub cylinder_skew: f64,
    /// The first cylinder runs from the last head to the first.
    pub begins_down: bool,
    /// Every other cylinder runs in the other direction.
    pub alternates: bool,
    /// From a place on, all tracks are rotated by some sectors: ascending.
    pub turned: Vec<(u64, u64)>,
}

impl Tracks {
    /// Places in a cylinder.
    pub fn cylinder(&self) -> u64 {
        u64::from(self.surfaces) * self.sectors
    }

    /// Angle of the first place of a track, in sectors; less than a revolution.
    pub fn track_angle(&self, track: u64) -> f64 {
        let (cylinder, within) = self.split(track);
        let revolution = self.sectors as f64;
        let per_cylinder = self.track_skew * f64::from(self.surfaces - 1) + self.cylinder_skew;
        let first = track * self.sectors;
        let turned = self.turned.partition_point(|&(from, _)| from <= first);
        let turned = turned.checked_sub(1).map_or(0, |at| self.turned[at].1);
        // Reduced on the way, so that whole skews stay exact.
        let angle = self.offset
            + (per_cylinder % revolution) * cylinder as f64
            + self.track_skew * within as f64
            + turned as f64;
        angle.rem_euclid(revolution)
    }

    /// Makes room for cylinders in front of place 0: what was there is behind them then.
    pub fn push_in(&mut self, cylinders: u32) {
        let revolution = self.sectors as f64;
        let skews = self.track_skew * f64::from(self.surfaces - 1) + self.cylinder_skew;
        let turned = (skews % revolution) * f64::from(cylinders);
        self.offset = (self.offset - turned).rem_euclid(revolution);
    }

    /// Angle of a place, in revolutions.
    pub fn angle(&self, place: u64) -> f64 {
        let track = place / self.sectors;
        let within = place % self.sectors;
        ((self.track_angle(track) + within as f64) / self.sectors as f64).fract()
    }

    /// Cylinder of the zone and track of the cylinder.
    fn split(&self, track: u64) -> (u64, u64) {
        let surfaces = u64::from(self.surfaces);
        (track / surfaces, track % surfaces)
    }

    /// The track of a cylinder and head, counted from the first track of the zone.
    pub fn track(&self, cylinder: u32, head: u32) -> Option<u64> {
        let cylinder = cylinder.checked_sub(self.first_cylinder)?;
        if head >= self.surfaces {
            return None;
        }
        let down = self.begins_down != (self.alternates && cylinder % 2 == 1);
        let within = if down { self.surfaces - 1 - head } else { head };
        Some(u64::from(cylinder) * u64::from(self.surfaces) + u64::from(within))
    }

    /// One past the last place of the track that contains `place`.
    pub fn track_end(&self, place: u64) -> u64 {
        (place / self.sectors + 1) * self.sectors
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    pub place: u64,
    pub places: u64,
}

impl Gap {
    /// One past the last.
    pub fn end(self) -> u64 {
        self.place + self.places
    }
}

/// A zone, and which of its places hold blocks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ZoneChart {
    pub tracks: Tracks,
    pub first: u64,
    /// How many blocks it holds.
    pub blocks: u64,
    /// Places before its last block that hold none, in ascending order.
    pub gaps: Vec<Gap>,
    /// Blocks that are elsewhere: (place in line, actual place).
    pub moved: Vec<(u64, u64)>,
    /// Blocks that are elsewhere, nobody knows where.
    pub lost: Vec<u64>,
}

impl ZoneChart {
    /// Gives up all blocks from a place on.
    pub fn truncate(&mut self, place: u64) {
        self.gaps.retain(|gap| gap.place < place);
        let missing: u64 = self.gaps.iter().map(|gap| gap.places).sum();
        match self.gaps.last_mut() {
            Some(gap) if gap.end() >= place => {
                let kept = missing - gap.places;
                self.blocks = gap.place - kept;
                self.gaps.pop();
            }
            _ => self.blocks = place - missing,
        }
        self.moved.retain(|&(from, _)| from < place);
        let end = self.first + self.blocks;
        self.lost.retain(|&block| block < end);
        self.tracks.turned.retain(|&(from, _)| from < place);
    }

    /// Gives up this many blocks at the end.
    pub fn drop_last(&mut self, blocks: u64) {
        self.blocks -= blocks;
        let mut missing = 0;
        let held = self.blocks;
        self.gaps.retain(|gap| {
            let is_before = gap.place - missing < held;
            missing += gap.places;
            is_before
        });
        self.truncate(self.end());
    }

    /// Makes room for cylinders without blocks in front of all places.
    pub fn push_in(&mut self, cylinders: u32) {
        if cylinders == 0 {
            return;
        }
        let tracks = &mut self.tracks;
        let by = u64::from(cylinders) * tracks.cylinder();
        tracks.push_in(cylinders);
        tracks.turned.iter_mut().for_each(|(from, _)| *from += by);
        for gap in &mut self.gaps {
            gap.place += by;
        }
        match self.gaps.first_mut() {
            Some(gap) if gap.place == by => {
                *gap = Gap {
                    place: 0,
                    places: gap.places + by,
                }
            }
            _ => self.gaps.insert(
                0,
                Gap {
                    place: 0,
                    places: by,
                },
            ),
        }
        for (from, to) in &mut self.moved {
            (*from, *to) = (*from + by, *to + by);
        }
    }

    /// The block that is in line at a place.
    pub fn block(&self, place: u64) -> Option<u64> {
        let before = self.gaps.iter().take_while(|gap| gap.place <= place);
        let mut missing = 0;
        for gap in before {
            if gap.end() > place {
                return None;
            }
            missing += gap.places;
        }
        let block = place - missing;
        (block < self.blocks).then_some(self.first + block)
    }

    /// One past the place of the last block.
    pub fn end(&self) -> u64 {
        self.blocks + self.gaps.iter().map(|gap| gap.places).sum::<u64>()
    }

    /// One past the last cylinder with a block, or with the place of a block that is elsewhere.
    pub fn end_cylinder(&self) -> u32 {
        let elsewhere = self.moved.iter().map(|(_, to)| to + 1).max();
        let end = self.end().max(elsewhere.unwrap_or(0));
        self.tracks.first_cylinder + end.div_ceil(self.tracks.cylinder()) as u32
    }
}
