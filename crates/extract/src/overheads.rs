//! Overheads of requests served from the media (worthington96 sections 5.4, 5.6 and A.2).
//!
//! # Hypothesis
//! A request takes a command overhead, which depends on its access and on the previous command,
//! then positioning, the media transfer, and a completion overhead. The data of a write are
//! transferred over the bus while the arm moves. The media wait for the first sectors, and perhaps
//! for a minimum delay. If the previous command was also a write, data may arrive even later
//! (worthington94 table A.4, the extra disconnect).
//!
//! # Test vector
//! Pairs of requests on the same track, on different tracks and on different cylinders
//! ([`crate::mtbrc`]): reads and writes in all four orders, and writes of increasing size.
//!
//! # Decision
//! Let `A` be the time from the sending of a request until the arm may move, and `C` the time from
//! the end of the media transfer to the completion. The angle of the platter is known only from
//! completions of reads, so the lead at which a request just catches its sector includes their `C`:
//!
//! * a read on one track: `A + C`;
//! * a write of `n` sectors on one track: `A + C + D(n)`, where `D(n)` is the bus time of the
//!   sectors that the media wait for, plus a minimum delay if they wait for all;
//! * a write on another cylinder: `A + C`, the seek, and settling;
//! * how much longer a write takes than a read from the end of its last sector to completion: the
//!   difference between their `C`.
//!
//! Only these sums are observable. As in the paper, the smaller of the completion overheads of
//! reads and writes is set to zero ([`crate::timing`]).
//!
//! # Confidence
//! Half the interval of each lead, about 0.003 ms.
//!
//! # Cost
//! About 150 pairs for reads and 1000 for writes, plus the pairs of the module `onward`.

mod onward;
mod wait;

use diskarm_core::units::Span;
use serde::{Deserialize, Serialize};

use crate::clock::Access;
use crate::mtbrc::{self, Kind, To};
use crate::pairs::Pairs;
use crate::threshold::{Threshold, span};
use crate::track::Track;
use crate::{Disk, Error, Estimate, Setup, idle};

pub use wait::{Undetermined, Wait};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reads {
    /// Lead of a read on the track of the previous read.
    pub after_read: Estimate,
    /// Extra lead on another track of the cylinder.
    pub head_switch: Estimate,
    /// Shortest gap between two tracks of a cylinder that a read crosses without losing a
    /// revolution, if shorter than the head switch. It bounds the head switch without settling.
    #[serde(default)]
    pub goes_on: Option<Span>,
}

/// Overheads of writes, and of reads after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writes {
    /// Lead of a read on the track of the previous write.
    pub read_after_write: Estimate,
    /// Leads of a one-sector write, after a read and after a write.
    pub leads: [Estimate; 2],
    /// Lead on another track of the cylinder, after a write.
    pub other_track: Estimate,
    /// Leads on a distant cylinder after a read and a write, minus the extra lead of a read there.
    pub seeking: [Estimate; 2],
    /// Completion overhead minus that of reads, after a read and after a write. May be negative.
    pub later: [Estimate; 2],
    /// The wait of the media for the data of a write.
    pub wait: Wait,
    /// Lead of a write that continues the previous one.
    pub in_sequence: Estimate,
    /// Shortest gap between two tracks of a cylinder that a write crosses without losing a
    /// revolution, if there is one. It bounds the head switch with settling for writes.
    #[serde(default)]
    pub goes_on: Option<Span>,
}

/// The previous accesses, in the order of the arrays that hold a value for each.
const PREVIOUS: [Access; 2] = [Access::Read, Access::Write];
/// Leads closer than this are treated as equal, in nanoseconds.
const MIN_DIFFERENCE_NS: f64 = 1e4;

/// Measures the overheads of reads, using only reads.
pub fn measure(disk: &mut Disk<'_>, setup: &Setup<'_>) -> Result<Reads, Error> {
    let mut leads = Leads::new(disk, setup)?;
    let both = (Access::Read, Access::Read);
    let still = leads.lead(both, 1, To::SameTrack)?;
    let other = match setup.layout.surfaces() {
        1 => still,
        _ => leads.lead(both, 1, To::OtherTrack)?,
    };
    let head_switch = other - still;
    let longest = head_switch.value + head_switch.uncertainty;
    Ok(Reads {
        after_read: still,
        head_switch,
        goes_on: leads.shortest_pause(Access::Read, still, Some(longest))?,
    })
}

/// Measures the overheads of writes. Destroys data in random blocks.
pub fn measure_writes(disk: &mut Disk<'_>, setup: &Setup<'_>) -> Result<Writes, Error> {
    let mut leads = Leads::new(disk, setup)?;
    let read_after_write = leads.lead((Access::Write, Access::Read), 1, To::SameTrack)?;
    let (mut still, mut seeking) = ([read_after_write; 2], [read_after_write; 2]);
    let other_track = match setup.layout.surfaces() {
        1 => None,
        _ => Some(leads.lead((Access::Write, Access::Write), 1, To::OtherTrack)?),
    };
    let divisor = leads.steadiest_divisor()?;
    for (k, before) in PREVIOUS.into_iter().enumerate() {
        still[k] = leads.lead((before, Access::Write), 1, To::SameTrack)?;
        seeking[k] = leads.seeking(before, divisor)?;
    }
    let wait = leads.wait()?;
    let clock = &leads.pairs.clock;
    let later = PREVIOUS.map(|before| clock.write_delay_estimate(before).unwrap_or_default());
    Ok(Writes {
        read_after_write,
        leads: still,
        other_track: other_track.unwrap_or(still[1]),
        seeking,
        later,
        wait,
        in_sequence: leads.in_sequence()?,
        goes_on: leads.shortest_pause(Access::Write, still[1], None)?,
    })
}

struct Leads<'a, 'd> {
    pairs: Pairs<'a, 'd>,
    setup: Setup<'a>,
}

impl<'a, 'd> Leads<'a, 'd> {
    fn new(disk: &'a mut Disk<'d>, setup: &Setup<'a>) -> Result<Self, Error> {
        Ok(Self {
            pairs: setup.pairs(disk)?,
            setup: *setup,
        })
    }

    /// Measures the lead of pairs, averaged over three zones.
    fn lead(&mut self, pair: (Access, Access), sectors: u16, to: To) -> Result<Estimate, Error> {
        let kind = Kind {
            accesses: pair,
            sectors: (1, sectors),
            to,
        };
        mtbrc::threshold(&mut self.pairs, kind, self.setup.effort)
    }

    /// Measures the lead of a write on another cylinder, minus the extra lead of a read there.
    fn seeking(&mut self, before: Access, divisor: u32) -> Result<Estimate, Error> {
        let write = self.far_lead((before, Access::Write), divisor)?;
        let read = self.far_lead((Access::Read, Access::Read), divisor)?;
        let still = self.lead((Access::Read, Access::Read), 1, To::SameTrack)?;
        Ok(write - (read - still))
    }

    /// Chooses the divisor of the stroke for which seeks before writes vary least.
    fn steadiest_divisor(&mut self) -> Result<u32, Error> {
        let mut best: Option<(Span, u32)> = None;
        for divisor in [3, 8, 30] {
            let writes = (Access::Write, Access::Write);
            let found = self.far_lead(writes, divisor)?.uncertainty;
            if best.is_none_or(|(min, _)| found < min) {
                best = Some((found, divisor));
            }
            if found < span(MIN_DIFFERENCE_NS) {
                break;
            }
        }
        Ok(best.map_or(3, |(_, divisor)| divisor))
    }

    /// Measures the lead across part of the stroke from the middle zone, averaging both directions.
    fn far_lead(&mut self, accesses: (Access, Access), divisor: u32) -> Result<Estimate, Error> {
        let layout = self.setup.layout;
        let last = layout.cylinders() - 1;
        let near = |cylinder: u32| {
            let inward = (cylinder.min(last)..=last).take(64);
            let outward = (0..cylinder.min(last)).rev().take(64);
            let mut cylinders = inward.chain(outward);
            cylinders
                .find_map(|at| Track::first_in_cylinder(layout, at))
                .ok_or_else(|| Error::Undecided(format!("no blocks near cylinder {cylinder}")))
        };
        let middle = idle::zones(layout)[1].cylinder();
        let distance = layout.cylinders() / divisor;
        let ends = [middle + distance, middle.saturating_sub(distance)];
        let (target_width, max) = mtbrc::precision(self.setup.effort);
        let [inward, outward] = ends.map(|there| -> Result<Estimate, Error> {
            let (from, to) = (near(middle)?, near(there)?);
            let route = |_: &mut Pairs<'_, '_>, _| Ok((from.clone(), to.clone(), 0.0));
            let start = Threshold::default();
            let half = (target_width, max / 2);
            let search = self.pairs.search(accesses, (1, 1), start, half, route)?;
            Ok(search.found.estimate())
        });
        Ok(mean(inward?, outward?))
    }

    /// Measures the lead of a write that continues the previous one.
    fn in_sequence(&mut self) -> Result<Estimate, Error> {
        let (target_width, max) = mtbrc::precision(self.setup.effort);
        let place = idle::zones(self.setup.layout)[0].clone();
        let mut threshold = Threshold::default();
        for _ in 0..max {
            let track = self.pairs.equivalent.next(self.setup.layout, &place);
            self.pairs.send(Access::Write, track.first(), 1)?;
            let lead = threshold.aim(target_width, self.pairs.uniform());
            if let Some(trial) = self.pairs.catch_next(Access::Write, 1, lead.max(1e3))? {
                threshold.add(trial.bounds.0, trial.bounds.1);
            }
            if threshold.is_done(target_width) {
                break;
            }
        }
        Ok(threshold.found().estimate())
    }
}

fn mean(a: Estimate, b: Estimate) -> Estimate {
    let half = |a: Span, b: Span| Span::from_ns((a.as_ns() + b.as_ns()) / 2);
    Estimate {
        value: half(a.value, b.value),
        uncertainty: half(a.uncertainty, b.uncertainty),
        samples: a.samples + b.samples,
    }
}
