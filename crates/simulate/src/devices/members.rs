//! Parameters that pairs and arrays share (failures of members, their rebuild, the stripe unit),
//! and the metrics of their disks.

use std::ops::RangeInclusive;

use diskarm_core::device::{Failure, Work};
use diskarm_core::text::{InputError, quantity};
use diskarm_core::units::{Instant, SectorCount, Span};

use crate::device::{Parameter, Parameters, PartKind, metrics};

pub(super) const POLICY: Parameter = (
    "policy=fcfs",
    "the policy that orders the requests waiting for each disk: one that `diskarm policies` \
     lists, with its parameters",
);

/// The latest time of a failure. A rebuild takes less time, even with the minimum share.
const MAX_HOURS: f64 = 10_000.0;
/// The minimum share of the time for a rebuild, at which each pause is 999 times as long as a step.
const MIN_SHARE: f64 = 0.001;
const REBUILD: &str = "a share of the time from 0.1 % to 100 %, such as \"50 %\"";

/// Reads the disks that fail, such as `failed=3` or `failed=3@60s`. Each may be given only once.
pub(super) fn failures(
    members: usize,
    args: &mut Parameters<'_>,
) -> Result<Vec<Failure>, InputError> {
    let last = members - 1;
    let expected = format!("a disk from 0 to {last}, such as \"{last}\" or \"{last}@60s\"");
    let given = args.several("failed", &expected, |text| {
        let (member, at) = match text.split_once('@') {
            Some((member, at)) => (member.trim(), Some(at.trim().to_owned())),
            None => (text, None),
        };
        let member = member.parse().ok().filter(|member| *member < members)?;
        Some((member, at))
    })?;
    let failures = given.into_iter().map(|(member, at)| {
        let Some(text) = at else {
            let at = Instant::START;
            return Ok(Failure { member, at });
        };
        let at = instant(&text).ok_or_else(|| {
            let found = format!("{member}@{text}");
            let expected =
                format!("a time from 0 s to {MAX_HOURS} h after \"@\", such as \"{member}@60s\"");
            InputError::new(args.field("failed"), &found, expected)
        })?;
        Ok(Failure { member, at })
    });
    let failures: Vec<Failure> = failures.collect::<Result<_, InputError>>()?;
    let mut members: Vec<usize> = failures.iter().map(|failure| failure.member).collect();
    members.sort_unstable();
    match members.windows(2).find(|two| two[0] == two[1]) {
        None => Ok(failures),
        Some(pair) => {
            let found = format_args!("{} twice", pair[0]);
            let expected = "each disk at most once";
            Err(InputError::shown(args.field("failed"), found, expected))
        }
    }
}

fn instant(text: &str) -> Option<Instant> {
    let at_s = quantity::time_s(text)?;
    let is_valid = (0.0..=MAX_HOURS * 3_600.0).contains(&at_s);
    is_valid.then(|| Instant::from_ns((at_s * 1e9).round() as u64))
}

/// Reads the share of time that a rebuild takes. Fails if it is given but no disk fails.
pub(super) fn rebuild(
    failures: &[Failure],
    args: &mut Parameters<'_>,
) -> Result<Option<f64>, InputError> {
    let rebuild = args.maybe("rebuild", REBUILD, |text| {
        let share = quantity::fraction(text)?;
        (MIN_SHARE..=1.0).contains(&share).then_some(share)
    })?;
    if rebuild.is_some() && failures.is_empty() {
        let expected = "a disk that fails, such as \"0\" or \"0@60s\", for the rebuild";
        return Err(InputError::missing(args.field("failed"), expected));
    }
    Ok(rebuild)
}

const STRIPE_BYTES: u64 = 64 << 10;

/// Reads the stripe unit of an array, at most `max` sectors.
pub(super) fn stripe(args: &mut Parameters<'_>, max: u64) -> Result<SectorCount, InputError> {
    let unit = sectors(args, "stripe", 1..=max, "64 KiB")?;
    let default = (STRIPE_BYTES / args.context.disk().sector.0).clamp(1, max.max(1));
    Ok(unit.unwrap_or(SectorCount(default)))
}

/// Reads a size in whole sectors within `range`, such as `example`.
pub(super) fn sectors(
    args: &mut Parameters<'_>,
    key: &'static str,
    range: RangeInclusive<u64>,
    example: &str,
) -> Result<Option<SectorCount>, InputError> {
    let sector = args.context.disk().sector;
    let (min, max, bytes) = (range.start(), range.end(), sector.0);
    let expected =
        format!("{min} to {max} sectors of {bytes} bytes, with a unit, such as {example:?}");
    args.maybe(key, &expected, |text| {
        let size = quantity::sectors(text, sector);
        size.filter(|size| range.contains(&size.0))
    })
}

/// A disk that is part of a device. Studies report the mean over all disks.
pub(super) const DISK: PartKind = PartKind {
    name: "disk",
    metrics: metrics! { Work::Disk(w) =>
        "reads" => Some(w.reads as f64), cell "reads" Count;
        "writes" => Some(w.writes as f64), cell "writes" Count;
        "reading" => Some(w.reading_fraction), cell "reading, %" Percent,
            column "disk_reading" "Share of time a disk spends on reads";
        "writing" => Some(w.writing_fraction), cell "writing, %" Percent,
            column "disk_writing" "Share of time a disk spends on writes";
        "in_batches" => Some(w.in_batches_fraction),
            column "disk_in_batches" "Share of time a disk spends on batches of writes";
        "batches" => Some(w.batches as f64);
        "batch_ms_mean" => w.batch_mean.map(Span::as_ms),
            column "batch_ms_mean" "Mean length of a batch of writes, ms";
        "between_batches_ms_mean" => w.between_batches_mean.map(Span::as_ms),
            column "between_batches_ms_mean" "Mean time between batches of writes, ms";
        "waiting_mean" => Some(w.waiting_mean_count), cell "waiting" Decimals,
            column "disk_waiting_mean" "Mean number of requests waiting for a disk";
        "waiting_max" => Some(w.waiting_max as f64);
        "writes_waiting_mean" => Some(w.writes_waiting_mean_count),
            column "disk_writes_waiting_mean" "Mean number of writes waiting for a disk";
    },
};

/// The failures of disks in an array, and its rebuild. Studies report the mean over all arrays.
pub(super) const REDUNDANCY: PartKind = PartKind {
    name: "redundancy",
    metrics: metrics! { Work::Redundancy(w) =>
        "failed_disks" => Some(w.failed as f64);
        "failed_at_s" => w.failed_at.map(since_start_s);
        "rebuilt" => w.rebuilt_fraction,
            column "rebuilt" "Share of the failed disk that is rebuilt";
        "rebuild_s" => w.rebuild_time.map(Span::as_s), column "rebuild_s" "Time to rebuild, s";
        "rebuild_projected_s" => w.rebuild_projected.map(Span::as_s),
            column "rebuild_projected_s" "Time to rebuild under load, s";
        "rebuild_stopped_at_block" => w.stopped.map(|block| block.0 as f64);
        "lost_blocks" => Some(w.lost.map_or(0.0, |lost| lost.blocks.0 as f64)),
            column "lost_blocks" "Blocks lost";
        "lost_from_block" => w.lost.map(|lost| lost.first.0 as f64);
        "lost_at_s" => w.lost.map(|lost| since_start_s(lost.at));
    },
};

fn since_start_s(at: Instant) -> f64 {
    (at - Instant::START).as_s()
}
