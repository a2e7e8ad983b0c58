//! The minimum time between request completions, MTBRC(X, Y) (worthington96 sections 5.1 and A.1).
//!
//! # Hypothesis
//! After a request X, a request Y catches its first sector in the same revolution if that sector is
//! far enough away, and otherwise a revolution later. At the minimum sufficient distance, the time
//! between their completions consists only of host delay, overheads, movements and transfers.
//!
//! # Test vector
//! Pairs X, Y on three cylinders in each of the first, the middle and the last zone. X is near the
//! start of a track, so that read-ahead does not leave the track. Reads use force unit access.
//!
//! The paper increases the distance by one sector at a time and counts how often Y misses at each.
//! Here the time at which Y is sent is recorded, so each pair, caught or missed, bounds the *lead*
//! from that time until the sector of Y passes. If no sector is at the right distance, the host
//! pauses for less than a sector. This takes fewer pairs, and does not round to whole sectors.
//!
//! # Decision
//! At the 50th percentile of the lead, half of the pairs catch, and at the 95th, 95 % do. The time
//! between completions is the lead plus the mean difference between that time and the lead over all
//! pairs, which includes the mean host delay. The distance is found in the same way. The 50th
//! percentile is the mean of the three zones, and the 95th is the maximum.
//!
//! # Confidence
//! Half the interval between the leads that missed and those that caught or, if these overlap, half
//! the 95 % interval of a logistic fit.
//!
//! # Cost
//! About 25 pairs in each zone.

use diskarm_core::units::Span;
use serde::{Deserialize, Serialize};

use crate::clock::Access;
use crate::pairs::{Pairs, Search};
use crate::threshold::{Threshold, span};
use crate::track::Track;
use crate::{Disk, Effort, Error, Estimate, Setup, idle};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Accesses of X and Y.
    pub accesses: (Access, Access),
    pub sectors: (u16, u16),
    pub to: To,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    SameTrack,
    OtherTrack,
    /// The given number of cylinders inward, under the same head.
    Cylinders(u32),
}

impl Kind {
    pub fn one_sector(accesses: (Access, Access), to: To) -> Self {
        Self {
            accesses,
            sectors: (1, 1),
            to,
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (x, y) = self.accesses;
        let (x_sectors, y_sectors) = self.sectors;
        write!(f, "a {x_sectors}-sector {x} and a {y_sectors}-sector {y} ")?;
        match self.to {
            To::SameTrack => f.write_str("on the same track"),
            To::OtherTrack => f.write_str("on another track of the cylinder"),
            To::Cylinders(count) => write!(f, "{count} cylinders inward"),
        }
    }
}

/// A minimum time between request completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mtbrc {
    pub median: Estimate,
    /// 95th percentile of the time.
    pub upper: Span,
    /// 50th and 95th percentiles of the time from the pass of X's first sector to that of Y's.
    pub distances: (Span, Span),
    /// Mean host delay, from the end of X until Y is sent.
    pub host: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// Time from the pass of X's first sector to the first pass of Y's after Y is sent.
    pub distance: Span,
    /// Time from the end of X to the end of Y, without the pause after X.
    pub between: Span,
    /// True if Y caught that pass.
    pub caught: bool,
}

/// Returns MTBRC(X, Y) and all pairs. Destroys data in random blocks if X or Y writes.
pub fn measure(
    disk: &mut Disk<'_>,
    setup: &Setup<'_>,
    kind: Kind,
) -> Result<(Mtbrc, Vec<Pair>), Error> {
    let mut pairs = setup.pairs(disk)?;
    let zones: Vec<Zone> = (0..3)
        .map(|zone| in_zone(&mut pairs, kind, zone, setup.effort))
        .collect::<Result<_, _>>()?;
    let period = pairs.clock.period();
    let trials = zones.iter().flat_map(|zone| &zone.search.trials);
    let all = trials.map(|trial| {
        let missed = trial.bounds.1 - trial.lead;
        Pair {
            distance: span(trial.distance),
            between: span(trial.between + missed),
            caught: missed.abs() < period / 2.0,
        }
    });
    let mean = |of: &dyn Fn(&Zone) -> f64| zones.iter().map(of).sum::<f64>() / 3.0;
    let max = |of: &dyn Fn(&Zone) -> f64| zones.iter().map(of).fold(f64::MIN, f64::max);
    let found = Mtbrc {
        median: Estimate {
            value: span(mean(&|zone| zone.search.found.median + zone.to_end)),
            uncertainty: span(mean(&|zone| zone.search.found.uncertainty)),
            samples: zones.iter().map(|zone| zone.search.found.samples).sum(),
        },
        upper: span(max(&|zone| zone.search.found.upper + zone.to_end)),
        distances: (
            span(mean(&|zone| zone.search.found.median + zone.to_pass)),
            span(max(&|zone| zone.search.found.upper + zone.to_pass)),
        ),
        host: span(mean(&|zone| zone.host)),
    };
    Ok((found, all.collect()))
}

/// Measures the threshold of leads, averaged over three zones.
pub(crate) fn threshold(
    pairs: &mut Pairs<'_, '_>,
    kind: Kind,
    effort: Effort,
) -> Result<Estimate, Error> {
    let (mut sum, mut uncertainty, mut samples) = (0.0, 0.0, 0);
    for zone in 0..3 {
        let found = in_zone(pairs, kind, zone, effort)?.search.found;
        sum += found.median / 3.0;
        uncertainty += found.uncertainty / 3.0;
        samples += found.samples;
    }
    Ok(Estimate {
        value: span(sum),
        uncertainty: span(uncertainty),
        samples,
    })
}

/// Returns the target half-width of the lead interval in nanoseconds, and the maximum pair count.
pub(crate) fn precision(effort: Effort) -> (f64, u32) {
    effort.choose([(5e3, 60), (3e3, 200), (1e3, 600)])
}

/// The result for a zone. Times are in nanoseconds.
pub(crate) struct Zone {
    pub search: Search,
    host: f64,
    /// Mean time between completions and mean distance, each minus the lead.
    to_end: f64,
    to_pass: f64,
}

pub(crate) fn in_zone(
    pairs: &mut Pairs<'_, '_>,
    kind: Kind,
    zone: usize,
    effort: Effort,
) -> Result<Zone, Error> {
    let place = idle::zones(pairs.layout)[zone].clone();
    let mut routes = Vec::new();
    for _ in 0..3 {
        routes.push(route(pairs, kind, &place)?);
    }
    let (target_width, max) = precision(effort);
    let start = Threshold::default();
    let search = pairs.search(
        kind.accesses,
        kind.sectors,
        start,
        (target_width, max),
        |_, k| {
            let (from, to) = routes[k as usize % 3].clone();
            Ok((from, to, 0.0))
        },
    )?;
    let count = search.trials.len() as f64;
    let mean = |of: &dyn Fn(&crate::pairs::Trial) -> f64| {
        search.trials.iter().map(of).sum::<f64>() / count
    };
    Ok(Zone {
        host: mean(&|trial| trial.host),
        to_end: mean(&|trial| trial.between - trial.lead),
        to_pass: mean(&|trial| trial.distance - trial.lead),
        search,
    })
}

fn route(pairs: &mut Pairs<'_, '_>, kind: Kind, place: &Track) -> Result<(Track, Track), Error> {
    let mut last = None;
    for _ in 0..20 {
        let from = pairs.equivalent.next(pairs.layout, place);
        // The position of the head when Y arrives.
        let Some(head) = pairs.head_track(kind.accesses.0, &from) else {
            continue;
        };
        let to = match kind.to {
            To::SameTrack => Some(head.clone()),
            To::OtherTrack => (0..pairs.layout.surfaces())
                .filter(|other| *other != head.head())
                .find_map(|other| Track::find(pairs.layout, head.cylinder(), other)),
            To::Cylinders(count) => Track::find(pairs.layout, head.cylinder() + count, head.head()),
        };
        let Some(to) = to else { continue };
        let is_whole = from.is_whole() && to.is_whole();
        last = Some((from, to));
        if is_whole {
            break;
        }
    }
    last.ok_or_else(|| Error::Undecided(format!("the disk has no tracks for {kind}")))
}
