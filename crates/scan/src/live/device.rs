//! A source as a device, whose time is that of the wall.

use std::sync::Arc;

use diskarm_core::device::{
    Breakdown, Completion, Device, Outcome, Refused, Status, check as checked,
};
use diskarm_core::request::Request;
use diskarm_core::units::{Bytes, Instant, SectorCount, Span};

use super::answers::Answers;
use super::data::Data;
use super::worker::{Answer, End, Job, Worker};
use diskarm_transport::source::{Lost, Size, Source};

/// Reads that took too long and have not ended: with one more the source counts as lost.
const HUNG: usize = 8;

/// A source that threads read, one for each read under way, as a [`Device`] whose instants are
/// those of its [`Answers`]. It takes nothing but reads.
///
/// A connection that is lost is opened again, and what was under way on it is read again. A read
/// for which the source does not answer within the limit ends with [`Status::Aborted`]; its thread
/// is left alone, and another one takes its place. The search for an unreadable block takes several
/// reads of the source, each with this limit. When the source cannot be reached any more, all ends
/// with [`Status::NotReady`] and [`Answers::lost`] says why.
pub struct Live {
    source: Arc<dyn Source>,
    size: Size,
    depth: usize,
    limit: Span,
    answers: Arc<Answers>,
    idle: Vec<Worker>,
    under_way: Vec<UnderWay>,
    /// Threads whose read took too long, by its id.
    hung: Vec<u64>,
    /// The latest instant that was handed in.
    latest: Instant,
}

struct UnderWay {
    id: u64,
    request: Request,
    submitted: Instant,
    worker: Worker,
}

impl UnderWay {
    /// Since when the source has not answered.
    fn since(&self) -> Instant {
        self.submitted.max(self.worker.answered())
    }
}

/// The most blocks of a source, of which a scan keeps sets of one bit for each: 128 TiB in blocks
/// of 512 bytes.
const MAX_SECTORS: u64 = 1 << 38;

impl Live {
    /// Opens a source, for at most `depth` reads at one time. It may take `limit` to answer. What
    /// comes from it goes to `answers`, which serve one such device at a time, and whose clock
    /// begins with this.
    ///
    /// # Errors
    /// It cannot be opened, or is larger than 2^38 blocks.
    pub fn open(
        source: Arc<dyn Source>,
        (depth, limit): (usize, Span),
        answers: Arc<Answers>,
    ) -> Result<Self, Lost> {
        let reader = source.open()?;
        let size = reader.size();
        if size.sectors.0 > MAX_SECTORS {
            let found = size.sectors.0;
            let why = format!("found {found} blocks, expected at most {MAX_SECTORS}");
            return Err(Lost(why));
        }
        answers.begin();
        let first = Worker::start(
            Arc::clone(&source),
            size,
            Some(reader),
            Arc::clone(&answers),
        );
        Ok(Self {
            source,
            size,
            depth,
            limit,
            answers,
            idle: vec![first],
            under_way: Vec::new(),
            hung: Vec::new(),
            latest: Instant::START,
        })
    }

    /// What has come from the source.
    pub fn answers(&self) -> Arc<Answers> {
        Arc::clone(&self.answers)
    }

    /// How large the source is.
    pub fn size(&self) -> Size {
        self.size
    }

    fn deadline(&self) -> Option<Instant> {
        let first = self.under_way.iter().map(UnderWay::since).min();
        first.map(|since| since + self.limit)
    }

    /// The completion of a read that has ended; `None` of one that was given up.
    fn answered(&mut self, answer: Answer) -> Option<Completion> {
        let Some(place) = self.under_way.iter().position(|read| read.id == answer.id) else {
            self.hung.retain(|id| *id != answer.id);
            return None;
        };
        let read = self.under_way.remove(place);
        self.idle.push(read.worker);
        let status = match answer.end {
            End::Whole => Status::Good,
            End::Unreadable(index) => Status::MediumError {
                offset: index as u16,
            },
            End::Lost(why) => {
                self.answers.lose(why);
                Status::NotReady
            }
        };
        self.answers.keep(answer.first, answer.data);
        Some(completion(read.request, answer.sent, answer.at, status))
    }

    /// Gives up the read for which the source has not answered for longest.
    fn give_up(&mut self, now: Instant) -> Option<Completion> {
        let oldest = (0..self.under_way.len()).min_by_key(|at| self.under_way[*at].since())?;
        let read = self.under_way.remove(oldest);
        self.hung.push(read.id);
        if self.hung.len() > HUNG {
            let why = format!("{} reads have not ended", self.hung.len());
            self.answers.lose(Lost(why));
        }
        self.answers.keep(read.request.start, Data::zeroes(0));
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
    /// When the request is no read.
    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Refused> {
        assert!(request.op.is_read(), "{request:?} is no read");
        checked(&request, self.size.sectors)?;
        if !self.has_room() {
            return Err(Refused::Full);
        }
        self.latest = self.latest.max(now);
        let id = self.answers.number();
        let worker = self.idle.pop().unwrap_or_else(|| {
            let source = Arc::clone(&self.source);
            Worker::start(source, self.size, None, self.answers())
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
        let answered = self.answers.next_at();
        let next = answered.or_else(|| self.deadline());
        next.map(|at| at.max(self.latest))
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        self.latest = self.latest.max(now);
        while let Some(answer) = self.answers.take() {
            if let Some(completion) = self.answered(answer) {
                return Some(completion);
            }
        }
        self.deadline()
            .filter(|deadline| *deadline <= now)
            .and_then(|_| self.give_up(now))
    }

    /// What is under way cannot be taken back.
    fn abort(&mut self, _: Instant, _: u64) -> bool {
        false
    }
}

impl Drop for Live {
    /// Lets connections end properly, except for those on which something is under way.
    fn drop(&mut self) {
        for worker in self.idle.drain(..) {
            worker.end();
        }
    }
}
