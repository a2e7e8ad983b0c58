//! What `diskarm serve` needs to know whatever the protocol.

use std::io::{self, Write};
use std::process::exit;
use std::thread;

use diskarm_core::text::quantity;
use diskarm_core::units::Span;
use diskarm_results::prose;
use diskarm_serve::store::StoreChoice;
use diskarm_serve::{
    Address, CONNECTIONS, Export, ExportFigures, Listener, POLICY, Pace, Protocol, Server, Setting,
    Speed,
};
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::drive_arg;
use crate::error::Error;
use crate::output;
use crate::simulate::args::whole;

/// The options of every protocol.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("exports").required(true).multiple(true)
    .args(["drive", "export"])))]
pub struct Options {
    /// Drive: a name from the catalogue, or a .toml file
    #[arg(long, value_name = "NAME|FILE", long_help = drive_arg::tower_help())]
    drive: Option<String>,

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

    /// Serve another drive under a name: 'NAME(drive=..., policy=..., size=..., store=...,
    /// read-only=yes)'; may be repeated
    #[arg(long, value_name = "EXPORT")]
    export: Vec<String>,

    /// Allow this many connections at once
    #[arg(long, value_name = "N", default_value_t = CONNECTIONS)]
    #[arg(allow_negative_numbers = true, value_parser = whole::<usize>(1..=1000))]
    connections: usize,

    /// Let the drive's time run faster, or slower: 10 is ten times as fast
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = speed)]
    #[arg(allow_negative_numbers = true, conflicts_with = "no_time")]
    speed: Speed,

    /// Answer every request at once
    #[arg(long)]
    no_time: bool,

    /// Watch the clock as long as requests are under way, which takes a processor; otherwise it is
    /// for 200 us before each reply
    #[arg(long, conflicts_with = "no_time")]
    spin: bool,

    /// How late one reply in a hundred may be before the host is too slow
    #[arg(long, value_name = "TIME", default_value = "100us", value_parser = time)]
    #[arg(allow_hyphen_values = true, conflicts_with = "no_time")]
    bound: Span,

    /// Seed of random faults and errors of the drive
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(allow_negative_numbers = true, value_parser = whole::<u64>(0..=u64::MAX))]
    seed: u64,

    /// Print what was served as JSON: one object; names end in their unit
    #[arg(long)]
    json: bool,
}

const STORE: &str = "Where the data are.

memory: gone when the server ends. Only what has been written takes up memory.
file:PATH: a file, which is made if there is none. What was written before a flush that completed, \
or with force unit access, survives the end of the server, whatever ends it.
snapshot:PATH: a file that is never written; what is written stays in memory.";

fn store(text: &str) -> Result<StoreChoice, String> {
    StoreChoice::parse(text).ok_or_else(|| format!("expected {}", StoreChoice::EXPECTED))
}

fn speed(text: &str) -> Result<Speed, &'static str> {
    let speed = text.parse().ok().and_then(Speed::new);
    speed.ok_or("expected a number from 0.001 to 1000")
}

fn time(text: &str) -> Result<Span, &'static str> {
    let span = quantity::span(text).filter(|span| *span > Span::ZERO);
    span.ok_or("expected a time above 0, up to an hour, with its unit, such as \"100 us\"")
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
            speed: (!self.no_time).then_some(self.speed),
            spins: self.spin,
            bound: self.bound,
        }
    }

    /// The exports, that of `--drive` first.
    pub fn settings(&self) -> Result<Vec<Setting>, Error> {
        let first = self.drive.as_ref().map(|drive| Setting {
            name: String::new(),
            drive: drive.clone(),
            policy: self.policy.clone(),
            size: self.size.clone(),
            store: self.store.clone(),
            is_read_only: self.read_only,
        });
        let mut settings: Vec<Setting> = first.into_iter().collect();
        for text in &self.export {
            let setting = Setting::parse(text, "--export").map_err(Error::Input)?;
            if settings.iter().any(|other| other.name == setting.name) {
                let expected = "a name of its own for each export";
                return Err(Error::flag("--export", setting.name, expected));
            }
            settings.push(setting);
        }
        Ok(settings)
    }

    /// Serves what `build` makes of `settings` until a signal comes. `uris` tell where each is.
    pub fn serve<P: Protocol>(
        &self,
        protocol: P,
        settings: &[Setting],
        build: impl Fn(&Setting, Pace, u64) -> Result<Export<P::Device>, diskarm_simulate::Error>,
        listen: impl FnOnce() -> Result<Vec<Listener>, Error>,
        uri: impl Fn(&Listener, &Setting) -> String,
    ) -> Result<(), Error> {
        let pace = self.pace();
        let exports = settings
            .iter()
            .map(|setting| build(setting, pace, self.seed));
        let exports: Vec<_> = exports.collect::<Result<_, _>>()?;
        let sizes: Vec<_> = exports.iter().map(|export| export.facts.bytes()).collect();
        let listeners = listen()?;
        let lines: Vec<String> = settings
            .iter()
            .flat_map(|setting| {
                let uris = listeners.iter().map(|listener| uri(listener, setting));
                uris.map(|uri| format!("serving {} at {uri}", setting.drive))
            })
            .collect();
        let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(failed)?;
        let server = Server::start(protocol, exports, listeners, self.connections);
        let server = server.map_err(failed)?;
        let stopper = server.stopper().map_err(failed)?;
        thread::spawn(move || {
            for (count, signal) in signals.forever().enumerate() {
                if count > 0 {
                    exit(128 + signal);
                }
                stopper.stop();
            }
        });
        for line in lines {
            // A server whose words nobody reads serves all the same.
            let _ = writeln!(io::stderr(), "{line}");
        }
        let served = server.wait();
        let figures = settings.iter().zip(sizes).zip(&served);
        let exports: Vec<ExportFigures> = figures
            .map(|((setting, bytes), served)| setting.figures(pace, bytes, served))
            .collect();
        if self.json {
            return output::print_json(&Served { exports });
        }
        let lines = exports.iter().map(|figures| figures.line() + "\n");
        output::print(&lines.collect::<String>())
    }
}

/// The sockets that systemd passes and those at `given` addresses, or the one at `standard` if
/// there is none.
pub fn listeners(given: &[Address], standard: &str) -> Result<Vec<Listener>, Error> {
    let mut listeners = Listener::activated().map_err(failed)?;
    let standard = Address::parse(standard);
    let addresses = match (given, listeners.is_empty()) {
        ([], true) => standard.as_slice(),
        (given, _) => given,
    };
    for address in addresses {
        let listener = Listener::bind(address);
        listeners.push(listener.map_err(|source| Error::Io {
            doing: "listen",
            path: address.to_string(),
            source,
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
