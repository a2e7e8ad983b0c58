//! Affinity-based routing for a mirrored pair: each disk serves the reads on one side of a pivot
//! block (liu05, section 7.2.1).

use diskarm_core::mechanics::Mechanism;
use diskarm_core::request::Op;
use diskarm_core::spec::Spec;
use diskarm_core::units::{Lbn, SectorCount};

use crate::mg1;
use crate::moments::Moments;
use crate::service::Service;

/// Pivots are found to this share of the blocks.
const PRECISION: f64 = 1e-4;

/// Uniform reads of one size from two disks that have the same data in the same order.
#[derive(Clone, Copy)]
pub struct Reads<'a> {
    /// The drive.
    pub spec: &'a Spec,
    /// Its mechanism.
    pub mechanism: &'a Mechanism,
    /// The size of each read.
    pub sectors: SectorCount,
}

/// The pivot, and the services of the two disks: the first serves the reads that begin before the
/// pivot, the second all others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplitReads {
    /// The pivot, as a share of the blocks; also the share of the reads for the first disk.
    pub share: f64,
    /// The service times of the two, in milliseconds.
    pub services: [Moments; 2],
}

impl SplitReads {
    /// Returns the utilisation of each disk at this total rate of reads.
    pub fn utilisations(&self, rate: f64) -> [f64; 2] {
        let [first, second] = self.services.map(|service| service.first);
        [
            rate * self.share * first,
            rate * (1.0 - self.share) * second,
        ]
    }

    /// Returns the mean response time in order of arrival, in milliseconds, for Poisson arrivals at
    /// this total rate per millisecond: two M/G/1 queues. `None` if one of them is saturated.
    pub fn response(&self, rate: f64) -> Option<f64> {
        let shares = [self.share, 1.0 - self.share];
        let parts = shares
            .into_iter()
            .zip(&self.services)
            .map(|(share, service)| {
                let response = mg1::response(rate * share, service)?;
                Some(share * response.mean)
            });
        parts.sum()
    }
}

impl Reads<'_> {
    /// Splits the reads at this share of the blocks. `None` if a part has no reads.
    pub fn split(&self, share: f64) -> Option<SplitReads> {
        let blocks = self.mechanism.layout.sectors().0;
        let reads = blocks.checked_div(self.sectors.0)?;
        // Between two reads, so that none is split.
        let pivot = Lbn((reads as f64 * share).round() as u64 * self.sectors.0);
        let service = |from, to| {
            let parts = (self.spec, self.mechanism, self.sectors);
            Service::of_blocks(parts.0, parts.1, Op::Read, parts.2, &(from..to))
        };
        let first = service(Lbn(0), pivot)?;
        let second = service(pivot, Lbn(blocks))?;
        Some(SplitReads {
            share: pivot.0 as f64 / blocks as f64,
            services: [first.total, second.total],
        })
    }

    /// Returns the pivot at which both disks are equally busy (EqU): f b1 is the same for both,
    /// independently of the rate. `None` if there are fewer than two reads.
    pub fn equal_utilisations(&self) -> Option<SplitReads> {
        let (mut low, mut high) = (0.0, 1.0);
        let mut found = self.split(0.5)?;
        while high - low > PRECISION {
            let [first, second] = found.utilisations(1.0);
            // A larger part is busier: it has more reads and longer seeks.
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

    /// Returns the pivot with the minimum mean response time (MOR) in order of arrival, for Poisson
    /// arrivals at this total rate per millisecond. `None` if the disks are saturated at the
    /// pivot of equal utilisations.
    pub fn least_response(&self, rate: f64) -> Option<SplitReads> {
        let mut found = self.equal_utilisations()?;
        let mut min = found.response(rate)?;
        let mut step = 0.1;
        while step > PRECISION {
            let shares = [found.share - step, found.share + step].into_iter();
            let tried = shares
                .filter(|share| *share > 0.0 && *share < 1.0)
                .filter_map(|share| {
                    let tried = self.split(share)?;
                    Some((tried.response(rate)?, tried))
                });
            match tried.min_by(|one, other| one.0.total_cmp(&other.0)) {
                Some((response, better)) if response < min => (min, found) = (response, better),
                _ => step /= 2.0,
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::tests::bare;

    const SECTORS: SectorCount = SectorCount(8);

    fn response(reads: &Reads<'_>, share: f64, rate: f64) -> f64 {
        let response = reads.split(share).and_then(|found| found.response(rate));
        response.unwrap_or(f64::INFINITY)
    }

    /// A part that is the whole disk, and one without reads.
    #[test]
    fn the_parts_are_those_of_the_disk() {
        let (spec, mechanism) = bare("hp-c2247");
        let whole = Lbn(0)..Lbn(mechanism.layout.sectors().0);
        let distances = crate::Distances::new(&mechanism.layout);
        let of = Service::new(&spec, &mechanism, &distances, Op::Read, SECTORS);
        let blocks = Service::of_blocks(&spec, &mechanism, Op::Read, SECTORS, &whole);
        assert_eq!(of, blocks);
        let none = Service::of_blocks(&spec, &mechanism, Op::Read, SECTORS, &(Lbn(8)..Lbn(8)));
        assert_eq!(none, None);
    }

    /// The two transfers of two parts make that of the whole: each read is in one of them.
    #[test]
    fn each_read_is_in_one_part() {
        let (spec, mechanism) = bare("hp-c2247");
        let sectors = mechanism.layout.sectors();
        let distances = crate::Distances::new(&mechanism.layout);
        let whole = Service::new(&spec, &mechanism, &distances, Op::Read, SECTORS).unwrap();
        let pivot = Lbn(sectors.0 / 3 / 8 * 8);
        let part = |from, to| {
            let part = Service::of_blocks(&spec, &mechanism, Op::Read, SECTORS, &(from..to));
            part.unwrap().transfer.first * ((to.0 - from.0) / 8) as f64
        };
        let both = part(Lbn(0), pivot) + part(pivot, Lbn(sectors.0));
        let all = whole.transfer.first * (sectors.0 / 8) as f64;
        assert!((both / all - 1.0).abs() < 1e-9, "{both} {all}");
    }

    /// On a drive with zones the outer part has fewer cylinders and faster tracks, so it is larger.
    /// A scan of all pivots finds none better.
    #[test]
    fn no_other_pivot_is_better() {
        let (spec, mechanism) = bare("ibm-18es");
        let reads = Reads {
            spec: &spec,
            mechanism: &mechanism,
            sectors: SECTORS,
        };
        let equal = reads.equal_utilisations().unwrap();
        let [first, second] = equal.utilisations(1.0);
        assert!((first / second - 1.0).abs() < 1e-3, "{equal:?}");
        assert!(equal.share > 0.505 && equal.share < 0.6, "{equal:?}");
        for rate in [0.02, 0.17] {
            let min = reads.least_response(rate).unwrap();
            let found = min.response(rate).unwrap();
            for percent in (2..=98).step_by(4) {
                let other = response(&reads, f64::from(percent) / 100.0, rate);
                assert!(found <= other, "{percent} %: {other} before {found}");
            }
        }
        assert_eq!(reads.least_response(0.25), None);
    }

    /// Cylinders of equal capacity: the halves are equal.
    #[test]
    fn without_zones_the_pivot_is_in_the_middle() {
        let (spec, mechanism) = bare("hp-97560");
        let reads = Reads {
            spec: &spec,
            mechanism: &mechanism,
            sectors: SECTORS,
        };
        let equal = reads.equal_utilisations().unwrap();
        assert!((equal.share - 0.5).abs() < 1e-3, "{equal:?}");
        let min = reads.least_response(0.05).unwrap();
        assert!((min.share - 0.5).abs() < 2e-3, "{min:?}");
    }
}
