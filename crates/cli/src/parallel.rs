//! Independent jobs on all processors, with a progress bar.

use diskarm_simulate::parallel;

use crate::progress::Progress;

/// [`parallel::map`] with a progress bar.
pub fn map<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let progress = Progress::new(Some(count as u64));
    parallel::map(count, work, |done| progress.at(done))
}
