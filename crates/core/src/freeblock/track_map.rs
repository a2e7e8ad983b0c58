//! A map of the drive: the runs of blocks of each track, by cylinder and head.

use std::ops::Range;

use super::gap::Track;
use crate::geometry::{Extent, Layout};
use crate::mechanics::{Mechanism, Piece, Position};
use crate::request::Op;
use crate::units::{Angle, Cylinder, Head, Instant, Lbn, SectorCount, Span};

/// Number of cylinders in a group. A search skips groups that cannot contain a better read.
pub(super) const GROUP: u32 = 32;

/// Consecutive blocks on a track, without gaps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub first: Lbn,
    pub sectors: u32,
    /// The angle at which the first block begins.
    pub start: Angle,
    pub sector_angle: Angle,
}

impl Run {
    pub fn end(&self) -> Lbn {
        Lbn(self.first.0 + u64::from(self.sectors))
    }

    /// Returns the rest of the run, from its sector `index` on.
    fn extent(&self, track: Track, index: u64) -> Extent {
        Extent {
            sectors: SectorCount(u64::from(self.sectors) - index),
            cylinder: track.cylinder,
            head: track.head,
            sector: 0,
            start: self.start + self.sector_angle * index,
            sector_angle: self.sector_angle,
        }
    }

    /// Returns the index of the first sector that begins a physical sector and starts to pass at
    /// `at` or later; 0 if the run ends before such a sector.
    pub fn next_sector(&self, mechanism: &Mechanism, at: Instant) -> u64 {
        let width = self.sector_angle.as_raw();
        if width == 0 {
            return 0;
        }
        let rotation = &mechanism.rotation;
        let current = (rotation.angle(at) - self.start).as_raw() / width;
        let begins = self.start + self.sector_angle * current;
        let passing = match rotation.wait(at, begins) {
            Span::ZERO => current,
            _ => current + 1,
        };
        let next = mechanism.layout.physical().up(passing);
        if next < u64::from(self.sectors) {
            next
        } else {
            0
        }
    }

    /// Returns the piece that begins at sector `index`, for a head on `track` from `since` on.
    pub fn pass(
        &self,
        mechanism: &Mechanism,
        track: Track,
        since: Instant,
        index: u64,
        op: Op,
    ) -> Piece {
        let from = Position {
            cylinder: track.cylinder,
            head: track.head,
            since,
        };
        let extent = self.extent(track, index);
        let blocks = (Lbn(self.first.0 + index), self.end());
        let start = Instant::START;
        let (_, piece) = mechanism.piece_of(true, from, op, blocks, &extent, start);
        piece
    }
}

/// All runs of a drive, track by track. Tracks are ordered by cylinder and head.
#[derive(Clone, Debug)]
pub(super) struct TrackMap {
    pub surfaces: u32,
    pub cylinders: u32,
    runs: Vec<Run>,
    /// The index of the first run of each track, followed by the number of runs.
    first: Vec<u32>,
    narrowest: Vec<Angle>,
    blocks: Vec<u64>,
}

impl TrackMap {
    pub fn new(layout: &Layout) -> Self {
        let (surfaces, cylinders) = (layout.surfaces(), layout.cylinders());
        let mut mapped: Vec<(usize, Run)> = Vec::new();
        let mut at = Lbn(0);
        while at.0 < layout.sectors().0 {
            let extent = layout.extent(at);
            let track = extent.cylinder.0 as usize * surfaces as usize + extent.head.0 as usize;
            let run = Run {
                first: at,
                sectors: extent.sectors.0 as u32,
                start: extent.start,
                sector_angle: extent.sector_angle,
            };
            mapped.push((track, run));
            at = at + extent.sectors;
        }
        mapped.sort_by_key(|(track, _)| *track);
        let tracks = surfaces as usize * cylinders as usize;
        let groups = cylinders.div_ceil(GROUP) as usize;
        let mut narrowest = vec![Angle::ZERO; groups];
        let mut blocks = vec![0; groups];
        for (track, run) in &mapped {
            let group = track / surfaces as usize / GROUP as usize;
            blocks[group] += u64::from(run.sectors);
            // Angle zero represents a whole revolution, the widest angle.
            let raw = |angle: Angle| angle.as_raw().wrapping_sub(1);
            if raw(run.sector_angle) < raw(narrowest[group]) {
                narrowest[group] = run.sector_angle;
            }
        }
        let mut first = vec![0; tracks + 1];
        for (track, _) in &mapped {
            first[track + 1] += 1;
        }
        for track in 0..tracks {
            first[track + 1] += first[track];
        }
        Self {
            surfaces,
            cylinders,
            runs: mapped.into_iter().map(|(_, run)| run).collect(),
            first,
            narrowest,
            blocks,
        }
    }

    #[inline]
    pub fn blocks(&self, group: u32) -> u64 {
        self.blocks[group as usize]
    }

    #[inline]
    pub fn narrowest(&self, group: u32) -> Angle {
        self.narrowest[group as usize]
    }

    #[inline]
    pub fn number(&self, track: Track) -> usize {
        track.cylinder.0 as usize * self.surfaces as usize + track.head.0 as usize
    }

    pub fn group(&self, group: u32) -> Range<usize> {
        let end = ((group + 1) * GROUP).min(self.cylinders);
        let number = |cylinder: u32| cylinder as usize * self.surfaces as usize;
        number(group * GROUP)..number(end)
    }

    pub fn track_count(&self) -> usize {
        self.first.len() - 1
    }

    pub fn runs(&self, number: usize) -> &[Run] {
        &self.runs[self.first[number] as usize..self.first[number + 1] as usize]
    }

    pub fn tracks_of(&self, cylinder: Cylinder) -> impl Iterator<Item = Track> {
        (0..self.surfaces).map(move |head| Track {
            cylinder,
            head: Head(head),
        })
    }
}
