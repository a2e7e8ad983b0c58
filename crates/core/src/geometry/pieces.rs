//! Which arithmetic holds for a block: pieces of LBN space, found through buckets.

use crate::units::Lbn;

/// A run of blocks counted by one grid: block `b` is sector `b + shift` of `grid` (wrapping). It
/// ends where the next piece starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) shift: u64,
    pub(super) grid: u32,
}

impl Piece {
    /// Blocks from `start` on, the first of which is sector `x` of `grid`.
    pub(super) fn new(start: u64, x: u64, grid: u32) -> Self {
        Self {
            start,
            shift: x.wrapping_sub(start),
            grid,
        }
    }

    /// The sector of the grid that block `lbn` is.
    #[inline]
    pub(super) fn sector(&self, lbn: u64) -> u64 {
        lbn.wrapping_add(self.shift)
    }
}

/// A growing list of pieces in ascending order of blocks.
#[derive(Debug, Default)]
pub(super) struct PieceList(Vec<Piece>);

impl PieceList {
    /// Appends a piece, or lets the last one go on where the new one only continues it.
    pub(super) fn push(&mut self, piece: Piece) {
        match self.0.last() {
            Some(last) if (last.shift, last.grid) == (piece.shift, piece.grid) => {}
            _ => self.0.push(piece),
        }
    }

    /// Ends the last piece at `end`.
    pub(super) fn finish(mut self, end: u64) -> Pieces {
        self.0.push(Piece::new(end, 0, 0));
        Pieces::new(self.0)
    }
}

/// All pieces of a drive. A block's bucket (its high bits) gives the few pieces it may lie in;
/// with some four buckets to a piece that is nearly always one, where a binary search alone
/// would take a step for each doubling of the defect list.
#[derive(Debug)]
pub(super) struct Pieces {
    /// In ascending order of blocks; the last begins at the capacity and holds nothing.
    pieces: Vec<Piece>,
    /// The piece of the first block of each bucket, and one entry behind.
    buckets: Vec<u32>,
    bucket_bits: u32,
}

impl Pieces {
    /// Bounds the table to a quarter of a mebibyte however long the defect list.
    const BUCKETS_MAX: u64 = 1 << 15;
    const BUCKETS_PER_PIECE: u64 = 4;

    fn new(pieces: Vec<Piece>) -> Self {
        let end = pieces.last().map_or(0, |p| p.start);
        let wanted = (pieces.len() as u64 * Self::BUCKETS_PER_PIECE).min(Self::BUCKETS_MAX);
        let bucket_bits = (end / wanted).max(1).ilog2();
        let last = pieces.len() - 2;
        let bucket_count = (end >> bucket_bits) + 1;
        let buckets = (0..=bucket_count)
            .map(|bucket| {
                let first = bucket << bucket_bits;
                let behind = pieces.partition_point(|piece| piece.start <= first);
                (behind - 1).min(last) as u32
            })
            .collect();
        Self {
            pieces,
            buckets,
            bucket_bits,
        }
    }

    /// The piece that `lbn`, which must be below the capacity, lies in, and its end.
    #[inline]
    pub(super) fn find(&self, lbn: u64) -> (&Piece, u64) {
        let bucket = (lbn >> self.bucket_bits) as usize;
        let mut low = self.buckets[bucket] as usize;
        let mut high = self.buckets[bucket + 1] as usize;
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.pieces[middle].start <= lbn {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        (&self.pieces[low], self.pieces[low + 1].start)
    }

    /// The same pieces with some blocks moved: `moved` holds (piece, end) in ascending order,
    /// without overlap.
    pub(super) fn overlaid(self, moved: &[(Piece, Lbn)]) -> Self {
        let end = self.pieces[self.pieces.len() - 1].start;
        let mut all = PieceList::default();
        let mut at = 0;
        let mut next = 0;
        for &(piece, piece_end) in moved {
            self.copy(&mut all, &mut next, at, piece.start);
            all.push(piece);
            at = piece_end.0;
        }
        self.copy(&mut all, &mut next, at, end);
        all.finish(end)
    }

    /// Appends the pieces of `from..to`; `next` is a piece that ends at or before `from`, or
    /// holds it.
    fn copy(&self, all: &mut PieceList, next: &mut usize, from: u64, to: u64) {
        let mut from = from;
        while from < to {
            while self.pieces[*next + 1].start <= from {
                *next += 1;
            }
            all.push(Piece {
                start: from,
                ..self.pieces[*next]
            });
            from = self.pieces[*next + 1].start;
        }
    }

    /// Bytes of the tables.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.pieces.as_slice()) + size_of_val(self.buckets.as_slice())
    }
}
