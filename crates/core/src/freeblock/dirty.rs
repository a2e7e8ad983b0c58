//! Writes of dirty data in a gap.

use super::chart::Run;
use super::search::{Gap, GapTransfer, Track, care_over};
use crate::mechanics::Mechanism;
use crate::request::Op;
use crate::units::{Cylinder, Instant, Lbn, Span};

/// DirtySearch data that the writes of a gap may put on the media.
///
/// What it does: finds the write that is worth most, of consecutive blocks of a range on one track,
/// and others that fit before and behind it. Only whole physical sectors are written, so that
/// nothing has to be read first.
///
/// What a write is worth is the time of the arm that it saves later: the time in which its blocks
/// pass, and a revolution for each range that is left less, or one less for each that is left more.
/// A revolution stands for the positioning that a range takes.
///
/// Origin: ours; lumb01 has no writes in gaps. There is no table of the disk as for background
/// reads ([`Tasks`](super::Tasks)), because a cache holds few ranges. Of several writes that are
/// worth the same, the one with the lowest block number is taken, not one that leaves more room for
/// others.
///
/// Cost: a look at each track of each range, and for each write that is looked for, at those that
/// the arm can reach in the gap.
pub struct DirtySearch<'a> {
    mechanism: &'a Mechanism,
    /// Added to each movement to another cylinder for the foreground request.
    conservatism: Span,
    stretches: Vec<Stretch>,
}

/// DirtySearch blocks on one track without a gap, in whole physical sectors.
struct Stretch {
    /// First and one past the last block of their range.
    range: (Lbn, Lbn),
    track: Track,
    run: Run,
}

impl<'a> DirtySearch<'a> {
    /// The `ranges` (first and one past the last block) within reach of `gap`. They do not overlap.
    /// `conservatism` is added to each movement to another cylinder for the foreground request.
    pub fn new(
        mechanism: &'a Mechanism,
        ranges: impl IntoIterator<Item = (Lbn, Lbn)>,
        gap: &Gap,
        conservatism: Span,
    ) -> Self {
        let layout = &mechanism.layout;
        let physical = layout.physical();
        let mut stretches = Vec::new();
        for range in ranges {
            let (mut at, end) = (physical.end(range.0), physical.first(range.1));
            while at < end {
                let extent = layout.extent(at);
                let sectors = extent.sectors.min(end - at);
                if is_reached(mechanism, gap, extent.cylinder) {
                    let run = Run {
                        first: at,
                        sectors: sectors.0 as u32,
                        start: extent.start,
                        sector_angle: extent.sector_angle,
                    };
                    let track = Track::of(&extent);
                    stretches.push(Stretch { range, track, run });
                }
                at = at + sectors;
            }
        }
        Self {
            mechanism,
            conservatism,
            stretches,
        }
    }

    /// The write that is worth most in `gap`; `None` if there is none. Its gain is in blocks, and
    /// what it is worth in nanoseconds.
    pub fn search(&self, gap: &Gap) -> Option<GapTransfer> {
        self.search_rest(gap, self.conservatism, &[])
    }

    /// The writes of a gap, at most `writes` of them, in order: the one that is worth most, and
    /// what is worth most of the rest before and behind it.
    pub fn fill(&self, gap: &Gap, writes: usize) -> Vec<GapTransfer> {
        let mut taken = Vec::new();
        self.fill_rest(gap, self.conservatism, writes, &mut taken);
        taken.sort_by_key(|find| find.begin);
        taken
    }

    fn fill_rest(&self, gap: &Gap, care: Span, writes: usize, taken: &mut Vec<GapTransfer>) {
        if taken.len() >= writes {
            return;
        }
        let Some(find) = self.search_rest(gap, care, taken) else {
            return;
        };
        taken.push(find);
        let before = Gap {
            to: find.track,
            op: Op::Write,
            until: find.begin,
            ..*gap
        };
        self.fill_rest(&before, Span::ZERO, writes, taken);
        let behind = Gap {
            from: find.position_after(Span::ZERO),
            ..*gap
        };
        self.fill_rest(&behind, care, writes, taken);
    }

    /// The best write of blocks that are not `taken`.
    fn search_rest(&self, gap: &Gap, care: Span, taken: &[GapTransfer]) -> Option<GapTransfer> {
        let mut best: Option<GapTransfer> = None;
        for stretch in &self.stretches {
            let (first, end) = (stretch.run.first, stretch.run.end());
            let overlaps =
                |find: &GapTransfer| find.first < end && first < find.first + find.sectors;
            let times = self.times(gap, care, stretch.track);
            if times.1 <= times.0 || taken.iter().any(overlaps) {
                continue;
            }
            let next = stretch.run.next_sector(self.mechanism, times.0);
            let indices = [Some(0), Some(next).filter(|next| *next > 0)];
            for find in indices
                .into_iter()
                .flatten()
                .filter_map(|index| self.offer(stretch, index, times))
            {
                if best.is_none_or(|best| find.worth > best.worth) {
                    best = Some(find);
                }
            }
        }
        best
    }

    /// When the head is in place on a track, and when it must leave it.
    fn times(&self, gap: &Gap, care: Span, track: Track) -> (Instant, Instant) {
        let moved = |op: Op, from: Track, to: Track| {
            let way = (from.cylinder, to.cylinder);
            (self.mechanism.seek).total(op, way, from.head != to.head)
        };
        let distance = track.cylinder.distance(gap.to.cylinder);
        let away = moved(gap.op, track, gap.to) + care_over(distance, care);
        let arrives = gap.from.since + moved(Op::Write, gap.source(), track);
        (arrives, gap.until.shifted(-away))
    }

    /// The write of the blocks of a stretch from its sector `index` on that pass in `times`, if it
    /// is worth anything.
    fn offer(
        &self,
        stretch: &Stretch,
        index: u64,
        times: (Instant, Instant),
    ) -> Option<GapTransfer> {
        let Stretch { range, track, run } = *stretch;
        let piece = run.passes(self.mechanism, (track, times.0), index, Op::Write);
        let left = times.1.since_or_zero(piece.begin);
        let sectors = piece.sectors_in(left).min(piece.sectors);
        let (first, end) = (piece.first, piece.first + sectors);
        if first == end {
            return None;
        }
        let revolution = self.mechanism.rotation.period();
        let written = piece.after(sectors);
        let passing = written - piece.begin;
        let worth = match (range.0 == first, range.1 == end) {
            (true, true) => passing + revolution,
            (false, false) => passing - revolution,
            _ => passing,
        };
        (worth > Span::ZERO).then_some(GapTransfer {
            first,
            sectors,
            gain: sectors.0,
            worth: worth.as_ns() as u64,
            track,
            begin: piece.begin,
            end: written,
        })
    }
}

/// Whether the arm may have any time on a cylinder.
fn is_reached(mechanism: &Mechanism, gap: &Gap, cylinder: Cylinder) -> bool {
    let min = |distance| mechanism.seek.min(distance);
    let ways = [gap.from.cylinder, gap.to.cylinder].map(|end| min(cylinder.distance(end)));
    gap.until.after(gap.from.since) > ways[0] + ways[1]
}
