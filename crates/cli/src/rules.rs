//! The rules between options, in one table.
//!
//! [`describe`] adds them to the definition of the commands, so that usage lines, help, manual and
//! completions show them. [`check`] applies them to a parsed command line, with messages that say
//! what to do.

use clap::parser::ValueSource;
use clap::{ArgGroup, ArgMatches, Command};

/// A rule about `option`, which is the name of its field.
struct Rule {
    option: &'static str,
    relation: Relation,
    others: &'static [&'static str],
    /// The only kind of target to which it applies.
    target: Option<Target>,
    /// The reason, unless the names of the options show it.
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

/// The kind of a URL.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    /// A device, a file or an export.
    Real,
    /// `sim:NAME`.
    Simulated,
}

const fn rule(
    option: &'static str,
    relation: Relation,
    others: &'static [&'static str],
    reason: &'static str,
) -> Rule {
    Rule {
        option,
        relation,
        others,
        target: None,
        reason,
    }
}

const fn excludes(
    option: &'static str,
    others: &'static [&'static str],
    reason: &'static str,
) -> Rule {
    rule(option, Relation::Excludes, others, reason)
}

const fn needs(
    option: &'static str,
    others: &'static [&'static str],
    reason: &'static str,
) -> Rule {
    rule(option, Relation::Needs, others, reason)
}

const fn required_without(option: &'static str, others: &'static [&'static str]) -> Rule {
    rule(option, Relation::RequiredWithout, others, "")
}

const fn one_of(others: &'static [&'static str]) -> Rule {
    rule("", Relation::OneOf, others, "")
}

const fn some_of(others: &'static [&'static str]) -> Rule {
    rule("", Relation::SomeOf, others, "")
}

const fn unsupported(option: &'static str, target: Target, reason: &'static str) -> Rule {
    Rule {
        target: Some(target),
        ..rule(option, Relation::Unsupported, &[], reason)
    }
}

const fn needs_on_device(
    option: &'static str,
    others: &'static [&'static str],
    reason: &'static str,
) -> Rule {
    Rule {
        target: Some(Target::Real),
        ..needs(option, others, reason)
    }
}

/// The rules of each command, by its path.
const RULES: &[(&str, &[&[Rule]])] = &[
    ("simulate", &[SIMULATION, TRACE_OPTIONS, SIMULATE]),
    ("compare", &[SIMULATION, TRACE_OPTIONS, COMPARE]),
    ("devices", &[DEVICES]),
    ("drives show", &[DRIVES_SHOW]),
    ("extract", &[EXTRACT]),
    ("scan", &[TRACE_OPTIONS, SCAN]),
    ("serve nbd", &[SERVER, NBD]),
    ("serve iscsi", &[SERVER]),
    ("serve ctl trigger", &[TRIGGER]),
    ("study check", &[STUDY_CHECK]),
];

const SIMULATION: &[Rule] = &[
    one_of(&["trace", "random", "workload"]),
    needs(
        "requests",
        &["random", "workload"],
        "a trace is replayed as a whole",
    ),
    needs(
        "replications",
        &["random", "workload"],
        "a trace is the same each time",
    ),
    excludes("replications", &["window"], ""),
    needs("size", &["random"], ""),
    needs("reads", &["random"], ""),
    needs("interarrival", &["random"], ""),
    needs("rate", &["random"], ""),
    needs("outstanding", &["random", "trace"], ""),
    excludes("interarrival", &["rate", "outstanding"], ""),
    excludes("rate", &["outstanding"], ""),
    needs("think", &["outstanding"], ""),
    needs("replay", &["trace"], ""),
    excludes("replay", &["outstanding"], ""),
];

const SIMULATE: &[Rule] = &[excludes(
    "per_request",
    &["replications"],
    "its rows are those of one run",
)];

const COMPARE: &[Rule] = &[excludes("csv", &["json"], "")];

/// Options that select a part of a trace, map its blocks, or control how it is read.
const TRACE_OPTIONS: &[Rule] = &[
    needs("device", &["trace"], ""),
    needs("from", &["trace"], ""),
    needs("until", &["trace"], ""),
    needs("faster", &["trace"], ""),
    needs("fit", &["trace"], ""),
    needs("disks", &["trace"], ""),
    needs("format", &["trace"], ""),
    needs("on_error", &["trace"], ""),
    needs("arrival", &["trace"], ""),
];

const DEVICES: &[Rule] = &[excludes("json", &["only"], "it lists all devices")];

const DRIVES_SHOW: &[Rule] = &[excludes("toml", &["json"], "")];

const EXTRACT: &[Rule] = &[
    required_without("url", &["compare"]),
    required_without("output", &["compare"]),
    excludes("quick", &["thorough"], ""),
    needs("overwrite_data", &["allow_writes"], ""),
    excludes(
        "compare",
        &[
            "url",
            "output",
            "quick",
            "thorough",
            "allow_writes",
            "chap",
            "report",
        ],
        "nothing is measured",
    ),
];

const FIRMWARE: &str = "it is an option of a scheduler outside the drive";

const SCAN: &[Rule] = &[
    excludes("trace", &["workload"], ""),
    excludes(
        "model",
        &["in_firmware"],
        "the firmware knows its own drive",
    ),
    excludes("rebuild", &["in_firmware", "checkpoint"], ""),
    excludes("depth", &["in_firmware"], FIRMWARE),
    excludes("max_slowdown", &["in_firmware"], FIRMWARE),
    excludes("any_track", &["in_firmware"], FIRMWARE),
    excludes("idle", &["in_firmware"], FIRMWARE),
    excludes("predictions", &["checkpoint", "in_firmware", "rebuild"], ""),
    unsupported(
        "checksums",
        Target::Simulated,
        "a simulated drive holds no data",
    ),
    unsupported(
        "image",
        Target::Simulated,
        "a simulated drive holds no data",
    ),
    unsupported("rebuild", Target::Real, "it would overwrite a real spare"),
    unsupported(
        "in_firmware",
        Target::Real,
        "the firmware of a device cannot be changed",
    ),
    unsupported(
        "trace",
        Target::Real,
        "only a simulated drive serves a trace",
    ),
    needs_on_device(
        "workload",
        &["model"],
        "the scheduler must know what the drive is",
    ),
    needs_on_device(
        "requests",
        &["workload"],
        "without a foreground there are no requests to count",
    ),
    needs_on_device(
        "predictions",
        &["workload"],
        "only commands next to a foreground are predicted",
    ),
];

const NO_TIME: &str = "without time nothing is late";

const SERVER: &[Rule] = &[
    some_of(&["drive", "export"]),
    needs(
        "values",
        &["drive"],
        "it changes the specification of that drive",
    ),
    needs("record", &["drive"], "give an --export its own record=FILE"),
    excludes(
        "record",
        &["instant"],
        "without time there are no answers of a drive",
    ),
    excludes("speed", &["instant"], ""),
    excludes("spin", &["instant"], ""),
    excludes("max_lateness", &["instant"], NO_TIME),
];

const NBD: &[Rule] = &[
    needs("tls", &["tls_certificates"], ""),
    needs("tls_verify_peer", &["tls_certificates"], ""),
];

const TRIGGER: &[Rule] = &[one_of(&["before", "after"])];

const STUDY_CHECK: &[Rule] = &[
    required_without("studies", &["all"]),
    excludes("all", &["studies"], ""),
];

/// Adds the rules to the definition of all commands, for the parser and its help.
pub fn describe(program: Command) -> Command {
    for_each_command(program, |command, rules| {
        rules
            .iter()
            .fold(command, |command, rule| rule.describe(command))
    })
}

/// Adds the rules and the conflicts, which completions leave out once one of the options is typed.
/// The parser must not know of these, or it would report them in its own words.
pub fn describe_for_completions(program: Command) -> Command {
    for_each_command(describe(program), |command, rules| {
        let conflicts = rules
            .iter()
            .filter(|rule| rule.relation == Relation::Excludes);
        conflicts.fold(command, |command, rule| {
            command.mut_arg(rule.option, |arg| arg.conflicts_with_all(rule.others))
        })
    })
}

fn for_each_command(program: Command, edit: impl Fn(Command, &[Rule]) -> Command) -> Command {
    RULES.iter().fold(program, |program, (path, tables)| {
        let names: Vec<&str> = path.split(' ').collect();
        edit_at(program, &names, &|command| {
            tables
                .iter()
                .fold(command, |command, rules| edit(command, rules))
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
    fn describe(&self, command: Command) -> Command {
        let note = match self.relation {
            Relation::OneOf | Relation::SomeOf => {
                let group = ArgGroup::new("required").required(true).multiple(true);
                return command.group(group.args(self.others));
            }
            Relation::RequiredWithout => {
                return command.mut_arg(self.option, |arg| {
                    arg.required_unless_present_any(self.others)
                });
            }
            Relation::Unsupported => return command,
            Relation::Excludes => "Not with",
            Relation::Needs => "Needs",
        };
        let note = format!("{note} {}", names(&command, self.others, "or"));
        let on_device = if self.target.is_some() {
            " on a real device"
        } else {
            ""
        };
        command.mut_arg(self.option, |arg| {
            // The heading already names what the option needs.
            let help = arg
                .get_long_help()
                .or(arg.get_help())
                .map(ToString::to_string);
            match help.filter(|_| arg.get_help_heading().is_none()) {
                Some(help) => {
                    let help = help.trim_end_matches('.');
                    arg.long_help(format!("{help}. {note}{on_device}"))
                }
                None => arg,
            }
        })
    }

    /// Returns the message if the command line breaks the rule.
    fn violation(&self, command: &Command, given: &dyn Fn(&str) -> bool) -> Option<String> {
        let is_given = self.option.is_empty() || given(self.option);
        let given_others: Vec<&str> = self
            .others
            .iter()
            .copied()
            .filter(|other| given(other))
            .collect();
        let option = || names(command, &[self.option], "or");
        let sentence = match (self.relation, &given_others[..]) {
            _ if !is_given => return None,
            (Relation::Excludes, [other, ..]) => {
                let other = names(command, &[other], "or");
                format!("{} cannot be combined with {other}", option())
            }
            (Relation::OneOf, [first, second, ..]) => {
                let second = names(command, &[second], "or");
                format!(
                    "{} cannot be combined with {second}",
                    names(command, &[first], "or")
                )
            }
            (Relation::Needs, []) => {
                let on_device = if self.target.is_some() {
                    " on a real device"
                } else {
                    ""
                };
                format!(
                    "{} needs {}{on_device}",
                    option(),
                    names(command, self.others, "or")
                )
            }
            (Relation::Unsupported, _) => {
                let target = match self.target {
                    Some(Target::Simulated) => "a real device",
                    _ => "a simulated drive (sim:NAME)",
                };
                format!("{} needs {target}", option())
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
fn names(command: &Command, ids: &[&str], conjunction: &str) -> String {
    let name = |id: &&str| {
        let arg = command.get_arguments().find(|arg| arg.get_id() == *id);
        let arg = arg.unwrap_or_else(|| panic!("no argument {id} of {}", command.get_name()));
        match (arg.get_long(), arg.get_value_names()) {
            (Some(long), _) => format!("`--{long}`"),
            (None, Some([name, ..])) => name.to_string(),
            (None, _) => id.to_uppercase(),
        }
    };
    let names: Vec<String> = ids.iter().map(name).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} {conjunction} {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// Returns what is wrong with a parsed command line, as a sentence.
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
    let target = url.map(|url| {
        if url.starts_with("sim:") {
            Target::Simulated
        } else {
            Target::Real
        }
    });
    let tables = RULES.iter().filter(|(of, _)| *of == path);
    let rules = tables.flat_map(|(_, tables)| tables.iter().copied().flatten());
    let mut rules = rules.filter(|rule| rule.target.is_none() || rule.target == target);
    match rules.find_map(|rule| rule.violation(command, &given)) {
        Some(violation) => Err(violation),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// An unknown name in the table panics here.
    #[test]
    fn every_rule_names_options_of_its_command() {
        describe_for_completions(crate::Cli::command()).debug_assert();
    }

    #[test]
    fn a_violation_says_what_to_do() {
        let message = |words: &[&str]| {
            let program = describe(crate::Cli::command());
            let words = [&["diskarm"], words].concat();
            let matches = program
                .clone()
                .try_get_matches_from(words)
                .expect("a command line");
            check(&program, &matches).err()
        };
        let image = ["scan", "sim:hp-c2247", "--image", "x"];
        let expected = "`--image` needs a real device: a simulated drive holds no data";
        assert_eq!(message(&image).as_deref(), Some(expected));
        assert_eq!(message(&["scan", "/dev/null", "--image", "x"]), None);
        let workload = ["scan", "/dev/null", "--workload", "closed(clients=1)"];
        let expected = "`--workload` needs `--model` on a real device: the scheduler must know \
                        what the drive is";
        assert_eq!(message(&workload).as_deref(), Some(expected));
    }
}
