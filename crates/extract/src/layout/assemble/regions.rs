//! The spares and slips of a zone with regions of one size.

use diskarm_core::spec::Sparing;

use crate::layout::chart::{Gap, ZoneChart};

/// The regions of a zone.
pub(super) struct Regions {
    /// Places without blocks of each, in parts of one region; after the last block as well.
    gaps: Vec<Vec<Gap>>,
    region: u64,
    places: u64,
    /// Region of the first block, and whether it is reserved in part.
    first: usize,
    lead: u64,
    /// Region of the last block, and whether blocks may be unused there.
    last: usize,
    open: bool,
}

impl Regions {
    pub fn new(chart: &ZoneChart, region: u64, places: u64, open: bool) -> Self {
        let count = places.div_ceil(region) as usize;
        let mut gaps = vec![Vec::new(); count];
        let tail = Gap {
            place: chart.end(),
            places: places - chart.end(),
        };
        for gap in chart.gaps.iter().chain([&tail]) {
            let (mut place, end) = (gap.place, gap.end());
            while place < end {
                let n = place / region;
                let to = end.min((n + 1) * region);
                gaps[n as usize].push(Gap {
                    place,
                    places: to - place,
                });
                place = to;
            }
        }
        let (lead, _) = chart.inner();
        Self {
            gaps,
            region,
            places,
            first: (lead / region) as usize,
            lead,
            last: (chart.end().saturating_sub(1) / region) as usize,
            open,
        }
    }

    pub fn count(&self) -> u64 {
        self.gaps.len() as u64
    }

    fn missing(&self, n: usize) -> u64 {
        self.gaps[n].iter().map(|gap| gap.places).sum()
    }

    /// The number of spares in each region, if all have the same.
    pub fn spares(&self) -> Option<u64> {
        // Regions that may be reserved or unused in part only give an upper bound.
        let exact = |n: usize| (n > self.first || self.lead == 0) && !(self.open && n >= self.last);
        let mut spares = None;
        let mut max = u64::MAX;
        for n in self.first..=self.last {
            let missing = self.missing(n);
            match spares {
                _ if !exact(n) => max = max.min(missing),
                None => spares = Some(missing),
                Some(known) if known != missing => return None,
                Some(_) => {}
            }
        }
        let spares = spares?;
        (spares > 0 && spares <= max && spares < self.region).then_some(spares)
    }

    /// Slips, and the number of reserved sectors.
    pub fn slips(&self, spares: u64, sparing: Sparing) -> Option<(Vec<u64>, u64)> {
        let front = sparing == Sparing::SectorsPerCylinderFront;
        let mut slips = Vec::new();
        for n in self.first..=self.last {
            let begin = n as u64 * self.region;
            let end = (begin + self.region).min(self.places);
            let reserved = |gap: &Gap| n == self.first && gap.place < self.lead;
            let inner = self.gaps[n].iter().filter(|gap| !reserved(gap));
            let inner = inner.filter(|gap| {
                let edge = if front {
                    gap.place == begin
                } else {
                    gap.end() == end
                };
                !edge
            });
            slips.extend(inner.flat_map(|gap| gap.place..gap.end()));
        }
        let in_first = slips
            .iter()
            .filter(|&&slip| slip / self.region == self.first as u64);
        let in_first = in_first.count() as u64;
        let whole = self.first as u64 * (self.region - spares);
        let within = self.lead - self.first as u64 * self.region;
        let ahead = if front {
            spares.checked_sub(in_first)?
        } else {
            0
        };
        let reserved = if self.lead == 0 {
            0
        } else {
            whole + within.checked_sub(ahead)?
        };
        Some((slips, reserved))
    }
}
