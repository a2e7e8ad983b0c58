//! The section on halves: the measured drives, as given and as fitted to the first halves of their
//! traces, compared on the second halves.

use std::path::Path;

use serde::Deserialize;

use super::drives::{DRIVES, Drive};
use super::measured::verdict;
use super::{changes, reference, single};
use crate::docs::table;
use crate::program;
use crate::traces::{MEASUREMENTS, calibrated, middle, trace};

/// The output of `diskarm validate --json`, as far as it is shown.
#[derive(Deserialize)]
struct Report {
    requests: u64,
    measured_mean_ms: f64,
    simulated_mean_ms: f64,
    demerit_ms: f64,
    demerit_sd_ms: f64,
    floor_phase_ms: f64,
}

/// The section, with all drives in order; writes the plots.
pub fn section(root: &Path) -> Result<String, String> {
    let mut demerits = Vec::new();
    let mut predicted = Vec::new();
    let mut of_drives = String::new();
    for drive in DRIVES.iter() {
        demerits.push(demerits_of(root, drive)?);
        let single = single::of(root, drive)?;
        of_drives += &of_drive(root, drive, &single)?;
        predicted.push(single);
    }
    let demerits = table(1, &HEAD, &demerits);
    let single = single::section(&predicted);
    Ok(format!("{}\n{demerits}\n{single}\n{of_drives}", heading()))
}

fn heading() -> String {
    format!(
        "\
## First half against second half

The drives named `-calibrated` in the catalogue are fitted to the first half of each trace, rows 0
to N/2, by

    diskarm calibrate --drive DRIVE {MEASUREMENTS}/DRIVE.csv.gz --rows ..N/2 \\
        --output DRIVE-calibrated.toml

(`cargo xtask calibrate` does this for all). The sets as given and the variants are compared here on
the second half only, which the fit has not seen.

### Distributions

The demerit, as above, on rows N/2 to N, times in ms. Each row is printed by

    diskarm validate --rows N/2.. --drive DRIVE {MEASUREMENTS}/TRACE.csv.gz

*Bound* is the bound of the calibrated variant. *DiskSim* is the demerit of DiskSim 4.0 on the
second half, from its 64-bit port with its own parameter sets, which bins the distributions by 1 %;
if there is none, the port hangs on the trace.
"
    )
}

const HEAD: [&str; 11] = [
    "drive",
    "requests",
    "measured mean",
    "mean, given",
    "demerit, given",
    "mean, calibrated",
    "demerit, calibrated",
    "phase floor",
    "bound",
    "DiskSim",
    "verdict",
];

fn demerits_of(root: &Path, drive: &Drive) -> Result<Vec<String>, String> {
    let trace = trace(&drive.name);
    let rows = format!("{}..", middle(root, &drive.name)?);
    let with = |name: &str| {
        program::json::<Report>(
            root,
            &["validate", "--drive", name, "--rows", &rows, &trace],
        )
    };
    let (given, fitted) = (with(&drive.name)?, with(&calibrated(&drive.name))?);
    let disksim = reference::second_half_ms(&drive.name)?;
    Ok(row(drive, &given, &fitted, disksim))
}

fn row(drive: &Drive, given: &Report, fitted: &Report, disksim_ms: Option<f64>) -> Vec<String> {
    let bound_ms = drive.half_bound_us / 1e3;
    let demerit = |of: &Report| format!("{:.4} ± {:.4}", of.demerit_ms, of.demerit_sd_ms);
    vec![
        format!("[{}](#{})", drive.name, calibrated(&drive.name)),
        fitted.requests.to_string(),
        format!("{:.3}", fitted.measured_mean_ms),
        format!("{:.3}", given.simulated_mean_ms),
        demerit(given),
        format!("{:.3}", fitted.simulated_mean_ms),
        demerit(fitted),
        format!("{:.4}", fitted.floor_phase_ms),
        format!("{bound_ms:.3}"),
        disksim_ms.map_or_else(|| "hangs".to_owned(), |ms| format!("{ms:.3}")),
        verdict(fitted.demerit_ms, bound_ms),
    ]
}

fn of_drive(root: &Path, drive: &Drive, single: &single::Predicted) -> Result<String, String> {
    Ok(format!(
        "\
### {}

{}

What the calibration changed; times in ms, keys as `diskarm drives show --json` prints them:

{}
{}",
        calibrated(&drive.name),
        drive.cause,
        changes::of_drive(root, &drive.name)?,
        single::of_drive(single)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_compares_the_calibrated_variant_with_its_bound() {
        let report = |demerit_ms: f64| Report {
            requests: 7,
            measured_mean_ms: 5.0,
            simulated_mean_ms: 5.25,
            demerit_ms,
            demerit_sd_ms: 0.001,
            floor_phase_ms: 0.1,
        };
        let drive = &DRIVES[0];
        let bound_ms = drive.half_bound_us / 1e3;
        let row =
            |fitted_ms: f64, disksim_ms| row(drive, &report(9.0), &report(fitted_ms), disksim_ms);
        let met = row(bound_ms, Some(0.1224));
        assert_eq!(met[4], "9.0000 ± 0.0010");
        assert_eq!(met[9..], ["0.122", "within the bound"]);
        let missed = row(bound_ms + 0.01, None);
        assert_eq!(missed[9..], ["hangs", "**missed by 0.010**"]);
        assert_eq!(met.len(), HEAD.len());
    }
}
