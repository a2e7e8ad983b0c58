//! Two disks with the same data: seek distances, rotational waits and the largest load (liu05,
//! section 3.2), and reads divided between them at a pivot block (section 7.2.1).
//!
//! Distances are fractions of the stroke on a drive without zones, for requests uniform over it.

use diskarm_core::mechanics::Mechanism;
use diskarm_core::request::Op;
use diskarm_core::spec::Spec;
use diskarm_core::units::{Lbn, SectorCount};

use crate::moments::Moments;
use crate::queues;
use crate::service::{Part, Uniform};

/// The mean distance of the nearer of two uniform, independent arms, for a read: 5/24.
///
/// The C/5 that section 3.2 cites for C cylinders is 4 % lower: it assumes that the two distances
/// are independent, although they lead to the same block.
pub const READ_DISTANCE: f64 = 5.0 / 24.0;

/// The mean distance of the farther arm, for a write: 11/24. The thesis' 7C/15 is 2 % higher.
pub const WRITE_DISTANCE: f64 = 11.0 / 24.0;

/// Returns the mean rotational wait until the first of `copies` arrives, for a read: 1 / (k + 1) of
/// a revolution, if the heads reach their tracks together and the angles are independent.
pub fn read_wait(copies: u32) -> f64 {
    1.0 / f64::from(copies + 1)
}

/// Returns the mean rotational wait until the last of `copies` arrives, for a write: k / (k + 1) of
/// a revolution, under the assumptions of [`read_wait`]. Returns 0 for no copies.
pub fn write_wait(copies: u32) -> f64 {
    f64::from(copies) / f64::from(copies + 1)
}

/// Returns the saturation rate of two disks that serve requests in order of arrival, each read by
/// one and each write by both: 1 / (reads / 2 * read + writes * write) (liu05, section 8.2.1).
/// `writes` is a share from 0 to 1; `read` and `write` are mean service times.
pub fn saturation_rate(writes: f64, read: f64, write: f64) -> f64 {
    1.0 / (0.5 * (1.0 - writes) * read + writes * write)
}

/// The precision of pivots, as a fraction of the blocks.
const PRECISION: f64 = 1e-4;

/// Uniform reads of one size from two disks that have the same data in the same order.
///
/// A search for a pivot tries closer and closer ones, so moving the pivot visits only the tracks
/// between the previous one and the next.
#[derive(Clone)]
pub struct Reads<'a> {
    requests: Uniform<'a>,
    /// The latest pivot, and the parts before it and from it on.
    pivot: Lbn,
    parts: [Part; 2],
}

/// The pivot, and the service times of two disks: for reads that begin before it, and all others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplitReads {
    /// The pivot, as a share of the blocks. It is also the share of the reads for the first disk.
    pub share: f64,
    pub services: [Moments; 2],
}

impl SplitReads {
    pub fn utilisations(&self, rate: f64) -> [f64; 2] {
        let [first, second] = self.services.map(|service| service.first);
        [
            rate * self.share * first,
            rate * (1.0 - self.share) * second,
        ]
    }

    /// Returns the mean response time, in milliseconds, if both disks serve reads in order of
    /// arrival: two M/G/1 queues with this total rate per millisecond. `None` if one is saturated.
    pub fn response(&self, rate: f64) -> Option<f64> {
        let shares = [self.share, 1.0 - self.share];
        let responses = shares.into_iter().zip(&self.services);
        responses
            .map(|(share, service)| Some(share * queues::mg1_response(rate * share, service)?.mean))
            .sum()
    }
}

impl<'a> Reads<'a> {
    /// Creates reads of `sectors` blocks each on drives that `spec` and `mechanism` describe.
    pub fn new(spec: &'a Spec, mechanism: &'a Mechanism, sectors: SectorCount) -> Self {
        let requests = Uniform::new(spec, mechanism, Op::Read, sectors);
        let end = Lbn(mechanism.layout.sectors().0);
        Self {
            pivot: Lbn(0),
            parts: [Lbn(0)..Lbn(0), Lbn(0)..end].map(|blocks| requests.part(&blocks)),
            requests,
        }
    }

    /// Splits the reads at this share of the blocks. `None` if a part has no reads.
    pub fn split(&mut self, share: f64) -> Option<SplitReads> {
        let (requests, [first, second]) = (&self.requests, &mut self.parts);
        let blocks = requests.mechanism.layout.sectors().0;
        let reads = blocks.checked_div(requests.sectors.0)?;
        // The pivot is between two reads.
        let pivot = Lbn((reads as f64 * share).round() as u64 * requests.sectors.0);
        if pivot > self.pivot {
            second.give(&requests.part(&(self.pivot..pivot)), first);
        } else {
            first.give(&requests.part(&(pivot..self.pivot)), second);
        }
        self.pivot = pivot;
        Some(SplitReads {
            share: pivot.0 as f64 / blocks as f64,
            services: [
                requests.service(first)?.total,
                requests.service(second)?.total,
            ],
        })
    }

    /// Returns the pivot at which both disks are equally busy (EqU): share times mean service time
    /// is the same for both, whatever the arrival rate. `None` if there are fewer than two reads.
    pub fn equal_utilisations(&mut self) -> Option<SplitReads> {
        let (mut low, mut high) = (0.0, 1.0);
        let mut found = self.split(0.5)?;
        while high - low > PRECISION {
            let [first, second] = found.utilisations(1.0);
            // The larger part is busier: it has more reads and longer seeks.
            if first < second {
                low = found.share;
            } else {
                high = found.share;
            }
            match self.split(f64::midpoint(low, high)) {
                Some(next) if next.share > low && next.share < high => found = next,
                _ => break,
            }
        }
        Some(found)
    }

    /// Returns the pivot with the minimum mean response (MOR), for Poisson arrivals at this total
    /// rate per ms. `None` if the disks are saturated at the pivot of equal utilisations.
    pub fn min_response_pivot(&mut self, rate: f64) -> Option<SplitReads> {
        let mut found = self.equal_utilisations()?;
        let mut min = found.response(rate)?;
        let mut step = 0.1;
        while step > PRECISION {
            let shares = [found.share - step, found.share + step].into_iter();
            let candidates = shares
                .filter(|share| *share > 0.0 && *share < 1.0)
                .filter_map(|share| {
                    let candidate = self.split(share)?;
                    Some((candidate.response(rate)?, candidate))
                });
            match candidates.min_by(|a, b| a.0.total_cmp(&b.0)) {
                Some((response, better)) if response < min => (min, found) = (response, better),
                _ => step /= 2.0,
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests;
