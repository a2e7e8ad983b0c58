//! The layout of a drive: a [`Geometry`] whose [`Layout`] maps every block to the same location as
//! the drive does (worthington96 section 4.1).
//!
//! There are three methods. [`translate`] asks the drive where blocks are, [`notches`] asks it for
//! zones and cylinders, and [`timing`] needs only reads. [`measure`] uses the first method that the
//! drive supports and that reads do not contradict. All three follow the blocks of a zone from
//! track to track (`walk`), record which positions hold no block (`zone_map`), and then choose the
//! sparing scheme that explains these positions with the fewest exceptions (`assemble`).
//!
//! [`Layout`]: diskarm_core::geometry::Layout

use diskarm_core::geometry::Layout;
use diskarm_core::random::below;
use diskarm_core::spec::Geometry;
use diskarm_core::text::with_noun;
use diskarm_core::units::Lbn;
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

use crate::defects::{self, Defects};
use crate::{Disk, Error};
use phases::{Phases, angle_to};
use zone_map::IN_LINE;

pub use assemble::MeasuredLayout;

mod assemble;
mod cylinders;
pub mod empty;
mod listed_defects;
pub mod notches;
mod phases;
pub mod timing;
pub mod translate;
mod walk;
mod zone_map;

/// A source from which a layout is derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The TRANSLATE ADDRESS command ([`translate`]).
    Translated,
    /// Notch pages and READ CAPACITY, supplemented by reads ([`notches`]).
    Notches,
    /// Only the completion times of reads ([`timing`]).
    Timing,
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Translated => "TRANSLATE ADDRESS",
            Self::Notches => "notch pages and READ CAPACITY",
            Self::Timing => "read completion times",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayoutFinding {
    pub found: MeasuredLayout,
    pub method: Method,
    /// The methods that were tried before and failed, each with the reason.
    pub refused: Vec<(Method, String)>,
    /// The defects that the drive lists, or the reason why no list could be read.
    pub defects: Result<Defects, String>,
}

const CHECKED_BLOCKS: u32 = 24;
/// Maximum number of reads per checked block.
const MAX_READS: u32 = 64;
/// Maximum number of checked blocks at unexpected angles. Some may be reallocated or read late.
const MAX_MISSES: u32 = 2;

/// Finds the layout by the first [`Method`] that the drive supports and that reads confirm.
///
/// `period_ns` is the rotation period, accurate to one part in a million. Errors list all reasons.
pub fn measure(disk: &mut Disk<'_>, period_ns: f64, seed: u64) -> Result<LayoutFinding, Error> {
    refuse_emulated(disk)?;
    let defects = reason(defects::read(disk))?;
    let listed = defects.as_ref().map(Defects::all).unwrap_or_default();
    let mut failed = Vec::new();
    for method in [Method::Translated, Method::Notches, Method::Timing] {
        let measured = match method {
            Method::Translated => translate::measure(disk, &listed),
            Method::Notches => notches::measure(disk, period_ns, &listed, seed),
            Method::Timing => timing::measure(disk, period_ns, seed),
        };
        let checked = measured.and_then(|mut found| {
            if method != Method::Timing {
                check_by_reads(disk, &found.geometry, period_ns, seed)?;
                check_by_defects(&mut found, defects.as_ref().ok());
            }
            Ok(found)
        });
        match reason(checked)? {
            Ok(found) => {
                return Ok(LayoutFinding {
                    found,
                    method,
                    refused: failed,
                    defects,
                });
            }
            Err(reason) => failed.push((method, reason)),
        }
    }
    let reasons = failed
        .iter()
        .map(|(method, reason)| format!("{method}: {reason}"));
    Err(Error::Undecided(reasons.collect::<Vec<_>>().join("; ")))
}

/// Fails for drives that emulate small sectors, because physical sectors determine their timing.
fn refuse_emulated(disk: &mut Disk<'_>) -> Result<(), Error> {
    let sector = disk.sector_size();
    match disk.physical_sector()? {
        Some(physical) if physical > sector => Err(Error::Undecided(format!(
            "the drive emulates sectors of {} bytes on sectors of {} bytes (512e), and the layout \
             of such drives cannot be measured yet",
            sector.0, physical.0
        ))),
        _ => Ok(()),
    }
}

/// Turns an error into its message, unless the connection is lost.
fn reason<T>(result: Result<T, Error>) -> Result<Result<T, String>, Error> {
    match result {
        Err(error @ Error::Transport(_)) => Err(error),
        result => Ok(result.map_err(|error| error.to_string())),
    }
}

fn check_by_reads(
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
    // Angles are relative to the end of the first block.
    let (origin, _) = end(0);
    let mut misses = 0;
    for _ in 0..CHECKED_BLOCKS {
        let at = below(&mut generator, phases.capacity());
        let (angle, width) = end(at);
        let expected = (angle - origin).rem_euclid(1.0);
        let tolerance = phases.uncertainty(MAX_READS).max(IN_LINE * width);
        let found = phases.angle(at, tolerance)?;
        misses += u32::from(angle_to(found, expected).abs() > 2.0 * tolerance);
    }
    if misses > MAX_MISSES {
        return Err(Error::Undecided(format!(
            "{misses} of {CHECKED_BLOCKS} random blocks are not at the angles that the drive \
             reports"
        )));
    }
    Ok(())
}

/// Records the number of locations that the layout skips although the drive does not list them as
/// defective. Another layout may explain the same angles.
fn check_by_defects(found: &mut MeasuredLayout, defects: Option<&Defects>) {
    let counts = defects.and_then(|listed| defects::count(&found.geometry, &listed.all()).ok());
    let unlisted = counts.map_or(0, |counts| counts.unlisted);
    if unlisted > 0 {
        let skipped = with_noun(unlisted, "location");
        found.assume(format!(
            "The layout skips {skipped} that the drive does not list as defective."
        ));
    }
}
