//! The layout of a drive: a [`Geometry`] whose [`Layout`] maps every block to the same place as
//! the drive does (worthington96 section 4.1).
//!
//! There are three ways. [`translate`] asks the drive where blocks are, [`notches`] asks it for
//! zones and cylinders, and [`timing`] needs nothing but reads; [`measure`] takes the first that
//! the drive answers and that reads do not contradict. All follow the blocks of a zone from track
//! to track (`walk`), note the places that hold no block (`chart`), and then look for the sparing
//! scheme that explains these places with the fewest exceptions (`assemble`).
//!
//! [`Layout`]: diskarm_core::geometry::Layout

use diskarm_core::spec::Geometry;
use serde::{Deserialize, Serialize};

use crate::defects::{self, Defects};
use crate::{Disk, Error};

mod assemble;
mod chart;
mod check;
mod cylinders;
pub mod empty;
mod levers;
pub mod notches;
mod orient;
mod pattern;
mod phases;
mod reallocated;
mod search;
pub mod timing;
mod told;
pub mod translate;
mod walk;

/// A layout, and what it leaves open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredLayout {
    /// The layout.
    #[serde(with = "crate::serial::geometry")]
    pub geometry: Geometry,
    /// What could not be learnt and was assumed, a sentence each.
    pub assumed: Vec<String>,
}

/// How a layout was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The drive told the places of blocks ([`translate`]).
    Translated,
    /// It told zones and cylinders, reads the rest ([`notches`]).
    Notches,
    /// Reads alone told it ([`timing`]).
    Timing,
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Translated => "TRANSLATE ADDRESS",
            Self::Notches => "notch pages and READ CAPACITY",
            Self::Timing => "the ends of reads",
        })
    }
}

/// A layout, how it was found, and why not otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayoutFinding {
    /// The layout.
    pub found: MeasuredLayout,
    /// The first way that led to one.
    pub method: Method,
    /// Why the ways before it did not, a sentence each.
    pub refused: Vec<(Method, String)>,
    /// The defects that the drive lists, or why it does not.
    pub defects: Result<Defects, String>,
}

/// Finds the layout: by TRANSLATE ADDRESS if the drive answers it and reads agree, else by notch
/// pages and READ CAPACITY if they tell the truth, else by the ends of reads.
///
/// `period_ns` is the rotation period, to 10^-6.
///
/// # Errors
/// The transport failed, or no way leads to a layout: the reasons are told.
pub fn measure(disk: &mut Disk<'_>, period_ns: f64, seed: u64) -> Result<LayoutFinding, Error> {
    refuse_emulated(disk)?;
    let defects = reason(defects::read(disk))?;
    let listed = defects.as_ref().map(Defects::all).unwrap_or_default();
    let mut refused = Vec::new();
    for method in [Method::Translated, Method::Notches, Method::Timing] {
        let found = match method {
            Method::Translated => translate::measure(disk, &listed),
            Method::Notches => notches::measure(disk, period_ns, &listed, seed),
            Method::Timing => timing::measure(disk, period_ns, seed),
        };
        let found = found.and_then(|mut found| {
            if method != Method::Timing {
                check::by_reads(disk, &found.geometry, period_ns, seed)?;
                check::by_defects(&mut found, defects.as_ref().ok());
            }
            Ok(found)
        });
        match reason(found)? {
            Ok(found) => {
                return Ok(LayoutFinding {
                    found,
                    method,
                    refused,
                    defects,
                });
            }
            Err(reason) => refused.push((method, reason)),
        }
    }
    let told: Vec<String> = refused
        .iter()
        .map(|(method, reason)| format!("{method}: {reason}"))
        .collect();
    Err(Error::Undecided(told.join("; ")))
}

/// Refuses drives that emulate small sectors on larger ones: neither the places that they tell nor
/// the ends of reads count blocks.
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

/// The result, or the reason against it in words, unless nothing more can be measured.
fn reason<T>(result: Result<T, Error>) -> Result<Result<T, String>, Error> {
    match result {
        Err(error @ Error::Transport(_)) => Err(error),
        result => Ok(result.map_err(|error| error.to_string())),
    }
}
