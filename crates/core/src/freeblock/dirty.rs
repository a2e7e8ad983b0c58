//! A search for writes of dirty data in a gap.

use super::gap::{Gap, GapTransfer, Track, margin_over};
use super::track_map::Run;
use crate::mechanics::Mechanism;
use crate::request::Op;
use crate::units::{Cylinder, Instant, Lbn, Span};

/// Dirty data that can be written in a gap.
///
/// Behaviour: finds the most valuable write of consecutive blocks of a range on one track, and
/// others that fit before and after it. Only whole physical sectors are written, so that nothing
/// has to be read first.
///
/// The worth of a write is the arm time that it saves later: the time in which its blocks pass,
/// plus a revolution if it removes a range, or minus a revolution if it splits one. The revolution
/// stands for the time to position the head for a range.
///
/// Origin: ours; lumb01 does not write in gaps. Unlike background reads ([`Tasks`](super::Tasks)),
/// the search needs no table of the disk, because a cache holds few ranges. Among writes of equal
/// worth, it takes the one with the lowest block number, even if another leaves more room.
///
/// Cost: each track of each range is examined once, and the tracks that the arm can reach in the
/// gap are examined again for each write.
pub struct DirtySearch<'a> {
    mechanism: &'a Mechanism,
    /// Time added to each movement to another cylinder for the foreground request.
    conservatism: Span,
    stretches: Vec<Stretch>,
}

/// Consecutive dirty blocks on one track, in whole physical sectors.
struct Stretch {
    /// The first block of the range, and the block after the last.
    range: (Lbn, Lbn),
    track: Track,
    run: Run,
}

impl<'a> DirtySearch<'a> {
    /// Collects the blocks of `ranges` that the arm can reach in `gap`. Ranges, each given by its
    /// first block and its end, must not overlap. `conservatism` is added to each foreground seek.
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
                if is_within_reach(mechanism, gap, extent.cylinder) {
                    let run = Run {
                        first: at,
                        sectors: sectors.0 as u32,
                        start: extent.start,
                        sector_angle: extent.sector_angle,
                    };
                    let track = Track::from_extent(&extent);
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

    /// Returns the most valuable write in `gap`. Its gain is in blocks, and its worth in ns.
    pub fn search(&self, gap: &Gap) -> Option<GapTransfer> {
        self.best_write(gap, self.conservatism, &[])
    }

    /// Returns at most `writes` writes for a gap, in order: the most valuable one, and then the
    /// most valuable ones that fit before and after it.
    pub fn fill(&self, gap: &Gap, writes: usize) -> Vec<GapTransfer> {
        let mut chosen = Vec::new();
        self.fill_gap(gap, self.conservatism, writes, &mut chosen);
        chosen.sort_by_key(|transfer| transfer.begin);
        chosen
    }

    fn fill_gap(&self, gap: &Gap, margin: Span, writes: usize, chosen: &mut Vec<GapTransfer>) {
        if chosen.len() >= writes {
            return;
        }
        let Some(transfer) = self.best_write(gap, margin, chosen) else {
            return;
        };
        chosen.push(transfer);
        let before = Gap {
            to: transfer.track,
            op: Op::Write,
            until: transfer.begin,
            ..*gap
        };
        self.fill_gap(&before, Span::ZERO, writes, chosen);
        let after = Gap {
            from: transfer.position_after(Span::ZERO),
            ..*gap
        };
        self.fill_gap(&after, margin, writes, chosen);
    }

    /// Returns the best write on a stretch that no write in `chosen` overlaps.
    fn best_write(&self, gap: &Gap, margin: Span, chosen: &[GapTransfer]) -> Option<GapTransfer> {
        let mut best: Option<GapTransfer> = None;
        for stretch in &self.stretches {
            let (first, end) = (stretch.run.first, stretch.run.end());
            let overlaps = |transfer: &GapTransfer| {
                transfer.first < end && first < transfer.first + transfer.sectors
            };
            let (arrival, departure) = self.stay(gap, margin, stretch.track);
            if departure <= arrival || chosen.iter().any(overlaps) {
                continue;
            }
            let next = stretch.run.next_sector(self.mechanism, arrival);
            let indices = [Some(0), Some(next).filter(|next| *next > 0)];
            for transfer in indices
                .into_iter()
                .flatten()
                .filter_map(|index| self.write(stretch, index, arrival, departure))
            {
                if best.is_none_or(|best| transfer.worth > best.worth) {
                    best = Some(transfer);
                }
            }
        }
        best
    }

    /// Returns the times at which the head reaches a track and at which it must leave.
    fn stay(&self, gap: &Gap, margin: Span, track: Track) -> (Instant, Instant) {
        let moved = |op: Op, from: Track, to: Track| {
            let path = (from.cylinder, to.cylinder);
            (self.mechanism.seek).total(op, path, from.head != to.head)
        };
        let distance = track.cylinder.distance(gap.to.cylinder);
        let away = moved(gap.op, track, gap.to) + margin_over(distance, margin);
        let arrival = gap.from.since + moved(Op::Write, gap.source(), track);
        (arrival, gap.until.shifted(-away))
    }

    /// Returns the write that starts at sector `index` of a stretch and covers the blocks that pass
    /// during the stay; `None` if it is worth nothing.
    fn write(
        &self,
        stretch: &Stretch,
        index: u64,
        arrival: Instant,
        departure: Instant,
    ) -> Option<GapTransfer> {
        let Stretch { range, track, run } = *stretch;
        let piece = run.pass(self.mechanism, track, arrival, index, Op::Write);
        let left = departure.since_or_zero(piece.begin);
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

/// Returns true if the gap may leave time for a transfer on a cylinder.
fn is_within_reach(mechanism: &Mechanism, gap: &Gap, cylinder: Cylinder) -> bool {
    let min = |distance| mechanism.seek.min(distance);
    let seeks = [gap.from.cylinder, gap.to.cylinder].map(|end| min(cylinder.distance(end)));
    gap.until.after(gap.from.since) > seeks[0] + seeks[1]
}
