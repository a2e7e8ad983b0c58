//! Whether reads and listed defects agree with a layout.

use diskarm_core::geometry::Layout;
use diskarm_core::spec::Geometry;
use diskarm_core::units::Lbn;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::MeasuredLayout;
use super::pattern::IN_LINE;
use super::phases::{Phases, apart};
use crate::defects::{self, Defects};
use crate::{Disk, Error};

/// Blocks that are read.
const BLOCKS: u32 = 24;
/// Reads of each at most: where their ends scatter, less is seen of a sector.
const READS: u32 = 64;
/// This many of them may be elsewhere: reallocated in the middle of a track, or read late.
const MISSES: u32 = 2;

/// Reads random blocks, and compares the angles at which they end with those of the layout.
///
/// # Errors
/// A read failed, or too many blocks are at other angles.
pub(super) fn by_reads(
    disk: &mut Disk<'_>,
    geometry: &Geometry,
    period_ns: f64,
    seed: u64,
) -> Result<(), Error> {
    let layout = Layout::new(geometry).map_err(|error| Error::Undecided(error.to_string()))?;
    let mut phases = Phases::new(disk, period_ns, seed)?;
    let mut generator = Pcg64Mcg::seed_from_u64(seed);
    let end = |at: u64| {
        let extent = layout.extent(Lbn(at));
        let width = extent.sector_angle.as_revolutions();
        (extent.start.as_revolutions() + width, width)
    };
    // Angles are those from the end of the first block.
    let (origin, _) = end(0);
    let mut misses = 0;
    for _ in 0..BLOCKS {
        let wide = u128::from(generator.next_u64()) * u128::from(phases.capacity());
        let at = (wide >> 64) as u64;
        let (angle, width) = end(at);
        let expected = (angle - origin).rem_euclid(1.0);
        let tolerance = phases.within(READS).max(IN_LINE * width);
        let found = phases.angle(at, tolerance)?;
        misses += u32::from(apart(found, expected).abs() > 2.0 * tolerance);
    }
    if misses > MISSES {
        return Err(Error::Undecided(format!(
            "of {BLOCKS} random blocks {misses} are not at the angles that the drive tells"
        )));
    }
    Ok(())
}

/// Notes that a layout skips places which no list has, where the drive lists its defects: another
/// layout may explain the same angles.
pub(super) fn by_defects(found: &mut MeasuredLayout, defects: Option<&Defects>) {
    let fates = defects.and_then(|listed| defects::count(&found.geometry, &listed.all()).ok());
    let unlisted = fates.map_or(0, |fates| fates.unlisted);
    if unlisted > 0 {
        found.assumed.push(format!(
            "The layout skips {unlisted} places that the drive does not list as defective."
        ));
    }
}
