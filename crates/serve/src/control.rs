//! The control socket: commands to exports, apart from the storage protocol.
//!
//! A client sends a line of text, such as `power-cut(export=db, torn=yes)`, and receives a line of
//! JSON: an object with the result, or with `error`. A thread for each client passes commands to
//! the threads of the exports.

mod command;

pub use command::{Command, ExportCommand};

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Instant as HostInstant;

use serde::Serialize;
use serde_json::{Value, json};

use crate::export::Facts;
use crate::power::{InjectedFault, Losses, PendingWrite, PowerCut, PowerSwitch};
use crate::sockets::Listener;
use crate::statistics::{ExportStatistics, Statistics};

/// The result of a command.
#[derive(Clone, Debug)]
pub enum Reply {
    Done,
    PowerCut(Losses),
    /// The result of `pending`.
    Pending(PendingReport),
    /// The result of `errors`.
    Errors(Vec<InjectedFault>),
    Statistics(Box<Statistics>),
}

/// Writes that have not reached the media.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PendingReport {
    pub is_powered: bool,
    /// In order of arrival.
    pub pending: Vec<PendingWrite>,
    pub last_cut: Option<Losses>,
}

/// An export whose power can be controlled.
pub trait PowerControl {
    fn switch(&mut self) -> &mut PowerSwitch;

    fn facts(&self) -> &Facts;

    /// Returns true if the power can be cut: the device reports when data reach the media.
    fn can_lose_writes(&self) -> bool;

    /// The writes that have not reached the media by now.
    fn pending_writes(&mut self) -> Vec<PendingWrite>;

    /// Reverts the writes that do not survive and drops all requests in progress without replies.
    /// The device is replaced by one that has just been switched on.
    ///
    /// # Errors
    /// If the store fails; then some writes that should be lost survive.
    fn revert_writes(&mut self, cut: &PowerCut) -> io::Result<Losses>;

    fn statistics(&mut self) -> &mut Statistics;

    /// Cuts the power.
    ///
    /// # Errors
    /// If the store fails; then some writes that should be lost survive.
    fn cut_power(&mut self, cut: &PowerCut) -> Result<Reply, String> {
        let losses = self.revert_writes(cut);
        self.switch()
            .record_cut(losses.as_ref().copied().unwrap_or_default());
        losses
            .map(Reply::PowerCut)
            .map_err(|error| format!("the store failed: {error}"))
    }

    /// Cuts the power if a cut is due. Returns true if the power is off: all connections must then
    /// be closed.
    fn cut_if_due(&mut self) -> bool {
        if let Some(cut) = self.switch().take_due(HostInstant::now()) {
            // The next command reports a failure.
            let _ = self.cut_power(&cut);
        }
        !self.switch().is_on()
    }

    /// Executes a command.
    ///
    /// # Errors
    /// A message for the client.
    fn execute_command(&mut self, command: &Command) -> Result<Reply, String> {
        let needs_power = matches!(
            command,
            Command::PowerCut(_) | Command::Pending | Command::Trigger(_)
        );
        if needs_power && !self.can_lose_writes() {
            return Err(format!(
                "{} does not report when data reach the media: only the power of a single drive \
                 with nothing in front of it can be cut, not that of an array, a pair or a cache",
                self.facts().description
            ));
        }
        let is_on = self.switch().is_on();
        match command {
            Command::PowerCut(_) | Command::Trigger(_) if !is_on => {
                return Err("the power is off".to_owned());
            }
            Command::PowerCut(cut) => return self.cut_power(cut),
            Command::PowerRestore if is_on => return Err("the power is on".to_owned()),
            Command::PowerRestore => self.switch().restore(),
            Command::Pending => {
                let pending = self.pending_writes();
                return Ok(Reply::Pending(PendingReport {
                    is_powered: is_on,
                    pending,
                    last_cut: self.switch().last_losses(),
                }));
            }
            Command::Trigger(trigger) => self.switch().arm(*trigger, HostInstant::now()),
            Command::Inject(injected) => {
                check_range(injected, self.facts())?;
                self.switch().faults().inject(*injected);
            }
            Command::Heal { first, end } => self.switch().faults().heal(*first, *end),
            Command::Errors => return Ok(Reply::Errors(self.switch().faults().list())),
            Command::Statistics => {
                return Ok(Reply::Statistics(Box::new(self.statistics().clone())));
            }
        }
        Ok(Reply::Done)
    }
}

/// Checks that the injected sectors exist.
fn check_range(injected: &InjectedFault, facts: &Facts) -> Result<(), String> {
    let (first, end) = (injected.blocks.first.0, injected.blocks.end);
    let sectors = facts.sectors.0;
    let within = |last: u64| last < sectors;
    if within(first) && (end == InjectedFault::ALL || within(end.0 - 1)) {
        return Ok(());
    }
    let last = match end {
        InjectedFault::ALL => String::new(),
        end => format!(" to {}", end.0 - 1),
    };
    Err(format!(
        "inject: found sectors from {first}{last}, expected some of the {sectors} that {} has",
        match facts.name.as_str() {
            "" => "the export",
            name => name,
        }
    ))
}

/// Maximum length of a line, in bytes.
const LINE: u64 = 1 << 12;

/// Maximum number of clients; further ones are disconnected.
const CLIENTS: usize = 16;

/// A handle by which any thread sends commands to an export.
#[derive(Clone)]
pub struct ExportHandle {
    name: String,
    send: Arc<dyn Fn(Command, Sender<Answer>) + Send + Sync>,
}

pub type Answer = Result<Reply, String>;

impl ExportHandle {
    /// The export `name`; `send` passes it a command and the channel for the answer.
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
        let ended = |_| Err("the server ends".to_owned());
        answer.recv().unwrap_or_else(ended)
    }
}

/// Converts the statistics of the export with an index to their printable form.
pub type StatisticsFormatter = Box<dyn Fn(usize, &Statistics) -> ExportStatistics + Send + Sync>;

/// The server of a control socket.
pub struct ControlServer {
    pub handles: Arc<[ExportHandle]>,
    pub statistics: StatisticsFormatter,
}

impl ControlServer {
    /// Serves clients in threads of its own until the program ends.
    pub fn listen(self, listener: Listener) -> io::Result<()> {
        let this = Arc::new(self);
        let run = move || {
            let clients = Arc::new(AtomicUsize::new(0));
            while let Ok(stream) = listener.accept_unix() {
                if clients.fetch_add(1, Ordering::Relaxed) >= CLIENTS {
                    clients.fetch_sub(1, Ordering::Relaxed);
                    continue;
                }
                let (this, clients) = (Arc::clone(&this), Arc::clone(&clients));
                let client = thread::Builder::new().name("control".to_owned());
                // If no thread can be started, the client is disconnected.
                let _ = client.spawn(move || {
                    let _ = this.serve(&stream);
                    clients.fetch_sub(1, Ordering::Relaxed);
                });
            }
        };
        thread::Builder::new()
            .name("control".to_owned())
            .spawn(run)?;
        Ok(())
    }

    /// Answers a client until it disconnects or sends an over-long line.
    fn serve(&self, stream: &UnixStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream);
        loop {
            let mut line = String::new();
            let count = reader.by_ref().take(LINE).read_line(&mut line)?;
            if count == 0 || !line.ends_with('\n') {
                return Ok(());
            }
            let answer = self.answer(&line);
            let answer = answer.unwrap_or_else(|error| json!({ "error": error }));
            let mut stream = stream;
            stream.write_all(format!("{answer}\n").as_bytes())?;
        }
    }

    fn answer(&self, line: &str) -> Result<Value, String> {
        let ExportCommand { export, command } =
            ExportCommand::parse(line).map_err(|error| error.to_string())?;
        let mut handles = self.handles.iter();
        let number = handles.position(|remote| remote.name == export);
        let number = number.ok_or_else(|| format!("there is no export {export:?}"))?;
        Ok(match self.handles[number].ask(command)? {
            Reply::Done => json!({}),
            Reply::PowerCut(lost) => json!(lost),
            Reply::Pending(pending) => json!(pending),
            Reply::Errors(errors) => json!({ "errors": errors }),
            Reply::Statistics(statistics) => json!((self.statistics)(number, &statistics)),
        })
    }
}

/// Sends a command to the control socket at `path`; returns the line of the answer.
pub fn ask(path: &Path, command: &ExportCommand) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.write_all(format!("{command}\n").as_bytes())?;
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    if !line.ends_with('\n') {
        return Err(io::Error::other(
            "no answer: it is not the socket of --control, or the server has ended",
        ));
    }
    line.pop();
    Ok(line)
}
