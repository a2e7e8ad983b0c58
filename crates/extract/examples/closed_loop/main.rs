//! Measures drives of the catalogue from commands alone, in several scenarios, and compares the
//! results with the given specifications: `closed_loop FOLDER [NAME...]`.
//!
//! Prints a JSON array of runs, in the order of the catalogue and of the scenarios, and writes the
//! measured specifications as `NAME-SCENARIO.toml` into the folder. The duration of each run goes
//! to standard error.

mod layouts;
mod scenario;
mod times;
mod verdict;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use diskarm_core::spec::{self, Spec};
use diskarm_drives::CATALOGUE;
use diskarm_extract::Effort;
use diskarm_extract::suite::{self, Checkpoint, MeasuredDrive, Observer, Options, Progress};
use rayon::prelude::*;

use scenario::{SCENARIOS, Scenario};
use verdict::Run;

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
                serde_json::to_string_pretty(&runs).expect("the runs contain only plain values")
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("closed_loop: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the drives with these names, or all drives, on all processors.
fn all(folder: &Path, names: &[String]) -> Result<Vec<Run>, String> {
    let wanted = |name: &str| names.is_empty() || names.iter().any(|one| one == name);
    // The layout of drives that emulate sectors cannot be measured yet.
    let is_emulated =
        |text, name| spec::parse(text, name).is_ok_and(|spec| spec.geometry.physical_sector.0 > 1);
    let drives = CATALOGUE.iter().filter(|drive| wanted(drive.name));
    let pairs: Vec<_> = drives
        .filter(|drive| !is_emulated(drive.text, drive.name))
        .flat_map(|drive| SCENARIOS.iter().map(move |scenario| (drive, scenario)))
        .collect();
    let run = |(drive, scenario): &(&diskarm_drives::Entry, &Scenario)| {
        let given = spec::parse(drive.text, drive.name).map_err(|error| error.to_string())?;
        let clock = std::time::Instant::now();
        let (checkpoint, described) = measure(drive.name, &given, scenario)?;
        let seconds = clock.elapsed().as_secs_f64();
        eprintln!("{} {}: {seconds:.1} s", drive.name, scenario.name);
        if let Ok(described) = &described {
            let path = folder.join(format!("{}-{}.toml", drive.name, scenario.name));
            fs::write(&path, described.text())
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(Run::new(&given, scenario, &checkpoint, described))
    };
    // In the order of the scenarios, not of completion.
    pairs.par_iter().map(run).collect()
}

/// Runs the suite on a drive.
fn measure(
    name: &str,
    given: &Spec,
    scenario: &Scenario,
) -> Result<(Checkpoint, Result<MeasuredDrive, String>), String> {
    let mut connect = |seed| scenario.connect(given, seed);
    let describe = |describe: suite::RunError| format!("{name} {}: {describe}", scenario.name);
    let identity = suite::identity(&mut connect).map_err(describe)?;
    let mut checkpoint = Checkpoint::new(name, identity, OPTIONS);
    suite::run(&mut connect, &mut checkpoint, &mut IgnoreProgress).map_err(describe)?;
    let described = MeasuredDrive::new(&checkpoint, &format!("{name}-{}", scenario.name));
    Ok((checkpoint, described))
}

struct IgnoreProgress;

impl Observer for IgnoreProgress {
    fn progressed(&mut self, _: &Progress) {}

    fn save(&mut self, _: &Checkpoint) -> Result<(), String> {
        Ok(())
    }
}
