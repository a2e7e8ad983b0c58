//! Layouts of two copies on an array of disks, beside each other: loads, failures that lose data,
//! and the time until they do.

mod table;

pub use table::table;

use diskarm_queueing::declustering::{
    DataLoss, Layout, LayoutKind, Load, Loads, Survival, equations,
};
pub use diskarm_queueing::declustering::{DiskSet, LayoutError, MAX_DISKS};
use serde::Serialize;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The number of disks.
    pub disks: usize,
    /// The disks of a cluster; a divisor of `disks`.
    pub cluster: usize,
    /// The failed disks, by number from 0.
    pub failed: DiskSet,
    /// The share of reads, from 0 to 1.
    pub read_share: f64,
    /// The mean time to failure of a disk, in hours.
    pub mttf_h: f64,
    /// The mean time to its repair, in hours.
    pub mttr_h: f64,
}

/// The layouts, and all that is needed to repeat them.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// The number of disks.
    pub disks: usize,
    /// The disks of a cluster.
    pub cluster: usize,
    /// The failed disks, by number from 0.
    pub failed: Vec<usize>,
    /// The share of reads, from 0 to 1.
    pub read_share: f64,
    /// The mean time to failure of a disk, in hours.
    pub mttf_h: f64,
    /// The mean time to its repair, in hours.
    pub mttr_h: f64,
    /// Those that these disks allow.
    pub layouts: Vec<Found>,
    /// Why others are missing.
    pub notes: Vec<String>,
}

/// What is found of a layout.
#[derive(Debug, Serialize)]
pub struct Found {
    /// Its name.
    pub layout: &'static str,
    /// Whether the failed disks lose data.
    pub is_lost: bool,
    /// Whether they leave all other disks with the same load.
    pub is_balanced: bool,
    /// The load of each disk, in order.
    pub loads: Vec<Shared>,
    /// For each number of failures up to the most that can lose no data.
    pub failures: Vec<Survived>,
    /// The mean time to data loss of the Markov chain, in hours.
    pub mttdl_h: f64,
    /// The same for repairs that are short beside the time to failure, in hours.
    pub mttdl_approximate_h: f64,
    /// The disks that have the other copies of a disk's data.
    pub sharing_disks: usize,
}

/// The load of a disk. All are multiples of the rates of requests to the data of one disk.
#[derive(Debug, Serialize)]
pub struct Shared {
    /// Its number, from 0.
    pub disk: usize,
    /// Reads without failures, beside those to the data of one disk.
    pub normal_reads: f64,
    /// Writes without failures.
    pub normal_writes: f64,
    /// Reads with these failures; `None` for a failed disk, and if data are lost.
    pub degraded_reads: Option<f64>,
    /// Writes with these failures; `None` as above.
    pub degraded_writes: Option<f64>,
    /// All accesses with these failures, over those without; `None` as above.
    pub degraded_over_normal: Option<f64>,
}

/// How often a number of failures loses no data.
#[derive(Debug, Serialize)]
pub struct Survived {
    /// The number of failed disks.
    pub failures: usize,
    /// The sets of as many disks.
    pub sets: u64,
    /// Those that lose no data, by enumeration.
    pub survived_sets: u64,
    /// Those of them that leave all other disks with the same load.
    pub balanced_sets: u64,
    /// The greatest load of any disk for any of these sets, over that without failures.
    pub greatest_over_normal: f64,
    /// The probability that no data are lost, if all sets are equally likely.
    pub survival: f64,
    /// The equation of liu05 for this probability, if it has one.
    pub equation: Option<&'static str>,
    /// What the equation gives.
    pub equation_survival: Option<f64>,
}

impl Survived {
    /// Whether the thesis prints another probability.
    fn is_misprinted(&self) -> bool {
        let off = |printed: f64| (printed - self.survival).abs() > 1e-9;
        self.equation_survival.is_some_and(off)
    }
}

/// All layouts that these disks allow.
///
/// # Errors
/// If the clusters do not divide the disks, or for numbers that no layout allows.
pub fn compare(asked: &Asked) -> Result<Compared, LayoutError> {
    let cluster = asked.cluster;
    Layout::new(LayoutKind::Interleaved { cluster }, asked.disks)?;
    let kinds = [
        LayoutKind::Basic,
        LayoutKind::Interleaved { cluster },
        LayoutKind::Chained,
        LayoutKind::GroupRotate { cluster },
    ];
    let (mut layouts, mut notes) = (Vec::new(), Vec::new());
    for kind in kinds {
        match Layout::new(kind, asked.disks) {
            Ok(layout) => layouts.push(found(&layout, asked)),
            Err(error) => notes.push(format!("left out: {error}")),
        }
    }
    Ok(Compared {
        disks: asked.disks,
        cluster,
        failed: asked.failed.iter().collect(),
        read_share: asked.read_share,
        mttf_h: asked.mttf_h,
        mttr_h: asked.mttr_h,
        layouts,
        notes,
    })
}

fn found(layout: &Layout, asked: &Asked) -> Found {
    Found {
        layout: layout.kind().name(),
        is_lost: !layout.survives(asked.failed),
        is_balanced: layout.is_balanced(asked.failed),
        loads: loads(layout, asked),
        failures: failures(layout, asked),
        mttdl_h: layout.mean_time_to_data_loss(asked.mttf_h, asked.mttr_h),
        mttdl_approximate_h: layout.approximate_time_to_data_loss(asked.mttf_h, asked.mttr_h),
        sharing_disks: layout.sharing(0).len(),
    }
}

fn loads(layout: &Layout, asked: &Asked) -> Vec<Shared> {
    let of = |failed| {
        let nothing = || vec![None; layout.disks()];
        layout.loads(failed).unwrap_or_else(nothing)
    };
    let both = of(DiskSet::NONE).into_iter().zip(of(asked.failed));
    both.enumerate()
        .map(|(disk, (normal, degraded))| {
            let normal = normal.unwrap_or_default();
            let accesses = |load: Load| load.accesses(asked.read_share);
            Shared {
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

fn failures(layout: &Layout, asked: &Asked) -> Vec<Survived> {
    let normal = equations::normal().accesses(asked.read_share);
    let mut found: Vec<Survived> = Vec::new();
    for failed in layout.survived().into_iter().filter(|set| !set.is_empty()) {
        let failures = found.len() + 1..=failed.len();
        found.extend(failures.map(|failures| none_survived(layout, failures)));
        let found = &mut found[failed.len() - 1];
        found.survived_sets += 1;
        found.balanced_sets += u64::from(layout.is_balanced(failed));
        let loads = layout.loads(failed).into_iter().flatten().flatten();
        let ratios = loads.map(|load| load.accesses(asked.read_share) / normal);
        found.greatest_over_normal = ratios.fold(found.greatest_over_normal, f64::max);
    }
    for found in &mut found {
        found.survival = found.survived_sets as f64 / found.sets as f64;
    }
    found
}

fn none_survived(layout: &Layout, failures: usize) -> Survived {
    let printed = equations::survival(layout, failures);
    Survived {
        failures,
        sets: layout.sets(failures),
        survived_sets: 0,
        balanced_sets: 0,
        greatest_over_normal: 0.0,
        survival: 0.0,
        equation: printed.map(|(number, _)| number),
        equation_survival: printed.map(|(_, survival)| survival),
    }
}
