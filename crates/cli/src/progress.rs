//! Progress bars.

use std::fmt::Write;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use diskarm_simulate::parallel;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

const DELAY: Duration = Duration::from_secs(1);

/// The number of steps of a bar that shows a fraction.
const STEPS: u64 = 1_000;

/// A bar on standard error, if that is a terminal and the work takes over a second; erased on drop.
pub struct Progress {
    /// `None` if standard error is not a terminal.
    bar: Option<ProgressBar>,
    began: Instant,
}

impl Progress {
    pub fn new(total: Option<u64>) -> Self {
        Self {
            bar: std::io::stderr().is_terminal().then(|| hidden_bar(total)),
            ..Self::none()
        }
    }

    pub fn counting(what: &'static str) -> Self {
        let progress = Self::new(None);
        if let Some(bar) = &progress.bar {
            bar.set_message(what);
        }
        progress
    }

    pub fn with_fraction() -> Self {
        let progress = Self::new(Some(STEPS));
        if let Some(bar) = &progress.bar
            && let Ok(style) = ProgressStyle::with_template("{bar:40} {percent:>3} %  {left}")
        {
            bar.set_style(style.with_key("left", write_remaining_time));
        }
        progress
    }

    pub fn none() -> Self {
        Self {
            bar: None,
            began: Instant::now(),
        }
    }

    /// Shows that `done` steps are finished. Reads the clock: a million calls would be slow.
    pub fn set(&self, done: u64) {
        let Some(bar) = &self.bar else { return };
        if bar.is_hidden() {
            if self.began.elapsed() < DELAY {
                return;
            }
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        bar.set_position(done);
    }

    /// Shows that this fraction of the work is done, from 0 to 1.
    pub fn set_fraction(&self, fraction: f64) {
        self.set((fraction * STEPS as f64) as u64);
    }

    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A bar with a message about the current step, shown under the conditions of [`Progress`].
pub struct StepProgress {
    progress: Progress,
    shown: Option<Instant>,
}

const PERIOD: Duration = Duration::from_millis(100);

impl StepProgress {
    pub fn new(total: u64) -> Self {
        let progress = Progress::new(Some(total));
        if let Some(bar) = &progress.bar
            && let Ok(style) = ProgressStyle::with_template("{bar:20} {pos} of {len}  {msg}")
        {
            bar.set_style(style);
        }
        Self {
            progress,
            shown: None,
        }
    }

    /// Shows that `done` steps are finished, and the current step. May be called often.
    pub fn set(&mut self, done: u64, doing: impl FnOnce() -> String) {
        let Some(bar) = &self.progress.bar else {
            return;
        };
        if self.shown.is_some_and(|shown| shown.elapsed() < PERIOD) {
            return;
        }
        self.shown = Some(Instant::now());
        bar.set_message(doing());
        self.progress.set(done);
    }
}

/// Writes the remaining time, once it can be estimated.
fn write_remaining_time(state: &ProgressState, out: &mut dyn Write) {
    if state.pos() > 0 {
        // Errors in writing a bar are ignored.
        let _ = write!(out, "{:#} left", HumanDuration(state.eta()));
    }
}

fn hidden_bar(total: Option<u64>) -> ProgressBar {
    let template = match total {
        Some(_) => "{bar:40} {percent:>3} %  {human_pos} of {human_len}  {left}",
        None => "{spinner} {human_pos} {msg}  {elapsed}",
    };
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
    // The templates are fixed; if one were invalid, the plain style would be used.
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.with_key("left", write_remaining_time)),
        Err(_) => bar,
    }
}

pub fn parallel_map<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let progress = Progress::new(Some(count as u64));
    parallel::map(count, work, |done| progress.set(done))
}
