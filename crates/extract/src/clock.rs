//! The angle of the platter, derived from completion times.
//!
//! A one-sector command served from the media ends a fixed time after its sector has passed. So the
//! completion time modulo the period gives the angle of the sector plus a constant, and the
//! difference between two completions gives the angle between two sectors.
//!
//! The constant is the time from the media to the host, which cannot be observed. On this clock,
//! each sector passes later by this constant, which is when a read of it ends.

use diskarm_core::geometry::Extent;
use diskarm_core::units::Instant;

use crate::Estimate;
use crate::estimate::Line;
use crate::rotation::Rotation;
use crate::threshold::span;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// Effective number of completions that the clock averages.
const MEMORY: f64 = 2000.0;
/// Number of writes needed to estimate their completion overhead.
const MIN_WRITES: u64 = 20;

/// The platter's angle over time.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    period: f64,
    /// Time at which angle zero passes, in nanoseconds. The first read sets it.
    origin: Option<f64>,
    /// Lateness of passes relative to the origin and the period, by number of revolutions.
    late: Line,
    /// Weight of the initial period, relative to the weight of a completion.
    prior: f64,
    /// Maximum random deviation of completions served from the media, in nanoseconds.
    tolerance: f64,
    /// Completion overhead of writes minus that of reads, after a read and after a write.
    writes: [Line; 2],
}

impl Clock {
    pub fn new(rotation: &Rotation) -> Self {
        let scatter = rotation.scatter_ns.max(1.0);
        Self {
            period: rotation.period_ns,
            origin: None,
            late: Line::new(1.0 - 1.0 / MEMORY),
            prior: (scatter / rotation.uncertainty_ns.max(0.1)).powi(2),
            tolerance: (6.0 * scatter).max(2_000.0),
            writes: [Line::new(1.0); 2],
        }
    }

    pub fn period(&self) -> f64 {
        self.period + self.late.slope(self.prior)
    }

    pub fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// Returns the time at which the angle `turns` first passes, at `from` or later.
    pub fn pass(&self, turns: f64, from: f64) -> f64 {
        let origin = self.origin.unwrap_or(from);
        let period = self.period();
        let count = ((from - origin) / self.period - turns).floor();
        let late = |turns: f64| origin + turns * self.period + self.late.value(turns, self.prior);
        let mut pass = late(count - 1.0 + turns);
        while pass < from {
            pass += period;
        }
        pass
    }

    /// Returns how much later writes end than reads; `None` if too few were observed.
    pub fn write_delay(&self, before: Access) -> Option<f64> {
        let line = &self.writes[before as usize];
        (line.points() >= MIN_WRITES).then(|| line.value(0.0, f64::INFINITY))
    }

    /// Returns [`Self::write_delay`] with its 95 % interval.
    pub fn write_delay_estimate(&self, before: Access) -> Option<Estimate> {
        let line = &self.writes[before as usize];
        let uncertainty = 2.0 * line.scatter() / (line.points() as f64).sqrt();
        Some(Estimate {
            value: span(self.write_delay(before)?),
            uncertainty: span(uncertainty),
            samples: line.points(),
        })
    }

    /// Returns the time, possibly negative, from the nearest pass of the sector's end to `end`.
    pub fn lateness(&self, end: f64, sector: &Extent) -> f64 {
        let turns = (sector.start + sector.sector_angle).as_revolutions();
        let half = self.period() / 2.0;
        end - self.pass(turns, end - half)
    }

    /// Records the end of a one-sector command on the media. Returns true if it was as expected.
    pub fn record(&mut self, access: Access, before: Access, ended: Instant, at: &Extent) -> bool {
        let end = ended.as_ns() as f64;
        let turns = (at.start + at.sector_angle).as_revolutions();
        let origin = *self.origin.get_or_insert(end - turns * self.period);
        let lateness = self.lateness(end, at);
        let later = match access {
            Access::Read => Some(0.0),
            Access::Write => self.write_delay(before),
        };
        if later.is_some_and(|later| (lateness - later).abs() > self.tolerance) {
            return false;
        }
        if access == Access::Write {
            let line = &mut self.writes[before as usize];
            // Taken relative to the mean, so that delays of about half a revolution do not wrap.
            let first = match line.points() {
                0 => lateness,
                _ => line.value(0.0, f64::INFINITY),
            };
            let turns = ((lateness - first) / self.period).round();
            line.add(0.0, lateness - turns * self.period);
        }
        if let Some(later) = later {
            let count = ((end - later - origin) / self.period - turns).round() + turns;
            let late = end - later - origin - count * self.period;
            self.late.add(count, late);
        }
        true
    }
}
