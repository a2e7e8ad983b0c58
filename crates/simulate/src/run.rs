//! Results of a simulation.

use diskarm_core::device::ComponentReport;
use diskarm_core::report::{Report, RequestTotals, Window};
use diskarm_core::stats::t95_factor;
use diskarm_core::units::Span;

use crate::input::Issue;
use crate::trace_rows::Origin;

/// The results of a run.
#[derive(Debug)]
pub struct Run {
    /// `None` if nothing is random.
    pub seed: Option<u64>,
    /// The report on all requests.
    pub report: Report,
    /// The requests of each stream of the workload, if it has several.
    pub streams: Vec<RequestTotals>,
    /// Time windows, if requested.
    pub windows: Option<Vec<Window>>,
    /// What each disk of a trace holds, and its results, if there are several.
    pub disks: Vec<(Origin, Report)>,
    /// The parts of a device that has several: disks of a pair, caches. Disks are as they were when
    /// the last request was completed; caches, failures and rebuilds as they were at the end of all
    /// that the device did by itself afterwards.
    pub parts: Vec<ComponentReport>,
    /// Doubts about the drive or a trace, failures of disks after the last request, and losses of
    /// data; one line each.
    pub doubts: Vec<String>,
    /// Requested changes to the trace, one line each.
    pub changes: Vec<String>,
    /// How a trace was replayed.
    pub replayed: Option<Replayed>,
    /// Whether requests of an open load arrived faster than the drive served them.
    pub is_saturated: bool,
    /// Whether a [`Progress`](crate::Progress) stopped it early; the report then covers its first
    /// part.
    pub is_stopped: bool,
}

/// The doubts about the runs of one simulation. They may differ in what failures of disks did.
pub fn doubts(runs: &[Run]) -> Vec<String> {
    let named = runs.iter().map(|run| {
        let seed = run
            .seed
            .map_or_else(String::new, |seed| format!("seed {seed}"));
        (seed, run.doubts.clone())
    });
    most_doubts(&named.collect::<Vec<_>>())
}

/// The most doubts of any of these, which have names; those that others do not share say whose they
/// are.
pub fn most_doubts(named: &[(String, Vec<String>)]) -> Vec<String> {
    // The first of those that have as many.
    let found = named.iter().rev().max_by_key(|(_, doubts)| doubts.len());
    let doubts = found.iter().flat_map(|(name, doubts)| {
        doubts.iter().map(move |doubt| {
            let is_shared = named.iter().all(|(_, doubts)| doubts.contains(doubt));
            match is_shared {
                true => doubt.clone(),
                false => format!("with {name}, {doubt}"),
            }
        })
    });
    doubts.collect()
}

/// What the figures of these runs of one simulation do not show, one line each.
pub fn remarks(runs: &[Run]) -> Vec<String> {
    let replayed = runs.first().and_then(|run| run.replayed.as_ref());
    let is_single = replayed.is_some_and(|replayed| match replayed.issue {
        Issue::Traced => false,
        Issue::Pauses => true,
        Issue::Outstanding { clients, .. } => clients == 1,
    });
    let single = "one request was outstanding at a time, so that neither a policy nor the drive's \
                  queue had anything to choose from; with several outstanding (--outstanding 32) \
                  they do";
    is_single.then(|| single.to_owned()).into_iter().collect()
}

/// How a trace was replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The traces.
    pub files: Vec<TracedFile>,
    /// What each disk held.
    pub origins: Vec<Origin>,
    /// When requests were issued: [`Issue::Traced`] only where the trace has arrivals.
    pub issue: Issue,
}

/// A trace that was replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedFile {
    /// The name that the user gave.
    pub file: String,
    /// The name of its format.
    pub format: &'static str,
}

/// The mean response of one simulation over that of another, which is faster if it is above 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speedup {
    /// The ratio.
    pub times: f64,
    /// Half the width of its 95 % confidence interval, if with_interval.
    pub half_width: Option<f64>,
}

impl Speedup {
    /// Returns true if the interval contains 1, so that the runs show no difference.
    pub fn is_inconclusive(&self) -> bool {
        let half = self.half_width.unwrap_or(0.0);
        (self.times - 1.0).abs() <= half
    }
}

/// Returns by which factor the runs `fast` are faster than the runs `slow`; `None` if one of them
/// counted nothing.
///
/// The interval over several replications is Student's over their ratios: run by run both have the
/// same requests. The interval of single runs follows from the batch-means intervals of both, as if
/// the runs were independent: with the same requests their errors tend to have the same sign, and
/// the interval is too wide rather than too narrow.
pub fn speedup(fast: &[Run], slow: &[Run]) -> Option<Speedup> {
    let figures = |run: &Run| run.report.all().responses().figures();
    if let ([fast], [slow]) = (fast, slow) {
        let (fast, slow) = (figures(fast)?, figures(slow)?);
        let times = slow.mean_ms / fast.mean_ms;
        let relative = |ci95: Option<f64>, mean: f64| ci95.map(|half| half / mean);
        let fast = relative(fast.ci95_ms, fast.mean_ms);
        let slow = relative(slow.ci95_ms, slow.mean_ms);
        let half_width = fast.zip(slow).map(|(fast, slow)| times * fast.hypot(slow));
        return Some(Speedup { times, half_width });
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
    Some(Speedup { times, half_width })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_around_one_shows_no_difference() {
        let open = |times, half_width| Speedup { times, half_width }.is_inconclusive();
        assert!(open(1.02, Some(0.03)) && open(0.98, Some(0.03)) && open(1.0, None));
        assert!(!open(1.04, Some(0.03)) && !open(1.02, None));
    }

    #[test]
    fn doubts_that_not_all_share_say_whose_they_are() {
        let found = |all: &[(&str, &[&str])]| {
            let named = all.iter().map(|(name, doubts)| {
                let doubts = doubts.iter().map(|&doubt| doubt.to_owned());
                ((*name).to_owned(), doubts.collect())
            });
            most_doubts(&named.collect::<Vec<_>>())
        };
        assert_eq!(found(&[]), [""; 0]);
        assert_eq!(found(&[("", &["a", "b"])]), ["a", "b"]);
        assert_eq!(found(&[("seed 1", &["a"]), ("seed 2", &["a"])]), ["a"]);
        let some = found(&[
            ("seed 1", &["a"]),
            ("seed 2", &["a", "b"]),
            ("seed 3", &["a", "c"]),
        ]);
        assert_eq!(some, ["a", "with seed 2, b"]);
    }
}
