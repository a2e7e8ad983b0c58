//! `diskarm man`: the manual, as pages for `man`.

use std::path::PathBuf;

use clap::CommandFactory;

use crate::error::Error;
use crate::output;

/// Write the man pages, one per command, to a folder
///
/// The folder is created if necessary. In share/man/man1 of a folder whose bin/ is on the PATH,
/// such as ~/.local, `man diskarm` and `man diskarm-study-run` find them.
#[derive(clap::Args)]
pub struct Args {
    /// The folder
    folder: PathBuf,
}

/// Writes them and prints their number. They overwrite pages of the same names, and the command
/// reads nothing that could be lost.
pub fn run(args: &Args) -> Result<(), Error> {
    let written = std::fs::create_dir_all(&args.folder)
        .and_then(|()| clap_mangen::generate_to(crate::Cli::command(), &args.folder))
        .and_then(|()| Ok(std::fs::read_dir(&args.folder)?.count()));
    let path = args.folder.display().to_string();
    let count = written.map_err(|source| Error::Io {
        doing: "write",
        path: path.clone(),
        source,
    })?;
    output::print(&format!("{count} pages in {path}\n"))
}
