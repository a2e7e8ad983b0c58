//! The table of contents that `diskarm --help` prints: every command on a line, grouped by purpose.

use clap::Command;

/// The purposes, and the commands for each. Every command is in exactly one of these.
const CHAPTERS: &[(&str, &[&str])] = &[
    ("Experiments", &["study"]),
    (
        "One simulation",
        &["simulate", "compare", "scan", "queueing"],
    ),
    ("Arrays", &["declustering"]),
    ("Traces", &["trace"]),
    ("Real drives", &["validate", "calibrate", "extract"]),
    ("Drives for other programs", &["serve"]),
    ("What there is", &["drives", "devices", "policies"]),
    ("About the program", &["completions", "man"]),
];

/// The layout of the program's help.
pub const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}{after-help}\n";

const MORE: &str = "
  -h, --help       Print this; behind a command, what it does and takes
  -V, --version    Print the version
  --color WHEN     Write in colour: auto, always or never

Begin with `diskarm study list` and `diskarm study run NAME --quick`.
The book is in docs/, from docs/introduction.md on (`make book` builds it).";

/// The table of the commands of `T`.
pub fn of<T: clap::Subcommand>() -> String {
    let all = T::augment_subcommands(Command::new("diskarm"));
    let chapters = CHAPTERS.iter().map(|(chapter, names)| {
        let commands = names.iter().filter_map(|name| all.find_subcommand(name));
        let mut text = format!("\n{chapter}\n");
        commands.for_each(|command| tell(command, "", &mut text));
        text
    });
    let all = chapters.collect::<String>() + MORE;
    // The template already has an empty line there.
    all.trim_start().to_owned()
}

/// A line for `command`, or for each of its subcommands; names have two words at most.
fn tell(command: &Command, above: &str, text: &mut String) {
    let name = format!("{above}{}", command.get_name());
    let is_deep = !above.is_empty();
    let does_something = is_deep || !command.is_subcommand_required_set();
    if does_something {
        let about = command.get_about().map(ToString::to_string);
        *text += &format!("  {name:<16} {}\n", about.unwrap_or_default());
    }
    let parts = command.get_subcommands();
    for part in parts.filter(|part| !is_deep && !part.is_hide_set()) {
        tell(part, &format!("{name} "), text);
    }
}
