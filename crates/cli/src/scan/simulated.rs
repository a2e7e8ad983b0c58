//! Scans of simulated drives, in virtual time.

use diskarm_core::freeblock::Delivery;
use diskarm_core::sched::PolicyConfig;
use diskarm_core::units::Bytes;
use diskarm_results::output_file::Files;
use diskarm_results::scanned::{ScanNames, ScanResults, Unreadable};
use diskarm_scan::live::Size;
use diskarm_scan::{OnPrediction, OnProgress, Requests, Scan, ScanRecord, ScanReport};
use diskarm_simulate::{Arrivals, Model, System, policy};

use super::Args;
use super::predictions::Predictions;
use super::recorder::{self, Outputs, ScanEvent};
use crate::error::Error;
use crate::output;
use crate::progress::Progress;

/// The workload of lumb01 (experimental setup), without think time.
const FOREGROUND: &str =
    "closed(clients=10) uniform size=exponential(mean=8KiB, unit=4KiB) reads=66.7%";

pub fn run_scan(args: &Args, name: &str) -> Result<(), Error> {
    let drive = drive(args, name)?;
    let named_model = args.model.as_ref();
    let named_model = named_model
        .map(|name| Model::substitute(drive.drive.disk(), &drive.name, name, "--model"))
        .transpose()?;
    let default_model = Model {
        name: drive.name.clone(),
        ..drive.drive.clone()
    };
    let model = named_model.as_ref().unwrap_or(&default_model);
    let workload = args.workload.as_deref().unwrap_or(FOREGROUND);
    let generated = drive.workload(workload)?;
    let trace = args.trace.as_ref();
    let recorded = trace
        .map(|trace| read_arrivals(args, trace, &drive))
        .transpose()?;
    let requests = match &recorded {
        Some(recorded) => Requests::Recorded(&recorded.requests),
        None => Requests::Generated(&generated),
    };
    let progress = Progress::with_fraction();
    let on_progress = |fraction| progress.set_fraction(fraction);
    let scan = Scan {
        spec: &drive.drive.spec,
        model: &model.spec,
        requests,
        policy: &policy("policy", &args.policy)?,
        location: args.location(),
        settings: args.settings(),
        seed: args.seed,
        max_requests: args.max_requests(),
        on_progress: OnProgress(Some(&on_progress)),
        on_prediction: OnPrediction::default(),
    };
    let names = ScanNames {
        drive: &drive.name,
        model: &model.name,
        workload: args.trace.is_none().then_some(workload),
        trace: args.trace.as_deref(),
        trace_changes: recorded.as_ref().map_or(&[], |recorded| &recorded.changes),
    };
    if args.rebuild || !drive.is_one_drive() {
        return run_disks(args, &scan, &drive, names, &progress);
    }
    let mut files = Files::default().with_input("URL", name);
    files = files.with_input("--workload", workload);
    files = files.with_input_trace("--trace", args.trace.as_deref().unwrap_or_default());
    files = files.with_input("--model", args.model.as_deref().unwrap_or_default());
    let outputs = Outputs::new(&mut files, args.checkpoint.as_deref(), None)?;
    let predictions = Predictions::create(args, &drive.name, Some(model), &mut files)?;
    let scan = Scan {
        on_prediction: Predictions::callback(predictions.as_ref()),
        ..scan
    };
    let report = run_recorded(args, &scan, &drive, outputs);
    progress.clear();
    let (record, report) = report?;
    let layout = Some(&**model.layout());
    let unreadable = record.unreadable();
    let unreadable = unreadable.map(|(first, sectors)| Unreadable::new(first, sectors, layout));
    let results = ScanResults::new(&scan, &report, names, unreadable.collect());
    output::print_as(args.json, &results, || results.text())?;
    if let Some(predictions) = predictions {
        predictions.finish()?;
    }
    recorder::conclude(args.checkpoint.as_deref(), &record)
}

fn read_arrivals(args: &Args, trace: &str, drive: &System) -> Result<Arrivals, Error> {
    let traced = args.traced.replay(&[trace.to_owned()])?;
    let arrivals = Arrivals::read(&traced, drive)?;
    output::print_warnings(&arrivals.warnings);
    Ok(arrivals)
}

/// Scans the disks of an array, or rebuilds a pair, and prints the results.
fn run_disks(
    args: &Args,
    scan: &Scan<'_>,
    drive: &System,
    names: ScanNames<'_>,
    progress: &Progress,
) -> Result<(), Error> {
    for (option, path) in [
        ("--checkpoint", &args.checkpoint),
        ("--predictions", &args.predictions),
    ] {
        if path.is_some() {
            return Err(Error::Failed(format!("`{option}` needs a single drive")));
        }
    }
    let report = if args.rebuild {
        drive.single_drive("URL")?;
        scan.rebuild()?
    } else {
        scan.run_array(|disk| drive.over_disks(scan.seed, disk))?
    };
    progress.clear();
    let results = ScanResults::new(scan, &report, names, Vec::new());
    output::print_as(args.json, &results, || results.text())?;
    Error::unreadable(report.stats.unreadable)
}

/// Returns the drive, perhaps with faults, or the array.
fn drive(args: &Args, name: &str) -> Result<System, Error> {
    let found = System::parse(name).map_err(|error| error.with_field("URL"))?;
    let drive = args.changes.apply_to_system(found)?;
    if args.in_firmware && drive.is_one_drive() {
        drive.single_drive("URL")?;
    }
    if args.depth > drive.drive.spec.queue.depth as usize {
        return Err(Error::Failed(format!(
            "`--depth {}` needs a drive with a queue: {} takes one command at a time (--set \
             queue.depth=2 gives it a queue)",
            args.depth, drive.name
        )));
    }
    Ok(drive)
}

/// Runs a scan, resuming from its checkpoint if it has one.
fn run_recorded(
    args: &Args,
    scan: &Scan<'_>,
    drive: &System,
    outputs: Outputs,
) -> Result<(ScanRecord, ScanReport), Error> {
    let geometry = &scan.spec.geometry;
    let size = Size {
        sectors: geometry.sectors,
        sector: Bytes(geometry.sector_bytes.into()),
    };
    let (recorder, left) = outputs.start(&args.url, size, false)?;
    // With the same seed, the same requests would recur, and most gaps would lead to blocks that
    // have already been read. (A trace does not depend on the seed.)
    let scan = Scan {
        seed: scan.seed.wrapping_add(size.sectors.0 - left.count().0),
        ..scan.clone()
    };
    let pieces = recorder.pieces();
    let sink = move |delivered: &Delivery| {
        let (first, sectors) = (delivered.first, delivered.sectors);
        // A failure to record is reported at the end.
        let _ = pieces.send(if delivered.is_readable {
            ScanEvent::Passed(first, sectors)
        } else {
            ScanEvent::Failed(first, sectors)
        });
    };
    let report = if drive.stack.is_some() {
        let fcfs = PolicyConfig::default();
        scan.run_in_front_of(|| drive.queued(&fcfs, scan.seed), left, sink)
    } else {
        scan.run_for(left, sink)
            .map_err(diskarm_simulate::Error::from)
    };
    Ok((recorder.finish()?, report?))
}
