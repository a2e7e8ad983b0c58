//! The threads that read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use diskarm_core::units::{Instant, Lbn};

use super::answers::Answers;
use super::data::Data;
use diskarm_transport::source::{Fault, Lost, Reader, Size, Source};

/// How often a read is tried again on another connection.
const CONNECTIONS: u32 = 3;

/// How often a connection is tried to be opened, and the pause after the first attempt that fails;
/// each of the others is followed by double the pause before.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(250);

/// Reads that the search for an unreadable block takes at most: twice those of halving the longest
/// command, and some.
const MAX_READS: u32 = 40;

#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub id: u64,
    pub first: Lbn,
    pub sectors: u64,
}

/// What became of it.
pub struct Answer {
    pub id: u64,
    pub first: Lbn,
    /// When it was sent.
    pub sent: Instant,
    pub at: Instant,
    pub data: Data,
    pub end: End,
}

/// How a read ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All blocks were read.
    Whole,
    /// Those before the one of this index were, which cannot be.
    Unreadable(u64),
    /// The source is gone.
    Lost(Lost),
}

/// A thread that reads, with a connection of its own.
pub struct Worker {
    jobs: Sender<Job>,
    /// When the source last answered it, in ns on the clock of the answers.
    answered: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Worker {
    /// Begins one. It takes over a connection, or opens one for its first read.
    pub fn start(
        source: Arc<dyn Source>,
        size: Size,
        reader: Option<Box<dyn Reader>>,
        answers: Arc<Answers>,
    ) -> Self {
        let (jobs, taken) = channel();
        let answered = Arc::default();
        let line = Line {
            source,
            size,
            reader,
            answers,
            answered: Arc::clone(&answered),
        };
        let thread = std::thread::spawn(move || work(line, &taken));
        Self {
            jobs,
            answered,
            thread,
        }
    }

    /// When the source last answered it: one job may take several reads.
    pub fn answered(&self) -> Instant {
        Instant::from_ns(self.answered.load(Ordering::Acquire))
    }

    /// Gives it a read. Its answer goes to the answers.
    pub fn send(&self, job: Job) {
        // A thread only ends when nobody can send to it.
        let _ = self.jobs.send(job);
    }

    /// Ends it, when it has nothing to do.
    pub fn end(self) {
        drop(self.jobs);
        // One that panicked has ended too.
        let _ = self.thread.join();
    }
}

fn work(mut line: Line, jobs: &Receiver<Job>) {
    for job in jobs {
        let mut data = Data::zeroes((job.sectors * line.size.sector.0) as usize);
        let sent = line.answers.now();
        let end = line.serve(&job, &mut data);
        line.answers.put(Answer {
            id: job.id,
            first: job.first,
            sent,
            at: line.answers.now(),
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
    answers: Arc<Answers>,
    answered: Arc<AtomicU64>,
}

impl Line {
    fn serve(&mut self, job: &Job, data: &mut Data) -> End {
        let sector = self.size.sector.0 as usize;
        let mut search = Search::of(job.sectors);
        let mut losses = 0;
        for _ in 0..MAX_READS {
            let mut reader = match self.reader.take().map_or_else(|| self.opened(), Ok) {
                Ok(reader) => reader,
                Err(why) => return End::Lost(why),
            };
            let (begin, end) = (search.good, search.good + search.piece);
            let room = &mut data[begin as usize * sector..end as usize * sector];
            let read = reader.read(Lbn(job.first.0 + begin), room);
            let now = self.answers.now().as_ns();
            self.answered.store(now, Ordering::Release);
            match read {
                Err(Fault::Lost(why)) if losses + 1 == CONNECTIONS => return End::Lost(why),
                Err(Fault::Lost(_)) => {
                    losses += 1;
                    continue;
                }
                Ok(()) => search.take(Ok(())),
                Err(Fault::Unreadable(at)) => {
                    let index = at.and_then(|at| at.0.checked_sub(job.first.0 + begin));
                    search.take(Err(index));
                }
            }
            self.reader = Some(reader);
            losses = 0;
            if let Some(end) = search.end {
                return end;
            }
        }
        End::Lost(Lost(
            "reads of the same blocks fail now and then".to_owned(),
        ))
    }

    /// A new connection, to what is as large as it was.
    fn opened(&self) -> Result<Box<dyn Reader>, Lost> {
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

/// A search for the first block that cannot be read, by halves where the source does not tell.
struct Search {
    all: u64,
    /// Blocks before this are read.
    good: u64,
    /// The first that cannot be read is before this, if it is not the end of all.
    bound: u64,
    /// How many to read next.
    piece: u64,
    end: Option<End>,
}

impl Search {
    fn of(all: u64) -> Self {
        Self {
            all,
            good: 0,
            bound: all,
            piece: all,
            end: None,
        }
    }

    /// Takes note of how the next piece was read: if it was not, with the index in it of the first
    /// block that cannot be, if the source tells.
    fn take(&mut self, read: Result<(), Option<u64>>) {
        match read {
            Ok(()) => {
                self.good += self.piece;
                if self.good == self.all {
                    self.end = Some(End::Whole);
                }
                self.piece = match self.bound - self.good {
                    // What could not be read can be now.
                    0 => 1,
                    _ if self.bound == self.all => self.all - self.good,
                    left => left.div_ceil(2),
                };
                if self.good == self.bound {
                    self.bound = self.all;
                }
            }
            Err(_) if self.piece == 1 => self.end = Some(End::Unreadable(self.good)),
            Err(index) => {
                let index = index.filter(|index| *index < self.piece);
                self.bound = self.good + index.map_or(self.piece, |index| index + 1);
                self.piece = index.map_or(self.piece / 2, |index| index.max(1));
            }
        }
    }
}
