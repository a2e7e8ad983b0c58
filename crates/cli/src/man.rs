//! `diskarm man`: writes the manual as man pages.

use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;
use diskarm_results::output_file::Files;

use crate::error::Error;
use crate::output;

/// Write the man pages, one per command, to a folder
///
/// The folder is created if necessary. `man diskarm` and `man diskarm-study-run` find pages in
/// share/man/man1 of a folder whose bin/ is on the PATH, such as ~/.local.
#[derive(clap::Args)]
pub struct Args {
    /// The folder
    folder: PathBuf,
}

/// Writes the pages, replacing existing ones, and prints their number.
pub fn run(args: &Args, program: Command) -> Result<(), Error> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder).map_err(Error::io("write", folder.display()))?;
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let mut files = Files::default();
    let count = write(&program, folder, &mut files)?;
    output::print(&format!("{count} pages in {}\n", folder.display()))
}

/// Writes the pages of `command` and of all its subcommands; returns their number.
fn write(command: &Command, folder: &Path, files: &mut Files) -> Result<usize, Error> {
    let mut count = 1;
    let inner = command.get_subcommands();
    for command in inner.filter(|inner| !inner.is_hide_set()) {
        count += write(command, folder, files)?;
    }
    let page = Man::new(command.clone());
    let path = folder.join(page.get_filename());
    let mut text = Vec::new();
    page.render(&mut text)
        .map_err(Error::io("write", path.display()))?;
    let text = lay_out(&String::from_utf8_lossy(&text));
    files.output("FOLDER", &path)?.write(text.as_bytes())?;
    Ok(count)
}

/// Improves the layout of a page: notes after the options keep their line breaks, each item of a
/// list begins on a new line, and arguments get their own heading.
fn lay_out(page: &str) -> String {
    let lines: Vec<&str> = page.lines().collect();
    let (mut text, mut is_filled, mut has_arguments) = (String::new(), true, false);
    for (number, line) in lines.iter().enumerate() {
        let next = lines.get(number + 1).copied().unwrap_or_default();
        let is_argument = next.starts_with("<\\fI") || next.starts_with("[\\fI");
        if *line == ".TP" && is_argument && !has_arguments {
            text += ".SH ARGUMENTS\n";
            has_arguments = true;
        }
        if line.starts_with(".SH ") && !is_filled {
            text += ".fi\n";
            is_filled = true;
        }
        match *line {
            ".SH EXTRA" => {
                text += ".SH NOTES\n.nf\n";
                is_filled = false;
                continue;
            }
            item if is_filled && item.trim_start().starts_with("\\- ") => text += ".br\n",
            _ => {}
        }
        text += line;
        text.push('\n');
    }
    if !is_filled {
        text += ".fi\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_keep_the_line_breaks_of_lists_and_notes() {
        let generated = ".SH OPTIONS\n.TP\n\\fB\\-\\-size\\fR\nOne of:\n\\- a: one\n\\- b: two\n\
                    .TP\n<\\fIFILE\\fR>\nA file\n.TP\n[\\fIOUT\\fR]\nAnother\n\
                    .SH EXTRA\nExample:\n  diskarm\n\\- last\n.SH VERSION\nv1\n";
        let expected = ".SH OPTIONS\n.TP\n\\fB\\-\\-size\\fR\nOne of:\n.br\n\\- a: one\n\
                        .br\n\\- b: two\n.SH ARGUMENTS\n.TP\n<\\fIFILE\\fR>\nA file\n\
                        .TP\n[\\fIOUT\\fR]\nAnother\n.SH NOTES\n.nf\nExample:\n  diskarm\n\
                        \\- last\n.fi\n.SH VERSION\nv1\n";
        assert_eq!(lay_out(generated), expected);
    }
}
