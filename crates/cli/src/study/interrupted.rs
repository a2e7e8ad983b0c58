//! What is told when somebody ends a study by Ctrl-C.

use std::process::exit;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use diskarm_study::verdicts::counted;

// A process has one handler, which is told here how far the study has come.
static DONE: AtomicUsize = AtomicUsize::new(0);
static CELLS: AtomicUsize = AtomicUsize::new(0);

/// What shells expect of a program that was interrupted: 128 and the signal's number.
const STATUS: i32 = 130;

/// From now on Ctrl-C tells how many of so many cells are done. It ends the program at once,
/// however long the cells take that are at work: a store outlives that at any instant.
pub fn watch(cells: usize) {
    static ONCE: Once = Once::new();
    DONE.store(0, Ordering::Relaxed);
    CELLS.store(cells, Ordering::Relaxed);
    ONCE.call_once(|| {
        // Without a handler Ctrl-C ends the program all the same.
        let _ = ctrlc::set_handler(|| {
            let (done, cells) = (DONE.load(Ordering::Relaxed), CELLS.load(Ordering::Relaxed));
            let cells = counted(cells, "cell");
            eprintln!("\nstopped: {done} of {cells} are kept; run it again to go on");
            exit(STATUS);
        });
    });
}

/// So many are done.
pub fn at(done: usize) {
    DONE.store(done, Ordering::Relaxed);
}
