//! When what a drive writes reaches the media.

use std::collections::VecDeque;

use super::overwrites::Writes;
use super::ranges::Blocks;
use crate::device::Persisted;
use crate::mechanics::Piece;
use crate::units::{Instant, SectorCount, Span};

/// The runs of writes that have begun, until they are reported to be on the media.
#[derive(Clone, Debug, Default)]
pub(super) struct Landings {
    /// In the order in which they get there; runs of the same blocks at the same time follow one
    /// another.
    runs: VecDeque<Run>,
    /// Older writes, whose blocks get there with those of the next runs: these replace them.
    pub replaced: Writes,
}

/// A run, and what of it somebody wrote: the rest of a physical sector goes with it.
#[derive(Clone, Debug)]
struct Run {
    piece: Piece,
    /// First and one past the last block.
    written: Blocks,
    times: u64,
    /// How many sectors of the piece have been reported.
    reported: SectorCount,
}

impl Landings {
    /// Adds a run that is written when all before have been, with the blocks of it that somebody
    /// `written`; a revolution takes `period`.
    pub fn add(&mut self, run: Piece, written: Blocks, period: Span) {
        for piece in parts(run, period) {
            push(&mut self.runs, piece, &self.replaced);
            self.runs.push_back(Run::new(piece, (written, 1)));
        }
    }

    /// Adds a run of blocks of several writes, each of which counts.
    pub fn add_all(&mut self, run: Piece, writes: &Writes, period: Span) {
        for piece in parts(run, period) {
            push(&mut self.runs, piece, writes);
        }
    }

    /// Forgets the run added last, which has not begun.
    pub fn retract(&mut self, run: Piece, period: Span) {
        let left = self.runs.len() - parts(run, period).count();
        self.runs.truncate(left);
    }

    /// What has reached the media by `now` and has not been reported.
    pub fn by(&mut self, now: Instant) -> Vec<Persisted> {
        let mut persisted = Vec::new();
        let mut over = 0;
        for run in &mut self.runs {
            let (piece, done) = (run.piece, run.piece.done(now));
            if done == SectorCount(0) {
                break;
            }
            let first = (piece.first + run.reported).max(run.written.0);
            let end = (piece.first + done).min(run.written.1);
            if first < end {
                let of = Persisted {
                    first,
                    sectors: end - first,
                };
                persisted.extend((0..run.times).map(|_| of));
            }
            run.reported = done;
            over += usize::from(done == piece.sectors);
        }
        self.runs.drain(..over);
        persisted
    }
}

impl Run {
    fn new(piece: Piece, (written, times): (Blocks, u64)) -> Self {
        Self {
            piece,
            written,
            times,
            reported: SectorCount(0),
        }
    }
}

/// Adds a run for each of those blocks of it that were written equally often.
fn push(runs: &mut VecDeque<Run>, piece: Piece, writes: &Writes) {
    let written = writes.runs_in((piece.first, piece.end_lbn()));
    runs.extend(written.map(|written| Run::new(piece, written)));
}

/// A run in the order in which its blocks pass.
fn parts(run: Piece, period: Span) -> impl Iterator<Item = Piece> {
    let parts = run.in_passing_order(period).into_iter().flatten();
    parts.filter(|part| part.sectors > SectorCount(0))
}
