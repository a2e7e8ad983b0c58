//! The line on which seek-reducing policies measure distances, and where on it the arm is.

use super::Estimate;
use crate::request::{Op, Request};
use crate::text::{Args, InputError};
use crate::units::{Lbn, SectorCount};

/// How blocks are put on a line: the two levels of knowledge below positioning times
/// (worthington94 sections 5.1, 5.2 and 6.2), and a crude one between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Line {
    /// Block numbers themselves.
    #[default]
    Lbn,
    /// Block numbers by so many to a cylinder.
    Fixed(SectorCount),
    /// Cylinders, exactly.
    Map,
}

impl Line {
    /// What lists say of the parameter.
    pub(super) const PARAMETER: (&'static str, &'static str) = (
        "by=lbn",
        "distances by block number; by so many blocks to a cylinder (by=1024); by the drive's \
         cylinders (by=map). Within a cylinder blocks ascend",
    );

    /// Reads the parameter `by`.
    pub(super) fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let expected = "lbn, map, or a number of blocks to a cylinder, from 1 to 1000000000";
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

    /// A share of its length. A line has far fewer than 2^53 places, so that it is exact where
    /// the share is 0 or 1.
    pub(super) fn share<E: Estimate + ?Sized>(self, share: f64, drive: &E) -> f64 {
        share * self.length(drive) as f64
    }
}

/// Which block of the request served last is the position that the next is measured from
/// (worthington94 section 6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Its first block: requests for the same or for overlapping blocks are then not behind a
    /// sweep that is on its way up.
    First,
    /// Just beyond its last block.
    Last,
}

impl Mark {
    /// What lists say of the parameter where the first block is the default.
    pub(super) const FIRST: (&'static str, &'static str) = ("from=first", Self::MEANING);

    /// The same where the last is.
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
