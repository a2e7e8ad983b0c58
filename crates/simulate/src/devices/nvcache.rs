//! A non-volatile write cache in a stack of devices.

use diskarm_core::device::Work;
use diskarm_core::mirror::{
    BatchOrder, DestageConfig, DestageScheme, Mirror, MirrorConfig, ReadDispatch, RebuildConfig,
};
use diskarm_core::nvcache::{CacheBacking, NvCache, NvCacheConfig};
use diskarm_core::sched::{Knowledge, PolicyConfig};
use diskarm_core::stack::BoxedDevice;
use diskarm_core::text::{Args, Call, InputError};
use diskarm_core::units::{Instant, SectorCount};

use super::members::{failures, rebuild, sectors};
use super::mirror::rebuild_step;
use crate::device::{Below, Config, DRIVE, DeviceInfo, Entry, Parameters, PartKind, metrics};
use crate::model::command_size;

pub(super) const ENTRY: Entry = Entry {
    info: DeviceInfo {
        name: "nvcache",
        summary: "a non-volatile write cache, in front of a device or a mirrored pair",
        parameters: &[
            DRIVE,
            (
                "size=8MiB",
                "the capacity of the cache; when it is full, writes wait",
            ),
            (
                "destage=at-once",
                "when data are written to the disks: immediately, in the order of a queue below \
                 the cache (at-once); or in batches of 10, in turn on the two disks of a mirrored \
                 pair (adu(tw=10)); or in batches on a pair that also writes single requests while \
                 no read waits, and begins no batch while 10 or more reads wait (ad-cp(tw=10, \
                 tr=10)). adu and ad-cp take order=ascending (by address), satf (shortest access \
                 time first), access-at-start (by access time from the position of the arm at the \
                 start of the batch) or optimal (up to tw=10). The default is ascending for adu; \
                 for ad-cp, it is optimal below tw=10 and satf otherwise",
            ),
            (
                "policy=fcfs",
                "with adu or ad-cp: the order in which the disks take reads from their shared \
                 queue; the default is satf for ad-cp",
            ),
            (
                "merge=128KiB",
                "adjacent data to be destaged are merged into one command of at most this size; \
                 without this parameter none are merged",
            ),
            (
                "failed=0@60s",
                "with adu or ad-cp: which of the two disks fails, 0 or 1, and when, as for mirror",
            ),
            (
                "rebuild=50%",
                "with adu or ad-cp: the share of the time spent rebuilding the first failed disk's \
                 data onto a spare, as for mirror",
            ),
            (
                "battery_fails=10min",
                "the time in the run from which a write completes only when it is on the disks; \
                 without this parameter the battery does not fail",
            ),
        ],
        needs: Knowledge::Inner,
        provides: Some(Knowledge::Blocks),
        example: "nvcache(destage=ad-cp(tw=8, tr=4), drive=hp-c2247)",
    },
    read,
};

/// A non-volatile write cache. Studies report the mean over all caches.
pub(super) const CACHE: PartKind = PartKind {
    name: "cache",
    metrics: metrics! { Work::Cache(w) =>
        "absorbed" => Some(w.absorbed as f64), cell "absorbed" Count;
        "waited" => Some(w.waited as f64), cell "waited" Count,
            column "cache_waited" "Writes that waited for room in the cache";
        "hits" => Some(w.hits as f64), cell "hits" Count,
            column "cache_hits" "Reads served from the cache";
        "overwritten_blocks" => Some(w.overwritten as f64),
            column "cache_overwritten_blocks" "Blocks overwritten before they were destaged";
        "destages" => Some(w.destages as f64), cell "destages" Count,
            column "cache_destages" "Destages";
        "failed" => Some(w.failed as f64);
        "dirty_mean" => Some(w.dirty_mean_count), cell "dirty, mean" Decimals,
            column "cache_dirty_mean" "Mean number of blocks in the cache";
        "dirty_max" => Some(w.dirty_max as f64),
            column "cache_dirty_max" "Largest number of blocks in the cache";
    },
};

const DESTAGES: &[&str] = &["at-once", "adu", "ad-cp"];
const ORDERS: &str = "ascending, satf, access-at-start or optimal";
/// The default of TW and TR.
const THRESHOLD: usize = 10;
const MAX_OPTIMAL: usize = 10;
const BYTES: u64 = 8 << 20;

#[derive(Debug)]
struct Cache {
    caching: NvCacheConfig,
    /// The pair below the cache; `None` if another device is below it.
    pair: Option<MirrorConfig>,
}

fn read(args: &mut Parameters<'_>) -> Result<Box<dyn Config>, InputError> {
    let disk = args.context.disk();
    let destaging = args.maybe_read("destage", destaging)?.flatten();
    let policy = args.maybe_read("policy", PolicyConfig::parse)?;
    let failures = failures(2, args)?;
    let rebuild = rebuild(&failures, args)?;
    let pair = match destaging {
        None if policy.is_none() && failures.is_empty() => None,
        None => {
            let expected = match policy {
                Some(_) => "destage=adu or destage=ad-cp, or no policy",
                None => "destage=adu or ad-cp, or drive=mirror(failed=...)",
            };
            return Err(InputError::new(args.field("destage"), "at-once", expected));
        }
        Some(destaging) => Some(MirrorConfig {
            policy: match policy {
                Some(policy) => policy,
                None => default_policy(destaging.scheme)?,
            },
            reads: ReadDispatch::Shared,
            destaging: Some(destaging),
            failures,
            rebuild: rebuild.map(|share_fraction| RebuildConfig {
                share_fraction,
                unit: rebuild_step(args.context),
            }),
            ..MirrorConfig::default()
        }),
    };
    let min = destaging.map_or(1, |destaging| destaging.batch as u64);
    let max = disk.sectors.0;
    let size = sectors(args, "size", min..=max, "8 MiB")?;
    let default = SectorCount((BYTES / disk.sector.0).clamp(min.min(max), max));
    let merge = args.maybe_read("merge", |text, field| command_size(field, text, disk))?;
    let battery = args.maybe_time("battery_fails")?;
    let caching = NvCacheConfig {
        size: size.unwrap_or(default),
        merge,
        battery_fails: battery.map(|after| Instant::START + after),
    };
    Ok(Box::new(Cache { caching, pair }))
}

/// Returns the default order of reads: the one in the thesis.
fn default_policy(scheme: DestageScheme) -> Result<PolicyConfig, InputError> {
    let name = match scheme {
        DestageScheme::Alternating => "fcfs",
        DestageScheme::Conditional { .. } => "satf",
    };
    PolicyConfig::parse(name, "policy")
}

/// Parses a destaging scheme; returns `None` for `at-once`.
fn destaging(text: &str, field: &str) -> Result<Option<DestageConfig>, InputError> {
    let call = Call::read(text, field)?;
    let mut args = Args::new(&call, ());
    let scheme = match call.name {
        "at-once" => {
            args.finish()?;
            return Ok(None);
        }
        "adu" => DestageScheme::Alternating,
        "ad-cp" => {
            let reads = args.maybe_count("tr", 1..=1_000_000)?;
            let reads = reads.map_or(THRESHOLD, |reads| reads as usize);
            DestageScheme::Conditional { reads }
        }
        other => return Err(InputError::one_of(field, other, DESTAGES)),
    };
    let batch = args.maybe_count("tw", 1..=100_000)?;
    let batch = batch.map_or(THRESHOLD, |batch| batch as usize);
    let default_order = match scheme {
        DestageScheme::Alternating => BatchOrder::Ascending,
        DestageScheme::Conditional { .. } if batch < MAX_OPTIMAL => BatchOrder::Optimal,
        DestageScheme::Conditional { .. } => BatchOrder::Nearest,
    };
    let order = args.maybe("order", ORDERS, |text| match text {
        "ascending" => Some(BatchOrder::Ascending),
        "satf" => Some(BatchOrder::Nearest),
        "access-at-start" => Some(BatchOrder::AccessAtStart),
        "optimal" => Some(BatchOrder::Optimal),
        _ => None,
    })?;
    let order = order.unwrap_or(default_order);
    if order == BatchOrder::Optimal && batch > MAX_OPTIMAL {
        let expected = format!("at most {MAX_OPTIMAL} with order=optimal");
        return Err(InputError::shown(args.field("tw"), batch, expected));
    }
    args.finish()?;
    Ok(Some(DestageConfig {
        scheme,
        batch,
        order,
    }))
}

impl Config for Cache {
    fn build(&self, below: &Below<'_>, seed: u64) -> Result<BoxedDevice, InputError> {
        let backing = match &self.pair {
            None => CacheBacking::Device(below.device()?),
            Some(mirroring) => {
                let members = [below.member(0)?, below.member(1)?];
                let mut mirroring = mirroring.clone();
                mirroring.seed = seed;
                let spare = mirroring.rebuild.map(|_| below.member(2));
                let pair = Mirror::with_spare(members, spare.transpose()?, &mirroring);
                CacheBacking::Pair(Box::new(pair.map_err(|unknown| below.refused(&unknown))?))
            }
        };
        Ok(BoxedDevice::opaque(NvCache::new(backing, self.caching)))
    }

    fn members(&self) -> usize {
        let pair = self.pair.as_ref();
        pair.map_or(1, |pair| 2 + usize::from(pair.rebuild.is_some()))
    }
}
