//! The table of contents that `diskarm --help` prints: every command on a line, grouped by purpose.

use clap::Command;

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

/// The layout of the program's help.
pub const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}{after-help}\n";

const MORE: &str = "
  -h, --help       Print this (or `diskarm COMMAND --help`)
  -V, --version    Print the version
  --color WHEN     Write in colour: auto, always or never

Start with `diskarm study list` and `diskarm study run NAME --quick`.
The book is in docs/; start with docs/introduction.md (`make book` builds it).";

/// Returns the table of the commands of `T`.
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

/// Adds a line for `command`, or for each of its subcommands; names have at most two words.
fn add_line(command: &Command, above: &str, text: &mut String) {
    let name = format!("{above}{}", command.get_name());
    let is_deep = !above.is_empty();
    let does_something = is_deep || !command.is_subcommand_required_set();
    if does_something {
        let about = command.get_about().map(ToString::to_string);
        *text += &format!("  {name:<16} {}\n", about.unwrap_or_default());
    }
    let inner = command.get_subcommands();
    for command in inner.filter(|inner| !is_deep && !inner.is_hide_set()) {
        add_line(command, &format!("{name} "), text);
    }
}
