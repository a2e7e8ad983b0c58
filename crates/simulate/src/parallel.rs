//! Independent pieces of work on every processor.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// What `work` makes of each number below `count`, in the order of the numbers: the same however
/// many processors there are. `told` hears of how many are done, on the thread of the caller.
pub fn map<T: Send>(
    count: usize,
    work: impl Fn(usize) -> T + Sync,
    told: impl FnMut(u64),
) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    map_on(threads, count, work, told)
}

/// The same on so many threads.
pub fn map_on<T: Send>(
    threads: usize,
    count: usize,
    work: impl Fn(usize) -> T + Sync,
    mut told: impl FnMut(u64),
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let (sender, finished) = mpsc::channel();
    let mut done = thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    // The receiver lives as long as this scope.
                    let _ = sender.send((number, work(number)));
                }
            });
        }
        drop(sender);
        let mut done = Vec::with_capacity(count);
        for piece in finished {
            done.push(piece);
            told(done.len() as u64);
        }
        done
    });
    // Threads finish in any order.
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, piece)| piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_in_order_from_any_number_of_threads() {
        let expected: Vec<usize> = (0..100).map(|number| number * number).collect();
        for threads in [1, 2, 7, 1_000] {
            assert_eq!(
                map_on(threads, 100, |number| number * number, |_| {}),
                expected
            );
        }
        assert!(map_on(3, 0, |number| number, |_| {}).is_empty());
    }
}
