//! Conversion between the blocks of traces and the sectors of a drive.

use diskarm_core::request::Request;
use diskarm_core::units::{Lbn, SectorCount};
use diskarm_trace::{Record, TraceError};

use crate::error::Error;
use crate::model::Model;

/// Size of a trace's block.
const BLOCK_BYTES: u32 = 512;

/// Turns rows of a trace into requests to one drive.
#[derive(Clone, Copy)]
pub struct Blocks {
    /// The number of blocks that fit on the drive.
    count: u64,
    /// The drive's sectors per block, if sectors are no larger, or else one.
    sectors_per_block: u64,
    /// Blocks per sector of the drive, if sectors are larger, or else one.
    blocks_per_sector: u64,
}

impl Blocks {
    /// The conversion for the drive `model`.
    ///
    /// # Errors
    /// If neither of a block and a sector of the drive is a whole number of the other.
    pub fn of(model: &Model) -> Result<Self, Error> {
        let sector_bytes = model.spec.geometry.sector_bytes;
        let is_divisor = BLOCK_BYTES.is_multiple_of(sector_bytes);
        if !is_divisor && !sector_bytes.is_multiple_of(BLOCK_BYTES) {
            let expected = format!(
                "a drive whose sectors divide a trace's blocks of {BLOCK_BYTES} bytes or are \
                 multiples of them; its have {sector_bytes}"
            );
            return Err(Error::argument("drive", &model.name, expected));
        }
        let sectors_per_block = u64::from(BLOCK_BYTES / sector_bytes).max(1);
        let blocks_per_sector = u64::from(sector_bytes / BLOCK_BYTES).max(1);
        Ok(Self {
            count: model.disk().sectors.0 * blocks_per_sector / sectors_per_block,
            sectors_per_block,
            blocks_per_sector,
        })
    }

    /// The number of blocks that fit on the drive.
    pub fn room(self) -> SectorCount {
        SectorCount(self.count)
    }

    /// The blocks that a request touches: the first, and how many.
    pub fn touched(self, request: &Request) -> (Lbn, SectorCount) {
        let first = request.start.0 * self.blocks_per_sector / self.sectors_per_block;
        let end = (request.end().0 * self.blocks_per_sector).div_ceil(self.sectors_per_block);
        (Lbn(first), SectorCount(end - first))
    }

    /// Whether the drive can only serve larger requests than `record`, as it does not begin and
    /// end with sectors.
    #[inline]
    pub fn widens(self, record: &Record) -> bool {
        let of = self.blocks_per_sector;
        of > 1 && !(record.start.0.is_multiple_of(of) && record.sectors.0.is_multiple_of(of))
    }

    /// What such records become.
    pub fn widened(self, count: u64) -> String {
        let bytes = u64::from(BLOCK_BYTES) * self.blocks_per_sector;
        let requests = if count == 1 { "request" } else { "requests" };
        format!("{count} {requests} widened to whole sectors of {bytes} bytes")
    }

    /// The request, with the given `id`, for `record`, a row of `file`: for whole sectors.
    ///
    /// # Errors
    /// If the request extends beyond the end of the drive.
    #[inline(always)]
    pub fn request(self, record: &Record, id: u64, file: &str) -> Result<Request, Error> {
        if record.end().0 > self.count {
            return Err(self.beyond_the_end(record, file));
        }
        // Two divisions that almost no drive needs.
        let (first, end) = match self.blocks_per_sector {
            1 => (record.start.0, record.end().0),
            of => (record.start.0 / of, record.end().0.div_ceil(of)),
        };
        let sectors = SectorCount((end - first) * self.sectors_per_block);
        let first = Lbn(first * self.sectors_per_block);
        Ok(Request::new(id, record.op, first, sectors))
    }

    #[cold]
    fn beyond_the_end(self, record: &Record, file: &str) -> Error {
        let found = format!("{} sectors from {}", record.sectors.0, record.start.0);
        let expected = format!("at most {} blocks", self.count);
        TraceError::value(file, record.location, "lbn", &found, &expected).into()
    }
}
