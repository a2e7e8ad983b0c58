//! The arithmetic that applies to each block: pieces of LBN space, found through buckets.

/// A run of blocks counted by one grid: block `b` is sector `b + shift` of `grid` (wrapping).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) shift: u64,
    pub(super) grid: u32,
    /// Sectors by which earlier slips rotated its tracks.
    pub(super) turned: u32,
}

impl Piece {
    /// Blocks `start..end`, the first of which is sector `x` of `grid`, on tracks rotated by
    /// `turned` sectors.
    pub(super) fn new((start, end): (u64, u64), x: u64, grid: u32, turned: u32) -> Self {
        Self {
            start,
            end,
            shift: x.wrapping_sub(start),
            grid,
            turned,
        }
    }

    /// Whether the same arithmetic applies to `next`, which begins where this piece ends.
    fn is_continued_by(&self, next: &Self) -> bool {
        (self.shift, self.grid, self.turned) == (next.shift, next.grid, next.turned)
    }

    /// The grid sector of block `lbn`.
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
            Some(last) if last.is_continued_by(&piece) => {
                last.end = piece.end;
            }
            _ => self.0.push(piece),
        }
    }

    /// All pieces, at least one.
    pub(super) fn finish(self) -> Pieces {
        Pieces::new(self.0)
    }
}

/// All pieces of a drive. A block's bucket (its high bits) gives the few pieces that may contain
/// it; with about four buckets per piece that is nearly always one, where a binary search would
/// take a step per doubling of the defect list.
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

    /// The piece that contains `lbn`, which must be below the capacity.
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

    /// The same pieces with some blocks moved; `moved` is in ascending order, without overlap.
    pub(super) fn overlaid(self, moved: &[Piece]) -> Self {
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

    /// Appends the pieces of `from..to`; no piece before `next` contains any of them.
    fn copy(&self, all: &mut PieceList, next: &mut usize, from: u64, to: u64) {
        let mut from = from;
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

    /// Bytes of the tables.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.pieces.as_slice()) + size_of_val(self.buckets.as_slice())
    }
}
