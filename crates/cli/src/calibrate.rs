//! `diskarm calibrate`: fits a specification to a measured trace.

use diskarm_fit::calibrate::Progress as Stage;
use diskarm_results::calibrated;
use diskarm_results::output_file::Files;
use diskarm_simulate::Model;
use diskarm_simulate::measured::{self, FitNames, MeasuredTrace, RowRange, fit_model};

use crate::args::{self, Changes};
use crate::error::Error;
use crate::output;
use crate::progress::Progress;
use crate::trace::Reading;

/// Fit a drive's specification to measured response times
///
/// Starts from the specification of the drive and changes what the trace determines: the rotation
/// period, overheads (by type of request, hit or miss, and previous command), completions, bus
/// rates, corrections to the seek curve, head switch and settle, and how the buffer behaves.
/// Everything else stays as given. Prints each number with its standard deviation, the sums that
/// are known more precisely than their terms, what the trace does not determine, and whether the
/// fitted drive is better than the given one at predicting rows that were not used for the fit.
///
/// If the times between requests were measured too, the platter's angle is followed through the
/// whole trace. If they are nominal, the angle of each request is unknown, and only distributions
/// can be fitted. The command detects and prints which case applies.
#[derive(clap::Args)]
pub struct Args {
    /// Drive to start from: a name from the catalogue, or a .toml file
    #[arg(long, value_name = "NAME|FILE", long_help = args::drive_help())]
    drive: String,

    #[command(flatten)]
    changes: Changes,

    /// Trace with measured response times and pauses
    #[arg(value_name = "TRACE")]
    trace: String,

    /// Fit only to this half-open range of rows, counted from 0 (the first row below the header):
    /// 0..5000 is the first 5000 rows, and either end may be omitted
    #[arg(long, value_name = "A..B", value_parser = RowRange::parse)]
    #[arg(allow_hyphen_values = true)]
    rows: Option<RowRange>,

    #[command(flatten)]
    reading: Reading,

    /// Write the fitted specification to this file; its name becomes the name of the drive
    ///
    /// It must not be a file that the command reads. With -, the specification goes to standard
    /// output and names the drive "fitted", and the results go to standard error.
    #[arg(short, long, value_name = "OUT.toml", value_parser = args::toml_or_standard)]
    output: String,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<(), Error> {
    if args.output != "-" {
        output::check_writable(&args.output)?;
    }
    let files = Files::default().with_input("--drive", &args.drive);
    let mut files = files.with_input_trace("TRACE", &args.trace);
    let mut results = output::Results::default();
    let target = results.output_file(&mut files, "--output", Some(&args.output))?;
    let drive = args.changes.apply(Model::find(&args.drive)?)?;
    let names = FitNames {
        drive: &drive.name,
        trace: &args.trace,
        output: match args.output.as_str() {
            "-" => "fitted",
            path => path,
        },
        rows: args.rows.unwrap_or_default(),
    };
    let trace = measured::read(&args.trace, &args.reading.to_library(), names.rows, &drive)?;
    output::print_warnings(&trace.notes);
    let MeasuredTrace { rows, notes, .. } = trace;
    let mut progress: Option<Progress> = None;
    let show = |stage: Stage| {
        let bar = progress.get_or_insert_with(|| Progress::new(Some(stage.stages)));
        bar.set(stage.done);
    };
    let fitted = fit_model(&drive, &rows, names, show);
    drop(progress);
    let (fitted, model) = fitted.map_err(|error| error.with_field("TRACE"))?;
    if let Some(target) = target {
        target.write(&model.text)?;
    }
    output::print_warnings(&calibrated::warnings(&fitted, rows.len(), &args.trace));
    let value = calibrated::json(names, rows.len(), &fitted, &notes);
    results.print_as(args.json, &value, || {
        calibrated::text(names, rows.len(), &fitted)
    })
}
