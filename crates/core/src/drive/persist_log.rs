//! The instants at which written data reach the media.

use std::collections::VecDeque;

use super::ranges::{Blocks, Writes};
use crate::device::Persisted;
use crate::mechanics::Piece;
use crate::units::{Instant, SectorCount, Span};

/// The runs of writes that have begun and are not yet reported as persisted.
#[derive(Clone, Debug, Default)]
pub(super) struct PersistLog {
    /// In order of writing; simultaneous runs of the same blocks are adjacent.
    runs: VecDeque<Run>,
    /// Older writes replaced by the next runs: their blocks are persisted together with these.
    pub replaced: Writes,
}

/// A run and the blocks of it that the host wrote: the rest of a physical sector is written with
/// them.
#[derive(Clone, Debug)]
struct Run {
    piece: Piece,
    /// First and one past the last block.
    written: Blocks,
    times: u64,
    /// Number of sectors of the piece already reported.
    reported: SectorCount,
}

impl PersistLog {
    /// Adds a run that is written after all earlier ones; `written` are the blocks that the host
    /// wrote. A revolution takes `period`.
    pub fn add(&mut self, run: Piece, written: Blocks, period: Span) {
        for piece in parts(run, period) {
            push(&mut self.runs, piece, &self.replaced);
            self.runs.push_back(Run::new(piece, (written, 1)));
        }
    }

    /// Adds a run of blocks of several writes, each of which is reported.
    pub fn add_all(&mut self, run: Piece, writes: &Writes, period: Span) {
        for piece in parts(run, period) {
            push(&mut self.runs, piece, writes);
        }
    }

    /// Removes the most recently added run, which has not begun.
    pub fn retract(&mut self, run: Piece, period: Span) {
        let left = self.runs.len() - parts(run, period).count();
        self.runs.truncate(left);
    }

    /// Returns and marks as reported the runs that have reached the media by `now`.
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

/// Adds a run for each range of blocks with the same number of writes.
fn push(runs: &mut VecDeque<Run>, piece: Piece, writes: &Writes) {
    let written = writes.runs_in((piece.first, piece.end_lbn()));
    runs.extend(written.map(|written| Run::new(piece, written)));
}

/// Splits a run into parts in the order in which they pass the head.
fn parts(run: Piece, period: Span) -> impl Iterator<Item = Piece> {
    let parts = run.in_passing_order(period).into_iter().flatten();
    parts.filter(|part| part.sectors > SectorCount(0))
}
