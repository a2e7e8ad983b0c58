//! Colour on a terminal.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use clap::ValueEnum;

/// When to write in colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set or TERM is "dumb"
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What `--color` says; unset until the command line is parsed.
static CHOSEN: OnceLock<When> = OnceLock::new();

/// Sets it, once for the whole process.
pub fn choose(when: When) {
    // A second command line in one process, as in Python, keeps the first one's choice.
    let _ = CHOSEN.set(when);
}

/// The looks of words, as terminals' codes.
#[derive(Clone, Copy)]
pub enum Look {
    Bad = 31,
    Good = 32,
    Doubtful = 33,
    Remark = 36,
}

/// `word` for standard error.
pub fn on_errors(word: &str, look: Look) -> String {
    painted(word, look, is_on(io::stderr().is_terminal()))
}

/// `word` for standard output.
pub fn on_output(word: &str, look: Look) -> String {
    painted(word, look, is_on(io::stdout().is_terminal()))
}

fn is_on(is_terminal: bool) -> bool {
    let is_unset = |name| std::env::var_os(name).is_none_or(|value| value.is_empty());
    let is_dumb = || std::env::var_os("TERM").is_some_and(|name| name == "dumb");
    match CHOSEN.get().copied().unwrap_or(When::Auto) {
        When::Always => true,
        When::Never => false,
        When::Auto => is_terminal && is_unset("NO_COLOR") && !is_dumb(),
    }
}

fn painted(word: &str, look: Look, is_on: bool) -> String {
    match is_on {
        true => format!("\u{1b}[1;{}m{word}\u{1b}[0m", look as u8),
        false => word.to_owned(),
    }
}
