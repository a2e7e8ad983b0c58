//! `diskarm completions`: completion scripts for shells.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::error::Error;
use crate::output;

/// Print completions for a shell
///
/// For bash: diskarm completions bash > ~/.local/share/bash-completion/completions/diskarm. Other
/// shells use other files: a folder of $fpath for zsh (as _diskarm),
/// ~/.config/fish/completions/diskarm.fish for fish.
#[derive(clap::Args)]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Prints them.
pub fn run(args: &Args) -> Result<(), Error> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "diskarm", &mut text);
    output::print(&String::from_utf8_lossy(&text))
}
