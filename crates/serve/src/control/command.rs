//! Control commands and their text form.

use std::fmt;

use diskarm_core::text::{Args, Call, InputError, quantity};
use diskarm_core::units::{Lbn, Span};
use diskarm_core::wrap::{AffectedOps, BadBlocks};

use crate::power::{
    AFFECTED, InjectedFault, PowerCut, Trigger, TriggerEvent, TriggerSide, affected_name,
};
use crate::statistics::Access;

/// A command to an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// `power-cut(torn=yes, worst=yes, seed=N)`
    PowerCut(PowerCut),
    /// `power-restore`
    PowerRestore,
    /// `pending`: lists writes that have not reached the media.
    Pending,
    /// `trigger(before=write, nth=N, ...)`, `after=flush` or `after=TIME`, with the arguments of
    /// `power-cut`: cuts the power when that happens.
    Trigger(Trigger),
    /// `inject(first=N, sectors=N, affects=reads, times=N)`: injects bad blocks.
    Inject(InjectedFault),
    /// `heal(first=N, sectors=N)`: repairs injected bad blocks, by default all.
    Heal {
        first: Lbn,
        /// The end of the range, exclusive.
        end: Lbn,
    },
    /// `errors`: lists the injected bad blocks and how often they will still fail.
    Errors,
    /// `stats`: returns the statistics.
    Statistics,
}

/// A command with the name of its export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportCommand {
    /// Empty for the unnamed export.
    pub export: String,
    pub command: Command,
}

const COMMANDS: &str =
    "one of power-cut, power-restore, pending, trigger, inject, heal, errors and stats";

/// The default end of a range.
const ALL: Lbn = InjectedFault::ALL;

impl ExportCommand {
    pub fn parse(line: &str) -> Result<Self, InputError> {
        let call = Call::read(line, "command")?;
        let mut args = Args::new(&call, ());
        let text = |value: &str| Some(value.to_owned());
        let export = args.maybe("export", "the name of an export", text)?;
        let command = match call.name {
            "power-cut" => Command::PowerCut(cut(&mut args)?),
            "power-restore" => Command::PowerRestore,
            "pending" => Command::Pending,
            // `strike` and `figures` are the names until 0.1.
            "trigger" | "strike" => Command::Trigger(trigger(&mut args)?),
            "inject" => {
                args.count("first", 0..=ALL.0 - 1)?;
                let (first, end) = range(&mut args)?;
                let affected = args.maybe("affects", "reads, writes or both", affected)?;
                let affected = affected.unwrap_or(AffectedOps::Reads);
                let left = args.maybe_count("times", 1..=u64::MAX)?;
                let blocks = BadBlocks {
                    first,
                    end,
                    affected,
                    retries: 0,
                };
                Command::Inject(InjectedFault { blocks, left })
            }
            "heal" => {
                let (first, end) = range(&mut args)?;
                Command::Heal { first, end }
            }
            "errors" => Command::Errors,
            "stats" | "figures" => Command::Statistics,
            other => return Err(InputError::new("command", other, COMMANDS)),
        };
        args.finish()?;
        Ok(Self {
            export: export.unwrap_or_default(),
            command,
        })
    }
}

fn cut(args: &mut Args<'_, ()>) -> Result<PowerCut, InputError> {
    let torn = args.maybe_yes("torn")?.unwrap_or(false);
    let worst = args.maybe_yes("worst")?.unwrap_or(false);
    let seed = args.maybe_count("seed", 0..=u64::MAX)?.unwrap_or(1);
    Ok(PowerCut { torn, worst, seed })
}

fn trigger(args: &mut Args<'_, ()>) -> Result<Trigger, InputError> {
    let before = args.maybe("before", TriggerEvent::BEFORE, TriggerEvent::parse_before)?;
    let after = args.maybe("after", TriggerEvent::AFTER, TriggerEvent::parse_after)?;
    let nth = args.maybe_count("nth", 1..=u64::MAX)?;
    let when = match (before, after) {
        (Some(when), None) | (None, Some(when)) => when,
        (before, _) => {
            let found = if before.is_some() { "both" } else { "neither" };
            return Err(InputError::new("trigger", found, "before or after"));
        }
    };
    let when = match nth {
        Some(nth) => when.with_nth(nth, "trigger.nth")?,
        None => when,
    };
    let cut = cut(args)?;
    Ok(Trigger { when, cut })
}

impl TriggerEvent {
    /// The "expected" part of the message about `after`.
    pub const AFTER: &str = "flush, write, or a time up to an hour, such as \"2.5s\"";

    /// The "expected" part of the message about `before`.
    pub const BEFORE: &str = "flush or write";

    /// Parses `before=`: the next request of a kind.
    pub fn parse_before(text: &str) -> Option<Self> {
        access(text).map(|access| Self::next(TriggerSide::Before, access))
    }

    /// Parses `after=`: the next request of a kind, or a time.
    pub fn parse_after(text: &str) -> Option<Self> {
        let request = access(text).map(|access| Self::next(TriggerSide::After, access));
        request.or_else(|| {
            let time = quantity::span(text).filter(|span| *span >= Span::ZERO);
            time.map(Self::Time)
        })
    }

    /// Sets the ordinal number of the request. Reports an error for `field` if the trigger is a
    /// time.
    pub fn with_nth(self, nth: u64, field: &str) -> Result<Self, InputError> {
        match self {
            Self::Request { side, access, .. } => Ok(Self::Request { side, access, nth }),
            Self::Time(_) => {
                let expected = "a request to count, not a time";
                Err(InputError::new(field, &nth.to_string(), expected))
            }
        }
    }

    const fn next(side: TriggerSide, access: Access) -> Self {
        let nth = 1;
        Self::Request { side, access, nth }
    }
}

fn access(text: &str) -> Option<Access> {
    match text {
        "flush" => Some(Access::Flush),
        "write" => Some(Access::Write),
        _ => None,
    }
}

fn range(args: &mut Args<'_, ()>) -> Result<(Lbn, Lbn), InputError> {
    let first = args.maybe_count("first", 0..=ALL.0 - 1)?.unwrap_or(0);
    let sectors = args.maybe_count("sectors", 1..=ALL.0)?;
    let end = sectors.map_or(ALL, |sectors| Lbn(first + sectors));
    Ok((Lbn(first), end))
}

fn affected(text: &str) -> Option<AffectedOps> {
    let mut all = AFFECTED.iter();
    let named = all.find(|(_, name)| *name == text);
    named.map(|(affected, _)| *affected)
}

impl fmt::Display for ExportCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut given = Vec::new();
        if !self.export.is_empty() {
            given.push(format!("export={}", self.export));
        }
        let range = |first: Lbn, end: Lbn| {
            let sectors = (end != ALL).then(|| format!("sectors={}", end.0 - first.0));
            [Some(format!("first={}", first.0)), sectors]
        };
        let name = match &self.command {
            Command::PowerCut(cut) => {
                given.extend(given_of(cut));
                "power-cut"
            }
            Command::PowerRestore => "power-restore",
            Command::Pending => "pending",
            Command::Trigger(trigger) => {
                match trigger.when {
                    TriggerEvent::Request { side, access, nth } => {
                        let side = match side {
                            TriggerSide::Before => "before",
                            TriggerSide::After => "after",
                        };
                        let access = match access {
                            Access::Flush => "flush",
                            _ => "write",
                        };
                        given.push(format!("{side}={access}"));
                        given.push(format!("nth={nth}"));
                    }
                    TriggerEvent::Time(span) => given.push(format!("after={}ns", span.as_ns())),
                }
                given.extend(given_of(&trigger.cut));
                "trigger"
            }
            Command::Inject(InjectedFault { blocks, left }) => {
                given.extend(range(blocks.first, blocks.end).into_iter().flatten());
                given.push(format!("affects={}", affected_name(blocks.affected)));
                given.extend(left.map(|left| format!("times={left}")));
                "inject"
            }
            Command::Heal { first, end } => {
                given.extend(range(*first, *end).into_iter().flatten());
                "heal"
            }
            Command::Errors => "errors",
            Command::Statistics => "stats",
        };
        if given.is_empty() {
            f.write_str(name)
        } else {
            write!(f, "{name}({})", given.join(", "))
        }
    }
}

fn given_of(cut: &PowerCut) -> Vec<String> {
    let yes = |is: bool, name: &str| is.then(|| format!("{name}=yes"));
    let given = [yes(cut.torn, "torn"), yes(cut.worst, "worst")];
    let seed = Some(format!("seed={}", cut.seed));
    given.into_iter().chain([seed]).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_round_trip_through_text() {
        for line in [
            "power-cut(export=db, torn=yes, worst=yes, seed=7)",
            "power-cut(seed=1)",
            "power-restore",
            "pending(export=db)",
            "trigger(before=write, nth=3, torn=yes, seed=1)",
            "trigger(after=flush, nth=1, worst=yes, seed=18446744073709551615)",
            "trigger(after=2500000000ns, torn=yes, seed=1)",
            "inject(first=8, sectors=2, affects=both)",
            "inject(first=0, affects=reads, times=3)",
            "errors",
            "heal(first=0)",
            "stats",
        ] {
            let named = ExportCommand::parse(line).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(named.to_string(), line);
        }
    }

    #[test]
    fn errors_name_the_invalid_argument() {
        let cases = [
            ("cut", "command: found \"cut\", expected one of power-cut"),
            ("trigger", "trigger: found \"neither\", expected before or"),
            (
                "trigger(before=read)",
                "trigger.before: found \"read\", expected flush or write",
            ),
            (
                "trigger(after=-1s)",
                "trigger.after: found \"-1s\", expected flush, write, or a time ",
            ),
            (
                "trigger(after=1s, nth=2)",
                "trigger.nth: found \"2\", expected a request to count, not a time",
            ),
            (
                "power-cut(torn=maybe)",
                "power-cut.torn: found \"maybe\", expected yes or no",
            ),
            (
                "inject(first=0, sectors=0)",
                "inject.sectors: found \"0\", expected a whole number from 1",
            ),
            (
                "inject(times=3)",
                "inject.first: found nothing, expected a whole number from 0",
            ),
            (
                "inject(first=0, times=0)",
                "inject.times: found \"0\", expected a whole number from 1",
            ),
        ];
        for (line, expected) in cases {
            let found = ExportCommand::parse(line).expect_err(line).to_string();
            assert!(found.starts_with(expected), "{found}");
        }
    }
}
