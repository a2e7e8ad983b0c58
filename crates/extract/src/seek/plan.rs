//! The distances to measure, and the tracks of the pairs for each.

use std::collections::BTreeSet;

use diskarm_core::geometry::Layout;

use crate::clock::Access;
use crate::pairs::Pairs;
use crate::track::Track;
use crate::{Effort, Error};

/// Target half-width of an interval, in nanoseconds or, if larger, as a fraction of the seek time.
pub(super) const TARGET_WIDTH: (f64, f64) = (6e3, 0.0025);

/// Tolerated error of linear interpolation, in the form of [`TARGET_WIDTH`].
const MAX_BEND: (f64, f64) = (7e3, 0.0035);

/// Returns the target half-width of the interval for a seek of `time` nanoseconds.
pub(super) fn target_width(time: f64) -> f64 {
    TARGET_WIDTH.0.max(TARGET_WIDTH.1 * time)
}

/// Maximum number of cylinders for which the paper's distances are used.
const PAPER: u32 = 20_000;

/// Returns the initial distances, up to `last` cylinders (section 5.3).
pub(crate) fn distances(last: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut next = 1;
    while next < last {
        found.push(next);
        next += match next {
            0..10 => 1,
            10..20 => 2,
            20..50 => 5,
            50..100 => 10,
            100..500 => 25,
            far if last > PAPER => 100.max(far / 25),
            _ => 100,
        };
    }
    found.push(last);
    found
}

/// One in this many distances is measured first.
const COARSE: usize = 6;

/// Moves distances spread over the whole curve to the front, in case time runs out.
pub(crate) fn coarse_first(distances: &[u32]) -> Vec<u32> {
    let last = distances.len() - 1;
    let mut order: Vec<usize> = (0..=last).collect();
    order.sort_by_key(|&k| !(k.is_multiple_of(COARSE) || k == last));
    order.into_iter().map(|k| distances[k]).collect()
}

pub(crate) fn refinements(effort: Effort) -> u32 {
    effort.choose([0, 200, 400])
}

/// A point of a curve: distance, time in nanoseconds, and uncertainty of the time.
pub(crate) type Measured = (u32, f64, f64);

/// Returns the middle of the interval with the largest interpolation error, unless that is small.
pub(crate) fn sharpest_bend(points: &[Measured], inconclusive: &BTreeSet<u32>) -> Option<u32> {
    let slope =
        |a: usize, b: usize| (points[b].1 - points[a].1) / f64::from(points[b].0 - points[a].0);
    // The estimated error is half the difference between the slopes inside and outside the
    // interval, times its width: the error if the outside slope continued to a kink in the middle.
    // Outside slopes span at least half the width, because two close points do not suffice.
    let of_interval = |k: usize| {
        let (left, right) = (points[k].0, points[k + 1].0);
        let wide = right - left;
        let before = (0..k).rev().find(|&j| left - points[j].0 >= wide / 2);
        let after = (k + 2..points.len()).find(|&j| points[j].0 - right >= wide / 2);
        let outside = [before.map(|j| slope(j, k)), after.map(|j| slope(k + 1, j))];
        let inside = slope(k, k + 1);
        let turns = outside
            .iter()
            .flatten()
            .map(|outside| (outside - inside).abs());
        let off = turns.fold(0.0, f64::max) * f64::from(wide) / 2.0;
        // If seek times vary, points are less certain than requested and bends are random.
        let excess = |k: usize| (points[k].2 - target_width(points[k].1)).max(0.0);
        let allowed = MAX_BEND.0.max(MAX_BEND.1 * points[k].1) + 3.0 * excess(k).max(excess(k + 1));
        let middle = left + wide / 2;
        let is_wanted = wide > 1 && off > allowed && !inconclusive.contains(&middle);
        is_wanted.then(|| (off / allowed, middle))
    };
    let worst = (0..points.len().saturating_sub(1)).filter_map(of_interval);
    worst.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, d)| d)
}

/// Maximum distance of a track from the requested cylinder, plus one.
const SHIFTS: u32 = 64;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Movement {
    /// Approximate cylinder of the outer end.
    pub outer: u32,
    pub distance: u32,
    pub inward: bool,
}

/// Returns the tracks of the two commands of a pair, both between cylinders `first` and `last`.
/// Both are under the same head if possible, because a head switch would hide a shorter seek.
pub(crate) fn tracks(
    pairs: &Pairs<'_, '_>,
    access: Access,
    movement: Movement,
    (first, last): (u32, u32),
) -> Result<(Track, Track), Error> {
    let Movement {
        outer,
        distance,
        inward,
    } = movement;
    let start = if inward { outer } else { outer + distance };
    let near = (0..SHIFTS).flat_map(|shift| [start.checked_add(shift), start.checked_sub(shift)]);
    let candidates = near.flatten().filter_map(|at| {
        let from = Track::first_in_cylinder(pairs.layout, at)?;
        let head = pairs.head_track(access, &from)?;
        let is_between = |cylinder: &u32| (first..=last).contains(cylinder);
        let target = if inward {
            head.cylinder().checked_add(distance)
        } else {
            head.cylinder().checked_sub(distance)
        };
        let target = target.filter(|target| is_between(target) && is_between(&head.cylinder()))?;
        Some((from, target, head.head()))
    });
    first_pair(pairs.layout, candidates).ok_or_else(|| {
        let reason = format!("no blocks are {distance} cylinders apart near cylinder {outer}");
        Error::Undecided(reason)
    })
}

/// Returns the first pair of tracks under the same head or, if there is none, the first pair.
pub(crate) fn first_pair(
    layout: &Layout,
    candidates: impl Iterator<Item = (Track, u32, u32)>,
) -> Option<(Track, Track)> {
    let mut any = None;
    for (from, cylinder, head) in candidates {
        if let Some(to) = Track::find(layout, cylinder, head) {
            return Some((from, to));
        }
        if any.is_none() {
            any = Track::first_in_cylinder(layout, cylinder).map(|to| (from, to));
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distances_are_those_of_the_paper() {
        let found = distances(2097);
        assert_eq!(found[..12], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14]);
        for (step, from, to) in [(2, 10, 20), (5, 20, 50), (10, 50, 100), (25, 100, 500)] {
            let expected: Vec<u32> = (from..=to).step_by(step).collect();
            let mut in_range = found.clone();
            in_range.retain(|d| (from..=to).contains(d));
            assert_eq!(in_range, expected);
        }
        assert_eq!(found[found.len() - 3..], [1900, 2000, 2097]);
        assert_eq!(distances(7), [1, 2, 3, 4, 5, 6, 7]);
        let far = distances(2_000_000);
        assert!(far.len() < 300, "{}", far.len());
        let is_near = |pair: &[u32]| pair[1] - pair[0] <= 100.max(pair[0] / 25);
        assert!(far.windows(2).all(is_near));
    }

    #[test]
    fn a_bend_is_found_only_if_points_are_certain() {
        // 10 ms, and 1 % more from cylinder 11 on.
        let time = |at: f64| 1e7 * if at > 10.0 { 1.01 } else { 1.0 };
        let point = |at: u32| (at, time(f64::from(at)), target_width(time(f64::from(at))));
        let points: [Measured; 6] = [0, 4, 8, 12, 16, 20].map(point);
        let none = BTreeSet::new();
        assert_eq!(sharpest_bend(&points, &none), Some(10));
        let uncertain = points.map(|(at, time, target_width)| (at, time, 8.0 * target_width));
        assert_eq!(sharpest_bend(&uncertain, &none), None);
    }

    #[test]
    fn an_inconclusive_bend_does_not_hide_others() {
        // Steps of 1 % at cylinder 11, and of 0.8 % at cylinder 51.
        let time = |at: u32| 1e7 * (1.0 + 0.01 * step(at, 11) + 0.008 * step(at, 51));
        fn step(at: u32, from: u32) -> f64 {
            f64::from(u8::from(at >= from))
        }
        let points: Vec<Measured> = (0..=60).step_by(4).map(|at| (at, time(at), 0.0)).collect();
        assert_eq!(sharpest_bend(&points, &BTreeSet::new()), Some(10));
        // A step also bends the adjacent intervals.
        let inconclusive = BTreeSet::from([6, 10, 14]);
        assert_eq!(sharpest_bend(&points, &inconclusive), Some(50));
    }

    #[test]
    fn the_first_distances_span_the_whole_curve() {
        let all = distances(5_000);
        let mut order = coarse_first(&all);
        let first = &order[..all.len() / COARSE];
        assert!(first.is_sorted());
        assert_eq!((first[0], order[all.len().div_ceil(COARSE)]), (1, 5_000));
        order.sort_unstable();
        assert_eq!(order, all);
        assert_eq!(coarse_first(&[1]), [1]);
    }
}
