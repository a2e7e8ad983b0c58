//! What is told when somebody ends a study by Ctrl-C.

use std::path::Path;
use std::process::exit;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use diskarm_study::verdicts::counted;

// A process has one handler, which is told here how far the study has come.
static DONE: AtomicUsize = AtomicUsize::new(0);
static CELLS: AtomicUsize = AtomicUsize::new(0);
static HAS_RESULTS: AtomicBool = AtomicBool::new(false);

/// What shells expect of a program that was interrupted: 128 and the signal's number.
const STATUS: i32 = 130;

/// From now on Ctrl-C tells how many of so many cells are done, and of results in `folder` that
/// they are not of these. It ends the program at once, however long the cells take that are at
/// work: a store outlives that at any instant.
pub fn watch(cells: usize, folder: &Path) {
    static ONCE: Once = Once::new();
    HAS_RESULTS.store(folder.join("results.json").is_file(), Ordering::Relaxed);
    DONE.store(0, Ordering::Relaxed);
    CELLS.store(cells, Ordering::Relaxed);
    ONCE.call_once(|| {
        // Without a handler Ctrl-C ends the program all the same.
        let _ = ctrlc::set_handler(|| {
            let (done, cells) = (DONE.load(Ordering::Relaxed), CELLS.load(Ordering::Relaxed));
            let cells = counted(cells, "cell");
            eprintln!("\nstopped: {done} of {cells} are kept; run it again to go on");
            if HAS_RESULTS.load(Ordering::Relaxed) {
                eprintln!("results and report are those of an earlier run");
            }
            exit(STATUS);
        });
    });
}

/// So many are done.
pub fn at(done: usize) {
    DONE.store(done, Ordering::Relaxed);
}
