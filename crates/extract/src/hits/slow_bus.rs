//! The rate of the path to the host on a drive whose buffer serves no read.
//!
//! # Hypothesis
//! The path takes longer for a sector than the media do.
//!
//! # Test vector
//! Reads of one sector and of more from the media, on one track.
//!
//! # Decision
//! The larger reads end later after the pass of their last sector than those of one do by what the
//! path takes longer for the further sectors. Where that is nothing, the path is faster than the
//! media, and its time is part of the overheads.
//!
//! # Confidence
//! 95 % interval of the mean of those that agree.
//!
//! # Cost
//! Some 30 reads.

use diskarm_core::units::{SectorCount, Span};

use super::{Bench, Services, per_sector};
use crate::pairs::Access;
use crate::threshold::span;
use crate::{Error, Estimate};

/// Sectors of the reads that show whether the path is slower, and of those that show by how much,
/// unless tracks are short.
const SEVERAL: u16 = 9;
const MANY: u16 = 33;
/// Less for a sector is nothing, in nanoseconds.
const MIN: f64 = 2e3;

impl Bench<'_, '_> {
    /// The time of a sector on a path that is slower than the media.
    pub(super) fn slow_bus(&mut self) -> Result<Option<Estimate>, Error> {
        let track = self.places[0].sectors();
        let max = |sectors: u16| sectors.min((track / 4).max(2) as u16);
        let (several, many) = (max(SEVERAL), max(MANY));
        let Some(one) = self.late(1, 0.0)? else {
            return Ok(None);
        };
        // From a quarter of a revolution before that of one sector to three quarters after it.
        let later = one.mean + self.pairs.clock.period() / 4.0;
        let Some(more) = self.late(several, later)? else {
            return Ok(None);
        };
        let slower = per_sector(&one, &more, several);
        let ns = |span: Span| span.as_ns() as f64;
        if ns(slower.value) < MIN.max(ns(slower.uncertainty)) {
            return Ok(None);
        }
        let later = one.mean + ns(slower.value) * f64::from(many - 1);
        let slower = match self.late(many, later)? {
            Some(more) => per_sector(&one, &more, many),
            None => slower,
        };
        let media = self.pairs.clock.period() / track as f64;
        Ok(Some(Estimate {
            value: slower.value + span(media),
            ..slower
        }))
    }

    /// By how much reads of `sectors` end later than their last sector does: at most half a
    /// revolution more or less than `about`, in nanoseconds.
    fn late(&mut self, sectors: u16, about: f64) -> Result<Option<Services>, Error> {
        self.agreeing(|bench| {
            let first = bench.fresh().first();
            bench.rest(Span::ZERO);
            let read = bench.pairs.send(Access::Read, first, sectors)?;
            let last = bench
                .pairs
                .layout
                .extent(first + SectorCount(u64::from(sectors - 1)));
            let ended = read.ended.as_ns() as f64;
            Ok(span(about + bench.pairs.clock.off(ended - about, &last)))
        })
    }
}
