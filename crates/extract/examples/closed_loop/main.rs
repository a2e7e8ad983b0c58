//! Measures drives of the catalogue from nothing but commands, in several ways, and compares what
//! was found with what they were made of: `closed_loop FOLDER [NAME...]`.
//!
//! Prints a JSON array of runs, in the order of the catalogue and of the ways, and writes what was
//! found as specifications `NAME-WAY.toml` into the folder. How long each run took goes to standard
//! error.

mod facts;
mod judged;
mod layouts;
mod seeks;
mod sequence;
mod way;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use diskarm_core::spec::{self, Spec};
use diskarm_drives::CATALOGUE;
use diskarm_extract::Effort;
use diskarm_extract::suite::{self, Checkpoint, MeasuredDrive, Observer, Options, Progress};
use rayon::prelude::*;

use judged::Run;
use way::{WAYS, Way};

const OPTIONS: Options = Options {
    effort: Effort::Normal,
    writes: true,
    seed: 1,
};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next() else {
        eprintln!("usage: closed_loop FOLDER [NAME...]");
        return ExitCode::from(2);
    };
    let names: Vec<String> = arguments.collect();
    match all(Path::new(&folder), &names) {
        Ok(runs) => {
            println!(
                "{}",
                serde_json::to_string_pretty(&runs).expect("plain values")
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("closed_loop: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs of the drives with these names, or of all, on all processors.
fn all(folder: &Path, names: &[String]) -> Result<Vec<Run>, String> {
    let wanted = |name: &str| names.is_empty() || names.iter().any(|one| one == name);
    // The layout of drives that emulate sectors cannot be measured yet.
    let is_emulated =
        |text, name| spec::parse(text, name).is_ok_and(|spec| spec.geometry.physical_sector.0 > 1);
    let drives = CATALOGUE.iter().filter(|drive| wanted(drive.name));
    let drives = drives.filter(|drive| !is_emulated(drive.text, drive.name));
    let pairs: Vec<_> = drives
        .flat_map(|drive| WAYS.iter().map(move |way| (drive, way)))
        .collect();
    let run = |(drive, way): &(&diskarm_drives::Entry, &Way)| {
        let given = spec::parse(drive.text, drive.name).map_err(|error| error.to_string())?;
        let clock = std::time::Instant::now();
        let (checkpoint, described) = measured(drive.name, &given, way)?;
        let wall = clock.elapsed().as_secs_f64();
        eprintln!("{} {}: {wall:.1} s", drive.name, way.name);
        if let Ok(described) = &described {
            let path = folder.join(format!("{}-{}.toml", drive.name, way.name));
            fs::write(&path, described.text())
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(Run::of(&given, way, &checkpoint, described))
    };
    // In their order, whatever the order in which they end.
    pairs.par_iter().map(run).collect()
}

/// What the suite finds in a drive.
fn measured(
    name: &str,
    given: &Spec,
    way: &Way,
) -> Result<(Checkpoint, Result<MeasuredDrive, String>), String> {
    let mut connect = |seed| way.connect(given, seed);
    let stopped = |stopped: suite::RunError| format!("{name} {}: {stopped}", way.name);
    let identity = suite::identity(&mut connect).map_err(stopped)?;
    let mut checkpoint = Checkpoint::new(name, identity, OPTIONS);
    suite::run(&mut connect, &mut checkpoint, &mut Patient).map_err(stopped)?;
    let described = MeasuredDrive::new(&checkpoint, &format!("{name}-{}", way.name));
    Ok((checkpoint, described))
}

struct Patient;

impl Observer for Patient {
    fn progressed(&mut self, _: &Progress) {}

    fn save(&mut self, _: &Checkpoint) -> Result<(), String> {
        Ok(())
    }
}
