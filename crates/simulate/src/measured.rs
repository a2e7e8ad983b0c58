//! Measured traces: their rows, replays on a model, predictions request by request, and models
//! fitted to them.

use std::ops::Range;
use std::path::Path;

use diskarm_core::engine::{ReplayStep, RunError};
use diskarm_core::predict::Continuity;
use diskarm_core::spec::Spec;
use diskarm_core::stats::SortedSpans;
use diskarm_core::units::{Instant, Span};
use diskarm_drives::text::{Edit, Value, rewrite};
use diskarm_fit::calibrate::{Calibration, FitError, Progress, calibrate, edits};
use diskarm_fit::validate::{
    Figures, FollowedTrace, MeasuredRequest, PredictionFigures, ReplayResult, Validation, Variant,
};
use diskarm_trace::{Reader, Record, TraceError};

use crate::error::Error;
use crate::input::ReadOptions;
use crate::model::Model;
use crate::parallel;
use crate::trace_rows::BlockConverter;

/// A half-open range of rows, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowRange {
    from: usize,
    /// `None` for the end of the trace.
    end: Option<usize>,
}

impl RowRange {
    /// Parses `A..B`, in which either bound may be missing. The error describes the syntax.
    pub fn parse(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected rows A..B with A below B, such as 0..5000";
        let number = |text: &str, absent| match text {
            "" => Ok(absent),
            digits => digits.parse().map(Some).map_err(|_| EXPECTED.to_owned()),
        };
        let (from, end) = text.split_once("..").ok_or(EXPECTED)?;
        let from = number(from, Some(0))?.unwrap_or(0);
        let end: Option<usize> = number(end, None)?;
        if end.is_some_and(|end| end <= from) {
            return Err(EXPECTED.to_owned());
        }
        Ok(Self { from, end })
    }
}

impl std::fmt::Display for RowRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let end = self.end.map(|end| end.to_string());
        write!(f, "{}..{}", self.from, end.unwrap_or_default())
    }
}

/// Rows read from a trace.
pub struct MeasuredTrace {
    /// The rows, including those before the range if requested.
    pub rows: Vec<MeasuredRequest>,
    /// The range of `rows` that was requested.
    pub range: Range<usize>,
    /// Warnings about the rows, one line each.
    pub notes: Vec<String>,
}

/// Reads `rows` of the trace in `file`. Fails if the trace is invalid, lacks responses, pauses or
/// these rows, or has a request beyond the end of the drive, or if traces cannot express the
/// drive's sectors, or the rows take longer than a run can.
pub fn read(
    file: &str,
    options: &ReadOptions,
    rows: RowRange,
    model: &Model,
) -> Result<MeasuredTrace, Error> {
    read_from(rows.from, file, options, rows, model)
}

/// Reads the trace from row `first`, at or before the start of `rows`, to the end of `rows`.
fn read_from(
    first: usize,
    file: &str,
    options: &ReadOptions,
    rows: RowRange,
    model: &Model,
) -> Result<MeasuredTrace, Error> {
    let blocks = BlockConverter::new(model.disk(), &model.name)?;
    let mut trace = options.open(file)?;
    let mut measured_rows: Vec<MeasuredRequest> = Vec::new();
    let mut completed = None;
    let mut index = 0;
    let mut widened = 0;
    while rows.end.is_none_or(|end| index < end) {
        let Some(record) = trace.next().transpose()? else {
            break;
        };
        if index >= first {
            if let (Some(end), Some(row)) = (completed.take(), measured_rows.last_mut()) {
                row.step.think = pause(&record, end, trace.name())?;
            }
            let row = measured_row(&record, index as u64, &trace, blocks)?;
            widened += u64::from(blocks.widens(&record));
            // Without measured pauses, the pause follows from the next arrival.
            completed = match (record.think, record.arrival) {
                (None, Some(arrival)) => Some(arrival + row.response),
                _ => None,
            };
            measured_rows.push(row);
        }
        index += 1;
    }
    // The trace ended before the range or within it.
    if rows.end.is_some_and(|end| index < end) || index <= rows.from {
        let expected = format!("a range within 0..{index}, the rows of {file}");
        return Err(Error::argument("rows", rows.to_string(), expected));
    }
    let end = measured_rows.iter().fold(Instant::START, |at, row| {
        let MeasuredRequest { step, response } = row;
        at.saturating_add(*response).saturating_add(step.think)
    });
    if end >= Instant::LIMIT {
        return Err(Error::argument(
            "trace",
            file,
            "a trace of less than 146 years",
        ));
    }
    let notes = trace.notes().into_iter();
    let notes = notes.chain((widened > 0).then(|| blocks.widened(widened)));
    let notes = notes.chain(response_warnings(&measured_rows, &model.spec));
    let notes = notes.map(|note| format!("{}: {note}", trace.name()));
    Ok(MeasuredTrace {
        range: rows.from - first..measured_rows.len(),
        notes: notes.collect(),
        rows: measured_rows,
    })
}

fn measured_row(
    record: &Record,
    id: u64,
    trace: &Reader,
    blocks: BlockConverter,
) -> Result<MeasuredRequest, Error> {
    let has_pause = record.think.is_some() || record.arrival.is_some();
    let Some(response) = record.response.filter(|_| has_pause) else {
        let format = trace.format();
        let limitation = if format.carries.contains("no responses") {
            "does not carry"
        } else {
            "can carry, but which this request lacks: a trace of events does not show it complete"
        };
        let name = format.name;
        let needed = "measured responses, and pauses or arrivals";
        let expected = format!("{needed}, which the format {name} {limitation}");
        let error = TraceError::value(trace.name(), record.location, "response", "none", &expected);
        return Err(error.into());
    };
    let request = blocks.request(record, id, trace.name())?;
    let think = record.think.unwrap_or(Span::ZERO);
    Ok(MeasuredRequest {
        step: ReplayStep { request, think },
        response,
    })
}

/// Returns the pause between a completion at `end` and the arrival of the next request, `record`.
fn pause(record: &Record, end: Instant, file: &str) -> Result<Span, Error> {
    let pause = record.arrival.map(|arrival| arrival.after(end));
    pause.filter(|&pause| pause >= Span::ZERO).ok_or_else(|| {
        let expected = "an arrival after the previous request has completed: one request at a time";
        let found = format!("{} s", record.arrival.map_or(f64::NAN, Instant::as_s));
        TraceError::value(file, record.location, "arrival", &found, expected).into()
    })
}

/// Returns warnings about the responses of `rows` on a drive with this `spec`, one line each.
///
/// * More than half of them are shorter than the bus transfer of their data alone: the unit is
///   probably wrong. Fewer are accepted, because the bus rate of a specification is not exact, and
///   a measurement may begin late. This is not checked without a bus rate.
/// * Some are 0, which no drive achieves. That is not an error: a coarse clock rounds short
///   responses down to 0, and the other rows remain valid.
fn response_warnings(rows: &[MeasuredRequest], spec: &Spec) -> Vec<String> {
    let count = rows.len();
    let mut warnings = Vec::new();
    let is_short = |row: &&MeasuredRequest| row.response < bus_time(row, spec);
    let short = rows.iter().filter(is_short).count();
    if short > count / 2 {
        let sum: Span = rows.iter().map(|row| row.response).sum();
        warnings.push(format!(
            "{short} of {count} responses are shorter than the bus transfer of their data alone, \
             and their mean is {:.3} ms: are these milliseconds?",
            sum.as_ms() / count as f64
        ));
    }
    let is_zero = |row: &&MeasuredRequest| row.response == Span::ZERO;
    let zeros = rows.iter().filter(is_zero).count();
    if zeros > 0 {
        warnings.push(format!(
            "{zeros} of {count} responses are 0, which no drive achieves: is the clock too coarse?"
        ));
    }
    warnings
}

fn bus_time(row: &MeasuredRequest, spec: &Spec) -> Span {
    let request = &row.step.request;
    let sector = if request.op.is_read() {
        spec.bus.read_sector
    } else {
        spec.bus.write_sector
    };
    sector * request.sectors.0
}

/// Runs all [`Validation::variants`] on all processors, and returns the results in that order.
/// Calls `progress` with the number of finished replays. Fails with the first error.
pub fn replays(
    validation: &Validation<'_>,
    progress: impl Fn(u64) + Sync,
) -> Result<Vec<ReplayResult>, RunError> {
    let variants: Vec<Variant> = Validation::variants().collect();
    let replay = |number: usize| validation.replay(variants[number]);
    let replays = parallel::map(variants.len(), replay, progress);
    replays.into_iter().collect()
}

/// A trace compared with replays of the model.
pub struct Comparison {
    /// The file of the trace.
    pub file: String,
    /// The differences between measured and simulated response times.
    pub figures: Figures,
    /// The measured response times.
    pub measured: SortedSpans,
    /// The simulated response times, with the platter initially at angle zero.
    pub simulated: SortedSpans,
    /// Warnings about the trace, one line each.
    pub notes: Vec<String>,
}

/// Replays `rows` of the trace in `file`, like [`replays`]. Fails if the trace is invalid.
pub fn compare(
    drive: &Model,
    file: &str,
    reading: &ReadOptions,
    rows: RowRange,
    progress: impl Fn(u64) + Sync,
) -> Result<Comparison, Error> {
    let measured_rows = read(file, reading, rows, drive)?;
    let validation = Validation::new(&drive.spec, drive.layout().clone(), measured_rows.rows);
    let replays = replays(&validation, progress)?;
    Ok(Comparison {
        file: file.to_owned(),
        figures: Figures::of(&validation, &replays),
        measured: validation.measured(),
        simulated: replays[0].responses.iter().copied().collect(),
        notes: measured_rows.notes,
    })
}

/// A trace with a prediction for each response.
pub struct Predictions {
    /// The file of the trace.
    pub file: String,
    /// The requests with their predictions.
    pub followed: FollowedTrace,
    /// The rows whose predictions are evaluated.
    pub range: Range<usize>,
    /// The quality of the predictions.
    pub figures: PredictionFigures,
    /// Warnings about the trace, one line each.
    pub notes: Vec<String>,
}

/// Predicts each response in `rows` of the trace in `file` from the earlier measurements. Fails if
/// the trace is invalid. Panics if there are no rows to evaluate.
pub fn predict(
    drive: &Model,
    file: &str,
    reading: &ReadOptions,
    rows: RowRange,
) -> Result<Predictions, Error> {
    let measured_rows = read_from(0, file, reading, rows, drive)?;
    let MeasuredTrace { rows, range, notes } = measured_rows;
    let layout = drive.layout().clone();
    let followed = FollowedTrace::follow(&drive.spec, layout, &rows, Continuity::Unbroken)?;
    let Some(figures) = PredictionFigures::of(&followed, range.clone()) else {
        panic!("{file}: the range has no rows");
    };
    Ok(Predictions {
        file: file.to_owned(),
        followed,
        range,
        figures,
        notes,
    })
}

/// The names in a calibration.
#[derive(Clone, Copy)]
pub struct FitNames<'a> {
    /// The name of the drive to start from.
    pub drive: &'a str,
    /// The file of the trace.
    pub trace: &'a str,
    /// The name or the file of the fitted drive.
    pub output: &'a str,
    /// The rows to which the drive is fitted.
    pub rows: RowRange,
}

/// Fits `drive` to `rows`, and calls `progress` before each stage. Fails if there are too few rows
/// or the trace is from another drive.
pub fn fit_model(
    drive: &Model,
    rows: &[MeasuredRequest],
    names: FitNames<'_>,
    progress: impl FnMut(Progress),
) -> Result<(Calibration, Model), Error> {
    let fitted = calibrate(&drive.spec, drive.layout(), rows, progress);
    let fitted = fitted.map_err(|unfit| unfit_error(unfit, names.trace, &drive.name))?;
    let model = fitted_model(drive, &fitted, names, rows.len())?;
    Ok((fitted, model))
}

fn unfit_error(unfit: FitError, trace: &str, drive: &str) -> Error {
    match unfit {
        FitError::TooShort { rows, numbers } => {
            let expected = format!("at least {numbers} rows, one for each fitted number");
            Error::argument("trace", format!("{trace} ({rows} rows)"), expected)
        }
        FitError::OtherDrive { explained_fraction } => {
            let percent = 100.0 * explained_fraction;
            let expected = format!(
                "a trace of the drive {drive}, which explains only {percent:.0} % of the requests, \
                 whatever its parameters"
            );
            Error::argument("trace", trace, expected)
        }
    }
}

const FITTED: &str = "; fitted to a trace";

/// Fails if the text of `drive` cannot be edited, or if the fitted text is invalid (a bug).
fn fitted_model(
    drive: &Model,
    fitted: &Calibration,
    names: FitNames<'_>,
    rows: usize,
) -> Result<Model, Error> {
    let mut edits = edits(&drive.spec, &fitted.spec);
    let stem = Path::new(names.output).file_stem().unwrap_or_default();
    let mut set = |key: &'static str, text: String| {
        let (key, value) = (key.into(), Value::Text(text));
        edits.push(Edit { key, value });
    };
    set("name", stem.to_string_lossy().into_owned());
    let provenance = provenance(names, rows);
    let summary = drive.spec.summary.trim_end_matches(FITTED);
    set("summary", format!("{summary}{FITTED}"));
    set(
        "source.origin",
        format!("{provenance}\n{}", drive.spec.source.origin.trim()),
    );
    let text = rewrite(&drive.text, &edits).map_err(|error| {
        let expected = format!("a specification that can be edited ({error})");
        Error::argument("drive", &drive.name, expected)
    })?;
    // Parsing it checks that the output can be read again.
    Model::read(text, names.output)
}

fn provenance(names: FitNames<'_>, rows: usize) -> String {
    let range = names.rows;
    let trace = Path::new(names.trace).file_name().unwrap_or_default();
    format!(
        "Fitted with `diskarm calibrate` to {rows} rows ({range}) of the trace {}, starting from \
         the drive {}, whose origin is:",
        trace.to_string_lossy(),
        names.drive
    )
}

#[cfg(test)]
mod tests {
    use diskarm_core::request::{Op, Request};
    use diskarm_core::units::{Lbn, SectorCount};

    use super::*;

    #[test]
    fn row_ranges_are_half_open_and_bounds_may_be_missing() {
        let rows = |from, end| Ok(RowRange { from, end });
        assert_eq!(RowRange::parse("2..5"), rows(2, Some(5)));
        assert_eq!(RowRange::parse("2.."), rows(2, None));
        assert_eq!(RowRange::parse("..5"), rows(0, Some(5)));
        for wrong in [
            "", "5", "5..5", "6..5", "a..5", "-1..5", "1..5..9", "..0", "1...5",
        ] {
            assert!(RowRange::parse(wrong).is_err(), "{wrong}");
        }
    }

    fn measured(op: Op, response_us: i64) -> MeasuredRequest {
        let request = Request::new(0, op, Lbn(0), SectorCount(10));
        let think = Span::ZERO;
        MeasuredRequest {
            step: ReplayStep { request, think },
            response: Span::from_ns(1000 * response_us),
        }
    }

    /// The bus of the HP C2247 takes 1.701 ms for ten sectors read, 1.8686 ms for ten written.
    #[test]
    fn a_warning_reports_that_most_responses_are_shorter_than_the_bus_transfer() {
        let spec = Model::find("hp-c2247").expect("a drive").spec;
        let (read, write) = (Op::Read, Op::Write);
        let possible = [measured(read, 1701), measured(write, 1869)];
        let short = [measured(read, 1700), measured(write, 1868)];
        assert_eq!(response_warnings(&possible, &spec), [""; 0]);
        let half = [possible, short].concat();
        assert_eq!(response_warnings(&half, &spec), [""; 0], "half");
        let more = [&possible[..], &short, &[measured(write, 1701)]].concat();
        let doubt = "3 of 5 responses are shorter than the bus transfer of their data alone, and \
                     their mean is 1.768 ms: are these milliseconds?";
        assert_eq!(response_warnings(&more, &spec), [doubt]);
        let mut unknown = spec;
        (unknown.bus.read_sector, unknown.bus.write_sector) = (Span::ZERO, Span::ZERO);
        assert_eq!(response_warnings(&more, &unknown), [""; 0]);
    }

    #[test]
    fn a_warning_reports_responses_of_0() {
        let spec = Model::find("hp-c2247").expect("a drive").spec;
        let rows = [0, 9000, 9000].map(|response_us| measured(Op::Read, response_us));
        let doubt = "1 of 3 responses are 0, which no drive achieves: is the clock too coarse?";
        assert_eq!(response_warnings(&rows, &spec), [doubt]);
        assert_eq!(response_warnings(&rows[1..], &spec), [""; 0]);
    }

    #[test]
    fn results_do_not_depend_on_the_number_of_threads() {
        let drive = Model::find("hp-c2247").unwrap_or_else(|e| panic!("{e}"));
        let row = |id: u64| {
            let op = [Op::Write, Op::Read, Op::Read][id as usize % 3];
            let (start, sectors) = (id * 7_919 * 131 % 2_000_000, 1 + id % 40);
            let request = Request::new(id, op, Lbn(start), SectorCount(sectors));
            let think = Span::from_us((id * 1_237 % 30_001) as f64);
            MeasuredRequest {
                step: ReplayStep { request, think },
                response: Span::from_ms(15.0),
            }
        };
        let rows = (0..500).map(row).collect();
        let validation = Validation::new(&drive.spec, drive.layout().clone(), rows);
        let variants: Vec<Variant> = Validation::variants().collect();
        let replay = |number: usize| {
            let replayed = validation.replay(variants[number]);
            replayed.unwrap_or_else(|e| panic!("{e}"))
        };
        let replays = |threads| parallel::map_on(threads, variants.len(), replay, |_| {});
        let one = replays(1);
        assert_ne!(one[0], one[16]);
        for threads in [2, 5, 100] {
            let many = replays(threads);
            assert_eq!(one, many, "{threads} threads");
            let [one, many] = [&one, &many].map(|replays| Figures::of(&validation, replays));
            assert_eq!(one, many);
        }
    }
}
