//! `diskarm validate`: compares a model with measurements of the real drive.

use diskarm_core::units::{Bytes, Instant, Span};
use diskarm_fit::validate::{FIRST, UNBROKEN_RATIO, Validation};
use diskarm_results::compared;
use diskarm_results::output_file::Files;
use diskarm_results::predicted;
use diskarm_simulate::Model;
use diskarm_simulate::measured::{self, Comparison, Predictions, RowRange};
use serde_json::{Value, json};

use crate::args::{self, Changes};
use crate::error::Error;
use crate::output::{self, Results, Target};
use crate::plot;
use crate::progress::Progress;
use crate::trace::Reading;

/// Compare a drive's model with measured response times
///
/// Replays measured traces closed-loop: when the model completes a request, it issues the next one
/// after the measured pause. Prints both mean response times and the demerit: the root mean square
/// horizontal distance between the two response time distributions, over all order statistics.
///
/// The initial platter angle is unknown, so the demerit is the mean over 16 evenly spaced initial
/// angles; sd is its standard deviation over these angles, and floor is the mean demerit between
/// the model's own replays from different angles. Both are nearly zero, because a replay forgets
/// the initial angle at its first media access. floor_phase shows the effect of chance when the
/// phase of every request is unknown: the mean demerit between replays of the model in which each
/// pause is lengthened by a random part of a revolution (8 replays, seeds 1 to 8).
#[derive(clap::Args)]
pub struct Args {
    /// Drive: a name from the catalogue, or a .toml file
    #[arg(long, value_name = "NAME|FILE", long_help = args::drive_help())]
    drive: String,

    #[command(flatten)]
    changes: Changes,

    /// Traces with measured response times and pauses
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,

    /// Use only this half-open range of rows of each trace, counted from 0 (the first row below the
    /// header): 0..5000 is the first 5000 rows, and either end may be omitted
    #[arg(long, value_name = "A..B", value_parser = RowRange::parse)]
    #[arg(allow_hyphen_values = true)]
    rows: Option<RowRange>,

    /// Predict each response from the earlier measurements, before seeing it
    ///
    /// Instead of a replay, the model follows the measured drive: after each prediction it sees the
    /// measured response, and corrects its platter angle, period, buffer and arm accordingly.
    /// Prints the fraction of requests whose error is under half a revolution, the median and the
    /// 95th percentile of their absolute errors, and the fraction of all requests whose error is at
    /// most 0.25 ms: overall, by type, by hit or miss (as the model expected) and by size. Each is
    /// shown next to that of a trivial predictor: the mean response of earlier requests of the same
    /// type and size.
    ///
    /// Rows before --rows are history: the predictors learn from them, but they are not judged.
    /// So --rows 5000.. judges the later rows, with the first 5000 as history.
    ///
    /// This needs a trace whose clock is unbroken, so that responses and pauses add up to the
    /// elapsed time. phase_concentration shows whether it is: over the n requests whose completion
    /// times depend on the platter angle, it is 1 when all complete at the predicted platter angle,
    /// and about 1 / sqrt(n) by chance. Below 0.5 the clock counts as broken.
    #[arg(long)]
    locked: bool,

    #[command(flatten)]
    reading: Reading,

    /// Plot both distributions to this file, or - for standard output; with --locked, the
    /// prediction errors (one FILE only)
    ///
    /// It must not be a file that the command reads.
    #[arg(long, value_name = "FILE.svg", value_parser = plot::svg_name)]
    plot: Option<String>,

    /// Print JSON: an object, with warnings about the trace in its notes; with several FILEs, an
    /// object whose `files` are such objects
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<(), Error> {
    let drive = args.changes.apply(Model::find(&args.drive)?)?;
    if let (Some(_), [_, _, ..]) = (&args.plot, &args.files[..]) {
        return Err(Error::Failed("`--plot` takes a single FILE".to_owned()));
    }
    let mut files = Files::default().with_input("--drive", &args.drive);
    for file in &args.files {
        files = files.with_input_trace("FILE", file);
    }
    let mut results = Results::default();
    let plot = results.output_file(&mut files, "--plot", args.plot.as_deref())?;
    let rows = args.rows.unwrap_or_default();
    if args.locked {
        return run_locked(&drive, &args, rows, plot, &results);
    }
    let reading = args.reading.to_library();
    let compared = args.files.iter().map(|file| {
        let progress = Progress::new(Some(Validation::variants().count() as u64));
        let compared = measured::compare(&drive, file, &reading, rows, |done| progress.set(done));
        Ok(compared?)
    });
    let compared: Vec<Comparison> = compared.collect::<Result<_, Error>>()?;
    for one in &compared {
        output::print_warnings(&one.notes);
    }
    if let (Some(target), [one]) = (plot, &compared[..]) {
        target.write(&draw(&drive, one))?;
    }
    if args.json {
        let files = compared.iter().map(|one| compared::json(&drive.name, one));
        print_files(files.collect(), &results)
    } else {
        results.print(&compared::text(&drive.name, &compared))
    }
}

/// Prints the results of one trace as an object, and those of several as an object with `files`.
fn print_files(files: Vec<Value>, results: &Results) -> Result<(), Error> {
    match &files[..] {
        [one] => results.print_json(one),
        _ => results.print_json(&json!({ "files": files })),
    }
}

fn draw(drive: &Model, compared: &Comparison) -> String {
    let all = &compared.figures.all;
    let demerit = all.demerit.as_ms();
    let percent = all.demerit_percent().unwrap_or(f64::NAN);
    let title = format!("{}: demerit {demerit:.4} ms ({percent:.2} %)", drive.name);
    let subtitle = format!(
        "{} requests, mean response {:.3} ms measured, {:.3} ms simulated",
        all.count,
        all.measured_mean.as_ms(),
        all.simulated_mean.as_ms()
    );
    plot::distributions(&title, &subtitle, &compared.measured, &compared.simulated)
}

fn run_locked(
    drive: &Model,
    args: &Args,
    rows: RowRange,
    plot: Option<Target>,
    results: &Results,
) -> Result<(), Error> {
    let reading = args.reading.to_library();
    let judged = args.files.iter();
    let judged = judged.map(|file| measured::predict(drive, file, &reading, rows));
    let judged: Vec<Predictions> = judged.collect::<Result<_, _>>()?;
    for one in &judged {
        output::print_warnings(&one.notes);
    }
    if let (Some(target), [one]) = (plot, &judged[..]) {
        target.write(&draw_errors(drive, one))?;
    }
    if args.json {
        let files = judged.iter().map(|one| predicted::json(&drive.name, one));
        return print_files(files.collect(), results);
    }
    for one in &judged {
        let found = one.figures.phase_concentration_ratio;
        if let Some(found) = found.filter(|found| *found < UNBROKEN_RATIO) {
            output::print_warnings(&[format!(
                "{}: phase_concentration {found:.4}: the trace is of another drive, its clock is \
                 broken, or its pauses are nominal, so results of single requests mean little",
                one.file
            )]);
        }
    }
    results.print(&predicted::text(&drive.name, &judged))
}

fn draw_errors(drive: &Model, judged: &Predictions) -> String {
    let all = &judged.figures.all;
    let percent = 100.0 * all.model.same_revolution_fraction;
    let title = format!("{}: {percent:.2} % in the same revolution", drive.spec.name);
    let ms = |span: Option<Span>| span.map_or(f64::NAN, Span::as_ms);
    let subtitle = format!(
        "{} requests; error of those: median {:.3} ms, 95th percentile {:.3} ms",
        all.count,
        ms(all.model.median_abs_error),
        ms(all.model.p95_abs_error),
    );
    let rows = &judged.followed.rows()[judged.range.clone()];
    // Time since the start of the trace.
    let since = |at: Instant| Instant::START + (at - FIRST);
    let sector = drive.disk().sector;
    let errors = rows.iter().map(|row| plot::Outcome {
        issued: since(row.predicted.arrived),
        error: row.error(),
        size: Bytes(row.predicted.request.sectors.0 * sector.0),
    });
    let errors: Vec<plot::Outcome> = errors.collect();
    plot::errors(&title, &subtitle, &errors, judged.followed.period())
}
