//! How much later than it is decided a drive gets a command, and than it ends one is answered.

use diskarm_core::request::{Op, Request};
use diskarm_core::units::{Instant, Span};

/// By which part of a deviation the means are adjusted.
const PART: i64 = 16;

/// The largest deviation that counts, in nanoseconds: longer ones are those of another program, or
/// of the model.
const MAX: i64 = 500_000;

/// By which part of a deviation the moments of [`Data`] are adjusted: about 250 commands tell.
const PART_OF_DATA: f64 = 1.0 / 256.0;

/// What the variance of sizes is taken to be more than it is, in blocks squared: where sizes hardly
/// differ, chance would make a slope.
const MORE_VARIANCE: f64 = 64.0;

/// How many mean deviations of both kinds a plan allows for: four standard deviations of a normal
/// distribution, whose mean deviation is 0.8 of one.
const SURE: u64 = 5;

/// The lag of commands and of their answers. In virtual time there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lag {
    /// From the decision to the sending.
    sending: Mean,
    /// From the sending to the drive, and from its answer back; `None` if there is no way.
    way: Option<Mean>,
    /// How far answers of any kind are off, except for those that are off by more than [`MAX`].
    answers: Span,
    data: Data,
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
        widen(&mut self.deviation, off);
    }
}

/// Adjusts a mean deviation.
fn widen(deviation: &mut Span, off: i64) {
    *deviation += Span::from_ns((off.abs() - deviation.as_ns()) / PART);
}

/// How much later an answer comes the more data it brings: the slope of the regression line of how
/// late reads are on their size, from moving moments.
#[derive(Clone, Copy, Debug, Default)]
struct Data {
    /// The means of sizes, in blocks, and of how late reads were, in nanoseconds.
    means: Option<(f64, f64)>,
    variance_of_sizes: f64,
    covariance: f64,
}

impl Data {
    fn of_block_ns(&self) -> f64 {
        self.covariance.max(0.0) / (self.variance_of_sizes + MORE_VARIANCE)
    }

    fn take(&mut self, blocks: f64, late_ns: f64) {
        let means = self.means.get_or_insert((blocks, late_ns));
        let off = (blocks - means.0, late_ns - means.1);
        means.0 += off.0 * PART_OF_DATA;
        means.1 += off.1 * PART_OF_DATA;
        self.variance_of_sizes += (off.0 * off.0 - self.variance_of_sizes) * PART_OF_DATA;
        self.covariance += (off.0 * off.1 - self.covariance) * PART_OF_DATA;
    }
}

impl Lag {
    /// From now on the way is learnt.
    pub fn learn_the_way(&mut self) {
        self.way = Some(Mean::default());
    }

    /// What it is in the mean. Completions are late, too, and with them the angle of the platter
    /// that they tell, so this has the ways in both directions.
    pub fn mean(&self) -> Span {
        self.sending.of + self.way.unwrap_or_default().of
    }

    /// What it hardly ever exceeds. If commands take varying times to arrive, answers of the media
    /// are late by a revolution or not at all, and only those of the buffer show it. If the host is
    /// disturbed, answers of both kinds vary, and those of the media are many. What else moves
    /// answers by less than half a millisecond, such as a model that is not exact, also counts.
    pub fn max(&self) -> Span {
        let way = self.way.unwrap_or_default();
        let deviation = way.deviation.max(self.answers);
        self.mean() + (self.sending.deviation + deviation) * SURE
    }

    /// How much later a request is answered for the data that its answer brings.
    pub fn of_data(&self, request: &Request) -> Span {
        match request.op {
            Op::Read => {
                let ns = self.data.of_block_ns() * request.sectors.0 as f64;
                Span::from_ns(ns.round() as i64)
            }
            _ => Span::ZERO,
        }
    }

    /// Learns from a command that was to be sent at `decided` and was at `sent`.
    pub fn sent(&mut self, decided: Instant, sent: Instant) {
        let off = sent.after(decided + self.sending.of).as_ns();
        self.sending.take(off.clamp(-MAX, MAX));
    }

    /// Learns from a command that was answered this much later than predicted, with
    /// [`Self::of_data`] in the prediction; by the buffer if it `is_hit`: then no error of the
    /// mechanics is in it.
    pub fn answered(&mut self, request: &Request, error: Span, is_hit: bool) {
        let of_data = self.of_data(request);
        let Some(way) = &mut self.way else {
            return;
        };
        let off = error.as_ns().clamp(-MAX, MAX);
        if request.op == Op::Read {
            let late_ns = (off + of_data.as_ns()) as f64;
            self.data.take(request.sectors.0 as f64, late_ns);
        }
        if is_hit {
            way.take(off);
            way.of = way.of.or_zero();
        }
        if error.as_ns().abs() <= MAX {
            widen(&mut self.answers, off);
        }
    }
}
