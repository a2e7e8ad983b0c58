//! Independent jobs on all processors.

use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Calls `work` for each number below `count` on all processors, and returns the results in order.
/// `progress` is called with the number of finished jobs, on any thread. Panics if no thread
/// starts.
pub fn map<T: Send>(
    count: usize,
    work: impl Fn(usize) -> T + Sync,
    progress: impl Fn(u64) + Sync,
) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    map_on(threads, count, work, progress)
}

/// Creates a pool of `threads` threads, or panics. It must not outlive the calling function, or it
/// would hang processes that Python's `multiprocessing` forks from this one.
pub fn pool(threads: usize) -> ThreadPool {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap_or_else(|error| panic!("cannot start threads: {error}"))
}

/// Like [`map`], on `threads` threads.
pub(crate) fn map_on<T: Send>(
    threads: usize,
    count: usize,
    work: impl Fn(usize) -> T + Sync,
    progress: impl Fn(u64) + Sync,
) -> Vec<T> {
    let done = AtomicU64::new(0);
    let job = |number| {
        let result = work(number);
        progress(1 + done.fetch_add(1, Ordering::Relaxed));
        result
    };
    // One number at a time, because jobs take unequal times.
    pool(threads.min(count.max(1))).install(|| {
        let numbers = (0..count).into_par_iter().with_max_len(1);
        numbers.map(job).collect()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn results_are_in_order_for_any_number_of_threads() {
        let expected: Vec<usize> = (0..100).map(|number| number * number).collect();
        for threads in [1, 2, 7] {
            let counts = Mutex::new(Vec::new());
            let count = |done| counts.lock().expect("no thread panicked").push(done);
            let squares = map_on(threads, 100, |number| number * number, count);
            assert_eq!(squares, expected, "{threads} threads");
            let mut counts = counts.into_inner().expect("no thread panicked");
            counts.sort_unstable();
            assert_eq!(counts, (1..=100).collect::<Vec<u64>>());
        }
        assert!(map_on(3, 0, |number| number, |_| {}).is_empty());
    }
}
