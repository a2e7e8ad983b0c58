//! The metrics of a run: one list for JSON, for the tables that people read, and for the columns of
//! studies.

use diskarm_core::device::{Breakdown, BufferWork, CacheWork, DiskWork, RedundancyWork};
use diskarm_core::report::{Report, RequestTotals};
use diskarm_core::stats::ResponseStats;
use diskarm_core::units::{Instant, Span};

/// A number that describes a `T`.
pub struct Metric<T> {
    /// Its key in JSON; empty where JSON does not have it.
    pub key: &'static str,
    /// Its label in tables, and what follows the number: its unit or its definition.
    pub line: Option<(&'static str, &'static str)>,
    /// The name of its column in studies, which ends in its unit, and its title in figures.
    pub column: Option<(&'static str, &'static str)>,
    /// Its value, in the unit of its name; `None` where it does not exist.
    pub of: fn(&T) -> Option<f64>,
}

type Response = Metric<ResponseStats>;
type Service = Metric<RequestTotals>;
type Load = Metric<Report>;
type Disk = Metric<DiskWork>;
type Cache = Metric<CacheWork>;
type Buffer = Metric<BufferWork>;
type Redundancy = Metric<RedundancyWork>;

/// Response times of a class of requests.
pub const RESPONSE: &[Response] = &[
    Response::new("mean", |r| Some(r.mean_ms))
        .line("response, mean", "ms")
        .column("response_ms_mean", "Mean response time, ms"),
    Response::new("ci95", |r| r.ci95_ms),
    Response::new("std", |r| r.std_ms)
        .line("  std", "ms")
        .column("response_ms_std", "Standard deviation of response time, ms"),
    Response::new("cv2", |r| r.cv2)
        .line("  cv2", "(std / mean) squared")
        .column(
            "response_cv2",
            "Squared coefficient of variation of response time",
        ),
    Response::new("p50", |r| Some(r.p50_ms))
        .line("  median", "ms")
        .column("response_ms_p50", "Median response time, ms"),
    Response::new("", |r| Some(r.p90_ms))
        .column("response_ms_p90", "90th percentile of response time, ms"),
    Response::new("p95", |r| Some(r.p95_ms))
        .line("  95 %", "ms")
        .column("response_ms_p95", "95th percentile of response time, ms"),
    Response::new("p99", |r| Some(r.p99_ms))
        .line("  99 %", "ms")
        .column("response_ms_p99", "99th percentile of response time, ms"),
    Response::new("p999", |r| Some(r.p999_ms)).line("  99.9 %", "ms"),
    Response::new("max", |r| Some(r.max_ms))
        .line("  max", "ms")
        .column("response_ms_max", "Longest response time, ms"),
];

/// Service times of a class of requests.
pub const SERVICE: &[Service] = &[
    Service::new("", |s| part(s, |b| b.queue)).column("queue_ms_mean", "Mean wait in queues, ms"),
    Service::new("mean", |s| s.mean_service().map(Span::as_ms))
        .line("service, mean", "ms")
        .column("service_ms_mean", "Mean service time, ms"),
    Service::new("owed", |s| part(s, |b| b.owed)).line("  owed", "ms"),
    Service::new("overhead", |s| part(s, |b| b.overhead)).line("  overhead", "ms"),
    // Studies count what the drive owes as overhead.
    Service::new("", |s| part(s, |b| b.overhead + b.owed))
        .column("overhead_ms_mean", "Mean command overhead, ms"),
    Service::new("seek", |s| part(s, |b| b.seek))
        .line("  seek", "ms")
        .column("seek_ms_mean", "Mean seek time, ms"),
    Service::new("settle", |s| part(s, |b| b.settle))
        .line("  settle", "ms")
        .column("settle_ms_mean", "Mean head switch and settle, ms"),
    Service::new("rotation", |s| part(s, |b| b.rotation))
        .line("  rotation", "ms")
        .column("rotation_ms_mean", "Mean rotational wait, ms"),
    Service::new("transfer", |s| part(s, |b| b.transfer))
        .line("  transfer", "ms")
        .column("transfer_ms_mean", "Mean media transfer, ms"),
    Service::new("bus", |s| part(s, |b| b.bus))
        .line("  bus", "ms")
        .column("bus_ms_mean", "Mean bus transfer not overlapped, ms"),
];

/// Load of a device, which JSON and tables have by name.
pub const LOAD: &[Load] = &[
    Load::new("", Report::cache_hit_fraction)
        .column("cache_hit_rate", "Share of reads served from the buffer"),
    Load::new("", Report::utilisation_fraction)
        .column("utilisation", "Share of time with a request outstanding"),
    Load::new("", Report::waiting_mean_count)
        .column("queue_mean", "Mean number of requests waiting"),
    Load::new("", |r| Some(r.waiting_max_count() as f64))
        .column("queue_max", "Largest number of requests waiting"),
    Load::new("", Report::throughput_per_s).column("throughput_per_s", "Throughput, requests/s"),
    Load::new("", |r| Some(r.requests_count() as f64)).column("requests", "Requests counted"),
    Load::new("", |r| Some(r.failed_count() as f64)).column("failed", "Requests that failed"),
    Load::new("", |r| Some(r.recovered_count() as f64))
        .column("recovered", "Requests that succeeded after retries"),
];

/// Work of a disk that is part of a device; in studies the mean over all disks.
pub const DISK: &[Disk] = &[
    Disk::new("reads", |d| Some(d.reads as f64)),
    Disk::new("writes", |d| Some(d.writes as f64)),
    Disk::new("reading", |d| Some(d.reading_fraction))
        .column("disk_reading", "Share of time a disk spends on reads"),
    Disk::new("writing", |d| Some(d.writing_fraction))
        .column("disk_writing", "Share of time a disk spends on writes"),
    Disk::new("in_batches", |d| Some(d.in_batches_fraction)).column(
        "disk_in_batches",
        "Share of time a disk spends on batches of writes",
    ),
    Disk::new("batches", |d| Some(d.batches as f64)),
    Disk::new("batch_ms_mean", |d| d.batch_mean.map(Span::as_ms))
        .column("batch_ms_mean", "Mean length of a batch of writes, ms"),
    Disk::new("between_batches_ms_mean", |d| {
        d.between_batches_mean.map(Span::as_ms)
    })
    .column(
        "between_batches_ms_mean",
        "Mean time between batches of writes, ms",
    ),
    Disk::new("waiting_mean", |d| Some(d.waiting_mean_count)).column(
        "disk_waiting_mean",
        "Mean number of requests waiting for a disk",
    ),
    Disk::new("waiting_max", |d| Some(d.waiting_max as f64)),
    Disk::new("writes_waiting_mean", |d| Some(d.writes_waiting_mean_count)).column(
        "disk_writes_waiting_mean",
        "Mean number of writes waiting for a disk",
    ),
];

/// Work of a non-volatile write cache; in studies the mean over all caches.
pub const CACHE: &[Cache] = &[
    Cache::new("absorbed", |c| Some(c.absorbed as f64)),
    Cache::new("waited", |c| Some(c.waited as f64))
        .column("cache_waited", "Writes that waited for room in the cache"),
    Cache::new("hits", |c| Some(c.hits as f64)).column("cache_hits", "Reads served from the cache"),
    Cache::new("overwritten_blocks", |c| Some(c.overwritten as f64)).column(
        "cache_overwritten_blocks",
        "Blocks overwritten before they were destaged",
    ),
    Cache::new("destages", |c| Some(c.destages as f64)).column("cache_destages", "Destages"),
    Cache::new("failed", |c| Some(c.failed as f64)),
    Cache::new("dirty_mean", |c| Some(c.dirty_mean_count))
        .column("cache_dirty_mean", "Mean number of blocks in the cache"),
    Cache::new("dirty_max", |c| Some(c.dirty_max as f64))
        .column("cache_dirty_max", "Largest number of blocks in the cache"),
];

/// Work of the buffer of a drive with a deferred write cache.
pub const BUFFER: &[Buffer] = &[
    Buffer::new("destaged_blocks", |b| Some(b.destaged.0 as f64)),
    Buffer::new("destaged_in_gaps_blocks", |b| Some(b.in_gaps.0 as f64)),
    Buffer::new("writes_in_gaps", |b| Some(b.writes_in_gaps as f64)),
];

/// Failures of disks of an array, and its rebuild; in studies the mean over all arrays.
pub const REDUNDANCY: &[Redundancy] = &[
    Redundancy::new("failed_disks", |r| Some(r.failed as f64)),
    Redundancy::new("failed_at_s", |r| r.failed_at.map(since_start_s)),
    Redundancy::new("rebuilt", |r| r.rebuilt_fraction)
        .column("rebuilt", "Share of the failed disk that the spare has"),
    Redundancy::new("rebuild_s", |r| r.rebuild_time.map(Span::as_s))
        .column("rebuild_s", "Time to rebuild, s"),
    Redundancy::new("rebuild_projected_s", |r| {
        r.rebuild_projected.map(Span::as_s)
    })
    .column("rebuild_projected_s", "Time to rebuild under load, s"),
    Redundancy::new("rebuild_stopped_at_block", |r| {
        r.stopped.map(|block| block.0 as f64)
    }),
    Redundancy::new("lost_blocks", |r| {
        Some(r.lost.map_or(0.0, |lost| lost.blocks.0 as f64))
    })
    .column("lost_blocks", "Blocks lost"),
    Redundancy::new("lost_from_block", |r| {
        r.lost.map(|lost| lost.first.0 as f64)
    }),
    Redundancy::new("lost_at_s", |r| r.lost.map(|lost| since_start_s(lost.at))),
];

fn since_start_s(at: Instant) -> f64 {
    (at - Instant::START).as_s()
}

impl<T> Metric<T> {
    const fn new(key: &'static str, of: fn(&T) -> Option<f64>) -> Self {
        let (line, column) = (None, None);
        Self {
            key,
            line,
            column,
            of,
        }
    }

    const fn line(mut self, label: &'static str, unit: &'static str) -> Self {
        self.line = Some((label, unit));
        self
    }

    const fn column(mut self, name: &'static str, title: &'static str) -> Self {
        self.column = Some((name, title));
        self
    }
}

/// The mean of a part of the response, in milliseconds.
fn part(served: &RequestTotals, of: fn(Breakdown) -> Span) -> Option<f64> {
    served.mean_breakdown().map(|mean| of(mean).as_ms())
}
