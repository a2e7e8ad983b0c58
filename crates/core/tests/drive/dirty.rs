//! Writes in gaps of random drives, compared with an exhaustive search.

use std::sync::Arc;

use diskarm_core::freeblock::{DirtySearch, Gap, GapTransfer, Track};
use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::{Mechanism, Position};
use diskarm_core::request::Op;
use diskarm_core::units::{Angle, Cylinder, Head, Instant, Lbn, SectorCount, Span};
use proptest::collection::vec;
use proptest::prelude::*;

use super::random::{cases, drive};

/// Maximum difference between times computed in two ways.
const ROUNDING: Span = Span::from_ns(3);

struct DirtyCase {
    mechanism: Mechanism,
    ranges: Vec<(Lbn, Lbn)>,
    conservatism: Span,
}

impl DirtyCase {
    fn moved(&self, op: Op, from: Track, to: Track) -> Span {
        let way = (from.cylinder, to.cylinder);
        (self.mechanism.seek).total(op, way, from.head != to.head)
    }

    /// Returns the start and end of a write, if it fits in a gap that the head leaves at most
    /// `late` after its deadline.
    fn times(&self, gap: &Gap, blocks: (Lbn, Lbn), late: Span) -> Option<(Instant, Instant)> {
        let extent = self.mechanism.layout.extent(blocks.0);
        let track = Track::from_extent(&extent);
        let there = gap.from.since + self.moved(Op::Write, gap.source(), track);
        let position = Position {
            cylinder: track.cylinder,
            head: track.head,
            since: there,
        };
        let mut away = self.moved(gap.op, track, gap.to);
        if track.cylinder != gap.to.cylinder {
            away += self.conservatism;
        }
        let (_, piece) = (self.mechanism).piece(true, position, Op::Write, blocks, Instant::START);
        let is_on_track = blocks.1 - blocks.0 <= extent.sectors;
        let fits = piece.end() + away <= gap.until.shifted(late);
        (is_on_track && fits).then_some((piece.begin, piece.end()))
    }

    /// Returns all writes of whole physical sectors of a range.
    fn writes(&self, range: (Lbn, Lbn)) -> impl Iterator<Item = (Lbn, Lbn)> {
        let of = self.mechanism.layout.physical().blocks().0;
        let edges = move |from: u64| (from..=range.1.0).filter(move |at| at % of == 0);
        edges(range.0.0)
            .flat_map(move |first| edges(first + 1).map(move |end| (Lbn(first), Lbn(end))))
    }

    /// Returns the worth of a write of a range, in nanoseconds.
    fn worth(&self, range: (Lbn, Lbn), blocks: (Lbn, Lbn), passing: Span) -> i64 {
        let left = [range.0 < blocks.0, blocks.1 < range.1];
        let fewer = 1 - left.into_iter().filter(|is_left| *is_left).count() as i64;
        passing.as_ns() + fewer * self.mechanism.rotation.period().as_ns()
    }

    /// Returns the maximum worth of any write in a gap.
    fn max(&self, gap: &Gap, late: Span) -> i64 {
        let ranges = self.ranges.iter();
        let all = ranges.flat_map(|range| self.writes(*range).map(|blocks| (*range, blocks)));
        let worths = all.filter_map(|(range, blocks)| {
            let (begin, end) = self.times(gap, blocks, late)?;
            Some(self.worth(range, blocks, end - begin))
        });
        worths.max().unwrap_or(0).max(0)
    }

    /// Checks that a write found on its own fits in the gap, and that its fields are right.
    fn check(&self, gap: &Gap, transfer: &GapTransfer) -> Result<(), TestCaseError> {
        let found = self.times(gap, blocks_of(transfer), ROUNDING);
        prop_assert_eq!(found, Some((transfer.begin, transfer.end)));
        self.check_worth(transfer)
    }

    /// Checks a write that uses the rest of a gap after other writes, the last of which left the
    /// head at the last of `places`. It was planned for an arm that comes from one of them. On the
    /// way over another it may arrive earlier, as the times of random seeks do not grow with the
    /// distance, and then its blocks may pass earlier.
    fn check_after_others(
        &self,
        places: &[Position],
        gap: &Gap,
        transfer: &GapTransfer,
    ) -> Result<(), TestCaseError> {
        let found = self.times(gap, blocks_of(transfer), ROUNDING);
        prop_assert!(found.is_some(), "{:?}", transfer);
        let (begin, end) = found.expect("a range on the way");
        let longer = (end - begin) - (transfer.end - transfer.begin);
        prop_assert!(
            longer.as_ns().abs() <= ROUNDING.as_ns(),
            "{:?}",
            (begin, end, transfer)
        );
        let arrives = |from: &Position| {
            let source = Track {
                cylinder: from.cylinder,
                head: from.head,
            };
            from.since + self.moved(Op::Write, source, transfer.track)
        };
        let is_earlier = places.iter().any(|from| begin < arrives(from));
        prop_assert!(
            begin <= transfer.begin + ROUNDING,
            "{:?}",
            (begin, transfer)
        );
        prop_assert!(
            begin + ROUNDING >= transfer.begin || is_earlier,
            "{:?}",
            (begin, transfer)
        );
        self.check_worth(transfer)
    }

    /// Checks the remaining fields of a write.
    fn check_worth(&self, transfer: &GapTransfer) -> Result<(), TestCaseError> {
        let blocks = blocks_of(transfer);
        let track = Track::from_extent(&self.mechanism.layout.extent(transfer.first));
        prop_assert_eq!((transfer.track, transfer.gain), (track, transfer.sectors.0));
        let range = self
            .ranges
            .iter()
            .find(|range| range.0 <= blocks.0 && blocks.1 <= range.1)
            .expect("it is dirty");
        prop_assert!(
            self.writes(*range).any(|write| write == blocks),
            "{:?}",
            transfer
        );
        let worth = self.worth(*range, blocks, transfer.end - transfer.begin);
        prop_assert_eq!(transfer.worth as i64, worth);
        Ok(())
    }
}

/// First and one past the last block of a write.
fn blocks_of(transfer: &GapTransfer) -> (Lbn, Lbn) {
    (transfer.first, transfer.first + transfer.sectors)
}

/// Ranges that do not overlap: pauses and lengths, in turn.
fn ranges(lengths: &[u64], sectors: u64) -> Vec<(Lbn, Lbn)> {
    let (mut at, mut all) = (0, Vec::new());
    for pair in lengths.chunks_exact(2) {
        let first = at + pair[0];
        at = first + pair[1];
        if at > sectors {
            break;
        }
        all.push((Lbn(first), Lbn(at)));
    }
    all
}

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn no_write_is_worth_more_than_the_one_that_is_found(
        spec in drive(), lengths in vec(1..30u64, 60), places in vec(any::<u32>(), 5),
        length in 0..60_000i64, is_read in any::<bool>(), care in 0..300i64, bits in 0..3u32,
    ) {
        let mut spec = spec;
        let of = 1 << bits;
        spec.geometry.physical_sector = SectorCount(of);
        spec.geometry.grown_defects.count = 0;
        spec.geometry.sectors.0 *= of;
        for zone in &mut spec.geometry.zones {
            zone.sectors_per_track *= of as u32;
            zone.slips.clear();
        }
        let layout = Arc::new(Layout::new(&spec.geometry).expect("a valid layout"));
        let since = Instant::from_ns(1_000_000 + u64::from(places[0] % 20_000_000));
        let track = |at: &[u32]| Track {
            cylinder: Cylinder(at[0] % layout.cylinders()),
            head: Head(at[1] % layout.surfaces()),
        };
        let (source, to) = (track(&places[1..]), track(&places[3..]));
        let gap = Gap {
            from: Position { cylinder: source.cylinder, head: source.head, since },
            to,
            op: if is_read { Op::Read } else { Op::Write },
            until: since + Span::from_ns(length * 1000),
        };
        let ranges = ranges(&lengths, layout.sectors().0);
        let case = DirtyCase {
            mechanism: Mechanism::new(&spec, layout, Angle::ZERO),
            ranges,
            conservatism: Span::from_ns(care * 1000),
        };
        let dirty = || {
            let ranges = case.ranges.clone();
            DirtySearch::new(&case.mechanism, ranges, &gap, case.conservatism)
        };
        let found = dirty().search(&gap);
        let worth = found.map_or(0, |transfer| transfer.worth as i64);
        prop_assert!(worth >= case.max(&gap, -ROUNDING), "{:?}", found);
        prop_assert!(worth <= case.max(&gap, ROUNDING), "{:?}", found);
        if let Some(transfer) = found {
            case.check(&gap, &transfer)?;
        }
        // Several follow one another, each once, and the best alone is one of them.
        let all = dirty().fill(&gap, 4);
        prop_assert!(all.len() <= 4);
        prop_assert!(found.map_or(all.is_empty(), |best| all.contains(&best)));
        let (mut rest, mut places) = (gap, vec![gap.from]);
        for (transfer, next) in all.iter().zip(all.iter().skip(1).map(Some).chain([None])) {
            let (to, op, until) = match next {
                Some(next) => (next.track, Op::Write, next.begin),
                None => (gap.to, gap.op, gap.until),
            };
            let case = DirtyCase {
                conservatism: if next.is_some() { Span::ZERO } else { case.conservatism },
                mechanism: case.mechanism.clone(),
                ranges: case.ranges.clone(),
            };
            rest = Gap { to, op, until, ..rest };
            case.check_after_others(&places, &rest, transfer)?;
            rest.from = transfer.position_after(Span::ZERO);
            places.push(rest.from);
        }
        let written = all.iter().map(blocks_of);
        let mut written: Vec<_> = written.collect();
        written.sort_unstable();
        prop_assert!(written.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    }
}
