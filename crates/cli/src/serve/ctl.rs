//! `diskarm serve ctl`: commands to a server that runs.

use std::path::PathBuf;

use diskarm_core::units::Lbn;
use diskarm_core::wrap::{Affected, BadBlocks};
use diskarm_serve::Access;
use diskarm_serve::control::{self, Command, Named};
use diskarm_serve::power::{Cut, Side, Strike, When};
use serde_json::Value;

use crate::error::Error;
use crate::output;
use crate::simulate::args::whole;

/// Cut the power of a served disk, or let its blocks fail
///
/// The server has to run with `--control SOCKET`. Each command prints a line of JSON.
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
        hide_default_value = true
    )]
    export: String,

    #[command(subcommand)]
    command: Asked,
}

#[derive(clap::Subcommand)]
enum Asked {
    /// Cut the power: what is only in the drive's write cache is lost
    ///
    /// Every write survives that is on the media as a whole, and no other. Connections end.
    PowerCut(CutArgs),
    /// Switch the power on again: the disk has what survived
    PowerRestore,
    /// List the writes that are not on the media
    Pending,
    /// Cut the power at a flush or a write to come, or after a time
    Strike(StrikeArgs),
    /// Let requests fail that touch some sectors
    Inject(InjectArgs),
    /// Let requests fail no more that touch some sectors
    Heal(RangeArgs),
    /// Print what has been served
    Figures,
}

#[derive(clap::Args)]
struct CutArgs {
    /// Keep the sectors of the write in progress that are on the media
    ///
    /// With --worst, and where requests take no time, it is a part that the seed chooses, of the
    /// oldest write that is not on the media.
    #[arg(long)]
    torn: bool,

    /// Let the seed choose which writes survive that no flush and no FUA has made safe
    #[arg(long)]
    worst: bool,

    /// Seed of what --torn and --worst choose
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(allow_negative_numbers = true, value_parser = whole::<u64>(0..=u64::MAX))]
    seed: u64,
}

#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("side").required(true).args(["before", "after"])))]
struct StrikeArgs {
    /// When the request has arrived: the drive does not get it
    #[arg(long, value_name = "REQUEST")]
    before: Option<Request>,

    /// When the request (flush or write) has been answered, or after a time, such as 2.5s
    #[arg(long, value_name = "REQUEST|TIME", value_parser = after)]
    #[arg(allow_hyphen_values = true)]
    after: Option<When>,

    /// At which flush or write from now on [default: 1]
    #[arg(long, value_name = "N")]
    #[arg(allow_negative_numbers = true, value_parser = whole::<u64>(1..=u64::MAX))]
    nth: Option<u64>,

    #[command(flatten)]
    cut: CutArgs,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Request {
    Flush,
    Write,
}

#[derive(clap::Args)]
struct RangeArgs {
    /// The first sector
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(allow_negative_numbers = true, value_parser = whole::<u64>(0..=Command::ALL.0 - 1))]
    first: u64,

    /// How many sectors [default: all that follow]
    #[arg(long, value_name = "N")]
    #[arg(allow_negative_numbers = true, value_parser = whole::<u64>(1..=Command::ALL.0))]
    sectors: Option<u64>,
}

#[derive(clap::Args)]
struct InjectArgs {
    #[command(flatten)]
    range: RangeArgs,

    /// Which requests fail
    #[arg(long, value_name = "REQUESTS", default_value = "reads")]
    affects: Affects,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Affects {
    Reads,
    Writes,
    Both,
}

impl CutArgs {
    fn cut(&self) -> Cut {
        Cut {
            torn: self.torn,
            worst: self.worst,
            seed: self.seed,
        }
    }
}

fn after(text: &str) -> Result<When, String> {
    When::parse_after(text).ok_or_else(|| format!("expected {}", When::AFTER))
}

impl StrikeArgs {
    fn strike(&self) -> Result<Strike, Error> {
        let before = self.before.map(|request| When::Request {
            side: Side::Before,
            access: match request {
                Request::Flush => Access::Flush,
                Request::Write => Access::Write,
            },
            nth: 1,
        });
        let Some(mut when) = before.or(self.after) else {
            unreachable!("one of them is required");
        };
        if let Some(found) = self.nth {
            let When::Request { nth, .. } = &mut when else {
                return Err(Error::flag("--nth", found.to_string(), "none after a time"));
            };
            *nth = found;
        }
        let cut = self.cut.cut();
        Ok(Strike { when, cut })
    }
}

impl RangeArgs {
    /// One past the last sector.
    fn end(&self) -> Lbn {
        self.sectors
            .map_or(Command::ALL, |sectors| Lbn(self.first + sectors))
    }
}

impl Asked {
    fn command(&self) -> Result<Command, Error> {
        Ok(match self {
            Self::PowerCut(args) => Command::PowerCut(args.cut()),
            Self::PowerRestore => Command::PowerRestore,
            Self::Pending => Command::Pending,
            Self::Strike(args) => Command::Strike(args.strike()?),
            Self::Inject(args) => Command::Inject(BadBlocks {
                first: Lbn(args.range.first),
                end: args.range.end(),
                affected: match args.affects {
                    Affects::Reads => Affected::Reads,
                    Affects::Writes => Affected::Writes,
                    Affects::Both => Affected::Both,
                },
                retries: 0,
            }),
            Self::Heal(range) => Command::Heal {
                first: Lbn(range.first),
                end: range.end(),
            },
            Self::Figures => Command::Figures,
        })
    }
}

/// Sends the command, and prints the answer.
pub fn run(args: Args) -> Result<(), Error> {
    let named = Named {
        export: args.export,
        command: args.command.command()?,
    };
    let answer = control::ask(&args.socket, &named).map_err(|source| Error::Io {
        doing: "ask",
        path: args.socket.display().to_string(),
        source,
    })?;
    let parsed: Option<Value> = serde_json::from_str(&answer).ok();
    let refused = parsed.as_ref().and_then(|answer| answer.get("error"));
    if let Some(error) = refused.and_then(Value::as_str) {
        return Err(Error::Drive(error.to_owned()));
    }
    output::print(&format!("{answer}\n"))
}
