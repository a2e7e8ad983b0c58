//! Results of scans: of simulated drives, with the cost to the foreground, and of real devices.

use std::fmt::Write;

use diskarm_core::geometry::Layout;
use diskarm_core::units::{Lbn, SectorCount, Span};
use diskarm_plot::rounded;
use diskarm_queueing::service::streaming_bytes_per_s;
use diskarm_scan::{
    CHUNK, ForegroundReport, Observations, PARTS, Scan, ScanRecord, ScanReport as ScanOutcome,
    SchedulerLocation,
};
use serde::Serialize;

use crate::prose;

/// The results of a scan, and everything needed to repeat it.
#[derive(Debug, Serialize)]
pub struct ScanResults {
    pub drive: String,
    /// The scheduler's model of the drive.
    pub model: String,
    pub policy: String,
    /// The foreground, if it is generated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// The trace of the foreground, if it is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// The requested changes to the trace, one line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trace_changes: Vec<String>,
    /// `outside` if the scheduler is outside the drive, `inside` if it is in the drive's firmware.
    pub place: &'static str,
    /// The maximum number of requests in the drive; `None` for a scheduler inside the drive.
    pub depth: Option<usize>,
    /// True if the reads of a gap are on different tracks; `None` for a scheduler inside the drive.
    pub one_per_track: Option<bool>,
    pub seed: u64,
    /// The time added to each predicted seek, as last adjusted.
    pub conservatism_ms: f64,
    /// The bound on the slowdown for which that time was adjusted.
    pub max_slowdown_share: Option<f64>,
    pub is_complete: bool,
    pub blocks: u64,
    pub blocks_left: u64,
    pub blocks_unreadable: u64,
    pub time_s: f64,
    /// The rate of the scan while between 80 and 20 % of the blocks were still wanted.
    pub free_80_to_20_mb_per_s: Option<f64>,
    pub free_whole_mb_per_s: Option<f64>,
    /// The rate over the blocks read so far.
    pub free_mb_per_s: f64,
    /// The rate of one drive that reads all of its blocks in order.
    pub streaming_mb_per_s: Option<f64>,
    pub foreground_mb_per_s: f64,
    /// The rate without the scan; `None` unless it was measured with the same number of requests.
    pub foreground_alone_mb_per_s: Option<f64>,
    pub foreground_requests: u64,
    pub response_ms: f64,
    /// Half the width of its 95 % confidence interval; `None` for fewer than 512 requests.
    pub response_ci95_ms: Option<f64>,
    pub response_alone_ms: Option<f64>,
    pub response_alone_ci95_ms: Option<f64>,
    pub slowdown_share: Option<f64>,
    /// Half the width of its 95 % confidence interval, from batches with nearly the same requests.
    pub slowdown_ci95_share: Option<f64>,
    /// The number of gaps in which something was read.
    pub gaps: u64,
    pub reads: u64,
    /// The number of foreground commands that also read for the scan.
    pub merged: u64,
    /// The maximum amount of data that waited in memory for the spare of a rebuild.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_mb: Option<f64>,
    /// The accuracy of the model of the drive; `None` for a scheduler inside the drive.
    pub predictions: Option<Predictions>,
    pub progress: Vec<ScanProgress>,
    pub unreadable: Vec<Unreadable>,
}

const POOR_PREDICTIONS: &str = "note: most requests did not complete as predicted: either \
                                replies are delayed on their way, or the model does not match the \
                                drive";

const MIN_PREDICTIONS: u64 = 100;

/// The accuracy of the model of an external scheduler.
#[derive(Debug, Serialize)]
pub struct Predictions {
    /// The number of requests whose predictions were used.
    pub requests: u64,
    /// The share of these that completed within 50 us of the prediction.
    pub right_share: f64,
    pub surprise_hits: u64,
    pub surprise_misses: u64,
    pub revolutions: u64,
    pub pauses: u64,
    pub failures: u64,
    /// The number of requests that overtook others.
    pub reordered: u64,
    /// The number of foreground requests that were chosen by block number, not by predicted time.
    pub by_block_number: u64,
}

impl Predictions {
    fn new(seen: &Observations) -> Self {
        let surprises = &seen.surprises;
        Self {
            requests: seen.predicted,
            right_share: seen.right as f64 / seen.predicted.max(1) as f64,
            surprise_hits: surprises.hits,
            surprise_misses: surprises.misses,
            revolutions: surprises.revolutions,
            pauses: surprises.pauses,
            failures: surprises.failures,
            reordered: surprises.reordered,
            by_block_number: seen.by_block_number,
        }
    }
}

#[derive(Debug, Serialize)]
pub struct ScanProgress {
    pub read_share: f64,
    pub time_s: f64,
    /// The share of each tenth of the disk that was still wanted, outermost first.
    pub left_share: [f64; PARTS],
}

#[derive(Clone, Copy, Debug)]
pub struct ScanNames<'a> {
    pub drive: &'a str,
    pub model: &'a str,
    pub workload: Option<&'a str>,
    pub trace: Option<&'a str>,
    pub trace_changes: &'a [String],
}

impl ScanResults {
    /// Returns the results of `scan`, with the unreadable blocks.
    pub fn new(
        scan: &Scan<'_>,
        ran: &ScanOutcome,
        names: ScanNames<'_>,
        unreadable: Vec<Unreadable>,
    ) -> Self {
        let (place, depth) = match scan.location {
            SchedulerLocation::Outside(depth) => ("outside", Some(depth)),
            SchedulerLocation::InFirmware => ("inside", None),
        };
        let mb = |bytes_per_s: f64| bytes_per_s / 1e6;
        let foreground = &ran.foreground;
        // A scan of a real device may have been stopped before the foreground ran alone.
        let alone = Some(&ran.alone).filter(|alone| alone.requests == foreground.requests);
        let alone = alone.filter(|alone| alone.requests > 0);
        let foreground_mb_per_s = |foreground: &ForegroundReport| {
            let bytes = (foreground.sectors * ran.sector.0) as f64;
            mb(bytes / foreground.end.as_s())
        };
        let tenths = (1..).zip(&ran.by_part);
        let progress = tenths.map(|(tenth, left_share)| ScanProgress {
            read_share: f64::from(tenth) / 10.0,
            time_s: ran.percents[10 * tenth as usize].as_s(),
            left_share: *left_share,
        });
        let ci95_ms = |served: &ForegroundReport| served.batches.half_width_95().map(Span::as_ms);
        let time_s = foreground.end.as_s();
        Self {
            drive: names.drive.to_owned(),
            model: names.model.to_owned(),
            policy: scan.policy.to_string(),
            workload: names.workload.map(str::to_owned),
            trace: names.trace.map(str::to_owned),
            trace_changes: names.trace_changes.to_vec(),
            place,
            depth,
            one_per_track: depth.map(|_| scan.settings.one_per_track),
            seed: scan.seed,
            conservatism_ms: ran.conservatism.as_ms(),
            max_slowdown_share: scan.settings.max_slowdown,
            is_complete: ran.is_complete(),
            blocks: ran.sectors.0,
            blocks_left: ran.left.0,
            blocks_unreadable: ran.stats.unreadable,
            time_s,
            free_80_to_20_mb_per_s: ran.bytes_per_s(20, 80).map(mb),
            free_whole_mb_per_s: ran.bytes_per_s(0, 100).map(mb),
            free_mb_per_s: mb((ran.stats.sectors * ran.sector.0) as f64 / time_s),
            streaming_mb_per_s: streaming_bytes_per_s(scan.spec).map(mb),
            foreground_mb_per_s: foreground_mb_per_s(foreground),
            foreground_alone_mb_per_s: alone.map(foreground_mb_per_s),
            foreground_requests: foreground.requests,
            response_ms: foreground.response.as_ms(),
            response_ci95_ms: ci95_ms(foreground),
            response_alone_ms: alone.map(|alone| alone.response.as_ms()),
            response_alone_ci95_ms: alone.and_then(ci95_ms),
            slowdown_share: alone.map(|_| ran.slowdown()),
            slowdown_ci95_share: ran.slowdown_half_width(),
            gaps: ran.stats.gaps,
            reads: ran.stats.reads,
            merged: ran.stats.merged,
            waited_mb: ran
                .waited
                .map(|sectors| mb((sectors.0 * ran.sector.0) as f64)),
            predictions: ran.observations.as_ref().map(Predictions::new),
            progress: progress.collect(),
            unreadable,
        }
    }

    pub fn text(&self) -> String {
        let mut text = format!("{}, {} with {}\n\n", self.drive, self.place, self.policy);
        let blocks = self.blocks - self.blocks_left;
        let mut row = |name: &str, value: String| text += &format!("{name:<38}{value}\n");
        let speed = |speed: Option<f64>| match speed {
            Some(mb) => format!("{mb:.2} MB/s"),
            None => "not yet".to_owned(),
        };
        row("blocks read", format!("{blocks} of {}", self.blocks));
        if self.blocks_unreadable > 0 {
            row("unreadable", self.blocks_unreadable.to_string());
        }
        row("time", brief(self.time_s));
        let rate = speed(self.free_80_to_20_mb_per_s);
        row("free bandwidth, 80 to 20 % left", rate);
        let rate = speed(self.free_whole_mb_per_s);
        row("free bandwidth, whole scan", rate);
        if !self.is_complete {
            row("free bandwidth, so far", speed(Some(self.free_mb_per_s)));
        }
        self.cost(&mut row);
        row("conservatism", format!("{:.3} ms", self.conservatism_ms));
        let counts = format!("{}, {}, {}", self.gaps, self.reads, self.merged);
        row("gaps used, reads, merged reads", counts);
        if let Some(mb) = self.waited_mb {
            row("waited in memory for the spare", format!("{mb:.1} MB"));
        }
        if let Some(seen) = &self.predictions {
            let right = 100.0 * seen.right_share;
            row("predicted within 50 us", format!("{right:.2} %"));
            row("revolutions lost or gained", seen.revolutions.to_string());
            let (hits, misses) = (seen.surprise_hits, seen.surprise_misses);
            row("surprise hits and misses", format!("{hits} and {misses}"));
            let requests = format!("{} requests", seen.by_block_number);
            row("served by block number", requests);
        }
        if !self.progress.is_empty() {
            text += "\nread      time   % left in each tenth of the disk, from the outermost\n";
        }
        for step in &self.progress {
            let share = |share: f64| format!("{:4.0}", 100.0 * share);
            let (read, left) = (100.0 * step.read_share, step.left_share.map(share).concat());
            let _ = writeln!(text, "{read:3.0} % {:7.0} s {left}", step.time_s);
        }
        text += &list_unreadable(&self.unreadable);
        text + &self.notes()
    }

    /// Adds the throughput and response of the foreground, and its slowdown by the scan.
    fn cost(&self, row: &mut impl FnMut(&str, String)) {
        let rate = format!("{:.2} MB/s", self.foreground_mb_per_s);
        row("foreground", rate);
        let ms = |mean, ci95| format!("{} ms", rounded(mean, ci95));
        row("mean response", ms(self.response_ms, self.response_ci95_ms));
        if let Some(alone) = self.response_alone_ms {
            let alone = ms(alone, self.response_alone_ci95_ms);
            row("mean response without scan", alone);
        }
        if let Some(slowdown) = self.slowdown_share {
            let half = self.slowdown_ci95_share.map(|share| 100.0 * share);
            let slowdown = rounded(100.0 * slowdown, half);
            let doubt = match half {
                Some(_) => "",
                None => " (run too short for an interval)",
            };
            row("slowdown", format!("{slowdown} %{doubt}"));
        }
    }

    fn notes(&self) -> String {
        let mut text = String::new();
        if let Some(seen) = &self.predictions {
            // Requests chosen by block number are not among the predicted ones.
            let all = seen.requests + seen.by_block_number;
            let right = seen.right_share * seen.requests as f64;
            if all >= MIN_PREDICTIONS && right < 0.5 * all as f64 {
                text += &format!("\n{}", prose::wrapped(POOR_PREDICTIONS, 0));
            }
        }
        for change in &self.trace_changes {
            text += &format!("\n{}", prose::wrapped(&format!("note: {change}"), 0));
        }
        text
    }
}

/// Formats a time in seconds, with milliseconds if it is short.
fn brief(seconds: f64) -> String {
    let decimals = if seconds < 10.0 { 3 } else { 0 };
    format!("{seconds:.decimals$} s")
}

#[derive(Debug, Serialize)]
pub struct DeviceScan {
    pub url: String,
    pub block_bytes: u64,
    pub blocks: u64,
    pub blocks_left: u64,
    /// The number of blocks that earlier runs of the same scan read.
    pub blocks_before: u64,
    pub is_complete: bool,
    /// True if blocks may have come from the system's page cache instead of the device.
    pub may_be_cached: bool,
    pub time_s: f64,
    /// The unreadable blocks, including those of earlier runs.
    pub unreadable: Vec<Unreadable>,
    pub foreground: Option<ScanResults>,
}

/// Consecutive blocks that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    pub block: u64,
    pub blocks: u64,
    /// The location of the first block according to the model; `None` without a model.
    pub cylinder: Option<u32>,
    pub head: Option<u32>,
    pub sector: Option<u32>,
}

impl Unreadable {
    /// Describes `sectors` blocks that begin at `first`.
    ///
    /// # Panics
    /// If `first` is beyond the end of the layout.
    pub fn new(first: Lbn, sectors: SectorCount, layout: Option<&Layout>) -> Self {
        let extent = layout.map(|layout| layout.extent(first));
        Self {
            block: first.0,
            blocks: sectors.0,
            cylinder: extent.map(|extent| extent.cylinder.0),
            head: extent.map(|extent| extent.head.0),
            sector: extent.map(|extent| extent.sector),
        }
    }

    fn text(&self) -> String {
        let blocks = match self.blocks {
            1 => format!("block {}", self.block),
            count => format!("blocks {} to {}", self.block, self.block + count - 1),
        };
        match (self.cylinder, self.head, self.sector) {
            (Some(cylinder), Some(head), Some(sector)) => {
                format!("{blocks}: cylinder {cylinder}, head {head}, sector {sector}")
            }
            _ => blocks,
        }
    }
}

impl DeviceScan {
    pub fn text(&self) -> String {
        match &self.foreground {
            Some(scanned) => scanned.text(),
            None => self.without_foreground() + &list_unreadable(&self.unreadable),
        }
    }

    fn without_foreground(&self) -> String {
        let mut text = format!("{}, in the order of its blocks\n\n", self.url);
        let mut row = |name: &str, value: String| text += &format!("{name:<38}{value}\n");
        let read = self.blocks - self.blocks_left;
        row("blocks read", format!("{read} of {}", self.blocks));
        if self.blocks_before > 0 {
            row("of these in earlier runs", self.blocks_before.to_string());
        }
        let unreadable: u64 = self.unreadable.iter().map(|run| run.blocks).sum();
        row("unreadable", unreadable.to_string());
        if self.may_be_cached {
            row("read from", "possibly the system's page cache".to_owned());
        }
        row("time", brief(self.time_s));
        let bytes = (read - self.blocks_before) * self.block_bytes;
        let speed = bytes as f64 / self.time_s.max(1e-9) / 1e6;
        row("speed", format!("{speed:.2} MB/s"));
        text
    }
}

fn list_unreadable(unreadable: &[Unreadable]) -> String {
    if unreadable.is_empty() {
        return String::new();
    }
    let lines = unreadable.iter().map(|run| run.text() + "\n");
    "\ncannot be read\n".to_owned() + &lines.collect::<String>()
}

/// Formats the checksums of a complete scan: a line for each chunk.
pub fn checksums(account: &ScanRecord) -> String {
    let sector = account.size().sector.0;
    let mut text = format!(
        "# CRC-32 (as in zlib and gzip) of each {CHUNK} bytes; blocks that cannot be read count as \
         zeroes\n# first block, blocks, checksum, and the number that cannot be read, if any\n"
    );
    let all = account.sums().into_iter().flat_map(|sums| sums.all());
    for (first, bytes, sum) in all {
        let (first, blocks) = (first / sector, bytes / sector);
        let unreadable = match account.unreadable_in(Lbn(first), Lbn(first + blocks)) {
            0 => String::new(),
            count => format!(" {count}"),
        };
        let _ = writeln!(text, "{first} {blocks} {sum:08x}{unreadable}");
    }
    text
}

#[cfg(test)]
mod tests {
    use diskarm_core::sched::PolicyConfig;
    use diskarm_scan::{BackgroundSettings, OnPrediction, OnProgress, Requests};

    use super::*;

    /// A scan that was stopped before its foreground ran alone has nothing to compare.
    #[test]
    fn a_slowdown_needs_the_same_requests_without_the_scan() {
        let text = include_str!("../../scan/tests/scan/small.toml");
        let spec = diskarm_core::spec::parse(text, "small.toml").expect("a valid specification");
        let scan = Scan {
            spec: &spec,
            model: &spec,
            requests: Requests::Recorded(&[]),
            policy: &PolicyConfig::default(),
            location: SchedulerLocation::InFirmware,
            settings: BackgroundSettings::default(),
            seed: 1,
            max_requests: 5,
            on_progress: OnProgress::default(),
            on_prediction: OnPrediction::default(),
        };
        let served = |requests| ForegroundReport {
            requests,
            response: Span::from_us(100.0),
            ..ForegroundReport::default()
        };
        let names = ScanNames {
            drive: "small",
            model: "small",
            workload: None,
            trace: None,
            trace_changes: &[],
        };
        for (alone, is_shown) in [(0, false), (4, false), (5, true)] {
            let ran = ScanOutcome {
                foreground: served(5),
                alone: served(alone),
                ..ScanOutcome::default()
            };
            let scanned = ScanResults::new(&scan, &ran, names, Vec::new());
            assert_eq!(scanned.text().contains("\nslowdown "), is_shown, "{alone}");
            assert_eq!(scanned.slowdown_share.is_some(), is_shown, "{alone}");
        }
    }
}
