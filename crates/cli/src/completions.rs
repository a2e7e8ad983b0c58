//! `diskarm completions`: prints completion scripts for shells.

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};
use clap_complete::Shell;
use diskarm_core::sched::INFOS;
use diskarm_drives::CATALOGUE;
use diskarm_study::studies::STUDIES;

use crate::error::Error;
use crate::output;

/// Print completions for a shell
///
/// Names of drives, policies and studies are completed too. Redirect the output to a file that the
/// shell reads: ~/.local/share/bash-completion/completions/diskarm for bash, _diskarm in a folder
/// of $fpath for zsh, ~/.config/fish/completions/diskarm.fish for fish.
#[derive(clap::Args)]
pub struct Args {
    /// The shell
    shell: Shell,
}

pub fn run(args: &Args, program: Command) -> Result<(), Error> {
    let mut text = Vec::new();
    let mut program = with_names(program);
    clap_complete::generate(args.shell, &mut program, "diskarm", &mut text);
    let mut text = String::from_utf8_lossy(&text).into_owned();
    if args.shell == Shell::Bash {
        // Drives and studies may be files too.
        for names in [drives(), studies()] {
            let words = format!("-W \"{}\"", names.join(" "));
            text = text.replace(&words, &format!("-f {words}"));
        }
    }
    output::print(&text)
}

fn drives() -> Vec<&'static str> {
    CATALOGUE.iter().map(|entry| entry.name).collect()
}

fn studies() -> Vec<&'static str> {
    STUDIES.iter().map(|entry| entry.name).collect()
}

/// Adds the possible names to each argument that takes a name, in `command` and its subcommands.
/// The result is only for completions: a parser would refuse file names.
fn with_names(command: Command) -> Command {
    let named = |arg: Arg| {
        let names = match (arg.get_id().as_str(), arg.get_value_names()) {
            ("drive", _) => drives(),
            ("policy" | "policies", _) => INFOS.iter().map(|info| info.name).collect(),
            ("study" | "studies", _) => studies(),
            // The argument of `drives show`.
            ("name", Some(_)) => drives(),
            _ => return arg,
        };
        arg.value_parser(PossibleValuesParser::new(names))
    };
    command.mut_args(named).mut_subcommands(with_names)
}
