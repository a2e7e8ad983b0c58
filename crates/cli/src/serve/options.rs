//! What `diskarm serve` needs to know whatever the protocol.

use std::io::{self, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::exit;
use std::thread;

use diskarm_core::units::Span;
use diskarm_results::prose;
use diskarm_serve::store::StoreChoice;
use diskarm_serve::{
    Address, CONNECTIONS, Export, ExportFigures, Listener, POLICY, Pace, Protocol, Server, Setting,
    Speed, Stopper, Tapped,
};
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::control;
use super::live::{self, Exports, Live};
use super::record;
use crate::drive_arg::{self, Changes};
use crate::error::Error;
use crate::output;
use crate::simulate::args::whole;
use crate::trace::formats;

/// The options of every protocol.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("exports").required(true).multiple(true)
    .args(["drive", "export"])))]
pub struct Options {
    /// Drive: a name from the catalogue, or a .toml file
    #[arg(long, value_name = "NAME|FILE", long_help = drive_arg::tower_help())]
    drive: Option<String>,

    #[command(flatten)]
    changes: Changes,

    /// Scheduling policy of the queue in front of the drive; `diskarm policies` lists them
    #[arg(long, default_value = POLICY)]
    policy: String,

    /// Size of the export, in sectors, B, KiB, MiB or GiB [default: that of the file, or of the
    /// drive]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    size: Option<String>,

    /// Where the data are: memory, file:PATH or snapshot:PATH
    #[arg(long, value_name = "STORE", default_value = "memory", value_parser = store)]
    #[arg(long_help = prose::flowing(STORE))]
    store: StoreChoice,

    /// Refuse writes
    #[arg(long)]
    read_only: bool,

    /// Record what clients do, with the drive's answers, as a trace
    #[arg(
        long,
        value_name = "FILE",
        requires = "drive",
        conflicts_with = "instant"
    )]
    #[arg(long_help = prose::flowing(RECORD))]
    record: Option<String>,

    /// Format of recorded traces
    #[arg(long, value_name = "FORMAT", default_value = "msr", value_parser = formats())]
    record_format: String,

    /// Serve another drive under a name: 'NAME(drive=..., policy=..., size=..., store=...,
    /// read-only=yes, record=FILE, max-lateness=TIME)'; may be repeated
    #[arg(long, value_name = "EXPORT")]
    export: Vec<String>,

    /// Allow this many connections at once
    #[arg(long, value_name = "N", default_value_t = CONNECTIONS)]
    #[arg(allow_negative_numbers = true, value_parser = whole::<usize>(1..=1000))]
    connections: usize,

    /// Let the drive's time run faster, or slower: 10 is ten times as fast
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = speed)]
    #[arg(allow_negative_numbers = true, conflicts_with = "instant")]
    speed: Speed,

    /// Answer every request at once
    #[arg(long, alias = "no-time")]
    instant: bool,

    /// Watch the clock as long as requests are under way, which takes a processor; otherwise it is
    /// for 200 us before each reply
    #[arg(long, conflicts_with = "instant")]
    spin: bool,

    /// How late one reply in a hundred may be before the host is too slow, where an export does
    /// not say
    #[arg(long, alias = "bound", value_name = "TIME", default_value = "100us")]
    #[arg(value_parser = time, allow_hyphen_values = true, conflicts_with = "instant")]
    max_lateness: Span,

    /// Seed of random faults and errors of the drive
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(allow_negative_numbers = true, value_parser = whole::<u64>(0..=u64::MAX))]
    seed: u64,

    /// Print what has been served, and how late, on standard error every ten seconds; on a
    /// terminal, show it on a screen, if this program was built with `dashboard`
    #[arg(long)]
    watch: bool,

    /// Answer GET /metrics with what has been served, as OpenMetrics, at this address
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    metrics: Option<Address>,

    /// Take commands at a Unix socket, from `diskarm serve ctl`: power cuts, errors, figures
    ///
    /// For power cuts the server keeps in memory what sectors held before writes that can be lost.
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,

    /// Print what was served as JSON: one object; names end in their unit
    #[arg(long)]
    json: bool,
}

const STORE: &str = "Where the data are.

memory: gone when the server ends. Only what has been written takes up memory.

file:PATH: a file, which is made if there is none. What was written before a flush that completed, \
or with force unit access, survives the end of the server, whatever ends it.

snapshot:PATH: a file that is never written; what is written stays in memory.";

const RECORD: &str = "Record what clients do, with the drive's answers, as a trace.

`diskarm simulate --trace FILE` with the same drive and policy replays it at the recorded times, \
and gives the response times that were served. The file is complete when the server has ended; it \
replaces an earlier one, unless it has no requests. \
Times are those of the drive, from its first request on. Traces have reads and writes that \
succeeded. What else there was is counted at the end: a flush among other requests delays them, \
which a replay does not know.";

fn store(text: &str) -> Result<StoreChoice, String> {
    StoreChoice::parse(text).ok_or_else(|| format!("expected {}", StoreChoice::EXPECTED))
}

fn address(text: &str) -> Result<Address, &'static str> {
    Address::parse(text).ok_or("expected HOST:PORT")
}

fn speed(text: &str) -> Result<Speed, &'static str> {
    let speed = text.parse().ok().and_then(Speed::new);
    speed.ok_or("expected a number from 0.001 to 1000")
}

fn time(text: &str) -> Result<Span, String> {
    Pace::parse_bound(text).ok_or_else(|| format!("expected {}", Pace::BOUND))
}

/// What was served.
#[derive(Serialize)]
struct Served {
    exports: Vec<ExportFigures>,
}

impl Options {
    /// How the time of all exports passes.
    fn pace(&self) -> Pace {
        Pace {
            speed: (!self.instant).then_some(self.speed),
            spins: self.spin,
            bound: self.max_lateness,
        }
    }

    /// The exports, that of `--drive` first.
    pub fn settings(&self) -> Result<Vec<Setting>, Error> {
        let changes = self.changes.edits().map_err(Error::Input)?;
        if let (Some(change), None) = (changes.first(), &self.drive) {
            let expected = "--drive, whose specification it changes";
            return Err(Error::flag("--set", change.to_string(), expected));
        }
        let first = self.drive.as_ref().map(|drive| Setting {
            name: String::new(),
            drive: drive.clone(),
            changes,
            policy: self.policy.clone(),
            size: self.size.clone(),
            store: self.store.clone(),
            is_read_only: self.read_only,
            record: self.record.clone(),
            bound: None,
        });
        let mut settings: Vec<Setting> = first.into_iter().collect();
        for text in &self.export {
            let setting = Setting::parse(text, "--export");
            let setting = setting.map_err(|error| error.in_argument("--export"))?;
            if settings.iter().any(|other| other.name == setting.name) {
                let expected = "a name of its own for each export";
                return Err(Error::flag("--export", setting.name, expected));
            }
            settings.push(setting);
        }
        Ok(settings)
    }

    /// Serves what `build` makes of `settings` until a signal comes. `uri` tells where each is.
    pub fn serve<P: Protocol<Device: Tapped + 'static>>(
        &self,
        protocol: P,
        settings: &[Setting],
        build: impl Fn(&Setting, Pace, u64) -> Result<Export<P::Device>, diskarm_simulate::Error>,
        listen: impl FnOnce() -> Result<Vec<Listener>, Error>,
        uri: impl Fn(&Listener, &Setting) -> String,
    ) -> Result<(), Error> {
        let pace = self.pace();
        let mut files = record::inputs(settings)?;
        let (mut exports, mut recordings) = (Vec::new(), Vec::new());
        for setting in settings {
            let export = build(setting, pace, self.seed)?;
            let begun = record::begin(setting, export, &self.record_format, &mut files)?;
            exports.push(begun.0);
            recordings.push(begun.1);
        }
        let control = self.control.as_deref();
        let control = control.map(control::socket).transpose()?;
        let sizes = exports.iter().map(|export| export.facts.bytes()).collect();
        let drives: Vec<String> = exports
            .iter()
            .map(|export| export.facts.description.clone())
            .collect();
        let what = Exports {
            settings: settings.to_vec(),
            sizes,
            pace,
        };
        let listeners = listen()?;
        let metrics = self
            .metrics
            .as_ref()
            .map(live::metrics_socket)
            .transpose()?;
        let mut lines: Vec<String> = settings
            .iter()
            .zip(&drives)
            .flat_map(|(setting, drive)| {
                let uris = listeners.iter().map(|listener| uri(listener, setting));
                uris.map(move |uri| format!("serving {drive} at {uri}"))
            })
            .collect();
        if let Some(address) = metrics.as_ref().and_then(|socket| socket.local_addr().ok()) {
            lines.push(format!("metrics at http://{address}/metrics"));
        }
        let signals = Signals::new([SIGTERM, SIGINT]).map_err(failed)?;
        let max = self.connections;
        let server = match &control {
            None => Server::start(protocol, exports, listeners, max),
            Some(_) => Server::start_controlled(protocol, exports, listeners, max),
        };
        let server = server.map_err(failed)?;
        if let Some(socket) = control {
            control::start(&server, socket, &what).map_err(failed)?;
        }
        let stopper = server.stopper().map_err(failed)?;
        end_by(signals, stopper, self.watch && live::has_screen());
        for line in lines {
            // A server whose words nobody reads serves all the same.
            let _ = writeln!(io::stderr(), "{line}");
        }
        let served = self.wait(server, &what, metrics).map_err(failed)?;
        if let Some(path) = &self.control {
            let _ = std::fs::remove_file(path);
        }
        let mut exports = what.figures(&served);
        let ended = record::finish(recordings, &mut exports);
        if self.json {
            output::print_json(&Served { exports })?;
        } else {
            output::print(&exports.iter().map(ExportFigures::text).collect::<String>())?;
        }
        ended
    }

    /// Waits for the end of a server, and lets others know meanwhile what it does.
    fn wait(
        &self,
        server: Server,
        what: &Exports,
        metrics: Option<TcpListener>,
    ) -> io::Result<Vec<diskarm_serve::Served>> {
        let live = Live {
            exports: what.clone(),
            watcher: server.watcher(),
        };
        if let Some(socket) = metrics {
            live.clone().serve_metrics(socket)?;
        }
        let shown = match self.watch {
            true => Some(live.show(server.stopper()?)?),
            false => None,
        };
        let served = server.wait();
        if let Some(shown) = shown {
            shown.end();
        }
        Ok(served)
    }
}

/// Lets the first signal stop a server, and the second end the program, which may have a screen.
fn end_by(mut signals: Signals, stopper: Stopper, has_screen: bool) {
    thread::spawn(move || {
        for (count, signal) in signals.forever().enumerate() {
            if count > 0 {
                if has_screen {
                    live::give_back_screen();
                }
                exit(128 + signal);
            }
            stopper.stop();
        }
    });
}

/// The sockets that systemd passes and those at `given` addresses, or the one at `standard` if
/// there is none. Where others than this machine may not reach them, `private` is what is expected
/// of an address.
pub fn listeners(
    given: &[Address],
    standard: &str,
    private: Option<&'static str>,
) -> Result<Vec<Listener>, Error> {
    let mut listeners = Listener::activated().map_err(failed)?;
    // As they were written, before a port is chosen for one.
    let written = given.iter().filter(|address| address.is_public());
    let written = written.map(Address::to_string);
    let bound = listeners.iter().filter(|listener| listener.is_public());
    let bound = bound.filter_map(|listener| Some(listener.tcp_address()?.to_string()));
    if let (Some(expected), Some(public)) = (private, written.chain(bound).next()) {
        return Err(Error::flag("--listen", public, expected));
    }
    let standard = Address::parse(standard);
    let addresses = match (given, listeners.is_empty()) {
        ([], true) => standard.as_slice(),
        (given, _) => given,
    };
    for address in addresses {
        let listener = Listener::bind(address);
        listeners.push(listener.map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => {
                let expected = "an address on which no program listens yet";
                Error::flag("--listen", address.to_string(), expected)
            }
            _ => Error::Io {
                doing: "listen",
                path: address.to_string(),
                source,
            },
        })?);
    }
    Ok(listeners)
}

/// Something of the operating system failed that is not about a file.
fn failed(source: io::Error) -> Error {
    Error::Io {
        doing: "serve",
        path: "the server".to_owned(),
        source,
    }
}
