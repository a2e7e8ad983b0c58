//! Progress bars.

use std::fmt::Write;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Shorter work shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// The steps of a bar of something that has none.
const STEPS: u64 = 1_000;

/// A bar on standard error, if that is a terminal and the work takes longer than a second.
/// It disappears when dropped.
pub struct Progress {
    /// `None` if standard error is not a terminal.
    bar: Option<ProgressBar>,
    began: Instant,
}

impl Progress {
    /// A bar of `total` steps, if known.
    pub fn new(total: Option<u64>) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| hidden(total));
        Self {
            bar,
            began: Instant::now(),
        }
    }

    /// Counts `what` is done, of a number that is not known.
    pub fn counting(what: &'static str) -> Self {
        let progress = Self::new(None);
        if let Some(bar) = &progress.bar {
            bar.set_message(what);
        }
        progress
    }

    /// A bar of what is to be done as a whole; see [`Self::at_share`].
    pub fn of_whole() -> Self {
        let progress = Self::new(Some(STEPS));
        if let Some(bar) = &progress.bar
            && let Ok(style) = ProgressStyle::with_template("{bar:40} {percent:>3} %  {left}")
        {
            bar.set_style(style.with_key("left", left));
        }
        progress
    }

    /// No bar.
    pub fn none() -> Self {
        Self {
            bar: None,
            began: Instant::now(),
        }
    }

    /// Shows that `done` steps are finished. Reads the clock, so it should not be called for each
    /// of a million steps.
    pub fn at(&self, done: u64) {
        let Some(bar) = &self.bar else { return };
        if bar.is_hidden() {
            if self.began.elapsed() < PATIENCE {
                return;
            }
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        bar.set_position(done);
    }

    /// Shows that this share of the whole is done, from 0 to 1.
    pub fn at_share(&self, share: f64) {
        self.at((share * STEPS as f64) as u64);
    }

    /// Takes it away: the work is done.
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

/// A bar that also shows what is being done. Like [`Progress`] it is shown on a terminal only, and
/// only if the work takes longer than a second.
pub struct Steps {
    progress: Progress,
    shown: Option<Instant>,
}

/// Time between two updates of the message.
const PERIOD: Duration = Duration::from_millis(100);

impl Steps {
    /// A bar of `total` steps.
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

    /// Shows that `done` steps are finished, and what is being done. May be called often.
    pub fn at(&mut self, done: u64, doing: impl FnOnce() -> String) {
        let Some(bar) = &self.progress.bar else {
            return;
        };
        if self.shown.is_some_and(|shown| shown.elapsed() < PERIOD) {
            return;
        }
        self.shown = Some(Instant::now());
        bar.set_message(doing());
        self.progress.at(done);
    }
}

/// The remaining time, once it can be estimated.
fn left(state: &ProgressState, out: &mut dyn Write) {
    if state.pos() > 0 {
        // Errors in writing a bar are ignored.
        let _ = write!(out, "{:#} left", HumanDuration(state.eta()));
    }
}

fn hidden(total: Option<u64>) -> ProgressBar {
    let template = match total {
        Some(_) => "{bar:40} {percent:>3} %  {human_pos} of {human_len}  {left}",
        None => "{spinner} {human_pos} {msg}  {elapsed}",
    };
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
    // The templates are fixed; with a mistake in one, the plain style would be used.
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.with_key("left", left)),
        Err(_) => bar,
    }
}
