//! A validation's replays, spread over threads.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use diskarm_core::engine::Rejected;
use diskarm_core::validate::{Replayed, Validation, Variant};

use crate::progress::Progress;

/// All replays in the order of [`Validation::variants`], on every processor.
///
/// # Errors
/// The first refusal, in that order.
pub fn all(validation: &Validation<'_>) -> Result<Vec<Replayed>, Rejected> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    on_threads(validation, threads)
}

/// The same on so many threads.
fn on_threads(validation: &Validation<'_>, threads: usize) -> Result<Vec<Replayed>, Rejected> {
    let variants: Vec<Variant> = Validation::variants().collect();
    let mut progress = Progress::new(Some(variants.len() as u64));
    let next = AtomicUsize::new(0);
    let (sender, finished) = mpsc::channel();
    let mut replays = thread::scope(|scope| {
        for _ in 0..threads.min(variants.len()) {
            let (sender, next, variants) = (sender.clone(), &next, &variants);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&variant) = variants.get(index) else {
                        return;
                    };
                    // The receiver lives as long as this scope.
                    let _ = sender.send((index, validation.replay(variant)));
                }
            });
        }
        drop(sender);
        let mut replays = Vec::with_capacity(variants.len());
        for replay in finished {
            replays.push(replay);
            progress.at(replays.len() as u64);
        }
        replays
    });
    // Threads finish in any order.
    replays.sort_by_key(|(index, _)| *index);
    replays.into_iter().map(|(_, replay)| replay).collect()
}

#[cfg(test)]
mod tests {
    use diskarm_core::engine::Step;
    use diskarm_core::request::{Op, Request};
    use diskarm_core::units::{Lbn, SectorCount, Span};
    use diskarm_core::validate::{Figures, Measured};

    use super::*;
    use crate::drive_arg;

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let drive = drive_arg::choose("--drive", "hp-c2247").unwrap_or_else(|e| panic!("{e}"));
        let row = |id: u64| Measured {
            step: Step {
                request: Request {
                    id,
                    op: if id.is_multiple_of(3) {
                        Op::Write
                    } else {
                        Op::Read
                    },
                    start: Lbn(id * 7_919 * 131 % 2_000_000),
                    sectors: SectorCount(1 + id % 40),
                },
                think: Span::from_us((id * 1_237 % 30_001) as f64),
            },
            response: Span::from_ms(15.0),
        };
        let rows = (0..500).map(row).collect();
        let validation = Validation::new(&drive.spec, drive.layout.clone(), rows);
        let replays = |threads| on_threads(&validation, threads).unwrap_or_else(|e| panic!("{e}"));
        let one = replays(1);
        assert_ne!(one[0], one[16]);
        for threads in [2, 5, 100] {
            let many = replays(threads);
            assert_eq!(one, many, "{threads} threads");
            assert_eq!(
                Figures::of(&validation, &one),
                Figures::of(&validation, &many)
            );
        }
    }
}
