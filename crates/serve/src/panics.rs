//! Panics in the threads of a server, which must not end more than they concern. A program that
//! aborts when it panics, such as a release of `diskarm`, ends nevertheless.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`. If it panics, reports the `consequence` on standard error, after the message of the
/// panic, and returns `None`; the caller then drops what `work` may have left inconsistent.
pub fn contain<T>(consequence: &str, work: impl FnOnce() -> T) -> Option<T> {
    let result = catch_unwind(AssertUnwindSafe(work));
    if result.is_err() {
        let _ = writeln!(
            io::stderr(),
            "diskarm: {consequence}, because of the error above, a fault in this program"
        );
    }
    result.ok()
}
