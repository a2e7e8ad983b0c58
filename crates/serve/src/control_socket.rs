//! The control socket, on which clients send commands to exports.
//!
//! A client sends a line of text and receives a line of JSON: an object that contains the result or
//! an `error`. One thread passes the commands of all clients to the threads of the exports.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::control::{ExportCommand, ExportHandle, Reply};
use crate::sockets::Listener;
use crate::statistics::{ExportStatistics, Statistics};
use crate::text_server::{TextAnswer, serve_texts};

/// Converts the statistics of an export, given its index, to printable form.
pub type StatisticsFormatter = Box<dyn Fn(usize, &Statistics) -> ExportStatistics + Send + Sync>;

pub struct ControlServer {
    pub handles: Arc<[ExportHandle]>,
    pub statistics: StatisticsFormatter,
}

impl ControlServer {
    /// Answers each line of the clients in the background until the program ends.
    pub fn listen(self, listener: Listener) -> io::Result<()> {
        serve_texts("control", listener, move |input| {
            let end = input.iter().position(|byte| *byte == b'\n')?;
            let line = str::from_utf8(&input[..end]).ok();
            let text = line.map(|line| {
                let result = self.answer(line);
                let answer = result.unwrap_or_else(|error| json!({ "error": error }));
                format!("{answer}\n")
            });
            Some(TextAnswer {
                length: end + 1,
                text,
                is_last: false,
            })
        })
    }

    fn answer(&self, line: &str) -> Result<Value, String> {
        let ExportCommand { export, command } =
            ExportCommand::parse(line).map_err(|error| error.to_string())?;
        let mut handles = self.handles.iter();
        let position = handles.position(|remote| remote.name == export);
        let number = position.ok_or_else(|| format!("there is no export {export:?}"))?;
        Ok(match self.handles[number].ask(command)? {
            Reply::Done => json!({}),
            Reply::PowerCut(lost) => json!(lost),
            Reply::Pending(pending) => json!(pending),
            Reply::Errors(errors) => json!({ "errors": errors }),
            Reply::Statistics(statistics) => json!((self.statistics)(number, &statistics)),
        })
    }
}

/// Sends a command to the control socket at `path`; returns the one-line answer.
pub fn ask(path: &Path, command: &ExportCommand) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.write_all(format!("{command}\n").as_bytes())?;
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    if !line.ends_with('\n') {
        return Err(io::Error::other(
            "no answer: this is not a `--control` socket, or the server has stopped",
        ));
    }
    line.pop();
    Ok(line)
}
