//! `diskarm validate --locked`: each response predicted before it is seen.

use diskarm_core::units::{Bytes, Instant, Span};
use diskarm_fit::validate::{FIRST, Followed, UNBROKEN_RATIO};
use diskarm_results::predicted::{self, Judgement};
use diskarm_simulate::Model;
use diskarm_simulate::measured::RowRange;

use super::{Args, print_files};
use crate::error::Error;
use crate::output::{self, Results, Target};
use crate::plot;

/// Predicts, plots, and prints.
pub fn run(
    drive: &Model,
    args: &Args,
    rows: RowRange,
    plot: Option<Target>,
    results: &Results,
) -> Result<(), Error> {
    let judged: Result<Vec<Judgement>, Error> = args
        .files
        .iter()
        .map(|file| Ok(predicted::judge(drive, file, &args.reading.meant(), rows)?))
        .collect();
    let judged = judged?;
    judged.iter().for_each(|one| output::doubt(&one.notes));
    if let (Some(target), [one]) = (plot, &judged[..]) {
        target.write(&drawn(drive, one))?;
    }
    if args.json {
        let files = judged.iter().map(|one| predicted::json(&drive.name, one));
        return print_files(files.collect(), results);
    }
    for one in &judged {
        warn(one);
    }
    results.print(&predicted::text(&drive.name, &judged))
}

/// Warns if the figures of single requests are not meaningful.
fn warn(judged: &Judgement) {
    let found = judged.figures.phase_concentration_ratio;
    if let Some(found) = found.filter(|found| *found < UNBROKEN_RATIO) {
        output::doubt(&[format!(
            "{}: phase_concentration {found:.4}: the drive is another one, its clock is broken, or \
             the pauses are nominal, so figures of single requests mean little",
            judged.file
        )]);
    }
}

fn drawn(drive: &Model, judged: &Judgement) -> String {
    let all = &judged.figures.all;
    let percent = |rate: f64| 100.0 * rate;
    let title = format!(
        "{}: {:.2} % in the same revolution",
        drive.spec.name,
        percent(all.model.same_revolution_fraction)
    );
    let ms = |span: Option<Span>| span.map_or(f64::NAN, Span::as_ms);
    let subtitle = format!(
        "{} requests; error of those: median {:.3} ms, 95th percentile {:.3} ms",
        all.count,
        ms(all.model.median_abs_error),
        ms(all.model.p95_abs_error),
    );
    let rows = &judged.locked.rows()[judged.range.clone()];
    // Time since the start of the trace.
    let since = |at: Instant| Instant::START + (at - FIRST);
    let sector = drive.disk().sector;
    let outcome = |row: &Followed| plot::Outcome {
        issued: since(row.predicted.arrived),
        error: row.error(),
        size: Bytes(row.predicted.request.sectors.0 * sector.0),
    };
    let errors: Vec<plot::Outcome> = rows.iter().map(outcome).collect();
    plot::errors(&title, &subtitle, &errors, judged.locked.period())
}
