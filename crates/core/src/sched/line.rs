//! The line on which seek-reducing policies measure distances, and where on it the arm is.

use super::{Estimate, Knowledge};
use crate::request::{Op, Request};
use crate::text::{Args, InputError};
use crate::units::{Lbn, SectorCount};

/// How blocks map to a line: the two levels of knowledge below positioning times (worthington94
/// sections 5.1, 5.2 and 6.2), and a crude one between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Line {
    /// Block numbers themselves.
    #[default]
    Lbn,
    /// Block numbers divided by a fixed number of blocks per cylinder.
    Fixed(SectorCount),
    /// Cylinders, exactly.
    Map,
}

impl Line {
    /// Documentation of the parameter.
    pub(super) const PARAMETER: (&'static str, &'static str) = (
        "by=lbn",
        "distances by block number; by a fixed number of blocks per cylinder (by=1024); by the \
         drive's cylinders (by=map). Blocks ascend within a cylinder",
    );

    /// Reads the parameter `by`.
    pub(super) fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let expected = "lbn, map, or a number of blocks per cylinder, from 1 to 1000000000";
        let read = |text: &str| match text {
            "lbn" => Some(Self::Lbn),
            "map" => Some(Self::Map),
            _ => {
                let blocks = text.parse().ok();
                blocks
                    .filter(|blocks| (1..=1_000_000_000).contains(blocks))
                    .map(|blocks| Self::Fixed(SectorCount(blocks)))
            }
        };
        Ok(args.maybe("by", expected, read)?.unwrap_or_default())
    }

    /// What it takes to put blocks on it.
    pub(super) fn knowledge(self) -> Knowledge {
        match self {
            Self::Lbn | Self::Fixed(_) => Knowledge::Blocks,
            Self::Map => Knowledge::Cylinders,
        }
    }

    /// The place of block `at` on the line.
    #[inline]
    pub(super) fn place_of<E: Estimate + ?Sized>(self, at: Lbn, drive: &E) -> u64 {
        match self {
            Self::Lbn => at.0,
            Self::Fixed(blocks) => at.0 / blocks.0,
            Self::Map => {
                let request = Request::new(0, Op::Read, at, SectorCount(1));
                u64::from(drive.locate(&request).cylinder.0)
            }
        }
    }

    /// The length of the line.
    pub(super) fn length<E: Estimate + ?Sized>(self, drive: &E) -> u64 {
        let shape = drive.shape();
        match self {
            Self::Lbn => shape.sectors.0,
            Self::Fixed(blocks) => shape.sectors.0.div_ceil(blocks.0),
            Self::Map => u64::from(shape.cylinders),
        }
    }

    /// A share of its length. A line has far fewer than 2^53 places, so this is exact for shares of
    /// 0 and 1.
    pub(super) fn share<E: Estimate + ?Sized>(self, share: f64, drive: &E) -> f64 {
        share * self.length(drive) as f64
    }
}

/// The block of the request served last from which distances are measured (worthington94 section
/// 6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Its first block: requests for the same or for overlapping blocks are then not behind a
    /// sweep that is on its way up.
    First,
    /// Just beyond its last block.
    Last,
}

impl Mark {
    /// Documentation of the parameter if the first block is the default.
    pub(super) const FIRST: (&'static str, &'static str) = ("from=first", Self::MEANING);

    /// Documentation of the parameter if the last block is the default.
    pub(super) const LAST: (&'static str, &'static str) = ("from=last", Self::MEANING);

    const MEANING: &'static str = "distances from the first block of the request served last \
         (from=first) or from just beyond its last (from=last)";
}

/// How a policy measures: the line and the position on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// The line.
    pub by: Line,
    /// The position.
    pub from: Mark,
}

impl Measure {
    /// Reads the parameters `by` and `from`.
    pub(super) fn read(args: &mut Args<'_>, from: Mark) -> Result<Self, InputError> {
        let by = Line::read(args)?;
        let read = |text: &str| match text {
            "first" => Some(Mark::First),
            "last" => Some(Mark::Last),
            _ => None,
        };
        let given = args.maybe("from", "first or last", read)?;
        Ok(Self {
            by,
            from: given.unwrap_or(from),
        })
    }
}
