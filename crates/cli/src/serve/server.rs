//! Options, exports and the main loop of a server of any protocol, and access to its statistics and
//! controls while it runs.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::exit;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use diskarm_core::units::{Bytes, Span};
use diskarm_results::output_file::{Files, OutputFile, PartialFile};
use diskarm_results::prose;
use diskarm_serve::control_socket::ControlServer;
use diskarm_serve::store::StoreSpec;
use diskarm_serve::{
    Address, DEFAULT_MAX_CONNECTIONS, DEFAULT_POLICY, Export, ExportSpec, ExportStatistics,
    Listener, Pace, Protocol, Recorder, Server, Speed, Statistics, Stopper, Tappable, Watcher,
    open_metrics, serve_metrics,
};
use diskarm_simulate::{BlockConverter, System};
use serde_json::json;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

#[cfg(feature = "dashboard")]
use super::dashboard;
use crate::args::{self, Changes, integer};
use crate::error::Error;
use crate::output;
use crate::trace::writable_formats;

/// The options of every protocol.
#[derive(clap::Args)]
pub struct Options {
    /// Drive: a name from the catalogue, or a .toml file
    #[arg(long, value_name = "NAME|FILE", long_help = args::stack_help())]
    drive: Option<String>,

    #[command(flatten)]
    changes: Changes,

    /// Scheduling policy of the queue in front of the drive; `diskarm policies` lists all policies
    #[arg(long, default_value = DEFAULT_POLICY)]
    policy: String,

    /// Size of the export, in sectors, B, KiB, MiB or GiB [default: that of the file, or of the
    /// drive]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    size: Option<String>,

    /// Storage of the data: memory, file:PATH or snapshot:PATH
    #[arg(long, value_name = "STORE", default_value = "memory", value_parser = store)]
    #[arg(long_help = prose::flowing(STORE))]
    store: StoreSpec,

    /// Refuse writes
    #[arg(long)]
    read_only: bool,

    /// Record requests and response times as a trace
    #[arg(long, value_name = "FILE")]
    #[arg(long_help = prose::flowing(RECORD))]
    record: Option<String>,

    /// Format of recorded traces
    #[arg(long, value_name = "FORMAT", default_value = "msr", value_parser = writable_formats())]
    record_format: String,

    /// Serve another drive under a name: 'NAME(drive=..., policy=..., size=..., store=...,
    /// read-only=yes, record=FILE, max-lateness=TIME)'; may be repeated
    #[arg(long, value_name = "EXPORT")]
    export: Vec<String>,

    /// Allow this many simultaneous connections
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_CONNECTIONS)]
    #[arg(allow_negative_numbers = true, value_parser = integer::<usize>(1..=1000))]
    connections: usize,

    /// Run the drive's time faster or slower: 10 is ten times as fast
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = speed)]
    #[arg(allow_negative_numbers = true)]
    speed: Speed,

    /// Answer every request immediately
    #[arg(long, alias = "no-time")]
    instant: bool,

    /// Poll the clock while requests are in progress, which occupies a processor; the default is to
    /// poll only for 200 us before each reply
    #[arg(long)]
    spin: bool,

    /// Report that the host is too slow if more than one in a hundred replies is later than this,
    /// unless an export has its own limit
    #[arg(long, alias = "bound", value_name = "TIME", default_value = "100us")]
    #[arg(value_parser = time, allow_hyphen_values = true)]
    max_lateness: Span,

    /// Seed of random faults and errors of the drive
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(allow_negative_numbers = true, value_parser = integer::<u64>(0..=u64::MAX))]
    seed: u64,

    /// Print request counts and lateness on standard error every ten seconds; on a terminal, show
    /// them in a full-screen view if this program was built with `dashboard`
    #[arg(long)]
    watch: bool,

    /// Answer GET /metrics at this address with statistics in the OpenMetrics format
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    metrics: Option<Address>,

    /// Accept commands of `diskarm serve ctl` at a Unix socket: power cuts, errors, statistics
    ///
    /// For power cuts, the server keeps in memory the old data of sectors whose writes can still be
    /// lost.
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,

    /// Print statistics at the end as JSON: one object; key names end in the unit
    #[arg(long)]
    json: bool,
}

const STORE: &str = "Storage of the data.

memory: lost when the server ends. Only written blocks take up memory.

file:PATH: a file, which is created if necessary. Data written before a completed flush, or with \
force unit access, survive no matter how the server ends.

snapshot:PATH: a file that is never written to; writes stay in memory.";

const RECORD: &str = "Record requests and response times as a trace.

`diskarm simulate --trace FILE` with the same drive and policy replays it at the recorded times, \
and gives the recorded response times. The file gets its name when the server ends; it replaces \
an earlier one, unless it has no requests. Until then it is called FILE.NUMBER.part, with all \
requests but the last few. A server that is killed leaves it, and no other removes it. \
Times are those of the drive, from its first request. Traces contain only successful reads and \
writes. Other requests are counted at the end: a flush, for example, delays requests, which a \
replay does not show.";

fn store(text: &str) -> Result<StoreSpec, String> {
    StoreSpec::parse(text).ok_or_else(|| format!("expected {}", StoreSpec::EXPECTED))
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

/// What a server serves, and the files and sockets of the command.
pub struct Plan {
    pub specs: Vec<ExportSpec>,
    pub files: Files,
    pub warnings: Vec<String>,
}

type BuildResult<D> = Result<Export<D>, diskarm_simulate::Error>;

impl Options {
    fn pace(&self) -> Pace {
        Pace {
            speed: (!self.instant).then_some(self.speed),
            spins: self.spin,
            bound: self.max_lateness,
        }
    }

    /// Returns the exports, `--drive` first, with the files that they read.
    pub fn plan(&self) -> Result<Plan, Error> {
        let changes = self.changes.edits()?;
        let first = self.drive.as_ref().map(|drive| ExportSpec {
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
        let mut specs: Vec<ExportSpec> = first.into_iter().collect();
        for text in &self.export {
            let spec = ExportSpec::parse(text, "--export");
            let spec = spec.map_err(|error| error.in_argument("--export"))?;
            if specs.iter().any(|other| other.name == spec.name) {
                return Err(Error::Failed(format!(
                    "`--export`: two exports are called {:?}; give each its own name",
                    spec.name
                )));
            }
            specs.push(spec);
        }
        Ok(Plan {
            files: inputs(&specs)?,
            specs,
            warnings: Vec::new(),
        })
    }

    /// Serves the exports that `build` makes from those of `plan` until a signal arrives. `uri`
    /// returns the address of an export.
    pub fn serve<P: Protocol<Device: Tappable + 'static>>(
        &self,
        protocol: P,
        plan: Plan,
        build: impl Fn(&ExportSpec, Pace, u64) -> BuildResult<P::Device>,
        listen: impl FnOnce() -> Result<Vec<Listener>, Error>,
        uri: impl Fn(&Listener, &ExportSpec) -> String,
    ) -> Result<(), Error> {
        let Plan {
            specs,
            mut files,
            warnings,
        } = plan;
        let pace = self.pace();
        let control = self.control.clone().map(Address::Unix);
        if let Some(address) = &control {
            claim(&mut files, "--control", address)?;
        }
        let records = specs.iter().map(|spec| {
            let path = spec.record.as_ref();
            path.map(|path| files.output("--record", path)).transpose()
        });
        let records: Vec<_> = records.collect::<Result<_, _>>()?;
        let (mut exports, mut recordings) = (Vec::new(), Vec::new());
        for (spec, record) in specs.iter().zip(records) {
            let export = build(spec, pace, self.seed)?;
            let (export, recording) = start_recording(spec, export, &self.record_format, record)?;
            exports.push(export);
            recordings.push(recording);
        }
        let control = control.map(|address| bind("--control", &address));
        let mut control = control.transpose()?;
        // The thread that listens there never drops the listener.
        let _control_file = control.as_mut().and_then(Listener::take_file);
        let sizes = exports.iter().map(|export| export.facts.bytes()).collect();
        let description = |export: &Export<P::Device>| export.facts.description.clone();
        let drives: Vec<String> = exports.iter().map(description).collect();
        let info = Exports {
            specs: specs.clone(),
            sizes,
            pace,
        };
        let listeners = listen()?;
        let metrics = self.metrics.as_ref().map(metrics_socket).transpose()?;
        let mut lines = Vec::new();
        for (spec, drive) in specs.iter().zip(&drives) {
            let uris = listeners.iter().map(|listener| uri(listener, spec));
            lines.extend(uris.map(|uri| format!("serving {drive} at {uri}")));
        }
        if let Some(address) = metrics.as_ref().and_then(Listener::tcp_address) {
            lines.push(format!("metrics at http://{address}/metrics"));
        }
        let signals = Signals::new([SIGTERM, SIGINT]).map_err(server_error)?;
        let max = self.connections;
        let server = match &control {
            None => Server::start(protocol, exports, listeners, max),
            Some(_) => Server::start_controlled(protocol, exports, listeners, max),
        };
        let server = server.map_err(server_error)?;
        if let Some(socket) = control {
            start_control(&server, socket, &info).map_err(server_error)?;
        }
        let stopper = server.stopper().map_err(server_error)?;
        stop_on_signal(signals, stopper, self.watch && has_screen());
        for line in lines {
            // The server runs even if this cannot be printed.
            let _ = writeln!(io::stderr(), "{line}");
        }
        output::print_warnings(&warnings);
        let served = self.wait(server, &info, metrics).map_err(server_error)?;
        let mut exports = info.statistics(&served);
        let result = finish_recordings(recordings, &mut exports);
        let text = || exports.iter().map(ExportStatistics::text).collect();
        output::print_as(self.json, &json!({ "exports": exports }), text)?;
        result?;
        let unsynchronised = exports.iter().zip(&served).find_map(|(export, served)| {
            let error = served.sync_error.as_ref()?;
            Some(format!("{}: cannot synchronise: {error}", export.store))
        });
        unsynchronised.map_or(Ok(()), |error| Err(Error::Failed(error)))
    }

    fn wait(
        &self,
        server: Server,
        info: &Exports,
        metrics: Option<Listener>,
    ) -> io::Result<Vec<diskarm_serve::Statistics>> {
        let live = Live {
            exports: info.clone(),
            watcher: server.watcher(),
        };
        if let Some(socket) = metrics {
            live.clone().serve_metrics(socket)?;
        }
        let display = self
            .watch
            .then(|| live.show(server.stopper()?))
            .transpose()?;
        let served = server.wait();
        if let Some(display) = display {
            display.end();
        }
        Ok(served)
    }
}

/// Makes the first signal stop the server, and the second restore the terminal and exit.
fn stop_on_signal(mut signals: Signals, stopper: Stopper, has_screen: bool) {
    thread::spawn(move || {
        for (count, signal) in signals.forever().enumerate() {
            if count > 0 {
                if has_screen {
                    restore_terminal();
                }
                exit(128 + signal);
            }
            stopper.stop();
        }
    });
}

/// Returns the sockets from systemd and those at `addresses`; if there are none, one at `default`.
/// If other machines must not connect, `private` describes how to allow them to.
pub fn listeners(
    addresses: &[Address],
    default: &str,
    private: Option<&'static str>,
) -> Result<Vec<Listener>, Error> {
    let mut listeners = Listener::activated().map_err(server_error)?;
    // The addresses as the user wrote them, before ports are chosen.
    let written = addresses.iter().filter(|address| address.is_public());
    let written = written.map(Address::to_string);
    let bound = listeners.iter().filter(|listener| listener.is_public());
    let bound = bound.filter_map(|listener| Some(listener.tcp_address()?.to_string()));
    if let (Some(expected), Some(public)) = (private, written.chain(bound).next()) {
        return Err(Error::Failed(format!(
            "`--listen`: other machines can connect to {public}; {expected}"
        )));
    }
    let default = Address::parse(default);
    let addresses = match (addresses, listeners.is_empty()) {
        ([], true) => default.as_slice(),
        (addresses, _) => addresses,
    };
    for address in addresses {
        listeners.push(bind("--listen", address)?);
    }
    Ok(listeners)
}

/// Reserves the file of a socket, which `option` names, among those of the command.
pub fn claim(files: &mut Files, option: &'static str, address: &Address) -> Result<(), Error> {
    if let Address::Unix(path) = address {
        files.output(option, path)?;
    }
    Ok(())
}

fn bind(option: &str, address: &Address) -> Result<Listener, Error> {
    Listener::bind(address).map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => Error::Failed(format!(
            "`{option}`: another program is already listening on {address}"
        )),
        _ => Error::Failed(format!("`{option}`: cannot listen on {address}: {source}")),
    })
}

fn server_error(source: io::Error) -> Error {
    Error::io("serve", "the server")(source)
}

struct Recording {
    part: PartialFile,
    recorder: Recorder,
}

/// Starts recording an export in `format` to `output`, if any, and returns the export with its
/// device wrapped.
fn start_recording<D: Tappable + 'static>(
    spec: &ExportSpec,
    mut export: Export<D>,
    format: &str,
    output: Option<OutputFile>,
) -> Result<(Export<D>, Option<Recording>), Error> {
    let (Some(output), Some(path)) = (output, &spec.record) else {
        return Ok((export, None));
    };
    let Some(mut timing) = export.timing else {
        let message = "`--record` cannot be combined with `--instant`: instant replies have no \
                       response times";
        return Err(Error::Failed(message.to_owned()));
    };
    let model = spec.system()?;
    let blocks = BlockConverter::new(model.disk(), &model.name)?;
    let part = output.create_named()?;
    let file = part.file.try_clone();
    let file = file.map_err(|source| part.failed(source))?;
    let (recorder, tap) = Recorder::start(file, path, format, blocks)?;
    let power_tap = tap.clone();
    export.power = export.power.map(|power| power.with_tap(power_tap));
    timing.device = timing.device.with_tap(tap);
    export.timing = Some(timing);
    Ok((export, Some(Recording { part, recorder })))
}

fn inputs(specs: &[ExportSpec]) -> Result<Files, Error> {
    let mut files = Files::default();
    for spec in specs {
        let model = System::parse(&spec.drive)?;
        files = files.with_input("--drive", model.drive_name());
        for other in model.others() {
            files = files.with_input("--drive", &other.name);
        }
        if let Some(path) = spec.store.path() {
            files = files.with_input_file("--store", path);
        }
    }
    Ok(files)
}

/// Completes `recordings` after their devices have been dropped. Files get their final names, and
/// the statistics of each export describe its recording. A recording without requests does not
/// replace an earlier file.
fn finish_recordings(
    recordings: Vec<Option<Recording>>,
    exports: &mut [ExportStatistics],
) -> Result<(), Error> {
    let mut result = Ok(());
    for (recording, statistics) in recordings.into_iter().zip(exports) {
        let finished = recording.map(|Recording { part, recorder }| {
            let mut recorded = match recorder.finish() {
                Ok(recorded) => recorded,
                Err(error) => {
                    if let Some(path) = part.keep() {
                        let path = path.display();
                        let note = format!("{path} has the requests recorded before an error");
                        output::print_notes(&[note]);
                    }
                    return Err(error.into());
                }
            };
            recorded.add_requests(&statistics.counts);
            if recorded.requests == 0 && part.replaces() {
                let note = "there was nothing to record: the earlier file is unchanged";
                recorded.notes.push(note.to_owned());
            } else {
                part.finish()?;
            }
            Ok(recorded)
        });
        match finished.transpose() {
            Ok(recorded) => statistics.recording = recorded,
            Err(error) => result = result.and(Err(error)),
        }
    }
    result
}

const LINE_PERIOD: Duration = Duration::from_secs(10);

/// Returns true if `--watch` shows a full screen.
fn has_screen() -> bool {
    cfg!(feature = "dashboard") && io::stderr().is_terminal()
}

fn restore_terminal() {
    #[cfg(feature = "dashboard")]
    dashboard::restore();
}

#[derive(Clone)]
struct Exports {
    specs: Vec<ExportSpec>,
    sizes: Vec<Bytes>,
    pace: Pace,
}

impl Exports {
    fn statistics(&self, served: &[Statistics]) -> Vec<ExportStatistics> {
        let numbers = 0..self.specs.len();
        numbers
            .zip(served)
            .map(|(number, served)| self.statistics_of(number, served))
            .collect()
    }

    fn statistics_of(&self, number: usize, served: &Statistics) -> ExportStatistics {
        self.specs[number].statistics(self.pace, self.sizes[number], served)
    }
}

/// Access to the current statistics of a server.
#[derive(Clone)]
struct Live {
    exports: Exports,
    watcher: Watcher,
}

impl Live {
    /// Returns the current statistics; `None` once the server has ended.
    fn statistics(&self) -> Option<Vec<ExportStatistics>> {
        let served = self.watcher.statistics()?;
        Some(self.exports.statistics(&served))
    }

    fn serve_metrics(self, listener: Listener) -> io::Result<()> {
        let text = move || Some(open_metrics(&self.statistics()?));
        serve_metrics(listener, text)
    }

    /// Shows statistics on a full screen, or prints them every ten seconds if they have changed.
    fn show(self, stopper: Stopper) -> io::Result<Display> {
        let (ended, end) = channel();
        #[cfg(feature = "dashboard")]
        if has_screen() {
            let thread =
                thread::spawn(move || dashboard::run(|| self.statistics(), &stopper, &end));
            return Ok(Display { ended, thread });
        }
        drop(stopper);
        let thread = thread::spawn(move || {
            let mut last = String::new();
            while end.recv_timeout(LINE_PERIOD) == Err(RecvTimeoutError::Timeout) {
                let Some(statistics) = self.statistics() else {
                    break;
                };
                let text: String = statistics.iter().map(ExportStatistics::text).collect();
                if text != last {
                    let _ = write!(io::stderr(), "{text}");
                    last = text;
                }
            }
            Ok(())
        });
        Ok(Display { ended, thread })
    }
}

struct Display {
    ended: Sender<()>,
    thread: JoinHandle<io::Result<()>>,
}

impl Display {
    /// Ends the thread and restores the terminal.
    fn end(self) {
        drop(self.ended);
        // Errors from a closed terminal do not matter.
        let _ = self.thread.join();
    }
}

/// Opens a socket for metrics at an address that other machines cannot reach.
fn metrics_socket(address: &Address) -> Result<Listener, Error> {
    match address {
        Address::Tcp(_) if !address.is_public() => {
            Listener::bind(address).map_err(Error::io("listen", address))
        }
        _ => Err(Error::Failed(format!(
            "`--metrics` needs an address HOST:PORT that other machines cannot reach, not {address}"
        ))),
    }
}

fn start_control(server: &Server, listener: Listener, exports: &Exports) -> io::Result<()> {
    let exports = exports.clone();
    let controller = ControlServer {
        handles: server.handles(),
        statistics: Box::new(move |number, served| exports.statistics_of(number, served)),
    };
    controller.listen(listener)
}
