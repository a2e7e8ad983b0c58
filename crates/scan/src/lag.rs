//! How much later than it is decided a drive gets a command.

use diskarm_core::units::{Instant, Span};

/// By which part of a deviation the means are adjusted.
const PART: i64 = 16;

/// The largest deviation that counts, in nanoseconds: longer ones are those of another program, or
/// of the model.
const MAX: i64 = 500_000;

/// How many mean deviations of both kinds a plan allows for. That of a normal distribution is 0.8
/// times its standard deviation.
const SURE: u64 = 3;

/// The lag of commands. In virtual time there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lag {
    /// From the decision to the sending.
    sending: Mean,
    /// From the sending to the drive, and from its answer back; `None` if there is no way.
    way: Option<Span>,
    /// The mean of how far answers are off.
    answers: Span,
}

/// A moving mean and the mean deviation from it.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    of: Span,
    deviation: Span,
}

impl Mean {
    fn take(&mut self, off: i64) {
        self.of += Span::from_ns(off / PART);
        adjust(&mut self.deviation, off.abs());
    }
}

/// Adjusts a moving mean of nanoseconds.
fn adjust(mean: &mut Span, value: i64) {
    *mean += Span::from_ns((value - mean.as_ns()) / PART);
}

impl Lag {
    /// From now on the way is learnt.
    pub fn learn_the_way(&mut self) {
        self.way = Some(Span::ZERO);
    }

    /// What it is in the mean. Completions are late, too, and with them the angle of the platter
    /// that they tell, so this has the ways in both directions.
    pub fn mean(&self) -> Span {
        self.sending.of + self.way.unwrap_or_default()
    }

    /// What it hardly ever exceeds.
    pub fn max(&self) -> Span {
        self.mean() + (self.sending.deviation + self.answers) * SURE
    }

    /// Learns from a command that was to be sent at `decided` and was at `sent`.
    pub fn sent(&mut self, decided: Instant, sent: Instant) {
        let off = sent.after(decided + self.sending.of).as_ns();
        self.sending.take(off.clamp(-MAX, MAX));
    }

    /// Learns from a command that was answered this much later than predicted, by the buffer if it
    /// `is_hit`, which no other cause makes late.
    pub fn answered(&mut self, error: Span, is_hit: bool) {
        let Some(way) = &mut self.way else {
            return;
        };
        let off = error.as_ns();
        if off.abs() <= MAX {
            adjust(&mut self.answers, off.abs());
        }
        if is_hit {
            let off = off.clamp(-MAX, MAX);
            *way = Span::from_ns(way.as_ns() + off / PART).or_zero();
        }
    }
}
