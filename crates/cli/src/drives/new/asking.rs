//! Asks for the figures of a data sheet, one line each.

use std::io::{self, BufRead, IsTerminal, Write};

use clap::{Arg, Args as _, Command, FromArgMatches};

use super::{Args, NEEDED};
use crate::error::{self, Error};

/// Whether to ask: no option is given, and somebody sits at a terminal.
pub fn is_wanted(args: &Args) -> bool {
    io::stdin().is_terminal() && read(form(), Vec::new()).is_ok_and(|none| *args == none)
}

/// What is answered. Questions go to standard error, so that the specification can be redirected.
///
/// # Errors
/// If input cannot be read, or ends before all figures without a default have an answer.
pub fn ask() -> Result<Args, Error> {
    let form = form();
    eprintln!("Figures of the data sheet. An empty line leaves a figure to its default.\n");
    let mut words = Vec::new();
    for figure in form.get_arguments() {
        words.extend(answer(figure)?);
    }
    read(form, words)
}

/// The parser of the options.
fn form() -> Command {
    Args::augment_args(Command::new("diskarm drives new").no_binary_name(true))
}

/// The options that `words` give.
fn read(form: Command, words: Vec<String>) -> Result<Args, Error> {
    let answers = form.try_get_matches_from(words);
    answers
        .and_then(|answers| Args::from_arg_matches(&answers))
        .map_err(wrong)
}

/// The option that an answer stands for; `None` for the default. Asks again until it is valid.
fn answer(figure: &Arg) -> Result<Option<String>, Error> {
    let name = figure.get_long().unwrap_or_default();
    let is_needed = NEEDED.contains(&name);
    let question = question(figure);
    loop {
        eprint!("{question}: ");
        io::stderr().flush().ok();
        let mut line = String::new();
        let length = io::stdin().lock().read_line(&mut line);
        let length = length.map_err(|source| Error::Io {
            doing: "read",
            path: "standard input".to_owned(),
            source,
        })?;
        let line = line.trim();
        match (line.is_empty(), is_needed) {
            (true, false) => return Ok(None),
            (true, true) if length == 0 => {
                return Err(Error::Usage(format!("end of input before --{name}")));
            }
            (true, true) => continue,
            (false, _) => {}
        }
        let word = format!("--{name}={line}");
        let alone = Command::new("").no_binary_name(true).arg(figure.clone());
        match alone.try_get_matches_from([&word]) {
            Ok(_) => return Ok(Some(word)),
            Err(error) => eprintln!("{}", wrong(error)),
        }
    }
}

/// What a figure is, with its default in brackets, if it has one.
fn question(figure: &Arg) -> String {
    let about = figure
        .get_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    match figure.get_default_values() {
        [default] => format!("{about} [default: {}]", default.display()),
        _ => about,
    }
}

/// An error of the flag parser.
fn wrong(error: clap::Error) -> Error {
    match error::usage(error) {
        Err(error) => error,
        Ok(()) => unreachable!("no answer is --help"),
    }
}
