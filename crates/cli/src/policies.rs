//! `diskarm policies`: the table of scheduling policies.

use std::fmt::Write;

use diskarm_core::sched::INFOS;
use diskarm_results::policies::rows;

use crate::error::Error;
use crate::output;
use diskarm_results::prose::wrapped;

/// List the scheduling policies, their parameters and papers
#[derive(clap::Args)]
#[command(after_help = WRITTEN)]
pub struct Args {
    /// Print JSON: an array of one object a policy.
    #[arg(long)]
    json: bool,
}

const WRITTEN: &str = "\
A policy is written as its name, with parameters in parentheses where others than the defaults
are wanted: --policy clook, --policy 'clook(by=map)'. In a drive's specification it is
queue.policy, for the drive's own queue.

The list shows parameters with their defaults. A policy knows nothing but when requests came; their
blocks, or with by=map their cylinders too; how long each would take to position for; or that and
what the buffer holds. Every drive that can be simulated tells all of it.";

/// Prints the table.
pub fn run(args: Args) -> Result<(), Error> {
    if args.json {
        return output::print_json(&rows());
    }
    let mut text = format!("{:<16}{:<15}{}\n", "policy", "knows", "origin");
    // What parameters mean, and the policy that was the first to have one of this meaning.
    let mut told: Vec<(&str, &str)> = Vec::new();
    for info in INFOS {
        let knowledge = info.knowledge.name();
        let _ = writeln!(text, "{:<16}{knowledge:<15}{}", info.name, info.origin);
        text += &wrapped(info.summary, 4);
        for &(written, meaning) in info.parameters {
            let first = told.iter().find(|(known, _)| *known == meaning);
            let line = match first {
                Some((_, first)) => format!("{written}: as {first}'s"),
                None => format!("{written}: {meaning}"),
            };
            text += &wrapped(&line, 8);
            told.push((meaning, info.name));
        }
    }
    output::print(&text)
}
