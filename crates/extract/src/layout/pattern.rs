//! The pattern of skews that the first tracks of a zone follow.

use super::zone_map::Tracks;

/// Maximum distance of a block in line from its predicted angle, in sectors.
pub(super) const IN_LINE: f64 = 0.25;

/// A track as measured by the angles of its blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Angle at which its first block begins, in sectors.
    pub start: f64,
    pub blocks: u64,
    /// Difference of the measured angle from `start`, in sectors.
    pub off: f64,
}

/// Returns the angle from the start of each track to the start of the next, in sectors.
pub(super) fn jumps(runs: &[Run], sectors: u64) -> Vec<f64> {
    let revolution = sectors as f64;
    let jump = |pair: &[Run]| {
        let jump = pair[1].start - pair[0].start;
        // Rounding must not turn a skew of zero into a revolution.
        (jump + 1.0).rem_euclid(revolution) - 1.0
    };
    runs.windows(2).map(jump).collect()
}

fn same(one: f64, other: f64) -> bool {
    (one - other).abs() < 2.0 * IN_LINE
}

/// Returns the period with which jumps repeat, seen twice; `None` if they are all equal.
pub(super) fn period(jumps: &[f64]) -> Option<usize> {
    (2..=jumps.len() / 2).find(|&period| {
        let repeats = |n: usize| same(jumps[n], jumps[n + period]);
        let varies = jumps[..period].iter().any(|&jump| !same(jump, jumps[0]));
        // Slipped tracks or the reserved front of a zone may cause an exception or two.
        let misses = (0..jumps.len() - period).filter(|&n| !repeats(n)).count();
        let smaller = (1..period).all(|n| !same_by(jumps, n));
        varies && smaller && misses == 0 && jumps.len() > 2 * period
    })
}

fn same_by(jumps: &[f64], period: usize) -> bool {
    (0..jumps.len() - period).all(|n| same(jumps[n], jumps[n + period]))
}

/// Returns the first of the values that are close to the most others, averaged over these.
fn mode(values: &[f64]) -> Option<f64> {
    let close = |value: f64| values.iter().filter(|&&other| same(value, other)).count();
    let max = values.iter().map(|&value| close(value)).max()?;
    let value = values.iter().copied().find(|&value| close(value) == max)?;
    let cluster = values.iter().filter(|&&other| same(value, other));
    let mean = cluster.clone().sum::<f64>() / cluster.count() as f64;
    let whole = mean.round();
    Some(if (mean - whole).abs() < 0.02 {
        whole
    } else {
        mean
    })
}

/// The skews and the phase that the first tracks of a zone follow.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pattern {
    pub tracks: Tracks,
    /// The position of the first block.
    pub position: u64,
    /// Number of tracks that begin where the pattern predicts.
    fits: usize,
}

/// Returns the patterns that explain the most tracks. They differ in which track is the last of its
/// cylinder.
pub(super) fn patterns(
    runs: &[Run],
    sectors: u64,
    surfaces: u32,
    first_cylinder: u32,
) -> Vec<Pattern> {
    let lasts = 0..(surfaces as usize).min(runs.len() - 1).max(1);
    let mut all: Vec<Pattern> = lasts
        .map(|last| Pattern::new(runs, sectors, surfaces, first_cylinder, last))
        .collect();
    let max = all.iter().map(|pattern| pattern.fits).max();
    all.retain(|pattern| Some(pattern.fits) == max);
    all
}

/// Returns the pattern with the largest skew between cylinders.
pub(super) fn likeliest(patterns: &[Pattern]) -> &Pattern {
    let skew = |pattern: &&Pattern| pattern.tracks.cylinder_skew;
    let largest = patterns.iter().max_by(|a, b| skew(a).total_cmp(&skew(b)));
    largest.expect("at least one")
}

impl Pattern {
    /// Fits a pattern in which track `last` is the last one of its cylinder.
    pub fn new(
        runs: &[Run],
        sectors: u64,
        surfaces: u32,
        first_cylinder: u32,
        last: usize,
    ) -> Self {
        let period = surfaces as usize;
        let jumps = jumps(runs, sectors);
        let is_last = |n: usize| n % period == last;
        let front = front(runs, sectors, period, last);
        let before = |n: usize| {
            if n > 0 && is_last(n - 1) { front } else { 0.0 }
        };
        let inside: Vec<f64> = (0..jumps.len())
            .filter(|&n| !is_last(n))
            .map(|n| jumps[n] + before(n))
            .collect();
        let across: Vec<f64> = (0..jumps.len())
            .filter(|&n| is_last(n))
            .map(|n| jumps[n] + before(n) - front)
            .collect();
        let track_skew = mode(&inside).unwrap_or(0.0);
        let mut tracks = Tracks {
            first_cylinder,
            surfaces,
            sectors,
            offset: 0.0,
            track_skew,
            cylinder_skew: mode(&across)
                .unwrap_or(track_skew)
                .rem_euclid(sectors as f64),
            begins_down: false,
            alternates: false,
            rotations: Vec::new(),
        };
        let head = period - 1 - last;
        let revolution = sectors as f64;
        let offset =
            |(n, run): (usize, &Run)| run.start - before(n) - tracks.track_angle((head + n) as u64);
        let zero = offset((0, &runs[0]));
        // Angles are circular, so offsets are taken near the first one.
        let around = |offset: f64| {
            let half = revolution / 2.0;
            zero + (offset - zero + half).rem_euclid(revolution) - half
        };
        let offsets: Vec<f64> = runs
            .iter()
            .enumerate()
            .map(|run| around(offset(run)))
            .collect();
        // Offsets need not be whole sectors.
        let cluster = mode(&offsets).unwrap_or(0.0);
        let near = offsets.iter().filter(|&&offset| same(cluster, offset));
        let fits = near.clone().count();
        let off = runs.iter().map(|run| run.off).sum::<f64>() / runs.len() as f64;
        tracks.offset = (near.sum::<f64>() / fits.max(1) as f64 + off).rem_euclid(revolution);
        let start = (runs[0].start - tracks.track_angle(head as u64)).rem_euclid(revolution);
        let within = start.round() as u64 % sectors;
        Self {
            tracks,
            position: head as u64 * sectors + within,
            fits,
        }
    }
}

/// Returns the number of positions without blocks at the front of each cylinder: the blocks that
/// the first tracks lack, if the last tracks are whole.
fn front(runs: &[Run], sectors: u64, period: usize, last: usize) -> f64 {
    let is_last = |n: usize| n % period == last;
    let short = |n: usize| (sectors - runs[n].blocks) as f64;
    let firsts: Vec<f64> = (1..runs.len())
        .filter(|&n| is_last(n - 1))
        .map(short)
        .collect();
    let lasts: Vec<f64> = (0..runs.len()).filter(|&n| is_last(n)).map(short).collect();
    match (mode(&firsts), mode(&lasts)) {
        (Some(spares), Some(0.0)) if period > 1 => spares,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_repeat_with_the_surfaces() {
        let jumps = [2.0, 2.0, 16.0, 2.0, 2.0, 16.0, 2.0];
        assert_eq!(period(&jumps), Some(3));
        assert_eq!(period(&[2.0; 9]), None);
    }
}
