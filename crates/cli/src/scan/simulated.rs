//! Scans of simulated drives, in virtual time.

use diskarm_core::freeblock::Delivered;
use diskarm_core::units::Bytes;
use diskarm_results::place::Files;
use diskarm_results::scanned::{Names, Scanned, Unreadable};
use diskarm_scan::live::Size;
use diskarm_scan::{Account, Scan, Scanned as Ran};
use diskarm_simulate::{Model, policy, queued};

use super::Args;
use super::keeper::{Outputs, Piece};
use crate::error::Error;
use crate::output;

/// lumb01, experimental setup, without think time.
const FOREGROUND: &str =
    "closed(clients=10) uniform size=exponential(mean=8KiB, unit=4KiB) reads=66.7%";

/// Scans a drive, and prints.
pub fn run_scan(args: &Args, name: &str) -> Result<(), Error> {
    for (flag, path) in [("--checksums", &args.checksums), ("--image", &args.image)] {
        if let Some(path) = path {
            let expected = "none, as a simulated drive has no data";
            return Err(Error::flag(flag, path, expected));
        }
    }
    let drive = drive(args, name)?;
    let believed = believed(args, &drive)?;
    let model = believed.as_ref().unwrap_or(&drive);
    let workload = args.workload.as_deref().unwrap_or(FOREGROUND);
    let scan = Scan {
        spec: &drive.spec,
        model: &model.spec,
        workload: &drive.workload(workload)?,
        policy: &policy("policy", &args.policy)?,
        place: args.place(),
        settings: args.settings(),
        seed: args.seed,
        max_requests: args.requests,
    };
    let mut files = Files::default().reading("URL", name);
    files = files.reading("--workload", workload);
    files = files.reading("--model", args.model.as_deref().unwrap_or_default());
    let outputs = Outputs::new(&mut files, args.checkpoint.as_deref(), None)?;
    let (account, ran) = kept(args, &scan, &drive, outputs)?;
    let unreadable = account.unreadable().map(|(first, sectors)| {
        let layout = Some(&**model.layout());
        Unreadable::new(first, sectors, layout)
    });
    let names = Names {
        drive: &drive.name,
        model: &model.name,
        workload,
    };
    let scanned = Scanned::of(&scan, &ran, names, unreadable.collect());
    match args.json {
        true => output::print_json(&scanned)?,
        false => output::print(&scanned.text())?,
    }
    super::judged(args, &account)
}

/// The drive, which may have faults.
fn drive(args: &Args, name: &str) -> Result<Model, Error> {
    let found = match args.inside || !name.starts_with("faults(") {
        true => Model::find(name),
        false => Model::assemble(name),
    };
    let found = found.map_err(|error| error.calling("URL"))?;
    let drive = args.changes.of(found)?;
    if args.depth > drive.spec.queue.depth as usize {
        let expected = "1, as the drive takes one command at a time (--set queue.depth=2)";
        return Err(Error::flag("--depth", args.depth.to_string(), expected));
    }
    Ok(drive)
}

/// The drive that the scheduler believes it to be, if that is another.
fn believed(args: &Args, drive: &Model) -> Result<Option<Model>, Error> {
    let Some(name) = &args.model else {
        return Ok(None);
    };
    let model = Model::find(name).map_err(|error| error.calling("--model"))?;
    model.alone("--model")?;
    let blocks = |model: &Model| model.layout().sectors().0;
    if blocks(&model) == blocks(drive) {
        return Ok(Some(model));
    }
    let expected = format!("a drive of {} blocks, as {}", blocks(drive), drive.name);
    Err(Error::flag("--model", name, expected))
}

/// Runs a scan, from its checkpoint if it has one.
fn kept(
    args: &Args,
    scan: &Scan<'_>,
    drive: &Model,
    outputs: Outputs,
) -> Result<(Account, Ran), Error> {
    let geometry = &scan.spec.geometry;
    let size = Size {
        sectors: geometry.sectors,
        sector: Bytes(geometry.sector_bytes.into()),
    };
    let (keeper, left) = outputs.begin(&args.url, size, false)?;
    // With the same requests once more, most reads would be of what has been read.
    let scan = Scan {
        seed: scan.seed.wrapping_add(size.sectors.0 - left.count().0),
        ..scan.clone()
    };
    let pieces = keeper.pieces();
    let sink = move |delivered: &Delivered| {
        let (first, sectors) = (delivered.first, delivered.sectors);
        // If it cannot be kept, the error comes at the end.
        let _ = pieces.send(match delivered.is_readable {
            true => Piece::Passed(first, sectors),
            false => Piece::Failed(first, sectors),
        });
    };
    let ran = if drive.tower.is_some() {
        let fcfs = policy("policy", "fcfs")?;
        queued(drive, &fcfs, scan.seed)?;
        let device = || match queued(drive, &fcfs, scan.seed) {
            Ok(device) => device,
            Err(error) => panic!("it was built before: {error}"),
        };
        scan.run_in_front_of(device, left, sink)
    } else {
        scan.run_for(left, sink)
    };
    Ok((keeper.end()?, ran?))
}
