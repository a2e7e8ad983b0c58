//! Comparison of layouts: loads, failures that lose data, and the mean time to data loss.

use serde::{Serialize, Serializer};

use super::data_loss::{approximate_time_to_data_loss, mean_time_to_data_loss};
use super::{DiskSet, Layout, LayoutError, LayoutKind, Load, binomial, is_balanced, survived};

#[derive(Clone, Debug, Serialize)]
pub struct Parameters {
    pub disks: usize,
    /// The number of disks in a cluster; a divisor of `disks`.
    pub cluster: usize,
    #[serde(serialize_with = "disk_numbers")]
    pub failed: DiskSet,
    pub read_share: f64,
    /// The mean time to failure of a disk, in hours.
    pub mttf_h: f64,
    /// The mean time to repair a disk, in hours.
    pub mttr_h: f64,
}

fn disk_numbers<S: Serializer>(disks: &DiskSet, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(disks.iter())
}

/// The possible layouts, and everything needed to repeat the comparison.
#[derive(Debug, Serialize)]
pub struct Comparison {
    #[serde(flatten)]
    pub parameters: Parameters,
    pub layouts: Vec<LayoutResult>,
    pub notes: Vec<String>,
}

/// The loads, failures and lifetime of a layout.
#[derive(Debug, Serialize)]
pub struct LayoutResult {
    pub layout: &'static str,
    pub is_lost: bool,
    pub is_balanced: bool,
    pub loads: Vec<DiskLoad>,
    /// The results for each number of failures that can be survived.
    pub failures: Vec<FailureCount>,
    /// The mean time to data loss of the Markov chain, in hours.
    pub mttdl_h: f64,
    /// The approximation of `mttdl_h` for repairs much shorter than the time to failure, in hours.
    pub mttdl_approximate_h: f64,
    /// The number of disks that have the other copies of a disk's data.
    pub sharing_disks: usize,
}

/// The load of a disk, in multiples of the rates of requests to one disk's data.
#[derive(Debug, Serialize)]
pub struct DiskLoad {
    pub disk: usize,
    pub normal_reads: f64,
    pub normal_writes: f64,
    /// The reads with the failures; `None` for a failed disk or if data are lost.
    pub degraded_reads: Option<f64>,
    pub degraded_writes: Option<f64>,
    /// The ratio of all accesses with the failures to those without.
    pub degraded_over_normal: Option<f64>,
}

/// The sets of a given number of failed disks.
#[derive(Debug, Serialize)]
pub struct FailureCount {
    pub failures: usize,
    pub sets: u64,
    /// The number of sets that lose no data, by enumeration.
    pub survived_sets: u64,
    /// The number of these sets that leave all other disks with the same load.
    pub balanced_sets: u64,
    /// The maximum load of any disk in any surviving set, relative to the load without failures.
    pub greatest_over_normal: f64,
    /// The probability that no data are lost, if all sets are equally likely.
    pub survival: f64,
    /// The equation for this probability in liu05.
    pub equation: Option<&'static str>,
    pub equation_survival: Option<f64>,
}

impl FailureCount {
    pub fn is_misprinted(&self) -> bool {
        let differs = |printed: f64| (printed - self.survival).abs() > 1e-9;
        self.equation_survival.is_some_and(differs)
    }
}

/// Compares all layouts that these disks allow. Fails if the number of disks is not a multiple of
/// the cluster size, or if no layout is possible.
pub fn compare(parameters: &Parameters) -> Result<Comparison, LayoutError> {
    let cluster = parameters.cluster;
    Layout::new(LayoutKind::Interleaved { cluster }, parameters.disks)?;
    let kinds = [
        LayoutKind::Basic,
        LayoutKind::Interleaved { cluster },
        LayoutKind::Chained,
        LayoutKind::GroupRotate { cluster },
    ];
    let (mut layouts, mut notes) = (Vec::new(), Vec::new());
    for kind in kinds {
        match Layout::new(kind, parameters.disks) {
            Ok(layout) => layouts.push(layout_result(&layout, parameters)),
            Err(error) => notes.push(format!("left out: {error}")),
        }
    }
    Ok(Comparison {
        parameters: parameters.clone(),
        layouts,
        notes,
    })
}

fn layout_result(layout: &Layout, parameters: &Parameters) -> LayoutResult {
    let (mttf, mttr) = (parameters.mttf_h, parameters.mttr_h);
    LayoutResult {
        layout: layout.kind().name(),
        is_lost: !layout.survives(parameters.failed),
        is_balanced: is_balanced(layout, parameters.failed),
        loads: loads(layout, parameters),
        failures: failures(layout, parameters),
        mttdl_h: mean_time_to_data_loss(layout, mttf, mttr),
        mttdl_approximate_h: approximate_time_to_data_loss(layout, mttf, mttr),
        sharing_disks: layout.sharing(0).len(),
    }
}

fn loads(layout: &Layout, parameters: &Parameters) -> Vec<DiskLoad> {
    let [normal, degraded] = [DiskSet::NONE, parameters.failed]
        .map(|failed| super::loads(layout, failed).unwrap_or_else(|| vec![None; layout.disks()]));
    normal
        .into_iter()
        .zip(degraded)
        .enumerate()
        .map(|(disk, (normal, degraded))| {
            let normal = normal.unwrap_or_default();
            let accesses = |load: Load| load.accesses(parameters.read_share);
            DiskLoad {
                disk,
                normal_reads: normal.reads,
                normal_writes: normal.writes,
                degraded_reads: degraded.map(|load| load.reads),
                degraded_writes: degraded.map(|load| load.writes),
                degraded_over_normal: degraded.map(|load| accesses(load) / accesses(normal)),
            }
        })
        .collect()
}

fn failures(layout: &Layout, parameters: &Parameters) -> Vec<FailureCount> {
    let normal = Load::NORMAL.accesses(parameters.read_share);
    let mut counts: Vec<FailureCount> = Vec::new();
    for failed in survived(layout).into_iter().filter(|set| !set.is_empty()) {
        let failures = counts.len() + 1..=failed.len();
        counts.extend(failures.map(|failures| empty_count(layout, failures)));
        let count = &mut counts[failed.len() - 1];
        count.survived_sets += 1;
        count.balanced_sets += u64::from(is_balanced(layout, failed));
        let loads = super::loads(layout, failed).into_iter().flatten().flatten();
        let ratios = loads.map(|load| load.accesses(parameters.read_share) / normal);
        count.greatest_over_normal = ratios.fold(count.greatest_over_normal, f64::max);
    }
    for count in &mut counts {
        count.survival = count.survived_sets as f64 / count.sets as f64;
    }
    counts
}

fn empty_count(layout: &Layout, failures: usize) -> FailureCount {
    let printed = printed_survival(layout, failures);
    FailureCount {
        failures,
        sets: binomial(layout.disks() as u64, failures as u64),
        survived_sets: 0,
        balanced_sets: 0,
        greatest_over_normal: 0.0,
        survival: 0.0,
        equation: printed.map(|(number, _)| number),
        equation_survival: printed.map(|(_, survival)| survival),
    }
}

/// Returns the number of the equation in liu05, section 9.3, for the probability that k failures of
/// N disks lose no data, and its value; `None` if the thesis has none.
///
/// - Basic, 9.11: C(m, k) 2^k / C(N, k) with m = N / 2 pairs.
/// - Interleaved, 9.12, with c clusters of n: C(c, k) n^k / C(N, k). The sentence before it omits N
///   / k! from the count; the equation has it.
/// - Chained, 9.13 to 9.16, for 1 to 4 failures. If all disks fail, the subtracted cases do not
///   exist: two failures of 2 disks give -1, three of 3 give 1, and four of 4 give -1, although all
///   of these lose data. The section begins with "up to floor(2 / n) failures", but means floor(n /
///   2).
/// - Group rotate, 9.17, for k from 1 to n: 1 for one failure, otherwise c C(n, k) / C(N, k). This
///   is correct for two clusters only. With more, it does not count failures in clusters that have
///   none of each other's data, which lose nothing: 2 of 8 disks in clusters of 2 fail in 28 ways,
///   of which 20 lose no data, but the equation counts 4.
pub(super) fn printed_survival(layout: &Layout, failures: usize) -> Option<(&'static str, f64)> {
    let disks = layout.disks();
    let sets = |n: usize, k: usize| binomial(n as u64, k as u64) as f64;
    let all = sets(disks, failures);
    let one_of_each = |cluster: usize| {
        let ways = (cluster as f64).powi(failures as i32);
        sets(disks / cluster, failures) * ways / all
    };
    let n = disks as f64;
    Some(match layout.kind() {
        LayoutKind::Basic => ("9.11", one_of_each(2)),
        LayoutKind::Interleaved { cluster } => ("9.12", one_of_each(cluster)),
        LayoutKind::Chained => match failures {
            1 => ("9.13", 1.0),
            2 => ("9.14", (all - n) / all),
            3 => ("9.15", (all - n - n * (n - 4.0)) / all),
            4 => {
                let pairs = (n - 4.0) * (n - 5.0) / 2.0;
                let survived = all - n - n * (n - 5.0) - n * pairs + n * (n - 5.0) / 2.0;
                ("9.16", survived / all)
            }
            _ => return None,
        },
        LayoutKind::GroupRotate { .. } if failures == 1 => ("9.17", 1.0),
        LayoutKind::GroupRotate { cluster } if (2..=cluster).contains(&failures) => {
            let clusters = (disks / cluster) as f64;
            ("9.17", clusters * sets(cluster, failures) / all)
        }
        LayoutKind::GroupRotate { .. } => return None,
    })
}
