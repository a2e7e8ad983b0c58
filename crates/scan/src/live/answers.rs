//! Where threads that read leave what they have read.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant as Wall};

use diskarm_core::units::{Bytes, Instant, Lbn, SectorCount};

use super::data::Data;
use super::worker::Answer;
use diskarm_transport::source::Lost;

/// What has come from a source, and the clock that it is timed with.
pub struct Answers {
    shared: Mutex<Shared>,
    came: Condvar,
}

struct Shared {
    begun: Wall,
    /// How many reads were sent.
    sent: u64,
    queue: VecDeque<Answer>,
    /// The data of the completion that was taken last, and its first block.
    last: Option<(Lbn, Arc<Data>)>,
    lost: Option<Lost>,
    is_stopped: bool,
}

impl Default for Answers {
    fn default() -> Self {
        Self {
            shared: Mutex::new(Shared {
                begun: Wall::now(),
                sent: 0,
                queue: VecDeque::new(),
                last: None,
                lost: None,
                is_stopped: false,
            }),
            came: Condvar::new(),
        }
    }
}

impl Answers {
    /// Lets the clock begin anew, without what has come before.
    pub(super) fn begin(&self) {
        let mut shared = self.lock();
        shared.begun = Wall::now();
        shared.queue.clear();
    }

    /// The present instant on the clock that completions are timed with.
    pub fn now(&self) -> Instant {
        self.lock().now()
    }

    /// A number for a read that nothing else has.
    pub(super) fn number(&self) -> u64 {
        let mut shared = self.lock();
        shared.sent += 1;
        shared.sent
    }

    /// Waits until something has come that nobody has taken, or until an instant.
    pub fn wait(&self, until: Option<Instant>) {
        let mut shared = self.lock();
        while shared.queue.is_empty() && !shared.is_stopped {
            let Some(until) = until else {
                shared = self
                    .came
                    .wait(shared)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = until.since_or_zero(shared.now()).as_ns() as u64;
            if left == 0 {
                return;
            }
            let waited = self.came.wait_timeout(shared, Duration::from_nanos(left));
            shared = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends what is run as soon as may be; may be called from another thread.
    pub fn stop(&self) {
        self.lock().is_stopped = true;
        self.came.notify_all();
    }

    /// Whether [`Self::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }

    /// Why the source does not answer any more.
    pub fn lost(&self) -> Option<Lost> {
        self.lock().lost.clone()
    }

    /// The data of blocks that the completion taken last has brought.
    ///
    /// # Panics
    /// When it has not brought these.
    pub fn data(&self, first: Lbn, sectors: SectorCount, sector: Bytes) -> Brought {
        let last = self.lock().last.clone();
        let Some((from, data)) = last else {
            panic!("nothing was read");
        };
        let begin = ((first - from).0 * sector.0) as usize;
        let end = begin + (sectors.0 * sector.0) as usize;
        assert!(
            end <= data.len(),
            "{sectors:?} from {first:?} were not read"
        );
        Brought { data, begin, end }
    }

    pub(super) fn put(&self, answer: Answer) {
        self.lock().queue.push_back(answer);
        self.came.notify_all();
    }

    pub(super) fn next_at(&self) -> Option<Instant> {
        self.lock().queue.front().map(|answer| answer.at)
    }

    pub(super) fn take(&self) -> Option<Answer> {
        self.lock().queue.pop_front()
    }

    pub(super) fn keep(&self, first: Lbn, data: Data) {
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
        let passed = self.begun.elapsed().as_nanos();
        Instant::from_ns(u64::try_from(passed).unwrap_or(u64::MAX >> 1))
    }
}

/// Data that were read.
#[derive(Clone)]
pub struct Brought {
    data: Arc<Data>,
    begin: usize,
    end: usize,
}

impl std::ops::Deref for Brought {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.data[self.begin..self.end]
    }
}
