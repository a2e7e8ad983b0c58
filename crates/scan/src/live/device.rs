//! A device in front of a source, which runs in wall-clock time.

use std::sync::Arc;

use diskarm_core::device::{
    Breakdown, Completion, Device, Outcome, Status, SubmitError, check as checked,
};
use diskarm_core::request::Request;
use diskarm_core::units::{Bytes, Instant, SectorCount, Span};

use super::file::PageBuffer;
use super::inbox::{Inbox, ReadEnd, ReadResult};
use super::worker::{Job, Worker};
use diskarm_transport::{Lost, Size, Source};

/// Maximum number of reads that took too long and have not ended: with one more the source counts
/// as lost.
const HUNG: usize = 8;

/// A [`Device`] whose reads are served by threads, one for each read under way, and whose instants
/// are those of its [`Inbox`]. It only accepts reads.
///
/// A lost connection is opened again, and its read is repeated. A read for which the source does
/// not answer within the limit ends with [`Status::Aborted`]; its thread is abandoned and replaced.
/// The search for an unreadable block takes several reads of the source, each with this limit. When
/// the source can no longer be reached, all reads end with [`Status::NotReady`], and
/// [`Inbox::lost`] has the reason.
pub struct Live {
    source: Arc<dyn Source>,
    size: Size,
    depth: usize,
    limit: Span,
    inbox: Arc<Inbox>,
    idle: Vec<Worker>,
    under_way: Vec<UnderWay>,
    /// Ids of reads that took too long.
    hung: Vec<u64>,
    /// The latest instant of a call.
    latest: Instant,
}

struct UnderWay {
    id: u64,
    request: Request,
    submitted: Instant,
    worker: Worker,
}

impl UnderWay {
    /// Returns the start of the current wait for the source.
    fn since(&self) -> Instant {
        self.submitted.max(self.worker.answered())
    }
}

/// Maximum number of blocks of a source, as a scan keeps sets of one bit for each: 128 TiB in
/// blocks of 512 bytes.
const MAX_SECTORS: u64 = 1 << 38;

impl Live {
    /// Opens a source, for at most `depth` reads at the same time. It may take `limit` to answer.
    /// Results go to `inbox`, which serves one such device at a time, and whose clock starts now.
    ///
    /// # Errors
    /// If the source cannot be opened, or is larger than 2^38 blocks.
    pub fn open(
        source: Arc<dyn Source>,
        depth: usize,
        limit: Span,
        inbox: Arc<Inbox>,
    ) -> Result<Self, Lost> {
        let reader = source.open()?;
        let size = reader.size();
        if size.sectors.0 > MAX_SECTORS {
            let found = size.sectors.0;
            let why = format!("found {found} blocks, expected at most {MAX_SECTORS}");
            return Err(Lost(why));
        }
        inbox.restart();
        let first = Worker::start(Arc::clone(&source), size, Some(reader), Arc::clone(&inbox));
        Ok(Self {
            source,
            size,
            depth,
            limit,
            inbox,
            idle: vec![first],
            under_way: Vec::new(),
            hung: Vec::new(),
            latest: Instant::START,
        })
    }

    /// Returns the inbox of the device.
    pub fn inbox(&self) -> Arc<Inbox> {
        Arc::clone(&self.inbox)
    }

    /// Returns the size of the source.
    pub fn size(&self) -> Size {
        self.size
    }

    fn deadline(&self) -> Option<Instant> {
        let first = self.under_way.iter().map(UnderWay::since).min();
        first.map(|since| since + self.limit)
    }

    /// Returns the completion of a read that has ended; `None` if it was given up.
    fn complete(&mut self, result: ReadResult) -> Option<Completion> {
        let Some(index) = self.under_way.iter().position(|read| read.id == result.id) else {
            self.hung.retain(|id| *id != result.id);
            return None;
        };
        let read = self.under_way.remove(index);
        self.idle.push(read.worker);
        let status = match result.end {
            ReadEnd::Whole => Status::Good,
            ReadEnd::Unreadable(index) => Status::MediumError {
                offset: index as u16,
            },
            ReadEnd::Lost(why) => {
                self.inbox.lose(why);
                Status::NotReady
            }
        };
        self.inbox.keep(result.first, result.data);
        Some(completion(read.request, result.sent, result.at, status))
    }

    /// Gives up the read for which the source has not answered for longest.
    fn give_up(&mut self, now: Instant) -> Option<Completion> {
        let oldest = (0..self.under_way.len()).min_by_key(|at| self.under_way[*at].since())?;
        let read = self.under_way.remove(oldest);
        self.hung.push(read.id);
        if self.hung.len() > HUNG {
            let why = format!("{} reads have not ended", self.hung.len());
            self.inbox.lose(Lost(why));
        }
        self.inbox.keep(read.request.start, PageBuffer::new(0));
        let aborted = Status::Aborted;
        Some(completion(read.request, read.submitted, now, aborted))
    }
}

fn completion(request: Request, arrived: Instant, at: Instant, status: Status) -> Completion {
    Completion {
        request,
        arrived,
        at,
        breakdown: Breakdown {
            transfer: at - arrived,
            ..Breakdown::default()
        },
        outcome: Outcome::Miss,
        status,
    }
}

impl Device for Live {
    fn capacity(&self) -> SectorCount {
        self.size.sectors
    }

    fn sector_size(&self) -> Bytes {
        self.size.sector
    }

    fn has_room(&self) -> bool {
        self.under_way.len() < self.depth
    }

    /// # Panics
    /// If the request is not a read.
    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        assert!(request.op.is_read(), "{request:?} is not a read");
        checked(&request, self.size.sectors)?;
        if !self.has_room() {
            return Err(SubmitError::Full);
        }
        self.latest = self.latest.max(now);
        let id = self.inbox.next_id();
        let worker = self.idle.pop().unwrap_or_else(|| {
            let source = Arc::clone(&self.source);
            Worker::start(source, self.size, None, self.inbox())
        });
        worker.send(Job {
            id,
            first: request.start,
            sectors: request.sectors.0,
        });
        self.under_way.push(UnderWay {
            id,
            request,
            submitted: now,
            worker,
        });
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        let answered = self.inbox.next_at();
        let next = answered.or_else(|| self.deadline());
        next.map(|at| at.max(self.latest))
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        self.latest = self.latest.max(now);
        while let Some(result) = self.inbox.take() {
            if let Some(completion) = self.complete(result) {
                return Some(completion);
            }
        }
        self.deadline()
            .filter(|deadline| *deadline <= now)
            .and_then(|_| self.give_up(now))
    }

    /// Returns false: reads under way cannot be cancelled.
    fn abort(&mut self, _: Instant, _: u64) -> bool {
        false
    }
}

impl Drop for Live {
    /// Ends connections properly, except those with a read under way.
    fn drop(&mut self) {
        for worker in self.idle.drain(..) {
            worker.end();
        }
    }
}
