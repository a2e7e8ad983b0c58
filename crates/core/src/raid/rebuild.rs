//! The rebuilding of what a failed member had, on a spare.

use crate::units::{Instant, Lbn, Span};

/// How far a rebuild is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The rows that the spare has.
    pub rows: u64,
    /// Of so many.
    pub of: u64,
    /// When it began: with the first request.
    pub began: Option<Instant>,
    /// How many rows there were when a request last completed, and when the last of them ended.
    pub under_load: (u64, Option<Instant>),
    /// When it ended, whether or not it has all rows.
    pub ended: Option<Instant>,
    /// The block of the array that could not be read, or the first of its row if that was parity:
    /// the rebuild has stopped there.
    pub stopped: Option<Lbn>,
}

impl Progress {
    /// From the beginning until all rows are rebuilt, at the rate until a request last completed;
    /// `None` if no row was rebuilt by then.
    pub fn projected(&self) -> Option<Span> {
        let (rows, last) = self.under_load;
        let took = (last? - self.began?).as_ns() as f64;
        let all = took * self.of as f64 / rows as f64;
        Some(Span::from_ns(all.round() as i64))
    }
}

/// A rebuild, row by row.
pub(super) struct Rebuild {
    /// The share of the time in which it is under way, above 0 and at most 1.
    share: f64,
    pub progress: Progress,
    /// When it goes on with the next row; `None` while it is under way.
    pub next: Option<Instant>,
    /// When the row under way was begun; `None` before the first.
    begun: Option<Instant>,
    /// When the last row so far ended.
    last: Option<Instant>,
}

impl Rebuild {
    /// Of `of` rows, which has not begun.
    pub fn new(share: f64, of: u64) -> Self {
        assert!(share > 0.0 && share <= 1.0, "a share of {share}");
        Self {
            share,
            progress: Progress {
                rows: 0,
                of,
                began: None,
                under_load: (0, None),
                ended: None,
                stopped: None,
            },
            next: None,
            begun: None,
            last: None,
        }
    }

    /// Begins at the first request.
    #[inline]
    pub fn wake(&mut self, now: Instant) {
        if self.begun.is_none() {
            (self.next, self.begun) = (Some(now), Some(now));
            self.progress.began = Some(now);
        }
    }

    /// Notes that a request has completed.
    pub fn served(&mut self) {
        self.progress.under_load = (self.progress.rows, self.last);
    }

    /// Begins a row.
    pub fn begin(&mut self, now: Instant) {
        (self.next, self.begun) = (None, Some(now));
    }

    /// Notes that a block of the row could not be read, or the row not be written.
    pub fn fail(&mut self, block: Lbn) {
        let before = self.progress.stopped;
        self.progress.stopped = Some(before.map_or(block, |before| before.min(block)));
    }

    /// Ends the row, and pauses such that the share of the time is kept. Whether the spare has it:
    /// if not, the rebuild ends.
    pub fn end_row(&mut self, now: Instant) -> bool {
        if self.progress.stopped.is_some() {
            self.progress.ended = Some(now);
            return false;
        }
        self.progress.rows += 1;
        self.last = Some(now);
        if self.progress.rows == self.progress.of {
            self.progress.ended = Some(now);
            return true;
        }
        let begun = self.begun.unwrap_or(now);
        let took = (now - begun).as_ns() as f64;
        let pause = took * (1.0 / self.share - 1.0);
        self.next = Some(now + Span::from_ns(pause.round() as i64));
        true
    }
}
