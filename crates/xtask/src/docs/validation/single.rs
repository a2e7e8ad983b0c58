//! The subsection on predictions of single requests, in the section on halves of traces.

use std::path::Path;

use serde::Deserialize;

use super::PLOTS;
use super::reference::{Bound, Drive};
use crate::docs::table;
use crate::program;
use crate::program::{MEASUREMENTS, calibrated_name, middle, trace};

/// The part of the output of `diskarm validate --locked --json` that is used here.
#[derive(Deserialize)]
pub struct Report {
    phase_concentration: Option<f64>,
    clock: Option<String>,
    unlocked: u64,
    #[serde(flatten)]
    all: Accuracies,
    by_served: Vec<Class>,
}

#[derive(Deserialize)]
struct Accuracies {
    requests: u64,
    #[serde(flatten)]
    model: Accuracy,
    trivial: Accuracy,
}

#[derive(Deserialize)]
struct Accuracy {
    same_revolution_rate: f64,
    /// This and the next number are absent if no error is below half a revolution.
    median_abs_error_ms: Option<f64>,
    p95_abs_error_ms: Option<f64>,
    within_0_25ms_rate: f64,
}

#[derive(Deserialize)]
struct Class {
    op: String,
    served: String,
    #[serde(flatten)]
    accuracies: Accuracies,
}

/// Predictions of the second half of a trace, with the given and with the fitted parameters.
pub struct Predicted {
    drive: &'static Drive,
    given: Report,
    fitted: Report,
}

impl Report {
    /// Returns true if the platter's angle can be followed through the trace.
    fn has_clock(&self) -> bool {
        self.clock.as_deref() == Some("unbroken")
    }
}

/// Predicts the second half of a drive's trace, and plots the errors if the angle can be followed.
pub fn predict(root: &Path, drive: &'static Drive) -> Result<Predicted, String> {
    let trace = trace(&drive.name);
    let rows = format!("{}..", middle(root, &drive.name)?);
    let validate = |name: &str, options: &[&str]| -> Result<Report, String> {
        let arguments = [
            "validate", "--locked", "--drive", name, "--rows", &rows, &trace,
        ];
        program::json(root, &[&arguments, options].concat())
    };
    let given = validate(&drive.name, &[])?;
    let plot = format!("{PLOTS}/{}", plot_of(drive));
    let with_plot = ["--plot", &plot];
    let options = if given.has_clock() {
        &with_plot[..]
    } else {
        &[]
    };
    let fitted = validate(&calibrated_name(&drive.name), options)?;
    Ok(Predicted {
        drive,
        given,
        fitted,
    })
}

fn plot_of(drive: &Drive) -> String {
    format!("{}-errors.svg", calibrated_name(&drive.name))
}

/// The columns of [`figures`].
const ACCURACY: &str = "same_revolution_rate | median_abs_error_ms | p95_abs_error_ms | \
    within_0_25ms_rate";

/// Returns the subsection. Drives whose platter angle can be followed come first.
pub fn section(all: &[Predicted]) -> String {
    let head = format!("drive | predictor | phase_concentration | {ACCURACY} | required | verdict");
    let (clocked, others): (Vec<_>, Vec<_>) = all.iter().partition(|one| one.given.has_clock());
    let rows = |of: &[&Predicted]| of.iter().flat_map(|one| rows(one)).collect::<Vec<_>>();
    let names: Vec<_> = others.iter().map(|one| one.drive.name.as_str()).collect();
    format!(
        "\
### Single requests

Each response is predicted from the earlier measurements alone: the model follows the drive, and
each completion corrects the model's platter angle, period, buffer and arm. The rows of the first
half are history, from which the predictor learns; only the second half counts.
Each row is printed by

    diskarm validate --locked --rows N/2.. --drive DRIVE {MEASUREMENTS}/TRACE.csv.gz

`same_revolution_rate` is the fraction of requests whose error is under half a revolution; the
median and the 95th percentile are of the absolute errors of those requests; `within_0_25ms_rate` is
the fraction of all requests whose error is at most 0.25 ms. The *trivial* predictor uses the mean
response of earlier requests of the same type and size; the improvement over it is what knowing the
drive is worth. *Required*: minimum `same_revolution_rate`, maximum `median_abs_error_ms`.
`phase_concentration` is 1 when all media accesses end at the predicted angle of the platter, and
nearly 0 when they end at random angles.

{}
The pauses in the traces of {} are nominal, not measured, so the
angle is lost at every request, as their `phase_concentration` shows. Predictions of single
requests mean little for them; they are listed to show this.

{}",
        table(2, &head, &rows(&clocked)),
        join_names(&names),
        table(2, &head, &rows(&others)),
    )
}

fn join_names(names: &[&str]) -> String {
    match names {
        [] => "no drive".to_owned(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{}\nand {last}", first.join(", ")),
    }
}

fn rows(one: &Predicted) -> [Vec<String>; 3] {
    let (drive, given, fitted) = (one.drive, &one.given, &one.fitted);
    let row = |start: [&str; 2], concentration: Option<f64>, accuracy, ends: [String; 2]| {
        let mut cells = start.map(str::to_owned).to_vec();
        cells.push(concentration.map_or(String::new(), |found| format!("{found:.4}")));
        cells.extend(figures(accuracy).into_iter().chain(ends));
        cells
    };
    let bound_cells = |bound| [format!("{bound}"), verdict(bound, &fitted.all.model)];
    let required = drive.single.as_ref().map(bound_cells).unwrap_or_default();
    let [given_found, fitted_found] = [given, fitted].map(|report| report.phase_concentration);
    let (given, fitted, none) = (&given.all, &fitted.all, <[String; 2]>::default);
    [
        row([&drive.name, "as given"], given_found, &given.model, none()),
        row(["", "calibrated"], fitted_found, &fitted.model, required),
        row(["", "trivial"], None, &fitted.trivial, none()),
    ]
}

fn figures(accuracy: &Accuracy) -> [String; 4] {
    let ms = |ms: Option<f64>| ms.map_or(String::new(), |ms| format!("{ms:.3}"));
    [
        format!("{:.4}", accuracy.same_revolution_rate),
        ms(accuracy.median_abs_error_ms),
        ms(accuracy.p95_abs_error_ms),
        format!("{:.4}", accuracy.within_0_25ms_rate),
    ]
}

fn verdict(bound: &Bound, found: &Accuracy) -> String {
    let mut missed = Vec::new();
    if found.same_revolution_rate < bound.same_revolution_rate {
        let shortfall = bound.same_revolution_rate - found.same_revolution_rate;
        missed.push(format!("rate by {shortfall:.4}"));
    }
    match (found.median_abs_error_ms, bound.median_abs_error_ms) {
        (Some(median), Some(max)) if median > max => {
            missed.push(format!("median by {:.3} ms", median - max));
        }
        (None, Some(_)) => missed.push("median".to_owned()),
        _ => {}
    }
    if missed.is_empty() {
        "met".to_owned()
    } else {
        format!("**missed: {}**", missed.join(", "))
    }
}

/// Returns a plot and a table of a drive's errors; nothing if the angle is unknown.
pub fn drive_section(one: &Predicted) -> String {
    if !one.given.has_clock() {
        return String::new();
    }
    let classes: Vec<Vec<String>> = one.fitted.by_served.iter().map(class).collect();
    let head = format!("type | outcome | requests | {ACCURACY}");
    format!(
        "\
![Errors on {name}](validation/{plot})

By type and by what the model expected of the buffer ({unlocked} of {all} requests were predicted
without knowing the angle):

{}
",
        table(2, &head, &classes),
        name = calibrated_name(&one.drive.name),
        plot = plot_of(one.drive),
        unlocked = one.fitted.unlocked,
        all = one.fitted.all.requests,
    )
}

fn class(class: &Class) -> Vec<String> {
    let requests = class.accuracies.requests.to_string();
    let mut cells = vec![class.op.clone(), class.served.clone(), requests];
    cells.extend(figures(&class.accuracies.model));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accuracy(same_revolution_rate: f64, median_abs_error_ms: Option<f64>) -> Accuracy {
        Accuracy {
            same_revolution_rate,
            median_abs_error_ms,
            p95_abs_error_ms: None,
            within_0_25ms_rate: 0.5,
        }
    }

    #[test]
    fn bounds_can_be_met_exactly_and_each_miss_is_named() {
        let bound = Bound {
            same_revolution_rate: 0.985,
            median_abs_error_ms: Some(0.04),
        };
        assert_eq!(verdict(&bound, &accuracy(0.985, Some(0.04))), "met");
        let missed = verdict(&bound, &accuracy(0.98, Some(0.05)));
        assert_eq!(missed, "**missed: rate by 0.0050, median by 0.010 ms**");
        assert_eq!(verdict(&bound, &accuracy(1.0, None)), "**missed: median**");
    }

    #[test]
    fn missing_values_are_empty() {
        let figures = figures(&accuracy(0.98344, None));
        assert_eq!(figures, ["0.9834", "", "", "0.5000"]);
    }

    #[test]
    fn names_are_joined_with_and() {
        assert_eq!(join_names(&["a", "b", "c"]), "a, b\nand c");
        assert_eq!(join_names(&["a"]), "a");
    }
}
