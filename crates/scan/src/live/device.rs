//! A device in front of a source, in wall-clock time, and the threads that read the source.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use diskarm_core::device::{Breakdown, Completion, Device, Outcome, Status, SubmitError, check};
use diskarm_core::request::Request;
use diskarm_core::units::{Bytes, Instant, Lbn, SectorCount, Span};
use diskarm_transport::{Fault, Lost, Reader, Size, Source};

use super::file::PageBuffer;
use super::inbox::{Inbox, ReadOutcome, ReadResult};

/// Maximum number of late reads that have not ended; with one more, the source counts as lost.
const MAX_HUNG_READS: usize = 8;

/// A [`Device`] whose reads are served by threads, one per read in progress, and whose instants are
/// those of its [`Inbox`]. It only accepts reads.
///
/// A lost connection is reopened, and its read is repeated. A read that the source does not answer
/// within the limit ends with [`Status::Aborted`]; its thread is abandoned and replaced. The search
/// for an unreadable block takes several reads, each with this limit. When the source can no longer
/// be reached, all reads end with [`Status::NotReady`], and [`Inbox::lost`] returns why.
pub struct Live {
    source: Arc<dyn Source>,
    size: Size,
    depth: usize,
    limit: Span,
    inbox: Arc<Inbox>,
    idle: Vec<Worker>,
    active: Vec<ActiveRead>,
    /// Ids of reads that took too long and have not ended.
    hung: Vec<u64>,
    /// The latest instant that was passed to a call.
    latest: Instant,
}

struct ActiveRead {
    id: u64,
    request: Request,
    submitted: Instant,
    worker: Worker,
}

impl ActiveRead {
    /// Returns the start of the current wait for the source.
    fn since(&self) -> Instant {
        self.submitted.max(self.worker.answered())
    }
}

/// Maximum number of blocks of a source: 128 TiB of 512-byte blocks. A block set has one bit per
/// block.
pub(crate) const MAX_SECTORS: u64 = 1 << 38;

impl Live {
    /// Opens a source for at most `depth` reads at the same time, each of which it must answer
    /// within `limit`. Results go to `inbox`, which serves one such device at a time, and whose
    /// clock starts now. Fails if the source cannot be opened or is larger than 2^38 blocks.
    pub fn open(
        source: Arc<dyn Source>,
        depth: usize,
        limit: Span,
        inbox: Arc<Inbox>,
    ) -> Result<Self, Lost> {
        let reader = source.open()?;
        let size = reader.size();
        let sectors = size.sectors.0;
        if sectors > MAX_SECTORS {
            let why = format!("found {sectors} blocks, expected at most {MAX_SECTORS}");
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
            active: Vec::new(),
            hung: Vec::new(),
            latest: Instant::START,
        })
    }

    pub fn inbox(&self) -> Arc<Inbox> {
        Arc::clone(&self.inbox)
    }

    pub fn size(&self) -> Size {
        self.size
    }

    fn deadline(&self) -> Option<Instant> {
        let first = self.active.iter().map(ActiveRead::since).min();
        first.map(|since| since + self.limit)
    }

    /// Returns the completion of a read that has ended; `None` if the read was given up.
    fn complete(&mut self, result: ReadResult) -> Option<Completion> {
        let Some(index) = self.active.iter().position(|read| read.id == result.id) else {
            self.hung.retain(|id| *id != result.id);
            return None;
        };
        let read = self.active.remove(index);
        self.idle.push(read.worker);
        let status = match result.end {
            ReadOutcome::Whole => Status::Good,
            ReadOutcome::Unreadable(index) => Status::MediumError {
                offset: index as u16,
            },
            ReadOutcome::Lost(why) => {
                self.inbox.lose(why);
                Status::NotReady
            }
        };
        self.inbox.keep(result.first, result.data);
        Some(completion(read.request, result.sent, result.at, status))
    }

    /// Gives up the read that has been waiting longest for an answer.
    fn give_up(&mut self, now: Instant) -> Option<Completion> {
        let oldest = (0..self.active.len()).min_by_key(|at| self.active[*at].since())?;
        let read = self.active.remove(oldest);
        self.hung.push(read.id);
        if self.hung.len() > MAX_HUNG_READS {
            let why = format!("{} reads have not been answered", self.hung.len());
            self.inbox.lose(Lost(why));
        }
        self.inbox.keep(read.request.start, PageBuffer::new(0));
        Some(completion(
            read.request,
            read.submitted,
            now,
            Status::Aborted,
        ))
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
        self.active.len() < self.depth
    }

    /// # Panics
    /// If the request is not a read.
    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        assert!(request.op.is_read(), "{request:?} is not a read");
        check(&request, self.size.sectors)?;
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
        self.active.push(ActiveRead {
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
        let is_late = self.deadline().is_some_and(|deadline| deadline <= now);
        is_late.then(|| self.give_up(now)).flatten()
    }

    /// Returns false: reads in progress cannot be cancelled.
    fn abort(&mut self, _: Instant, _: u64) -> bool {
        false
    }
}

impl Drop for Live {
    /// Ends connections properly, except those with a read in progress.
    fn drop(&mut self) {
        for worker in self.idle.drain(..) {
            worker.end();
        }
    }
}

/// Maximum number of connections on which a read is attempted.
const MAX_CONNECTIONS: u32 = 3;

/// Maximum number of attempts to open a connection.
const MAX_ATTEMPTS: u32 = 5;
/// Pause after the first failed attempt; it doubles with each further attempt.
const PAUSE: Duration = Duration::from_millis(250);

/// Maximum number of reads in the search for an unreadable block: somewhat more than twice the
/// number needed to bisect the longest command.
const MAX_READS: u32 = 40;

#[derive(Clone, Copy, Debug)]
struct Job {
    id: u64,
    first: Lbn,
    sectors: u64,
}

/// A reading thread with its own connection.
struct Worker {
    jobs: Sender<Job>,
    /// The time of the source's last answer, in ns on the clock of the inbox.
    answered: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Worker {
    /// Starts a thread. It takes over `reader`, or opens a connection for its first read.
    fn start(
        source: Arc<dyn Source>,
        size: Size,
        reader: Option<Box<dyn Reader>>,
        inbox: Arc<Inbox>,
    ) -> Self {
        let (jobs, receiver) = channel();
        let answered = Arc::default();
        let connection = Connection {
            source,
            size,
            reader,
            inbox,
            answered: Arc::clone(&answered),
        };
        let thread = std::thread::spawn(move || work(connection, &receiver));
        Self {
            jobs,
            answered,
            thread,
        }
    }

    /// Returns the time of the source's last answer; one job may take several reads.
    fn answered(&self) -> Instant {
        Instant::from_ns(self.answered.load(Ordering::Acquire))
    }

    fn send(&self, job: Job) {
        // The thread ends only when the sender is dropped.
        let _ = self.jobs.send(job);
    }

    fn end(self) {
        drop(self.jobs);
        // A thread that panicked has also ended.
        let _ = self.thread.join();
    }
}

fn work(mut connection: Connection, jobs: &Receiver<Job>) {
    for job in jobs {
        let mut data = PageBuffer::new((job.sectors * connection.size.sector.0) as usize);
        let sent = connection.inbox.now();
        let end = connection.serve(&job, &mut data);
        connection.inbox.put(ReadResult {
            id: job.id,
            first: job.first,
            sent,
            at: connection.inbox.now(),
            data,
            end,
        });
    }
}

/// A connection that is reopened when it is lost.
struct Connection {
    source: Arc<dyn Source>,
    size: Size,
    reader: Option<Box<dyn Reader>>,
    inbox: Arc<Inbox>,
    answered: Arc<AtomicU64>,
}

impl Connection {
    fn serve(&mut self, job: &Job, data: &mut PageBuffer) -> ReadOutcome {
        let sector = self.size.sector.0 as usize;
        let mut search = Search::new(job.sectors);
        let mut losses = 0;
        for _ in 0..MAX_READS {
            let mut reader = match self.reader.take().map_or_else(|| self.reopen(), Ok) {
                Ok(reader) => reader,
                Err(why) => return ReadOutcome::Lost(why),
            };
            let (begin, end) = (search.good, search.good + search.piece);
            let buffer = &mut data[begin as usize * sector..end as usize * sector];
            let read = reader.read(Lbn(job.first.0 + begin), buffer);
            let now = self.inbox.now().as_ns();
            self.answered.store(now, Ordering::Release);
            search.record(match read {
                Err(Fault::Lost(why)) if losses + 1 == MAX_CONNECTIONS => {
                    return ReadOutcome::Lost(why);
                }
                Err(Fault::Lost(_)) => {
                    losses += 1;
                    continue;
                }
                Ok(()) => Ok(()),
                Err(Fault::Unreadable(at)) => {
                    Err(at.and_then(|at| at.0.checked_sub(job.first.0 + begin)))
                }
            });
            self.reader = Some(reader);
            losses = 0;
            if let Some(end) = search.end {
                return end;
            }
        }
        let why = "reads of the same blocks fail intermittently";
        ReadOutcome::Lost(Lost(why.to_owned()))
    }

    /// Opens a new connection to the source, which must still have the same size.
    fn reopen(&self) -> Result<Box<dyn Reader>, Lost> {
        let mut pause = PAUSE;
        for attempt in 1.. {
            match self.source.open() {
                Ok(reader) if reader.size() == self.size => return Ok(reader),
                Ok(reader) => {
                    let (found, expected) = (reader.size(), self.size);
                    let why = format!("the size changed: found {found:?}, expected {expected:?}");
                    return Err(Lost(why));
                }
                Err(why) if attempt == MAX_ATTEMPTS => return Err(why),
                Err(_) => std::thread::sleep(pause),
            }
            pause *= 2;
        }
        unreachable!("the last attempt returns")
    }
}

/// A search for the first unreadable block, by bisection if the source does not report it.
struct Search {
    all: u64,
    /// Number of blocks read so far, from the first.
    good: u64,
    /// The end of a range known to contain an unreadable block; `all` if none is known.
    bound: u64,
    /// Number of blocks to read next.
    piece: u64,
    end: Option<ReadOutcome>,
}

impl Search {
    fn new(all: u64) -> Self {
        Self {
            all,
            good: 0,
            bound: all,
            piece: all,
            end: None,
        }
    }

    /// Records the result of a read; an error has the index of the unreadable block, if known.
    fn record(&mut self, read: Result<(), Option<u64>>) {
        match read {
            Ok(()) => {
                self.good += self.piece;
                if self.good == self.all {
                    self.end = Some(ReadOutcome::Whole);
                }
                self.piece = match self.bound - self.good {
                    // Blocks that were unreadable before have now been read.
                    0 => 1,
                    _ if self.bound == self.all => self.all - self.good,
                    left => left.div_ceil(2),
                };
                if self.good == self.bound {
                    self.bound = self.all;
                }
            }
            Err(_) if self.piece == 1 => self.end = Some(ReadOutcome::Unreadable(self.good)),
            Err(index) => {
                let index = index.filter(|index| *index < self.piece);
                self.bound = self.good + index.map_or(self.piece, |index| index + 1);
                self.piece = index.map_or(self.piece / 2, |index| index.max(1));
            }
        }
    }
}
