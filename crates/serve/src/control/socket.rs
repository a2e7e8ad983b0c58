//! The socket: a thread for each client, which hands commands to the threads of the exports.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use serde_json::{Value, json};

use super::{Command, ExportCommand, Reply};
use crate::figures::{ExportStatistics, Statistics};
use crate::sockets::Listener;

/// How long a line may be, in bytes.
const LINE: u64 = 1 << 12;

/// How many clients may be connected at once; more are turned away.
const CLIENTS: usize = 16;

/// An export, to which commands can be given.
#[derive(Clone)]
pub struct ExportHandle {
    name: String,
    send: Arc<dyn Fn(Command, Sender<Answer>) + Send + Sync>,
}

/// What an export answers.
pub type Answer = Result<Reply, String>;

impl ExportHandle {
    /// The export called `name`; `send` hands it a command, and where its answer goes.
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

/// What makes output of what an export has served, by its number.
pub type Figures = Box<dyn Fn(usize, &Statistics) -> ExportStatistics + Send + Sync>;

/// What stands behind a control socket.
pub struct ControlServer {
    /// The exports.
    pub remotes: Arc<[ExportHandle]>,
    /// What they have served, for output.
    pub figures: Figures,
}

impl ControlServer {
    /// Listens in threads of its own, as long as the program runs.
    ///
    /// # Errors
    /// Those of the operating system.
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
                // Without a thread the client is turned away.
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

    /// Answers a client until it is gone, or sends a line that is too long.
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
        let mut remotes = self.remotes.iter();
        let number = remotes.position(|remote| remote.name == export);
        let number = number.ok_or_else(|| format!("there is no export {export:?}"))?;
        Ok(match self.remotes[number].ask(command)? {
            Reply::Done => json!({}),
            Reply::PowerCut(lost) => json!(lost),
            Reply::Pending(pending) => json!(pending),
            Reply::Errors(errors) => json!({ "errors": errors }),
            Reply::Statistics(served) => json!((self.figures)(number, &served)),
        })
    }
}

/// Sends a command to the control socket at `path`; returns the line that answers it.
///
/// # Errors
/// Those of the operating system.
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
