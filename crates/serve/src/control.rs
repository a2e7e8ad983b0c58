//! The commands that exports receive outside the storage protocol, and their text form, such as
//! `power-cut(export=db, torn=yes)`.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant as HostInstant;

use diskarm_core::text::{Args, Call, InputError, quantity};
use diskarm_core::units::{Lbn, Span};
use diskarm_core::wrap::{AffectedOps, BadBlocks};
use serde::Serialize;

use crate::export::Facts;
use crate::power::{
    AFFECTED, InjectedFault, Losses, PendingWrite, PowerCut, PowerSwitch, Trigger, TriggerEvent,
    TriggerStage, affected_name,
};
use crate::statistics::{Access, Statistics};

#[derive(Clone, Debug)]
pub enum Reply {
    Done,
    PowerCut(Losses),
    Pending(PendingReport),
    Errors(Vec<InjectedFault>),
    Statistics(Box<Statistics>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PendingReport {
    pub is_powered: bool,
    /// In order of arrival.
    pub pending: Vec<PendingWrite>,
    pub last_cut: Option<Losses>,
}

pub trait PowerControl {
    fn switch(&mut self) -> &mut PowerSwitch;

    fn facts(&self) -> &Facts;

    /// Returns true if the power can be cut: the device must report when data reach the media.
    fn can_lose_writes(&self) -> bool;

    fn pending_writes(&mut self, now: HostInstant) -> Vec<PendingWrite>;

    /// Reverts the writes that do not survive, drops all requests in progress without replying, and
    /// replaces the device with one that has just been switched on. Fails if the store fails;
    /// writes that should be lost may then survive.
    fn revert_writes(&mut self, cut: &PowerCut, now: HostInstant) -> io::Result<Losses>;

    fn statistics(&mut self) -> &mut Statistics;

    /// Cuts the power. Fails if the store fails; writes that should be lost may then survive.
    fn cut_power(&mut self, cut: &PowerCut, now: HostInstant) -> Result<Reply, String> {
        let losses = self.revert_writes(cut, now);
        let known = losses.as_ref().copied().unwrap_or_default();
        self.switch().record_cut(known);
        let store_error = |error| format!("I/O error in the store: {error}");
        losses.map(Reply::PowerCut).map_err(store_error)
    }

    /// Cuts the power if a cut is due. Returns true if the power is off, in which case all
    /// connections must close.
    fn cut_if_due(&mut self, now: HostInstant) -> bool {
        if let Some(cut) = self.switch().take_due(now) {
            // There is no client to report a failure to.
            let _ = self.cut_power(&cut, now);
        }
        !self.switch().is_on
    }

    /// Executes a command from the control socket; fails with a message for the client.
    fn execute_command(&mut self, command: &Command, now: HostInstant) -> Result<Reply, String> {
        let needs_power = matches!(
            command,
            Command::PowerCut(_) | Command::Pending | Command::Trigger(_)
        );
        if needs_power && !self.can_lose_writes() {
            return Err(format!(
                "{} does not report when data reach the media, so its power cannot be cut: use a \
                 single drive with nothing in front of it, not an array, a pair or a cache",
                self.facts().description
            ));
        }
        let is_on = self.switch().is_on;
        match command {
            Command::PowerCut(_) | Command::Trigger(_) if !is_on => {
                return Err("the power is off".to_owned());
            }
            Command::PowerCut(cut) => return self.cut_power(cut, now),
            Command::PowerRestore if is_on => return Err("the power is already on".to_owned()),
            Command::PowerRestore => self.switch().is_on = true,
            Command::Pending => {
                let pending = self.pending_writes(now);
                return Ok(Reply::Pending(PendingReport {
                    is_powered: is_on,
                    pending,
                    last_cut: self.switch().last_losses,
                }));
            }
            Command::Trigger(trigger) => self.switch().arm(*trigger, now),
            Command::Inject(injected) => {
                check_range(injected, self.facts())?;
                self.switch().faults.inject(*injected);
            }
            Command::Heal { first, end } => self.switch().faults.heal(*first, *end),
            Command::Errors => return Ok(Reply::Errors(self.switch().faults.list())),
            Command::Statistics => {
                return Ok(Reply::Statistics(Box::new(self.statistics().clone())));
            }
        }
        Ok(Reply::Done)
    }
}

fn check_range(injected: &InjectedFault, facts: &Facts) -> Result<(), String> {
    let (first, end) = (injected.blocks.first.0, injected.blocks.end);
    let sectors = facts.sectors.0;
    if first < sectors && (end == InjectedFault::ALL || end.0 <= sectors) {
        return Ok(());
    }
    let last = match end {
        InjectedFault::ALL => String::new(),
        end => format!(" to {}", end.0 - 1),
    };
    Err(format!(
        "inject: found sectors from {first}{last}, expected a range in the {sectors} sectors of {}",
        match facts.name.as_str() {
            "" => "the export",
            name => name,
        }
    ))
}

/// A handle with which any thread can send commands to an export.
#[derive(Clone)]
pub struct ExportHandle {
    pub(crate) name: String,
    send: Arc<dyn Fn(Command, Sender<Answer>) + Send + Sync>,
}

pub type Answer = Result<Reply, String>;

impl ExportHandle {
    /// Creates a handle to the export `name`; `send` forwards a command with a channel for the
    /// answer.
    pub fn new(
        name: String,
        send: impl Fn(Command, Sender<Answer>) + Send + Sync + 'static,
    ) -> Self {
        let send = Arc::new(send);
        Self { name, send }
    }

    pub(crate) fn ask(&self, command: Command) -> Answer {
        let (sender, answer) = channel();
        (self.send)(command, sender);
        let stopping = |_| Err("the server is stopping".to_owned());
        answer.recv().unwrap_or_else(stopping)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// `power-cut(torn=yes, worst=yes, seed=N)`
    PowerCut(PowerCut),
    /// `power-restore`: switches the power on again.
    PowerRestore,
    /// `pending`: lists writes that have not reached the media.
    Pending,
    /// `trigger(before=write, nth=N, ...)`, `trigger(after=flush, ...)` or `trigger(after=TIME,
    /// ...)`: cuts the power at that event. The other arguments are those of `power-cut`.
    Trigger(Trigger),
    /// `inject(first=N, sectors=N, affects=reads, times=N)`: injects bad blocks.
    Inject(InjectedFault),
    /// `heal(first=N, sectors=N)`: repairs injected bad blocks, all of them by default.
    Heal {
        first: Lbn,
        /// The exclusive end of the range.
        end: Lbn,
    },
    /// `errors`: lists the injected bad blocks and how many more times each will fail.
    Errors,
    /// `stats`: returns the statistics.
    Statistics,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportCommand {
    /// Empty for the unnamed export.
    pub export: String,
    pub command: Command,
}

const COMMANDS: &str =
    "one of power-cut, power-restore, pending, trigger, inject, heal, errors and stats";

const ALL: Lbn = InjectedFault::ALL;

impl ExportCommand {
    pub fn parse(line: &str) -> Result<Self, InputError> {
        let call = Call::read(line, "command")?;
        let mut args = Args::new(&call, ());
        let text = |value: &str| Some(value.to_owned());
        let export = args.maybe("export", "the name of an export", text)?;
        let command = match call.name {
            "power-cut" => Command::PowerCut(parse_cut(&mut args)?),
            "power-restore" => Command::PowerRestore,
            "pending" => Command::Pending,
            // Version 0.1 used the names `strike` and `figures`.
            "trigger" | "strike" => Command::Trigger(parse_trigger(&mut args)?),
            "inject" => {
                args.count("first", 0..=ALL.0 - 1)?;
                let (first, end) = parse_range(&mut args)?;
                let given = args.maybe("affects", "reads, writes or both", parse_affected)?;
                let affected = given.unwrap_or(AffectedOps::Reads);
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
                let (first, end) = parse_range(&mut args)?;
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

fn parse_cut(args: &mut Args<'_, ()>) -> Result<PowerCut, InputError> {
    let torn = args.maybe_yes("torn")?.unwrap_or(false);
    let worst = args.maybe_yes("worst")?.unwrap_or(false);
    let seed = args.maybe_count("seed", 0..=u64::MAX)?.unwrap_or(1);
    Ok(PowerCut { torn, worst, seed })
}

fn parse_trigger(args: &mut Args<'_, ()>) -> Result<Trigger, InputError> {
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
    let cut = parse_cut(args)?;
    Ok(Trigger { when, cut })
}

impl TriggerEvent {
    /// The "expected" part of the message about `after`.
    pub const AFTER: &str = "flush, write, or a time up to an hour, such as \"2.5s\"";

    /// The "expected" part of the message about `before`.
    pub const BEFORE: &str = "flush or write";

    /// Parses the value of `before`: a type of request.
    pub fn parse_before(text: &str) -> Option<Self> {
        parse_access(text).map(|access| Self::next(TriggerStage::Before, access))
    }

    /// Parses the value of `after`: a type of request or a time.
    pub fn parse_after(text: &str) -> Option<Self> {
        let request = parse_access(text).map(|access| Self::next(TriggerStage::After, access));
        request.or_else(|| {
            let time = quantity::span(text).filter(|span| *span >= Span::ZERO);
            time.map(Self::Time)
        })
    }

    /// Makes the trigger wait for the `nth` request of its type. Returns an error about `field` if
    /// the trigger waits for a time.
    pub fn with_nth(self, nth: u64, field: &str) -> Result<Self, InputError> {
        match self {
            Self::Request { stage, access, .. } => Ok(Self::Request { stage, access, nth }),
            Self::Time(_) => {
                let expected = "nothing, because the trigger waits for a time";
                Err(InputError::new(field, &nth.to_string(), expected))
            }
        }
    }

    const fn next(stage: TriggerStage, access: Access) -> Self {
        let nth = 1;
        Self::Request { stage, access, nth }
    }
}

fn parse_access(text: &str) -> Option<Access> {
    match text {
        "flush" => Some(Access::Flush),
        "write" => Some(Access::Write),
        _ => None,
    }
}

fn parse_range(args: &mut Args<'_, ()>) -> Result<(Lbn, Lbn), InputError> {
    let first = args.maybe_count("first", 0..=ALL.0 - 1)?.unwrap_or(0);
    let sectors = args.maybe_count("sectors", 1..=ALL.0)?;
    let end = sectors.map_or(ALL, |sectors| Lbn(first + sectors));
    Ok((Lbn(first), end))
}

fn parse_affected(text: &str) -> Option<AffectedOps> {
    let mut all = AFFECTED.iter();
    let named = all.find(|(_, name)| *name == text);
    named.map(|(affected, _)| *affected)
}

impl fmt::Display for ExportCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Vec::new();
        if !self.export.is_empty() {
            arguments.push(format!("export={}", self.export));
        }
        let range = |first: Lbn, end: Lbn| {
            let sectors = (end != ALL).then(|| format!("sectors={}", end.0 - first.0));
            [Some(format!("first={}", first.0)), sectors]
        };
        let name = match &self.command {
            Command::PowerCut(cut) => {
                arguments.extend(cut_arguments(cut));
                "power-cut"
            }
            Command::PowerRestore => "power-restore",
            Command::Pending => "pending",
            Command::Trigger(trigger) => {
                match trigger.when {
                    TriggerEvent::Request { stage, access, nth } => {
                        let stage = match stage {
                            TriggerStage::Before => "before",
                            TriggerStage::After => "after",
                        };
                        let access = match access {
                            Access::Flush => "flush",
                            _ => "write",
                        };
                        arguments.push(format!("{stage}={access}"));
                        arguments.push(format!("nth={nth}"));
                    }
                    TriggerEvent::Time(span) => arguments.push(format!("after={}ns", span.as_ns())),
                }
                arguments.extend(cut_arguments(&trigger.cut));
                "trigger"
            }
            Command::Inject(InjectedFault { blocks, left }) => {
                arguments.extend(range(blocks.first, blocks.end).into_iter().flatten());
                arguments.push(format!("affects={}", affected_name(blocks.affected)));
                arguments.extend(left.map(|left| format!("times={left}")));
                "inject"
            }
            Command::Heal { first, end } => {
                arguments.extend(range(*first, *end).into_iter().flatten());
                "heal"
            }
            Command::Errors => "errors",
            Command::Statistics => "stats",
        };
        if arguments.is_empty() {
            f.write_str(name)
        } else {
            write!(f, "{name}({})", arguments.join(", "))
        }
    }
}

fn cut_arguments(cut: &PowerCut) -> Vec<String> {
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
            let parsed = ExportCommand::parse(line).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(parsed.to_string(), line);
        }
    }

    #[test]
    fn errors_name_the_invalid_argument() {
        let cases = r#"
        cut => command: found "cut", expected one of power-cut
        trigger => trigger: found "neither", expected before or
        trigger(before=read) => trigger.before: found "read", expected flush or write
        trigger(after=-1s) => trigger.after: found "-1s", expected flush, write, or a time up
        trigger(after=1s, nth=2) => trigger.nth: found "2", expected nothing, because the trigger
        power-cut(torn=maybe) => power-cut.torn: found "maybe", expected yes or no
        inject(first=0, sectors=0) => inject.sectors: found "0", expected a whole number from 1
        inject(times=3) => inject.first: found nothing, expected a whole number from 0
        inject(first=0, times=0) => inject.times: found "0", expected a whole number from 1
        "#;
        for case in cases.trim().lines() {
            let (line, expected) = case.trim().split_once(" => ").expect("a case");
            let found = ExportCommand::parse(line).expect_err(line).to_string();
            assert!(found.starts_with(expected), "{found}");
        }
    }
}
