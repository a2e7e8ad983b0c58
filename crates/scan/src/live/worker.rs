//! The threads that read a source.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use diskarm_core::units::{Instant, Lbn};

use super::file::PageBuffer;
use super::inbox::{Inbox, ReadEnd, ReadResult};
use diskarm_transport::{Fault, Lost, Reader, Size, Source};

/// Maximum number of connections on which a read is tried.
const CONNECTIONS: u32 = 3;

/// Maximum number of attempts to open a connection.
const ATTEMPTS: u32 = 5;
/// Pause after the first failed attempt; it doubles with each further one.
const PAUSE: Duration = Duration::from_millis(250);

/// Maximum number of reads in the search for an unreadable block: twice those of halving the
/// longest command, and some more.
const MAX_READS: u32 = 40;

#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub id: u64,
    pub first: Lbn,
    pub sectors: u64,
}

/// A reading thread with a connection of its own.
pub struct Worker {
    jobs: Sender<Job>,
    /// The last answer of the source, in ns on the clock of the inbox.
    answered: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Worker {
    /// Starts a thread. It takes over a connection, or opens one for its first read.
    pub fn start(
        source: Arc<dyn Source>,
        size: Size,
        reader: Option<Box<dyn Reader>>,
        inbox: Arc<Inbox>,
    ) -> Self {
        let (jobs, receiver) = channel();
        let answered = Arc::default();
        let line = Line {
            source,
            size,
            reader,
            inbox,
            answered: Arc::clone(&answered),
        };
        let thread = std::thread::spawn(move || work(line, &receiver));
        Self {
            jobs,
            answered,
            thread,
        }
    }

    /// Returns when the source last answered; one job may take several reads.
    pub fn answered(&self) -> Instant {
        Instant::from_ns(self.answered.load(Ordering::Acquire))
    }

    /// Starts a read. Its result goes to the inbox.
    pub fn send(&self, job: Job) {
        // The thread only ends when the sender is gone.
        let _ = self.jobs.send(job);
    }

    /// Ends an idle thread.
    pub fn end(self) {
        drop(self.jobs);
        // A thread that panicked has ended too.
        let _ = self.thread.join();
    }
}

fn work(mut line: Line, jobs: &Receiver<Job>) {
    for job in jobs {
        let mut data = PageBuffer::new((job.sectors * line.size.sector.0) as usize);
        let sent = line.inbox.now();
        let end = line.serve(&job, &mut data);
        line.inbox.put(ReadResult {
            id: job.id,
            first: job.first,
            sent,
            at: line.inbox.now(),
            data,
            end,
        });
    }
}

/// A connection that is opened again when it is lost.
struct Line {
    source: Arc<dyn Source>,
    size: Size,
    reader: Option<Box<dyn Reader>>,
    inbox: Arc<Inbox>,
    answered: Arc<AtomicU64>,
}

impl Line {
    fn serve(&mut self, job: &Job, data: &mut PageBuffer) -> ReadEnd {
        let sector = self.size.sector.0 as usize;
        let mut search = Search::new(job.sectors);
        let mut losses = 0;
        for _ in 0..MAX_READS {
            let mut reader = match self.reader.take().map_or_else(|| self.reopen(), Ok) {
                Ok(reader) => reader,
                Err(why) => return ReadEnd::Lost(why),
            };
            let (begin, end) = (search.good, search.good + search.piece);
            let buffer = &mut data[begin as usize * sector..end as usize * sector];
            let read = reader.read(Lbn(job.first.0 + begin), buffer);
            let now = self.inbox.now().as_ns();
            self.answered.store(now, Ordering::Release);
            match read {
                Err(Fault::Lost(why)) if losses + 1 == CONNECTIONS => {
                    return ReadEnd::Lost(why);
                }
                Err(Fault::Lost(_)) => {
                    losses += 1;
                    continue;
                }
                Ok(()) => search.record(Ok(())),
                Err(Fault::Unreadable(at)) => {
                    let index = at.and_then(|at| at.0.checked_sub(job.first.0 + begin));
                    search.record(Err(index));
                }
            }
            self.reader = Some(reader);
            losses = 0;
            if let Some(end) = search.end {
                return end;
            }
        }
        ReadEnd::Lost(Lost(
            "reads of the same blocks fail intermittently".to_owned(),
        ))
    }

    /// Opens a new connection to a source of the same size.
    fn reopen(&self) -> Result<Box<dyn Reader>, Lost> {
        let mut pause = PAUSE;
        for attempt in 1.. {
            match self.source.open() {
                Ok(reader) if reader.size() == self.size => return Ok(reader),
                Ok(reader) => {
                    let (found, expected) = (reader.size(), self.size);
                    let why = format!("found another device: {found:?}, expected {expected:?}");
                    return Err(Lost(why));
                }
                Err(why) if attempt == ATTEMPTS => return Err(why),
                Err(_) => std::thread::sleep(pause),
            }
            pause *= 2;
        }
        unreachable!("the last attempt returns")
    }
}

/// A search for the first unreadable block, by halves if the source does not report it.
struct Search {
    all: u64,
    /// Number of blocks that are read, from the first.
    good: u64,
    /// An upper bound on the first unreadable block, unless it equals `all`.
    bound: u64,
    /// Number of blocks to read next.
    piece: u64,
    end: Option<ReadEnd>,
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

    /// Records the result of the next read: an error has the index of the first unreadable block,
    /// if the source reports it.
    fn record(&mut self, read: Result<(), Option<u64>>) {
        match read {
            Ok(()) => {
                self.good += self.piece;
                if self.good == self.all {
                    self.end = Some(ReadEnd::Whole);
                }
                self.piece = match self.bound - self.good {
                    // Blocks that were unreadable have been read now.
                    0 => 1,
                    _ if self.bound == self.all => self.all - self.good,
                    left => left.div_ceil(2),
                };
                if self.good == self.bound {
                    self.bound = self.all;
                }
            }
            Err(_) if self.piece == 1 => self.end = Some(ReadEnd::Unreadable(self.good)),
            Err(index) => {
                let index = index.filter(|index| *index < self.piece);
                self.bound = self.good + index.map_or(self.piece, |index| index + 1);
                self.piece = index.map_or(self.piece / 2, |index| index.max(1));
            }
        }
    }
}
