//! A non-volatile write cache in front of tiny drives.

use diskarm_core::device::Failure;
use diskarm_core::device::{CacheWork, Completion, Device, Outcome, Work};
use diskarm_core::drive::Drive;
use diskarm_core::mirror::{
    BatchOrder, DestageConfig, DestageScheme, Mirror, MirrorConfig, ReadDispatch, RebuildConfig,
};
use diskarm_core::nvcache::{CacheBacking, NvCache, NvCacheConfig};
use diskarm_core::request::{Op, Request};
use diskarm_core::stack::BoxedDevice;
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};

use super::attributes::{at_ms, run};
use super::tiny::{R, W, request, tiny};

const LARGE: NvCacheConfig = NvCacheConfig {
    size: SectorCount(100),
    merge: None,
    battery_fails: None,
};

fn drive(origin: Angle) -> BoxedDevice {
    BoxedDevice::new(Drive::new(&tiny(""), origin).expect("a sound layout"))
}

fn cached(caching: NvCacheConfig) -> NvCache {
    NvCache::new(CacheBacking::Device(drive(Angle::ZERO)), caching)
}

/// Returns a cache in front of a pair whose second platter is half a revolution ahead.
fn pair(destaging: DestageConfig, caching: NvCacheConfig) -> NvCache {
    in_front_of_pair(Vec::new(), None, destaging, caching)
}

/// Like [`pair`], but the first disk has failed before the run, perhaps with a spare for it.
fn degraded(destaging: DestageConfig, rebuild: Option<RebuildConfig>) -> NvCache {
    let (member, at) = (0, Instant::START);
    in_front_of_pair(vec![Failure { member, at }], rebuild, destaging, LARGE)
}

fn in_front_of_pair(
    failures: Vec<Failure>,
    rebuild: Option<RebuildConfig>,
    destaging: DestageConfig,
    caching: NvCacheConfig,
) -> NvCache {
    let mirroring = MirrorConfig {
        reads: ReadDispatch::Shared,
        destaging: Some(destaging),
        failures,
        rebuild,
        ..MirrorConfig::default()
    };
    let members = [Angle::ZERO, Angle::from_fraction(1, 2)].map(drive);
    let spare = rebuild.map(|_| drive(Angle::ZERO));
    let pair = Mirror::with_spare(members, spare, &mirroring).expect("a drive knows all");
    NvCache::new(CacheBacking::Pair(Box::new(pair)), caching)
}

/// Id and time of completions in ms, in order of the ids.
fn times(done: &[Completion]) -> Vec<(u64, f64)> {
    let ms = |done: &Completion| (done.at.as_s() * 1e6).round() / 1e3;
    let mut times: Vec<(u64, f64)> = done
        .iter()
        .map(|done| (done.request.id, ms(done)))
        .collect();
    times.sort_by_key(|(id, _)| *id);
    times
}

fn work(cache: &NvCache) -> CacheWork {
    match cache
        .components(Instant::START)
        .into_iter()
        .next()
        .map(|part| part.work)
    {
        Some(Work::Cache(work)) => work,
        other => panic!("no cache but {other:?}"),
    }
}

/// Block `b` of the first track passes from `b` to `b + 1` ms.
#[test]
fn a_write_completes_at_once_and_is_read_from_the_cache_until_it_is_destaged() {
    let mut cache = cached(LARGE);
    let requests = [
        (0.0, request(0, W, 4, 1)),
        (1.0, request(1, R, 4, 1)),
        // The destage has ended at 5.
        (6.0, request(2, R, 4, 1)),
    ];
    let done = run(&mut cache, &requests);
    assert_eq!(times(&done), [(0, 0.0), (1, 1.0), (2, 15.0)]);
    assert_eq!(
        [done[0].outcome, done[1].outcome],
        [Outcome::Absorbed, Outcome::Hit]
    );
    let work = work(&cache);
    assert_eq!((work.absorbed, work.hits, work.destages), (1, 1, 1));
    assert_eq!((work.dirty_max, work.dirty_mean_count), (1, 1.0));
}

#[test]
fn a_read_of_which_the_cache_has_a_part_goes_to_the_disk() {
    let requests = [(0.0, request(0, W, 4, 1)), (0.0, request(1, R, 4, 2))];
    let done = run(&mut cached(LARGE), &requests);
    // The destage passes at 5, so the read waits a revolution.
    assert_eq!(times(&done), [(0, 0.0), (1, 16.0)]);
}

/// The first write keeps the disk busy until 10.
#[test]
fn what_is_overwritten_before_its_destage_begins_is_written_once() {
    let mut cache = cached(LARGE);
    let requests = [
        (0.0, request(0, W, 9, 1)),
        (1.0, request(1, W, 3, 2)),
        (2.0, request(2, W, 2, 2)),
        // At 9.5 the destage of block 9 is under way, so that block is written twice.
        (9.5, request(3, W, 9, 1)),
    ];
    run(&mut cache, &requests);
    let work = work(&cache);
    assert_eq!((work.absorbed, work.destages, work.overwritten), (4, 3, 1));
}

#[test]
fn destages_that_touch_are_merged_up_to_a_size() {
    let destages = |merge| {
        let mut cache = cached(NvCacheConfig {
            merge: Some(SectorCount(merge)),
            ..LARGE
        });
        let write = |id| (id as f64, request(id, W, 20 + 2 * id, 2));
        let mut requests = vec![(0.0, request(9, W, 9, 1))];
        requests.extend((0..4).map(write));
        run(&mut cache, &requests);
        work(&cache).destages
    };
    assert_eq!(destages(8), 1 + 1);
    assert_eq!(destages(4), 1 + 2);
    assert_eq!(destages(3), 1 + 4);
}

#[test]
fn writes_wait_for_room_in_their_order() {
    let mut cache = cached(NvCacheConfig {
        size: SectorCount(2),
        ..LARGE
    });
    let requests = [
        (0.0, request(0, W, 3, 1)),
        (0.0, request(1, W, 6, 1)),
        (1.0, request(2, W, 8, 2)),
        (1.0, request(3, W, 2, 1)),
        // Larger than the cache: it bypasses it.
        (30.0, request(4, W, 5, 3)),
    ];
    let done = run(&mut cache, &requests);
    // Two blocks have room once the first two are written at 4 and at 7, and one more when those
    // are, at 10.
    assert_eq!(
        times(&done),
        [(0, 0.0), (1, 0.0), (2, 7.0), (3, 10.0), (4, 38.0)]
    );
    let waited = done.iter().find(|done| done.request.id == 2).expect("done");
    assert_eq!(waited.breakdown.queue, waited.response());
    assert_eq!(work(&cache).waited, 2);
}

#[test]
fn after_its_battery_has_failed_it_promises_nothing_that_is_not_on_the_disk() {
    let mut cache = cached(NvCacheConfig {
        battery_fails: Some(at_ms(3.0)),
        ..LARGE
    });
    let requests = [
        (0.0, request(0, W, 9, 1)),
        (1.0, Request::flush(1)),
        (4.0, request(2, W, 5, 1)),
        (4.0, Request::flush(3)),
    ];
    // Block 9 is written at 10, block 5 at 16.
    let done = run(&mut cache, &requests);
    assert_eq!(times(&done), [(0, 0.0), (1, 1.0), (2, 16.0), (3, 16.0)]);
}

fn adu(batch: usize) -> DestageConfig {
    DestageConfig {
        scheme: DestageScheme::Alternating,
        batch,
        order: BatchOrder::Ascending,
    }
}

/// Two writes are a batch: the first disk writes them from 1 on, the second when the first is
/// done. Block `b` of the first track passes the second disk from `b + 5` to `b + 6`.
#[test]
fn disks_write_batches_by_turns_while_the_other_reads() {
    let mut cache = pair(adu(2), LARGE);
    let requests = [
        (0.0, request(0, W, 7, 1)),
        (1.0, request(1, W, 4, 1)),
        (2.0, request(2, R, 8, 1)),
        (2.5, request(3, R, 9, 1)),
    ];
    let done = run(&mut cache, &requests);
    // Both begin at 1, when no read waits: the first ends at 8, the second writes block 4 from 9
    // and block 7 from 12. The first serves both reads then.
    assert_eq!(
        times(&done),
        [(0, 0.0), (1, 0.0 + 1.0), (2, 9.0), (3, 10.0)]
    );
    let to_us = |span: Span| (span.as_ms() * 1e3).round();
    let batches: Vec<(u64, Option<f64>)> = cache
        .components(Instant::START)
        .into_iter()
        .filter_map(|part| match part.work {
            Work::Disk(disk) => Some((disk.batches, disk.batch_mean.map(to_us))),
            _ => None,
        })
        .collect();
    assert_eq!(batches, [(1, Some(7e3)), (1, Some(12e3))]);
}

/// The first disk would be next.
#[test]
fn the_disk_that_is_left_writes_each_batch() {
    let mut cache = degraded(adu(2), None);
    let requests = [(0.0, request(0, W, 7, 1)), (1.0, request(1, W, 4, 1))];
    run(&mut cache, &requests);
    assert!((0..20).all(|block| !cache.holds(Lbn(block))));
    // From 1 on, block 4 until 10 and block 7 until 13.
    let disks = cache
        .components(Instant::START)
        .into_iter()
        .filter_map(|part| match part.work {
            Work::Disk(disk) => Some((
                disk.writes,
                disk.batch_mean.map(|mean| mean.as_ms().round()),
            )),
            _ => None,
        });
    assert_eq!(disks.collect::<Vec<_>>(), [(0, None), (2, Some(12.0))]);
}

/// A write waits for four others, and the rebuild for it. The last step takes the rest.
#[test]
fn a_rebuild_does_not_wait_for_a_full_batch() {
    let unit = SectorCount(150);
    let share_fraction = 1.0;
    for scheme in [
        DestageScheme::Alternating,
        DestageScheme::Conditional { reads: 1 },
    ] {
        let destaging = DestageConfig { scheme, ..adu(5) };
        let rebuild = RebuildConfig {
            share_fraction,
            unit,
        };
        let mut cache = degraded(destaging, Some(rebuild));
        run(&mut cache, &[(0.0, request(0, W, 3, 1))]);
        assert!(!cache.holds(Lbn(3)));
        let works = cache
            .components(Instant::START)
            .into_iter()
            .filter_map(|part| match part.work {
                Work::Redundancy(work) => work.rebuilt_fraction,
                _ => None,
            });
        assert_eq!(works.collect::<Vec<_>>(), [1.0]);
    }
}

#[test]
fn a_full_cache_does_not_wait_for_a_batch() {
    let small = NvCacheConfig {
        size: SectorCount(2),
        ..LARGE
    };
    let requests = [(0.0, request(0, W, 3, 2)), (1.0, request(1, W, 8, 1))];
    // Both disks write blocks 3 and 4: from 3 to 5 and from 8 to 10.
    let done = run(&mut pair(adu(5), small), &requests);
    assert_eq!(times(&done), [(0, 0.0), (1, 10.0)]);
}

/// Without reads, single writes are destaged in order of arrival.
#[test]
fn ad_cp_leaves_no_disk_idle() {
    let ad_cp = DestageConfig {
        scheme: DestageScheme::Conditional { reads: 3 },
        ..adu(5)
    };
    let mut cache = pair(ad_cp, LARGE);
    let requests = [(0.0, request(0, W, 3, 1)), (0.0, request(1, W, 6, 1))];
    run(&mut cache, &requests);
    assert!((0..20).all(|block| !cache.holds(Lbn(block))));
    for part in cache.components(Instant::START) {
        if let Work::Disk(disk) = part.work {
            assert_eq!((disk.writes, disk.batches), (2, 0));
        }
    }
}

/// The cache changes only when writes complete.
#[test]
fn reads_are_those_of_the_pair_without_a_cache() {
    let members = || [Angle::ZERO, Angle::from_fraction(1, 2)].map(drive);
    let mirroring = MirrorConfig {
        reads: ReadDispatch::Shared,
        policy: "sptf-cp(t=0.5)".parse().expect("a policy"),
        ..MirrorConfig::default()
    };
    let mirror = || Mirror::new(members(), &mirroring).expect("a drive knows all");
    // No block is written twice.
    let requests: Vec<(f64, Request)> = (0..60_u64)
        .map(|id| {
            let op = if id % 3 == 0 { Op::Write } else { Op::Read };
            (id as f64 * 4.0, request(id, op, id * 77 % 200, 1))
        })
        .collect();
    let reads = |done: Vec<Completion>| -> Vec<(u64, f64)> {
        let mut done = done;
        done.retain(|done| done.request.op == Op::Read);
        times(&done)
    };
    let mut cache = NvCache::new(CacheBacking::Pair(Box::new(mirror())), LARGE);
    let cached = reads(run(&mut cache, &requests));
    assert_eq!(cached, reads(run(&mut mirror(), &requests)));
    assert_eq!(cached.len(), 40);
}
