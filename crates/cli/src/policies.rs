//! `diskarm policies`: the table of scheduling policies.

use std::fmt::Write;

use diskarm_core::sched::{INFOS, Info};
use serde::Serialize;

use crate::error::Error;
use crate::output;
use crate::prose::wrapped;

/// List the scheduling policies: what each does, its parameters, what it must know.
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
queue.policy, for the drive's own queue.";

#[derive(Serialize)]
struct Row {
    name: &'static str,
    summary: &'static str,
    parameters: Vec<Parameter>,
    knowledge: &'static str,
    origin: &'static str,
}

#[derive(Serialize)]
struct Parameter {
    written: &'static str,
    meaning: &'static str,
}

impl Row {
    fn of(info: &Info) -> Self {
        let parameters = info.parameters.iter();
        Self {
            name: info.name,
            summary: info.summary,
            parameters: parameters
                .map(|&(written, meaning)| Parameter { written, meaning })
                .collect(),
            knowledge: info.knowledge.name(),
            origin: info.origin,
        }
    }
}

/// Prints the table.
pub fn run(args: Args) -> Result<(), Error> {
    if args.json {
        return output::print_json(&INFOS.iter().map(Row::of).collect::<Vec<Row>>());
    }
    let mut text = format!("{:<16}{:<15}{}\n", "policy", "knows", "origin");
    for info in INFOS {
        let knowledge = info.knowledge.name();
        let _ = writeln!(text, "{:<16}{knowledge:<15}{}", info.name, info.origin);
        text += &wrapped(info.summary, 4);
        for (written, meaning) in info.parameters {
            text += &wrapped(&format!("{written}: {meaning}"), 8);
        }
    }
    output::print(&text)
}
