//! Properties of real drives and hosts that make measurements harder. All are off by default.

use diskarm_core::units::{Instant, Span};
use rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;

/// Ways to report the locations of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Places {
    /// By translating addresses, by notches, and by READ CAPACITY per cylinder.
    #[default]
    Translated,
    /// By notches and by READ CAPACITY per cylinder, but not by translating addresses, as on
    /// Quantum's drives (worthington96 section 4.1.3).
    Notches,
    /// No command reports them.
    Hidden,
}

/// Thermal recalibration: at regular intervals the drive accepts no commands for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recalibration {
    pub every: Span,
    pub lasts: Span,
}

/// The slowdown of a drive that has been idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmUp {
    /// Minimum idle time.
    pub idle: Span,
    pub commands: u32,
    /// The additional time that each command takes.
    pub extra: Span,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Realism {
    pub places: Places,
    /// Mode pages report nominal values: the mean track length and a rounded rotational speed.
    pub nominal: bool,
    /// Standard deviation of the normally distributed error of observed completion times. No
    /// completion is observed before its task was sent or before the previous response.
    pub noise: Span,
    pub recalibration: Option<Recalibration>,
    pub warm_up: Option<WarmUp>,
    /// Makes the default buffer full ratio zero, which lets the drive choose: it starts to send the
    /// data of a read as soon as the transfer can finish without a pause.
    pub adaptive_ratios: bool,
    pub seed: u64,
}

pub(crate) struct Disturbance {
    pub realism: Realism,
    generator: Pcg64Mcg,
    due: Instant,
    /// The time from which the device accepts commands.
    pub free_at: Instant,
    /// Number of further commands that are slowed down.
    cold: u32,
    last_end: Instant,
    last_response: Instant,
}

impl Disturbance {
    pub fn new(realism: Realism) -> Self {
        let every = realism.recalibration.map(|cycle| cycle.every);
        Self {
            realism,
            generator: Pcg64Mcg::seed_from_u64(realism.seed),
            due: every.map_or(Instant::NEVER, |every| Instant::START + every),
            free_at: Instant::START,
            cold: 0,
            last_end: Instant::START,
            last_response: Instant::START,
        }
    }

    /// Returns the observed end of a task that was sent at `sent` and ended at `at`.
    pub fn response_time(&mut self, sent: Instant, at: Instant) -> Instant {
        if self.realism.noise == Span::ZERO {
            return at;
        }
        let normal: f64 = StandardNormal.sample(&mut self.generator);
        let late = Span::from_ns((normal * self.realism.noise.as_ns() as f64) as i64);
        self.last_response = at.shifted(late).max(sent).max(self.last_response);
        self.last_response
    }

    pub fn record_end(&mut self, at: Instant) {
        self.last_end = at;
    }

    /// Delays a command that needs the device, if the drive has to warm up.
    pub fn delay(&mut self, now: Instant, is_idle: bool) {
        if let Some(warm_up) = self.realism.warm_up {
            if is_idle && now.since_or_zero(self.last_end) >= warm_up.idle {
                self.cold = warm_up.commands;
            }
            if self.cold > 0 {
                self.cold -= 1;
                self.free_at = self.free_at.max(now) + warm_up.extra;
            }
        }
    }

    /// Returns true if the device accepts a command at `now`. A recalibration that is due waits for
    /// outstanding commands. If there are none, it has started on time.
    pub fn accepts(&mut self, now: Instant, is_idle: bool) -> bool {
        if let Some(Recalibration { every, lasts }) = self.realism.recalibration
            && now >= self.due
        {
            if !is_idle {
                return false;
            }
            let began = self.due.max(self.last_end);
            self.free_at = self.free_at.max(began + lasts);
            let every = every.as_ns().max(1);
            let periods = (now - self.due).as_ns() / every + 1;
            self.due += Span::from_ns(periods * every);
        }
        self.free_at <= now
    }
}
