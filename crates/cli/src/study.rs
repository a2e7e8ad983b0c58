//! `diskarm study`: experiments as files.

mod claims;
mod list;
mod run;

use std::num::NonZero;
use std::path::PathBuf;

use diskarm_study::studies;
use diskarm_study::{Asked, Study};

use crate::error::Error;

/// Run experiments that are files
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List the studies that come with the program
    List(list::Args),
    /// Simulate what is missing; write results and report
    Run(run::Run),
    /// Simulate what is missing; hold the claims against it
    Check(run::Check),
    /// Write figures and report from what has been simulated
    Report(run::Report),
}

/// Runs the command.
pub fn run(args: Args) -> Result<(), Error> {
    match args.command {
        Command::List(args) => list::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Check(args) => run::check(&args),
        Command::Report(args) => run::report(&args),
    }
}

/// Which study, and where its results are.
#[derive(clap::Args)]
struct Chosen {
    /// Take the short form that the study describes
    #[arg(long)]
    quick: bool,

    /// A trace to run on, for studies that want one; several are compared
    #[arg(long, value_name = "FILE")]
    trace: Vec<String>,

    /// The folder in which each study has one of its own, NAME or NAME-quick
    #[arg(short, long, value_name = "DIR", default_value = "results")]
    output: PathBuf,

    /// So many cells at a time [default: as there are processors]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZero<usize>>,
}

impl Chosen {
    /// The study called `name`, or in the file of a name that ends in `.toml`.
    fn study(&self, name: &str) -> Result<Study, Error> {
        let asked = Asked {
            quick: self.quick,
            traces: self.trace.clone(),
        };
        if name.ends_with(".toml") {
            let text = std::fs::read_to_string(name).map_err(|source| Error::Io {
                doing: "read",
                path: name.to_owned(),
                source,
            })?;
            let stem = PathBuf::from(name);
            let stem = stem.file_stem().unwrap_or_default().to_string_lossy();
            return Ok(Study::read(&stem, &text, name, asked)?);
        }
        let entry = studies::find(name).ok_or_else(|| unknown(name))?;
        let file = format!("{name}.toml");
        Ok(Study::read(name, entry.text, &file, asked)?)
    }

    fn folder(&self, study: &Study) -> PathBuf {
        let kind = if self.quick { "-quick" } else { "" };
        self.output.join(format!("{}{kind}", study.name))
    }

    fn threads(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, NonZero::get);
        self.jobs.map_or_else(all, NonZero::get)
    }
}

fn unknown(name: &str) -> Error {
    let nearest = studies::nearest(name);
    let hint = match nearest {
        Some(nearest) => format!("perhaps {nearest}"),
        None => "`diskarm study list` lists them".to_owned(),
    };
    let expected = format!("a study that comes with the program ({hint}) or a .toml file");
    Error::flag("STUDY", name, expected)
}
