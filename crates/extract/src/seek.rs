//! Seek times by distance (worthington96 section 5.3).
//!
//! # Hypothesis
//! The time from a command until the drive can read a sector is a fixed overhead plus a seek time
//! that depends on the distance in cylinders. Inward seeks may take longer than outward ones, by
//! the same time at all distances.
//!
//! # Test vector
//! Pairs of reads ([`crate::mtbrc`]) on two cylinders. The second is sent so that its sector passes
//! about when the arm arrives. The paper's MTBRC search steps through distances in whole sectors;
//! here the second read may be sent at any time, and each pair bounds the seek time, until the
//! bounds are within 0.25 % or 0.006 ms of their middle. Five starting points are spread evenly
//! over the cylinders, and seeks alternate in direction.
//!
//! The distances follow the paper: all up to 10 cylinders, then every 2nd, 5th, 10th, 25th and
//! 100th. The paper's drives had a few thousand cylinders. On drives with more than 20,000, the
//! steps grow from 100 to 4 % of the distance. One in six distances over the whole curve is
//! measured first. Where the curve bends, midpoints of the adjacent intervals are added until
//! linear interpolation is accurate. Distances that could not be measured are reported.
//!
//! # Decision
//! The seek time is the threshold of pairs over the distance minus that of pairs on one track. If
//! the latter include settling, for example, it cannot be distinguished from the overhead and
//! counts as part of it. If read-ahead must end first, seeks start where it leaves the head.
//!
//! # Confidence
//! Half the interval between the longest lead that missed and the shortest that caught. If these
//! overlap because seek times vary, half the 95 % interval of a logistic fit. Once a seek time has
//! been seen to vary, pairs at other distances may agree only by chance, so more pairs are sent
//! until that is unlikely. The maximum is the 95th percentile over all starting points.
//!
//! # Cost
//! About 12 pairs for each distance, 1000 to 3000 in total. If seek times vary, up to 100 for each.

mod curve;
mod plan;

use diskarm_core::units::Span;
use serde::{Deserialize, Serialize};

use crate::clock::Access;
use crate::{Disk, Error, Estimate, Setup};
use curve::Curve;
pub(crate) use plan::{
    Measured, Movement, coarse_first, distances, first_pair, refinements, sharpest_bend, tracks,
};
use plan::{TARGET_WIDTH, target_width};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seeks {
    /// Points in ascending order of distance. Times in between are interpolated linearly.
    pub points: Vec<SeekPoint>,
    /// Extra time of an inward seek, and time saved by an outward one.
    pub inward: Estimate,
    /// Omitted distances, with the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeekPoint {
    /// Seek distance in cylinders.
    pub distance: u32,
    /// Mean of both directions, strictly the 50th percentile.
    pub mean: Estimate,
    /// 95th percentile of both directions.
    pub maximum: Span,
}

/// Measures seeks before reads, using only reads.
pub fn measure(disk: &mut Disk<'_>, setup: &Setup<'_>) -> Result<Seeks, Error> {
    Curve::new(disk, setup, Access::Read)?.measure()
}

/// Measures seeks between writes; `None` if they differ from `reads` by a constant. Destroys data.
///
/// Times are relative to a write on the track of the previous one, and include settling for writes.
pub fn measure_writes(
    disk: &mut Disk<'_>,
    setup: &Setup<'_>,
    reads: &Seeks,
) -> Result<Option<Seeks>, Error> {
    let writes = Curve::new(disk, setup, Access::Write)?.measure()?;
    Ok((!are_parallel(reads, &writes)).then_some(writes))
}

/// Returns true if the curves differ by a constant, ignoring distances that are not in both curves
/// or over which the data of a write arrive later than the arm.
fn are_parallel(reads: &Seeks, writes: &Seeks) -> bool {
    let mut differences = Vec::new();
    for write in &writes.points {
        let same = |read: &SeekPoint| read.distance.cmp(&write.distance);
        let Ok(at) = reads.points.binary_search_by(same) else {
            continue;
        };
        let read = reads.points[at].mean;
        let [read_ns, write_ns] = [read, write.mean].map(|time| time.value.as_ns() as f64);
        if write_ns < 2.0 * TARGET_WIDTH.0 {
            // The media wait for the data, not for the arm.
            continue;
        }
        let uncertainty = (read.uncertainty + write.mean.uncertainty).as_ns() as f64;
        differences.push((write_ns - read_ns, uncertainty, target_width(read_ns)));
    }
    let mut sorted: Vec<f64> = differences.iter().map(|one| one.0).collect();
    sorted.sort_by(f64::total_cmp);
    let Some(&usual) = sorted.get(sorted.len() / 2) else {
        return true;
    };
    // If seek times vary, one curve does not determine the other.
    let is_near = |&(difference, uncertainty, target_width): &(f64, f64, f64)| {
        uncertainty < 4.0 * target_width
            && (difference - usual).abs() < 2.0 * uncertainty.max(target_width)
    };
    differences.iter().all(is_near)
}
