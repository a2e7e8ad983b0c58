//! The inbox into which reading threads put their results.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant as HostInstant};

use diskarm_core::units::{Bytes, Instant, Lbn, SectorCount};

use super::file::PageBuffer;
use diskarm_transport::Lost;

/// The results of reads of a source, and the clock that times them.
pub struct Inbox {
    shared: Mutex<Shared>,
    changed: Condvar,
}

struct Shared {
    start: HostInstant,
    /// Number of reads sent so far.
    sent: u64,
    queue: VecDeque<ReadResult>,
    /// The first block and the data of the last completion.
    last: Option<(Lbn, Arc<PageBuffer>)>,
    lost: Option<Lost>,
    is_stopped: bool,
}

impl Default for Inbox {
    fn default() -> Self {
        Self {
            shared: Mutex::new(Shared {
                start: HostInstant::now(),
                sent: 0,
                queue: VecDeque::new(),
                last: None,
                lost: None,
                is_stopped: false,
            }),
            changed: Condvar::new(),
        }
    }
}

impl Inbox {
    /// Restarts the clock, and drops all results.
    pub(super) fn restart(&self) {
        let mut shared = self.lock();
        shared.start = HostInstant::now();
        shared.queue.clear();
    }

    /// Returns the current instant on the clock that times completions.
    pub fn now(&self) -> Instant {
        self.lock().now()
    }

    pub(super) fn next_id(&self) -> u64 {
        let mut shared = self.lock();
        shared.sent += 1;
        shared.sent
    }

    /// Waits until a result is available or the given instant is reached.
    pub fn wait(&self, until: Option<Instant>) {
        let mut shared = self.lock();
        while shared.queue.is_empty() && !shared.is_stopped {
            let Some(until) = until else {
                let waited = self.changed.wait(shared);
                shared = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let remaining = until.since_or_zero(shared.now()).as_ns() as u64;
            if remaining == 0 {
                return;
            }
            let remaining = Duration::from_nanos(remaining);
            let waited = self.changed.wait_timeout(shared, remaining);
            shared = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends the run as soon as possible; may be called from another thread.
    pub fn stop(&self) {
        self.lock().is_stopped = true;
        self.changed.notify_all();
    }

    pub fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }

    /// Returns the reason why the source no longer answers.
    pub fn lost(&self) -> Option<Lost> {
        self.lock().lost.clone()
    }

    /// Returns data read by the last completion. Panics if it did not read these blocks.
    pub fn data(&self, first: Lbn, sectors: SectorCount, sector: Bytes) -> ReadData {
        let last = self.lock().last.clone();
        let (from, data) = last.expect("nothing was read");
        let begin = ((first - from).0 * sector.0) as usize;
        let end = begin + (sectors.0 * sector.0) as usize;
        let was_read = end <= data.len();
        assert!(was_read, "{sectors:?} from {first:?} were not read");
        ReadData { data, begin, end }
    }

    pub(super) fn put(&self, result: ReadResult) {
        self.lock().queue.push_back(result);
        self.changed.notify_all();
    }

    pub(super) fn next_at(&self) -> Option<Instant> {
        self.lock().queue.front().map(|result| result.at)
    }

    pub(super) fn take(&self) -> Option<ReadResult> {
        self.lock().queue.pop_front()
    }

    pub(super) fn keep(&self, first: Lbn, data: PageBuffer) {
        self.lock().last = Some((first, Arc::new(data)));
    }

    pub(super) fn lose(&self, why: Lost) {
        self.lock().lost.get_or_insert(why);
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    fn now(&self) -> Instant {
        let elapsed = self.start.elapsed().as_nanos();
        Instant::from_ns(u64::try_from(elapsed).unwrap_or(u64::MAX >> 1))
    }
}

/// The data of some blocks of a read.
#[derive(Clone)]
pub struct ReadData {
    data: Arc<PageBuffer>,
    begin: usize,
    end: usize,
}

impl Deref for ReadData {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.data[self.begin..self.end]
    }
}

pub struct ReadResult {
    pub id: u64,
    pub first: Lbn,
    pub sent: Instant,
    pub at: Instant,
    pub data: PageBuffer,
    pub end: ReadOutcome,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// All blocks were read.
    Whole,
    /// The block with this index is unreadable; those before it were read.
    Unreadable(u64),
    /// The source no longer answers.
    Lost(Lost),
}
