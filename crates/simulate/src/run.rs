//! Results of a simulation.

use diskarm_core::device::{ComponentReport, RedundancyWork, Work};
use diskarm_core::report::{Report, RequestTotals, Window};
use diskarm_core::stats::half_width_95_of_numbers;
use diskarm_core::text::with_noun;
use diskarm_core::units::{Instant, Span};

use crate::input::Issue;
use crate::trace_rows::{Origin, TraceFile};

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
    /// The traced device and the report of each disk, if there are several disks.
    pub disks: Vec<(Origin, Report)>,
    /// The parts of the device that report their own metrics: disks as they were when the last
    /// request was completed; caches, failures and rebuilds as they were when the device was idle.
    pub parts: Vec<ComponentReport>,
    /// Warnings about the drive or a trace, late disk failures, and data losses.
    pub doubts: Vec<String>,
    /// Requested changes to the trace, one line each.
    pub changes: Vec<String>,
    /// The replay of a trace.
    pub replayed: Option<ReplayInfo>,
    /// True if requests of an open load arrived faster than the drive served them.
    pub is_saturated: bool,
    /// True if a [`Progress`](crate::Progress) stopped the run; the report then covers its start.
    pub is_stopped: bool,
}

/// Returns the warnings about one simulation's runs, whose disk failures may differ.
pub fn doubts(runs: &[Run]) -> Vec<String> {
    let named = runs.iter().map(|run| {
        let seed = run.seed.map(|seed| format!("seed {seed}"));
        (seed.unwrap_or_default(), run.doubts.clone())
    });
    combined_doubts(&named.collect::<Vec<_>>())
}

/// Returns the longest list of warnings. A warning that is not in all lists is preceded by the name
/// of its list.
pub fn combined_doubts(named: &[(String, Vec<String>)]) -> Vec<String> {
    // The first of several longest lists counts.
    let longest = named.iter().rev().max_by_key(|(_, doubts)| doubts.len());
    let doubts = longest.iter().flat_map(|(name, doubts)| {
        doubts.iter().map(move |doubt| {
            let is_shared = named.iter().all(|(_, doubts)| doubts.contains(doubt));
            if is_shared {
                doubt.clone()
            } else {
                format!("with {name}, {doubt}")
            }
        })
    });
    doubts.collect()
}

/// Returns remarks on the limits of the metrics of one simulation's runs, one line each.
pub fn remarks(runs: &[Run]) -> Vec<String> {
    let replayed = runs.first().and_then(|run| run.replayed.as_ref());
    let is_single = replayed.is_some_and(|replayed| match replayed.issue {
        Issue::Traced => false,
        Issue::Pauses => true,
        Issue::Outstanding { clients, .. } => clients == 1,
    });
    let single = "only one request was outstanding at a time, so neither the policy nor the \
                  drive's queue had a choice; keep several outstanding (--outstanding 32) to \
                  compare policies";
    Vec::from_iter(is_single.then(|| single.to_owned()))
}

/// The replay of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayInfo {
    /// The replayed traces.
    pub files: Vec<TraceFile>,
    /// The traced device of each disk.
    pub origins: Vec<Origin>,
    /// The times at which requests were issued: [`Issue::Traced`] only if the trace has arrivals.
    pub issue: Issue,
}

/// Returns warnings about failures of the `parts` of a device: those after the `last` completion,
/// and those that lost data. `failed` is the number of failed requests.
pub(crate) fn failure_doubts(parts: &[ComponentReport], last: Instant, failed: u64) -> Vec<String> {
    let doubts = parts.iter().flat_map(|part| match &part.work {
        Work::Redundancy(work) => redundancy_doubts(&part.name, work, last, failed),
        _ => Vec::new(),
    });
    doubts.collect()
}

fn redundancy_doubts(name: &str, work: &RedundancyWork, last: Instant, failed: u64) -> Vec<String> {
    let dot = if name.is_empty() { "" } else { "." };
    let late = work.failures.iter().filter(|failure| failure.at > last);
    let late = late.map(|failure| {
        format!(
            "disk {name}{dot}{} fails at {:.3} s, after the last request was completed at {:.3} s",
            failure.member,
            seconds(failure.at),
            seconds(last)
        )
    });
    let lost = work.lost.map(|lost| {
        let part = if name.is_empty() { "" } else { " of part " };
        let (at, first) = (seconds(lost.at), lost.first.0);
        let blocks = with_noun(lost.blocks.0, "block");
        let failed = match failed {
            0 => "no request failed".to_owned(),
            failed => with_noun(failed, "request") + " failed",
        };
        format!("data were lost at {at:.3} s: {blocks}{part}{name} from block {first} on; {failed}")
    });
    late.chain(lost).collect()
}

fn seconds(at: Instant) -> f64 {
    (at - Instant::START).as_s()
}

/// The factor by which one simulation's mean response is shorter than another's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speedup {
    /// The ratio of the means.
    pub times: f64,
    /// Half the width of its 95 % confidence interval.
    pub half_width: Option<f64>,
}

impl Speedup {
    /// Returns true if the interval contains 1: the runs show no difference.
    pub fn is_inconclusive(&self) -> bool {
        let half = self.half_width.unwrap_or(0.0);
        (self.times - 1.0).abs() <= half
    }
}

/// Returns the factor by which `fast` is faster than `slow`; `None` if a run counted no request.
///
/// With several replications, the interval is Student's t for the ratios of pairs of runs with the
/// same requests. For single runs it is calculated from the batch-means intervals of both as if
/// they were independent: with the same requests their errors tend to have the same sign, so the
/// interval is too wide rather than too narrow.
pub fn speedup(fast: &[Run], slow: &[Run]) -> Option<Speedup> {
    let figures = |run: &Run| run.report.all().responses().stats();
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
        let responses = run.report.all();
        responses.responses().moments().mean().map(Span::as_ms)
    };
    let ratios = fast.iter().zip(slow);
    let ratios: Option<Vec<f64>> = ratios.map(|(f, s)| Some(mean(s)? / mean(f)?)).collect();
    let ratios = ratios.filter(|ratios| ratios.len() > 1)?;
    let times = ratios.iter().sum::<f64>() / ratios.len() as f64;
    let half_width = half_width_95_of_numbers(&ratios);
    Some(Speedup { times, half_width })
}

#[cfg(test)]
mod tests {
    use diskarm_core::device::{DataLoss, Failure};
    use diskarm_core::units::{Lbn, SectorCount};

    use super::*;

    #[test]
    fn warnings_that_are_not_in_all_runs_name_their_run() {
        let found = |all: &[(&str, &[&str])]| {
            let named = all.iter().map(|(name, doubts)| {
                let doubts = doubts.iter().map(|&doubt| doubt.to_owned());
                ((*name).to_owned(), doubts.collect())
            });
            combined_doubts(&named.collect::<Vec<_>>())
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

    /// The last request is completed at 12.3 s. A failure at the same instant is not late.
    #[test]
    fn late_failures_and_lost_data_are_reported() {
        let ms = |ms: u64| Instant::from_ns(ms * 1_000_000);
        let doubts = |name: &str, failures: &[(usize, u64)], lost: Option<DataLoss>, failed| {
            let failure = |&(member, at): &(usize, u64)| Failure { member, at: ms(at) };
            let work = Work::Redundancy(RedundancyWork {
                failures: failures.iter().map(failure).collect(),
                lost,
                ..RedundancyWork::default()
            });
            let name = name.to_owned();
            failure_doubts(&[ComponentReport { name, work }], ms(12_300), failed)
        };
        assert_eq!(doubts("", &[(2, 0), (0, 12_300)], None, 3), [""; 0]);
        let late = "disk 0 fails at 60.000 s, after the last request was completed at 12.300 s";
        assert_eq!(doubts("", &[(2, 0), (0, 60_000)], None, 3), [late]);
        let lost = |blocks| DataLoss {
            at: ms(60_000),
            first: Lbn(2_048),
            blocks: SectorCount(blocks),
        };
        let seven = "data were lost at 60.000 s: 7 blocks of part 3 from block 2048 on; no \
                     request failed";
        let expected = [late.replace("disk 0", "disk 3.0"), seven.to_owned()];
        let found = doubts("3", &[(1, 0), (0, 60_000)], Some(lost(7)), 0);
        assert_eq!(found, expected);
        let one = "data were lost at 60.000 s: 1 block from block 2048 on; 1 request failed";
        assert_eq!(doubts("", &[], Some(lost(1)), 1), [one]);
    }

    #[test]
    fn an_interval_around_one_shows_no_difference() {
        let is_open = |times, half_width| Speedup { times, half_width }.is_inconclusive();
        assert!(is_open(1.02, Some(0.03)) && is_open(0.98, Some(0.03)) && is_open(1.0, None));
        assert!(!is_open(1.04, Some(0.03)) && !is_open(1.02, None));
    }
}
