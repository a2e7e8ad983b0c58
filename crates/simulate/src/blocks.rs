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
    /// The drive's sectors per block; at least one.
    sectors_per_block: u64,
}

impl Blocks {
    /// The conversion for the drive `model`.
    ///
    /// # Errors
    /// If a block is not a whole number of the drive's sectors.
    pub fn of(model: &Model) -> Result<Self, Error> {
        let sector_bytes = model.spec.geometry.sector_bytes;
        if !BLOCK_BYTES.is_multiple_of(sector_bytes) {
            let expected = format!(
                "a drive whose sectors divide a trace's blocks of {BLOCK_BYTES} bytes; its have \
                 {sector_bytes}"
            );
            return Err(Error::argument("drive", &model.name, expected));
        }
        let sectors_per_block = u64::from(BLOCK_BYTES / sector_bytes);
        Ok(Self {
            count: model.disk().sectors.0 / sectors_per_block,
            sectors_per_block,
        })
    }

    /// The number of blocks that fit on the drive.
    pub fn room(self) -> SectorCount {
        SectorCount(self.count)
    }

    /// The blocks that a request touches: the first, and how many.
    pub fn touched(self, request: &Request) -> (Lbn, SectorCount) {
        let first = request.start.0 / self.sectors_per_block;
        let end = request.end().0.div_ceil(self.sectors_per_block);
        (Lbn(first), SectorCount(end - first))
    }

    /// The request, with the given `id`, for `record`, a row of `file`.
    ///
    /// # Errors
    /// If the request extends beyond the end of the drive.
    #[inline]
    pub fn request(self, record: &Record, id: u64, file: &str) -> Result<Request, Error> {
        if record.end().0 > self.count {
            return Err(self.beyond_the_end(record, file));
        }
        Ok(Request::new(
            id,
            record.op,
            Lbn(record.start.0 * self.sectors_per_block),
            SectorCount(record.sectors.0 * self.sectors_per_block),
        ))
    }

    #[cold]
    fn beyond_the_end(self, record: &Record, file: &str) -> Error {
        let found = format!("{} sectors from {}", record.sectors.0, record.start.0);
        let expected = format!("at most {} blocks", self.count);
        TraceError::value(file, record.location, "lbn", &found, &expected).into()
    }
}
