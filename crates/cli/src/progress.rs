//! Progress bars.

use std::fmt::Write;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Shorter work shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

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
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
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
        None => "{spinner} {human_pos}  {elapsed}",
    };
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
    // The templates are fixed; with a mistake in one, the plain style would be used.
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.with_key("left", left)),
        Err(_) => bar,
    }
}
