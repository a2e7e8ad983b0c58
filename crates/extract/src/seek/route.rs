//! Where pairs of a distance begin and end.

use crate::clock::Access;
use crate::pairs::Pairs;
use crate::track::Track;
use crate::{Error, idle};

/// Maximum distance of a track from the requested cylinder.
const NEAR: u32 = 64;

/// The route of a pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// Approximate outer end.
    pub outer: u32,
    pub distance: u32,
    pub inward: bool,
}

/// Returns the tracks of the two commands of a pair. The second is this many cylinders from the
/// position of the head after the first, and under the same head if possible, as a seek shorter
/// than a head switch would not be visible otherwise. Both are between the two cylinders.
pub(crate) fn tracks(
    pairs: &Pairs<'_, '_>,
    access: Access,
    way: Way,
    (first, last): (u32, u32),
) -> Result<(Track, Track), Error> {
    let Way {
        outer,
        distance,
        inward,
    } = way;
    let begins = if inward { outer } else { outer + distance };
    let near = (0..NEAR).flat_map(|shift| [begins.checked_add(shift), begins.checked_sub(shift)]);
    let ways = near.flatten().filter_map(|at| {
        let from = idle::beginning(pairs.layout, at)?;
        let rests = pairs.rests(access, &from)?;
        let is_between = |cylinder: &u32| (first..=last).contains(cylinder);
        let there = if inward {
            rests.cylinder().checked_add(distance)
        } else {
            rests.cylinder().checked_sub(distance)
        };
        let there = there.filter(|there| is_between(there) && is_between(&rests.cylinder()))?;
        let same = Track::find(pairs.layout, there, rests.head());
        let is_same = same.is_some();
        let to = same.or_else(|| idle::beginning(pairs.layout, there))?;
        Some((is_same, (from, to)))
    });
    let mut any = None;
    for (is_same, pair) in ways {
        if is_same {
            return Ok(pair);
        }
        any.get_or_insert(pair);
    }
    any.ok_or_else(|| {
        let reason = format!("no blocks {distance} cylinders apart near cylinder {outer}");
        Error::Undecided(reason)
    })
}
