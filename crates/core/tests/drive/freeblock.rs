//! Searches in gaps of random drives, compared with an exhaustive search.

use std::collections::BTreeMap;
use std::sync::Arc;

use diskarm_core::freeblock::{BlockSet, Gap, GapTransfer, SearchLimits, Tasks, Track};
use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::{Mechanism, Position};
use diskarm_core::request::{Op, Priority};
use diskarm_core::units::{Angle, Cylinder, Head, Instant, Lbn, SectorCount, Span};
use proptest::collection::vec;
use proptest::prelude::*;

use super::random::{cases, drive};

/// Maximum difference between times computed in two ways.
const ROUNDING: Span = Span::from_ns(3);

fn key(track: Track) -> (u32, u32) {
    (track.cylinder.0, track.head.0)
}

struct FreeblockCase {
    mechanism: Mechanism,
    wanted: BlockSet,
    /// Number of its blocks on each track.
    left: BTreeMap<(u32, u32), u64>,
    gap: Gap,
    limits: SearchLimits,
    except: Vec<Track>,
}

impl FreeblockCase {
    fn moved(&self, op: Op, from: Track, to: Track, care: Span) -> Span {
        let way = (from.cylinder, to.cylinder);
        let time = self.mechanism.seek.total(op, way, from.head != to.head);
        let is_switched = self.limits.on_switches && from.head != to.head;
        if way.0 == way.1 && !is_switched {
            time
        } else {
            time + care
        }
    }

    fn source(&self) -> Track {
        let Position { cylinder, head, .. } = self.gap.from;
        Track { cylinder, head }
    }

    /// Returns when the head must leave a track to be in time.
    fn leaves(&self, track: Track) -> Instant {
        let way =
            self.moved(self.gap.op, track, self.gap.to, self.limits.leaving) + self.limits.turn;
        self.gap.until.shifted(-way)
    }

    /// Returns the gain of a read that may end `late` after its deadline; `None` if impossible.
    fn gain(&self, first: Lbn, sectors: SectorCount, late: Span) -> Option<u64> {
        let extent = self.mechanism.layout.extent(first);
        let track = Track::from_extent(&extent);
        let is_end = track == self.source() || track == self.gap.to;
        let is_allowed = (self.limits.ends || !is_end) && !self.except.contains(&track);
        if sectors > extent.sectors || sectors > self.limits.max || !is_allowed {
            return None;
        }
        let there =
            self.gap.from.since + self.moved(Op::Read, self.source(), track, self.limits.arriving);
        let begin = there + self.mechanism.rotation.wait(there, extent.start);
        let position = Position {
            cylinder: track.cylinder,
            head: track.head,
            since: there,
        };
        let blocks = (first, first + extent.sectors);
        let (_, piece) = (self.mechanism).piece(true, position, Op::Read, blocks, Instant::START);
        assert_eq!(piece.begin, begin);
        let end = piece
            .after(sectors)
            .max(begin + self.limits.sector * sectors.0);
        let fits = end <= self.leaves(track).shifted(late);
        fits.then(|| self.wanted.count_in(first, first + sectors))
    }

    /// Returns the value of a read with this gain. All cylinders are one group.
    fn worth(&self, first: Lbn, sectors: SectorCount, gain: u64) -> u64 {
        let left = self.left[&key(Track::from_extent(&self.mechanism.layout.extent(first)))];
        let (end, all) = (first.0 + sectors.0, self.wanted.sectors().0);
        // Blocks that are wanted where none is wanted before them on their track.
        let stretches = |is_wanted: &dyn Fn(u64) -> bool| {
            let begins = |at: &u64| {
                let goes_on = || self.mechanism.layout.extent(Lbn(at - 1)).sectors.0 > 1;
                is_wanted(*at) && !(*at > 0 && is_wanted(at - 1) && goes_on())
            };
            (first.0..all.min(end + 1)).filter(begins).count() as u64
        };
        let before = |at| self.wanted.contains(Lbn(at));
        let after = |at| before(at) && !(first.0..end).contains(&at);
        let worth = 1024 * gain + 1024 * gain * gain / left.max(1);
        let (before, after) = (stretches(&before), stretches(&after));
        let worth = (worth + 1024 * 16 * before).saturating_sub(1024 * 16 * after);
        worth.max(gain)
    }

    /// Returns the maximum worth of any read.
    fn max(&self, late: Span) -> u64 {
        let all = self.wanted.sectors().0;
        let reads = (0..all).flat_map(|first| {
            let sizes = (1..=30.min(all - first)).map(SectorCount);
            sizes.filter_map(move |sectors| {
                let gain = self.gain(Lbn(first), sectors, late)?;
                Some(self.worth(Lbn(first), sectors, gain))
            })
        });
        reads.max().unwrap_or(0)
    }

    fn check(&self, found: Option<GapTransfer>) -> Result<(), TestCaseError> {
        let worth = found.map_or(0, |find| find.worth);
        prop_assert!(worth >= self.max(-ROUNDING), "{:?}", found);
        prop_assert!(worth <= self.max(ROUNDING), "{:?}", found);
        let Some(find) = found else {
            return Ok(());
        };
        let gain = self.gain(find.first, find.sectors, ROUNDING);
        prop_assert_eq!(gain, Some(find.gain));
        prop_assert_eq!(worth, self.worth(find.first, find.sectors, find.gain));
        prop_assert_eq!(
            find.track,
            Track::from_extent(&self.mechanism.layout.extent(find.first))
        );
        prop_assert!(self.wanted.contains(find.first));
        prop_assert!(self.wanted.contains(Lbn(find.first.0 + find.sectors.0 - 1)));
        prop_assert!(find.end <= self.leaves(find.track).shifted(ROUNDING));
        Ok(())
    }
}

proptest! {
    #![proptest_config(cases(800))]

    #[test]
    fn no_read_is_worth_more_than_the_one_that_is_found(
        spec in drive(), flags in vec(0..4u8, 1500), places in vec(any::<u32>(), 8),
        length in 0..60_000i64, (ends, is_read) in any::<(bool, bool)>(),
        times in vec(0..1000i64, 4), max in 1..40u64,
    ) {
        let layout = Arc::new(Layout::new(&spec.geometry).expect("a valid layout"));
        let sectors = layout.sectors();
        let mut wanted = BlockSet::none(sectors);
        // A large or a small part of it.
        let bound = (places[0] % 4) as u8;
        for (at, _) in (0..sectors.0).zip(&flags).filter(|(_, flag)| **flag <= bound) {
            wanted.insert(Lbn(at), SectorCount(1));
        }
        let track = |at: &[u32]| Track {
            cylinder: Cylinder(at[0] % layout.cylinders()),
            head: Head(at[1] % layout.surfaces()),
        };
        let (source, to, except) = (track(&places[1..]), track(&places[3..]), track(&places[5..]));
        let since = Instant::from_ns(1_000_000 + u64::from(places[7] % 20_000_000));
        let gap = Gap {
            from: Position { cylinder: source.cylinder, head: source.head, since },
            to,
            op: if is_read { Op::Read } else { Op::Write },
            until: since + Span::from_ns(length * 1000),
        };
        let limits = SearchLimits {
            arriving: Span::from_ns(times[0] * 300),
            leaving: Span::from_ns(times[3] * 300),
            on_switches: places[0] / 4 % 2 == 0,
            turn: Span::from_ns(times[1] * 500),
            sector: Span::from_ns((times[2] - 500).max(0) * 1000),
            max: SectorCount(max),
            ends,
            tracks: u32::MAX,
        };
        let mut tasks = Tasks::new(Arc::clone(&layout));
        tasks.add(wanted.clone(), Priority::Normal);
        let mechanism = Mechanism::new(&spec, layout, Angle::ZERO);
        let except = vec![except];
        let found = tasks.search(&mechanism, &gap, &limits, &except);
        let mut left = BTreeMap::new();
        for at in (0..sectors.0).map(Lbn) {
            let track = key(Track::from_extent(&mechanism.layout.extent(at)));
            *left.entry(track).or_insert(0) += u64::from(wanted.contains(at));
        }
        FreeblockCase { mechanism, wanted, left, gap, limits, except }.check(found)?;
    }
}
