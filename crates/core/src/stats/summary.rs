//! Summary of response times.

use super::student::half_width_95;
use super::{BatchMeans, Histogram, Moments};
use crate::units::Span;

/// Moments, percentiles and confidence interval of a series of response times.
///
/// Recording costs about 35 instructions; memory is that of [`Histogram`] and 1 KiB.
///
/// ```
/// use diskarm_core::stats::ResponseSummary;
/// use diskarm_core::units::Span;
/// let mut summary = ResponseSummary::default();
/// for ms in [2.0, 4.0, 9.0] {
///     summary.record(Span::from_ms(ms));
/// }
/// let figures = summary.figures().unwrap();
/// assert_eq!(figures.mean_ms, 5.0);
/// assert_eq!(figures.max_ms, 9.0);
/// assert_eq!(figures.ci95_ms, None); // Too few.
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseSummary {
    moments: Moments,
    histogram: Histogram,
    batches: BatchMeans,
}

/// The figures of a [`ResponseSummary`], as plain numbers for output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResponseStats {
    /// Number of responses.
    pub count: u64,
    /// Mean.
    pub mean_ms: f64,
    /// Half the width of the mean's 95 % confidence interval; `None` below 512 responses.
    pub ci95_ms: Option<f64>,
    /// Standard deviation; `None` below two responses.
    pub std_ms: Option<f64>,
    /// Squared coefficient of variation; `None` below two responses or with a mean of zero.
    pub cv2: Option<f64>,
    /// Median; this and the next four to within 0.1 % or 64 ns.
    pub p50_ms: f64,
    /// 90th percentile.
    pub p90_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// 99.9th percentile.
    pub p999_ms: f64,
    /// The longest response, exact.
    pub max_ms: f64,
}

impl ResponseStats {
    /// The combined figures of independent replications. The confidence interval is Student's over
    /// the means of the non-empty ones, and `None` with fewer than two.
    pub fn from_replications<'s>(runs: impl Iterator<Item = &'s ResponseSummary>) -> Option<Self> {
        let mut all = ResponseSummary::default();
        let mut means_ms = Vec::new();
        for run in runs {
            all.merge(run);
            means_ms.extend(run.moments.mean().map(Span::as_ms));
        }
        Some(Self {
            ci95_ms: half_width_95(&means_ms),
            ..all.figures()?
        })
    }
}

impl ResponseSummary {
    /// Records the next response of the series. Panics when it is negative.
    #[inline]
    pub fn record(&mut self, response: Span) {
        self.moments.record(response);
        self.histogram.record(response);
        self.batches.record(response);
    }

    /// Adds everything from `other`, an independent series (see [`BatchMeans::merge`]; for
    /// dependent series all figures but the confidence interval are valid).
    pub fn merge(&mut self, other: &Self) {
        self.moments.merge(&other.moments);
        self.histogram.merge(&other.histogram);
        self.batches.merge(&other.batches);
    }

    /// The summary of a series of which two parts were recorded separately. They depend on each
    /// other, so the confidence interval is that of the whole `series`.
    pub fn together(a: &Self, b: &Self, series: &BatchMeans) -> Self {
        let mut both = a.clone();
        both.moments.merge(&b.moments);
        both.histogram.merge(&b.histogram);
        both.batches = series.clone();
        both
    }

    /// Count, mean, deviation.
    pub const fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Any percentile.
    pub const fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// All figures; `None` when nothing was recorded.
    pub fn figures(&self) -> Option<ResponseStats> {
        let quantile_ms = |p| self.histogram.quantile(p).map(Span::as_ms);
        Some(ResponseStats {
            count: self.moments.count(),
            mean_ms: self.moments.mean()?.as_ms(),
            ci95_ms: self.batches.half_width_95().map(Span::as_ms),
            std_ms: self.moments.std().map(Span::as_ms),
            cv2: self.moments.cv2(),
            p50_ms: quantile_ms(0.5)?,
            p90_ms: quantile_ms(0.9)?,
            p95_ms: quantile_ms(0.95)?,
            p99_ms: quantile_ms(0.99)?,
            p999_ms: quantile_ms(0.999)?,
            max_ms: self.histogram.max()?.as_ms(),
        })
    }
}
