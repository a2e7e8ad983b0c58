//! The requests of a stream, without their times.

use super::places::{PlaceSampler, PlacedRequest, PlacementSpace, UnplacedRequest};
use super::sizes::SizeSampler;
use super::{Disk, Stream};
use crate::random::{Chance, Generator, Purpose, WeightedChoice, below, generator};
use crate::request::{Op, Request};
use crate::units::{Lbn, SectorCount};

/// Number of requests generated at a time: a tight loop keeps the generator in registers, which is
/// three times as fast as one call per request.
const BATCH: usize = 32;

/// An endless sequence of requests.
#[derive(Clone, Debug)]
pub struct Requests {
    /// Generated requests; those from `next` on have not been returned yet.
    batch: [Request; BATCH],
    next: usize,
    stream: StreamRequests,
}

/// The state from which requests are generated.
#[derive(Clone, Debug)]
struct StreamRequests {
    generator: Generator,
    reads: Chance,
    size: SizeSampler,
    places: WeightedChoice<PlaceSampler>,
    last: Option<PlacedRequest>,
    /// Sectors per unit, and units of the disk.
    unit: u64,
    units: u64,
    next_id: u64,
    id_step: u64,
}

impl Requests {
    pub(super) fn new(stream: &Stream, disk: Disk, seed: u64, number: usize, count: usize) -> Self {
        let bounds = stream.sizes.bounds();
        let space = PlacementSpace::new(disk, bounds);
        let empty = Request {
            stream: number as u16,
            ..Request::new(0, Op::Read, Lbn(0), SectorCount(0))
        };
        Self {
            batch: [empty; BATCH],
            next: BATCH,
            stream: StreamRequests {
                generator: generator(seed, number, Purpose::Requests),
                reads: Chance::new(stream.read_share),
                size: stream.sizes.sampler(bounds),
                places: stream.places.sampler(space),
                last: None,
                unit: space.unit,
                units: space.units,
                next_id: number as u64,
                id_step: count as u64,
            },
        }
    }

    /// Returns the next request of the endless sequence.
    #[inline]
    pub fn next_request(&mut self) -> Request {
        if let Some(request) = self.batch.get(self.next) {
            self.next += 1;
            return *request;
        }
        self.refill()
    }

    /// Generates the next batch and returns its first request.
    #[cold]
    fn refill(&mut self) -> Request {
        self.stream.fill(&mut self.batch);
        self.next = 1;
        self.batch[0]
    }
}

impl Iterator for Requests {
    type Item = Request;

    #[inline]
    fn next(&mut self) -> Option<Request> {
        Some(self.next_request())
    }
}

impl StreamRequests {
    fn fill(&mut self, batch: &mut [Request; BATCH]) {
        let is_plain = matches!(
            (&self.size, self.places.only()),
            (SizeSampler::Fixed(_), Some(PlaceSampler::Uniform(_)))
        );
        if is_plain {
            self.fill_plain(batch);
        } else {
            self.fill_any(batch);
        }
    }

    /// Handles one size and uniform placement, as in most studies. Generates the same requests as
    /// [`Self::fill_any`], in half the time.
    fn fill_plain(&mut self, batch: &mut [Request; BATCH]) {
        let mut generator = self.generator.clone();
        let sectors = SectorCount(self.unit);
        for request in batch {
            let is_read = self.reads.hits(&mut generator);
            let start = Lbn(below(&mut generator, self.units) * self.unit);
            // All other fields are the same in every request of the stream.
            request.id = self.next_id;
            request.op = if is_read { Op::Read } else { Op::Write };
            request.start = start;
            request.sectors = sectors;
            self.next_id += self.id_step;
        }
        self.generator = generator;
    }

    fn fill_any(&mut self, batch: &mut [Request; BATCH]) {
        let mut generator = self.generator.clone();
        let (mut id, mut last) = (self.next_id, self.last);
        for request in batch {
            let is_read = self.reads.hits(&mut generator);
            let mut unplaced = UnplacedRequest {
                op: if is_read { Op::Read } else { Op::Write },
                size: self.size.next(&mut generator),
                last,
            };
            let places = self.places.take(&mut generator);
            let start = places.next(&mut generator, &mut unplaced);
            let UnplacedRequest { size, op, .. } = unplaced;
            let end = start + size;
            last = Some(PlacedRequest { start, end, op });
            request.id = id;
            request.op = op;
            request.start = Lbn(start * self.unit);
            request.sectors = SectorCount(size * self.unit);
            id += self.id_step;
        }
        self.generator = generator;
        (self.next_id, self.last) = (id, last);
    }
}
