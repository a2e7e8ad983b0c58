//! The tracks of a zone, the positions on them that hold blocks, and the pattern of skews that the
//! first tracks follow. The sparing scheme is not known yet.
//!
//! A position is the number of a sector within its zone, counted from 0 in the order of the tracks
//! as in [`diskarm_core::geometry`], whether or not it holds a block.

use std::ops::Range;

/// A block is in line if its angle is within this many sectors of the prediction.
pub(super) const IN_LINE: f64 = 0.25;

/// The tracks of a zone: the angle, cylinder and head of each position.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tracks {
    pub first_cylinder: u32,
    pub surfaces: u32,
    pub sectors: u64,
    /// Angle from the index mark to position 0, in sectors.
    pub offset: f64,
    /// Skew between the tracks of a cylinder, in sectors.
    pub track_skew: f64,
    /// Skew from the last track of a cylinder to the first of the next one, in sectors.
    pub cylinder_skew: f64,
    /// True if the first cylinder uses its heads in descending order.
    pub begins_down: bool,
    /// True if every other cylinder uses its heads in the opposite order.
    pub alternates: bool,
    /// Positions from which all tracks are rotated, in ascending order, and rotations in sectors.
    pub rotations: Vec<(u64, u64)>,
}

impl Tracks {
    pub fn cylinder(&self) -> u64 {
        u64::from(self.surfaces) * self.sectors
    }

    /// Returns the angle of the first position of a track, in sectors, without whole revolutions.
    pub fn track_angle(&self, track: u64) -> f64 {
        let surfaces = u64::from(self.surfaces);
        let (cylinder, offset) = (track / surfaces, track % surfaces);
        let revolution = self.sectors as f64;
        let first = track * self.sectors;
        let count = self.rotations.partition_point(|&(from, _)| from <= first);
        let turned = count.checked_sub(1).map_or(0, |at| self.rotations[at].1);
        // Reduce at each step, so that whole skews stay exact.
        let angle = self.offset
            + self.cylinder_turn() * cylinder as f64
            + self.track_skew * offset as f64
            + turned as f64;
        angle.rem_euclid(revolution)
    }

    /// Returns the rotation of a cylinder relative to the previous one, in sectors.
    fn cylinder_turn(&self) -> f64 {
        let turn = self.track_skew * f64::from(self.surfaces - 1) + self.cylinder_skew;
        turn % self.sectors as f64
    }

    /// Inserts cylinders before position 0.
    pub fn insert_cylinders(&mut self, cylinders: u32) {
        let turned = self.cylinder_turn() * f64::from(cylinders);
        self.offset = (self.offset - turned).rem_euclid(self.sectors as f64);
    }

    /// Returns the angle of a position, in revolutions.
    pub fn angle(&self, position: u64) -> f64 {
        let offset = position % self.sectors;
        let angle = self.track_angle(position / self.sectors) + offset as f64;
        (angle / self.sectors as f64).fract()
    }

    /// Returns the positions within `tolerance` sectors of `angle` on `tracks`, from `min` on.
    pub fn aligned_positions(
        &self,
        tracks: Range<u64>,
        angle: f64,
        tolerance: f64,
        min: u64,
    ) -> Vec<u64> {
        let on_track = |track: u64| {
            let offset = (angle - self.track_angle(track)).rem_euclid(self.sectors as f64);
            let whole = offset.round();
            let position = track * self.sectors + whole as u64 % self.sectors;
            ((offset - whole).abs() < tolerance && position >= min).then_some(position)
        };
        tracks.filter_map(on_track).collect()
    }

    /// Returns the number of the track at a cylinder and head, counted from the first of the zone.
    pub fn track(&self, cylinder: u32, head: u32) -> Option<u64> {
        let number = cylinder.checked_sub(self.first_cylinder)?;
        if head >= self.surfaces {
            return None;
        }
        let down = self.begins_down != (self.alternates && number % 2 == 1);
        let offset = if down { self.surfaces - 1 - head } else { head };
        Some(u64::from(number) * u64::from(self.surfaces) + u64::from(offset))
    }

    /// Returns one past the last position of the track that contains `position`.
    pub fn track_end(&self, position: u64) -> u64 {
        (position / self.sectors + 1) * self.sectors
    }
}

/// Adjacent positions without blocks.
pub(super) type Gap = Range<u64>;

pub(super) fn length(gap: &Gap) -> u64 {
    gap.end - gap.start
}

/// A zone and the positions in it that hold no block.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ZoneMap {
    pub tracks: Tracks,
    pub first: u64,
    pub blocks: u64,
    /// Positions without blocks before the last block, in ascending order.
    pub gaps: Vec<Gap>,
    /// Reallocated blocks: the position at which each would be in line, and its actual position.
    pub moved: Vec<(u64, u64)>,
    /// Reallocated blocks whose position is unknown.
    pub lost: Vec<u64>,
}

impl ZoneMap {
    /// Removes all blocks from a position on.
    pub fn truncate(&mut self, position: u64) {
        self.gaps.retain(|gap| gap.start < position);
        let last = self.gaps.pop_if(|gap| gap.end >= position);
        self.blocks = last.map_or(position, |gap| gap.start) - self.missing();
        self.moved.retain(|&(from, _)| from < position);
        let end = self.next();
        self.lost.retain(|&block| block < end);
        self.tracks.rotations.retain(|&(from, _)| from < position);
    }

    pub fn drop_last(&mut self, blocks: u64) {
        self.blocks -= blocks;
        let mut missing = 0;
        let held = self.blocks;
        self.gaps.retain(|gap| {
            let is_before = gap.start - missing < held;
            missing += length(gap);
            is_before
        });
        self.truncate(self.end());
    }

    /// Inserts cylinders without blocks before position 0.
    pub fn insert_cylinders(&mut self, cylinders: u32) {
        if cylinders == 0 {
            return;
        }
        let by = u64::from(cylinders) * self.tracks.cylinder();
        self.tracks.insert_cylinders(cylinders);
        for (from, _) in &mut self.tracks.rotations {
            *from += by;
        }
        for gap in &mut self.gaps {
            *gap = gap.start + by..gap.end + by;
        }
        for (from, to) in &mut self.moved {
            (*from, *to) = (*from + by, *to + by);
        }
        match self.gaps.first_mut() {
            Some(gap) if gap.start == by => gap.start = 0,
            _ => self.gaps.insert(0, 0..by),
        }
    }

    /// Returns the block that is in line at a position.
    pub fn block(&self, position: u64) -> Option<u64> {
        let before = self.gaps.iter().take_while(|gap| gap.start <= position);
        let mut missing = 0;
        for gap in before {
            if gap.end > position {
                return None;
            }
            missing += length(gap);
        }
        let block = position - missing;
        (block < self.blocks).then_some(self.first + block)
    }

    /// Returns the number of positions before the first block.
    pub fn lead(&self) -> u64 {
        let gap = self.gaps.first().filter(|gap| gap.start == 0);
        gap.map_or(0, |gap| gap.end)
    }

    /// Returns the number of positions without blocks before the last block.
    pub fn missing(&self) -> u64 {
        self.gaps.iter().map(length).sum()
    }

    /// Returns one past the last block.
    pub fn next(&self) -> u64 {
        self.first + self.blocks
    }

    /// Returns one past the position of the last block.
    pub fn end(&self) -> u64 {
        self.blocks + self.missing()
    }

    /// Returns one past the last cylinder that holds a block.
    pub fn end_cylinder(&self) -> u32 {
        let elsewhere = self.moved.iter().map(|(_, to)| to + 1).max();
        let end = self.end().max(elsewhere.unwrap_or(0));
        self.tracks.first_cylinder + end.div_ceil(self.tracks.cylinder()) as u32
    }
}

/// A track as measured from the angles of its blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Angle at which its first block begins, in sectors.
    pub start: f64,
    pub blocks: u64,
    /// Difference of the measured angle from `start`, in sectors.
    pub off: f64,
}

/// Returns the angle from the start of each track to the start of the next, in sectors.
pub(super) fn jumps(runs: &[Run], sectors: u64) -> Vec<f64> {
    // Rounding must not turn a skew of 0 into a whole revolution.
    let jump =
        |pair: &[Run]| (pair[1].start - pair[0].start + 1.0).rem_euclid(sectors as f64) - 1.0;
    runs.windows(2).map(jump).collect()
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() < 2.0 * IN_LINE
}

/// Returns the period with which jumps repeat; `None` if they do not, or if all are equal.
pub(super) fn period(jumps: &[f64]) -> Option<usize> {
    let repeat = |period: usize| {
        let mut pairs = jumps.iter().zip(&jumps[period..]);
        pairs.all(|(&one, &other)| close(one, other))
    };
    (2..jumps.len().div_ceil(2)).find(|&period| {
        let varies = jumps[..period].iter().any(|&jump| !close(jump, jumps[0]));
        varies && repeat(period) && !(1..period).any(repeat)
    })
}

/// Returns the mean of the largest group of close values, rounded if it is nearly whole.
fn mode(values: &[f64]) -> Option<f64> {
    let group = |value: f64| values.iter().filter(move |&&other| close(value, other));
    let max = values.iter().map(|&value| group(value).count()).max()?;
    let value = values
        .iter()
        .copied()
        .find(|&value| group(value).count() == max)?;
    let mean = group(value).sum::<f64>() / max as f64;
    let whole = mean.round();
    let is_whole = (mean - whole).abs() < 0.02;
    Some(if is_whole { whole } else { mean })
}

/// The tracks that explain the first blocks of a zone, and the position of its first block.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pattern {
    pub tracks: Tracks,
    pub position: u64,
    /// Number of tracks that begin where the pattern predicts.
    fits: usize,
}

/// Returns the patterns that explain the most tracks. They differ in which track ends a cylinder.
pub(super) fn patterns(
    runs: &[Run],
    sectors: u64,
    surfaces: u32,
    first_cylinder: u32,
) -> Vec<Pattern> {
    let lasts = 0..(surfaces as usize).min(runs.len() - 1).max(1);
    let mut all: Vec<Pattern> = lasts
        .map(|last| Pattern::new(runs, sectors, surfaces, first_cylinder, last))
        .collect();
    let max = all.iter().map(|pattern| pattern.fits).max();
    all.retain(|pattern| Some(pattern.fits) == max);
    all
}

impl Pattern {
    /// Fits a pattern in which track `last` is the last one of its cylinder.
    pub fn new(
        runs: &[Run],
        sectors: u64,
        surfaces: u32,
        first_cylinder: u32,
        last: usize,
    ) -> Self {
        let period = surfaces as usize;
        let revolution = sectors as f64;
        let jumps = jumps(runs, sectors);
        let is_last = |n: usize| n % period == last;
        let front = front(runs, sectors, period, last);
        let before = |n: usize| if n > 0 && is_last(n - 1) { front } else { 0.0 };
        let skew = |across: bool, front: f64| {
            let some = (0..jumps.len()).filter(|&n| is_last(n) == across);
            let skews: Vec<f64> = some.map(|n| jumps[n] + before(n) - front).collect();
            mode(&skews)
        };
        let track_skew = skew(false, 0.0).unwrap_or(0.0);
        let cylinder_skew = skew(true, front).unwrap_or(track_skew);
        let mut tracks = Tracks {
            first_cylinder,
            surfaces,
            sectors,
            track_skew,
            cylinder_skew: cylinder_skew.rem_euclid(revolution),
            ..Tracks::default()
        };
        let head = period - 1 - last;
        let offset = |n: usize| runs[n].start - before(n) - tracks.track_angle((head + n) as u64);
        // Angles wrap around, so offsets are chosen close to the first one.
        let (zero, half) = (offset(0), revolution / 2.0);
        let unwrapped = |n: usize| zero + (offset(n) - zero + half).rem_euclid(revolution) - half;
        let offsets: Vec<f64> = (0..runs.len()).map(unwrapped).collect();
        let cluster = mode(&offsets).unwrap_or(0.0);
        let near = offsets.iter().filter(|&&offset| close(cluster, offset));
        let fits = near.clone().count();
        let off = runs.iter().map(|run| run.off).sum::<f64>() / runs.len() as f64;
        tracks.offset = (near.sum::<f64>() / fits.max(1) as f64 + off).rem_euclid(revolution);
        let start = (runs[0].start - tracks.track_angle(head as u64)).rem_euclid(revolution);
        Self {
            tracks,
            position: head as u64 * sectors + start.round() as u64 % sectors,
            fits,
        }
    }
}

/// Returns the number of positions without blocks at the front of each cylinder: the shortfall of
/// its first track, if its last track is full.
fn front(runs: &[Run], sectors: u64, period: usize, last: usize) -> f64 {
    let is_last = |n: usize| n % period == last;
    let shortfall = |n: usize| (sectors - runs[n].blocks) as f64;
    let firsts = (1..runs.len()).filter(|&n| is_last(n - 1)).map(shortfall);
    let lasts = (0..runs.len()).filter(|&n| is_last(n)).map(shortfall);
    match (
        mode(&firsts.collect::<Vec<_>>()),
        mode(&lasts.collect::<Vec<_>>()),
    ) {
        (Some(spares), Some(0.0)) if period > 1 => spares,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_repeat_with_the_surfaces() {
        let jumps = [2.0, 2.0, 16.0, 2.0, 2.0, 16.0, 2.0];
        assert_eq!(period(&jumps), Some(3));
        assert_eq!(period(&[2.0; 9]), None);
    }
}
