//! Defective places, listed or randomly grown, whose blocks have moved to spares.

use std::collections::{BTreeMap, BTreeSet};

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use super::check::zone_error;
use super::grid::Piece;
use super::plan::{Pba, Plan, Role, ZonePlace, places_grid};
use crate::spec::{Geometry, GrownDefects};
use crate::text::InputError;
use crate::units::Lbn;

/// Returns the address of a block in the layout without reallocations.
type PbaOf<'a> = &'a dyn Fn(Lbn) -> Pba;

/// Every reallocated unit with its spare. Both are given by their first places.
#[derive(Debug, Default)]
pub(super) struct Reallocations {
    by_defective: Vec<(ZonePlace, ZonePlace)>,
    by_spare: Vec<(ZonePlace, ZonePlace)>,
}

impl Reallocations {
    /// Creates all reallocations of a geometry, given its layout without them.
    pub(super) fn new(g: &Geometry, plan: &Plan, pba: PbaOf<'_>) -> Result<Self, InputError> {
        let mut ledger = Ledger::new(plan);
        for (zone, z) in g.zones.iter().enumerate() {
            for (at, &pair) in z.defects.iter().enumerate() {
                ledger.add_listed(zone, at, pair)?;
            }
        }
        ledger.add_grown(g.grown_defects, pba)?;
        let by_defective: Vec<_> = ledger.replacements.into_iter().collect();
        let mut by_spare: Vec<_> = by_defective.iter().map(|&(from, to)| (to, from)).collect();
        by_spare.sort_unstable();
        Ok(Self {
            by_defective,
            by_spare,
        })
    }

    /// Returns the moved blocks, in ascending order.
    pub(super) fn pieces(&self, plan: &Plan) -> Vec<Piece> {
        let moved = self.by_defective.iter().filter_map(|&(from, to)| {
            let (start, end, skipped) = plan.blocks_of_unit(from)?;
            let turned = plan.zones[to.zone].turned(to.place);
            let (first, grid) = (to.place + skipped, places_grid(to.zone));
            Some(Piece::new((start.0, end.0), first, grid, turned))
        });
        let mut pieces: Vec<_> = moved.collect();
        pieces.sort_unstable_by_key(|piece| piece.start);
        pieces
    }

    /// Returns the place whose contents are now at `at`: another one if `at` is a spare in use.
    pub(super) fn original(&self, plan: &Plan, at: ZonePlace) -> Option<ZonePlace> {
        let first = plan.unit_start(at);
        let offset = at.place - first.place;
        if let Ok(n) = find(&self.by_spare, first) {
            let (_, defective) = self.by_spare[n];
            return Some(ZonePlace {
                place: defective.place + offset,
                ..defective
            });
        }
        find(&self.by_defective, first).is_err().then_some(at)
    }

    /// Returns every defective unit with its spare. Both are given by their first places.
    pub(super) fn pairs(&self) -> &[(ZonePlace, ZonePlace)] {
        &self.by_defective
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        2 * size_of_val(self.by_defective.as_slice())
    }
}

fn find(pairs: &[(ZonePlace, ZonePlace)], key: ZonePlace) -> Result<usize, usize> {
    pairs.binary_search_by_key(&key, |&(first, _)| first)
}

struct Ledger<'a> {
    plan: &'a Plan,
    replacements: BTreeMap<ZonePlace, ZonePlace>,
    /// Spares that are in use, or defective themselves.
    used: BTreeSet<ZonePlace>,
    /// Start of the search for the next free spare, keyed by the first place of its region.
    cursors: BTreeMap<ZonePlace, ZonePlace>,
}

impl<'a> Ledger<'a> {
    /// Number of consecutive failures after which a geometry is rejected. Regions are selected in
    /// proportion to their blocks: one with 1/10,000 of them is missed with probability e^-26.
    const MISSES_MAX: u32 = 1 << 18;

    fn new(plan: &'a Plan) -> Self {
        Self {
            plan,
            replacements: BTreeMap::new(),
            used: BTreeSet::new(),
            cursors: BTreeMap::new(),
        }
    }

    fn add_listed(&mut self, zone: usize, at: usize, pair: (u64, u64)) -> Result<(), InputError> {
        let wrong = |expected: String| {
            let found = format!("({}, {})", pair.0, pair.1);
            zone_error(zone, &format!("defects[{at}]"), found, expected)
        };
        let z = &self.plan.zones[zone];
        let of_zone = |n: u64| {
            let place = n.checked_mul(z.unit).filter(|&place| place < z.places)?;
            Some(ZonePlace { zone, place })
        };
        let units = z.places / z.unit;
        let from = of_zone(pair.0)
            .ok_or_else(|| wrong(format!("a defective place of the zone, below {units}")))?;
        let spare = if self.plan.spares_at_disk_end {
            self.plan.disk_place(pair.1)
        } else {
            of_zone(pair.1)
        };
        let place_expected = "a spare place that is on the disk and in the zone";
        let to = spare.ok_or_else(|| wrong(place_expected.into()))?;
        if self.plan.role(to) != Role::Spare {
            return Err(wrong("a spare place".into()));
        }
        if self.used.contains(&to) {
            return Err(wrong("a spare that is not in use yet".into()));
        }
        if from != to {
            match self.plan.role(from) {
                Role::Slipped => return Err(wrong("a defect that was not slipped".into())),
                Role::Spare => {
                    let expected = "a defect in a place with data, or a spare paired with itself";
                    return Err(wrong(expected.into()));
                }
                Role::Block(_) | Role::Reserved | Role::Beyond => {}
            }
            if self.replacements.insert(from, to).is_some() {
                return Err(wrong("each defective place only once".into()));
            }
        }
        self.used.insert(to);
        Ok(())
    }

    /// Reallocates units of random blocks. Skips those that are defective or have no free spare.
    fn add_grown(&mut self, grown: GrownDefects, pba: PbaOf<'_>) -> Result<(), InputError> {
        let mut random = Pcg64::seed_from_u64(grown.seed);
        for n in 0..grown.count {
            let found = (0..Self::MISSES_MAX).find_map(|_| {
                let draw = u128::from(random.next_u64()) * u128::from(self.plan.capacity);
                self.reallocation(Lbn((draw >> 64) as u64), pba)
            });
            let (from, to) = found.ok_or_else(|| {
                let expected = format!("at most {n}: after that no random block had a free spare");
                InputError::shown("geometry.grown_defects.count", grown.count, expected)
            })?;
            self.replacements.insert(from, to);
            self.used.insert(to);
        }
        Ok(())
    }

    /// Returns the unit that holds `lbn`, and the spare that can replace it.
    fn reallocation(&mut self, lbn: Lbn, pba: PbaOf<'_>) -> Option<(ZonePlace, ZonePlace)> {
        let from = self.plan.unit_start(self.plan.place(pba(lbn))?);
        if self.replacements.contains_key(&from) {
            return None;
        }
        Some((from, self.free_spare(from, pba)?))
    }

    fn free_spare(&mut self, defect: ZonePlace, pba: PbaOf<'_>) -> Option<ZonePlace> {
        let last = self.plan.place(pba(Lbn(self.plan.capacity - 1)))?;
        let (first, end) = self.plan.spares_for(defect, last);
        let from = self.cursors.get(&first).copied().unwrap_or(first);
        let is_free =
            |at: &ZonePlace| self.plan.role(*at) == Role::Spare && !self.used.contains(at);
        let free = self.plan.units(from, end).find(is_free);
        self.cursors.insert(first, free.unwrap_or(end));
        free
    }
}
