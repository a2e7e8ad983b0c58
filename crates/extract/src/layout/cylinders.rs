//! Determines which tracks form a cylinder if skews do not reveal that.
//!
//! # Hypothesis
//! A seek to the next cylinder takes longer than a head switch, and a seek takes longer the more
//! cylinders it crosses.
//!
//! # Test vector
//! Pairs of reads ([`crate::mtbrc`]) from each track to the next and, if these all take equally
//! long, from the first track to each of the others.
//!
//! # Decision
//! From track to track, a longer time marks the end of a cylinder; from the first track, a change
//! in the time marks it. In both cases the ends must be equally far apart.
//!
//! # Confidence
//! Exact if the times differ by more than 0.03 ms and by more than three times their scatter.
//! Otherwise the result is `None`.
//!
//! # Cost
//! About 25 pairs per track.

use diskarm_core::geometry::Layout;
use diskarm_core::units::{Lbn, Span};

use crate::clock::Access;
use crate::pairs::{LONG, Pairs};
use crate::rotation::Rotation;
use crate::threshold::Threshold;
use crate::track::Track;
use crate::{Disk, Error};

/// The cylinders of a sequence of tracks in block order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cylinders {
    pub surfaces: usize,
    /// The first track that is the last of its cylinder.
    pub last: usize,
}

/// Times that differ by less than this count as equal, in nanoseconds.
const MIN_DIFFERENCE_NS: f64 = 3e4;
/// Target half-width of the interval of a time in nanoseconds, and the maximum number of pairs.
const PRECISION: (f64, u32) = (8e3, 60);

/// Finds the cylinders of the tracks that begin at these blocks. Only the angles of `layout` need
/// to be valid. Returns `None` if the times do not reveal the cylinders.
pub(super) fn measure(
    disk: &mut Disk<'_>,
    layout: &Layout,
    starts: &[Lbn],
    rotation: &Rotation,
    seed: u64,
) -> Result<Option<Cylinders>, Error> {
    let mut pairs = Pairs::new(disk, layout, rotation, seed)?;
    let track = |at: &Lbn| Track::starting_at(layout, *at);
    let tracks: Vec<Track> = starts.iter().map(track).collect();
    let steps = tracks.windows(2).map(|pair| (&pair[0], &pair[1]));
    if let Some(found) = times(&mut pairs, steps)?.and_then(|times| from_longer(&times)) {
        return Ok(Some(found));
    }
    for pause in [Span::ZERO, LONG] {
        pairs.idle = pause;
        let moves = tracks[1..].iter().map(|to| (&tracks[0], to));
        if let Some(found) = times(&mut pairs, moves)?.and_then(|times| from_changes(&times)) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// A time and its uncertainty, in nanoseconds.
type Time = (f64, f64);

/// Measures the times of movements plus a common overhead; `None` if the buffer serves the reads.
fn times<'t>(
    pairs: &mut Pairs<'_, '_>,
    moves: impl Iterator<Item = (&'t Track, &'t Track)>,
) -> Result<Option<Vec<Time>>, Error> {
    let mut found: Vec<Time> = Vec::new();
    for (from, to) in moves {
        let last = found.last();
        let near = last.map_or_else(Threshold::default, |(last, _)| Threshold::near(*last, 1e5));
        let kinds = (Access::Read, Access::Read);
        let pair = |_: &mut Pairs<'_, '_>, _| Ok((from.clone(), to.clone(), 0.0));
        match pairs.search(kinds, (1, 1), near, PRECISION, pair) {
            Ok(search) => found.push((search.found.median, search.found.uncertainty)),
            Err(Error::Undecided(_)) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(Some(found))
}

fn exceeds(one: Time, other: Time) -> bool {
    one.0 - other.0 > MIN_DIFFERENCE_NS.max(3.0 * (one.1 + other.1))
}

/// Finds cylinders among times from track to track: a longer time ends a cylinder.
fn from_longer(times: &[Time]) -> Option<Cylinders> {
    let min = times.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let is_longer = |&n: &usize| exceeds(times[n], min);
    let ends: Vec<usize> = (0..times.len()).filter(is_longer).collect();
    regular_cylinders(&ends, times.len())
}

/// Finds cylinders among times from the first track to the others: a change starts a cylinder.
fn from_changes(times: &[Time]) -> Option<Cylinders> {
    let differs = |&n: &usize| exceeds(times[n], times[n - 1]) || exceeds(times[n - 1], times[n]);
    // Time n is the time to track n + 1, so a cylinder ends with track n.
    let ends: Vec<usize> = (1..times.len()).filter(differs).collect();
    regular_cylinders(&ends, times.len())
}

/// Returns the cylinders with these last tracks, if all of `count` tracks follow that pattern.
fn regular_cylinders(ends: &[usize], count: usize) -> Option<Cylinders> {
    let [last, second, third, ..] = *ends else {
        return None;
    };
    let surfaces = second - last;
    let is_regular = ends.windows(2).all(|pair| pair[1] - pair[0] == surfaces);
    let is_complete = ends.last()? + surfaces >= count;
    (is_regular && is_complete && last < surfaces && third > second)
        .then_some(Cylinders { surfaces, last })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certain(times: &[f64]) -> Vec<Time> {
        times.iter().map(|time| (time * 1e6, 5e3)).collect()
    }

    fn cylinders(surfaces: usize, last: usize) -> Option<Cylinders> {
        Some(Cylinders { surfaces, last })
    }

    #[test]
    fn cylinders_end_where_a_step_takes_longer() {
        let times = certain(&[1.0, 2.5, 1.0, 1.0, 2.5, 1.0, 1.0, 2.5]);
        assert_eq!(from_longer(&times), cylinders(3, 1));
        assert_eq!(from_longer(&certain(&[1.0; 9])), None);
        let irregular = certain(&[1.0, 2.5, 1.0, 1.0, 2.5, 2.5, 1.0, 2.5]);
        assert_eq!(from_longer(&irregular), None);
    }

    #[test]
    fn cylinders_begin_where_the_time_changes() {
        let times = certain(&[1.0, 1.0, 2.0, 2.0, 2.0, 2.6, 2.6, 2.6, 3.0, 3.0]);
        assert_eq!(from_changes(&times), cylinders(3, 2));
    }
}
