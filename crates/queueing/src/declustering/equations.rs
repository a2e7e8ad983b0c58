//! Equations 9.1 to 9.17 as printed in liu05. Errors are described at the functions, and the tests
//! demonstrate them by enumeration.
//!
//! N is the number of disks, n the number of disks of a cluster, c = N / n the number of clusters,
//! and k the number of failures.

use super::{Layout, LayoutKind, Load, binomial};

fn load(reads: f64, writes: f64) -> Load {
    Load { reads, writes }
}

/// Without failures, 9.1, 9.3, 9.5 and 9.8, the same for all four layouts: λ_R + 2 λ_W.
pub fn normal() -> Load {
    load(1.0, 2.0)
}

/// Basic, the disk whose partner has failed, 9.2: 2 λ_R + 2 λ_W.
pub fn basic_degraded() -> Load {
    load(2.0, 2.0)
}

/// Interleaved, the disks of a cluster of which one has failed, 9.4: n / (n - 1) λ_R + 2 λ_W.
///
/// Right, though the line before it reaches 2 λ_W by (n - 2) / (n - 2), where n - 1 shares of
/// 1 / (n - 1) are meant.
pub fn interleaved_degraded(cluster: usize) -> Load {
    load(cluster as f64 / (cluster as f64 - 1.0), 2.0)
}

/// Chained, disk 0 of n has failed, 9.6: what disk i from 1 to n - 1 serves of the reads of disk
/// i - 1, and of its own: (n - i) / (n - 1) and i / (n - 1).
pub fn chained_one_failed(disks: usize, disk: usize) -> (f64, f64) {
    let (n, i) = (disks as f64, disk as f64);
    ((n - i) / (n - 1.0), i / (n - 1.0))
}

/// Chained, disks 0 and n / 2 of n have failed, 9.7: what disk i from 1 to n / 2 - 1 serves of the
/// reads of disk i - 1, and of its own: (n - 2 i) / (n - 2) and 2 i / (n - 2).
///
/// The thesis lets i run from 0 to n / 2, where the disks have failed.
pub fn chained_two_failed(disks: usize, disk: usize) -> (f64, f64) {
    let (n, i) = (disks as f64, disk as f64);
    ((n - 2.0 * i) / (n - 2.0), 2.0 * i / (n - 2.0))
}

/// Group rotate, one disk has failed, 9.9: n / (2 n - 1) λ_R + λ_W.
///
/// Half of the load, if 9.8 is right: the thesis here takes one of two clusters to have primary
/// copies only, and the other one secondary copies only, so that 2 n disks have the data of n. With
/// both on each disk, as in 9.8, the load is 2 n / (2 n - 1) λ_R + 2 λ_W. By enumeration 4 + 4
/// disks then serve 8/7 of the reads each, not 4/7. In the line before it, α / n of the failed
/// disk's reads should be 1 / n; its result is right.
pub fn group_rotate_one_failed(cluster: usize) -> Load {
    group_rotate_degraded(cluster, 1)
}

/// Group rotate, k up to n disks of one cluster have failed, 9.10: n / (2 n - k) λ_R + λ_W.
///
/// Half of the load, as 9.9: for k = 0 it is λ_R / 2 + λ_W, where 9.8 has λ_R + 2 λ_W.
pub fn group_rotate_degraded(cluster: usize, failures: usize) -> Load {
    let share = cluster as f64 / (2 * cluster - failures) as f64;
    load(share, 1.0)
}

fn sets(n: usize, k: usize) -> f64 {
    binomial(n as u64, k as u64) as f64
}

/// Basic, the probability that k failures of N disks lose no data, 9.11: C(m, k) 2^k / C(N, k) with
/// m = N / 2 pairs.
pub fn basic_survival(disks: usize, failures: usize) -> f64 {
    interleaved_survival(disks, 2, failures)
}

/// Interleaved, the same, 9.12: C(c, k) n^k / C(N, k).
///
/// Right. The sentence before it leaves N / k! out of the count, the equation has it.
pub fn interleaved_survival(disks: usize, cluster: usize, failures: usize) -> f64 {
    let ways = (cluster as f64).powi(failures as i32);
    sets(disks / cluster, failures) * ways / sets(disks, failures)
}

/// Chained, the same for 1 to 4 failures of n disks, 9.13 to 9.16; `None` for others.
///
/// Right from n = 3 on for two failures, from n = 4 on for three, and from n = 5 on for four. On
/// the fewest disks the subtracted cases do not exist: two failures of 2 disks give -1, three of 3
/// give 1, four of 4 give -1, and all of these lose data. The equations agree with the
/// n / (n - k) C(n - k, k) sets of k disks on a ring of which no two are neighbours. The section
/// begins with "up to floor(2 / n) failures": floor(n / 2) is meant.
pub fn chained_survival(disks: usize, failures: usize) -> Option<f64> {
    let n = disks as f64;
    let all = sets(disks, failures);
    let pairs = (n - 4.0) * (n - 5.0) / 2.0;
    let survived = match failures {
        1 => all,
        2 => all - n,
        3 => all - n - n * (n - 4.0),
        4 => all - n - n * (n - 5.0) - n * pairs + n * (n - 5.0) / 2.0,
        _ => return None,
    };
    Some(survived / all)
}

/// Group rotate, the same for k from 1 to n, 9.17: 1 for one failure, else c C(n, k) / C(N, k).
///
/// Right for two clusters only. With more, failures in clusters that do not have each other's data
/// lose none, and are not counted: 2 of 8 disks in clusters of 2 fail in 28 ways, of which 20 lose
/// nothing, where this counts 4.
pub fn group_rotate_survival(disks: usize, cluster: usize, failures: usize) -> f64 {
    let clusters = (disks / cluster) as f64;
    match failures {
        1 => 1.0,
        _ => clusters * sets(cluster, failures) / sets(disks, failures),
    }
}

/// Returns the number of the printed equation for the probability that k failures lose no data, and
/// its value; `None` if the thesis has none.
pub fn survival(layout: &Layout, failures: usize) -> Option<(&'static str, f64)> {
    let disks = layout.disks();
    match layout.kind() {
        LayoutKind::Basic => Some(("9.11", basic_survival(disks, failures))),
        LayoutKind::Interleaved { cluster } => {
            Some(("9.12", interleaved_survival(disks, cluster, failures)))
        }
        LayoutKind::Chained => {
            let number = ["9.13", "9.14", "9.15", "9.16"].get(failures.checked_sub(1)?)?;
            Some((number, chained_survival(disks, failures)?))
        }
        LayoutKind::GroupRotate { cluster } => (1..=cluster).contains(&failures).then(|| {
            let survival = group_rotate_survival(disks, cluster, failures);
            ("9.17", survival)
        }),
    }
}
