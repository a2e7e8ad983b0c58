//! The message when a study is interrupted by Ctrl-C.

use std::path::Path;
use std::process::exit;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use diskarm_study::verdicts::counted;

use crate::error::INTERRUPTED;

// A process has one handler; these hold the progress that it prints.
static DONE: AtomicUsize = AtomicUsize::new(0);
static CELLS: AtomicUsize = AtomicUsize::new(0);
static HAS_RESULTS: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C prints how many of the cells are finished, and whether `folder` has results
/// of an earlier run. It ends the program at once, without waiting for running cells: the store
/// stays valid.
pub fn watch(cells: usize, folder: &Path) {
    static ONCE: Once = Once::new();
    HAS_RESULTS.store(folder.join("results.json").is_file(), Ordering::Relaxed);
    DONE.store(0, Ordering::Relaxed);
    CELLS.store(cells, Ordering::Relaxed);
    ONCE.call_once(|| {
        // Without a handler Ctrl-C still ends the program.
        let _ = ctrlc::set_handler(|| {
            let (done, cells) = (DONE.load(Ordering::Relaxed), CELLS.load(Ordering::Relaxed));
            let cells = counted(cells, "cell");
            eprintln!("\nstopped: {done} of {cells} are kept; run it again to continue");
            if HAS_RESULTS.load(Ordering::Relaxed) {
                eprintln!("results and report are from an earlier run");
            }
            exit(INTERRUPTED);
        });
    });
}

/// Records the number of finished cells.
pub fn at(done: usize) {
    DONE.store(done, Ordering::Relaxed);
}
