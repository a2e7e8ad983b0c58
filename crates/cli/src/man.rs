//! `diskarm man`: the manual, as pages for `man`.

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use diskarm_results::place::{Files, PlaceError};

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

/// Writes them and prints their number. They replace pages of the same names.
pub fn run(args: &Args) -> Result<(), Error> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder).map_err(|source| cannot_write(folder, source))?;
    let mut program = crate::Cli::command().disable_help_subcommand(true);
    program.build();
    let mut files = Files::default();
    let count = write(&program, folder, &mut files)?;
    output::print(&format!("{count} pages in {}\n", folder.display()))
}

/// Writes the pages of `command` and of all its subcommands; returns their number.
fn write(command: &Command, folder: &Path, files: &mut Files) -> Result<usize, Error> {
    let mut count = 1;
    let parts = command.get_subcommands();
    for part in parts.filter(|part| !part.is_hide_set()) {
        count += write(part, folder, files)?;
    }
    let page = Man::new(command.clone());
    let path = folder.join(page.get_filename());
    let mut text = Vec::new();
    let made = page.render(&mut text);
    made.map_err(|source| cannot_write(&path, source))?;
    files.place("FOLDER", &path)?.write(&text)?;
    Ok(count)
}

fn cannot_write(path: &Path, source: std::io::Error) -> PlaceError {
    let path = path.to_owned();
    PlaceError::Io { path, source }
}
