//! `diskarm study`: experiments as files.

mod diff;
mod list;
mod run;
mod selection;

use diskarm_results::output_file::Files;

use crate::error::Error;
use crate::output;

/// Run experiments described in files
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List the studies that come with the program
    List(list::Args),
    /// Simulate missing cells; write results and report
    Run(run::Run),
    /// Simulate missing cells; check the claims
    Check(run::Check),
    /// Write charts and report from stored runs
    Report(run::Report),
    /// Write a small study to start from
    New(New),
    /// Compare two folders of results cell by cell
    ///
    /// Prints for each metric the number of cells in which it differs, the number beyond both 95 %
    /// confidence intervals, and the largest change; and the claims whose verdicts differ.
    /// The exit code is 1 if anything differs.
    Diff(diff::Diff),
}

pub fn run(args: Args) -> Result<(), Error> {
    match args.command {
        Command::List(args) => list::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Check(args) => run::check(&args),
        Command::Report(args) => run::report(&args),
        Command::New(args) => write_new(&args),
        Command::Diff(args) => diff::run(&args),
    }
}

#[derive(clap::Args)]
struct New {
    /// The file to write; its name must end in .toml, and nothing is replaced. - is standard output
    #[arg(value_name = "FILE.toml", value_parser = crate::args::toml_or_standard)]
    file: String,
}

/// A study that runs in seconds, with a comment on each part.
const SMALL: &str = include_str!("study/new.toml");

fn write_new(args: &New) -> Result<(), Error> {
    let file = &args.file;
    if file == "-" {
        return output::print(SMALL);
    }
    if std::fs::symlink_metadata(file).is_ok() {
        return Err(Error::Failed(format!(
            "{file} exists already; give another FILE.toml"
        )));
    }
    let new = Files::default().output("FILE.toml", file)?;
    new.write(SMALL.replace("FILE.toml", file).as_bytes())?;
    output::print(&format!("wrote {file}; run it: diskarm study run {file}\n"))
}
