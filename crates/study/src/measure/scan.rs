//! A scan of the whole drive in the gaps of its requests, and the same requests without the scan
//! (lumb01).
//!
//! A run ends when all blocks have been read, or with its last request.

use std::collections::BTreeMap;
use std::fmt::Display;

use diskarm_core::freeblock::BlockSet;
use diskarm_core::sched::PolicyConfig;
use diskarm_core::text::quantity;
use diskarm_core::units::Span;
use diskarm_results::scanned::{ScanNames, ScanResults};
use diskarm_scan::{
    BackgroundSettings, OnPrediction, OnProgress, Requests, Scan, SchedulerLocation,
};
use diskarm_simulate::{Arrivals, Error, Input, Model, Simulation, System};

use crate::metric::{Column, MeasureInfo, RunOutcome, Stop};

/// A column: its name, its title in charts, and its value.
type ScanColumn = (&'static str, &'static str, fn(&ScanResults) -> Option<f64>);

/// Makes a table of columns; each value is an expression of the results `$s`.
macro_rules! columns {
    ($s:ident: $($name:literal, $title:literal => $value:expr;)*) => {
        &[$(($name, $title, |$s| $value)),*]
    };
}

const COLUMNS: &[ScanColumn] = columns! { s:
    "free_80_to_20_mb_per_s", "Free bandwidth while 80 to 20 % is wanted, MB/s"
        => s.free_80_to_20_mb_per_s;
    "free_whole_mb_per_s", "Free bandwidth of a whole scan, MB/s" => s.free_whole_mb_per_s;
    "free_mb_per_s", "Free bandwidth until the run ended, MB/s" => Some(s.free_mb_per_s);
    "read_share", "Share of the blocks that was read" => Some(read_share(s));
    "scans_per_day", "Scans per day" => s.is_complete.then(|| 86_400.0 / s.time_s);
    "at_this_rate_per_day", "Scans per day at the rate of the run"
        => Some(read_share(s) * 86_400.0 / s.time_s);
    "free_of_streaming_share", "Free bandwidth relative to reading all blocks in order"
        => Some(s.free_mb_per_s / s.streaming_mb_per_s?);
    "left_share_max", "Largest share of any tenth of the disk left when 90 % is read"
        => left_share(s);
    "foreground_mb_per_s", "Bandwidth of the foreground, MB/s" => Some(s.foreground_mb_per_s);
    "foreground_alone_mb_per_s", "Foreground bandwidth without the scan, MB/s"
        => s.foreground_alone_mb_per_s;
    "utilisation_gain", "Bandwidth of foreground and scan over that of the foreground alone"
        => Some((s.free_mb_per_s + s.foreground_mb_per_s) / s.foreground_alone_mb_per_s?);
    "foreground_per_s", "Foreground requests per second"
        => Some(s.foreground_requests as f64 / s.time_s);
    "response_ms_mean", "Mean response time of the foreground, ms" => Some(s.response_ms);
    "response_alone_ms_mean", "Mean response time without the scan, ms" => s.response_alone_ms;
    "slowdown_share", "Slowdown of the foreground" => s.slowdown_share;
    "gap_share", "Share of the requests with a background read before them"
        => Some(s.gaps as f64 / s.foreground_requests as f64);
    "conservatism_ms", "Conservatism at the end, ms" => Some(s.conservatism_ms);
    "waited_mb", "Maximum data waiting in memory for a spare, MB" => s.waited_mb;
    "time_h", "Time of the whole scan, h" => s.is_complete.then(|| s.time_s / 3600.0);
    "predicted_share", "Share of completions within 50 us of their prediction"
        => Some(s.predictions.as_ref()?.right_share);
    "lost_per_1000", "Revolutions lost or gained per 1000 requests" => lost_per_1000(s);
};

fn left_share(scanned: &ScanResults) -> Option<f64> {
    let mut steps = scanned.progress.iter();
    let step = steps.find(|step| step.read_share > 0.89)?;
    step.left_share.into_iter().reduce(f64::max)
}

fn lost_per_1000(scanned: &ScanResults) -> Option<f64> {
    let seen = scanned.predictions.as_ref()?;
    Some(1000.0 * seen.revolutions as f64 / seen.requests as f64)
}

fn read_share(scanned: &ScanResults) -> f64 {
    1.0 - scanned.blocks_left as f64 / scanned.blocks as f64
}

pub(super) const INFO: MeasureInfo = MeasureInfo {
    name: "scan",
    summary: "a scan of the drive in the gaps of its requests, and what it costs them",
    columns: || {
        let columns = COLUMNS.iter();
        columns
            .map(|(name, title, _)| Column::measured(name, title))
            .collect()
    },
};

pub(super) fn run(
    simulation: &Simulation<'_>,
    policy: &PolicyConfig,
    scanning: &Scanning,
    stop: Stop<'_>,
) -> Result<RunOutcome, String> {
    if simulation.warm_up > 0 {
        let found = simulation.warm_up;
        let expected = "expected 0, as a scan counts from its first read";
        return Err(format!("cell.warm_up: found {found}, {expected}"));
    }
    let drive = simulation.system;
    let is_inside_one_drive =
        scanning.location == SchedulerLocation::InFirmware && drive.is_one_drive();
    if scanning.rebuild || is_inside_one_drive {
        let alone = drive.single_drive("cell.drive");
        alone.map_err(|error| error.to_string())?;
    }
    let assumed_model = scanning.assumed_model.as_ref();
    let model = assumed_model.unwrap_or(&drive.drive);
    let (recorded, seed, max_requests);
    let requests = match simulation.input {
        Input::Generated(generated) => {
            (seed, max_requests) = (generated.seed, generated.requests_count());
            Requests::Generated(&generated.workload)
        }
        Input::Traced(traced) => {
            recorded = Arrivals::read(traced, drive).map_err(|error| error.to_string())?;
            (seed, max_requests) = (traced.seed, u64::MAX);
            Requests::Recorded(&recorded.requests)
        }
    };
    let scan = Scan {
        spec: &drive.drive.spec,
        model: &model.spec,
        requests,
        policy,
        location: scanning.location,
        settings: scanning.settings,
        seed,
        max_requests,
        on_progress: OnProgress::default(),
        on_prediction: OnPrediction::default(),
    };
    if stop().is_break() {
        return Ok(RunOutcome::Stopped);
    }
    let fcfs = PolicyConfig::default();
    let ran = if scanning.rebuild {
        scan.rebuild().map_err(Error::from)
    } else if !drive.is_one_drive() {
        scan.run_array(|disk| drive.over_disks(scan.seed, disk))
    } else if drive.stack.is_some() {
        let all = BlockSet::all(drive.sectors);
        scan.run_in_front_of(|| drive.queued(&fcfs, scan.seed), all, |_| {})
    } else {
        scan.run().map_err(Error::from)
    };
    let ran = ran.map_err(|error| error.to_string())?;
    let names = ScanNames {
        drive: &drive.name,
        model: assumed_model.map_or(&drive.name, |model| &model.name),
        workload: None,
        trace: None,
        trace_changes: &[],
    };
    let results = ScanResults::new(&scan, &ran, names, Vec::new());
    let values = COLUMNS.iter().map(|(_, _, of)| of(&results));
    let values = values.map(|value| value.filter(|value| value.is_finite()));
    Ok(RunOutcome::Measured(values.collect()))
}

pub(crate) struct Scanning {
    /// The model that the scheduler assumes, if it is not that of the drive.
    pub assumed_model: Option<Model>,
    pub location: SchedulerLocation,
    pub settings: BackgroundSettings,
    /// True if the scan rebuilds a mirrored pair, writing the blocks to a spare.
    pub rebuild: bool,
}

const KEYS: &[&str] = &[
    "model",
    "inside",
    "depth",
    "conservatism",
    "max_slowdown",
    "any_track",
    "idle",
    "rebuild",
];

impl Scanning {
    /// Reads the table. Keys with the value `none` are ignored. An error describes the problem.
    pub fn new(table: &BTreeMap<String, String>, drive: &System) -> Result<Self, String> {
        if let Some(stray) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let expected = format!("one of {}", KEYS.join(", "));
            return Err(wrong(stray, "a value", &expected));
        }
        let table = ScanTable(table);
        let location = table.location(drive)?;
        let conservatism = table.time("conservatism")?;
        let share = |text: &str| quantity::fraction(text).filter(|share| *share > 0.0);
        let settings = BackgroundSettings {
            conservatism: conservatism.unwrap_or(location.conservatism()),
            one_per_track: !table.flag("any_track")?,
            idle: table.time("idle")?,
            max_slowdown: table.take("max_slowdown", "a percentage such as \"2 %\"", share)?,
        };
        let rebuild = table.flag("rebuild")?;
        if rebuild && location == SchedulerLocation::InFirmware {
            return Err(wrong(
                "rebuild",
                "true",
                "false, as the scan runs inside the drive",
            ));
        }
        Ok(Self {
            rebuild,
            assumed_model: table.model(drive)?,
            location,
            settings,
        })
    }
}

struct ScanTable<'a>(&'a BTreeMap<String, String>);

impl ScanTable<'_> {
    fn take<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, String> {
        let text = self.0.get(key).filter(|text| *text != "none");
        let value = text.map(|text| read(text).ok_or_else(|| wrong(key, text, expected)));
        value.transpose()
    }

    fn time(&self, key: &str) -> Result<Option<Span>, String> {
        let time = |text: &str| quantity::span(text).filter(|span| *span >= Span::ZERO);
        self.take(key, "a time such as \"0.3 ms\"", time)
    }

    fn flag(&self, key: &str) -> Result<bool, String> {
        let flag = self.take(key, "true or false", |text| text.parse().ok());
        Ok(flag?.unwrap_or(false))
    }

    fn location(&self, drive: &System) -> Result<SchedulerLocation, String> {
        let depth = |text: &str| text.parse().ok().filter(|depth| (1..=2).contains(depth));
        let depth: Option<usize> = self.take("depth", "1 or 2", depth)?;
        match (self.flag("inside")?, depth) {
            (true, None) => Ok(SchedulerLocation::InFirmware),
            (true, Some(depth)) => Err(wrong(
                "depth",
                depth,
                "nothing, because the scan runs inside the drive",
            )),
            (false, depth) => {
                let (depth, max) = (depth.unwrap_or(1), drive.drive.spec.queue.depth);
                if depth > max as usize {
                    let expected = format!("at most {max}, the depth of the drive's queue");
                    return Err(wrong("depth", depth, &expected));
                }
                Ok(SchedulerLocation::Outside(depth))
            }
        }
    }

    fn model(&self, drive: &System) -> Result<Option<Model>, String> {
        let Some(name) = self.take("model", "", |text| Some(text.to_owned()))? else {
            return Ok(None);
        };
        let model = Model::substitute(drive.drive.disk(), &drive.name, &name, "cell.scan.model");
        model.map(Some).map_err(|error| error.to_string())
    }
}

fn wrong(key: &str, found: impl Display, expected: &str) -> String {
    format!("cell.scan.{key}: found {found}, expected {expected}")
}
