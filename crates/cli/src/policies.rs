//! `diskarm policies`: lists the scheduling policies.

use std::fmt::Write;

use diskarm_core::sched::INFOS;
use diskarm_results::prose::wrapped;

use crate::args::Listing;
use crate::error::Error;
use crate::output;

/// List the scheduling policies, their parameters and papers
#[derive(clap::Args)]
#[command(after_help = SYNTAX_HELP, args_conflicts_with_subcommands = true)]
pub struct Args {
    /// Print JSON: an array with one object per policy
    #[arg(long)]
    json: bool,
    /// List only this policy [default: all]
    #[arg(value_name = "NAME")]
    only: Option<String>,
    #[command(subcommand)]
    command: Option<Listing>,
}

const SYNTAX_HELP: &str = "\
Write a policy as its name, with parameters in parentheses to override the defaults:
--policy clook, --policy 'clook(by=map)'. Values without names set the parameters in order, as
papers write them: 'vscan(0.2)'. In a drive's specification, queue.policy sets the policy of the
drive's own queue.

The list shows parameters with their defaults, and what each policy knows: arrival times only;
block numbers (with by=map also cylinders); positioning times; or positioning times and the
contents of the buffer. Every simulated drive provides all of this.";

pub fn run(args: Args) -> Result<(), Error> {
    let only = args.only.as_deref();
    let is_wanted = |name: &str| only.is_none_or(|only| only.eq_ignore_ascii_case(name));
    if let Some(only) = only.filter(|_| !INFOS.iter().any(|info| is_wanted(info.name))) {
        let expected = "a policy (`diskarm policies` lists them)";
        return Err(Error::option("NAME", only, expected));
    }
    if Listing::is_json(args.command, args.json) {
        let mut all = diskarm_results::policies();
        if let Some(rows) = all.as_array_mut() {
            rows.retain(|row| row["name"].as_str().is_some_and(is_wanted));
        }
        return output::print_json(&all);
    }
    let mut text = format!("{:<16}{:<14} {}\n", "policy", "knows", "origin");
    // The meanings that were printed, each with its policy.
    let mut listed: Vec<(&str, &str)> = Vec::new();
    for info in INFOS.iter().filter(|info| is_wanted(info.name)) {
        let knowledge = info.knowledge.name();
        let _ = writeln!(text, "{:<16}{knowledge:<14} {}", info.name, info.origin);
        text += &wrapped(info.summary, 4);
        for &(syntax, meaning) in info.parameters {
            let first = listed.iter().find(|(known, _)| *known == meaning);
            let line = match first {
                Some((_, first)) => format!("{syntax}: same as in {first}"),
                None => format!("{syntax}: {meaning}"),
            };
            text += &wrapped(&line, 8);
            listed.push((meaning, info.name));
        }
    }
    output::print(&text)
}
