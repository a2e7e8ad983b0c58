//! The rules about combinations of options, in one table.
//!
//! [`describe`] adds them to the definition of the commands, so that usage lines, help, manual and
//! completions show them. [`check`] applies them to a parsed command line, with messages that say
//! what to do.

use clap::parser::ValueSource;
use clap::{Arg, ArgGroup, ArgMatches, Command};

/// A rule about each of `options`, which are field names.
struct Rule {
    options: &'static [&'static str],
    relation: Relation,
    others: &'static [&'static str],
    /// The only kind of target to which the rule applies; `None` if it applies to all.
    target: Option<Target>,
    /// The reason; empty if the names of the options make it clear.
    reason: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// The option cannot be combined with any of the others.
    Excludes,
    /// The option needs at least one of the others.
    Needs,
    /// The option is required unless one of the others is given.
    RequiredWithout,
    /// Exactly one of the others is required.
    OneOf,
    /// At least one of the others is required.
    SomeOf,
    /// The option cannot be used with this target at all.
    Unsupported,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    /// A device, a file or an export.
    Real,
    /// A simulated drive, `sim:NAME`.
    Simulated,
}

type Names = &'static [&'static str];

const fn rule(options: Names, relation: Relation, others: Names) -> Rule {
    Rule {
        options,
        relation,
        others,
        target: None,
        reason: "",
    }
}

const fn excludes(options: Names, others: Names) -> Rule {
    rule(options, Relation::Excludes, others)
}

const fn needs(options: Names, others: Names) -> Rule {
    rule(options, Relation::Needs, others)
}

const fn unsupported(options: Names, target: Target) -> Rule {
    rule(options, Relation::Unsupported, &[]).on(target)
}

impl Rule {
    const fn because(self, reason: &'static str) -> Self {
        Self { reason, ..self }
    }

    const fn on(self, target: Target) -> Self {
        let target = Some(target);
        Self { target, ..self }
    }
}

/// The rules of each command, by its path.
const RULES: &[(&str, &[&[Rule]])] = &[
    ("simulate", &[SIMULATION, TRACE_OPTIONS, SIMULATE]),
    (
        "compare",
        &[SIMULATION, TRACE_OPTIONS, &[excludes(&["csv"], &["json"])]],
    ),
    (
        "devices",
        &[&[excludes(&["json"], &["only"]).because("--json always lists all devices")]],
    ),
    ("drives show", &[&[excludes(&["toml"], &["json"])]]),
    ("extract", &[EXTRACT]),
    ("scan", &[TRACE_OPTIONS, SCAN]),
    ("serve nbd", &[SERVER, NBD]),
    ("serve iscsi", &[SERVER]),
    (
        "serve ctl trigger",
        &[&[rule(&[], Relation::OneOf, &["before", "after"])]],
    ),
    ("study check", &[STUDY_CHECK]),
];

const SIMULATION: &[Rule] = &[
    rule(&[], Relation::OneOf, &["trace", "random", "workload"]),
    needs(&["requests"], &["random", "workload"]).because("a trace is replayed as a whole"),
    needs(&["replications"], &["random", "workload"]).because("a trace is the same each time"),
    excludes(&["replications"], &["window"]),
    needs(&["size", "reads", "interarrival", "rate"], &["random"]),
    needs(&["outstanding"], &["random", "trace"]),
    excludes(&["interarrival"], &["rate", "outstanding"]),
    excludes(&["rate"], &["outstanding"]),
    needs(&["think"], &["outstanding"]),
    needs(&["replay"], &["trace"]),
    excludes(&["replay"], &["outstanding"]),
];

const SIMULATE: &[Rule] =
    &[excludes(&["per_request"], &["replications"]).because("the rows describe a single run")];

/// Options that select a part of a trace, map its blocks, or control how it is read.
const TRACE_OPTIONS: &[Rule] = &[needs(
    &[
        "device", "from", "until", "faster", "fit", "disks", "format", "on_error", "arrival",
    ],
    &["trace"],
)];

const MEASURING: Names = &[
    "url",
    "output",
    "quick",
    "thorough",
    "allow_writes",
    "chap",
    "report",
];

const EXTRACT: &[Rule] = &[
    rule(&["url", "output"], Relation::RequiredWithout, &["compare"]),
    excludes(&["quick"], &["thorough"]),
    needs(&["overwrite_data"], &["allow_writes"]),
    excludes(&["compare"], MEASURING).because("nothing is measured"),
];

const SCAN: &[Rule] = &[
    excludes(&["trace"], &["workload"]),
    excludes(&["model"], &["in_firmware"]).because("the firmware knows its own drive"),
    excludes(&["rebuild"], &["in_firmware", "checkpoint"]),
    excludes(
        &["depth", "max_slowdown", "any_track", "idle"],
        &["in_firmware"],
    )
    .because("it is an option of a scheduler outside the drive"),
    excludes(&["predictions"], &["checkpoint", "in_firmware", "rebuild"]),
    unsupported(&["checksums", "image"], Target::Simulated)
        .because("a simulated drive holds no data"),
    unsupported(&["rebuild"], Target::Real).because("it would overwrite a real spare"),
    unsupported(&["in_firmware"], Target::Real)
        .because("the firmware of a device cannot be changed"),
    unsupported(&["trace"], Target::Real).because("only a simulated drive serves a trace"),
    needs(&["workload"], &["model"])
        .on(Target::Real)
        .because("the scheduler needs a model of the drive"),
    needs(&["requests"], &["workload"])
        .on(Target::Real)
        .because("without a foreground workload, there are no requests to count"),
    needs(&["predictions"], &["workload"])
        .on(Target::Real)
        .because("commands are predicted only while a foreground workload runs"),
];

const SERVER: &[Rule] = &[
    rule(&[], Relation::SomeOf, &["drive", "export"]),
    needs(&["values"], &["drive"]).because("it changes the specification of that drive"),
    needs(&["record"], &["drive"]).because("give an --export its own record=FILE"),
    excludes(&["record"], &["instant"]).because("instant replies have no response times"),
    excludes(&["speed", "spin"], &["instant"]),
    excludes(&["max_lateness"], &["instant"]).because("instant replies are never late"),
];

const NBD: &[Rule] = &[needs(&["tls", "tls_verify_peer"], &["tls_certificates"])];

const STUDY_CHECK: &[Rule] = &[
    rule(&["studies"], Relation::RequiredWithout, &["all"]),
    excludes(&["all"], &["studies"]),
];

/// Adds the rules to the definition of all commands, for the parser and its help.
pub fn describe(program: Command) -> Command {
    for_each_rule(program, |command, rule| rule.describe(command))
}

/// Adds the rules and the conflicts, so that completions leave out conflicting options. The parser
/// must not know the conflicts, or it would report them in its own words.
pub fn describe_for_completions(program: Command) -> Command {
    for_each_rule(describe(program), |command, rule| match rule.relation {
        Relation::Excludes => rule.edit_options(command, |arg| arg.conflicts_with_all(rule.others)),
        _ => command,
    })
}

fn for_each_rule(program: Command, edit: impl Fn(Command, &Rule) -> Command) -> Command {
    RULES.iter().fold(program, |program, (path, tables)| {
        let names: Vec<&str> = path.split(' ').collect();
        edit_at(program, &names, &|command| {
            tables.iter().copied().flatten().fold(command, &edit)
        })
    })
}

fn edit_at(command: Command, path: &[&str], edit: &dyn Fn(Command) -> Command) -> Command {
    match path {
        [] => edit(command),
        [name, rest @ ..] => command.mut_subcommand(name, |inner| edit_at(inner, rest, edit)),
    }
}

impl Rule {
    fn edit_options(&self, command: Command, edit: impl Fn(Arg) -> Arg) -> Command {
        let options = self.options.iter();
        options.fold(command, |command, option| command.mut_arg(option, &edit))
    }

    fn describe(&self, command: Command) -> Command {
        let note = match self.relation {
            Relation::OneOf | Relation::SomeOf => {
                let group = ArgGroup::new("required").required(true).multiple(true);
                return command.group(group.args(self.others));
            }
            Relation::RequiredWithout => {
                return self
                    .edit_options(command, |arg| arg.required_unless_present_any(self.others));
            }
            Relation::Unsupported => return command,
            Relation::Excludes => "Not with",
            Relation::Needs => "Needs",
        };
        let note = format!(
            "{note} {}{}",
            names(&command, self.others),
            self.on_device()
        );
        self.edit_options(command, |arg| {
            // Options under a heading need no note, because the heading names what they need.
            let help = arg.get_long_help().or(arg.get_help());
            match help.filter(|_| arg.get_help_heading().is_none()) {
                Some(help) => {
                    let help = help.to_string();
                    let help = format!("{}. {note}", help.trim_end_matches('.'));
                    arg.long_help(help)
                }
                None => arg,
            }
        })
    }

    fn on_device(&self) -> &'static str {
        self.target.map_or("", |_| " on a real device")
    }

    fn violation(&self, command: &Command, given: &dyn Fn(&str) -> bool) -> Option<String> {
        let others: Vec<&str> = self
            .others
            .iter()
            .copied()
            .filter(|other| given(other))
            .collect();
        let name = |option: &str| names(command, &[option]);
        let both = |one, other| format!("{} cannot be combined with {}", name(one), name(other));
        let option = self.options.iter().copied().find(|option| given(option));
        let sentence = match (self.relation, option, &others[..]) {
            (Relation::OneOf, _, [first, second, ..]) => both(first, second),
            (Relation::Excludes, Some(option), [other, ..]) => both(option, other),
            (Relation::Needs, Some(option), []) => {
                let others = names(command, self.others);
                format!("{} needs {others}{}", name(option), self.on_device())
            }
            (Relation::Unsupported, Some(option), _) => {
                let target = match self.target {
                    Some(Target::Simulated) => "a real device",
                    _ => "a simulated drive (sim:NAME)",
                };
                format!("{} needs {target}", name(option))
            }
            _ => return None,
        };
        Some(match self.reason {
            "" => sentence,
            reason => format!("{sentence}: {reason}"),
        })
    }
}

/// Returns the names of options as users type them: `--a`, `--b` or `--c`.
fn names(command: &Command, ids: &[&str]) -> String {
    let name = |id: &&str| {
        let arg = command.get_arguments().find(|arg| arg.get_id() == *id);
        let arg = arg.unwrap_or_else(|| panic!("{} has no argument {id}", command.get_name()));
        match (arg.get_long(), arg.get_value_names()) {
            (Some(long), _) => format!("`--{long}`"),
            (None, Some([name, ..])) => name.to_string(),
            (None, _) => id.to_uppercase(),
        }
    };
    let names: Vec<String> = ids.iter().map(name).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// Returns the error in a parsed command line, as a sentence.
pub fn check(program: &Command, matches: &ArgMatches) -> Result<(), String> {
    let (mut command, mut matches, mut path) = (program, matches, Vec::new());
    while let Some((name, inner)) = matches.subcommand() {
        let Some(found) = command.find_subcommand(name) else {
            return Ok(());
        };
        path.push(name);
        (command, matches) = (found, inner);
    }
    let path = path.join(" ");
    let given = |id: &str| {
        matches.try_contains_id(id).is_ok()
            && matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    let url = matches.try_get_one::<String>("url").ok().flatten();
    let target = url.map(|url| match url.strip_prefix("sim:") {
        Some(_) => Target::Simulated,
        None => Target::Real,
    });
    let tables = RULES.iter().filter(|(name, _)| *name == path);
    let rules = tables.flat_map(|(_, tables)| tables.iter().copied().flatten());
    let mut rules = rules.filter(|rule| rule.target.is_none() || rule.target == target);
    let violation = rules.find_map(|rule| rule.violation(command, &given));
    violation.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Panics if the table contains an unknown name.
    #[test]
    fn every_rule_names_options_of_its_command() {
        describe_for_completions(crate::Cli::command()).debug_assert();
    }

    #[test]
    fn a_violation_says_what_to_do() {
        let message = |words: &[&str]| {
            let program = describe(crate::Cli::command());
            let words = [&["diskarm"], words].concat();
            let matches = program.clone().try_get_matches_from(words);
            check(&program, &matches.expect("a valid command line")).err()
        };
        let image = ["scan", "sim:hp-c2247", "--image", "x"];
        let expected = "`--image` needs a real device: a simulated drive holds no data";
        assert_eq!(message(&image).as_deref(), Some(expected));
        assert_eq!(message(&["scan", "/dev/null", "--image", "x"]), None);
        let workload = ["scan", "/dev/null", "--workload", "closed(clients=1)"];
        let expected = "`--workload` needs `--model` on a real device: the scheduler needs a \
                        model of the drive";
        assert_eq!(message(&workload).as_deref(), Some(expected));
    }
}
