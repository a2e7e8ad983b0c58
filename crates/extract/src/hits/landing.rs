//! When the arm is called for what the write cache has taken in.
//!
//! # Hypothesis
//! The arm settles on the track where it is before a write that the cache takes in, as before one
//! that it does not; but no miss is processed. So the lead at which such a write just catches its
//! sector tells the time to settle, which is part of a command's overhead otherwise. Or the media
//! wait for data that come later than the arm is there; then the lead tells nothing of it.
//!
//! # Test vector
//! A read, a write of one sector on the track where the head is then, which the cache takes in, and
//! at once a read from the media of a sector that passes half a revolution after that one. The same
//! with writes of two sectors and of 17.
//!
//! # Decision
//! The second read waits until the write is on the media. It ends when its sector has passed, or,
//! if the write missed its own, a revolution later. A write of two sectors whose data the arm waits
//! for has another lead than one of one: a longer one, as there are more data or they come more
//! slowly than the media pass, or a shorter one where the media wait longer for all data than for a
//! part of them. The same holds for one of 17, but where the bus is slower than the media its lead
//! is longer by that in any case.
//!
//! # Confidence
//! Half the interval of the lead, about 0.003 ms. What the drive takes to come back to the bus when
//! a miss is on the media, but not when the cache has taken a write in, is part of the time to
//! settle that is found so: that may be less.
//!
//! # Cost
//! Some 50 times three commands for each size, at most 200 times.

use diskarm_core::units::Span;

use super::Bench;
use crate::mtbrc;
use crate::pairs::Access;
use crate::threshold::{Found, Threshold};
use crate::{Effort, Error, Estimate};

/// What is tried at most if the reads do not end where their sectors pass.
const IN_VAIN: u32 = 20;
/// Leads differ that differ by more than this and their uncertainty, in nanoseconds.
const DIFFERENT: f64 = 5e3;

impl Bench<'_, '_> {
    /// The lead of a write of one sector that the cache takes in, on the track of a read before,
    /// if the arm does not wait for data, as larger writes show: one of two, and one of `sectors`,
    /// each of which takes `sector` on the bus.
    pub(super) fn landing(
        &mut self,
        effort: Effort,
        (sectors, sector): (u16, Span),
    ) -> Result<Option<Estimate>, Error> {
        let Some(one) = self.lead_of_hits(1, effort)? else {
            return Ok(None);
        };
        let bus = sector.as_ns() as f64;
        let media = self.pairs.clock.period() / self.places[0].sectors() as f64;
        let slower = (bus - media).max(0.0);
        let many = sectors.min((self.places[0].sectors() / 2).max(2) as u16);
        // Halfway from a bus that is slower to an arm that waits for all data.
        let max = f64::from(many - 1) * slower.midpoint(bus);
        for (sectors, max) in [(2, 0.0), (many, max)] {
            let Some(more) = self.lead_of_hits(sectors, effort)? else {
                return Ok(None);
            };
            let longer = more.median - one.median;
            let little = DIFFERENT + one.uncertainty + more.uncertainty;
            if longer < -little || longer > max.max(little) {
                return Ok(None);
            }
        }
        Ok(Some(one.estimate()))
    }

    /// The lead of writes of this size that the cache takes in; `None` if the reads behind them do
    /// not tell it.
    fn lead_of_hits(&mut self, sectors: u16, effort: Effort) -> Result<Option<Found>, Error> {
        let (narrow, max) = mtbrc::precision(effort);
        let mut threshold = Threshold::default();
        let mut in_vain = 0;
        for _ in 0..max {
            let lead = threshold.aim(narrow, self.pairs.uniform()).max(1e3);
            match self.lands(sectors, lead)? {
                Some((missed, caught)) => threshold.add(missed, caught),
                None => in_vain += 1,
            }
            if threshold.is_done(narrow) || in_vain > IN_VAIN {
                break;
            }
        }
        Ok(threshold.is_done(narrow).then(|| threshold.found()))
    }

    /// The largest lead that is known to be too short, and the smallest that is enough, by a write
    /// of `sectors` that is about `lead` ahead of its first one.
    fn lands(&mut self, sectors: u16, lead: f64) -> Result<Option<(f64, f64)>, Error> {
        let from = self.fresh();
        let Some(track) = self.pairs.rests(Access::Read, &from) else {
            return Ok(None);
        };
        let period = self.pairs.clock.period();
        let brought = self.pairs.bring(Access::Read, &from, 1);
        if self.pairs.is_unreadable(&brought)? {
            return Ok(None);
        }
        let Some((at, passes)) = self.pairs.wait_for(&track, sectors, lead) else {
            return Ok(None);
        };
        let written = self.write(at, sectors);
        if self.pairs.is_unreadable(&written)? {
            return Ok(None);
        }
        let lead = passes - written?.sent.as_ns() as f64;
        // Halfway from the end of a write that catches its first sector to that of one that misses.
        let written = self.pairs.passing(at, sectors);
        let later = passes + (period + written) / 2.0 - self.pairs.soonest(0.0);
        if later < 0.0 {
            return Ok(None);
        }
        let read = self.pairs.catch(Access::Read, &track, 1, later);
        if self.pairs.is_unreadable(&read)? {
            return Ok(None);
        }
        let Some(read) = read? else { return Ok(None) };
        let late = read.bounds.1 - read.lead;
        Ok(Some((lead + late - period, lead + late)))
    }
}
