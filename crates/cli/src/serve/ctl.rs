//! `diskarm serve ctl`: sends commands to a running server.

use std::path::PathBuf;

use diskarm_core::units::Lbn;
use diskarm_core::wrap::{AffectedOps, BadBlocks};
use diskarm_serve::control::{Command, ExportCommand};
use diskarm_serve::control_socket;
use diskarm_serve::power::{InjectedFault, PowerCut, Trigger, TriggerEvent};
use serde_json::Value;

use crate::args::integer;
use crate::error::Error;
use crate::output;

/// Cut the power of a served disk, or fail requests to it
///
/// The server must run with `--control SOCKET`. Each command prints a line of JSON.
#[derive(clap::Args)]
pub struct Args {
    /// The server's control socket
    #[arg(value_name = "SOCKET")]
    socket: PathBuf,

    /// The export [default: that of --drive]
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true,
        global = true
    )]
    export: String,

    #[command(subcommand)]
    command: ServerCommand,
}

#[derive(clap::Subcommand)]
enum ServerCommand {
    /// Cut the power, which loses the data that are only in the drive's write cache
    ///
    /// Only writes that are completely on the media survive. All connections are closed.
    PowerCut(CutArgs),
    /// Switch the power on again, with the data that survived
    PowerRestore,
    /// List the writes that are not on the media
    Pending,
    /// Cut the power at a future flush or write, or after a time
    #[command(alias = "strike")]
    Trigger(TriggerArgs),
    /// Fail requests to a range of sectors
    Inject(InjectArgs),
    /// Stop failing requests to a range of sectors
    Heal(RangeArgs),
    /// List the failing sectors, with the number of requests that will still fail
    Errors,
    /// Print request counts and reply lateness
    #[command(alias = "figures")]
    Stats,
}

#[derive(clap::Args)]
struct CutArgs {
    /// Keep the sectors of the write in progress that have reached the media
    ///
    /// With --worst, or if the server runs with --instant, the seed chooses a part of the oldest
    /// write that is not on the media.
    #[arg(long)]
    torn: bool,

    /// Let the seed choose which writes survive, among those without FUA and not yet flushed
    #[arg(long)]
    worst: bool,

    /// Seed for the choices of --torn and --worst
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(allow_negative_numbers = true, value_parser = integer::<u64>(0..=u64::MAX))]
    seed: u64,
}

#[derive(clap::Args)]
struct TriggerArgs {
    /// Cut the power when a request of this kind (flush or write) arrives, before the drive gets it
    #[arg(long, value_name = "REQUEST", value_parser = before, allow_hyphen_values = true)]
    before: Option<TriggerEvent>,

    /// Cut the power after the reply to a request (flush or write), or after a time, such as 2.5s
    #[arg(long, value_name = "REQUEST|TIME", value_parser = after)]
    #[arg(allow_hyphen_values = true)]
    after: Option<TriggerEvent>,

    /// Cut the power at the N-th such request from now [default: 1]
    #[arg(long, value_name = "N")]
    #[arg(allow_negative_numbers = true, value_parser = integer::<u64>(1..=u64::MAX))]
    nth: Option<u64>,

    #[command(flatten)]
    cut: CutArgs,
}

#[derive(clap::Args)]
struct RangeArgs {
    /// The first sector [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = integer::<u64>(0..=InjectedFault::ALL.0 - 1))]
    first: Option<u64>,

    /// The number of sectors [default: all that follow]
    #[arg(long, value_name = "N")]
    #[arg(allow_negative_numbers = true, value_parser = integer::<u64>(1..=InjectedFault::ALL.0))]
    sectors: Option<u64>,
}

#[derive(clap::Args)]
#[command(mut_arg("first", |arg| arg.required(true).help("The first sector")))]
struct InjectArgs {
    #[command(flatten)]
    range: RangeArgs,

    /// The requests that fail
    #[arg(long, value_name = "REQUESTS", default_value = "reads")]
    affects: Affects,

    /// The number of requests that fail before a retry succeeds [default: all, until `heal`]
    #[arg(long, value_name = "N")]
    #[arg(allow_negative_numbers = true, value_parser = integer::<u64>(1..=u64::MAX))]
    times: Option<u64>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Affects {
    Reads,
    Writes,
    Both,
}

impl CutArgs {
    fn cut(&self) -> PowerCut {
        PowerCut {
            torn: self.torn,
            worst: self.worst,
            seed: self.seed,
        }
    }
}

fn before(text: &str) -> Result<TriggerEvent, String> {
    TriggerEvent::parse_before(text).ok_or_else(|| format!("expected {}", TriggerEvent::BEFORE))
}

fn after(text: &str) -> Result<TriggerEvent, String> {
    TriggerEvent::parse_after(text).ok_or_else(|| format!("expected {}", TriggerEvent::AFTER))
}

impl TriggerArgs {
    fn trigger(&self) -> Result<Trigger, Error> {
        let Some(when) = self.before.or(self.after) else {
            unreachable!("`rules` requires `--before` or `--after`");
        };
        let when = match self.nth {
            Some(nth) => when.with_nth(nth, "--nth")?,
            None => when,
        };
        let cut = self.cut.cut();
        Ok(Trigger { when, cut })
    }
}

impl RangeArgs {
    fn first(&self) -> Lbn {
        Lbn(self.first.unwrap_or(0))
    }

    fn end(&self) -> Lbn {
        self.sectors
            .map_or(InjectedFault::ALL, |sectors| Lbn(self.first().0 + sectors))
    }
}

impl ServerCommand {
    fn command(&self) -> Result<Command, Error> {
        Ok(match self {
            Self::PowerCut(args) => Command::PowerCut(args.cut()),
            Self::PowerRestore => Command::PowerRestore,
            Self::Pending => Command::Pending,
            Self::Trigger(args) => Command::Trigger(args.trigger()?),
            Self::Inject(args) => Command::Inject(InjectedFault {
                blocks: BadBlocks {
                    first: args.range.first(),
                    end: args.range.end(),
                    affected: match args.affects {
                        Affects::Reads => AffectedOps::Reads,
                        Affects::Writes => AffectedOps::Writes,
                        Affects::Both => AffectedOps::Both,
                    },
                    retries: 0,
                },
                left: args.times,
            }),
            Self::Heal(range) => Command::Heal {
                first: range.first(),
                end: range.end(),
            },
            Self::Errors => Command::Errors,
            Self::Stats => Command::Statistics,
        })
    }
}

pub fn run(args: Args) -> Result<(), Error> {
    let command = ExportCommand {
        export: args.export,
        command: args.command.command()?,
    };
    let answer = control_socket::ask(&args.socket, &command);
    let answer = answer.map_err(Error::io("ask", args.socket.display()))?;
    let parsed: Option<Value> = serde_json::from_str(&answer).ok();
    let refused = parsed.as_ref().and_then(|answer| answer.get("error"));
    if let Some(error) = refused.and_then(Value::as_str) {
        return Err(Error::Failed(error.to_owned()));
    }
    output::print(&format!("{answer}\n"))
}
