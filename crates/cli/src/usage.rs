//! The help of the program, and one-line errors for command lines that cannot be parsed.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::error::Error;
use crate::output;

/// Handles the result of the option parser: prints help and version unchanged, prints help
/// if no command was given, and joins the lines of an error into one.
pub fn report(program: &Command, error: clap::Error) -> Result<(), Error> {
    let text = error.to_string();
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // The text is the help of a command that lacks a subcommand.
        let usage = text.lines().find_map(|line| line.strip_prefix("Usage: "));
        let command = usage.and_then(|usage| usage.split(['<', '[']).next());
        let command = command.map_or("diskarm", str::trim_end);
        if command == "diskarm" {
            return output::print(&text);
        }
        return Err(Error::Failed(format!(
            "a subcommand is missing (`{command} --help` lists them)"
        )));
    }
    if !error.use_stderr() {
        return output::print(&text);
    }
    let line = bad_value(&error).unwrap_or_else(|| one_line(&text));
    Err(Error::Failed(line + &hint(program, &error)))
}

fn context(error: &clap::Error, kind: ContextKind) -> &str {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    }
}

/// Returns a guess at what the user meant, to append to the message; empty if there is none.
fn hint(program: &Command, error: &clap::Error) -> String {
    let is_drive = |text: &str| text.ends_with(".toml") || diskarm_drives::find(text).is_some();
    let argument = context(error, ContextKind::InvalidArg);
    match error.kind() {
        ErrorKind::ArgumentConflict
            if argument == context(error, ContextKind::PriorArg)
                && argument.starts_with("--drive ") =>
        {
            "; `diskarm compare --drive A,B` compares several drives".to_owned()
        }
        ErrorKind::UnknownArgument
            if is_drive(argument) && takes_drive(program, &refused_command(error)) =>
        {
            format!("; perhaps --drive {argument}")
        }
        ErrorKind::InvalidSubcommand => {
            let name = context(error, ContextKind::InvalidSubcommand);
            let is_top = refused_command(error).iter().all(|word| word == "drives");
            if is_drive(name) && is_top {
                format!("; perhaps `diskarm drives show {name}`")
            } else {
                String::new()
            }
        }
        _ => String::new(),
    }
}

/// Returns the words of the command whose arguments were refused, without the program's name.
fn refused_command(error: &clap::Error) -> Vec<String> {
    let text = error.to_string();
    let usage = text
        .lines()
        .find_map(|line| line.strip_prefix("Usage: diskarm"));
    let words = usage.unwrap_or_default().split_whitespace();
    let is_name = |word: &&str| word.starts_with(|first: char| first.is_ascii_lowercase());
    words.take_while(is_name).map(str::to_owned).collect()
}

fn takes_drive(program: &Command, words: &[String]) -> bool {
    let mut command = program;
    for word in words {
        let Some(found) = command.find_subcommand(word) else {
            return false;
        };
        command = found;
    }
    let mut options = command.get_arguments().filter_map(clap::Arg::get_long);
    options.any(|option| option == "drive")
}

/// Formats the error of an invalid option value like an `InputError`; `None` for other errors.
fn bad_value(error: &clap::Error) -> Option<String> {
    let string = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    // "--requests <N>", or "[FILE]".
    let option = string(ContextKind::InvalidArg)?.split(' ').next()?;
    let found = string(ContextKind::InvalidValue)?;
    let expected = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(names)) if !found.is_empty() => {
            format!("expected one of {}", names.join(", "))
        }
        // The errors of our own value parsers begin with "expected"; those of the option parser
        // itself are about whole numbers.
        _ => {
            let source = std::error::Error::source(error)?.to_string();
            if source.starts_with("expected") {
                source
            } else {
                format!("expected a whole number ({source})")
            }
        }
    };
    Some(format!("{option}: found {found:?}, {expected}"))
}

/// Joins the paragraphs before the usage line with semicolons, and omits the advice to pass a
/// misspelt option as a file.
fn one_line(text: &str) -> String {
    let paragraphs = text.split("\n\n").take_while(|paragraph| {
        !paragraph.starts_with("Usage:") && !paragraph.starts_with("For more information")
    });
    let paragraphs: Vec<String> = paragraphs
        .filter(|paragraph| !paragraph.trim_start().starts_with("tip: to pass "))
        .map(|paragraph| {
            let words: Vec<&str> = paragraph.split_whitespace().collect();
            words.join(" ")
        })
        .collect();
    let line = paragraphs.join("; ");
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}

/// The commands by purpose. Every command is in exactly one of these groups.
const GROUPS: &[(&str, &[&str])] = &[
    ("Experiments", &["study"]),
    (
        "One simulation",
        &["simulate", "compare", "scan", "queueing"],
    ),
    ("Arrays", &["declustering"]),
    ("Traces", &["trace"]),
    ("Real drives", &["validate", "calibrate", "extract"]),
    ("Servers", &["serve"]),
    ("Catalogue", &["drives", "devices", "policies"]),
    ("The program itself", &["completions", "man"]),
];

pub const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}{after-help}\n";

const MORE: &str = "
  -h, --help       Print this help (for a command: `diskarm COMMAND --help`)
  -V, --version    Print the version
  --color WHEN     Write in colour: auto, always or never

Start with `diskarm study list` and `diskarm study run NAME --quick`.
The book is in docs/; start with docs/introduction.md (`make book` builds it).";

pub fn table<T: clap::Subcommand>() -> String {
    let all = T::augment_subcommands(Command::new("diskarm"));
    let groups = GROUPS.iter().map(|(group, names)| {
        let commands = names.iter().filter_map(|name| all.find_subcommand(name));
        let mut text = format!("\n{group}\n");
        commands.for_each(|command| add_line(command, "", &mut text));
        text
    });
    let all = groups.collect::<String>() + MORE;
    // The template already has an empty line there.
    all.trim_start().to_owned()
}

/// Adds a line for `command`, or one for each subcommand. Names have at most two words.
fn add_line(command: &Command, prefix: &str, text: &mut String) {
    let name = format!("{prefix}{}", command.get_name());
    let is_nested = !prefix.is_empty();
    let is_runnable = is_nested || !command.is_subcommand_required_set();
    if is_runnable {
        let about = command.get_about().map(ToString::to_string);
        *text += &format!("  {name:<16} {}\n", about.unwrap_or_default());
    }
    let inner = command.get_subcommands();
    for command in inner.filter(|inner| !is_nested && !inner.is_hide_set()) {
        add_line(command, &format!("{name} "), text);
    }
}
