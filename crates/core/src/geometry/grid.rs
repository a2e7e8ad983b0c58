//! Runs of blocks, and the arithmetic from a block of a zone to its head, sector and angle.

use crate::spec::{Geometry, Sparing, TrackOrder, Zone};
use crate::units::{Angle, Cylinder, Head};

/// Division by a constant, computed as one multiplication.
///
/// With `m = floor((2^64 - 1) / d)`, the quotient is `floor((x + 1) m / 2^64)`. For some `e` in
/// `1..=d`, `m d` is `2^64 - e`, so `(x + 1) m / 2^64` is less than `(x + 1) / d` by `(x + 1) e /
/// (2^64 d)`. As long as `(x + 1) d <= 2^64`, this is at most `1 / d`, so the quotient is never too
/// low. A hardware division would take 20 to 40 cycles, three times per block.
#[derive(Clone, Copy, Debug)]
struct Divisor {
    divisor: u64,
    reciprocal: u64,
}

impl Divisor {
    fn new(divisor: u64) -> Self {
        assert!(divisor > 0, "division by zero");
        Self {
            divisor,
            reciprocal: u64::MAX / divisor,
        }
    }

    #[inline]
    fn divide(self, x: u64) -> (u64, u64) {
        let quotient = ((u128::from(x + 1) * u128::from(self.reciprocal)) >> 64) as u64;
        (quotient, x - quotient * self.divisor)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct GridPosition {
    pub(super) cylinder: Cylinder,
    pub(super) head: Head,
    pub(super) sector: u32,
    pub(super) start: Angle,
    /// Number of the grid's sectors on this track, from this sector to the end.
    pub(super) ahead: u64,
    /// Number of the grid's sectors on this track before this sector.
    pub(super) behind: u64,
}

/// One way of counting the sectors of a zone in LBN order. Every zone has two grids: one counts all
/// of its places, the other skips the spare places of regions without slips.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    /// Counted sectors and number of cylinders of a range, if ranges have spares. Other drives
    /// avoid the division by a branch that is always predicted correctly.
    range: Option<(Divisor, u64)>,
    cylinder: Divisor,
    track: Divisor,
    /// Uncounted sectors at the front of each cylinder.
    front: u64,
    first_cylinder: u32,
    last_head: u32,
    /// 1 if every other cylinder uses its heads in reverse order, else 0.
    alternates: u32,
    /// Odd if the zone's first cylinder uses its heads in reverse order.
    phase: u32,
    origin: Angle,
    track_step: Angle,
    cylinder_step: Angle,
    pub(super) sector_angle: Angle,
}

impl Grid {
    pub(super) fn for_places(zone: &Zone, g: &Geometry) -> Self {
        let (spt, surfaces, order) = (zone.sectors_per_track, g.surfaces, g.order);
        let track_step = angle_of(zone.track_skew_sectors, spt);
        let between_cylinders = angle_of(zone.cylinder_skew_sectors, spt);
        Self {
            range: None,
            cylinder: Divisor::new(u64::from(surfaces) * u64::from(spt)),
            track: Divisor::new(u64::from(spt)),
            front: 0,
            first_cylinder: zone.first_cylinder,
            last_head: surfaces - 1,
            alternates: u32::from(order != TrackOrder::CylinderMajor),
            phase: u32::from(order == TrackOrder::Serpentine) * zone.first_cylinder,
            origin: angle_of(zone.first_offset_sectors, spt),
            track_step,
            cylinder_step: track_step * u64::from(surfaces - 1) + between_cylinders,
            sector_angle: Angle::from_fraction(1, u64::from(spt)),
        }
    }

    /// Creates the grid that counts only the places that hold data in regions without slips.
    pub(super) fn for_data(zone: &Zone, g: &Geometry) -> Self {
        let mut grid = Self::for_places(zone, g);
        let spt = u64::from(zone.sectors_per_track);
        let surfaces = u64::from(g.surfaces);
        let spares = zone.spares * g.physical_sector.0;
        match g.sparing {
            Sparing::SectorsPerTrack => {
                grid.cylinder = Divisor::new(surfaces * (spt - spares));
                grid.track = Divisor::new(spt - spares);
            }
            Sparing::SectorsPerCylinder => {
                grid.cylinder = Divisor::new(surfaces * spt - spares);
            }
            Sparing::SectorsPerCylinderFront => {
                grid.cylinder = Divisor::new(surfaces * spt - spares);
                grid.front = spares;
            }
            Sparing::SectorsPerRange => {
                let cylinders = u64::from(g.sparing_range);
                let places = cylinders * surfaces * spt;
                grid.range = Some((Divisor::new(places - spares), cylinders));
            }
            // A single region: the spare space, if any, follows the data.
            Sparing::None
            | Sparing::SectorsPerZone
            | Sparing::TracksPerZone
            | Sparing::SectorsPerDisk => {}
        }
        grid
    }

    /// Returns the place of sector `x`, which must be within the zone.
    #[inline(always)]
    pub(super) fn place(&self, x: u64) -> GridPosition {
        let Some((range, cylinders)) = self.range else {
            return self.place_in_range(0, x);
        };
        let (nth, in_range) = range.divide(x);
        let mut place = self.place_in_range(nth * cylinders, in_range);
        place.ahead = place.ahead.min(range.divisor - in_range);
        place
    }

    /// Returns the place of sector `x` of the range that begins at cylinder `first` of the zone.
    #[inline]
    fn place_in_range(&self, first: u64, x: u64) -> GridPosition {
        let (cylinder, in_cylinder) = self.cylinder.divide(x);
        let (track, sector) = self.track.divide(in_cylinder + self.front);
        let cylinder = first + cylinder;
        GridPosition {
            cylinder: Cylinder(self.first_cylinder + cylinder as u32),
            head: self.head(cylinder as u32, track as u32),
            sector: sector as u32,
            start: self.origin
                + self.cylinder_step * cylinder
                + self.track_step * track
                + self.sector_angle * sector,
            ahead: (self.track.divisor - sector).min(self.cylinder.divisor - in_cylinder),
            behind: sector.min(in_cylinder),
        }
    }

    /// Returns the head of track `track` in the order of cylinder `cylinder` of the zone.
    #[inline]
    pub(super) fn head(&self, cylinder: u32, track: u32) -> Head {
        let down = cylinder.wrapping_add(self.phase) & self.alternates;
        let from_last = self.last_head.wrapping_sub(track);
        Head(if down != 0 { from_last } else { track })
    }
}

/// Returns the angle of a number of sectors, exact to the last bit for whole numbers.
fn angle_of(sectors: f64, sectors_per_track: u32) -> Angle {
    let whole = sectors.floor();
    let width = 2f64.powi(64) / f64::from(sectors_per_track);
    Angle::from_fraction(whole as u64, u64::from(sectors_per_track))
        + Angle::from_raw(((sectors - whole) * width) as u64)
}

/// A run of blocks counted by one grid: block `b` is sector `b + shift` of `grid` (wrapping).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) shift: u64,
    pub(super) grid: u32,
    /// Number of sectors by which earlier slips have rotated the tracks.
    pub(super) turned: u32,
}

impl Piece {
    /// Creates the piece of the blocks `start..end`, which begin at sector `x` of `grid` and are on
    /// tracks rotated by `turned` sectors.
    pub(super) fn new((start, end): (u64, u64), x: u64, grid: u32, turned: u32) -> Self {
        Self {
            start,
            end,
            shift: x.wrapping_sub(start),
            grid,
            turned,
        }
    }

    /// Returns true if the same arithmetic applies to `next`, which begins where this piece ends.
    fn is_continued_by(&self, next: &Self) -> bool {
        (self.shift, self.grid, self.turned) == (next.shift, next.grid, next.turned)
    }

    #[inline]
    pub(super) fn sector(&self, lbn: u64) -> u64 {
        lbn.wrapping_add(self.shift)
    }
}

/// A growing list of pieces, each beginning where the previous one ends.
#[derive(Debug, Default)]
pub(super) struct PieceList(Vec<Piece>);

impl PieceList {
    /// Appends a piece, or extends the last one if the new one only continues it.
    pub(super) fn push(&mut self, piece: Piece) {
        match self.0.last_mut() {
            Some(last) if last.is_continued_by(&piece) => last.end = piece.end,
            _ => self.0.push(piece),
        }
    }

    pub(super) fn finish(self) -> Pieces {
        Pieces::new(self.0)
    }
}

/// All pieces of a drive. A block's bucket (its high bits) gives the few pieces that may contain
/// it. With about four buckets per piece, it nearly always gives just one, whereas a binary search
/// would take one more step each time the defect list doubles.
#[derive(Debug)]
pub(super) struct Pieces {
    /// In ascending order of blocks, without gaps.
    pieces: Vec<Piece>,
    /// The pieces of the first block of each bucket and of the next bucket.
    buckets: Vec<[u32; 2]>,
    bucket_bits: u32,
}

impl Pieces {
    /// Bounds the table to a quarter of a mebibyte for any defect list.
    const BUCKETS_MAX: u64 = 1 << 14;
    const BUCKETS_PER_PIECE: u64 = 4;

    fn new(pieces: Vec<Piece>) -> Self {
        let end = pieces[pieces.len() - 1].end;
        let wanted = (pieces.len() as u64 * Self::BUCKETS_PER_PIECE).min(Self::BUCKETS_MAX);
        let bucket_bits = (end / wanted).max(1).ilog2();
        let piece_of = |bucket: u64| {
            let first = (bucket << bucket_bits).min(end - 1);
            pieces.partition_point(|piece| piece.end <= first) as u32
        };
        let buckets = (0..=(end - 1) >> bucket_bits)
            .map(|bucket| [piece_of(bucket), piece_of(bucket + 1)])
            .collect();
        Self {
            pieces,
            buckets,
            bucket_bits,
        }
    }

    /// Returns the piece that contains `lbn`, which must be below the capacity.
    #[inline]
    pub(super) fn find(&self, lbn: u64) -> &Piece {
        let [mut low, mut high] = self.buckets[(lbn >> self.bucket_bits) as usize];
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.pieces[middle as usize].start <= lbn {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        &self.pieces[low as usize]
    }

    /// Returns the pieces after a move of the blocks of `moved`, which are in order and disjoint.
    pub(super) fn overlay(self, moved: &[Piece]) -> Self {
        let end = self.pieces[self.pieces.len() - 1].end;
        let mut all = PieceList::default();
        let mut at = 0;
        let mut next = 0;
        for piece in moved {
            self.copy(&mut all, &mut next, at, piece.start);
            all.push(*piece);
            at = piece.end;
        }
        self.copy(&mut all, &mut next, at, end);
        all.finish()
    }

    /// Appends the pieces of the blocks `from..to`, none of which are in a piece before `next`.
    fn copy(&self, all: &mut PieceList, next: &mut usize, mut from: u64, to: u64) {
        while from < to {
            while self.pieces[*next].end <= from {
                *next += 1;
            }
            let piece = self.pieces[*next];
            let end = piece.end.min(to);
            all.push(Piece {
                start: from,
                end,
                ..piece
            });
            from = end;
        }
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.pieces.as_slice()) + size_of_val(self.buckets.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reciprocals_divide_exactly_up_to_the_bound() {
        for d in [1, 2, 3, 5, 7, 95, 96, 1248, 65_535, 65_537, 1 << 24] {
            let divisor = Divisor::new(d);
            let bound = u64::MAX / d - 1;
            for quotient in [0, 1, 2, 1000, bound / d] {
                for remainder in [0, d - 1, d / 2] {
                    let x = (quotient * d + remainder).min(bound);
                    assert_eq!(divisor.divide(x), (x / d, x % d), "{x} / {d}");
                }
            }
        }
    }
}
