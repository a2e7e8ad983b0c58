//! `diskarm trace convert`: writes a trace in another format.

use std::io::{self, Write};

use diskarm_results::output_file::Files;
use diskarm_trace::Writer;
use diskarm_trace::adapt::Notes;
use serde::Serialize;

use super::{Adapt, Input, writable_formats};
use crate::error::Error;
use crate::output;
use crate::progress::Progress;

/// Write a trace in another format
///
/// The command stops at a request that the other format cannot represent, such as one without an
/// arrival or response that the format requires. Fields that the format lacks (responses in SPC)
/// are left out, and times that had to be rounded are counted. Options select a part of the trace,
/// change its rate, or adapt it to a smaller or larger disk.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    input: Input,

    /// The file to write, not compressed; - for standard output (then notes go to standard error)
    ///
    /// It must not be a file that the command reads.
    #[arg(value_name = "OUT")]
    out: String,

    /// Format to write
    #[arg(long, value_name = "FORMAT", value_parser = writable_formats())]
    to: String,

    #[command(flatten)]
    adapt: Adapt,

    /// Print JSON: one object that describes the written trace (not with OUT -)
    #[arg(long)]
    json: bool,
}

/// A summary of what was written; field names are the JSON keys.
#[derive(Serialize)]
struct ConvertedTrace {
    file: String,
    format: String,
    requests: u64,
    notes: Vec<String>,
}

/// The number of records between updates of the progress bar; each update reads the clock.
const STRIDE: u64 = 1 << 16;

pub fn run(args: Args) -> Result<(), Error> {
    if args.out == "-" {
        if args.json {
            let message = "`--json` needs a file as OUT: the trace goes to standard output";
            return Err(Error::Failed(message.to_owned()));
        }
        // It is not an error if the reader stops early.
        return match copy(&args, io::stdout().lock(), "standard output") {
            Err(Error::Trace(error)) if is_broken_pipe(&error) => Ok(()),
            result => result.map(|written| output::print_notes(&written.notes)),
        };
    }
    let mut files = Files::default().with_input_trace("FILE", &args.input.file);
    let part = files.output("OUT", &args.out)?.create()?;
    let written = copy(&args, &part.file, &args.out)?;
    part.finish()?;
    if args.json {
        return output::print_json(&written);
    }
    let (file, count, format) = (written.file, written.requests, written.format);
    let mut text = format!("{file}: {count} requests as {format}\n");
    for note in written.notes {
        text += &format!("note: {note}\n");
    }
    output::print(&text)
}

fn is_broken_pipe(error: &diskarm_trace::TraceError) -> bool {
    let source = std::error::Error::source(error);
    let source = source.and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|source| source.kind() == io::ErrorKind::BrokenPipe)
}

/// Copies all records to `out`; errors refer to it by `name`.
fn copy(args: &Args, out: impl Write, name: &str) -> Result<ConvertedTrace, Error> {
    let mut trace = args.adapt.open(&args.input)?;
    let mut writer = Writer::new(out, name, &args.to)?;
    let progress = Progress::new(None);
    for record in trace.by_ref() {
        writer.write(&record?)?;
        if writer.records_count().is_multiple_of(STRIDE) {
            progress.set(writer.records_count());
        }
    }
    let requests = writer.records_count();
    if requests == 0 {
        let expected = "a trace with requests that match --device, --from and --until";
        return Err(Error::option("FILE", &args.input.file, expected));
    }
    let mut notes = trace.notes();
    notes.extend(writer.finish()?);
    Ok(ConvertedTrace {
        file: name.to_owned(),
        format: args.to.clone(),
        requests,
        notes,
    })
}
