//! By how much one simulation is faster than another.

use diskarm_core::stats::t95_factor;
use diskarm_core::units::Span;
use diskarm_plot::rounded;
use diskarm_simulate::Run;

/// The mean response of one simulation over that of another, which is faster if it is above 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Faster {
    /// The ratio.
    pub times: f64,
    /// Half the width of its 95 % confidence interval, if known.
    pub half_width: Option<f64>,
}

impl Faster {
    /// With as many digits as its interval allows: `1.456 ± 0.023`.
    pub fn digits(&self) -> String {
        rounded(self.times, self.half_width)
    }

    /// Whether its interval contains 1, so that the runs show no difference.
    pub fn is_open(&self) -> bool {
        let half = self.half_width.unwrap_or(0.0);
        (self.times - 1.0).abs() <= half
    }
}

/// By how much the simulation with the runs `fast` is faster than that with the runs `slow`; `None`
/// if one of them counted nothing.
///
/// The interval over several replications is Student's over their ratios: run by run both have the
/// same requests. That of single runs follows from the intervals of both means, by batch means,
/// as if the runs were independent: where their errors tend to have the same sign, as they may with
/// the same requests, it is too wide rather than too narrow.
pub fn faster(fast: &[Run], slow: &[Run]) -> Option<Faster> {
    let figures = |run: &Run| run.report.all().responses().figures();
    if let ([fast], [slow]) = (fast, slow) {
        let (fast, slow) = (figures(fast)?, figures(slow)?);
        let times = slow.mean_ms / fast.mean_ms;
        let relative = |ci95: Option<f64>, mean: f64| ci95.map(|half| half / mean);
        let fast = relative(fast.ci95_ms, fast.mean_ms);
        let slow = relative(slow.ci95_ms, slow.mean_ms);
        let half_width = fast.zip(slow).map(|(fast, slow)| times * fast.hypot(slow));
        return Some(Faster { times, half_width });
    }
    let mean = |run: &Run| {
        run.report
            .all()
            .responses()
            .moments()
            .mean()
            .map(Span::as_ms)
    };
    let ratios = fast.iter().zip(slow);
    let ratios: Option<Vec<f64>> = ratios.map(|(f, s)| Some(mean(s)? / mean(f)?)).collect();
    let ratios = ratios.filter(|ratios| ratios.len() > 1)?;
    let count = ratios.len() as f64;
    let times = ratios.iter().sum::<f64>() / count;
    let squares: f64 = ratios.iter().map(|ratio| (ratio - times).powi(2)).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    let half_width = Some(t95_factor(ratios.len() as u64 - 1) * error);
    Some(Faster { times, half_width })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_around_one_shows_no_difference() {
        let is_open = |times, half_width| Faster { times, half_width }.is_open();
        assert!(is_open(1.02, Some(0.03)) && is_open(0.98, Some(0.03)) && is_open(1.0, None));
        assert!(!is_open(1.04, Some(0.03)) && !is_open(1.02, None));
    }
}
